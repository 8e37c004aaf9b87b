//! Which registers a machine instruction reads and writes (sm_100 to sm_121).
//!
//! The encodings were found by compiling our own sources and comparing the instructions with
//! listings; `tests/registers` contains the sources and compares this table with a listing. What
//! the table does not know is `None`, never a guess.

mod set;
mod table;
#[cfg(test)]
mod tests;
mod widths;

use super::instruction::Instruction;
pub use set::{File, RegisterSet};
use table::{Access, Operand, Place, Row};

/// The registers of an instruction, its guard included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    pub reads: RegisterSet,
    pub writes: RegisterSet,
}

/// A field of an instruction.
fn bits(w: u128, at: u32, count: u32) -> u64 {
    (w >> at) as u64 & ((1 << count) - 1)
}

/// Forms of the second and third operand, bits 9 to 11 of the opcode.
const REGISTERS: u64 = 1;
const IMMEDIATE_THIRD: u64 = 2;
const REGISTERS_64: u64 = 3;
const IMMEDIATE: u64 = 4;
const UNIFORM: u64 = 6;
const UNIFORM_THIRD: u64 = 7;

impl Registers {
    /// The registers of an instruction; `None` if its form is not known.
    pub fn of(w: u128) -> Option<Self> {
        let row = Row::of(w)?;
        let mut out = Self::default();
        out.reads.add(row.guard_file(), bits(w, 12, 3) as u8, 1)?;
        for operand in row.operands {
            out.add(w, operand)?;
        }
        Some(out)
    }

    /// Those of instructions; `None` if the form of one is not known.
    pub fn of_all(body: &[Instruction]) -> Option<Vec<Self>> {
        let mut out = Vec::with_capacity(body.len());
        for instruction in body {
            out.push(Self::of(instruction.0)?);
        }
        Some(out)
    }

    /// Adds those of another instruction.
    pub fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
    }

    /// The number of the predicate that guards an instruction, if it has a guard.
    pub fn guard(w: u128) -> Option<usize> {
        let mut guard = RegisterSet::default();
        guard.add(Row::of(w)?.guard_file(), bits(w, 12, 3) as u8, 1)?;
        guard.iter().next()
    }

    /// The registers that are read or written.
    pub fn all(&self) -> RegisterSet {
        let mut out = self.reads;
        out.merge(&self.writes);
        out
    }

    fn add(&mut self, w: u128, operand: &Operand) -> Option<()> {
        let set = match operand.access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
        };
        let form = bits(w, 9, 3);
        let width = (operand.width)(w)?;
        let (file, at) = match (operand.place, form) {
            (Place::General(at), _) => (File::General, at),
            (Place::Uniform(at), _) => (File::Uniform, at),
            (Place::Predicate(at), _) => (File::Predicate, at),
            (Place::UniformPredicate(at), _) => (File::UniformPredicate, at),
            (Place::EitherPredicate(at), _) if bits(w, at - 1, 1) == 1 => {
                (File::UniformPredicate, at)
            }
            (Place::EitherPredicate(at), _) => (File::Predicate, at),
            (Place::Mask(at), _) => {
                set.add_predicates(bits(w, at, 8) as u8);
                return Some(());
            }
            (Place::UniformMask(at), _) => {
                set.add_uniform_predicates(bits(w, at, 8) as u8);
                return Some(());
            }
            (Place::Scale, _) => {
                let number = bits(w, 60, 3) | bits(w, 73, 5) << 3;
                return set.add(File::Uniform, number as u8, width);
            }
            (Place::Second, REGISTERS) => (File::General, 32),
            (Place::Second, IMMEDIATE_THIRD | UNIFORM_THIRD) => (File::General, 64),
            (Place::Third, REGISTERS | IMMEDIATE | UNIFORM) => (File::General, 64),
            (Place::Last, REGISTERS | REGISTERS_64) => (File::General, 32),
            (Place::Second | Place::Last, UNIFORM)
            | (Place::Third | Place::Last, UNIFORM_THIRD) => {
                // Bit 91 says that there is a uniform register.
                (bits(w, 91, 1) == 1).then_some((File::Uniform, 32))?
            }
            (Place::UniformSecond, REGISTERS | UNIFORM) => (File::Uniform, 32),
            (Place::UniformSecond, IMMEDIATE_THIRD) => (File::Uniform, 64),
            (Place::UniformThird, REGISTERS | IMMEDIATE | UNIFORM) => (File::Uniform, 64),
            (Place::Second | Place::Last | Place::UniformSecond, IMMEDIATE)
            | (Place::Third | Place::Last | Place::UniformThird, IMMEDIATE_THIRD) => {
                return Some(());
            }
            _ => return None,
        };
        let count = if matches!(file, File::General | File::Uniform) { 8 } else { 3 };
        match width {
            0 => Some(()),
            _ => set.add(file, bits(w, at, count) as u8, width),
        }
    }
}
