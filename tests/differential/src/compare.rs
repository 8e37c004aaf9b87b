//! What differs between nvlink's output (A) and warpld's (B).

use cubin_diff::{Options, Side};

/// How many differences a verdict shows.
const MAX_LINES: usize = 14;

/// Whether two files are equal if the linker's own note is left out of
/// account (and the places that move with its size).
pub fn equal_but_for_note(a: &[u8], b: &[u8]) -> bool {
    let options = Options { ignore_tool_note: true, ..Options::default() };
    cubin_diff::compare(a, b, &options).is_ok_and(|report| report.is_same())
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
