//! Why instructions of the input wait, and what waits in their place in the new allocation.

use super::bit_set::BitSet;
use super::board_choice::{Allocation, Allocator, Boards, Late, Times};
use super::event::{ALL, BOARDS, STACK_POINTER};
use super::units::is_slow;

impl Allocator<'_> {
    /// Ends what an instruction waits for. What is over by the end of a block is waited for there, if
    /// the rule explains the input. `None` if a wait has an unknown reason.
    pub fn wait(
        &self,
        i: usize,
        times: &Times<'_>,
        was: &mut Boards,
        now: &mut Boards,
        out: &mut Allocation,
    ) -> Option<Late> {
        let known = self.kernel.dependences.is_some();
        let all_was = self.all(was);
        let again = self.kernel.needed(i, &self.all(now).without(&all_was));
        let needed = self.kernel.needed(i, &all_was);
        let last = self.kernel.ends_block(i);
        let (mut ended, mut late, mut unneeded) = (again, Late::default(), 0);
        if known && self.body[i].is_collective() {
            out.early[i] = boards_in_use(now);
        }
        // Code of split warps waits for everything, and again afterwards.
        let waits = if self.body[i].is_collective() { 0 } else { self.body[i].waits() };
        for board in (0..BOARDS).filter(|board| waits >> board & 1 == 1) {
            let events = &mut was[usize::from(board)];
            let own = needed.and(events);
            let pending = self.kernel.pending[i].and(self.kernel.on(board));
            if !own.is_empty() {
                ended.merge(&own);
                *events = BitSet::none(self.events.len());
            } else if known && self.is_for_back_edge(i, board, &pending) {
            } else if last && events.iter().all(|e| e == STACK_POINTER) {
                late.was |= 1 << board;
                out.copied[i].merge(&pending);
            } else if pending.is_empty() && waits != ALL {
                return None;
            } else {
                unneeded |= 1 << board;
            }
        }
        let mut copied = BitSet::none(self.events.len());
        let times = Some(times).filter(|_| known && last);
        let explained = times.filter(|times| self.over_at_end(i, times, was) == unneeded);
        for board in (0..BOARDS).filter(|board| unneeded >> board & 1 == 1) {
            if explained.is_none() {
                copied.merge(&was[usize::from(board)]);
                out.copied[i].merge(&self.kernel.pending[i].and(self.kernel.on(board)));
            }
            match last && known {
                true => late.was |= 1 << board,
                false => was[usize::from(board)] = BitSet::none(self.events.len()),
            }
        }
        if !last || !known {
            ended.merge(&copied);
        }
        let over = explained.map_or(0, |times| self.over_at_end(i, times, now));
        for (board, events) in now.iter_mut().enumerate() {
            if events.meets(&ended) {
                *events = BitSet::none(self.events.len());
                out.early[i] |= u8::from(known) << board;
            } else if over >> board & 1 == 1 || events.meets(&copied) {
                late.now |= 1 << board;
                out.early[i] |= u8::from(known) << board;
            }
        }
        Some(late)
    }

    /// Whether an instruction waits for events that came over a back edge: because it needs them, sets
    /// their board again, or is the last of its block.
    fn is_for_back_edge(&self, i: usize, board: u8, pending: &BitSet) -> bool {
        let instruction = self.body[i];
        if [instruction.read_board(), instruction.write_board()].contains(&Some(board)) {
            return pending.iter().all(|e| self.kernel.came_back(e, i));
        }
        let mut back = pending.clone();
        pending.iter().filter(|&e| !self.kernel.came_back(e, i)).for_each(|e| back.remove(e));
        !back.is_empty() && (self.kernel.ends_block(i) || !self.kernel.needed(i, &back).is_empty())
    }

    /// Boards whose events all come from this block, leave it, and are over at its last instruction. Not
    /// one that the instruction adds operands to.
    fn over_at_end(&self, i: usize, times: &Times<'_>, boards: &Boards) -> u8 {
        let block = self.blocks.of(i);
        let here = |e: usize| self.blocks.of(self.events[e].at) == block;
        let leaving_operands = |e: usize| !self.events[e].writes && self.leaves(e) && here(e);
        let joins = self.at[i].iter().any(|&e| leaving_operands(e));
        let is_over = |events: &BitSet| {
            let over = |e: usize| {
                let slow = self.events[e].writes && is_slow(self.body[self.events[e].at]);
                here(e) && self.leaves(e) && !slow && times.done[e] <= times.clock.at(i)
            };
            let alone = events.iter().all(|e| e == STACK_POINTER);
            !alone && events.iter().all(over) && !(joins && events.iter().all(leaving_operands))
        };
        let over = boards.iter().enumerate().filter(|(_, events)| is_over(events));
        over.fold(0, |mask, (board, _)| mask | 1 << board)
    }

    fn all(&self, boards: &Boards) -> BitSet {
        let mut out = BitSet::none(self.events.len());
        boards.iter().for_each(|events| _ = out.merge(events));
        out
    }
}

/// Boards with events, one bit each.
fn boards_in_use(boards: &Boards) -> u8 {
    let used = boards.iter().enumerate().filter(|(_, events)| !events.is_empty());
    used.fold(0, |mask, (board, _)| mask | 1 << board)
}
