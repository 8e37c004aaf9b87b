//! Links from sm_100 on: nvlink's finalizer allocates scoreboards anew in
//! kernels that call nothing. Everything else must be equal.

use cubin::{Cubin, SectionRef};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bits of an instruction that say when it may start and what waits for it.
const CONTROL: Range<u32> = 105..126;
/// Opcodes of calls.
const CALLS: [u16; 4] = [0x343, 0x344, 0x943, 0x944];
const INSTRUCTION: usize = 16;

/// How the code of two files that are equal elsewhere compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeSplit {
    /// Kernels without calls.
    pub call_free: usize,
    /// Those whose code is identical.
    pub identical: usize,
}

static CALL_FREE: AtomicUsize = AtomicUsize::new(0);
static IDENTICAL: AtomicUsize = AtomicUsize::new(0);

/// Whether two capsule files differ in control bits at most; counts their
/// kernels for [`summary`].
pub fn count(a: &[u8], b: &[u8]) -> bool {
    let is_capsule = Cubin::parse(a).is_ok_and(|c| c.header().flags & 0xff == 2);
    let Some(split) = split(a, b).filter(|_| is_capsule) else { return false };
    CALL_FREE.fetch_add(split.call_free, Ordering::Relaxed);
    IDENTICAL.fetch_add(split.identical, Ordering::Relaxed);
    true
}

/// The share of kernels without calls whose code is identical, over all links
/// that agree.
pub fn summary() -> Option<String> {
    let [all, same] = [&CALL_FREE, &IDENTICAL].map(|n| n.load(Ordering::Relaxed));
    (all != 0).then(|| {
        format!("{same} of {all} kernels without calls have identical code, the rest differ in control bits alone")
    })
}

/// Compares two files of equal size; `None` if they differ in anything but the
/// control bits of kernels without calls.
pub fn split(a: &[u8], b: &[u8]) -> Option<CodeSplit> {
    if a.len() != b.len() {
        return None;
    }
    let file = Cubin::parse(a).ok()?;
    let kernels: HashSet<u32> =
        file.symbols().filter(|s| s.other & 0x10 != 0).map(|s| s.shndx).collect();
    let mut split = CodeSplit::default();
    let mut ranges = Vec::new();
    for section in file.sections().iter().filter(|s| kernels.contains(&s.index.0)) {
        if calls(section) {
            continue;
        }
        let range = usize::try_from(section.offset).ok()?;
        let range = range..range + section.data.len();
        let (x, y) = (a.get(range.clone())?, b.get(range.clone())?);
        split.call_free += 1;
        split.identical += usize::from(x == y);
        if !x.chunks_exact(INSTRUCTION).zip(y.chunks_exact(INSTRUCTION)).all(same_but_control) {
            return None;
        }
        ranges.push(range);
    }
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    for range in ranges {
        a[range.clone()].fill(0);
        b[range].fill(0);
    }
    (a == b).then_some(split)
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
