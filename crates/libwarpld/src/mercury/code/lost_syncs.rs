//! WARPSYNC.ALL that 13.0's finalizer puts anew, so that its place in Mercury is lost.

use super::instruction::Instruction;

/// Whether a WARPSYNC.ALL has no place for nvlink, so that a variable that is set right before it is in its register from
/// 0xffffffff on. It is the first in its block behind an operation on memory that is not a plain access: a texture,
/// surface, mbarrier or tensor copy, an asynchronous copy, an operation on the cache. `starts` says where blocks start.
/// [`registers-before-warpsync`; 92 kinds of statements before a barrier, sm_100a and sm_120. The fences of tcgen05
/// count, too, which cannot be seen in machine code]
pub fn is_lost(code: &[Instruction], starts: &[bool], at: usize) -> bool {
    let is_sync = |i: &Instruction| i.operation() == WARPSYNC;
    if !code.get(at).is_some_and(|i| is_sync(i) && !i.is_collective()) {
        return false;
    }
    let first = starts.get(..=at).and_then(|starts| starts.iter().rposition(|first| *first));
    let block = code.get(first.unwrap_or(0)..at).unwrap_or_default();
    let last = block.iter().rev().find(|i| is_sync(i) || needs_sync(**i));
    last.is_some_and(|i| !is_sync(i))
}

const WARPSYNC: u16 = 0x148;

/// Whether nvlink looks for the WARPSYNC behind it.
fn needs_sync(instruction: Instruction) -> bool {
    /// The kind of CCTL that makes the whole cache invalid.
    const INVALIDATE_ALL: u128 = 4;
    /// FENCE.VIEW.ASYNC for tensor memory.
    const TENSOR: u128 = 2;
    match instruction.operation() {
        // TEX, TLD4, TLD, TXD (not TXQ), SULD, SUST, SURED.
        0x160 | 0x163 | 0x166 | 0x16c | 0x199 | 0x19d | 0x19f => true,
        // CCTL.
        0x18f => instruction.0 >> 87 & 0xf != INVALIDATE_ALL,
        // SYNCS, LDGSTS, LDGDEPBAR, ARRIVES, SYNCS.CCTL, SYNCS.EXCH.
        0x1a7 | 0x1ae..=0x1b2 => true,
        // UTMALDG, UTMASTG, UTMAREDG, UTMACMDFLUSH, UTMAPF, UTMACCTL, UBLKCP, UBLKRED, UBLKPF.
        0x1b4..=0x1bc => true,
        // FENCE.VIEW.
        0x1c6 => instruction.0 >> 72 & 3 == TENSOR,
        _ => false,
    }
}
