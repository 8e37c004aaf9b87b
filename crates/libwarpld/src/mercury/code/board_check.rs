//! Checks new boards before they are used: whatever the rule says, no instruction may miss a wait.

use super::board_choice::Allocation;
use super::event_set::EventSet;
use super::kernel::Kernel;

/// Whether every instruction waits, on all paths, for the events that it needs by its registers, and for
/// those that it waits for in the input without a reason that is known. An event that the input does
/// not wait for, although it is pending there, needs no wait: the unit answers in order, or only one of the
/// two instructions is executed.
pub fn is_safe(kernel: &Kernel<'_>, allocation: &Allocation, waits: &[u8], stalls: &[u8]) -> bool {
    let board = |e: usize| allocation.boards[e].map(|c| c.board);
    if waits_too_soon(kernel, allocation, waits, stalls) {
        return false;
    }
    let boards: Vec<_> = (0..kernel.events.len()).map(board).collect();
    let is_safe_at = |i: usize, pending: &EventSet| {
        let is_left =
            |e: usize| boards[e].is_none_or(|b| waits[i] >> b & 1 == 0) && !kernel.drops(e);
        let is_ignored = |e: usize| {
            let waited = kernel.body[i].waits() >> kernel.events[e].board & 1 == 1;
            !waited && kernel.pending[i].has(e)
        };
        let copied = &allocation.copied[i];
        kernel.maybe_needed(i, pending, |e| is_left(e) && !is_ignored(e)).is_empty()
            && (copied.is_empty() || !pending.iter().any(|e| copied.has(e) && is_left(e)))
    };
    let visit = |i: usize, pending: &EventSet, _| is_safe_at(i, pending).then_some(());
    kernel.flow(&boards, waits, visit).is_some()
}

/// Whether an instruction waits for a board in the cycle after it was set. Neither the compiler nor nvlink writes such
/// code (5,900 functions), so the wait may come before the board counts as set.
fn waits_too_soon(
    kernel: &Kernel<'_>,
    allocation: &Allocation,
    waits: &[u8],
    stalls: &[u8],
) -> bool {
    let quick = |at: usize| stalls.get(at).is_some_and(|&stall| stall < 2);
    set_before_waits(kernel, allocation, waits).any(quick)
}

/// Instructions with a board that the next one waits for.
fn set_before_waits<'a>(
    kernel: &'a Kernel<'_>,
    allocation: &'a Allocation,
    waits: &'a [u8],
) -> impl Iterator<Item = usize> + 'a {
    kernel.events.iter().zip(&allocation.boards).filter_map(|(event, choice)| {
        let board = (*choice)?.board;
        let is_waited_for = kernel.next[event.at].iter().any(|&j| waits[j] >> board & 1 == 1);
        is_waited_for.then_some(event.at)
    })
}

/// Stall counts with the new boards: nvlink lets the next instruction wait one cycle longer where its wait would come
/// too soon (8 of 8 kernels).
pub fn stalls(kernel: &Kernel<'_>, allocation: &Allocation, waits: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = kernel.body.iter().map(|i| i.stall()).collect();
    for at in set_before_waits(kernel, allocation, waits) {
        let is_odd = is_waited_for_too_soon(kernel, at);
        if let Some(stall) = out.get_mut(at).filter(|stall| **stall == 1 && !is_odd) {
            *stall = 2;
        }
    }
    out
}

/// Whether that is so in the input, which no compiler wrote then.
fn is_waited_for_too_soon(kernel: &Kernel<'_>, at: usize) -> bool {
    let Some(instruction) = kernel.body.get(at) else { return true };
    let boards = [instruction.read_board(), instruction.write_board()];
    let mut next = kernel.next[at].iter().filter_map(|&j| kernel.body.get(j));
    next.any(|next| boards.iter().flatten().any(|&board| next.waits() >> board & 1 == 1))
}
