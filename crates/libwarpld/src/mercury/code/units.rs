//! Which unit executes an instruction, in which order it answers, and how long it takes.

use super::instruction::Instruction;

/// A unit whose instructions take a variable time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Shared memory, shuffles and stores.
    Memory,
    /// Global and generic loads and atomics.
    Load,
    /// Transcendental functions and bit counts.
    Function,
    /// Conversions.
    Conversion,
    /// Special registers.
    Special,
    /// Results of barriers.
    Barrier,
    /// Constants.
    Constant,
    Texture,
    /// Surfaces, asynchronous copies.
    Surface,
    /// Reductions of a warp.
    Reduction,
}

impl Unit {
    /// The unit of an instruction; `None` for all others.
    pub fn of(instruction: Instruction) -> Option<Self> {
        Some(match instruction.operation() {
            0x03b | 0x184..=0x189 | 0x18c..=0x18e | 0x1a6 => Self::Memory,
            0x17e | 0x180 | 0x181 | 0x183 | 0x18a | 0x18b | 0x1a3 | 0x1a8 | 0x1a9 => Self::Load,
            0x100 | 0x101 | 0x105 | 0x107..=0x109 => Self::Function,
            0x104 | 0x106 | 0x110..=0x113 => Self::Conversion,
            0x1c3 => Self::Special,
            0x11c => Self::Barrier,
            0x182 => Self::Constant,
            0x160..=0x16f => Self::Texture,
            0x199..=0x19f | 0x1ae => Self::Surface,
            0x1c4 => Self::Reduction,
            _ => return None,
        })
    }

    /// Whether a later result is later in time.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Self::Load | Self::Constant | Self::Surface | Self::Reduction)
    }
}

/// LD, LDG, atomics, texture and surface accesses.
pub fn is_slow(instruction: Instruction) -> bool {
    let slow = [0x17e, 0x180, 0x181, 0x18a, 0x18b, 0x199, 0x1a2, 0x1a3, 0x1a8, 0x1a9];
    slow.contains(&instruction.operation()) || is_texture(instruction)
}

pub fn is_texture(instruction: Instruction) -> bool {
    Unit::of(instruction) == Some(Unit::Texture)
}

/// Estimated cycles until a result is there, or operands have been read.
pub fn latency(instruction: Instruction, writes: bool) -> i64 {
    match (instruction.operation(), writes) {
        _ if writes && is_slow(instruction) => 300,
        (0x182, true) => 48,
        (0x184, true) => 40,
        (0x119, true) => 32,
        (0x1c3 | 0x18c | 0x18d, true) => 27,
        (0x101, true) => 22,
        (0x100, true) => 19,
        (0x1ac | 0x108 | 0x104 | 0x106 | 0x110 | 0x112, true) => 18,
        (0x105 | 0x109 | 0x111, true) => 17,
        (_, true) => 30,
        (0x186 | 0x1a8 | 0x1a9, false) => 12,
        (0x181 | 0x105 | 0x111, false) => 10,
        (0x188 | 0x18c | 0x18d | 0x106 | 0x112, false) => 8,
        (_, false) => 15,
    }
}
