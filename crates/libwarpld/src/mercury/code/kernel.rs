//! What the control bits of a kernel say: who sets which board, and who waits for it.

use super::blocks::{Blocks, Next};
use super::dependences::Dependences;
use super::event::{BOARDS, Event, STACK_POINTER};
use super::event_set::{EventSet, PendingAt};
use super::instruction::{Flow, Instruction, NO_GUARD};
use super::registers::{RegisterSet, Registers};
use crate::collections::Map;
use crate::dialect::BoardRules;
use std::ops::Range;

/// The most targets of all jump tables: blocks that share successors look at each other's ends.
const MOST_TARGETS: usize = 4096;

/// Who sets which board and who waits for it.
pub struct Kernel<'c> {
    pub body: &'c [Instruction],
    pub events: Vec<Event>,
    /// The first event of each instruction, and how many events there are.
    first_set: Vec<usize>,
    /// The event that is dropped: nothing reads R1.
    pub dropped: Option<usize>,
    /// Events that may be pending before each instruction.
    pub pending: PendingAt,
    /// The same if waits for memory end only fences, as far as the allocator knows; `None` if there are no such waits.
    thought: Option<PendingAt>,
    /// The registers of the instructions, if all are known.
    pub dependences: Option<Dependences<'c>>,
    /// Events that come over back edges, by the block that they enter.
    back: Vec<EventSet>,
    /// The registers that each event is about; none if registers are not known.
    pub subjects: Vec<RegisterSet>,
    /// The registers that each instruction reads or writes.
    pub touched: Vec<RegisterSet>,
    /// Whether an instruction may need events whatever registers they are about.
    parts: Vec<bool>,
    /// Signatures of both.
    subject_signatures: Vec<u64>,
    touched_signatures: Vec<u64>,
    /// Where control may go from each instruction.
    pub next: Vec<Next>,
    pub blocks: Blocks,
    /// Stall counts of the input; `None` for instructions that the link inserts.
    pub stalls_before: Vec<Option<u8>>,
    /// See [`Change`].
    pub lost_waits: Vec<(usize, u8)>,
}

/// How a link changes a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Stall counts of the input by new instruction, `None` if the link inserts it; those of the code if empty.
    pub stalls_before: Vec<Option<u8>>,
    /// For a debugger the load of the stack pointer keeps its board.
    pub keeps_stack_pointer: bool,
    /// Instructions, in order, and boards that they only waited for because of fences that are gone.
    pub lost_waits: Vec<(usize, u8)>,
}

impl<'c> Kernel<'c> {
    pub fn read(
        body: &'c [Instruction],
        registers: Option<Vec<Registers>>,
        jumps: &Jumps,
        change: &Change,
    ) -> Option<Self> {
        if jumps.values().map(Vec::len).sum::<usize>() > MOST_TARGETS {
            return None;
        }
        let next: Vec<Next> =
            (0..body.len()).map(|i| successors(body, i, jumps)).collect::<Option<_>>()?;
        let mut events = Vec::new();
        let mut first_set = Vec::with_capacity(body.len() + 1);
        for (at, instruction) in body.iter().enumerate() {
            first_set.push(events.len());
            let event = |board, writes| Event { at, board, writes };
            events.extend(instruction.read_board().map(|b| event(b, false)));
            events.extend(instruction.write_board().map(|b| event(b, true)));
        }
        first_set.push(events.len());
        if events.iter().any(|event| event.board >= BOARDS) {
            return None;
        }
        let blocks = Blocks::new(body, &next)?;
        let dependences = registers.map(|registers| Dependences::of(body, registers));
        let (mut subjects, mut touched, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(dependences) = &dependences {
            subjects.extend(events.iter().map(|event| dependences.subject(event)));
            touched.extend((0..body.len()).map(|i| dependences.registers(i).all()));
            parts.extend((0..body.len()).map(|i| dependences.parts(i)));
        }
        let mut stalls_before = change.stalls_before.clone();
        stalls_before.extend(body.iter().skip(stalls_before.len()).map(|i| Some(i.stall())));
        let mut kernel = Self {
            dropped: (!change.keeps_stack_pointer).then_some(STACK_POINTER),
            body,
            events,
            first_set,
            pending: PendingAt::default(),
            thought: None,
            dependences,
            back: Vec::new(),
            subject_signatures: subjects.iter().map(RegisterSet::signature).collect(),
            touched_signatures: touched.iter().map(RegisterSet::signature).collect(),
            subjects,
            touched,
            parts,
            next,
            blocks,
            stalls_before,
            lost_waits: change.lost_waits.clone(),
        };
        let waits: Vec<u8> = body.iter().map(|i| i.waits()).collect();
        let boards: Vec<_> = kernel.events.iter().map(|event| Some(event.board)).collect();
        kernel.pending = kernel.pending(&boards, &waits)?;
        if body.iter().any(|i| i.waits_for_memory()) {
            let thought = (0..body.len()).map(|i| kernel.thought_waits(i)).collect::<Vec<_>>();
            kernel.thought = Some(kernel.pending(&boards, &thought)?);
        }
        kernel.back = (0..kernel.blocks.count()).map(|block| kernel.coming_back(block)).collect();
        Some(kernel)
    }

    /// Follows the rules of a release in what instructions need.
    pub fn follow(&mut self, rules: BoardRules) {
        if let Some(dependences) = &mut self.dependences {
            dependences.follow(rules);
            self.parts = (0..self.body.len()).map(|i| dependences.parts(i)).collect();
        }
    }

    /// The event that a DEPBAR names, whatever its board: the result of UTCATOMSWS behind it.
    pub fn named_by(&self, i: usize) -> Option<usize> {
        let board = self.body.get(i)?.counted_board()?;
        self.body.get(i + 1).filter(|next| next.is_limited())?;
        self.set_by(i + 1).find(|&e| self.events[e].writes && self.events[e].board == board)
    }

    /// The events that an instruction sets.
    pub fn set_by(&self, i: usize) -> Range<usize> {
        self.first_set[i]..self.first_set[i + 1]
    }

    /// The events that the instructions of a block set.
    pub fn set_in(&self, (start, end): (usize, usize)) -> Range<usize> {
        self.first_set[start]..self.first_set[end + 1]
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
            let mut after = self.thought_pending(end).clone();
            let ends = if self.body[end].is_collective() { 0 } else { self.body[end].waits() };
            after.retain(|e| ends >> self.events[e].board & 1 == 0);
            out.merge(&after);
            self.set_by(end).for_each(|e| out.add(e));
        }
        out
    }

    /// The registers that events are about.
    pub fn subjects_of<'e>(&self, sets: impl IntoIterator<Item = &'e EventSet>) -> RegisterSet {
        let mut out = RegisterSet::default();
        let subjects =
            sets.into_iter().flat_map(EventSet::iter).filter_map(|e| self.subjects.get(e));
        subjects.for_each(|subject| out.merge(subject));
        out
    }

    /// Whether an instruction may need an event that is about one of these registers.
    pub fn looks_at(&self, i: usize, subjects: &RegisterSet) -> bool {
        self.touched.get(i).is_some_and(|touched| self.parts[i] || touched.meets(subjects))
    }

    /// Events among these that an instruction needs, by registers.
    pub fn needed(&self, i: usize, pending: &EventSet) -> EventSet {
        self.among(i, pending, |e, i| self.needs(e, i))
    }

    /// The same if guards do not count, of events about which there is a doubt.
    pub fn maybe_needed(
        &self,
        i: usize,
        pending: &EventSet,
        is_doubtful: impl Fn(usize) -> bool,
    ) -> EventSet {
        let may_need = |e: usize, i: usize| {
            let (event, local) = (&self.events[e], self.is_local(e, i));
            self.dependences
                .as_ref()
                .is_some_and(|d| d.may_need(event, &self.subjects[e], i, local))
        };
        self.among(i, pending, |e, i| is_doubtful(e) && may_need(e, i))
    }

    /// Whether an instruction behind an event in its block is not executed if that one is: they have opposite guards, and
    /// nothing writes the predicate in between.
    pub fn is_opposite(&self, e: usize, i: usize) -> bool {
        let at = self.events[e].at;
        self.is_local(e, i) && self.dependences.as_ref().is_some_and(|d| d.are_opposite(at, i))
    }

    /// Events among these that are about a register of an instruction and answer a question.
    fn among(&self, i: usize, pending: &EventSet, is: impl Fn(usize, usize) -> bool) -> EventSet {
        let Some(touched) = self.touched.get(i).filter(|_| !pending.is_empty()) else {
            return EventSet::default();
        };
        let (parts, signature) = (self.parts[i], self.touched_signatures[i]);
        let meets = |e: usize| {
            self.subject_signatures[e] & signature != 0 && self.subjects[e].meets(touched)
        };
        pending.filtered(|e| (parts || meets(e)) && is(e, i))
    }

    /// Whether the link inserts an instruction.
    pub fn is_inserted(&self, i: usize) -> bool {
        self.stalls_before.get(i) == Some(&None)
    }

    /// Whether an instruction writes a register, as far as is known.
    pub fn has_result(&self, i: usize) -> bool {
        self.dependences.as_ref().is_none_or(|d| !d.registers(i).writes.is_empty())
    }

    /// Whether an instruction reads or writes a register, as far as is known.
    pub fn has_registers(&self, i: usize) -> bool {
        self.touched.get(i).is_none_or(|registers| !registers.is_empty())
    }

    /// Whether an instruction needs an event, by registers.
    fn needs(&self, e: usize, i: usize) -> bool {
        let (event, local) = (&self.events[e], self.is_local(e, i));
        self.dependences.as_ref().is_some_and(|d| d.needs(event, &self.subjects[e], i, local))
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
        self.thought_pending(i).filtered(|e| self.events[e].board == board)
    }

    /// Events that are pending before an instruction as far as the allocator knows, which does not know that waits for
    /// memory end all.
    pub fn thought_pending(&self, i: usize) -> &EventSet {
        self.thought.as_ref().map_or(&self.pending[i], |thought| &thought[i])
    }

    /// The boards that an instruction waits for as far as the allocator knows: before an access to memory, those of
    /// fences.
    fn thought_waits(&self, i: usize) -> u8 {
        let instruction = self.body[i];
        if !instruction.waits_for_memory() {
            return instruction.waits();
        }
        let Some(dependences) = &self.dependences else { return instruction.waits() };
        let fences = self.pending[i].filtered(|e| {
            let (event, subject) = (&self.events[e], &self.subjects[e]);
            dependences.is_silent(event, subject)
        });
        fences.iter().fold(0, |mask, e| mask | 1 << self.events[e].board)
    }

    /// Whether an instruction is the last of a block that others follow.
    pub fn ends_block(&self, i: usize) -> bool {
        let block = self.blocks.of(i);
        self.blocks.range(block).1 == i && self.blocks.goes_on(block)
    }
}

const EXIT: u16 = 0x14d;
/// CALL.ABS: a function of another section, or one whose address is in registers.
const CALL: u16 = 0x143;
const RETURN: u16 = 0x150;

/// The targets of branches by jump tables, by instruction.
pub type Jumps = Map<usize, Vec<usize>>;

/// Where control may go from an instruction; `None` if unknown.
fn successors(body: &[Instruction], i: usize, jumps: &Jumps) -> Option<Next> {
    const BRANCH: u16 = 0x147;
    let instruction = *body.get(i)?;
    let at = (i * Instruction::SIZE) as i64;
    let next = Some(i + 1).filter(|&n| n < body.len());
    let mut out = Next::new();
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
        (CALL, _) => out.extend(next),
        (RETURN, Flow::Next) if instruction.guard() == NO_GUARD => {}
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
        assert_eq!(successors(&body, 0, &jumps(&[3, 2])).unwrap()[..], [3, 2]);
        assert_eq!(successors(&body, 1, &jumps(&[3])).unwrap()[..], [3, 2]);
        assert_eq!(successors(&body, 0, &jumps(&[3, 4])), None, "behind the code");
        assert_eq!(successors(&body, 0, &jumps(&[])), None);
        assert_eq!(successors(&body, 0, &Jumps::default()), None);
        let registers = || Registers::of_all(&body);
        let many = (0..2).map(|i| (i, vec![2; MOST_TARGETS])).collect();
        assert!(
            Kernel::read(&body, registers(), &many, &Change::default()).is_none()
                && Kernel::read(&body, registers(), &jumps(&[2]), &Change::default()).is_some()
        );
    }
}
