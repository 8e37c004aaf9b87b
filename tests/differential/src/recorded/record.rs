//! Records cases: compiles them, links them with both linkers, keeps what nvlink gave.

use super::index::{Answer, Answers, Entry, Index};
use super::pack::Pack;
use super::{
    case_key, cases, file_name, index_path, messages_name, object_name, pack_path, run_key,
};
use crate::judge::{self, Judged, NVLINK_OUT, WARPLD_OUT};
use crate::named::{self, CaseFile};
use crate::program::{Case, Link, Sm};
use crate::release::Release;
use crate::threads;
use crate::tools::Tools;
use crate::verdict::{Run, Verdict};
use std::fs;
use std::io;
use std::path::Path;

/// What to record, and where.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// The toolkit and warpld.
    pub tools: &'a Tools,
    /// Folder of case files.
    pub cases: &'a Path,
    /// Folder of recordings.
    pub out: &'a Path,
    /// Record only cases with this in their name.
    pub only: Option<&'a str>,
    /// Threads.
    pub jobs: usize,
    /// Write nothing; tell what would be written.
    pub check: bool,
}

/// What is recorded of a case file.
struct Recorded {
    name: String,
    entries: Vec<(Sm, Entry)>,
    pack: Pack,
}

/// Records; true unless `check` found something to write.
pub fn record(recording: &Recording<'_>) -> Result<bool, String> {
    let Recording { tools, out, only, check, .. } = *recording;
    if tools.warpld.is_none() {
        return Err("recording needs --warpld".into());
    }
    if tools.release != Release::BASE {
        return Err(format!("cases are recorded with {}, not {}", Release::BASE, tools.release));
    }
    let files = named::files(recording.cases, Release::BASE)?;
    let is_wanted = |file: &&CaseFile| only.is_none_or(|text| file.name.contains(text));
    let wanted: Vec<&CaseFile> = files.iter().filter(is_wanted).collect();
    let made = threads::map(recording.jobs, &wanted, |file| one(tools, file));
    let old = fs::read_to_string(index_path(out)).unwrap_or_default();
    let mut index =
        Index::parse(&old).map_err(|e| format!("{}: {e}", index_path(out).display()))?;
    // What is not recorded anew stays, as long as there is a case for it.
    index.0.retain(|(name, _), _| {
        let file = files.iter().find(|file| file.name == *name);
        file.is_some_and(|file| !is_wanted(&file))
    });
    fs::create_dir_all(out).map_err(|e| e.to_string())?;
    let mut changed = Vec::new();
    for recorded in made {
        let Recorded { name, entries, pack } = recorded?;
        let path = pack_path(out, &name);
        let differs = match check {
            true => Pack::read(&path).as_ref() != Ok(&pack),
            false => pack.write(&path)?,
        };
        changed.extend(differs.then(|| path.display().to_string()));
        index.0.extend(entries.into_iter().map(|(sm, entry)| ((name.clone(), sm), entry)));
    }
    let text = index.to_string();
    if text != old {
        changed.push(index_path(out).display().to_string());
        if !check {
            fs::write(index_path(out), text).map_err(|e| e.to_string())?;
        }
    }
    for path in &changed {
        println!("{path}: {}", if check { "is not what nvlink answers" } else { "written" });
    }
    let links = index.0.values().flat_map(|entry| &entry.links);
    let count = links.filter(|(_, answers)| answers.is_some()).count();
    match (check, changed.len()) {
        (true, 0) => println!("{count} recorded answers are those of nvlink"),
        (true, n) => println!("{n} files of recorded answers are out of date"),
        (false, n) => println!("{count} recorded answers, {n} files written"),
    }
    Ok(!check || changed.is_empty())
}

fn one(tools: &Tools, file: &CaseFile) -> Result<Recorded, String> {
    let mut pack = Pack::default();
    let mut entries = Vec::new();
    for case in cases(file)? {
        let folder = tools.work.join("record").join(&case.name);
        let entry = entry(tools, &case, &folder, &mut pack);
        entries.push((case.sm, entry.map_err(|e| format!("{}: {e}", case.name))?));
        fs::remove_dir_all(&folder).map_err(|e| e.to_string())?;
    }
    Ok(Recorded { name: file.name.clone(), entries, pack })
}

fn entry(tools: &Tools, case: &Case, folder: &Path, pack: &mut Pack) -> Result<Entry, String> {
    let io = |e: io::Error| e.to_string();
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(io)?;
    case.write_inputs(folder, |module| {
        if !tools.has(module.compiler) {
            return Err(format!("recording needs the compiler {:?}", module.compiler));
        }
        let image = tools.compile(module, folder)?;
        pack.insert(object_name(&module.key(module.compiler)), image.clone());
        Ok(image)
    })?;
    let mut links = Vec::new();
    for link in &case.links {
        let answers = match link.takes_library() {
            true => None,
            false => {
                let judged = judge::judge(tools, link, folder).map_err(io)?;
                Some(answers(link, &judged, pack).map_err(|e| format!("{}: {e}", link.label))?)
            }
        };
        links.push((link.label.clone(), answers));
    }
    Ok(Entry { key: case_key(case), links })
}

/// What came of a link; its files go into the pack.
fn answers(link: &Link, judged: &Judged, pack: &mut Pack) -> Result<Answers, String> {
    let verdict = judged.comparison.verdict;
    if matches!(verdict, Verdict::Crash | Verdict::Timeout | Verdict::Unbuilt) {
        return Err(format!("{}: {}", verdict.title(), judged.comparison.detail.join("; ")));
    }
    let warpld = judged.warpld.as_ref().ok_or("warpld did not run")?;
    let answer = |run: &Run| {
        let status = run.outcome.status.ok_or("no exit status")?;
        Ok::<_, String>(Answer { status, key: run_key(run) })
    };
    let (nvlink, ours) = (answer(&judged.nvlink)?, answer(warpld)?);
    keep(link, NVLINK_OUT, &judged.nvlink, pack);
    let ours = (ours != nvlink).then_some(ours);
    if ours.is_some() {
        keep(link, WARPLD_OUT, warpld, pack);
    }
    Ok(Answers { verdict, nvlink, ours })
}

fn keep(link: &Link, who: &str, run: &Run, pack: &mut Pack) {
    let files = [(Some(&link.output), &run.output), (link.side_file.as_ref(), &run.side_file)];
    for (name, bytes) in files {
        if let (Some(name), Some(bytes)) = (name, bytes) {
            pack.insert(file_name(link.sm, who, name), bytes.clone());
        }
    }
    if !run.outcome.text.is_empty() {
        let text = run.outcome.text.clone().into_bytes();
        pack.insert(messages_name(link.sm, who, &link.label), text);
    }
}
