//! Which events may be pending where.

use super::blocks::Blocks;
use super::event::{BOARDS, NEVER};
use super::event_set::{EventSet, PendingAt};
use super::instruction::Instruction;
use super::kernel::Kernel;
use std::mem;

/// The most events that may be pending at once: a few for each register in compiled code.
const MOST_PENDING: usize = 1024;

/// What a block does to events.
#[derive(Default)]
struct Pass {
    /// The boards that it waits for.
    ends: u8,
    /// Events that it sets and that are pending at its end.
    sets: EventSet,
}

impl Kernel<'_> {
    /// Events that may be pending before each instruction, if they have these boards and instructions
    /// wait for these; `None` if code that may not be reachable depends on boards.
    pub fn pending(&self, boards: &[Option<u8>], waits: &[u8]) -> Option<PendingAt> {
        let mut out = PendingAt::with_room_for(self.body.len());
        // Code of split warps waits for everything, and again afterwards.
        let ends = |i: usize| if self.body[i].is_collective() { 0 } else { waits[i] };
        let ends: Vec<u8> = (0..self.body.len()).map(ends).collect();
        self.flow(boards, &ends, |_, events, is_same| out.push(events, is_same))?;
        Some(out)
    }

    /// Shows what may be pending before each instruction, in order, and whether that is the same as before the last one of
    /// its block. `None` if the visitor says so, or for what [`Self::pending`] refuses.
    pub fn flow(
        &self,
        boards: &[Option<u8>],
        ends: &[u8],
        mut visit: impl FnMut(usize, &EventSet, bool) -> Option<()>,
    ) -> Option<()> {
        let passes: Vec<Pass> =
            (0..self.blocks.count()).map(|block| self.pass(block, boards, ends)).collect();
        let mut entering: Vec<Option<EventSet>> = vec![None; self.blocks.count()];
        *entering.first_mut()? = Some(EventSet::default());
        // Whether events may have entered a block since its last turn. In this order few rounds are needed.
        let mut is_new = vec![false; self.blocks.count()];
        *is_new.first_mut()? = true;
        let mut goes_on = true;
        while mem::take(&mut goes_on) {
            for &block in self.blocks.order() {
                if !mem::take(is_new.get_mut(block)?) {
                    continue;
                }
                let pass = passes.get(block)?;
                let mut after = entering.get(block)?.as_ref()?.clone();
                end(&mut after, pass.ends, boards);
                after.merge(&pass.sets);
                if after.len() > MOST_PENDING {
                    return None;
                }
                for &next in self.blocks.successors(block) {
                    let known = entering.get_mut(next)?;
                    let is_first = known.is_none();
                    if known.get_or_insert_default().merge(&after) || is_first {
                        *is_new.get_mut(next)? = true;
                        goes_on = true;
                    }
                }
            }
        }
        for (block, entering) in entering.into_iter().enumerate() {
            // Code that is not known to be reachable must not depend on boards.
            if entering.is_none() && self.uses_boards(block) {
                return None;
            }
            self.walk(block, entering.unwrap_or_default(), boards, ends, &mut visit)?;
        }
        Some(())
    }

    /// What a block does to events.
    fn pass(&self, block: usize, boards: &[Option<u8>], ends: &[u8]) -> Pass {
        let (first, last) = self.blocks.range(block);
        let mut pass = Pass::default();
        for (i, &ends) in (first..=last).zip(&ends[first..=last]) {
            pass.ends |= ends;
            end(&mut pass.sets, ends, boards);
            self.set_by(i).filter(|&e| boards[e].is_some()).for_each(|e| pass.sets.add(e));
        }
        pass
    }

    /// Shows what is pending before each instruction of a block.
    fn walk(
        &self,
        block: usize,
        mut state: EventSet,
        boards: &[Option<u8>],
        ends: &[u8],
        visit: &mut impl FnMut(usize, &EventSet, bool) -> Option<()>,
    ) -> Option<()> {
        let (first, last) = self.blocks.range(block);
        let mut is_same = false;
        for (i, &ends) in (first..=last).zip(&ends[first..=last]) {
            visit(i, &state, is_same)?;
            is_same = ends == 0 && self.set_by(i).is_empty();
            end(&mut state, ends, boards);
            self.set_by(i).filter(|&e| boards[e].is_some()).for_each(|e| state.add(e));
            if state.len() > MOST_PENDING {
                return None;
            }
        }
        Some(())
    }

    /// Whether instructions of a block set boards or wait for them.
    fn uses_boards(&self, block: usize) -> bool {
        let (first, last) = self.blocks.range(block);
        (first..=last).any(|i| self.body[i].waits() != 0 || !self.set_by(i).is_empty())
    }
}

/// Removes the events on boards, and those that have none.
fn end(events: &mut EventSet, ends: u8, boards: &[Option<u8>]) {
    if ends != 0 {
        events.retain(|e| boards[e].is_some_and(|board| ends >> board & 1 == 0));
    }
}

/// The next instruction of its block that waits for each board, at or after each instruction.
pub fn next_waits(body: &[Instruction], blocks: &Blocks) -> Vec<[usize; BOARDS as usize]> {
    let mut out = vec![[NEVER; BOARDS as usize]; body.len()];
    for (i, instruction) in body.iter().enumerate().rev() {
        let same = i + 1 < body.len() && blocks.of(i + 1) == blocks.of(i);
        let mut next = if same { out[i + 1] } else { [NEVER; BOARDS as usize] };
        for (board, at) in next.iter_mut().enumerate() {
            if instruction.waits() >> board & 1 == 1 {
                *at = i;
            }
        }
        out[i] = next;
    }
    out
}
