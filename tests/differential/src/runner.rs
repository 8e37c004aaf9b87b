//! Many cases on a few threads, and the table of verdicts.

use crate::boards::{Outputs, Scores};
use crate::generate;
use crate::hazards::{Lister, Pool, Tally as Proofs};
use crate::inputs::{self, Inputs};
use crate::judge::{self, Judged};
use crate::mercury::{self, Tally};
use crate::namesakes;
use crate::program::{Case, Link, Sm};
use crate::reduce;
use crate::release::Releases;
use crate::tools::Tools;
use crate::verdict::{self, Comparison, Verdict};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// nvdisasm 13.2.86 says "Cannot decode architecture 'SM107'", and its code is not that of sm_103.
const NOT_LISTED: u16 = 107;

/// A case to run, made only when its turn comes.
#[derive(Clone, Debug)]
pub enum Job {
    /// The program of a seed.
    Random {
        /// Seed.
        seed: u64,
        /// Target.
        sm: Sm,
        /// Number of links.
        links: usize,
        /// What the linker gets.
        inputs: Inputs,
    },
    /// A case that is known already.
    Fixed(Box<Case>),
}

impl Job {
    /// The case itself.
    pub fn case(&self) -> Case {
        match self {
            Self::Random { seed, sm, links, inputs: Inputs::Ptx } => {
                inputs::random(*seed, *sm, *links)
            }
            Self::Random { seed, sm, links, .. } => generate::program(*seed, *sm, *links),
            Self::Fixed(case) => (**case).clone(),
        }
    }
}

/// A link that is known to differ.
#[derive(Clone, Debug)]
pub struct Known {
    /// "case label".
    pub link: String,
    /// Where it does.
    pub releases: Releases,
}

/// Reads lines of case, label and (unless it is so with all) releases.
pub fn known(list: &str) -> Result<Vec<Known>, String> {
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [case, label] => Ok(Known { link: format!("{case} {label}"), releases: Releases::ALL }),
        [case, label, releases] => {
            Ok(Known { link: format!("{case} {label}"), releases: releases.parse()? })
        }
        _ => Err(format!("not case, label and releases: {line}")),
    };
    lines.map(read).collect()
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Links that are known to differ: "case label".
    pub known: std::collections::HashSet<String>,
    /// Where to list the links that differ and are not known.
    pub list_new: Option<std::path::PathBuf>,
    /// Threads.
    pub jobs: usize,
    /// Prove that the code of Blackwell links waits for all that it depends on.
    pub hazards: bool,
    /// Also with the compiler's scoreboards.
    pub kept: bool,
    /// Score the scoreboards of Blackwell links.
    pub boards: bool,
    /// Only links with this label.
    pub label: Option<String>,
    /// Seeded faults of each kind in each function proved.
    pub faults: usize,
    /// Reduce failing cases to fewer modules.
    pub reduce: bool,
    /// Keep the folders of all cases.
    pub keep: bool,
    /// Print features and refusals.
    pub statistics: bool,
    /// How many failures to print in full.
    pub shown: usize,
    /// Count differing messages as failures, too.
    pub messages: bool,
}

type Row = BTreeMap<Verdict, usize>;

/// What came of a run.
#[derive(Default)]
pub struct Report {
    by_sm: BTreeMap<Sm, Row>,
    by_label: BTreeMap<String, Row>,
    by_kind: BTreeMap<String, Row>,
    features: BTreeMap<&'static str, (usize, usize)>,
    conflicts: BTreeMap<&'static str, BTreeMap<String, usize>>,
    refusals: BTreeMap<String, usize>,
    capsules: BTreeMap<Sm, Tally>,
    proofs: Proofs,
    libraries: usize,
    not_listed: usize,
    scores: Scores,
    messages_differ: usize,
    failures: Vec<String>,
    known: usize,
    new: Vec<String>,
    nvlink_time: Duration,
    warpld_time: Duration,
    cases: usize,
}

impl Report {
    /// Number of links judged.
    pub fn links(&self) -> usize {
        self.by_sm.values().flat_map(BTreeMap::values).sum()
    }

    /// Number of links on which the linkers do not agree.
    pub fn disagreements(&self) -> usize {
        let disagree = |row: &Row| -> usize {
            row.iter().filter(|(verdict, _)| !verdict.agrees()).map(|(_, count)| count).sum()
        };
        self.by_sm.values().map(disagree).sum()
    }

    /// Number of disagreements that are not on the list of known ones.
    pub fn new_disagreements(&self) -> usize {
        self.disagreements() - self.known
    }

    /// Whether all code that was to be proved was.
    pub fn is_proved(&self) -> bool {
        self.proofs.is_good()
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.by_sm.values().filter_map(|row| row.get(&verdict)).sum()
    }

    /// Number of links whose messages differ.
    pub fn messages_differ(&self) -> usize {
        self.messages_differ
    }

    fn add(&mut self, case: &Case, label: &str, judged: &Judged) {
        let kind = case.name.split(['-', '/']).next().unwrap_or_default();
        let kind =
            if kind.starts_with('s') && kind[1..].parse::<u64>().is_ok() { "random" } else { kind };
        for row in [
            self.by_sm.entry(case.sm).or_default(),
            self.by_label.entry(label.to_owned()).or_default(),
            self.by_kind.entry(kind.to_owned()).or_default(),
        ] {
            *row.entry(judged.comparison.verdict).or_default() += 1;
        }
        if let Some(split) = judged.comparison.split {
            *self.capsules.entry(case.sm).or_default() += split;
        }
        self.nvlink_time += judged.nvlink.outcome.time;
        self.warpld_time += judged.warpld.as_ref().map_or(Duration::ZERO, |w| w.outcome.time);
        if !judged.comparison.same_messages {
            self.messages_differ += 1;
        }
        if judged.nvlink.outcome.status != Some(0) {
            let message = judged.nvlink.outcome.text.lines().next().unwrap_or("(no message)");
            *self.refusals.entry(general(message)).or_default() += 1;
        }
    }

    /// Prints the tables.
    pub fn print(&self, tools: &Tools, settings: &Settings) {
        table("target", &self.by_sm);
        if settings.statistics {
            table("link", &self.by_label);
            println!("\nfeature: programs with it, occurrences");
            for (feature, (programs, count)) in &self.features {
                println!("  {feature:<28} {programs:>6} {count:>8}");
            }
            println!("\ndeliberate mistakes: nvlink's exit status on the plain link");
            for (conflict, statuses) in &self.conflicts {
                println!("  {conflict:<32} {statuses:?}");
            }
            println!("\nfirst messages of refused links");
            for (message, count) in &self.refusals {
                println!("  {count:>6} {message}");
            }
        }
        if self.by_kind.len() > 1 {
            table("kind", &self.by_kind);
        }
        mercury::print(&self.capsules);
        println!(
            "\n{} cases, {} links, {} disagree ({} of them known), {} differ from run to run, {} mixed up by \
             nvlink, {} with other messages; nvlink {:.1?}, warpld {:.1?}",
            self.cases,
            self.links(),
            self.disagreements(),
            self.known,
            self.count(Verdict::NvlinkVaries),
            self.count(Verdict::NvlinkMixesUp),
            self.messages_differ,
            self.nvlink_time,
            self.warpld_time
        );
        self.print_row(tools);
        if let Some(path) = &settings.list_new {
            let line = |link: &String| format!("{link} {}", tools.release);
            let mut list: Vec<String> = self.new.iter().map(line).collect();
            list.sort();
            if let Err(error) = fs::write(path, list.join("\n") + "\n") {
                println!("{}: {error}", path.display());
            }
        }
        if settings.boards {
            self.scores.print();
        }
        if settings.hazards {
            println!();
            if self.libraries > 0 {
                println!(
                    "{} links with NVIDIA's libraries, which are not disassembled",
                    self.libraries
                );
            }
            if self.not_listed > 0 {
                println!(
                    "{} links for sm_{NOT_LISTED}, which nvdisasm cannot list",
                    self.not_listed
                );
            }
            self.proofs.print();
        }
    }
}

impl Report {
    /// The whole as a row of the table in docs/releases.md.
    fn print_row(&self, tools: &Tools) {
        let count = |verdict| self.count(verdict);
        let targets: Vec<String> =
            self.by_sm.keys().map(|sm| sm.to_string().replacen("sm_", "", 1)).collect();
        println!(
            "\n| release | objects of | targets | links | identical | control bits | both refuse \
             | nvlink fails | differ | of these known |\n|---|---|---|---|---|---|---|---|---|---|"
        );
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            tools.release,
            tools.compiled_by(),
            targets.join(" "),
            self.links(),
            count(Verdict::Identical) + count(Verdict::NoteOnly) + count(Verdict::HandedOver),
            count(Verdict::ControlBits),
            count(Verdict::BothRefuse),
            count(Verdict::NvlinkFails)
                + count(Verdict::NvlinkVaries)
                + count(Verdict::NvlinkMixesUp),
            self.disagreements(),
            self.known
        );
    }
}

/// A message without the names in quotes and the numbers.
fn general(message: &str) -> String {
    let mut out = String::new();
    for (i, part) in message.split('\'').enumerate() {
        out += if i % 2 == 0 { part } else { "'…'" };
    }
    out
}

fn table<K: ToString + Ord>(title: &str, rows: &BTreeMap<K, Row>) {
    let used: Vec<Verdict> =
        Verdict::ALL.into_iter().filter(|v| rows.values().any(|row| row.contains_key(v))).collect();
    print!("\n{title:<22}");
    for verdict in &used {
        print!("{:>13}", verdict.title());
    }
    println!("{:>9}", "links");
    let line = |name: &str, row: &Row| {
        print!("{name:<22}");
        for verdict in &used {
            print!("{:>13}", row.get(verdict).copied().unwrap_or(0));
        }
        println!("{:>9}", row.values().sum::<usize>());
    };
    let mut total = Row::new();
    for (key, row) in rows {
        line(&key.to_string(), row);
        for (&verdict, count) in row {
            *total.entry(verdict).or_default() += count;
        }
    }
    line("all", &total);
}

/// Runs all `jobs`.
pub fn run(tools: &Tools, jobs: &[Job], settings: &Settings) -> std::io::Result<Report> {
    fs::create_dir_all(tools.cases("run"))?;
    fs::create_dir_all(tools.cache())?;
    let next = AtomicUsize::new(0);
    let pool = Pool::new(tools.nvdisasm(), tools.work.clone(), settings.faults);
    let report = Mutex::new(Report::default());
    let start = Instant::now();
    std::thread::scope(|scope| {
        let work = || -> std::io::Result<()> {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { return Ok(()) };
                one((tools, &pool), job, settings, &report)?;
                if (at + 1).is_multiple_of(500) {
                    let report = lock(&report);
                    eprintln!(
                        "{} of {} cases, {} links, {} disagree, {:.0?}",
                        at + 1,
                        jobs.len(),
                        report.links(),
                        report.disagreements(),
                        start.elapsed()
                    );
                }
            }
        };
        let threads: Vec<_> = (0..settings.jobs).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            thread.join().map_err(|_| std::io::Error::other("a worker panicked"))??;
        }
        Ok::<(), std::io::Error>(())
    })?;
    let mut report = report.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if settings.hazards {
        let (proofs, words) = pool.finish(settings.jobs).map_err(std::io::Error::other)?;
        words.iter().for_each(|line| println!("{line}"));
        report.proofs = proofs;
    }
    Ok(report)
}

fn lock(report: &Mutex<Report>) -> std::sync::MutexGuard<'_, Report> {
    report.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs one case in its own folder, which stays if something disagrees.
fn one(
    (tools, pool): (&Tools, &Pool),
    job: &Job,
    settings: &Settings,
    report: &Mutex<Report>,
) -> std::io::Result<()> {
    let case = &job.case();
    let folder = tools.cases("run").join(case.name.replace('/', "-"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let mut bad = Vec::new();
    if let Err(problem) = tools.prepare(case, &folder) {
        let mut report = lock(report);
        report.cases += 1;
        *report.by_sm.entry(case.sm).or_default().entry(Verdict::Unbuilt).or_default() += 1;
        bad.push(format!("  not built: {problem}"));
    } else {
        let lister = Lister { nvdisasm: tools.nvdisasm(), folder: folder.clone() };
        let is_wanted = |link: &&Link| match &settings.label {
            Some(label) => link.label == *label,
            None => true,
        };
        for link in case.links.iter().filter(is_wanted) {
            let mut judged = judge::judge(tools, link, &folder)?;
            if judged.comparison.verdict == Verdict::Different
                && matches!(job, Job::Random { .. })
                && namesakes::are_mixed_up(tools, case, link, &folder.join("apart"))?
            {
                judged.comparison = Comparison::of(Verdict::NvlinkMixesUp);
            }
            let id = format!("{} {}", case.name, link.label);
            let known = !judged.comparison.verdict.agrees() && settings.known.contains(&id);
            if known {
                lock(report).known += 1;
            } else if !judged.comparison.verdict.agrees()
                || (settings.messages && !judged.comparison.same_messages)
            {
                bad.push(describe(&link.label, &judged, settings));
                lock(report).new.push(id);
            }
            lock(report).add(case, &link.label, &judged);
            if settings.hazards && link.sm.is_mercury() {
                if link.sm.number == NOT_LISTED {
                    lock(report).not_listed += 1;
                } else if case.is_our_own(link) {
                    prove(pool, tools, (case, link), &judged, (settings, &folder))?;
                } else {
                    lock(report).libraries += 1;
                }
            }
            if settings.boards && link.sm.is_mercury() && case.is_our_own(link) {
                score(&lister, tools, (case, link), &judged, report)?;
            }
            if link.label == "plain"
                && let Some(conflict) = case.conflict
            {
                let status =
                    judged.nvlink.outcome.status.map_or("timeout".into(), |s| s.to_string());
                *lock(report).conflicts.entry(conflict).or_default().entry(status).or_default() +=
                    1;
            }
        }
        let mut report = lock(report);
        report.cases += 1;
        for (&feature, &count) in &case.features {
            let entry = report.features.entry(feature).or_default();
            *entry = (entry.0 + 1, entry.1 + count);
        }
    }
    if bad.is_empty() {
        return if settings.keep { Ok(()) } else { fs::remove_dir_all(&folder) };
    }
    let kept = tools.cases("failed").join(case.name.replace('/', "-"));
    let _ = fs::remove_dir_all(&kept);
    fs::create_dir_all(tools.cases("failed"))?;
    fs::write(folder.join("cmd"), judge::command_lines(tools, case))?;
    for module in &case.modules {
        fs::write(folder.join(format!("{}.ptx", module.name)), &module.ptx)?;
    }
    fs::rename(&folder, &kept)?;
    let mut text = format!("{}: {}\n{}", case.name, kept.display(), bad.join("\n"));
    if settings.reduce {
        text += &reduce::reduce(tools, case)?;
    }
    let mut report = lock(report);
    if report.failures.len() < settings.shown {
        println!("{text}");
    }
    report.failures.push(case.name.clone());
    Ok(())
}

/// Scores a link that both linkers made.
fn score(
    lister: &Lister,
    tools: &Tools,
    (case, link): (&Case, &Link),
    judged: &Judged,
    report: &Mutex<Report>,
) -> std::io::Result<()> {
    let rescored = judged.warpld.as_ref().and_then(|run| run.output.as_deref());
    let kept = judge::kept(tools, link, &lister.folder)?;
    let (Some(nvlink), Some(kept), Some(rescored)) =
        (judged.nvlink.output.as_deref(), kept.as_deref(), rescored)
    else {
        return Ok(());
    };
    let outputs = Outputs { nvlink, kept, rescored };
    let name = format!("{} {}", case.name, link.label);
    let mut scores = Scores::default();
    scores.add(lister, (link.sm, &name), &outputs).map_err(std::io::Error::other)?;
    lock(report).scores += scores;
    Ok(())
}

/// Lets the code of both linkers' outputs be proved.
fn prove(
    pool: &Pool,
    tools: &Tools,
    (case, link): (&Case, &Link),
    judged: &Judged,
    (settings, folder): (&Settings, &Path),
) -> std::io::Result<()> {
    let inputs: Vec<PathBuf> = link.inputs.iter().map(|name| folder.join(name)).collect();
    let warpld = judged.warpld.as_ref().and_then(|run| run.output.clone());
    let kept = if settings.kept { judge::kept(tools, link, folder)? } else { None };
    let outputs = [
        ("nvlink", judged.nvlink.output.clone()),
        ("warpld", warpld),
        ("warpld --no-rescoreboard", kept),
    ];
    let outputs: Vec<_> =
        outputs.iter().filter_map(|(who, bytes)| Some((*who, bytes.as_deref()?))).collect();
    let name = format!("{} {}", case.name, link.label);
    pool.add(&name, &inputs, &outputs).map_err(std::io::Error::other)
}

fn describe(label: &str, judged: &Judged, settings: &Settings) -> String {
    let mut text = format!("  {label}: {}", judged.comparison.verdict.title());
    for line in &judged.comparison.detail {
        text += &format!("\n    {line}");
    }
    if settings.messages
        && let Some(warpld) = &judged.warpld
    {
        let [theirs, ours] =
            [&judged.nvlink, warpld].map(|run| verdict::messages(&run.outcome.text));
        for line in verdict::first_difference("message", &theirs, &ours) {
            text += &format!("\n    {line}");
        }
    }
    text
}
