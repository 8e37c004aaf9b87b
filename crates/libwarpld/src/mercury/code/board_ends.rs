//! Why instructions of the input wait, and what waits in their place in the new allocation.

use super::board_choice::{Allocation, Allocator};
use super::board_sides::{Boards, Pending, boards_in_use};
use super::dependences::Dependences;
use super::edits::{FENCE, NARROW_FENCE};
use super::event::{ALL, BOARDS};
use super::event_set::EventSet;
use super::registers::RegisterSet;
use super::units::{is_slow, is_texture};
use crate::dialect::BoardRules;

impl Allocator<'_> {
    /// Ends what an instruction waits for because it needs it. Returns the boards of the input that it waits for
    /// although it does not, which only the end of a block may do; `None` if a wait has an unknown reason.
    pub fn wait(
        &self,
        i: usize,
        was: &mut Boards,
        now: &mut Pending,
        out: &mut Allocation,
    ) -> Option<u8> {
        let looks = self.kernel.looks_at(i, &now.subjects);
        let is_plain = self.body[i].waits() == 0 && !self.body[i].is_collective();
        if !looks && is_plain && !self.ends_collective(i) {
            return Some(0);
        }
        let known = self.kernel.dependences.is_some();
        // What only the new allocation still has under way.
        let (mut ended, mut unneeded) = (EventSet::default(), 0);
        for events in now.boards.iter().filter(|events| looks && !events.is_empty()) {
            let mut again = self.kernel.needed(i, events);
            again.retain(|e| !was.iter().any(|events| events.has(e)));
            ended.merge(&again);
        }
        if known && self.body[i].is_collective() {
            out.early[i] = self.boards_at_collective(i, was, &now.boards);
        }
        if known && self.ends_collective(i) {
            self.end_all(i, was, now, out);
            return Some(0);
        }
        // Code of split warps waits for everything, and again afterwards.
        let waits = if self.body[i].is_collective() { 0 } else { self.body[i].waits() };
        let ends_fence = known && self.body[i].waits_for_memory();
        let blind = known && !ends_fence && self.waits_for_all(i);
        for board in (0..BOARDS).filter(|board| waits >> board & 1 == 1) {
            let events = &mut was[usize::from(board)];
            if self.kernel.lost_waits.binary_search(&(i, board)).is_ok() {
                events.clear();
                continue;
            }
            let own = self.kernel.needed(i, events);
            if blind && own.is_empty() {
                continue;
            }
            let added = self.fence_added_before(i).filter(|&e| self.events[e].board == board);
            if let Some(fence) = added {
                ended.add(fence);
                out.copied[i].add(fence);
                events.retain(|e| e != fence);
                continue;
            }
            if ends_fence && self.silent(events).is_empty() {
                // Only memory.
                continue;
            }
            if !own.is_empty() {
                let silent = self.silent(events);
                ended.merge(&own);
                ended.merge(&silent);
                if !silent.is_empty() {
                    out.copied[i].merge(&silent.and(&self.kernel.pending_on(i, board)));
                }
                events.clear();
                continue;
            }
            let pending = self.kernel.pending_on(i, board);
            if known && self.is_for_lost_results(i, events) {
                let lost = events.iter().filter(|&e| self.loses_result(e));
                let boards = lost.filter_map(|e| out.boards[e]).map(|choice| choice.board);
                out.early[i] |= boards.fold(0, |mask, board| mask | 1 << board);
            } else if known
                && self.only_waits(i, events)
                && events.iter().any(|e| self.kernel.drops(e))
            {
                // YIELD waited for the stack pointer.
                events.clear();
            } else if known && self.clears_for_slow(i, board, events) {
                events.clear();
            } else if known && self.is_before_loop(i) && !events.is_empty() {
                unneeded |= 1 << board;
            } else if known
                && !self.is_for_silent(i, events)
                && self.is_for_back_edge(i, board, &pending)
            {
                // The second phase waits.
                if pending.is_empty() && !self.rules[0].ends_all_that_comes_back {
                    let own = self.kernel.set_by(i).filter(|&e| self.events[e].board == board);
                    own.for_each(|e| out.repeated.add(e));
                }
            } else if pending.is_empty() && events.is_empty() && waits != ALL {
                if self.rules[0] == self.rules[1] {
                    return None;
                }
            } else if known && self.kernel.ends_block(i) && !self.is_for_barrier(i, events) {
                unneeded |= 1 << board;
            } else if known
                && self.leaves_ends()
                && self.body[i].does_nothing()
                && self.silent(events).is_empty()
            {
                events.clear();
            } else {
                ended.merge(events);
                out.copied[i].merge(&pending);
                events.clear();
            }
        }
        if ended.is_empty() {
            return Some(unneeded);
        }
        for (board, events) in now.boards.iter_mut().enumerate() {
            if events.meets(&ended) {
                events.clear();
                out.early[i] |= u8::from(known) << board;
            }
        }
        now.subjects = self.kernel.subjects_of(&now.boards);
        Some(unneeded)
    }

    /// Whether an instruction of the input waits for a board only because its slow result gets it.
    fn clears_for_slow(&self, i: usize, board: u8, events: &EventSet) -> bool {
        let [old, new] = self.rules;
        let slow = |e: usize| self.events[e].writes && is_slow(self.body[self.events[e].at]);
        old.clears_for_slow
            && !new.clears_for_slow
            && self.body[i].write_board() == Some(board)
            && is_slow(self.body[i])
            && events.iter().any(|e| !slow(e))
            && self.silent(events).is_empty()
    }

    /// Whether an instruction ends code of split warps that the compiler of the input let wait at its start alone.
    fn ends_collective(&self, i: usize) -> bool {
        const ENDCOLLECTIVE: u16 = 0x11b;
        let [old, new] = self.rules;
        old.ends_at_collectives
            && !new.ends_at_collectives
            && self.body[i].operation() == ENDCOLLECTIVE
    }

    /// Ends all that is pending.
    fn end_all(&self, i: usize, was: &mut Boards, now: &mut Pending, out: &mut Allocation) {
        out.early[i] |= boards_in_use(&now.boards);
        now.boards.iter().for_each(|events| _ = out.copied[i].merge(events));
        was.iter_mut().chain(&mut now.boards).for_each(EventSet::clear);
        now.subjects = RegisterSet::default();
    }

    /// What code of split warps waits for: all that is pending, but for what the input does not wait for there although
    /// it seems to be pending.
    fn boards_at_collective(&self, i: usize, was: &Boards, now: &Boards) -> u8 {
        let waits = self.body[i].waits();
        let is_ignored = |e: usize| {
            let board = self.events[e].board;
            waits >> board & 1 == 0 && was[usize::from(board)].has(e)
        };
        let counts = |events: &EventSet| events.iter().any(|e| !is_ignored(e));
        let used = now.iter().enumerate().filter(|(_, events)| counts(events));
        used.fold(0, |mask, (board, _)| mask | 1 << board)
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
                // Newer releases do not wait there, however long the older compiler thinks that events take.
                (true, false) if self.leaves_ends() && self.silent(events).is_empty() => {}
                (true, false) => {
                    out.copied[i].merge(&self.kernel.pending_on(i, board as u8));
                    waited.merge(events);
                }
                (false, true) => _ = ignored.merge(events),
                _ => {}
            }
            if unneeded >> board & 1 == 1 {
                *events = self.only(i, events);
            }
        }
        let over = self.over_at_end(i, now, new);
        for (board, events) in now.boards.iter_mut().enumerate() {
            let is_over = over >> board & 1 == 1 && !events.meets(&ignored);
            if is_over || events.meets(&waited) {
                *events = self.only(i, events);
                out.early[i] |= 1 << board;
            }
        }
    }

    /// The event of a narrow fence that has no board in the input, which the next instruction waits for.
    fn fence_added_before(&self, i: usize) -> Option<usize> {
        let fence = i.checked_sub(1)?;
        let number = self.kernel.set_by(fence).next()?;
        self.is_added_fence(number).then_some(number)
    }

    /// Whether an event is that of a narrow fence to which the link gives a board.
    pub fn is_added_fence(&self, number: usize) -> bool {
        let at = self.events[number].at;
        let [old, new] = self.rules;
        old != new
            && self.body[at].essence() == NARROW_FENCE
            && self.body.get(at + 1).is_some_and(|next| next.operation() == FENCE)
    }

    /// Whether an instruction waits for all boards for the sake of memory (`CCTL.IVALL`, fences), in any allocation. The
    /// allocator does not know of it: boards stay in use, and others wait for them again (`CCTL.IVALL; MOV R5, 0x1`
    /// behind `STG [R4.64], RZ`: MOV waits for its operands, and the next store shares their board). An instruction
    /// that needs events on all boards, such as the end of a loop's first block, is another matter.
    pub fn waits_for_all(&self, i: usize) -> bool {
        let needs = |board| !self.kernel.needed(i, &self.kernel.pending_on(i, board)).is_empty();
        self.body[i].waits_for_memory()
            || self.body[i].waits() == ALL
                && !self.body[i].is_collective()
                && !self.kernel.ends_block(i)
                && !(0..BOARDS).all(needs)
    }

    /// Whether only the input's release waits at the ends of blocks for what is over.
    fn leaves_ends(&self) -> bool {
        let [old, new] = self.rules;
        !old.ends_blocks_before_loops && new.ends_blocks_before_loops
    }

    /// Events that an instruction sets.
    fn only(&self, i: usize, events: &EventSet) -> EventSet {
        events.filtered(|e| self.events[e].at == i)
    }

    /// Events of which only the input's waits tell who needs them.
    fn silent(&self, events: &EventSet) -> EventSet {
        let Some(dependences) = &self.kernel.dependences else { return EventSet::default() };
        events.filtered(|e| dependences.is_silent(&self.events[e], &self.kernel.subjects[e]))
    }

    /// Whether an instruction ends the first block of a loop and events with results in RZ may come back to it. It
    /// waits for them although they are from before the loop and others have waited: RZ is never among the
    /// registers that are known to be under way (`TEX RZ, R13` before a loop; k17 and k23 of 60 kernels).
    fn is_for_lost_results(&self, i: usize, events: &EventSet) -> bool {
        let block = self.blocks.of(i);
        let (_, end) = self.blocks.range(block);
        i == end && self.blocks.is_reentered(block) && events.iter().any(|e| self.loses_result(e))
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
            // Since 13.1 what leaves the end of a loop may have ended for good before it comes back.
            return pending.is_empty()
                || all && self.blocks.is_in_loop(self.blocks.of(i))
                || pending.iter().any(|e| self.kernel.came_back(e, i, all));
        }
        let back = pending.filtered(|e| self.kernel.came_back(e, i, all));
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
        all && (pending.is_empty() && self.kernel.has_registers(i) || self.ends_header(i))
    }

    /// Whether an instruction of a block waits for a fence of that block or the like, which no register tells.
    /// [`fences-in-loops`: the board is its own, too]
    fn is_for_silent(&self, i: usize, events: &EventSet) -> bool {
        let here = |e: usize| self.blocks.of(self.events[e].at) == self.blocks.of(i);
        self.silent(events).iter().any(here)
    }

    /// Whether an instruction waits for barriers in shared memory that others have set: SYNCS for SYNCS.EXCH with its result
    /// in URZ. It does so by itself, even if it is the only one of its block (`transform_kernel` of CUB).
    fn is_for_barrier(&self, i: usize, events: &EventSet) -> bool {
        const EXCHANGE: u16 = 0x1b2;
        let exchanges = |e: usize| self.body[self.events[e].at].operation() == EXCHANGE;
        matches!(self.body[i].operation(), 0x1a7 | 0x1b1 | EXCHANGE)
            && self.silent(events).iter().any(exchanges)
    }

    /// Whether an instruction without registers waits for events: YIELD may wait for what its block needs later.
    /// If another instruction has waited for their board because of a back edge, the input has none of them pending.
    fn only_waits(&self, i: usize, events: &EventSet) -> bool {
        !self.kernel.has_registers(i) && !events.is_empty()
    }

    /// Whether an instruction is the last of a block that a back edge enters.
    fn ends_header(&self, i: usize) -> bool {
        self.kernel.ends_block(i) && self.blocks.is_header(self.blocks.of(i))
    }

    /// Whether an event of a block is about operands that a later instruction of its unit overwrites.
    fn is_overtaken(&self, e: usize, block: usize) -> bool {
        let (event, subject) = (&self.events[e], self.kernel.subjects.get(e));
        let known = self.kernel.dependences.as_ref().zip(subject).zip(self.users.as_ref());
        let (_, end) = self.blocks.range(block);
        let is_overtaken = |((dependences, subject), users): ((&Dependences<'_>, _), _)| {
            dependences.is_overtaken(event, subject, event.at + 1..=end, users)
        };
        self.blocks.of(event.at) == block && known.is_some_and(is_overtaken)
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
            let is_over =
                ready <= pending.clock.at(i) || events.iter().all(|e| self.is_overtaken(e, block));
            over |= u8::from(is_over && !any_slow && events.iter().any(counts)) << board;
        }
        over
    }
}
