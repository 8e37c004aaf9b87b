//! Links from sm_100 on: nvlink's finalizer allocates scoreboards anew in
//! kernels that call nothing. Everything else must be equal.

use cubin::{Cubin, SectionRef};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::ops::{AddAssign, Range};

/// Bits of an instruction that say when it may start and what waits for it.
const CONTROL: Range<u32> = 105..126;
/// Opcodes of calls.
const CALLS: [u16; 4] = [0x343, 0x344, 0x943, 0x944];
const INSTRUCTION: usize = 16;
/// Low byte of the flags of a file with capsules.
const CAPSULE: u32 = 2;

/// How two files with capsules compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Whether everything outside the code of call-free kernels is equal.
    pub outside: bool,
    /// Call-free kernels.
    pub kernels: usize,
    /// Those with identical code.
    pub identical: usize,
    /// Those that differ in control bits alone.
    pub control: usize,
}

impl Split {
    /// Whether the files differ in control bits of call-free kernels at most.
    pub fn agrees(self) -> bool {
        self.outside && self.identical + self.control == self.kernels
    }
}

/// The code of a call-free kernel.
struct Kernel<'a> {
    range: Range<usize>,
    code: &'a [u8],
}

/// Compares nvlink's file `a` with `b`; `None` if it is not a file with capsules.
pub fn split(a: &[u8], b: &[u8]) -> Option<Split> {
    let (file, other) = (Cubin::parse(a).ok()?, Cubin::parse(b).ok()?);
    if file.header().flags & 0xff != CAPSULE {
        return None;
    }
    let (mine, theirs) = (call_free_kernels(&file), call_free_kernels(&other));
    let mut split = Split { outside: same_outside(a, b, &mine, &theirs), ..Split::default() };
    for (name, kernel) in &mine {
        split.kernels += 1;
        let Some(twin) = theirs.get(name).filter(|t| t.code.len() == kernel.code.len()) else {
            continue;
        };
        let pairs =
            || kernel.code.chunks_exact(INSTRUCTION).zip(twin.code.chunks_exact(INSTRUCTION));
        if kernel.code == twin.code {
            split.identical += 1;
        } else if pairs().all(same_but_control) {
            split.control += 1;
        }
    }
    Some(split)
}

type Kernels<'a> = HashMap<&'a [u8], Kernel<'a>>;

fn call_free_kernels<'a>(file: &Cubin<'a>) -> Kernels<'a> {
    let kernels: HashSet<u32> =
        file.symbols().filter(|s| s.other & 0x10 != 0).map(|s| s.shndx).collect();
    let texts = file.sections().iter().filter(|s| kernels.contains(&s.index.0) && !calls(s));
    texts
        .filter_map(|s| {
            let start = usize::try_from(s.offset).ok()?;
            Some((s.name, Kernel { range: start..start + s.data.len(), code: s.data }))
        })
        .collect()
}

/// The code of the call-free kernels of a file with capsules, by the name of the section.
pub fn kernels_without_calls(file: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let file = Cubin::parse(file).ok().filter(|file| file.header().flags & 0xff == CAPSULE)?;
    let all = call_free_kernels(&file).into_iter();
    let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    Some(all.map(|(section, kernel)| (name(section), kernel.code.to_vec())).collect())
}

/// Whether two files are equal but for the code of call-free kernels.
fn same_outside(a: &[u8], b: &[u8], mine: &Kernels<'_>, theirs: &Kernels<'_>) -> bool {
    let ranges = |kernels: &Kernels<'_>| {
        let mut all: Vec<_> = kernels.values().map(|k| (k.range.start, k.range.end)).collect();
        all.sort_unstable();
        all
    };
    let all = ranges(mine);
    if a.len() != b.len() || all != ranges(theirs) {
        return false;
    }
    let mut last = 0;
    for (start, end) in all.into_iter().chain([(a.len(), a.len())]) {
        if a.get(last..start) != b.get(last..start) {
            return false;
        }
        last = end;
    }
    true
}

fn calls(section: &SectionRef<'_>) -> bool {
    let opcode = |i: &[u8]| u16::from_le_bytes([i[0], i[1]]) & 0xfff;
    section.data.chunks_exact(INSTRUCTION).any(|i| CALLS.contains(&opcode(i)))
}

fn same_but_control((x, y): (&[u8], &[u8])) -> bool {
    let mask = (1_u128 << CONTROL.end) - (1 << CONTROL.start);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, &b| n << 8 | u128::from(b)) & !mask;
    word(x) == word(y)
}

/// The splits of many links.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    links: usize,
    outside: usize,
    text: usize,
    control: usize,
    kernels: usize,
    identical: usize,
    kernels_control: usize,
}

impl AddAssign<Split> for Tally {
    fn add_assign(&mut self, split: Split) {
        self.links += 1;
        self.outside += usize::from(split.outside);
        let text = split.outside && split.identical == split.kernels;
        self.text += usize::from(text);
        self.control += usize::from(split.agrees() && !text);
        self.kernels += split.kernels;
        self.identical += split.identical;
        self.kernels_control += split.control;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = 100.0 * self.identical as f64 / self.kernels.max(1) as f64;
        let rest = self.links - self.text - self.control;
        write!(
            f,
            "{:>7}{:>15}{:>15}{:>14}{:>8}{:>12} of {} ({share:.1} %), {} in control bits, {} more",
            self.links,
            self.outside,
            self.text,
            self.control,
            rest,
            self.identical,
            self.kernels,
            self.kernels_control,
            self.kernels - self.identical - self.kernels_control,
        )
    }
}

/// Prints the table of links that wrote files with capsules.
pub fn print<K: ToString + Ord>(rows: &BTreeMap<K, Tally>) {
    if rows.is_empty() {
        return;
    }
    println!(
        "\n{:<22}{:>7}{:>15}{:>15}{:>14}{:>8}{:>12}",
        "files with capsules",
        "links",
        "same outside",
        "same code",
        "control bits",
        "else",
        "call-free kernels with the same code"
    );
    for (key, tally) in rows {
        println!("{:<22}{tally}", key.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_bits_are_told_apart() {
        let mut other = [0_u8; INSTRUCTION];
        other[13] = 2;
        assert!(same_but_control((&[0; INSTRUCTION], &other)));
        other[3] = 1;
        assert!(!same_but_control((&[0; INSTRUCTION], &other)));
    }

    #[test]
    fn a_tally_counts_each_link_once() {
        let mut tally = Tally::default();
        tally += Split { outside: true, kernels: 2, identical: 2, control: 0 };
        tally += Split { outside: true, kernels: 2, identical: 1, control: 1 };
        tally += Split { outside: true, kernels: 2, identical: 1, control: 0 };
        tally += Split { outside: false, kernels: 1, identical: 1, control: 0 };
        assert_eq!((tally.links, tally.outside, tally.text, tally.control), (4, 3, 1, 1));
        assert_eq!((tally.kernels, tally.identical, tally.kernels_control), (7, 5, 1));
    }
}
