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
