//! Which instructions need an event: a result, or operands that have been read.
//!
//! With the registers of every instruction this is known exactly. Without them (an instruction that
//! the decoder does not know) control bits have to tell.

use super::event::{Event, NEVER};
use super::instruction::{Instruction, NO_GUARD};
use super::registers::{RegisterSet, Registers};
use super::units::{Unit, is_slow, reads_uniform_late};
use crate::dialect::BoardRules;
use std::cell::Cell;
use std::ops::RangeInclusive;

/// How many questions may be asked, per instruction.
const PATIENCE: usize = 1000;

const ENDCOLLECTIVE: u16 = 0x11b;

/// The registers of a kernel.
pub struct Dependences<'k> {
    body: &'k [Instruction],
    registers: Vec<Registers>,
    units: Vec<Option<Unit>>,
    /// The guard of each instruction, if it has one, and who wrote it last in the order of the code.
    guards: Vec<Option<(usize, usize)>>,
    /// Whether `WARPSYNC.ALL` waits for results in uniform registers.
    waits_at_warpsync: bool,
    /// Questions that may still be asked.
    patience: Cell<usize>,
}

impl<'k> Dependences<'k> {
    /// Those of a kernel.
    pub fn of(body: &'k [Instruction], registers: Vec<Registers>) -> Self {
        let units = body.iter().map(|i| Unit::of(*i)).collect();
        let mut writers = vec![NEVER; RegisterSet::BOUND];
        let mut guards = Vec::with_capacity(body.len());
        for (i, instruction) in body.iter().enumerate() {
            let guard = Some(instruction).filter(|i| i.guard() != NO_GUARD);
            let guard = guard.and_then(|i| Registers::guard(i.0));
            guards.push(guard.map(|guard| (guard, writers[guard])));
            registers[i].writes.iter().for_each(|register| writers[register] = i);
        }
        let patience = Cell::new(PATIENCE * (body.len() + 100));
        Self { body, registers, units, guards, waits_at_warpsync: true, patience }
    }

    /// Follows the rules of a release: 13.0 does not wait for results in uniform registers at `WARPSYNC.ALL` (none of 223
    /// in compiled programs waits for anything; with 13.4, 16 of 72 do).
    pub fn follow(&mut self, rules: BoardRules) {
        self.waits_at_warpsync = rules.needs_uniform_at_ends;
    }

    /// Registers of an instruction.
    pub fn registers(&self, i: usize) -> &Registers {
        &self.registers[i]
    }

    /// Whether an event is a result in uniform registers, or about uniform operands that are read late.
    pub fn is_uniform(&self, event: &Event) -> bool {
        let registers = &self.registers[event.at];
        match event.writes {
            true => registers.writes.has_uniform(),
            false => reads_uniform_late(self.body[event.at]) && registers.reads.has_uniform(),
        }
    }

    /// The registers that an event is about.
    pub fn subject(&self, event: &Event) -> RegisterSet {
        let own = &self.registers[event.at];
        let instruction = self.body[event.at];
        let with_operands = instruction.is_generic_atomic() && instruction.read_board().is_some();
        match event.writes {
            true if with_operands => own.writes.without(&own.writes.predicates()),
            true => own.writes,
            false => {
                let mut out = own.reads.late_without(&own.writes, reads_uniform_late(instruction));
                if with_operands {
                    out.merge(&own.writes.predicates());
                }
                out
            }
        }
    }

    /// The registers by which the first phase remembers an event; RZ stands for a result that nothing gets, of which 13.0
    /// remembers nothing.
    pub fn remembered(&self, event: &Event, rules: BoardRules) -> RegisterSet {
        let mut out = self.subject(event);
        if rules.remembers_results && event.writes && out.is_empty() {
            out.add_zero();
        }
        out
    }

    /// Whether no register tells who waits for an event: fences, and barriers in shared memory with a result in URZ
    /// (SYNCS.EXCH, which the next SYNCS waits for). Where the input waits for it is all that is known.
    pub fn is_silent(&self, event: &Event, subject: &RegisterSet) -> bool {
        subject.is_empty() && !(event.writes && is_slow(self.body[event.at]))
    }

    /// Whether an instruction has to wait for an event. Within a block a unit that answers in order
    /// needs no wait.
    pub fn needs(&self, event: &Event, subject: &RegisterSet, i: usize, local: bool) -> bool {
        self.patience.set(self.patience.get().saturating_sub(1));
        let unit = self.units[event.at];
        let same = local && unit.is_some() && unit == self.units[i];
        let registers = &self.registers[i];
        let found = match event.writes {
            true => {
                let again = !(same && unit.is_some_and(Unit::is_ordered));
                registers.reads.meets(subject) || again && registers.writes.meets(subject)
            }
            false => {
                let in_order = same && unit != Some(Unit::Constant);
                !in_order && registers.writes.meets(subject) || answers(subject, registers)
            }
        };
        let excluded = || self.are_opposite(event.at, i) && !self.has_uniform_guard(i);
        found && !excluded() || self.meets(event, i)
    }

    /// The same whatever guards the two have: a predicate may have changed in between. The end of code of split warps has
    /// no registers; what it waits for beyond that is a matter of the rules (13.4 leaves LDCU pending there, in nvlink's output
    /// as in the compiler's).
    pub fn may_need(&self, event: &Event, subject: &RegisterSet, i: usize, local: bool) -> bool {
        if self.body[i].operation() == ENDCOLLECTIVE {
            return false;
        }
        let opposite = self.are_opposite(event.at, i);
        opposite && self.touches(event, subject, i) || self.needs(event, subject, i, local)
    }

    fn touches(&self, event: &Event, subject: &RegisterSet, i: usize) -> bool {
        let registers = &self.registers[i];
        registers.writes.meets(subject)
            || event.writes && registers.reads.meets(subject)
            || answers(subject, registers)
    }

    /// Whether of two instructions of a block at most one is executed: `@P0` and `@!P0`, with the same P0.
    pub fn are_opposite(&self, a: usize, b: usize) -> bool {
        let negated = |i: usize| self.body[i].guard() & 8;
        self.guards[a].is_some() && self.guards[a] == self.guards[b] && negated(a) != negated(b)
    }

    /// Whether a uniform predicate guards an instruction. (`@!UP0 LDCU UR8; @UP0 LDCU UR8`: the second waits for the first, though
    /// at most one is executed; with other predicates it does not.)
    fn has_uniform_guard(&self, i: usize) -> bool {
        self.guards[i].is_some_and(|(guard, _)| guard >= RegisterSet::UNIFORM_PREDICATE)
    }

    /// Whether threads part or meet at an instruction, or leave the function: it may wait for events of any register.
    pub fn parts(&self, i: usize) -> bool {
        const EXIT: u16 = 0x14d;
        const WARPSYNC: u16 = 0x148;
        let operation = self.body[i].operation();
        matches!(operation, Instruction::BSYNC | EXIT | ENDCOLLECTIVE)
            || operation == WARPSYNC && (self.waits_at_warpsync || self.body[i].is_collective())
            || self.body[i].is_indirect()
            || self.body[i].leaves_function()
    }

    /// Whether it waits for an event for that reason.
    fn meets(&self, event: &Event, i: usize) -> bool {
        let all = self.body[i].operation() == ENDCOLLECTIVE || self.body[i].leaves_function();
        self.parts(i) && (all || self.is_uniform(event))
    }

    /// The first instruction of a range that needs an event.
    pub fn first_user(
        &self,
        event: &Event,
        subject: &RegisterSet,
        range: RangeInclusive<usize>,
        users: &Users,
        local: bool,
    ) -> usize {
        let mut first = NEVER;
        for register in subject.iter() {
            let mut later = users.within(register, &range).take_while(|&i| i < first);
            if let Some(i) = later.find(|&i| self.needs(event, subject, i, local)) {
                first = i;
            }
        }
        first
    }

    /// Whether an instruction of a range, the rest of a block, overwrites operands of one before it without a wait, as
    /// their unit reads in order.
    pub fn is_overtaken(
        &self,
        event: &Event,
        subject: &RegisterSet,
        range: RangeInclusive<usize>,
        users: &Users,
    ) -> bool {
        let unit = self.units[event.at];
        let overwrites = |i: usize, register: usize| {
            self.units[i] == unit && self.registers[i].writes.has(register)
        };
        !event.writes
            && unit.is_some()
            && subject.iter().any(|r| users.within(r, &range).any(|i| overwrites(i, r)))
    }

    /// What the instructions of a block read and write.
    pub fn summary(&self, (start, end): (usize, usize)) -> Registers {
        let mut out = Registers::default();
        self.registers[start..=end].iter().for_each(|registers| out.merge(registers));
        out
    }

    /// Whether a block needs an event of another, given what its instructions read and write.
    pub fn is_needed_by(event: &Event, subject: &RegisterSet, block: &Registers) -> bool {
        block.writes.meets(subject)
            || event.writes && block.reads.meets(subject)
            || answers(subject, block)
    }

    /// Whether the questions that were asked took too long: code that was made for that.
    pub fn is_exhausted(&self) -> bool {
        self.patience.get() == 0
    }
}

/// Whether a predicate is read that is there once operands have been read.
fn answers(subject: &RegisterSet, registers: &Registers) -> bool {
    registers.reads.meets(&subject.predicates())
}

/// Who uses each register.
pub struct Users {
    /// Where the users of each register start in the list, and how many there are of all.
    starts: Vec<u32>,
    /// The instructions that use them, in order.
    list: Vec<u32>,
}

impl Users {
    /// Those of the registers that each instruction reads or writes.
    pub fn new(touched: &[RegisterSet]) -> Self {
        let mut starts = vec![0_u32; RegisterSet::BOUND + 1];
        touched.iter().flat_map(RegisterSet::iter).for_each(|register| starts[register + 1] += 1);
        for register in 0..RegisterSet::BOUND {
            starts[register + 1] += starts[register];
        }
        let mut list = vec![0; starts[RegisterSet::BOUND] as usize];
        let mut next = starts.clone();
        for (i, registers) in (0..).zip(touched) {
            for register in registers.iter() {
                list[next[register] as usize] = i;
                next[register] += 1;
            }
        }
        Self { starts, list }
    }

    /// The instructions of a range that use a register.
    fn within(
        &self,
        register: usize,
        range: &RangeInclusive<usize>,
    ) -> impl Iterator<Item = usize> {
        let users = &self.list[self.starts[register] as usize..self.starts[register + 1] as usize];
        let first = users.partition_point(|&i| (i as usize) < *range.start());
        let end = *range.end();
        users[first..].iter().map(|&i| i as usize).take_while(move |&i| i <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: u128 = 0x0003_e200_0c11_5904_0000_0004_0200_7986;

    fn dependences(body: &[Instruction]) -> Dependences<'_> {
        Dependences::of(body, Registers::of_all(body).unwrap())
    }

    fn operands(at: usize) -> Event {
        Event { at, board: 0, writes: false }
    }

    /// `LDC R2, c[R4]; LDC R4, c[R5]`: unlike loads, the second waits until R4 has been read (11 functions of
    /// NVSHMEM 3.6.5 to 3.8.0). `LD R2, [R4]; LD R4, [R4]`: the second takes its turn, and says that the first is over.
    #[test]
    fn constants_are_not_read_in_order() {
        const CONSTANT: u128 = 0x000e_2200_0000_0800_0000_e000_0402_7b82;
        const LOAD: u128 = 0x000e_a200_0c10_1900_0000_0008_0402_7980;
        let with = |word: u128, to: u128| Instruction(word & !(0xff << 16) | to << 16);
        for (word, waits) in [(CONSTANT, true), (LOAD, false)] {
            let body = [with(word, 2), with(word, 4), Instruction(STORE)];
            let dependences = dependences(&body);
            let event = operands(0);
            let subject = dependences.subject(&event);
            assert_eq!(dependences.needs(&event, &subject, 1, true), waits);
            let touched: Vec<_> = (0..3).map(|i| dependences.registers(i).all()).collect();
            let users = Users::new(&touched);
            assert!(dependences.is_overtaken(&event, &subject, 1..=2, &users));
            assert!(!dependences.is_overtaken(&operands(1), &subject, 2..=2, &users));
        }
    }
}
