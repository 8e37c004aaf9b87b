//! Both linkers on the same inputs, and the verdict.

use crate::compare;
use crate::mercury::{self, Split};
use crate::program::{Case, Link};
use crate::tools::{self, Outcome, Tools};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What came of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The same bytes.
    Identical,
    /// The same but for the linker's own note.
    NoteOnly,
    /// The same but for control bits of kernels without calls (sm_100 on).
    ControlBits,
    /// Both refuse, with the same exit status.
    BothRefuse,
    /// nvlink crashed or stopped with an internal error; warpld did not crash.
    NvlinkFails,
    /// nvlink's output differs from run to run, in the sections where warpld's does
    /// and has zeros.
    NvlinkVaries,
    /// Different bytes.
    Different,
    /// One refuses, the other does not, or the exit status differs.
    RefusalMismatch,
    /// warpld crashed.
    Crash,
    /// One of them ran out of time.
    Timeout,
    /// The inputs could not be made, or nvlink does not do what the case says.
    Unbuilt,
}

impl Verdict {
    /// All verdicts, in the order of the table's columns.
    pub const ALL: [Self; 11] = [
        Self::Identical,
        Self::NoteOnly,
        Self::ControlBits,
        Self::BothRefuse,
        Self::NvlinkFails,
        Self::NvlinkVaries,
        Self::Different,
        Self::RefusalMismatch,
        Self::Crash,
        Self::Timeout,
        Self::Unbuilt,
    ];

    /// Column title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::NoteOnly => "note-only",
            Self::ControlBits => "control-bits",
            Self::BothRefuse => "both-refuse",
            Self::NvlinkFails => "nvlink-fails",
            Self::NvlinkVaries => "nvlink-varies",
            Self::Different => "DIFFERENT",
            Self::RefusalMismatch => "REFUSAL",
            Self::Crash => "CRASH",
            Self::Timeout => "TIMEOUT",
            Self::Unbuilt => "unbuilt",
        }
    }

    /// Whether the two linkers agree.
    pub fn agrees(self) -> bool {
        matches!(
            self,
            Self::Identical
                | Self::NoteOnly
                | Self::ControlBits
                | Self::BothRefuse
                | Self::NvlinkFails
                | Self::NvlinkVaries
        )
    }
}

/// A judged link.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Its verdict.
    pub verdict: Verdict,
    /// What differs, line by line.
    pub detail: Vec<String>,
    /// Whether the messages of both are equal.
    pub same_messages: bool,
    /// How files with capsules compare.
    pub split: Option<Split>,
    /// How nvlink ended.
    pub nvlink: Outcome,
    /// How warpld ended.
    pub warpld: Option<Outcome>,
}

/// The two folders outputs go to. Equal output names keep the notes equal.
const NVLINK_OUT: &str = "n";
const WARPLD_OUT: &str = "w";
/// For a second run of nvlink.
const AGAIN_OUT: &str = "v";

/// Arguments of one run, in a folder below the case's.
fn arguments(tools: &Tools, link: &Link, out: &str) -> Vec<String> {
    let lib = tools.toolkit.join("lib64").display().to_string();
    let mut args = vec![format!("-arch={}", link.sm)];
    for arg in &link.args {
        let arg = arg.replace("{lib}", &lib);
        args.push(match arg.strip_prefix("--register-link-binaries=") {
            Some(file) => format!("--register-link-binaries={out}/{file}"),
            None => arg,
        });
    }
    args.extend(link.inputs.iter().cloned());
    args.extend(["-o".into(), format!("{out}/{}", link.output)]);
    args
}

/// Runs one link with nvlink and, if there is one, with warpld. An output of
/// nvlink becomes an input for later links of both.
pub fn judge(tools: &Tools, link: &Link, folder: &Path) -> std::io::Result<Judged> {
    for out in [NVLINK_OUT, WARPLD_OUT] {
        fs::create_dir_all(folder.join(out))?;
        let _ = fs::remove_file(folder.join(out).join(&link.output));
    }
    let mut nvlink = Command::new(tools.program("nvlink"));
    nvlink.args(arguments(tools, link, NVLINK_OUT));
    let nvlink = tools::run(&mut nvlink, folder, &format!("{NVLINK_OUT}/{}.log", link.label))?;
    let warpld = match &tools.warpld {
        Some(program) => {
            let mut warpld = Command::new(program);
            // Every output is read back and checked.
            warpld.args(["--identity=nvlink", "--verify"]).args(arguments(tools, link, WARPLD_OUT));
            Some(tools::run(&mut warpld, folder, &format!("{WARPLD_OUT}/{}.log", link.label))?)
        }
        None => None,
    };
    let mut detail = Vec::new();
    let mut split = None;
    let mut verdict = verdict(link, folder, &nvlink, warpld.as_ref(), &mut detail, &mut split);
    if verdict == Verdict::Different && nvlink_varies(tools, link, folder)? {
        detail.clear();
        verdict = Verdict::NvlinkVaries;
    }
    let verdict = match link.expected {
        Some(expected) if nvlink.status != Some(expected) => {
            detail.push(format!("nvlink should exit with {expected}, not {:?}", nvlink.status));
            detail.extend(nvlink.text.lines().take(4).map(str::to_owned));
            Verdict::Unbuilt
        }
        _ => verdict,
    };
    let same_messages = warpld.as_ref().is_none_or(|w| messages(&w.text) == messages(&nvlink.text));
    if link.args.iter().any(|arg| arg == "-r") {
        let output = folder.join(NVLINK_OUT).join(&link.output);
        let _ = fs::copy(output, folder.join(&link.output));
    }
    Ok(Judged { verdict, detail, same_messages, split, nvlink, warpld })
}

/// Whether a second run of nvlink differs from the first in all sections in which
/// warpld does, and warpld has zeros there.
fn nvlink_varies(tools: &Tools, link: &Link, folder: &Path) -> std::io::Result<bool> {
    fs::create_dir_all(folder.join(AGAIN_OUT))?;
    let mut nvlink = Command::new(tools.program("nvlink"));
    nvlink.args(arguments(tools, link, AGAIN_OUT));
    tools::run(&mut nvlink, folder, &format!("{AGAIN_OUT}/{}.log", link.label))?;
    let read = |out: &str| fs::read(folder.join(out).join(&link.output)).ok();
    let files = [NVLINK_OUT, AGAIN_OUT, WARPLD_OUT].map(read);
    let [Some(first), Some(again), Some(ours)] = files else { return Ok(false) };
    Ok(compare::zeros_where_varying(&first, &again, &ours))
}

/// Messages without the tool's name and output folder.
pub fn messages(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| {
            line.replacen("warpld ", "nvlink ", 1)
                .replace(&format!("'{WARPLD_OUT}/"), &format!("'{NVLINK_OUT}/"))
        })
        .collect()
}

fn verdict(
    link: &Link,
    folder: &Path,
    nvlink: &Outcome,
    warpld: Option<&Outcome>,
    detail: &mut Vec<String>,
    split: &mut Option<Split>,
) -> Verdict {
    let Some(warpld) = warpld else {
        return match nvlink.status {
            Some(0) => Verdict::Identical,
            None => Verdict::Timeout,
            _ if fails(nvlink) => Verdict::NvlinkFails,
            _ => Verdict::BothRefuse,
        };
    };
    match (nvlink.status, warpld.status) {
        (_, None) | (None, _) => return Verdict::Timeout,
        _ if warpld.crashed() => return Verdict::Crash,
        (Some(101), _) | (_, Some(101)) => return Verdict::Crash,
        _ if fails(nvlink) => return Verdict::NvlinkFails,
        (Some(a), Some(b)) if a != b => {
            detail.push(format!("exit status: nvlink {a}, warpld {b}"));
            detail.extend(nvlink.text.lines().take(4).map(|l| format!("  n: {l}")));
            detail.extend(warpld.text.lines().take(4).map(|l| format!("  w: {l}")));
            return Verdict::RefusalMismatch;
        }
        (Some(0), _) => {}
        _ => return Verdict::BothRefuse,
    }
    let files = [NVLINK_OUT, WARPLD_OUT].map(|out| fs::read(folder.join(out).join(&link.output)));
    if let [Ok(a), Ok(b)] = &files {
        *split = mercury::split(a, b);
    }
    let mut worst = same_file(folder, &link.output, true, detail);
    if worst == Verdict::Different && split.is_some_and(Split::agrees) {
        detail.clear();
        worst = Verdict::ControlBits;
    }
    if let Some(side) = &link.side_file {
        worst = worst.max(same_file(folder, side, false, detail));
    }
    worst.max(same_properties(nvlink, warpld, detail))
}

/// Compares what `-v` tells of the image and of each kernel.
fn same_properties(nvlink: &Outcome, warpld: &Outcome, detail: &mut Vec<String>) -> Verdict {
    let [ours, theirs] = [warpld, nvlink].map(|outcome| {
        let mut lines = messages(&outcome.text);
        lines.retain(|line| line.starts_with("nvlink info"));
        lines
    });
    let Some(at) = (0..ours.len().max(theirs.len())).find(|&i| ours.get(i) != theirs.get(i)) else {
        return Verdict::Identical;
    };
    for (who, lines) in [("n", &theirs), ("w", &ours)] {
        detail.push(format!("info {at}, {who}: {}", lines.get(at).map_or("none", |l| l.as_str())));
    }
    Verdict::Different
}

/// Whether nvlink ran into a mistake of its own: nothing to imitate.
fn fails(nvlink: &Outcome) -> bool {
    nvlink.crashed() || (nvlink.status == Some(1) && nvlink.text.contains("Internal error"))
}

/// Compares a file both linkers wrote; neither writing it is equal, too.
fn same_file(folder: &Path, name: &str, device: bool, detail: &mut Vec<String>) -> Verdict {
    let [a, b] = [NVLINK_OUT, WARPLD_OUT].map(|out| fs::read(folder.join(out).join(name)).ok());
    match (a, b) {
        (a, b) if a == b => Verdict::Identical,
        (Some(a), Some(b)) if device && compare::equal_but_for_note(&a, &b) => Verdict::NoteOnly,
        (Some(a), Some(b)) if device => {
            detail.extend(compare::explain(&a, &b));
            Verdict::Different
        }
        (a, b) => {
            let size = |file: Option<Vec<u8>>| {
                file.map_or("no file".into(), |f| format!("{} bytes", f.len()))
            };
            detail.push(format!("{name}: nvlink {}, warpld {}", size(a), size(b)));
            Verdict::Different
        }
    }
}

/// Command lines to run a link by hand in the case's folder.
pub fn command_lines(tools: &Tools, case: &Case) -> String {
    let quote = |args: Vec<String>| args.join(" ");
    let warpld = tools.warpld.as_ref().map_or("warpld".into(), |w| w.display().to_string());
    let mut text = String::new();
    for module in &case.modules {
        let (ptxas, flags) = (tools.program("ptxas"), module.flags.join(" "));
        let (name, sm) = (&module.name, module.sm);
        text += &format!("# {} -c -arch={sm} {flags} {name}.ptx\n", ptxas.display());
    }
    for link in &case.links {
        let nvlink = tools.program("nvlink");
        text += &format!("# {}\n", link.label);
        text += &format!("{} {}\n", nvlink.display(), quote(arguments(tools, link, NVLINK_OUT)));
        if link.args.iter().any(|arg| arg == "-r") {
            text += &format!("cp {NVLINK_OUT}/{0} {0}\n", link.output);
        }
        text +=
            &format!("{warpld} --identity=nvlink {}\n", quote(arguments(tools, link, WARPLD_OUT)));
    }
    text
}
