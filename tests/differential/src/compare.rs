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
/// impossible places in code. Single offsets that nvlink looked up past the end of a function are
/// cleared one by one where they are impossible.
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
            continue;
        }
        for place in impossible_offsets(a.name, a.data, b.data, largest) {
            let start = usize::try_from(a.offset).ok()?;
            out.get_mut(start + place.start..start + place.end)?.fill(0);
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

/// Where a section of nvlink has an offset that no instruction is at, and warpld has 0: the places of
/// applied relocations and of attributes of functions that share a name. They are looked up in another
/// function, past its end (`preserve-long-static`, `relinked-namesakes-offsets`).
fn impossible_offsets(
    name: &[u8],
    theirs: &[u8],
    ours: &[u8],
    largest: u64,
) -> Vec<std::ops::Range<usize>> {
    let is_impossible = |offset: u64| !offset.is_multiple_of(16) || offset > largest;
    if name.starts_with(b".nv.resolvedrela.text.") {
        let place = |(i, (a, b)): (usize, (&[u8], &[u8]))| {
            let (offset, rest) = a.split_at_checked(8)?;
            let offset = u64::from_le_bytes(offset.try_into().ok()?);
            let cleared = b.starts_with(&[0; 8]) && b.get(8..) == Some(rest);
            let past_the_end = rest.first_chunk::<4>() == Some(&PAST_THE_END.to_le_bytes());
            (cleared && past_the_end && is_impossible(offset)).then_some(i * 24..i * 24 + 8)
        };
        let pairs = theirs.chunks_exact(24).zip(ours.chunks_exact(24));
        return pairs.enumerate().filter_map(place).collect();
    }
    if !name.starts_with(b".nv.info.") || theirs.len() != ours.len() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut at = 0;
    while let Some([format, code, low, high]) = theirs.get(at..).and_then(|r| r.first_chunk::<4>())
    {
        let size = if *format == WITH_SIZE { u16::from_le_bytes([*low, *high]).into() } else { 0 };
        let words = if OFFSETS.contains(code) { at + 4..at + 4 + size } else { 0..0 };
        for place in words.step_by(4).map(|i| i..i + 4) {
            let word =
                |of: &[u8]| Some(u32::from_le_bytes(of.get(place.clone())?.try_into().ok()?));
            if word(ours) == Some(0) && word(theirs).is_some_and(|w| is_impossible(w.into())) {
                out.push(place);
            }
        }
        at += 4 + size;
    }
    out
}

/// The type of an applied relocation whose place is past the end (R_CUDA_8_32).
const PAST_THE_END: u32 = 80;
/// The format of attributes that say their size.
const WITH_SIZE: u8 = 4;
/// Attributes that list offsets: of EXIT, of ends for S2RCTAID, and of instructions for groups of threads.
const OFFSETS: [u8; 4] = [0x1c, 0x1d, 0x28, 0x31];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_past_the_end_are_told_from_others() {
        let record = |offset: u64, kind: u64| {
            [offset, kind, 0].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
        };
        let name = b".nv.resolvedrela.text.f";
        let found = |theirs: &[u8], ours: &[u8]| impossible_offsets(name, theirs, ours, 0x200);
        let only = |range: std::ops::Range<usize>| vec![range];
        assert_eq!(found(&record(0x1a, 80), &record(0, 80)), only(0..8));
        assert_eq!(found(&record(0x1d5_6b40, 80), &record(0, 80)), only(0..8));
        assert_eq!(found(&record(0x20, 80), &record(0, 80)), []);
        assert_eq!(found(&record(0x1a, 74), &record(0, 74)), []);
        assert_eq!(found(&record(0x1a, 80), &record(0x10, 80)), []);

        let list = |code: u8, offset: u32| [&[4, code, 4, 0], &offset.to_le_bytes()[..]].concat();
        let found = |code, theirs, ours| {
            impossible_offsets(b".nv.info.f", &list(code, theirs), &list(code, ours), 0x200)
        };
        assert_eq!(found(0x28, 0xa, 0), only(4..8));
        assert_eq!(found(0x28, 0x20, 0), []);
        assert_eq!(found(0x28, 0xa, 0x10), []);
        assert_eq!(found(0x2f, 0xa, 0), []);
    }
}
