//! Checks new boards before they are used: whatever the rule says, no instruction may miss a wait.

use super::board_choice::Allocation;
use super::board_stalls::set_before_waits;
use super::event_set::EventSet;
use super::kernel::Kernel;

/// Whether every instruction waits, on all paths, for the events that it needs by its registers, and for
/// those that it waits for in the input without a reason that is known. An event that the input does
/// not wait for, although it is pending there, needs no wait: the unit answers in order, or only one of the
/// two instructions is executed.
pub fn is_safe(kernel: &Kernel<'_>, allocation: &Allocation, waits: &[u8], stalls: &[u8]) -> bool {
    if waits_too_soon(kernel, allocation, waits, stalls) {
        return false;
    }
    let boards: Vec<_> = allocation.boards.iter().map(|choice| choice.map(|c| c.board)).collect();
    // Events that are pending when they are set again.
    let mut again = EventSet::default();
    // Events that nothing waits for in their block, as another instruction has the opposite guard.
    let mut opposite = EventSet::default();
    let mut is_safe_at = |i: usize, pending: &EventSet| {
        let is_left =
            |e: usize| boards[e].is_none_or(|b| waits[i] >> b & 1 == 0) && !kernel.drops(e);
        let is_ignored = |e: usize| {
            let waited = kernel.body[i].waits() >> kernel.events[e].board & 1 == 1;
            !waited && kernel.pending[i].has(e)
        };
        kernel.set_by(i).filter(|&e| pending.has(e)).for_each(|e| again.add(e));
        let mut missed = kernel.maybe_needed(i, pending, |e| is_left(e) && !is_ignored(e));
        opposite.merge(&missed.filtered(|e| kernel.is_opposite(e, i)));
        missed.retain(|e| !kernel.is_opposite(e, i));
        let copied = &allocation.copied[i];
        missed.is_empty()
            && (copied.is_empty() || !pending.iter().any(|e| copied.has(e) && is_left(e)))
    };
    let visit = |i: usize, pending: &EventSet, _| is_safe_at(i, pending).then_some(());
    kernel.flow(&boards, waits, visit).is_some() && !opposite.meets(&again)
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
