//! Runs the same command lines through nvlink and warpld and compares exit
//! status, messages and every file that is written. Needs a toolkit
//! (`WARPLD_TOOLKIT`); without one there is nothing to compare with.

mod cases;
mod fixtures;
mod messages;

use cases::{CASES, Case, Promise};
use fixtures::Toolkit;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::Program;

const WARPLD: Program = support::warpld!();

/// What a run left behind.
struct Trace {
    status: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
    files: BTreeMap<String, Vec<u8>>,
}

struct Bench {
    inputs: PathBuf,
    folder: PathBuf,
    library_folder: PathBuf,
    nvvm: PathBuf,
    nvlink: PathBuf,
    warpld: PathBuf,
    /// Whether `-v` prints old contents of memory as numbers of barriers, as 13.1 and later do.
    stale_barriers: bool,
}

#[test]
fn command_lines_do_what_nvlink_does() {
    let Some(toolkit) = Toolkit::from_env() else {
        eprintln!("WARPLD_TOOLKIT is not set: nothing compared");
        return;
    };
    let bench = Bench::new(&toolkit);
    let mut failures = String::new();
    let mut failed = 0;
    let only = std::env::var("WARPLD_CASE").unwrap_or_default();
    for case in CASES.iter().filter(|case| case.line.contains(&only)) {
        let differences = bench.compare(case);
        if !differences.is_empty() {
            failed += 1;
            let _ = writeln!(failures, "$ nvlink {}\n{differences}", case.line);
        }
    }
    let _ = fs::remove_dir_all(&bench.folder);
    assert!(failed == 0, "{failed} of {} command lines differ:\n{failures}", CASES.len());
}

#[test]
fn there_are_enough_cases() {
    assert!(CASES.len() >= 150, "{}", CASES.len());
    let mut lines: Vec<_> = CASES.iter().map(|case| (case.line, case.files)).collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), CASES.len(), "a case is there twice");
}

/// The lines of `-v` without the numbers of barriers.
fn without_barriers(text: &str) -> String {
    let line = |line: &str| match (line.split_once(", used "), line.split_once(" barriers, ")) {
        (Some((first, _)), Some((_, last))) => format!("{first}, used barriers, {last}"),
        _ => line.to_owned(),
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

impl Bench {
    fn new(toolkit: &Toolkit) -> Self {
        let inputs = fixtures::build(toolkit);
        let (folder, names) = (WARPLD.folder("run"), WARPLD.folder("names"));
        // Under this name messages look like nvlink's, and the shim names the release.
        let warpld = names.join("bin/nvlink");
        fs::create_dir(names.join("bin")).unwrap();
        std::os::unix::fs::symlink(WARPLD.path(), &warpld).unwrap();
        let record = format!("toolkit: /\nrelease: {}\n", toolkit.version());
        fs::write(names.join("warpld-shim.txt"), record).unwrap();
        let library_folder = toolkit.library_folder();
        let nvvm = names.join("nvvm");
        fs::create_dir_all(nvvm.join("lib64")).unwrap();
        let libnvvm = nvvm.join("lib64/libnvvm.so");
        std::os::unix::fs::symlink(library_folder.join("libnvvm.so.4"), &libnvvm).unwrap();
        let stale_barriers = !toolkit.version().starts_with("13.0.");
        let nvlink = toolkit.tool("nvlink");
        Self { inputs, folder, library_folder, nvvm, nvlink, warpld, stale_barriers }
    }

    fn compare(&self, case: &Case) -> String {
        let mut theirs = self.run(&self.nvlink, &[], case);
        // Not recorded anywhere: the tool note becomes nvlink's, and outputs are
        // checked, that is all.
        let mut ours = self.run(&self.warpld, &["--identity=nvlink", "--verify"], case);
        if self.stale_barriers {
            for trace in [&mut theirs, &mut ours] {
                trace.stderr = without_barriers(&trace.stderr);
            }
        }
        differences(case, &theirs, &ours)
    }

    fn run(&self, program: &Path, first: &[&str], case: &Case) -> Trace {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(self.folder.join("sub")).unwrap();
        for entry in fs::read_dir(&self.inputs).unwrap() {
            let entry = entry.unwrap();
            fs::hard_link(entry.path(), self.folder.join(entry.file_name())).unwrap();
        }
        for (name, content) in case.files {
            fs::write(self.folder.join(name), content).unwrap();
        }
        let before = snapshot(&self.folder);
        let output = self.execute(program, first, case);
        let mut files = snapshot(&self.folder);
        files.retain(|name, content| before.get(name) != Some(content));
        Trace {
            status: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            files,
        }
    }

    fn execute(&self, program: &Path, first: &[&str], case: &Case) -> Output {
        Command::new("timeout")
            .arg("20")
            .arg(program)
            .args(first)
            .args(self.words(case.line))
            .current_dir(&self.folder)
            .env_remove("LIBRARY_PATH")
            .envs(case.env.iter().copied())
            .output()
            .unwrap()
    }

    /// Splits at blanks; `'…'` groups; `{lib}` is the toolkit's library folder,
    /// `{nvvm}` a folder for `-nvvmpath`.
    fn words(&self, line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                ' ' if !quoted => words.extend(word.take()),
                c => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        let lib = self.library_folder.to_str().unwrap();
        let nvvm = self.nvvm.to_str().unwrap();
        let fill = |word: String| word.replace("{lib}", lib).replace("{nvvm}", nvvm);
        words.into_iter().map(fill).collect()
    }
}

fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for dir in [folder.to_owned(), folder.join("sub")] {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read(path).unwrap());
            }
        }
    }
    files
}

fn differences(case: &Case, theirs: &Trace, ours: &Trace) -> String {
    let mut out = String::new();
    let same_status = match case.promise {
        Promise::Success => (theirs.status == Some(0)) == (ours.status == Some(0)),
        Promise::Text | Promise::Status => theirs.status == ours.status,
    };
    if !same_status {
        let _ = writeln!(out, "  status {:?}, nvlink {:?}", ours.status, theirs.status);
    }
    if ours.status != theirs.status && ours.status != Some(0) {
        let _ = writeln!(out, "  stderr {}", ours.stderr.trim_end());
    }
    let names: std::collections::BTreeSet<_> =
        theirs.files.keys().chain(ours.files.keys()).collect();
    for name in names {
        match (theirs.files.get(name), ours.files.get(name)) {
            (Some(a), Some(b)) => {
                if let Some(words) = differential::difference(a, b) {
                    let _ = writeln!(out, "  {name}: {}", words.replace('\n', "\n    "));
                }
            }
            (None, _) => _ = writeln!(out, "  {name}: only warpld writes it"),
            (_, None) => _ = writeln!(out, "  {name}: only nvlink writes it"),
        }
    }
    if case.promise == Promise::Text {
        let printed = without_notes(&ours.stderr);
        if printed != theirs.stderr || ours.stdout != theirs.stdout {
            let _ = writeln!(out, "  ours:   {printed:?}\n  nvlink: {:?}", theirs.stderr);
        }
    }
    out
}

/// Messages without the lines that warpld adds to them.
fn without_notes(text: &str) -> String {
    text.split_inclusive('\n')
        .filter(|line| !line.starts_with("    = ") && !line.starts_with("      "))
        .collect()
}
