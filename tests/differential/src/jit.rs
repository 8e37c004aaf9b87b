//! Two libraries with libnvJitLink's functions on the same inputs: NVIDIA's and ours.
//!
//! The inputs are those of the random programs. Each set is linked as it is and with options that change
//! the output; what `-r` makes is linked again. Results of all calls, logs and bytes must be equal.

use crate::compare;
use crate::mercury::{self, Split};
use crate::program::Case;
use crate::runner::Job;
use crate::threads;
use crate::tools::Tools;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use warpld_nvjitlink::real::{Handle, InputType, Library, Refusal};

/// The two libraries.
pub struct Libraries {
    theirs: Library,
    ours: Library,
}

/// A file, its name and its type.
type Input = (String, InputType, Vec<u8>);

/// What a library made of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Linked {
    /// Results of the calls that add and link.
    results: Vec<i32>,
    cubin: Option<Vec<u8>>,
    info: String,
    errors: String,
}

/// How two results compare, as one word.
const IDENTICAL: &str = "identical";
/// Scheduling bits of kernels without calls differ, from sm_100 on.
const CONTROL_BITS: &str = "control-bits";
/// Both refuse, in the same words.
const BOTH_REFUSE: &str = "refused-by-both";
/// Names are defined twice, which theirs does not log.
const DUPLICATES: &str = "duplicates";
/// Theirs is not the same from run to run.
const VARIES: &str = "theirs-varies";
/// Theirs crashes.
const CRASHES: &str = "theirs-crashes";
/// Theirs fails by a mistake of its own, or passes over one of the program.
const FAILS: &str = "theirs-fails";
const DIFFERENT: &str = "different";

/// Compares libraries on the programs of `jobs`, each in a process of its own, as theirs may crash. `args` are
/// those of this program.
pub fn run(args: &[String], jobs: &[Job], workers: usize) -> Result<bool, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let found = threads::map(workers, jobs, |job| {
        let Job::Random { seed, sm, .. } = job else { return Ok(String::new()) };
        let mut child = Command::new(&program);
        child.arg(CHILD).args(args);
        child.args(["--seeds", &seed.to_string(), "--sm", &sm.to_string()]);
        let output = child.stderr(Stdio::null()).output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.code() {
            Some(0) => Ok(text),
            Some(_) => Err(format!("seed {seed} for {sm}: {text}")),
            None => {
                let verdict = if text.ends_with(THEIRS) { CRASHES } else { DIFFERENT };
                Ok(format!("{text}{verdict}\n"))
            }
        }
    });
    let found: Result<Vec<String>, String> = found.into_iter().collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let all = found?.concat();
    for line in all.lines() {
        let verdict = line.split_whitespace().find(|word| !matches!(*word, "theirs" | "ours"));
        match verdict {
            Some(verdict) if line.starts_with("theirs ") => {
                *counts.entry(verdict).or_default() += 1
            }
            _ => println!("{line}"),
        }
    }
    let links: usize = counts.values().sum();
    let list: Vec<String> = counts.iter().map(|(verdict, n)| format!("{n} {verdict}")).collect();
    println!("{links} links by two libraries: {}", list.join(", "));
    Ok(links > 0 && !counts.contains_key(DIFFERENT))
}

/// The command that does one program.
pub const CHILD: &str = "nvjitlink-program";
/// Printed before each library is called, so that a crash has an owner.
const THEIRS: &str = "theirs ";
const OURS: &str = "ours ";

fn announce(who: &str) {
    print!("{who}");
    let _ = std::io::stdout().flush();
}

impl Libraries {
    /// Loads both.
    pub fn open(theirs: &Path, ours: &Path) -> Result<Self, String> {
        let open = |path: &Path| {
            Library::open_any(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        Ok(Self { theirs: open(theirs)?, ours: open(ours)? })
    }

    /// Compares links of one program, one line each.
    pub fn run(&self, tools: &Tools, case: &Case) -> Result<(), String> {
        fs::create_dir_all(tools.cases("jit")).map_err(|e| e.to_string())?;
        self.case(tools, case)
    }

    fn case(&self, tools: &Tools, case: &Case) -> Result<(), String> {
        let folder = tools.cases("jit").join(&case.name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        tools.prepare(case, &folder)?;
        let Some(link) = case.links.first() else { return Ok(()) };
        let inputs: Result<Vec<Input>, String> =
            link.inputs.iter().map(|name| read(&folder, name)).collect();
        let inputs = inputs?;
        let arch = format!("-arch={}", link.sm);
        for options in [
            &[][..],
            &["-verbose"],
            &["-g"],
            &["-r"],
            &["-kernels-used=k"],
            &["-variables-used=v", "-kernels-used=1"],
            &["-r", "-g"],
        ] {
            let options = [&[arch.as_str()], options].concat();
            let name = format!("{} {}", case.name, options.join(" "));
            let theirs = self.link(&name, &options, &inputs);
            if let (Some(merged), true) = (theirs.cubin, options.contains(&"-r")) {
                let again = [("merged".to_owned(), InputType::Cubin, merged)];
                self.link(&format!("{name}, again"), &[arch.as_str()], &again);
            }
        }
        fs::remove_dir_all(&folder).map_err(|e| e.to_string())
    }

    fn link(&self, name: &str, options: &[&str], inputs: &[Input]) -> Linked {
        announce(THEIRS);
        let theirs = link(&self.theirs, options, inputs);
        announce(OURS);
        let ours = link(&self.ours, options, inputs);
        let (mut verdict, text) = judge(&theirs, &ours);
        if verdict == DIFFERENT && theirs != link(&self.theirs, options, inputs) {
            verdict = VARIES;
        }
        println!("{verdict}");
        if verdict == DIFFERENT {
            println!("{name}\n{text}");
        }
        theirs
    }
}

fn read(folder: &Path, name: &str) -> Result<Input, String> {
    let data = fs::read(folder.join(name)).map_err(|e| format!("{name}: {e}"))?;
    let kind = match name.rsplit('.').next() {
        Some("cubin") => InputType::Cubin,
        Some("fatbin") => InputType::Fatbin,
        Some("o") => InputType::Object,
        Some("a") => InputType::Library,
        _ => return Err(format!("{name}: no such type")),
    };
    Ok((name.to_owned(), kind, data))
}

fn link(library: &Library, options: &[&str], inputs: &[Input]) -> Linked {
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let options: Vec<CString> = options.iter().map(|option| text(option)).collect();
    let (mut handle, created) = Handle::new(library, &options);
    let number = |result: Result<(), Refusal>| result.err().map_or(0, |refusal| refusal.0);
    let mut linked = Linked { results: vec![number(created)], ..Linked::default() };
    for (name, kind, data) in inputs {
        linked.results.push(number(handle.add_data(*kind, data, Some(text(name)))));
    }
    let completed = handle.complete();
    if completed.is_ok() {
        linked.cubin = handle.cubin().ok();
    }
    linked.results.push(number(completed));
    let log = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    linked.info = lines(&log(handle.info_log()));
    linked.errors = lines(&log(handle.error_log()));
    linked
}

/// The lines of a log. Theirs gives no reasons, and repeats a warning that holds in several ways.
fn lines(log: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in log.lines() {
        let is_repeated = line.starts_with("warning") && lines.contains(&line);
        if !is_repeated && !line.starts_with("    = ") {
            lines.push(line);
        }
    }
    lines.into_iter().flat_map(|line| [line, "\n"]).collect()
}

fn judge(theirs: &Linked, ours: &Linked) -> (&'static str, String) {
    if ours.errors.contains("Multiple definition") && theirs.results == ours.results {
        return (DUPLICATES, String::new());
    }
    let hides = theirs.cubin.is_some() && ours.errors.contains("merge_elf failed");
    if theirs.errors.contains("Internal error") || hides {
        return (FAILS, String::new());
    }
    if theirs == ours {
        let verdict = if theirs.cubin.is_some() { IDENTICAL } else { BOTH_REFUSE };
        return (verdict, String::new());
    }
    let mut text = String::new();
    if theirs.results != ours.results {
        text += &format!("  results: {:?}, ours {:?}\n", theirs.results, ours.results);
    }
    for (what, a, b) in
        [("errors", &theirs.errors, &ours.errors), ("infos", &theirs.info, &ours.info)]
    {
        if a != b {
            text += &format!("  {what}: theirs\n{a}\n  ours\n{b}\n");
        }
    }
    if let (Some(a), Some(b)) = (&theirs.cubin, &ours.cubin)
        && a != b
    {
        if text.is_empty() && mercury::split(a, b).is_some_and(Split::agrees) {
            return (CONTROL_BITS, text);
        }
        text += &compare::explain(a, b).join("\n");
    }
    (DIFFERENT, text)
}
