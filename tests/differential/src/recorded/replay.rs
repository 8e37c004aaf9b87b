//! Links the recorded cases again and compares with what is recorded.

use super::index::{Answer, Answers, Entry, Index};
use super::pack::Pack;
use super::{
    case_key, cases, file_name, index_path, messages_name, object_name, pack_path, run_key,
};
use crate::judge::{self, NVLINK_OUT, WARPLD_OUT};
use crate::named::{self, CaseFile};
use crate::program::{Case, Link};
use crate::release::Release;
use crate::threads;
use crate::tools::Outcome;
use crate::verdict::{self, Run, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

/// What to replay, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// The linker under test.
    pub warpld: &'a Path,
    /// Folder of case files.
    pub cases: &'a Path,
    /// Folder of recordings.
    pub recorded: &'a Path,
    /// Folder for the links; what failed stays there.
    pub work: &'a Path,
    /// Replay only cases with this in their name.
    pub only: Option<&'a str>,
    /// Threads.
    pub jobs: usize,
}

/// What came of a replay.
#[derive(Debug, Default)]
pub struct Replayed {
    /// Links by the verdict they were recorded with.
    verdicts: BTreeMap<Verdict, usize>,
    /// Links whose answer is warpld's own, not nvlink's.
    ours: usize,
    /// Links that are not recorded.
    pub not_recorded: Vec<String>,
    /// Links whose answer is not the recorded one, and recordings that fit no case; in words.
    pub failures: Vec<String>,
}

impl Replayed {
    /// Number of links made.
    pub fn links(&self) -> usize {
        self.verdicts.values().sum()
    }

    fn add(&mut self, other: Self) {
        for (verdict, count) in other.verdicts {
            *self.verdicts.entry(verdict).or_default() += count;
        }
        self.ours += other.ours;
        self.not_recorded.extend(other.not_recorded);
        self.failures.extend(other.failures);
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> =
            self.verdicts.iter().map(|(v, count)| format!("{} {count}", v.title())).collect();
        write!(f, "{} recorded links: {}", self.links(), counts.join(", "))?;
        write!(f, "; {} compared with warpld's own recorded answer", self.ours)?;
        match self.not_recorded.len() {
            0 => Ok(()),
            n => write!(f, "; {n} not recorded, they take a library of the toolkit"),
        }
    }
}

/// What to do about recordings that do not fit.
const RECORD: &str = "scripts/record.sh records it";

/// Makes all recorded links again.
pub fn replay(replay: &Replay<'_>) -> Result<Replayed, String> {
    let path = index_path(replay.recorded);
    let at = |e: String| format!("{}: {e}", path.display());
    let text = fs::read_to_string(&path).map_err(|e| at(e.to_string()))?;
    let index = Index::parse(&text).map_err(at)?;
    let mut files = named::files(replay.cases, Release::BASE)?;
    let mut all = Replayed::default();
    match replay.only {
        Some(text) => files.retain(|file| file.name.contains(text)),
        None => all.failures = left_over(replay.recorded, &index, &files)?,
    }
    for replayed in threads::map(replay.jobs, &files, |file| one(replay, file, &index)) {
        all.add(replayed?);
    }
    Ok(all)
}

/// Recordings without a case.
fn left_over(folder: &Path, index: &Index, files: &[CaseFile]) -> Result<Vec<String>, String> {
    let mut known = BTreeSet::new();
    for file in files {
        known.extend(cases(file)?.into_iter().map(|case| (file.name.clone(), case.sm)));
    }
    let gone = index.0.keys().filter(|at| !known.contains(at));
    let mut left: Vec<String> = gone
        .map(|(name, sm)| format!("{name} {sm}: recorded, but there is no such case"))
        .collect();
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let is_known = files.iter().any(|file| pack_path(folder, &file.name) == path);
        if !is_known && path != index_path(folder) {
            left.push(format!("{}: belongs to no case", path.display()));
        }
    }
    Ok(left)
}

fn one(replay: &Replay<'_>, file: &CaseFile, index: &Index) -> Result<Replayed, String> {
    let mut replayed = Replayed::default();
    let mut pack = None;
    for case in cases(file)? {
        let id = format!("{} {}", file.name, case.sm);
        let Some(entry) = index.0.get(&(file.name.clone(), case.sm)) else {
            replayed.failures.push(format!("{id}: not recorded; {RECORD}"));
            continue;
        };
        if entry.key != case_key(&case) {
            replayed.failures.push(format!("{id}: changed since it was recorded; {RECORD}"));
            continue;
        }
        let pack = match &mut pack {
            Some(pack) => pack,
            none => none.insert(Pack::read(&pack_path(replay.recorded, &file.name))?),
        };
        let folder = replay.work.join(&case.name);
        let made = Folder { replay, case: &case, pack, path: folder };
        made.links(entry, &mut replayed).map_err(|e| format!("{id}: {e}"))?;
    }
    Ok(replayed)
}

/// A case in a folder of its own.
struct Folder<'a> {
    replay: &'a Replay<'a>,
    case: &'a Case,
    pack: &'a Pack,
    path: PathBuf,
}

impl Folder<'_> {
    fn links(&self, entry: &Entry, replayed: &mut Replayed) -> Result<(), String> {
        let _ = fs::remove_dir_all(&self.path);
        fs::create_dir_all(self.path.join(NVLINK_OUT)).map_err(|e| e.to_string())?;
        self.case.write_inputs(&self.path, |module| {
            let object = self.pack.get(&object_name(&module.key(module.compiler)));
            object.map(<[u8]>::to_vec).ok_or(format!("{} is not in the pack", module.name))
        })?;
        let mut bad = Vec::new();
        for (link, (label, answers)) in self.case.links.iter().zip(&entry.links) {
            let Some(answers) = answers else {
                replayed.not_recorded.push(format!("{} {label}", self.case.name));
                continue;
            };
            bad.extend(self.link(link, answers).map_err(|e| format!("{label}: {e}"))?);
            *replayed.verdicts.entry(answers.verdict).or_default() += 1;
            replayed.ours += usize::from(answers.ours.is_some());
        }
        if bad.is_empty() {
            return fs::remove_dir_all(&self.path).map_err(|e| e.to_string());
        }
        let name = &self.case.name;
        bad.push(format!(
            "inputs and outputs: {} (nvlink's in n, warpld's in w)",
            self.path.display()
        ));
        bad.push(format!(
            "with a toolkit: differential case {} --sm {} --toolkit DIR --warpld {}",
            name.trim_start_matches("case-").trim_end_matches(&format!("-{}", self.case.sm)),
            self.case.sm,
            self.replay.warpld.display()
        ));
        replayed.failures.push(format!("{name}\n  {}", bad.join("\n  ")));
        Ok(())
    }

    /// Makes a link; says what is not as it was recorded.
    fn link(&self, link: &Link, answers: &Answers) -> Result<Vec<String>, String> {
        let io = |e: std::io::Error| e.to_string();
        let nvlink = self.recorded(link, NVLINK_OUT, &answers.nvlink)?;
        let warpld = judge::run_warpld(
            self.replay.warpld,
            &judge::Stand::of(Release::BASE),
            link,
            &self.path,
            &judge::Folders::default(),
        )
        .map_err(io)?;
        // Later links take nvlink's output.
        if let Some(output) = &nvlink.output {
            let name = &link.output;
            fs::write(self.path.join(NVLINK_OUT).join(name), output).map_err(io)?;
            if link.is_relocatable() {
                fs::write(self.path.join(name), output).map_err(io)?;
            }
        }
        let expected = answers.ours.as_ref().unwrap_or(&answers.nvlink);
        if warpld.outcome.status == Some(expected.status) && run_key(&warpld) == expected.key {
            return Ok(Vec::new());
        }
        let mut words = told(&format!("{}, compared with nvlink", link.label), &nvlink, &warpld);
        if let Some(ours) = &answers.ours {
            let ours = self.recorded(link, WARPLD_OUT, ours)?;
            words.extend(told("compared with warpld as it was recorded (A, n)", &ours, &warpld));
        }
        Ok(words)
    }

    /// What a linker gave when the link was recorded.
    fn recorded(&self, link: &Link, who: &str, answer: &Answer) -> Result<Run, String> {
        let get = |name: &str| self.pack.get(&file_name(link.sm, who, name)).map(<[u8]>::to_vec);
        let text = self.pack.get(&messages_name(link.sm, who, &link.label)).unwrap_or_default();
        let run = Run {
            outcome: Outcome {
                status: Some(answer.status),
                text: String::from_utf8_lossy(text).into_owned(),
                time: Duration::ZERO,
            },
            output: get(&link.output),
            side_file: link.side_file.as_deref().and_then(get),
        };
        match run_key(&run) == answer.key {
            true => Ok(run),
            false => Err("links.txt and the pack do not belong together".into()),
        }
    }
}

/// How a run compares with one that was recorded.
fn told(what: &str, recorded: &Run, warpld: &Run) -> Vec<String> {
    let comparison = verdict::compare(recorded, warpld, Release::BASE);
    let mut lines = vec![format!("{what}: {}", comparison.verdict.title())];
    lines.extend(comparison.detail.into_iter().map(|line| format!("  {line}")));
    if !comparison.same_messages {
        let [theirs, ours] = [recorded, warpld].map(|run| verdict::messages(&run.outcome.text));
        let difference = verdict::first_difference("message", &theirs, &ours);
        lines.extend(difference.into_iter().map(|line| format!("  {line}")));
    }
    lines
}
