//! What the control bits of a kernel say: who sets which board, and who waits for it.

use super::blocks::Blocks;
use super::dependences::Dependences;
use super::event::{BOARDS, Event, STACK_POINTER};
use super::event_set::EventSet;
use super::instruction::{Flow, Instruction, NO_GUARD};
use super::registers::RegisterSet;
use crate::collections::Map;
use smallvec::SmallVec;

/// Limit for a kernel: instructions times set boards, in bits.
const LARGEST: usize = 1 << 28;

/// The most events that may be pending at once: a few for each register in compiled code.
const MOST_PENDING: usize = 1024;

/// The most targets of all jump tables: blocks that share successors look at each other's ends.
const MOST_TARGETS: usize = 4096;

/// Who sets which board and who waits for it.
pub struct Kernel<'c> {
    pub body: &'c [Instruction],
    pub events: Vec<Event>,
    /// The event that is dropped: nothing reads R1.
    pub dropped: Option<usize>,
    /// Events that may be pending before each instruction.
    pub pending: Vec<EventSet>,
    /// The registers of the instructions, if all are known.
    pub dependences: Option<Dependences<'c>>,
    /// Events that come over back edges, by the block that they enter.
    back: Vec<EventSet>,
    /// The registers that each event is about.
    subjects: Vec<RegisterSet>,
    /// The registers that each instruction reads or writes.
    touched: Vec<RegisterSet>,
    /// Where control may go from each instruction.
    pub next: Vec<Vec<usize>>,
    pub blocks: Blocks,
    /// Stall counts of the input; `None` for instructions that the link inserts.
    pub stalls_before: Vec<Option<u8>>,
}

/// How a link changes a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Stall counts of the input by new instruction, `None` if the link inserts it; those of the code if empty.
    pub stalls_before: Vec<Option<u8>>,
    /// For a debugger the load of the stack pointer keeps its board.
    pub keeps_stack_pointer: bool,
}

impl<'c> Kernel<'c> {
    pub fn read(body: &'c [Instruction], jumps: &Jumps, change: &Change) -> Option<Self> {
        if jumps.values().map(Vec::len).sum::<usize>() > MOST_TARGETS {
            return None;
        }
        let next: Vec<Vec<usize>> =
            (0..body.len()).map(|i| successors(body, i, jumps)).collect::<Option<_>>()?;
        let mut events = Vec::new();
        for (at, instruction) in body.iter().enumerate() {
            let event = |board, writes| Event { at, board, writes };
            events.extend(instruction.read_board().map(|b| event(b, false)));
            events.extend(instruction.write_board().map(|b| event(b, true)));
        }
        if events.len().checked_mul(body.len())? > LARGEST {
            return None;
        }
        if events.iter().any(|event| event.board >= BOARDS) {
            return None;
        }
        let blocks = Blocks::new(body, &next)?;
        let dependences = Dependences::of(body);
        let (mut subjects, mut touched) = (Vec::new(), Vec::new());
        if let Some(dependences) = &dependences {
            subjects.extend(events.iter().map(|event| dependences.subject(event)));
            touched.extend((0..body.len()).map(|i| dependences.registers(i).all()));
        }
        let mut stalls_before = change.stalls_before.clone();
        stalls_before.extend(body.iter().skip(stalls_before.len()).map(|i| Some(i.stall())));
        let mut kernel = Self {
            dropped: (!change.keeps_stack_pointer).then_some(STACK_POINTER),
            body,
            events,
            pending: Vec::new(),
            dependences,
            back: Vec::new(),
            subjects,
            touched,
            next,
            blocks,
            stalls_before,
        };
        let waits: Vec<u8> = body.iter().map(|i| i.waits()).collect();
        kernel.pending = kernel.flow(&|e| kernel.events.get(e).map(|event| event.board), &waits)?;
        kernel.back = (0..kernel.blocks.count()).map(|block| kernel.coming_back(block)).collect();
        Some(kernel)
    }

    /// Whether an event is dropped.
    pub fn drops(&self, e: usize) -> bool {
        self.dropped == Some(e)
    }

    /// Events that come over back edges into a block.
    fn coming_back(&self, block: usize) -> EventSet {
        let mut out = EventSet::default();
        let place = self.blocks.place(self.blocks.range(block).0);
        for &p in self.blocks.predecessors(block) {
            let (_, end) = self.blocks.range(p);
            if self.blocks.place(end) < place {
                continue;
            }
            let mut after = self.pending[end].clone();
            let ends = if self.body[end].is_collective() { 0 } else { self.body[end].waits() };
            after.retain(|e| ends >> self.events[e].board & 1 == 0);
            out.merge(&after);
            // Those that the last instruction sets.
            let set = self.events.partition_point(|event| event.at < end);
            (set..self.events.len())
                .take_while(|&e| self.events[e].at == end)
                .for_each(|e| out.add(e));
        }
        out
    }

    /// Events that may be pending before each instruction, if they have these boards and instructions
    /// wait for these; `None` if code that may not be reachable depends on boards.
    pub fn flow(
        &self,
        board: &impl Fn(usize) -> Option<u8>,
        waits: &[u8],
    ) -> Option<Vec<EventSet>> {
        let boards: Vec<Option<u8>> = (0..self.events.len()).map(board).collect();
        let mut set = vec![SmallVec::<[usize; 2]>::new(); self.body.len()];
        for (number, event) in self.events.iter().enumerate().filter(|(e, _)| boards[*e].is_some())
        {
            set.get_mut(event.at)?.push(number);
        }
        let mut before: Vec<Option<EventSet>> = vec![None; self.body.len()];
        *before.first_mut()? = Some(EventSet::default());
        let mut work = vec![0];
        while let Some(i) = work.pop() {
            let mut after = before.get(i)?.as_ref()?.clone();
            // Code of split warps waits for everything, and again afterwards.
            let ends = if self.body.get(i)?.is_collective() { 0 } else { *waits.get(i)? };
            after.retain(|e| boards[e].is_some_and(|board| ends >> board & 1 == 0));
            set.get(i)?.iter().for_each(|&e| after.add(e));
            if after.len() > MOST_PENDING {
                return None;
            }
            for &j in self.next.get(i)? {
                let known = before.get_mut(j)?;
                let is_first = known.is_none();
                if known.get_or_insert_default().merge(&after) || is_first {
                    work.push(j);
                }
            }
        }
        let uses_boards = |i: usize| {
            self.body.get(i).is_some_and(|x| {
                x.waits() != 0 || x.read_board().is_some() || x.write_board().is_some()
            })
        };
        // Code that is not known to be reachable must not depend on boards.
        let known = |(i, bits): (usize, Option<EventSet>)| match bits {
            None if uses_boards(i) => None,
            bits => Some(bits.unwrap_or_default()),
        };
        before.into_iter().enumerate().map(known).collect()
    }

    /// Events among these that an instruction needs, by registers.
    pub fn needed(&self, i: usize, pending: &EventSet) -> EventSet {
        self.among(i, pending, |e, i| self.needs(e, i))
    }

    /// The same if guards do not count.
    pub fn maybe_needed(&self, i: usize, pending: &EventSet) -> EventSet {
        self.among(i, pending, |e, i| {
            let (event, local) = (&self.events[e], self.is_local(e, i));
            self.dependences.as_ref().is_some_and(|d| d.may_need(event, i, local))
        })
    }

    /// Events among these that are about a register of an instruction and answer a question.
    fn among(&self, i: usize, pending: &EventSet, is: impl Fn(usize, usize) -> bool) -> EventSet {
        let Some(dependences) = &self.dependences else { return EventSet::default() };
        let parts = dependences.parts(i);
        let touched = &self.touched[i];
        pending.filtered(|e| (parts || self.subjects[e].meets(touched)) && is(e, i))
    }

    /// Whether the link inserts an instruction.
    pub fn is_inserted(&self, i: usize) -> bool {
        self.stalls_before.get(i) == Some(&None)
    }

    /// Whether an instruction writes a register, as far as is known.
    pub fn has_result(&self, i: usize) -> bool {
        self.dependences.as_ref().is_none_or(|d| !d.registers(i).writes.is_empty())
    }

    /// Whether an instruction needs an event, by registers.
    fn needs(&self, e: usize, i: usize) -> bool {
        let (event, local) = (&self.events[e], self.is_local(e, i));
        self.dependences.as_ref().is_some_and(|d| d.needs(event, i, local))
    }

    /// Whether an event is set earlier in an instruction's block.
    fn is_local(&self, e: usize, i: usize) -> bool {
        let at = self.events[e].at;
        at < i && self.blocks.of(at) == self.blocks.of(i)
    }

    /// Whether an event is pending at an instruction of an earlier block, or earlier in its own, so
    /// that it came over a back edge; or whether any event did, those from before the loop included.
    pub fn came_back(&self, e: usize, i: usize, all: bool) -> bool {
        let at = self.events[e].at;
        if all {
            let set_since = self.is_local(e, i);
            return !set_since && self.back[self.blocks.of(i)].has(e);
        }
        let (place, here) = (self.blocks.place(at), self.blocks.place(i));
        place > here || place == here && at >= i
    }

    /// Events on a board that are pending at an instruction of the input.
    pub fn pending_on(&self, i: usize, board: u8) -> EventSet {
        self.pending[i].filtered(|e| self.events[e].board == board)
    }

    /// Whether an instruction is the last of a block that others follow.
    pub fn ends_block(&self, i: usize) -> bool {
        let block = self.blocks.of(i);
        self.blocks.range(block).1 == i && self.blocks.goes_on(block)
    }
}

const EXIT: u16 = 0x14d;

/// The targets of branches by jump tables, by instruction.
pub type Jumps = Map<usize, Vec<usize>>;

/// Where control may go from an instruction; `None` if unknown.
fn successors(body: &[Instruction], i: usize, jumps: &Jumps) -> Option<Vec<usize>> {
    const BRANCH: u16 = 0x147;
    let instruction = *body.get(i)?;
    let at = (i * Instruction::SIZE) as i64;
    let next = Some(i + 1).filter(|&n| n < body.len());
    let mut out = Vec::new();
    match (instruction.operation(), instruction.flow(at)) {
        _ if instruction.is_indirect() => {
            let targets = jumps.get(&i).filter(|targets| !targets.is_empty())?;
            out.extend_from_slice(targets);
            if out.iter().any(|&target| target >= body.len()) {
                return None;
            }
            if instruction.guard() != NO_GUARD {
                out.extend(next);
            }
        }
        (_, Flow::Call | Flow::Unknown) => return None,
        (BRANCH, Flow::To(target)) => {
            let target = usize::try_from(target).ok()? / Instruction::SIZE;
            out.extend(Some(target).filter(|&t| t < body.len()));
            if !instruction.always_branches() {
                out.extend(next);
            }
        }
        (EXIT, _) if instruction.always_exits() => {}
        _ => out.extend(next),
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BRX R2` by a table, with and without a guard.
    #[test]
    fn jumps_lead_where_their_table_says() {
        const JUMP: u128 = 0x000f_ea00_0383_ffff_ffff_fffc_0200_7949;
        let guarded = Instruction(JUMP & !0xf000);
        let body = [Instruction(JUMP), guarded, Instruction::NOP, Instruction::NOP];
        let jumps = |targets: &[usize]| (0..2).map(|i| (i, targets.to_vec())).collect::<Jumps>();
        assert_eq!(successors(&body, 0, &jumps(&[3, 2])), Some(vec![3, 2]));
        assert_eq!(successors(&body, 1, &jumps(&[3])), Some(vec![3, 2]));
        assert_eq!(successors(&body, 0, &jumps(&[3, 4])), None, "behind the code");
        assert_eq!(successors(&body, 0, &jumps(&[])), None);
        assert_eq!(successors(&body, 0, &Jumps::default()), None);
        let many = (0..2).map(|i| (i, vec![2; MOST_TARGETS])).collect();
        assert!(
            Kernel::read(&body, &many, &Change::default()).is_none()
                && Kernel::read(&body, &jumps(&[2]), &Change::default()).is_some()
        );
    }
}
