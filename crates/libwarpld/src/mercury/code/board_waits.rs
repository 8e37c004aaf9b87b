//! Which boards instructions wait for once events have new ones, back edges included.

use super::board_choice::{Allocation, Allocator, Choice, Known};
use super::event::ALL;
use super::event_set::EventSet;
use super::kernel::Kernel;

/// How often waits are computed anew because of loops.
const ROUNDS: usize = 40;

/// Events at a place in the code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// Those pending.
    pending: EventSet,
    /// Those of them that came over a back edge into the block.
    back: EventSet,
}

/// The flow of events through a kernel.
pub struct Waits<'k> {
    kernel: &'k Kernel<'k>,
    allocator: &'k Allocator<'k>,
    allocation: &'k Allocation,
    /// Events that each instruction sets.
    set: Vec<Vec<(usize, Choice)>>,
}

impl<'k> Waits<'k> {
    /// Collects what is known; `None` if an event has no board.
    pub fn new(
        kernel: &'k Kernel<'k>,
        allocator: &'k Allocator<'k>,
        allocation: &'k Allocation,
    ) -> Option<Self> {
        let mut set = vec![Vec::new(); kernel.body.len()];
        for (number, event) in kernel.events.iter().enumerate().filter(|(e, _)| !kernel.drops(*e)) {
            set.get_mut(event.at)?.push((number, (*allocation.boards.get(number)?)?));
        }
        Some(Self { kernel, allocator, allocation, set })
    }

    /// The boards that each instruction waits for; `None` if that does not settle.
    pub fn run(&self) -> Option<Vec<u8>> {
        let blocks = &self.kernel.blocks;
        let mut entered: Vec<Option<State>> = vec![None; blocks.count()];
        let mut left: Vec<Option<State>> = vec![None; blocks.count()];
        let mut out = vec![0; self.kernel.body.len()];
        for _ in 0..ROUNDS {
            let mut changed = false;
            for block in 0..blocks.count() {
                let state = self.entering(block, &left);
                if entered[block].as_ref() == Some(&state) {
                    continue;
                }
                entered[block] = Some(state.clone());
                left[block] = Some(self.through(block, state, &mut out));
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
        let mut ended = self.allocation.copied[i].and(&state.pending);
        let mut waits = self.allocation.early[i];
        let all = self.allocator.rules[1].ends_all_that_comes_back;
        if self.kernel.dependences.is_some() && !instruction.is_collective() {
            let mut needed = self.kernel.needed(i, &state.pending);
            if all {
                needed.merge(&self.kernel.needed(i, &state.back));
            }
            if self.kernel.ends_block(i) {
                let writes = |e: usize| self.kernel.events[e].writes;
                let known = |e: usize| (writes(e) || !all) && self.is_known(e, i);
                state.back.iter().filter(|&e| !known(e)).for_each(|e| needed.add(e));
            }
            // The compiler knows better where it does not wait.
            let mut ignored = self.ignored(i);
            if self.kernel.ends_block(i) {
                let [old, new] = self.allocator.rules;
                let had_none = |e: usize| old != new || self.was_known(e, i);
                state.back.iter().filter(|&e| had_none(e)).for_each(|e| ignored.remove(e));
            }
            ended.merge(&needed.without(&ignored));
        }
        waits |= self.boards(&ended);
        let back = self.boards(&state.back);
        let pending = self.boards(&state.pending);
        for &(number, choice) in &self.set[i] {
            let bit = 1 << choice.board;
            // Slow results share the last board in both allocations.
            let again = match self.allocator.takes_last(number) {
                true => self.kernel.dependences.is_some() && instruction.waits() & bit != 0,
                false => back & bit != 0,
            };
            if again || choice.fresh && pending & bit != 0 {
                waits |= bit;
            }
        }
        // Boards whose events are counted keep their events, and so their waits: LDGDEPBAR sets them again
        // without one.
        let counted = self.allocator.counted;
        waits = waits & !counted | instruction.waits() & counted;
        self.remove(&mut state.pending, waits);
        self.remove(&mut state.back, waits);
        self.set[i].iter().for_each(|&(number, _)| state.pending.add(number));
        match instruction.waits() {
            // Fences keep their wait for all (fences-call-free, fences-and-mbarriers).
            ALL if self.kernel.dependences.is_none() || !instruction.is_collective() => ALL,
            _ if instruction.is_collective() => waits | self.boards(&state.pending),
            _ => waits,
        }
    }

    /// Whether the first phase knows of events with the board and all registers of one that came back. It remembers
    /// registers by board, so it takes such an event for one that is under way already (k62 of seed 7000011:
    /// `LDC R3` before the loop and a store of R3 in it share a board). A result in RZ is never known.
    fn is_known(&self, e: usize, i: usize) -> bool {
        let board = self.allocation.boards[e].map_or(0, |choice| choice.board);
        self.is_among(e, self.allocation.known.get(&i), board)
    }

    /// The same in the input, which does not wait for it then.
    fn was_known(&self, e: usize, i: usize) -> bool {
        self.is_among(e, self.allocation.known_before.get(&i), self.kernel.events[e].board)
    }

    fn is_among(&self, e: usize, known: Option<&Known>, board: u8) -> bool {
        let (Some(dependences), Some(known)) = (&self.kernel.dependences, known) else {
            return false;
        };
        let own = dependences.subject(&self.kernel.events[e]);
        !own.is_empty() && known[usize::from(board)].contains(&own)
    }

    /// Events that the input's instruction does not wait for although they are pending.
    fn ignored(&self, i: usize) -> EventSet {
        let waits = self.kernel.body[i].waits();
        let events = &self.kernel.events;
        self.kernel.pending[i].filtered(|e| waits >> events[e].board & 1 == 0)
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
        out
    }
}
