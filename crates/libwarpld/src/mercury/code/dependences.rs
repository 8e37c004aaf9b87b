//! Which instructions need an event: a result, or operands that have been read.
//!
//! With the registers of every instruction this is known exactly. Without them (an instruction that
//! the decoder does not know) control bits have to tell.

use super::event::{Event, NEVER};
use super::instruction::Instruction;
use super::registers::{RegisterSet, Registers};
use super::units::{Unit, is_slow, is_texture};
use std::cell::Cell;

/// How many questions may be asked, per instruction.
const PATIENCE: usize = 1000;

const ENDCOLLECTIVE: u16 = 0x11b;

/// The registers of a kernel.
pub struct Dependences<'k> {
    body: &'k [Instruction],
    registers: Vec<Registers>,
    /// The guard of each instruction, if it has one, and who wrote it last in the order of the code.
    guards: Vec<Option<(usize, usize)>>,
    /// Questions that may still be asked.
    patience: Cell<usize>,
}

impl<'k> Dependences<'k> {
    /// Decodes a kernel; `None` if it contains an instruction that is not known.
    pub fn of(body: &'k [Instruction]) -> Option<Self> {
        let registers: Vec<_> = body.iter().map(|i| Registers::of(i.0)).collect::<Option<_>>()?;
        let mut writers = vec![NEVER; RegisterSet::BOUND];
        let mut guards = Vec::with_capacity(body.len());
        for (i, instruction) in body.iter().enumerate() {
            guards.push(Registers::guard(instruction.0).map(|guard| (guard, writers[guard])));
            registers[i].writes.iter().for_each(|register| writers[register] = i);
        }
        let patience = Cell::new(PATIENCE * (body.len() + 100));
        Some(Self { body, registers, guards, patience })
    }

    /// Registers of an instruction.
    pub fn registers(&self, i: usize) -> &Registers {
        &self.registers[i]
    }

    /// Whether an event is the result of a uniform register.
    pub fn is_uniform(&self, event: &Event) -> bool {
        event.writes && self.registers[event.at].writes.has_uniform()
    }

    /// The registers that an event is about.
    pub fn subject(&self, event: &Event) -> RegisterSet {
        let own = &self.registers[event.at];
        match event.writes {
            true => own.writes,
            false => own.reads.late_without(&own.writes, is_texture(self.body[event.at])),
        }
    }

    /// Whether no register tells who waits for an event: fences, and barriers in shared memory with a result in URZ
    /// (SYNCS.EXCH, which the next SYNCS waits for). Where the input waits for it is all that is known.
    pub fn is_silent(&self, event: &Event) -> bool {
        let slow = event.writes && is_slow(self.body[event.at]);
        !slow && self.subject(event).is_empty()
    }

    /// Whether an instruction has to wait for an event. Within a block a unit that answers in order
    /// needs no wait.
    pub fn needs(&self, event: &Event, i: usize, local: bool) -> bool {
        self.needs_subject(event, &self.subject(event), i, local)
    }

    fn needs_subject(&self, event: &Event, subject: &RegisterSet, i: usize, local: bool) -> bool {
        self.patience.set(self.patience.get().saturating_sub(1));
        let unit = Unit::of(self.body[event.at]);
        let same = local && unit.is_some() && unit == Unit::of(self.body[i]);
        let registers = &self.registers[i];
        let found = match event.writes {
            true => {
                let again = !(same && unit.is_some_and(Unit::is_ordered));
                registers.reads.meets(subject) || again && registers.writes.meets(subject)
            }
            false => !same && registers.writes.meets(subject),
        };
        found && !self.are_opposite(event.at, i) || self.meets(event, i)
    }

    /// The same whatever guards the two have: a predicate may have changed in between.
    pub fn may_need(&self, event: &Event, i: usize, local: bool) -> bool {
        let opposite = self.are_opposite(event.at, i);
        opposite && self.touches(event, i) || self.needs(event, i, local)
    }

    fn touches(&self, event: &Event, i: usize) -> bool {
        let (subject, registers) = (self.subject(event), &self.registers[i]);
        registers.writes.meets(&subject) || event.writes && registers.reads.meets(&subject)
    }

    /// Whether of two instructions of a block at most one is executed: `@P0` and `@!P0`, with the same P0.
    fn are_opposite(&self, a: usize, b: usize) -> bool {
        let negated = |i: usize| self.body[i].guard() & 8;
        self.guards[a].is_some() && self.guards[a] == self.guards[b] && negated(a) != negated(b)
    }

    /// Whether threads part or meet at an instruction, which may wait for events of any register.
    pub fn parts(&self, i: usize) -> bool {
        const EXIT: u16 = 0x14d;
        let operation = self.body[i].operation();
        matches!(operation, Instruction::BSYNC | EXIT | ENDCOLLECTIVE) || self.body[i].is_indirect()
    }

    /// Whether it waits for an event for that reason.
    fn meets(&self, event: &Event, i: usize) -> bool {
        let all = self.body[i].operation() == ENDCOLLECTIVE;
        self.parts(i) && (all || self.is_uniform(event))
    }

    /// The first instruction of a block after another that needs an event.
    pub fn first_user(&self, event: &Event, after: usize, users: &Users, local: bool) -> usize {
        let subject = self.subject(event);
        let mut first = NEVER;
        for register in subject.iter() {
            let mut later = users.after(register, after).take_while(|&i| i < first);
            if let Some(i) = later.find(|&i| self.needs_subject(event, &subject, i, local)) {
                first = i;
            }
        }
        first
    }

    /// What the instructions of a block read and write.
    pub fn summary(&self, (start, end): (usize, usize)) -> Registers {
        let mut out = Registers::default();
        self.registers[start..=end].iter().for_each(|registers| out.merge(registers));
        out
    }

    /// Whether a block needs an event of another, given what its instructions read and write.
    pub fn is_needed_by(&self, event: &Event, block: &Registers) -> bool {
        let subject = self.subject(event);
        block.writes.meets(&subject) || event.writes && block.reads.meets(&subject)
    }

    /// Where a block uses each register.
    pub fn users(&self, (start, end): (usize, usize)) -> Users {
        let mut uses = Vec::with_capacity(4 * (end - start + 1));
        for i in start..=end {
            uses.extend(self.registers[i].both().map(|register| (register as u16, i)));
        }
        uses.sort_unstable();
        uses.dedup();
        Users { uses }
    }

    /// Whether the questions that were asked took too long: code that was made for that.
    pub fn is_exhausted(&self) -> bool {
        self.patience.get() == 0
    }
}

/// Where a block uses each register.
pub struct Users {
    /// Registers and instructions, sorted.
    uses: Vec<(u16, usize)>,
}

impl Users {
    /// The instructions after another that use a register.
    fn after(&self, register: usize, after: usize) -> impl Iterator<Item = usize> + '_ {
        let register = register as u16;
        let from = self.uses.partition_point(|&at| at <= (register, after));
        let uses = self.uses[from..].iter().take_while(move |(other, _)| *other == register);
        uses.map(|&(_, i)| i)
    }
}
