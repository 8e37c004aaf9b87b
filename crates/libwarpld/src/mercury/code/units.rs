//! Which unit executes an instruction, in which order it answers, and how long it takes.

use super::instruction::Instruction;

/// Multiplies matrices in double precision.
const DMMA: u16 = 0x03f;

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
    /// Tensor cores in double precision. (IMMA and DADD are not in order: an instruction waits for the operands of one before
    /// it, of which DMMA needs no wait.)
    Matrix,
}

impl Unit {
    /// The unit of an instruction; `None` for all others.
    pub fn of(instruction: Instruction) -> Option<Self> {
        Some(match instruction.operation() {
            0x03b | 0x184..=0x189 | 0x18c..=0x18e | 0x1a6 => Self::Memory,
            0x17e | 0x180 | 0x181 | 0x183 | 0x18a | 0x18b | 0x1a2..=0x1a5 | 0x1a8 | 0x1a9 => {
                Self::Load
            }
            0x100 | 0x101 | 0x104 | 0x105 | 0x107..=0x109 => Self::Function,
            0x106 | 0x110..=0x113 => Self::Conversion,
            0x1c3 => Self::Special,
            0x11c => Self::Barrier,
            0x182 => Self::Constant,
            0x160..=0x16f => Self::Texture,
            0x199..=0x19f | 0x1ae => Self::Surface,
            0x1c4 => Self::Reduction,
            DMMA => Self::Matrix,
            _ => return None,
        })
    }

    /// Whether a later result is later in time.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Self::Load | Self::Constant | Self::Surface | Self::Reduction)
    }
}

/// LD, LDG, LDGMC, LDL, atomics, texture and surface accesses.
pub fn is_slow(instruction: Instruction) -> bool {
    Unit::of(instruction) == Some(Unit::Load) || is_texture(instruction)
}

/// Textures, and surface loads, for which boards are chosen like for them.
pub fn is_texture(instruction: Instruction) -> bool {
    const SURFACE_LOAD: u16 = 0x199;
    Unit::of(instruction) == Some(Unit::Texture) || instruction.operation() == SURFACE_LOAD
}

/// Whether its operands in uniform registers are read late: textures, SYNCS (an instruction that overwrites UR4 waits for
/// `SYNCS.EXCH URZ, [UR6], UR4`), and accesses by tensor maps, bulk copies and tensor cores of the fifth generation.
pub fn reads_uniform_late(instruction: Instruction) -> bool {
    is_texture(instruction)
        || matches!(instruction.operation(), 0x1b2 | 0x1b4..=0x1bc | 0x1e0..=0x1ee)
}

/// Textures and loads from surfaces, whose results have the last board for themselves. [all 5 SULD of 28
/// random programs, whose results their blocks need, have board 5;
/// `boards-beside-stack-pointer`]
pub fn has_last_board(instruction: Instruction) -> bool {
    const SULD: u16 = 0x199;
    is_texture(instruction) || instruction.operation() == SULD
}

/// Tensor cores in double precision.
pub fn is_matrix(instruction: Instruction) -> bool {
    instruction.operation() == DMMA
}

/// Whether stall counts alone tell when the result is there.
pub fn has_fixed_latency(instruction: Instruction) -> bool {
    instruction.operation() < 0x100 && Unit::of(instruction).is_none()
}

/// Whether an instruction that reads a register of an earlier one may come so many cycles later, but not sooner:
/// the least distances in compiled code.
pub fn is_fixed_latency(
    writer: Instruction,
    reader: Instruction,
    register: usize,
    cycles: i64,
) -> bool {
    const UMOV: u16 = 0x82;
    const R2UR: u16 = 0xca;
    let uniform = (0x80..0xd0).contains(&reader.operation());
    let memory = matches!(Unit::of(reader), Some(Unit::Memory | Unit::Load | Unit::Constant));
    match register {
        0..256 if memory => cycles == 5 || cycles == 6,
        0..256 => cycles == 4 || cycles == 5,
        256..384 if writer.operation() == UMOV => cycles == 2 || cycles == 3,
        256..384 if memory && writer.operation() == R2UR => cycles == 9 || cycles == 13,
        256..384 if memory => cycles == 9,
        256..384 if uniform => cycles == 4,
        256..384 => cycles == 6,
        384..392 => cycles == 13 || cycles == 4,
        _ if uniform => cycles == 4,
        _ => cycles == 9 || cycles == 6,
    }
}

/// Arithmetic that takes a variable time on some targets: double precision and integer tensor cores. (Results and operands
/// alike. In 8,600 functions of public sources one cycle leaves 1,000 choices of 13.4 unexplained, 5 leave 1,630, 11 2,690.)
pub const ARITHMETIC: i64 = 1;

/// Estimated cycles until a result is there, or operands have been read.
pub fn latency(instruction: Instruction, writes: bool) -> i64 {
    match (instruction.operation(), writes) {
        _ if writes && is_slow(instruction) => 300,
        (DMMA, true) => 15,
        _ if has_fixed_latency(instruction) || is_matrix(instruction) => ARITHMETIC,
        (0x182, true) => 48,
        (0x184 | 0x03b, true) => 40,
        (0x119, true) => 32,
        (0x189 | 0x1c4, true) => 23,
        (0x18c | 0x18d | 0x1c3, true) => 24,
        (0x1ac | 0x104 | 0x106 | 0x108 | 0x110 | 0x112, true) => 18,
        (0x105 | 0x111, true) => 17,
        (0x109, true) => 16,
        (0x100, true) => 15,
        (0x101, true) => 14,
        (0x155, true) => 13,
        (_, true) => 30,
        (0x180 | 0x181, false) => 10,
        (0x185 | 0x186 | 0x1a8 | 0x1a9, false) => 8 + 2 * operands(instruction),
        (0x188 | 0x18c | 0x18d, false) => 6 + 2 * operands(instruction),
        (0x184 | 0x189 | 0x1c4 | 0x106 | 0x112, false) => 8,
        (0x100 | 0x101 | 0x108 | 0x109, false) => 9,
        (0x105 | 0x111, false) => 10,
        (_, false) => 15,
    }
}

/// How many of address and data of a store or an atomic are general registers.
fn operands(instruction: Instruction) -> i64 {
    let is_register = |bit: u32| i64::from(instruction.0 >> bit & 0xff != 0xff);
    is_register(24) + is_register(32)
}
