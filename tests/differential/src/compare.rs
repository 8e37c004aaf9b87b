//! What differs between nvlink's output (A) and warpld's (B).

use cubin::Cubin;
use cubin_diff::{Options, Side};
use std::collections::BTreeSet;

/// How many differences a verdict shows.
const MAX_LINES: usize = 14;

/// Whether two files are equal if the linker's own note is left out of
/// account (and the places that move with its size).
pub fn equal_but_for_note(a: &[u8], b: &[u8]) -> bool {
    let options = Options { ignore_tool_note: true, ..Options::default() };
    cubin_diff::compare(a, b, &options).is_ok_and(|report| report.is_same())
}

/// Numbers of the sections whose bytes differ; `None` if anything else does.
pub fn sections_that_differ(a: &[u8], b: &[u8]) -> Option<BTreeSet<usize>> {
    let (a, b) = (Cubin::parse(a).ok()?, Cubin::parse(b).ok()?);
    let (from, to) = (a.sections(), b.sections());
    let shape = |sections: &[cubin::SectionRef<'_>]| -> Vec<_> {
        sections.iter().map(|s| (s.name.to_vec(), s.kind.0, s.flags, s.info, s.size)).collect()
    };
    if shape(from) != shape(to) {
        return None;
    }
    let differs = |i: &usize| from[*i].data != to[*i].data;
    Some((0..from.len()).filter(differs).collect())
}

/// Lines that tell the first differences.
pub fn explain(a: &[u8], b: &[u8]) -> Vec<String> {
    let mut lines = vec![format!("sizes: nvlink {}, warpld {}", a.len(), b.len())];
    match cubin_diff::compare(a, b, &Options::default()) {
        Ok(report) => lines.extend(report.lines(MAX_LINES)),
        Err(error) if error.side == Side::A => lines.push(format!("nvlink's output: {error}")),
        Err(error) => lines.push(format!("warpld's output: {error}")),
    }
    lines
}
