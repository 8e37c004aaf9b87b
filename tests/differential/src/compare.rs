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

/// Whether `ours` differs from nvlink's output only in sections in which that varies from
/// run to run, and has zeros there: nvlink wrote old contents of memory.
pub fn zeros_where_varying(first: &[u8], again: &[u8], ours: &[u8]) -> bool {
    let files = [first, again, ours].map(Cubin::parse);
    let [Ok(first), Ok(again), Ok(ours)] = files else { return false };
    let shape = |file: &Cubin<'_>| -> Vec<_> {
        let sections = file.sections().iter();
        sections.map(|s| (s.name.to_vec(), s.kind.0, s.flags, s.info, s.size)).collect()
    };
    if shape(&first) != shape(&again) || shape(&first) != shape(&ours) {
        return false;
    }
    let sections = first.sections().iter().zip(again.sections()).zip(ours.sections());
    let mut different = sections.filter(|((a, _), b)| a.data != b.data).peekable();
    different.peek().is_some()
        && different.all(|((a, again), b)| {
            let mut bytes = a.data.iter().zip(b.data);
            a.data != again.data && bytes.all(|(theirs, ours)| theirs == ours || *ours == 0)
        })
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
