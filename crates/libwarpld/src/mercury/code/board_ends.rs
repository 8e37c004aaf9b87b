//! Why instructions of the input wait, and what waits in their place in the new allocation.

use super::board_choice::{Allocation, Allocator, Boards, Pending};
use super::event::{ALL, BOARDS};
use super::event_set::EventSet;
use super::units::{is_slow, is_texture};
use crate::dialect::BoardRules;

impl Allocator<'_> {
    /// Ends what an instruction waits for because it needs it. Returns the boards of the input that it waits for
    /// although it does not, which only the end of a block may do; `None` if a wait has an unknown reason.
    pub fn wait(
        &self,
        i: usize,
        was: &mut Boards,
        now: &mut Boards,
        out: &mut Allocation,
    ) -> Option<u8> {
        let known = self.kernel.dependences.is_some();
        // What only the new allocation still has under way.
        let (mut ended, mut unneeded) = (EventSet::default(), 0);
        for events in now.iter() {
            let mut again = self.kernel.needed(i, events);
            again.retain(|e| !was.iter().any(|events| events.has(e)));
            ended.merge(&again);
        }
        if known && self.body[i].is_collective() {
            out.early[i] = boards_in_use(now);
        }
        // Code of split warps waits for everything, and again afterwards.
        let waits = if self.body[i].is_collective() { 0 } else { self.body[i].waits() };
        for board in (0..BOARDS).filter(|board| waits >> board & 1 == 1) {
            let events = &mut was[usize::from(board)];
            let own = self.kernel.needed(i, events);
            let pending = self.kernel.pending_on(i, board);
            if !own.is_empty() {
                let silent = self.silent(events);
                ended.merge(&own);
                ended.merge(&silent);
                out.copied[i].merge(&silent.and(&pending));
                events.clear();
            } else if known && self.is_for_lost_results(i, events) {
                let lost = events.iter().filter(|&e| self.loses_result(e));
                let boards = lost.filter_map(|e| out.boards[e]).map(|choice| choice.board);
                out.early[i] |= boards.fold(0, |mask, board| mask | 1 << board);
            } else if known && self.is_before_loop(i) && !events.is_empty() {
                unneeded |= 1 << board;
            } else if known && self.is_for_back_edge(i, board, &pending) {
                // The second phase waits.
            } else if pending.is_empty() && waits != ALL {
                return None;
            } else if known && self.kernel.ends_block(i) {
                unneeded |= 1 << board;
            } else {
                ended.merge(events);
                out.copied[i].merge(&pending);
                events.clear();
            }
        }
        for (board, events) in now.iter_mut().enumerate() {
            if events.meets(&ended) {
                events.clear();
                out.early[i] |= u8::from(known) << board;
            }
        }
        Some(unneeded)
    }

    /// Ends what is over at the end of a block, once the boards of its last instruction are chosen. What the input
    /// waits for is given; where the rule does not explain it, the input is followed.
    pub fn end_block(
        &self,
        i: usize,
        unneeded: u8,
        [was, now]: [&mut Pending; 2],
        out: &mut Allocation,
    ) {
        let mut waited = EventSet::default();
        let mut ignored = EventSet::default();
        let [old, new] = self.rules;
        let over = self.over_at_end(i, was, old);
        for (board, events) in was.boards.iter_mut().enumerate() {
            match (unneeded >> board & 1 == 1, over >> board & 1 == 1) {
                // For what comes back.
                (true, false) if old.ends_all_that_comes_back && self.ends_header(i) => continue,
                (true, false) => {
                    out.copied[i].merge(&self.kernel.pending_on(i, board as u8));
                    waited.merge(events);
                }
                (false, true) => _ = ignored.merge(events),
                _ => {}
            }
            if unneeded >> board & 1 == 1 {
                *events = self.only(&self.at[i], events);
            }
        }
        let over = self.over_at_end(i, now, new);
        for (board, events) in now.boards.iter_mut().enumerate() {
            let is_over = over >> board & 1 == 1 && !events.meets(&ignored);
            if is_over || events.meets(&waited) {
                *events = self.only(&self.at[i], events);
                out.early[i] |= 1 << board;
            }
        }
    }

    fn only(&self, these: &[usize], events: &EventSet) -> EventSet {
        let mut out = EventSet::default();
        these.iter().filter(|&&e| events.has(e)).for_each(|&e| out.add(e));
        out
    }

    /// Events of which only the input's waits tell who needs them.
    fn silent(&self, events: &EventSet) -> EventSet {
        let Some(dependences) = &self.kernel.dependences else { return EventSet::default() };
        events.filtered(|e| dependences.is_silent(&self.events[e]))
    }

    /// Whether an instruction ends the first block of a loop and events with results in RZ may come back to it. It
    /// waits for them although they are from before the loop and others have waited: RZ is never among the
    /// registers that are known to be under way (`TEX RZ, R13` before a loop; k17 and k23 of 60 kernels).
    fn is_for_lost_results(&self, i: usize, events: &EventSet) -> bool {
        let block = self.blocks.of(i);
        let (start, end) = self.blocks.range(block);
        let is_back =
            |&p: &usize| self.blocks.place(self.blocks.range(p).0) >= self.blocks.place(start);
        i == end
            && self.blocks.predecessors(block).iter().any(is_back)
            && events.iter().any(|e| self.loses_result(e))
    }

    /// Whether a part of a result goes to RZ.
    fn loses_result(&self, e: usize) -> bool {
        const RZ: u128 = 0xff;
        let (event, word) = (&self.events[e], self.body[self.events[e].at].0);
        event.writes
            && is_texture(self.body[event.at])
            && (word >> 16 & RZ == RZ || word >> 64 & RZ == RZ)
    }

    /// Whether an instruction waits for events that came over a back edge: because it needs them, sets
    /// their board again, or is the last of its block.
    fn is_for_back_edge(&self, i: usize, board: u8, pending: &EventSet) -> bool {
        let instruction = self.body[i];
        if self.may_come_back(i, pending) {
            return true;
        }
        let all = self.rules[0].ends_all_that_comes_back;
        if [instruction.read_board(), instruction.write_board()].contains(&Some(board)) {
            return pending.is_empty() || pending.iter().any(|e| self.kernel.came_back(e, i, all));
        }
        let mut back = pending.clone();
        pending.iter().filter(|&e| !self.kernel.came_back(e, i, all)).for_each(|e| back.remove(e));
        !back.is_empty() && (self.kernel.ends_block(i) || !self.kernel.needed(i, &back).is_empty())
    }

    /// Whether an instruction of the input ends a block before a loop, which waits for what is over.
    fn is_before_loop(&self, i: usize) -> bool {
        let before = self.kernel.ends_block(i) && self.blocks.precedes_loop(self.blocks.of(i));
        self.rules[0].ends_blocks_before_loops && before
    }

    /// Whether the input may wait at an instruction for what comes over a back edge if no wait of the second phase ends
    /// it on its way.
    fn may_come_back(&self, i: usize, pending: &EventSet) -> bool {
        let all = self.rules[0].ends_all_that_comes_back;
        all && (pending.is_empty() || self.ends_header(i))
    }

    /// Whether an instruction is the last of a block that a back edge enters.
    fn ends_header(&self, i: usize) -> bool {
        self.kernel.ends_block(i) && self.blocks.is_header(self.blocks.of(i))
    }

    /// Boards with events that come from this block and leave it, and that are over at its last
    /// instruction. Slow ones never are.
    fn over_at_end(&self, i: usize, pending: &Pending, rules: BoardRules) -> u8 {
        let block = self.blocks.of(i);
        let before_loops = rules.ends_blocks_before_loops;
        if before_loops && !self.blocks.precedes_loop(block) {
            return 0;
        }
        let own = |e: usize| self.blocks.of(self.events[e].at) == block && self.leaves(e);
        let counts = |e: usize| before_loops || own(e);
        let slow = |e: usize| self.events[e].writes && is_slow(self.body[self.events[e].at]);
        let mut over = 0;
        for (board, (events, ready)) in pending.boards.iter().zip(pending.ready).enumerate() {
            let any_slow = events.iter().any(slow);
            let is_over = ready <= pending.clock.at(i);
            over |= u8::from(is_over && !any_slow && events.iter().any(counts)) << board;
        }
        over
    }
}

/// Boards with events, one bit each.
fn boards_in_use(boards: &Boards) -> u8 {
    let used = boards.iter().enumerate().filter(|(_, events)| !events.is_empty());
    used.fold(0, |mask, (board, _)| mask | 1 << board)
}
