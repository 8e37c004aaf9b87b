//! Which boards instructions wait for once events have new ones, back edges included.

use super::board_choice::{Allocation, Allocator, Choice, Known};
use super::event::ALL;
use super::event_set::EventSet;
use super::kernel::Kernel;
use super::registers::RegisterSet;
use crate::dialect::BoardRules;
use std::mem;

/// How often waits are computed anew because of loops.
const ROUNDS: usize = 40;

/// Events at a place in the code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// Those pending.
    pending: EventSet,
    /// Those of them that came over a back edge into the block.
    back: EventSet,
    /// The registers that both are about, and perhaps more.
    subjects: RegisterSet,
}

/// The flow of events through a kernel.
pub struct Waits<'k> {
    kernel: &'k Kernel<'k>,
    allocator: &'k Allocator<'k>,
    allocation: &'k Allocation,
}

impl<'k> Waits<'k> {
    /// Collects what is known; `None` if an event has no board.
    pub fn new(
        kernel: &'k Kernel<'k>,
        allocator: &'k Allocator<'k>,
        allocation: &'k Allocation,
    ) -> Option<Self> {
        let mut boards = allocation.boards.iter().enumerate();
        let all = boards.all(|(e, choice)| choice.is_some() || kernel.drops(e));
        all.then_some(Self { kernel, allocator, allocation })
    }

    /// The boards that each instruction waits for; `None` if that does not settle.
    pub fn run(&self) -> Option<Vec<u8>> {
        let blocks = &self.kernel.blocks;
        let mut entered: Vec<Option<State>> = vec![None; blocks.count()];
        // Whether what a block is entered with may have changed.
        let mut may_differ = vec![true; blocks.count()];
        let mut left: Vec<Option<State>> = vec![None; blocks.count()];
        let mut out = vec![0; self.kernel.body.len()];
        for _ in 0..ROUNDS {
            let mut changed = false;
            for block in 0..blocks.count() {
                if !mem::take(&mut may_differ[block]) {
                    continue;
                }
                let state = self.entering(block, &left);
                if entered[block].as_ref() == Some(&state) {
                    continue;
                }
                entered[block] = Some(state.clone());
                left[block] = Some(self.through(block, state, &mut out));
                blocks.successors(block).iter().for_each(|&next| may_differ[next] = true);
                changed = true;
            }
            if !changed {
                return Some(out);
            }
        }
        None
    }

    /// Takes events through a block.
    fn through(&self, block: usize, mut state: State, out: &mut [u8]) -> State {
        let (start, end) = self.kernel.blocks.range(block);
        for (i, waits) in (start..=end).zip(&mut out[start..=end]) {
            *waits = self.pass(i, &mut state);
        }
        state
    }

    /// Takes events through an instruction and returns what it waits for.
    fn pass(&self, i: usize, state: &mut State) -> u8 {
        let instruction = self.kernel.body[i];
        if self.has_no_part(i, &state.subjects) {
            return 0;
        }
        let mut ended = EventSet::default();
        if !self.allocation.copied[i].is_empty() {
            ended = self.allocation.copied[i].and(&state.pending);
        }
        let mut waits = self.allocation.early[i];
        let all = self.allocator.rules[1].ends_all_that_comes_back;
        if self.kernel.dependences.is_some() && !instruction.is_collective() {
            let mut needed = self.kernel.needed(i, &state.pending);
            if all {
                needed.merge(&self.kernel.needed(i, &state.back));
            }
            if self.kernel.ends_block(i) {
                state.back.iter().filter(|&e| !self.is_known(e, i)).for_each(|e| needed.add(e));
            }
            // The compiler knows better where it does not wait.
            let [old, new] = self.allocator.rules;
            let had_none = |e: usize| {
                self.kernel.ends_block(i)
                    && state.back.has(e)
                    && (old != new || self.was_known(e, i))
            };
            ended.merge(&needed.filtered(|e| !self.is_ignored(e, i) || had_none(e)));
        }
        waits |= self.boards(&ended);
        for (number, choice) in self.sets(i) {
            if self.waits_for_own(number, choice, i, state) {
                waits |= 1 << choice.board;
            }
        }
        // Boards whose events are counted keep their events, and so their waits: LDGDEPBAR sets them again
        // without one.
        let counted = self.allocator.counted;
        waits = waits & !counted | instruction.waits() & counted;
        self.remove(&mut state.pending, waits);
        self.remove(&mut state.back, waits);
        if waits != 0 {
            state.subjects = self.kernel.subjects_of([&state.pending, &state.back]);
        }
        for (number, _) in self.sets(i) {
            state.pending.add(number);
            let subject = self.kernel.subjects.get(number);
            subject.into_iter().for_each(|subject| state.subjects.merge(subject));
        }
        match instruction.waits() {
            // Fences keep their wait for all (fences-call-free, fences-and-mbarriers).
            ALL if self.kernel.dependences.is_none() || self.allocator.waits_for_all(i) => {
                if instruction.waits_for_memory() {
                    state.back = EventSet::default();
                }
                ALL
            }
            _ if instruction.is_collective() => waits | self.boards(&state.pending) & !counted,
            _ => waits,
        }
    }

    /// Whether an instruction neither sets boards nor waits for them, in both allocations.
    fn has_no_part(&self, i: usize, subjects: &RegisterSet) -> bool {
        self.kernel.set_by(i).is_empty()
            && self.kernel.body[i].waits() == 0
            && self.allocation.early[i] == 0
            && self.allocation.copied[i].is_empty()
            && !self.kernel.body[i].is_collective()
            && !self.kernel.ends_block(i)
            && !self.kernel.looks_at(i, subjects)
    }

    /// Events that an instruction sets in the new allocation.
    fn sets(&self, i: usize) -> impl Iterator<Item = (usize, Choice)> + '_ {
        self.kernel.set_by(i).filter_map(|e| Some((e, self.allocation.boards[e]?)))
    }

    /// Whether the first phase knows of events with the board and all registers of one that came back. It remembers
    /// registers by board, so it takes such an event for one that is under way already (k62 of seed 7000011:
    /// `LDC R3` before the loop and a store of R3 in it share a board).
    fn is_known(&self, e: usize, i: usize) -> bool {
        let board = self.allocation.boards[e].map_or(0, |choice| choice.board);
        self.is_among(e, self.allocation.known.get(&i), board, self.allocator.rules[1])
    }

    /// The same in the input, which does not wait for it then.
    fn was_known(&self, e: usize, i: usize) -> bool {
        let board = self.kernel.events[e].board;
        self.is_among(e, self.allocation.known_before.get(&i), board, self.allocator.rules[0])
    }

    fn is_among(&self, e: usize, known: Option<&Known>, board: u8, rules: BoardRules) -> bool {
        let (Some(dependences), Some(known)) = (&self.kernel.dependences, known) else {
            return false;
        };
        let own = dependences.remembered(&self.kernel.events[e], rules);
        !own.is_empty() && known[usize::from(board)].contains(&own)
    }

    /// Whether the input's instruction does not wait for an event although it is pending.
    fn is_ignored(&self, e: usize, i: usize) -> bool {
        let waits = self.kernel.body[i].waits() >> self.kernel.events[e].board & 1 == 1;
        !waits && self.kernel.thought_pending(i).has(e)
    }

    /// Whether an instruction waits for the board that it sets: others come back on it, or are pending although it was
    /// taken to be free.
    fn waits_for_own(&self, number: usize, choice: Choice, i: usize, state: &State) -> bool {
        let is_on = |events: &EventSet| self.boards(events) >> choice.board & 1 == 1;
        if self.allocation.repeated.has(number) {
            return true;
        }
        if self.ignores_what_comes_back(number, i, &state.back) {
            return choice.fresh && is_on(&state.pending.filtered(|e| !state.back.has(e)));
        }
        // Slow results share the last board in both allocations.
        let comes_back = match self.allocator.takes_last(number) {
            true => {
                let waits = self.kernel.body[i].waits() >> choice.board & 1 == 1;
                self.kernel.dependences.is_some() && waits
            }
            false => is_on(&state.back),
        };
        comes_back || choice.fresh && is_on(&state.pending)
    }

    /// Whether the input sets an event's board without a wait although others that come back are pending on it. (nvlink does
    /// not wait then, either: 14 of 14. Where nothing was pending on the input's board it waits in 130 of 136.)
    fn ignores_what_comes_back(&self, number: usize, i: usize, back: &EventSet) -> bool {
        let board = self.kernel.events[number].board;
        let pending = self.kernel.thought_pending(i);
        let is_pending = |e: usize| self.kernel.events[e].board == board && pending.has(e);
        self.kernel.body[i].waits() >> board & 1 == 0 && back.iter().any(is_pending)
    }

    /// The boards of events.
    fn boards(&self, events: &EventSet) -> u8 {
        let boards = events.iter().filter_map(|e| self.allocation.boards[e]);
        boards.fold(0, |mask, choice| mask | 1 << choice.board)
    }

    /// Removes the events on boards.
    fn remove(&self, events: &mut EventSet, boards: u8) {
        if boards == 0 {
            return;
        }
        let boards_of = &self.allocation.boards;
        events.retain(|e| boards_of[e].is_none_or(|c| boards >> c.board & 1 == 0));
    }

    /// Events at the start of a block.
    fn entering(&self, block: usize, left: &[Option<State>]) -> State {
        let mut out = State::default();
        let blocks = &self.kernel.blocks;
        let place = blocks.place(blocks.range(block).0);
        for &p in blocks.predecessors(block) {
            let Some(before) = &left[p] else { continue };
            out.pending.merge(&before.pending);
            if blocks.place(blocks.range(p).0) < place {
                continue;
            }
            if self.allocator.rules[1].ends_all_that_comes_back {
                out.back.merge(&self.allocation.leaving[p]);
                continue;
            }
            let late = |e: usize| blocks.place(self.kernel.events[e].at) >= place;
            out.back.merge(&before.pending.filtered(late));
        }
        out.subjects = self.kernel.subjects_of([&out.pending, &out.back]);
        out
    }
}
