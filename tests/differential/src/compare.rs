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

/// nvlink's file with our bytes where it wrote old contents of memory; `None` if it did not. It
/// did in sections that vary from run to run and in tables of register ranges that name
/// impossible places in code, where we have zeros. Single offsets that nvlink looked up past the end of a function are
/// replaced one by one where they are impossible, also by other old memory: warpld may have had nvlink do the link.
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
        let places = match a.name == REGISTERS {
            true if [a, b].iter().all(|s| names_old_memory(s.data, largest)) => {
                std::iter::once(0..a.data.len()).collect()
            }
            true => impossible_ranges(a.data, b.data, largest),
            false => impossible_offsets(a.name, a.data, b.data, largest),
        };
        for place in places {
            let start = usize::try_from(a.offset).ok()?;
            let theirs = out.get_mut(start + place.start..start + place.end)?;
            theirs.copy_from_slice(b.data.get(place)?);
        }
    }
    (out != first).then_some(out)
}

/// The table of register ranges.
const REGISTERS: &[u8] = b".nv_debug_info_reg_sass";

/// Whether some range of a table starts or ends where no instruction does.
fn names_impossible_places(table: &[u8], largest: u64) -> bool {
    let impossible = |place: u32| is_impossible(place.into(), largest);
    ranges(table).iter().any(|&(_, [start, end])| impossible(start) || impossible(end))
}

/// The same without the place of an instruction that has none for nvlink (`registers-before-warpsync`): warpld does
/// not write such places.
fn names_old_memory(table: &[u8], largest: u64) -> bool {
    let old = |place: u32| place != u32::MAX && is_impossible(place.into(), largest);
    ranges(table).iter().any(|&(_, [start, end])| old(start) || old(end))
}

/// The places and values of a table's ranges: per function a name and a count, per range a word, a name, a word, start and
/// end.
fn ranges(table: &[u8]) -> Vec<(usize, [u32; 2])> {
    let text = |at: usize| Some(at + table.get(at..)?.iter().position(|&b| b == 0)? + 1);
    let word = |at: usize| Some(u32::from_le_bytes(table.get(at..at + 4)?.try_into().ok()?));
    let (mut at, mut out) = (0, Vec::new());
    while let Some((after, count)) = text(at).and_then(|after| Some((after, word(after)?))) {
        at = after + 4;
        for _ in 0..count {
            let Some((place, [Some(start), Some(end)])) =
                text(at + 4).map(|after| (after + 4, [word(after + 4), word(after + 8)]))
            else {
                return out;
            };
            out.push((place, [start, end]));
            at = place + 8;
        }
    }
    out
}

/// Where a range of nvlink starts or ends at no instruction, or does not start before its end, and warpld
/// has 0 or another impossible place.
fn impossible_ranges(theirs: &[u8], ours: &[u8], largest: u64) -> Vec<std::ops::Range<usize>> {
    let mut out = Vec::new();
    for ((at, theirs), (_, ours)) in ranges(theirs).into_iter().zip(ranges(ours)) {
        let backward = theirs[0] >= theirs[1];
        for (i, (theirs, ours)) in theirs.into_iter().zip(ours).enumerate() {
            if theirs == ours {
                continue;
            }
            let [theirs, other] = [theirs, ours].map(|place| is_impossible(place.into(), largest));
            if (theirs || backward) && (ours == 0 || other) {
                out.push(at + i * 4..at + i * 4 + 4);
            }
        }
    }
    out
}

/// Whether no instruction can be at an offset.
fn is_impossible(offset: u64, largest: u64) -> bool {
    !offset.is_multiple_of(16) || offset > largest
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
    if name.starts_with(b".nv.resolvedrela.text.") {
        let place = |(i, (a, b)): (usize, (&[u8], &[u8]))| {
            let rest = a.get(8..)?;
            let offset = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?));
            let (offset, ours) = (offset(a)?, offset(b)?);
            let cleared = (ours == 0 || is_impossible(ours, largest)) && b.get(8..) == Some(rest);
            let past_the_end = rest.first_chunk::<4>() == Some(&PAST_THE_END.to_le_bytes());
            (cleared && past_the_end && is_impossible(offset, largest))
                .then_some(i * 24..i * 24 + 8)
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
            let [theirs, ours] = [word(theirs), word(ours)];
            let impossible =
                |place: Option<u32>| place.is_some_and(|w| is_impossible(w.into(), largest));
            if (ours == Some(0) || impossible(ours)) && impossible(theirs) {
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
        assert_eq!(found(&record(0x1a, 80), &record(0x7f08_101a_bf98, 80)), only(0..8));

        let list = |code: u8, offset: u32| [&[4, code, 4, 0], &offset.to_le_bytes()[..]].concat();
        let found = |code, theirs, ours| {
            impossible_offsets(b".nv.info.f", &list(code, theirs), &list(code, ours), 0x200)
        };
        assert_eq!(found(0x28, 0xa, 0), only(4..8));
        assert_eq!(found(0x28, 0x20, 0), []);
        assert_eq!(found(0x28, 0xa, 0x10), []);
        assert_eq!(found(0x2f, 0xa, 0), []);
    }

    #[test]
    fn ranges_past_the_end_are_told_from_others() {
        let table = |start: u32, end: u32| {
            let head: &[u8] = b"f\0\x01\0\0\0\0\0\0\0%v1\0\0\0\0\x05";
            [head, &start.to_le_bytes(), &end.to_le_bytes()].concat()
        };
        let found = |theirs: [u32; 2], ours: [u32; 2]| {
            let [theirs, ours] = [theirs, ours].map(|[start, end]| table(start, end));
            impossible_ranges(&theirs, &ours, 0x200)
        };
        let only = |place: std::ops::Range<usize>| vec![place];
        assert_eq!(found([0x20, 0], [0, 0]), only(18..22));
        assert_eq!(found([0x180, 0xc0], [0x180, 0]), only(22..26));
        assert_eq!(found([0x10, 0x4011_7848], [0x10, 0x101a_bf98]), only(22..26));
        assert_eq!(found([0x10, 0x20], [0, 0]), []);
        assert_eq!(found([0x20, 0], [0x10, 0]), []);
    }
}
