//! Differing bytes, with the function or variable they are in.

use super::list;
use super::origin::{Origins, Relocations};
use super::report::{Area, Change, Difference, Side};
use cubin::consts::SymbolType;
use cubin::words;
use cubin::{Cubin, SectionRef};
use std::collections::HashMap;
use std::ops::Range;

/// How many bytes of a run a report shows.
const SHOWN: usize = 16;
/// Runs with fewer equal bytes between them are one.
const GAP: usize = 4;

/// A symbol of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent<'a> {
    name: &'a [u8],
    start: u64,
    size: u64,
}

/// Compares sections without entries.
pub(crate) struct Bytes<'c, 'a, 'o> {
    /// The symbols of every section, for both files.
    extents: [HashMap<u32, Vec<Extent<'a>>>; 2],
    relocations: Relocations<'c, 'a>,
    origins: Origins<'o>,
}

impl<'c, 'a, 'o> Bytes<'c, 'a, 'o> {
    pub(crate) fn new(a: &'c Cubin<'a>, b: &'c Cubin<'a>, origins: Origins<'o>) -> Self {
        Self { extents: [extents(a), extents(b)], relocations: Relocations::of(a), origins }
    }

    /// Reports the differing bytes of two sections: by symbol if the symbols have different offsets
    /// in the two, so that one that moved does not look changed; otherwise from start to end.
    pub(crate) fn compare<'s>(
        &'s self,
        x: &SectionRef<'a>,
        y: &SectionRef<'a>,
        out: &mut Vec<Difference>,
    ) {
        if x.data == y.data {
            return;
        }
        let [of_a, of_b] = &self.extents;
        let of = |all: &'s HashMap<u32, Vec<Extent<'a>>>, s: &SectionRef<'a>| {
            all.get(&s.index.0).map_or(&[][..], Vec::as_slice)
        };
        let (of_a, of_b) = (of(of_a, x), of(of_b, y));
        if of_a == of_b {
            self.compare_runs(x, y, of_a, out);
            return;
        }
        let names = |list: &[Extent<'a>]| list.iter().map(|e| e.name).collect::<Vec<_>>();
        for (i, j) in list::pair(&names(of_a), &names(of_b)).both {
            let (a, b) = (part(x, &of_a[i]), part(y, &of_b[j]));
            for run in runs(a, b) {
                self.report(x, Some(&of_a[i]), of_a[i].start, (a, b), run, out);
            }
        }
    }

    fn compare_runs(
        &self,
        x: &SectionRef<'a>,
        y: &SectionRef<'a>,
        extents: &[Extent<'a>],
        out: &mut Vec<Difference>,
    ) {
        for run in runs(x.data, y.data) {
            let mut start = run.start;
            while start < run.end {
                let at = extents.partition_point(|e| e.start <= start as u64);
                let next = extents.get(at).and_then(|e| usize::try_from(e.start).ok());
                let end = next.map_or(run.end, |next| next.min(run.end));
                let inside = at.checked_sub(1).and_then(|at| extents.get(at));
                let inside = inside.filter(|e| e.size == 0 || start as u64 - e.start < e.size);
                let base = inside.map_or(0, |e| e.start);
                let part = |s: &SectionRef<'a>| s.data.get(base as usize..).unwrap_or_default();
                let run = start - base as usize..end - base as usize;
                self.report(x, inside, base, (part(x), part(y)), run, out);
                start = end;
            }
        }
        report_tail(Area::Bytes, &words::reference(x.name), x.data, y.data, out);
    }

    /// One run inside a symbol that starts at `base` in the section.
    fn report(
        &self,
        section: &SectionRef<'a>,
        symbol: Option<&Extent<'a>>,
        base: u64,
        (a, b): (&[u8], &[u8]),
        run: Range<usize>,
        out: &mut Vec<Difference>,
    ) {
        let offset = base + run.start as u64;
        let mut notes = match symbol {
            Some(s) => self.origins.of_symbol(s.name, s.size, run.start as u64, a),
            None => self.origins.of_section(section, offset),
        };
        // An executable for the driver keeps relocations of its inputs.
        for note in self.relocations.at(section, offset, run.len() as u64) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let place = match symbol {
            Some(s) => format!(
                "of {} {}+{:#x}",
                words::reference(section.name),
                words::reference(s.name),
                run.start
            ),
            None => format!("of {}", words::reference(section.name)),
        };
        out.push(bytes(Area::Bytes, place, offset, (a, b), run, notes));
    }
}

/// Compares bytes without names.
pub(crate) fn compare_plain(
    area: Area,
    place: &str,
    a: &[u8],
    b: &[u8],
    out: &mut Vec<Difference>,
) {
    for run in runs(a, b) {
        let offset = run.start as u64;
        out.push(bytes(area, place.to_owned(), offset, (a, b), run, Vec::new()));
    }
    report_tail(area, place, a, b, out);
}

fn bytes(
    area: Area,
    place: String,
    offset: u64,
    (a, b): (&[u8], &[u8]),
    run: Range<usize>,
    notes: Vec<String>,
) -> Difference {
    let size = run.len() as u64;
    let shown = run.start..run.end.min(run.start.saturating_add(SHOWN));
    let part = |data: &[u8]| data.get(shown.clone()).unwrap_or_default().to_vec();
    Difference {
        area,
        place,
        change: Change::Bytes { offset, size, a: part(a), b: part(b), notes },
    }
}

/// Reports the rest of the longer one.
fn report_tail(area: Area, place: &str, a: &[u8], b: &[u8], out: &mut Vec<Difference>) {
    let (side, longer) = if a.len() > b.len() { (Side::A, a) } else { (Side::B, b) };
    let from = a.len().min(b.len());
    if let Some(rest) = longer.get(from..).filter(|rest| !rest.is_empty()) {
        let start = rest.get(..SHOWN).unwrap_or(rest);
        let dots = if start.len() < rest.len() { " …" } else { "" };
        let what = format!("{} more from {from:#x}: {}{dots}", rest.len(), words::hex(start));
        out.push(Difference {
            area,
            place: place.to_owned(),
            change: Change::OnlyIn { side, what },
        });
    }
}

/// The functions and variables of each section by offset; if several share an offset, the largest.
fn extents<'a>(cubin: &Cubin<'a>) -> HashMap<u32, Vec<Extent<'a>>> {
    let mut all: HashMap<u32, Vec<Extent<'a>>> = HashMap::new();
    let named = cubin.symbols().filter(|s| {
        !s.reserved && !s.is_undefined() && !s.name.is_empty() && s.kind() != SymbolType::SECTION
    });
    for s in named {
        let extent = Extent { name: s.name, start: s.value, size: s.size };
        all.entry(s.shndx).or_default().push(extent);
    }
    for list in all.values_mut() {
        list.sort_by_key(|e| (e.start, std::cmp::Reverse(e.size)));
        list.dedup_by_key(|e| e.start);
    }
    all
}

/// The bytes of a symbol; empty if it extends past its section.
fn part<'a>(s: &SectionRef<'a>, e: &Extent<'_>) -> &'a [u8] {
    let start = usize::try_from(e.start).unwrap_or(usize::MAX);
    let end = start.saturating_add(usize::try_from(e.size).unwrap_or(usize::MAX));
    s.data.get(start..end).unwrap_or_default()
}

/// Where two byte strings differ, up to the end of the shorter.
fn runs(a: &[u8], b: &[u8]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, (x, y)) in a.iter().zip(b).enumerate() {
        if x == y {
            continue;
        }
        match runs.last_mut() {
            Some(last) if at - last.end < GAP => last.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_runs_are_one() {
        assert_eq!(runs(b"abcdefghijkl", b"aXcXefghijkX"), [1..4, 11..12]);
        assert_eq!(runs(b"abc", b"abcd"), []);
    }

    #[test]
    fn the_longer_goes_on() {
        let mut out = Vec::new();
        compare_plain(Area::Bytes, "x", &[1, 2], &[1, 3, 4], &mut out);
        let lines: Vec<_> = out.iter().map(Difference::to_string).collect();
        assert_eq!(
            lines,
            ["bytes x: 1 at 0x1: 02 in A, 03 in B", "bytes x: only in B: 1 more from 0x2: 04"]
        );
    }
}
