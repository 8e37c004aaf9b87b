//! What two linkers made of the same inputs, compared.

use crate::compare;
use crate::mercury::{self, Split};
use crate::release::Release;
use crate::tools::Outcome;

/// What came of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The same bytes.
    Identical,
    /// The same but for the linker's own note.
    NoteOnly,
    /// The same bytes, because warpld handed the link over to nvlink.
    HandedOver,
    /// The same but for control bits of kernels without calls (sm_100 on).
    ControlBits,
    /// Both refuse, with the same exit status.
    BothRefuse,
    /// nvlink crashed or stopped with an internal error; warpld did not crash.
    NvlinkFails,
    /// nvlink's output differs from run to run: one is warpld's, or warpld's has zeros where it
    /// differs.
    NvlinkVaries,
    /// nvlink gives functions of one name in a relinked file the relocations of the first; with
    /// names of their own the same program is linked alike.
    NvlinkMixesUp,
    /// libnvJitLink stands in for nvlink and has no such option, or cannot compile such LTO-IR.
    Unavailable,
    /// The output differs from run to run, and no run of one is equal to any of the other.
    Unsettled,
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
    pub const ALL: [Self; 15] = [
        Self::Identical,
        Self::NoteOnly,
        Self::HandedOver,
        Self::ControlBits,
        Self::BothRefuse,
        Self::NvlinkFails,
        Self::NvlinkVaries,
        Self::NvlinkMixesUp,
        Self::Unavailable,
        Self::Unsettled,
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
            Self::HandedOver => "handed-over",
            Self::ControlBits => "control-bits",
            Self::BothRefuse => "both-refuse",
            Self::NvlinkFails => "nvlink-fails",
            Self::NvlinkVaries => "nvlink-varies",
            Self::NvlinkMixesUp => "nvlink-mixes-up",
            Self::Unavailable => "unavailable",
            Self::Unsettled => "UNSETTLED",
            Self::Different => "DIFFERENT",
            Self::RefusalMismatch => "REFUSAL",
            Self::Crash => "CRASH",
            Self::Timeout => "TIMEOUT",
            Self::Unbuilt => "unbuilt",
        }
    }

    /// The verdict with this title.
    pub fn parse(title: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.title() == title)
    }

    /// Whether the two linkers agree.
    pub fn agrees(self) -> bool {
        matches!(
            self,
            Self::Identical
                | Self::NoteOnly
                | Self::HandedOver
                | Self::ControlBits
                | Self::BothRefuse
                | Self::NvlinkFails
                | Self::NvlinkVaries
                | Self::NvlinkMixesUp
                | Self::Unavailable
        )
    }
}

/// What one linker made of a link.
#[derive(Clone, Debug)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// The file it wrote.
    pub output: Option<Vec<u8>>,
    /// The file for the host compiler that it was asked for and wrote.
    pub side_file: Option<Vec<u8>>,
}

/// How the runs of both linkers compare.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The verdict.
    pub verdict: Verdict,
    /// What differs, line by line.
    pub detail: Vec<String>,
    /// Whether the messages of both are equal.
    pub same_messages: bool,
    /// How files with capsules compare.
    pub split: Option<Split>,
}

impl Comparison {
    /// A verdict that needs no more words.
    pub fn of(verdict: Verdict) -> Self {
        Self { verdict, detail: Vec::new(), same_messages: true, split: None }
    }
}

/// Compares a run of nvlink of `release` with one of warpld.
pub fn compare(nvlink: &Run, warpld: &Run, release: Release) -> Comparison {
    let mut detail = Vec::new();
    let mut split = None;
    let mut texts = [nvlink, warpld].map(|run| messages(&run.outcome.text));
    if release > Release::BASE {
        ignore_stale_barriers(&mut texts);
    }
    let mut verdict = verdict(nvlink, warpld, &texts, &mut detail, &mut split);
    if verdict == Verdict::Identical && warpld.outcome.text.lines().any(hands_over) {
        verdict = Verdict::HandedOver;
    }
    let same_messages = texts[0] == texts[1];
    Comparison { verdict, detail, same_messages, split }
}

/// The verdict on a link that nvlink made alone.
pub fn alone(nvlink: &Outcome) -> Verdict {
    match nvlink.status {
        Some(0) => Verdict::Identical,
        None => Verdict::Timeout,
        _ if fails(nvlink) => Verdict::NvlinkFails,
        _ => Verdict::BothRefuse,
    }
}

fn verdict(
    nvlink: &Run,
    warpld: &Run,
    texts: &[Vec<String>; 2],
    detail: &mut Vec<String>,
    split: &mut Option<Split>,
) -> Verdict {
    let (theirs, ours) = (&nvlink.outcome, &warpld.outcome);
    match (theirs.status, ours.status) {
        (_, None) | (None, _) => return Verdict::Timeout,
        // What crashed was nvlink, both times.
        (a, b) if a == b && fails(theirs) && ours.text.lines().any(hands_over) => {
            return Verdict::NvlinkFails;
        }
        _ if ours.crashed() => return Verdict::Crash,
        (Some(101), _) | (_, Some(101)) => return Verdict::Crash,
        _ if fails(theirs) => return Verdict::NvlinkFails,
        (Some(a), Some(b)) if a != b => {
            detail.push(format!("exit status: nvlink {a}, warpld {b}"));
            detail.extend(theirs.text.lines().take(4).map(|l| format!("  n: {l}")));
            detail.extend(ours.text.lines().take(4).map(|l| format!("  w: {l}")));
            return Verdict::RefusalMismatch;
        }
        (Some(0), _) => {}
        _ => return Verdict::BothRefuse,
    }
    if let (Some(a), Some(b)) = (&nvlink.output, &warpld.output) {
        *split = mercury::split(a, b);
    }
    let mut worst = same_output(nvlink.output.as_deref(), warpld.output.as_deref(), detail);
    if worst == Verdict::Different && split.is_some_and(Split::agrees) {
        detail.clear();
        worst = Verdict::ControlBits;
    }
    let sides = [nvlink, warpld].map(|run| run.side_file.as_deref());
    worst.max(same_side_file(sides, detail)).max(same_properties(texts, detail))
}

/// Whether nvlink ran into a mistake of its own: nothing to imitate.
fn fails(nvlink: &Outcome) -> bool {
    nvlink.crashed() || (nvlink.status == Some(1) && nvlink.text.contains("Internal error"))
}

/// Compares the outputs; neither linker writing one is equal, too.
fn same_output(a: Option<&[u8]>, b: Option<&[u8]>, detail: &mut Vec<String>) -> Verdict {
    match (a, b) {
        _ if a == b => Verdict::Identical,
        (Some(a), Some(b)) if compare::equal_but_for_note(a, b) => Verdict::NoteOnly,
        (Some(a), Some(b)) => {
            detail.extend(compare::explain(a, b));
            Verdict::Different
        }
        _ => {
            let size =
                |file: Option<&[u8]>| file.map_or("none".into(), |f| format!("{} bytes", f.len()));
            detail.push(format!("output: nvlink {}, warpld {}", size(a), size(b)));
            Verdict::Different
        }
    }
}

/// Compares the files for the host compiler, which are text.
fn same_side_file([a, b]: [Option<&[u8]>; 2], detail: &mut Vec<String>) -> Verdict {
    if a == b {
        return Verdict::Identical;
    }
    let lines = |file: Option<&[u8]>| {
        let text = file.map_or("(no file)".into(), String::from_utf8_lossy);
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    detail.extend(first_difference("registration file, line", &lines(a), &lines(b)));
    Verdict::Different
}

/// Compares what `-v` tells of the image and of each kernel.
fn same_properties(texts: &[Vec<String>; 2], detail: &mut Vec<String>) -> Verdict {
    let infos = |text: &Vec<String>| -> Vec<String> {
        text.iter().filter(|line| line.starts_with("nvlink info")).cloned().collect()
    };
    let [theirs, ours] = texts.each_ref().map(infos);
    let difference = first_difference("info", &theirs, &ours);
    let verdict = if difference.is_empty() { Verdict::Identical } else { Verdict::Different };
    detail.extend(difference);
    verdict
}

/// The barriers that a block has.
const BARRIERS: std::ops::RangeInclusive<i32> = 0..=16;

/// For a kernel without the attribute of barriers nvlink 13.1 and later print what their memory
/// holds: `used 2560 barriers`. The number is not compared where warpld prints 0, or where no
/// kernel can have as many. Other messages may stand between those lines.
fn ignore_stale_barriers([theirs, ours]: &mut [Vec<String>; 2]) {
    let is_use = |line: &&mut String| line.contains(" barriers, ");
    let theirs = theirs.iter_mut().filter(is_use);
    for (theirs, ours) in theirs.zip(ours.iter_mut().filter(is_use)) {
        let [Some(number), Some(our_number)] = [&*theirs, &*ours].map(|line| barriers(line)) else {
            continue;
        };
        if our_number == 0 || !BARRIERS.contains(&number) {
            let [stale, known] = [number, our_number].map(|n| format!("used {n} barriers"));
            *theirs = theirs.replacen(&stale, &known, 1);
        }
    }
}

/// The number in `used 1 barriers`.
fn barriers(line: &str) -> Option<i32> {
    line.split_once(" barriers, ")?.0.rsplit_once("used ")?.1.parse().ok()
}

/// The first line in which two texts differ, as both have it; nothing if they are equal.
pub fn first_difference(what: &str, theirs: &[String], ours: &[String]) -> Vec<String> {
    let differs = |&i: &usize| theirs.get(i) != ours.get(i);
    let Some(at) = (0..theirs.len().max(ours.len())).find(differs) else { return Vec::new() };
    let line = |lines: &[String]| lines.get(at).map_or("(none)".into(), Clone::clone);
    vec![format!("{what} {at}, n: {}", line(theirs)), format!("{what} {at}, w: {}", line(ours))]
}

/// Messages as nvlink prints them: without what only warpld adds (notes, codes), and without what
/// must differ (the name of the tool and of the output's folder, how long ptxas took).
pub fn messages(text: &str) -> Vec<String> {
    let is_note = |line: &&str| line.starts_with("    = ") || line.starts_with("      ");
    let is_time = |line: &&str| line.starts_with("ptxas info    : Compile time = ");
    let lines = text.lines().filter(|line| !is_note(line) && !is_time(line) && !hands_over(line));
    lines
        .map(|line| match line.strip_prefix("warpld ") {
            Some(rest) => format!("nvlink {}", without_code(rest)).replace("'w/", "'n/"),
            None => line.to_owned(),
        })
        .collect()
}

/// Whether it says that nvlink does the link.
fn hands_over(line: &str) -> bool {
    line.starts_with("warpld info    : warpld hands this link over to '")
}

/// A message of warpld without the code in brackets at its end.
fn without_code(message: &str) -> &str {
    let Some((text, code)) = message.rsplit_once(" [") else { return message };
    let is_code = |code: &str| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    code.strip_suffix(']').filter(|code| is_code(code)).map_or(message, |_| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::Cubin;
    use std::time::Duration;

    #[test]
    fn messages_are_compared_without_notes_and_codes() {
        let ours = "warpld error   : Undefined reference to 'f' in 'a.cubin' [undefined]\n    = called by k\n";
        let theirs = "nvlink error   : Undefined reference to 'f' in 'a.cubin'\n";
        assert_eq!(messages(ours), messages(theirs));
        assert_ne!(messages("warpld error   : a [0x10]\n"), messages("nvlink error   : a\n"));
        let compiled =
            "ptxas info    : Used 8 registers\nptxas info    : Compile time = 1.925 ms\n";
        assert_eq!(messages(compiled), ["ptxas info    : Used 8 registers"]);
    }

    #[test]
    fn a_changed_byte_is_told_with_its_section() {
        let run = |output: Vec<u8>| Run {
            outcome: Outcome { status: Some(0), text: String::new(), time: Duration::ZERO },
            output: Some(output),
            side_file: None,
        };
        let file = support::fixture("linked-vec.sm_90.cubin");
        let section = Cubin::parse(&file).expect("a fixture");
        let section = section.sections().iter().find(|s| s.name == b".text.scaled");
        let at = section.expect("the kernel").offset as usize;
        let mut other = file.clone();
        other[at] ^= 1;
        let same = compare(&run(file.clone()), &run(file.clone()), Release::BASE);
        assert_eq!((same.verdict, same.detail.len()), (Verdict::Identical, 0));
        let comparison = compare(&run(file), &run(other), Release::BASE);
        assert_eq!(comparison.verdict, Verdict::Different);
        assert!(comparison.detail[1].contains(".text.scaled"), "{:?}", comparison.detail);
    }

    #[test]
    fn the_barriers_of_a_kernel_without_any_are_not_compared_since_13_1() {
        let run = |barriers: &str| Run {
            outcome: Outcome {
                status: Some(0),
                text: format!(
                    "nvlink info    : used 8 registers, used {barriers} barriers, 4 bytes\n"
                ),
                time: Duration::ZERO,
            },
            output: None,
            side_file: None,
        };
        let verdict = |theirs: &str, ours: &str, minor| {
            compare(&run(theirs), &run(ours), Release { minor, ..Release::BASE }).verdict
        };
        assert_eq!(verdict("2560", "0", 0), Verdict::Different);
        assert_eq!(verdict("2560", "0", 1), Verdict::Identical);
        assert_eq!(verdict("-751102216", "0", 3), Verdict::Identical);
        assert_eq!(verdict("2560", "7", 3), Verdict::Identical);
        assert_eq!(verdict("2", "1", 3), Verdict::Different);
        assert_eq!(verdict("x", "0", 3), Verdict::Different);
        // Other messages do not count.
        let mut warned = run("2560");
        warned.outcome.text.insert_str(0, "nvlink warning : Stack size is unknown\n");
        let next = Release { minor: 1, ..Release::BASE };
        assert_eq!(compare(&warned, &run("0"), next).verdict, Verdict::Identical);
    }

    #[test]
    fn a_link_by_nvlink_itself_has_a_verdict_of_its_own() {
        let run = |text: &str| Run {
            outcome: Outcome { status: Some(0), text: text.into(), time: Duration::ZERO },
            output: Some(vec![1]),
            side_file: None,
        };
        let handed =
            run("warpld info    : warpld hands this link over to 'nvlink': why [handed-over]\n");
        let comparison = compare(&run(""), &handed, Release::BASE);
        assert_eq!(comparison.verdict, Verdict::HandedOver);
        assert!(comparison.same_messages && comparison.verdict.agrees());
        let other = Run { output: Some(vec![2]), ..handed.clone() };
        assert_eq!(compare(&run(""), &other, Release::BASE).verdict, Verdict::Different);
        let crashed =
            |run: Run| Run { outcome: Outcome { status: Some(139), ..run.outcome }, ..run };
        let verdict = |ours| compare(&crashed(run("")), &crashed(ours), Release::BASE).verdict;
        assert_eq!(verdict(handed), Verdict::NvlinkFails);
        assert_eq!(verdict(run("")), Verdict::Crash);
    }

    #[test]
    fn the_first_line_that_differs_is_told() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(first_difference("line", &lines("a\nb"), &lines("a\nb")), [""; 0]);
        let told = first_difference("line", &lines("a\nb"), &lines("a"));
        assert_eq!(told, ["line 1, n: b", "line 1, w: (none)"]);
    }
}
