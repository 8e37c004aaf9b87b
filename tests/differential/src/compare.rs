//! What differs between nvlink's output (A) and warpld's (B).

use cubin::Cubin;
use cubin_tools::diff::{Options, Side};

/// How many differences a verdict shows.
const MAX_LINES: usize = 14;

/// Whether two files are equal if the linker's own note is left out of
/// account (and the places that move with its size).
pub fn equal_but_for_note(a: &[u8], b: &[u8]) -> bool {
    let options = Options { ignore_tool_note: true, ..Options::default() };
    cubin_tools::diff::compare(a, b, &options).is_ok_and(|report| report.is_same())
}

/// nvlink's file with our zeros where it wrote old contents of memory; `None` if it did not. It
/// did in sections that vary from run to run and in tables of register ranges that name
/// impossible places in code.
pub fn without_stale_memory(first: &[u8], again: &[u8], ours: &[u8]) -> Option<Vec<u8>> {
    let files = [first, again, ours].map(Cubin::parse);
    let [Ok(theirs), Ok(again), Ok(ours)] = files else { return None };
    let shape = |file: &Cubin<'_>| -> Vec<_> {
        let sections = file.sections().iter();
        sections.map(|s| (s.name.to_vec(), s.kind.0, s.flags, s.info, s.offset, s.size)).collect()
    };
    if shape(&theirs) != shape(&again) || shape(&theirs) != shape(&ours) {
        return None;
    }
    let largest =
        theirs.sections().iter().filter(|s| s.name.starts_with(b".text.")).map(|s| s.size);
    let largest = largest.max().unwrap_or(0);
    let mut out = first.to_vec();
    let sections = theirs.sections().iter().zip(again.sections()).zip(ours.sections());
    for ((a, again), b) in sections.filter(|((a, _), b)| a.data != b.data) {
        if a.data != again.data || a.name == REGISTERS && names_impossible_places(a.data, largest) {
            let start = usize::try_from(a.offset).ok()?;
            let bytes = out.get_mut(start..start + a.data.len())?.iter_mut().zip(b.data);
            bytes.filter(|(_, ours)| **ours == 0).for_each(|(theirs, _)| *theirs = 0);
        }
    }
    (out != first).then_some(out)
}

/// The table of register ranges.
const REGISTERS: &[u8] = b".nv_debug_info_reg_sass";

/// Whether some range of a table starts or ends where no instruction does: per function a name and
/// a count, per range a word, a name, a word, start and end.
fn names_impossible_places(table: &[u8], largest: u64) -> bool {
    let text = |at: usize| Some(at + table.get(at..)?.iter().position(|&b| b == 0)? + 1);
    let word = |at: usize| Some(u32::from_le_bytes(table.get(at..at + 4)?.try_into().ok()?));
    let impossible = |at: usize| word(at).is_some_and(|w| w % 16 != 0 || u64::from(w) > largest);
    let mut at = 0;
    while let Some((after, count)) = text(at).and_then(|after| Some((after, word(after)?))) {
        at = after + 4;
        for _ in 0..count {
            let Some(after) = text(at + 4) else { return false };
            if impossible(after + 4) || impossible(after + 8) {
                return true;
            }
            at = after + 12;
        }
    }
    false
}

/// Lines that tell the first differences.
pub fn explain(a: &[u8], b: &[u8]) -> Vec<String> {
    let mut lines = vec![format!("sizes: A (nvlink) {}, B (warpld) {}", a.len(), b.len())];
    match cubin_tools::diff::compare(a, b, &Options::default()) {
        Ok(report) => lines.extend(report.lines(MAX_LINES)),
        Err(error) if error.side == Side::A => lines.push(format!("nvlink's output: {error}")),
        Err(error) => lines.push(format!("warpld's output: {error}")),
    }
    lines
}
