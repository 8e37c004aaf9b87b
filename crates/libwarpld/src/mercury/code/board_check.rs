//! Checks new boards before they are used: whatever the rule says, no instruction may miss a wait.

use super::board_choice::Allocation;
use super::event::STACK_POINTER;
use super::kernel::Kernel;

/// Whether every instruction waits, on all paths, for the events that it needs by its registers, and for
/// those that it waits for in the input without a reason that is known. An event that the input does
/// not wait for, although it is pending there, needs no wait: the unit answers in order, or only one of the
/// two instructions is executed.
pub fn is_safe(kernel: &Kernel<'_>, allocation: &Allocation, waits: &[u8]) -> bool {
    let board = |e: usize| allocation.boards[e].map(|c| c.board);
    if waits_too_soon(kernel, &board, waits) {
        return false;
    }
    let Some(pending) = kernel.flow(&board, waits) else { return false };
    kernel.body.iter().enumerate().all(|(i, instruction)| {
        let mut left = pending[i].clone();
        for e in pending[i].iter() {
            if board(e).is_some_and(|b| waits[i] >> b & 1 == 1) {
                left.remove(e);
            }
        }
        left.remove(STACK_POINTER);
        let is_ignored = |e: usize| {
            let waited = instruction.waits() >> kernel.events[e].board & 1 == 1;
            kernel.pending[i].has(e) && !waited
        };
        let needed = kernel.maybe_needed(i, &left);
        !left.meets(&allocation.copied[i]) && needed.iter().all(is_ignored)
    })
}

/// Whether an instruction waits for a board in the cycle after it was set. Neither the compiler nor nvlink writes such
/// code (5,900 functions), so the wait may come before the board counts as set.
fn waits_too_soon(kernel: &Kernel<'_>, board: &impl Fn(usize) -> Option<u8>, waits: &[u8]) -> bool {
    let quick = |at: usize| kernel.body.get(at).is_some_and(|i| i.stall() < 2);
    kernel.events.iter().enumerate().filter(|(_, event)| quick(event.at)).any(|(number, event)| {
        let waits_for = |b: u8| kernel.next[event.at].iter().any(|&j| waits[j] >> b & 1 == 1);
        board(number).is_some_and(waits_for)
    })
}
