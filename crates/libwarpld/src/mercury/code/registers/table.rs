//! The operands of each operation.

use super::set::File;
use super::widths::*;

/// What happens to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// Where an operand is: a file and the first bit of the field, or a place that depends on the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    General(u32),
    Uniform(u32),
    Predicate(u32),
    UniformPredicate(u32),
    /// A predicate that is uniform if the bit before the field is set.
    EitherPredicate(u32),
    /// A mask of predicates.
    Mask(u32),
    UniformMask(u32),
    /// The second and third operand of arithmetic.
    Second,
    Third,
    /// The last of two operands, in bits 32 to 39 whatever it is.
    Last,
    /// The same in instructions that only have uniform registers.
    UniformSecond,
    UniformThird,
    /// The uniform register of scales, whose number is in two parts.
    Scale,
}

/// An operand.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub access: Access,
    pub place: Place,
    pub width: Width,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Bits 0 to 8 of the opcode.
    operation: u16,
    /// One bit for each form, bits 9 to 11, that the row is for.
    forms: u8,
    pub operands: &'static [Operand],
}

impl Row {
    /// The row of an instruction.
    pub fn of(w: u128) -> Option<&'static Self> {
        let operation = (w & 0x1ff) as u16;
        let form = 1 << (w >> 9 & 7);
        let [start, end] =
            [operation, operation + 1].map(|at| usize::from(STARTS[usize::from(at)]));
        let mut rows = ROWS.get(start..end)?.iter();
        let row = rows.find(|row| row.forms & form != 0 && row.has_bit_91(w))?;
        let guarded = w >> 12 & 7 != 7;
        (!guarded || !row.has_unknown_guard()).then_some(row)
    }

    /// Whether bit 91 says what it should: that an instruction of the uniform data path has registers,
    /// or that arithmetic has a uniform operand.
    fn has_bit_91(&self, w: u128) -> bool {
        const LDSM: u16 = 0x3b;
        const STSM: u16 = 0x44;
        let form = w >> 9 & 7;
        let free = self.operation >= 0x100 || matches!(self.operation, LDSM | STSM) || form >= 6;
        let place = |o: &Operand| match o.place {
            Place::UniformSecond | Place::UniformThird | Place::UniformMask(_) => true,
            Place::Uniform(at) => at == 32,
            _ => false,
        };
        // A 64-bit immediate takes these bits.
        let immediate = form == 2 && self.operands.len() == 1;
        free || immediate || (w >> 91 & 1 == 1) == self.operands.iter().any(place)
    }

    /// The file of its guard.
    pub fn guard_file(&self) -> File {
        match self.operation {
            0x51..=0x5e
            | 0x80..=0x85
            | 0x87..=0xc9
            | 0x1ac
            | 0x1b2
            | 0x1b4..=0x1bc
            | 0x1c3
            | 0x1ca
            | 0x1e3..=0x1ea => File::UniformPredicate,
            _ => File::Predicate,
        }
    }

    /// Whether it was never seen with a guard, and may have one of either kind.
    fn has_unknown_guard(&self) -> bool {
        match self.operation {
            0x1e3..=0x1ea => false,
            0x001 | 0x86 | 0xcb | 0x140 | 0x158 | 0x177 | 0x1e0..=0x1ee => true,
            _ => false,
        }
    }

    #[cfg(test)]
    pub fn all() -> &'static [Self] {
        ROWS
    }

    #[cfg(test)]
    pub fn operation(&self) -> u16 {
        self.operation
    }
}

/// Where the rows of each operation start.
static STARTS: [u16; 0x201] = {
    let mut starts = [0; 0x201];
    let (mut operation, mut row) = (0, 0);
    while operation < starts.len() {
        while row < ROWS.len() && (ROWS[row].operation as usize) < operation {
            row += 1;
        }
        starts[operation] = row as u16;
        operation += 1;
    }
    starts
};

const fn row(operation: u16, forms: u8, operands: &'static [Operand]) -> Row {
    Row { operation, forms, operands }
}

const fn read(place: Place, width: Width) -> Operand {
    Operand { access: Access::Read, place, width }
}

const fn write(place: Place, width: Width) -> Operand {
    Operand { access: Access::Write, place, width }
}

/// The destination and the operands of arithmetic.
const fn d(width: Width) -> Operand {
    write(Place::General(16), width)
}
const fn a(width: Width) -> Operand {
    read(Place::General(24), width)
}
const fn b(width: Width) -> Operand {
    read(Place::Second, width)
}
const fn c(width: Width) -> Operand {
    read(Place::Third, width)
}
const fn z(width: Width) -> Operand {
    read(Place::Last, width)
}
/// A general register in a field.
const fn g(at: u32, width: Width) -> Operand {
    read(Place::General(at), width)
}
/// The same for uniform registers.
const fn ud(width: Width) -> Operand {
    write(Place::Uniform(16), width)
}
const fn ua(width: Width) -> Operand {
    read(Place::Uniform(24), width)
}
const fn ub(width: Width) -> Operand {
    read(Place::UniformSecond, width)
}
const fn uc(width: Width) -> Operand {
    read(Place::UniformThird, width)
}
const fn u(at: u32, width: Width) -> Operand {
    read(Place::Uniform(at), width)
}
/// Predicates written.
const fn pd(at: u32) -> Operand {
    write(Place::Predicate(at), one)
}
const fn upd(at: u32) -> Operand {
    write(Place::UniformPredicate(at), one)
}
/// Predicates read.
const fn p(at: u32) -> Operand {
    read(Place::Predicate(at), one)
}
const fn up(at: u32) -> Operand {
    read(Place::UniformPredicate(at), one)
}

/// Forms.
const ARITHMETIC: u8 = 0b1101_0110;
const R: u8 = 1 << 1;
const F2: u8 = 1 << 2;
const F3: u8 = 1 << 3;
const F4: u8 = 1 << 4;
const F5: u8 = 1 << 5;
const F6: u8 = 1 << 6;
const F7: u8 = 1 << 7;

/// Sorted by operation.
#[rustfmt::skip]
static ROWS: &[Row] = &[
    row(0x001, F4, &[]), // PMTRIG
    row(0x002, R | F6, &[d(wide_80), z(wide_80)]), // MOV
    row(0x002, F4, &[d(one)]),
    row(0x002, F2, &[d(two)]), // MOV.64 of 64 bits
    row(0x003, F4, &[d(one), a(one), read(Place::Mask(32), one)]), // P2R
    row(0x004, F4, &[a(one), write(Place::Mask(32), one)]), // R2P
    row(0x005, F4, &[d(wide_80)]), // CS2R
    row(0x006, F4, &[d(one), pd(81), p(87)]), // VOTE
    row(0x007, F2 | F3 | F7, &[d(two), a(two), z(two), p(87)]), // SEL.64
    row(0x007, R | F4 | F6, &[d(one), a(one), z(one), p(87)]), // SEL
    row(0x008, R | F4 | F6, &[d(one), a(one), z(one), p(87)]), // FSEL
    row(0x009, R | F4 | F6, &[d(one), a(one), z(one), p(87)]), // FMNMX
    row(0x00a, R | F4 | F6, &[d(one), a(one), z(one), p(87)]), // FSET
    row(0x00b, R | F4 | F6, &[pd(81), pd(84), a(one), z(one), p(87)]), // FSETP
    row(0x00c, R | F4 | F6, &[pd(81), pd(84), a(wide_80), z(wide_80), p(87), p(68)]), // ISETP
    row(0x00f, ARITHMETIC, &[d(one), a(one), b(one), c(one), p(87)]), // VIMNMX3
    row(0x010, ARITHMETIC, &[d(one), pd(81), pd(84), a(one), b(one), c(one), p(87), p(77)]), // IADD3
    row(0x011, ARITHMETIC, &[d(one), pd(81), a(one), b(one), c(one), p(87)]), // LEA
    row(0x012, ARITHMETIC, &[d(one), pd(81), a(one), b(one), c(one), p(87)]), // LOP3
    row(0x013, R | F6, &[d(one), z(one)]), // IABS
    row(0x014, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // VABSDIFF
    row(0x015, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // VABSDIFF4
    row(0x016, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // PRMT
    row(0x017, R | F4 | F6, &[d(wide_74), pd(81), pd(84), a(wide_74), z(wide_74), p(87), p(77)]), // IMNMX
    row(0x019, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // SHF
    row(0x01a, R | F4 | F6, &[d(one), a(one), z(one)]), // SGXT
    row(0x01b, R | F4 | F6, &[d(one), a(one), z(one)]), // BMSK
    row(0x01c, F4, &[pd(81), pd(84), p(87), p(77), read(Place::EitherPredicate(68), one)]), // PLOP3
    row(0x01f, R | F6, &[pd(81), pd(84), a(one), b(one), c(one)]), // PLOP3 of signs
    row(0x020, R | F4 | F6, &[d(one), a(one), z(one)]), // FMUL
    row(0x021, R | F2 | F4 | F6 | F7, &[d(one), a(one), z(one)]), // FADD
    row(0x023, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // FFMA
    row(0x024, ARITHMETIC, &[d(one), a(one), b(one), c(one), p(87)]), // IMAD
    row(0x025, ARITHMETIC, &[d(two), pd(81), a(one), b(one), c(two), p(87)]), // IMAD.WIDE
    row(0x026, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // IDP
    row(0x027, ARITHMETIC, &[d(one), pd(81), a(one), b(one), c(two), p(87)]), // IMAD.HI
    row(0x028, R | F4 | F6, &[d(two), a(two), z(two)]), // DMUL
    row(0x029, R | F2 | F7, &[d(two), a(two), c(two)]), // DADD
    row(0x02a, R | F2 | F7, &[pd(81), pd(84), a(two), z(two), p(87)]), // DSETP
    row(0x02b, ARITHMETIC, &[d(two), a(two), b(two), c(two)]), // DFMA
    row(0x02d, F4, &[]), // PREEXIT
    row(0x02e, F4, &[]), // ACQBULK
    row(0x02f, F4, &[ud(one), pd(81), p(87)]), // ELECT
    row(0x030, R | F2 | F4 | F6 | F7, &[d(one), a(one), z(one)]), // HADD2
    row(0x031, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // HFMA2
    row(0x032, R | F4 | F6, &[d(one), a(one), z(one)]), // HMUL2
    row(0x033, R | F2 | F4 | F6 | F7, &[d(one), a(one), z(one), p(87)]), // HSET2
    row(0x034, R | F2 | F4 | F6 | F7, &[pd(81), pd(84), a(one), z(one), p(87)]), // HSETP2
    row(0x035, R | F4 | F6, &[d(wide_73), pd(81), a(wide_73), z(wide_73), p(87)]), // IADD
    row(0x036, R | F4 | F6, &[d(one), a(one), z(one)]), // VIADD
    row(0x037, R, &[d(four), a(integer_left), g(32, integer_right), g(64, four), g(40, integer_positions)]), // IMMA
    row(0x038, R | F6, &[d(one), z(one)]), // I2I
    row(0x039, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // I2IP
    row(0x03a, R, &[d(transposed), a(one)]), // MOVM
    row(0x03b, F4, &[d(matrices), a(one), u(32, base_32)]), // LDSM
    row(0x03c, R, &[d(half_sum), a(half_left), g(32, half_right), g(64, half_sum), g(40, half_positions)]), // HMMA
    row(0x03e, R | F2 | F4 | F6, &[d(one), a(one), b(one), c(one)]), // F2FP
    row(0x03e, R | F2, &[d(one), u(32, scaled), g(64, one)]),
    row(0x03e, F3, &[d(one), g(32, scaled), g(64, one)]),
    row(0x03e, F7, &[d(one), a(unscaled), g(64, one), u(32, base_32)]),
    row(0x03f, R, &[d(four), a(double_factor), g(32, double_factor), g(64, four)]), // DMMA
    row(0x040, R | F4 | F6, &[d(one), a(one), z(one), p(87)]), // HMNMX2
    row(0x043, ARITHMETIC, &[d(one), a(one), b(one), c(one)]), // F2IP
    row(0x044, F4, &[a(one), g(32, matrices), u(64, base_32)]), // STSM
    row(0x045, R | F4 | F6, &[d(one), z(one)]), // I2FP
    row(0x046, ARITHMETIC, &[d(one), a(one), b(one), c(one), p(87)]), // VIADDMNMX
    row(0x047, R, &[d(one), a(one), g(32, one), g(64, one), p(87)]), // VHMNMX
    row(0x048, R | F4 | F6, &[d(one), pd(81), pd(84), a(one), z(one), p(87)]), // VIMNMX
    row(0x049, R | F6 | F7, &[d(two), a(two), b(two), c(two)]), // FFMA2
    row(0x04a, R | F6, &[d(two), a(two), z(two)]), // FMUL2
    row(0x04a, R | F4, &[ud(one), upd(81), upd(84), ua(one), ub(one), up(87)]), // UVIMNMX
    row(0x04b, R | F7, &[d(two), a(two), z(two)]), // FADD2
    row(0x04c, F4, &[]), // UVIRTCOUNT
    row(0x051, R | F4, &[ud(one), ua(one), ub(one), up(87)]), // UFSEL
    row(0x053, R | F4, &[upd(81), upd(84), ua(one), ub(one), up(87)]), // UFSETP
    row(0x054, R | F2, &[ud(one), ua(one), uc(one)]), // UFADD
    row(0x055, R | F2 | F4, &[ud(one), ua(one), ub(one), uc(one)]), // UFFMA
    row(0x056, R | F4, &[ud(one), ua(one), ub(one)]), // UFMUL
    row(0x05a, R | F4, &[ud(one), ub(one)]), // UI2F
    row(0x05c, R | F4, &[ud(one), ub(one)]), // UF2I
    row(0x05d, R | F4, &[ud(one), ub(one)]), // UFRND
    row(0x05e, R | F4, &[ud(one), ub(one)]), // UI2FP
    row(0x076, ARITHMETIC, &[d(one), a(one), b(one), c(one), p(87)]), // FMNMX3
    row(0x07a, R, &[d(byte_sum), a(byte_left), g(32, byte_right), g(64, byte_sum), g(40, byte_positions)]), // QMMA
    row(0x07a, F2, &[d(four), a(four), g(32, scaled_right), g(64, four), g(40, scale_and_positions), g(52, one), read(Place::Scale, one)]),
    row(0x07f, F2, &[d(four), a(four), g(32, scaled_right), g(64, four), g(40, scale_and_positions), g(52, one), read(Place::Scale, one)]), // OMMA
    row(0x082, F2, &[ud(two)]), // UMOV.64 of 64 bits
    row(0x082, F4, &[ud(one)]), // UMOV
    row(0x082, F6, &[ud(wide_80), u(32, wide_80)]),
    row(0x083, F4, &[ud(one), ua(one), read(Place::UniformMask(32), one)]), // UP2UR
    row(0x084, F4, &[write(Place::UniformMask(32), one), ua(one)]), // UR2UP
    row(0x085, R | F4, &[ud(wide_74), upd(81), upd(84), ua(wide_74), ub(wide_74), up(87), up(77)]), // UIMNMX
    row(0x086, F4, &[ud(one), upd(81), p(87)]), // VOTEU
    row(0x087, F2, &[ud(two), ua(two), uc(two), up(87)]), // USEL.64 of an immediate
    row(0x087, R | F4, &[ud(one), ua(one), ub(one), up(87)]), // USEL
    row(0x087, F6, &[ud(two), ua(two), u(32, two), up(87)]),
    row(0x08c, R | F4, &[upd(81), upd(84), ua(wide_80), ub(wide_80), up(87), up(68)]), // UISETP
    row(0x090, R | F4, &[ud(one), upd(81), upd(84), ua(one), ub(one), uc(one), up(87), up(77)]), // UIADD3
    row(0x091, R | F4, &[ud(one), upd(81), ua(one), ub(one), uc(one), up(87)]), // ULEA
    row(0x092, R | F4, &[ud(one), upd(81), ua(one), ub(one), uc(one), up(87)]), // ULOP3
    row(0x096, R | F4, &[ud(one), ua(one), ub(one), uc(one)]), // UPRMT
    row(0x097, R | F4, &[ud(two), upd(81), upd(84), ua(two), ub(two), uc(two), up(87), up(77)]), // UIADD3.64
    row(0x099, R | F2 | F4, &[ud(one), ua(one), ub(one), uc(one)]), // USHF
    row(0x09a, R | F4, &[ud(one), ua(one), ub(one)]), // USGXT
    row(0x09b, R | F4, &[ud(one), ua(one), ub(one)]), // UBMSK
    row(0x09c, F4, &[upd(81), upd(84), up(87), up(77), up(68)]), // UPLOP3
    row(0x0a4, R | F2 | F4, &[ud(one), ua(one), ub(one), uc(one), up(87)]), // UIMAD
    row(0x0a5, R | F2 | F4, &[ud(two), upd(81), ua(one), ub(one), uc(two), up(87)]), // UIMAD.WIDE
    row(0x0a6, R | F2 | F4, &[ud(one), upd(81), ua(one), ub(one), uc(two), up(87)]), // UIMAD.HI
    row(0x0bd, R, &[ud(one), upd(81), ub(one)]), // UFLO
    row(0x0be, R, &[ud(one), ub(one)]), // UBREV
    row(0x0bf, R, &[ud(one), ub(one)]), // UPOPC
    row(0x0ca, R, &[ud(one), pd(81), a(one)]), // R2UR
    row(0x0cb, F4, &[ud(wide_80)]), // CS2UR
    row(0x0cc, R, &[ud(one), a(one)]), // CREDUX
    row(0x100, R | F6, &[d(one), pd(81), z(one)]), // FLO
    row(0x101, R | F6, &[d(one), z(one)]), // BREV
    row(0x102, R | F4 | F6, &[pd(81), a(one), z(one)]), // FCHK
    row(0x104, R | F4 | F6, &[d(one), z(one)]), // F2F of at most 32 bits
    row(0x105, R | F4 | F6, &[d(converted_to), z(converted_from)]), // F2I
    row(0x106, R | F4 | F6, &[d(converted_to), z(converted_from)]), // I2F
    row(0x107, R | F4 | F6, &[d(converted_to), z(converted_from)]), // FRND
    row(0x108, R | F4 | F6, &[d(one), z(one)]), // MUFU
    row(0x109, R | F6, &[d(one), z(one)]), // POPC
    row(0x110, R | F4 | F6, &[d(converted_to), z(converted_from)]), // F2F
    row(0x111, R | F4 | F6, &[d(converted_to), z(converted_from)]), // F2I of 64 bits
    row(0x112, R | F4 | F6, &[d(converted_to), z(converted_from)]), // I2F of 64 bits
    row(0x113, R | F4 | F6, &[d(converted_to), z(converted_from)]), // FRND of 64 bits
    row(0x118, F4, &[]), // NOP
    row(0x119, F4, &[d(one)]), // S2R
    row(0x11a, F4, &[]), // DEPBAR
    row(0x11b, F4, &[]), // ENDCOLLECTIVE
    row(0x11c, R, &[d(one), write(Place::Predicate(81), result)]), // B2R
    row(0x11d, R | F2, &[g(32, one), read(Place::Predicate(87), voted)]), // BAR
    row(0x11d, F4, &[g(32, one), read(Place::Predicate(87), voted)]),
    row(0x11d, F5, &[read(Place::Predicate(87), voted)]),
    row(0x140, F2, &[ua(two)]), // CCTL of constants
    row(0x141, F4, &[p(87)]), // BSYNC
    row(0x142, F4, &[p(87)]), // BREAK
    row(0x143, R, &[a(two), p(87)]), // CALL.ABS of registers
    row(0x143, F4, &[p(87)]), // CALL.ABS
    row(0x145, F4, &[p(87)]), // BSSY
    row(0x146, F4, &[p(87)]), // YIELD
    row(0x147, F2, &[up(24), p(87)]), // BRA.U
    row(0x147, F4, &[p(87), u(24, parted)]), // BRA
    row(0x148, R, &[a(one), p(87)]), // WARPSYNC
    row(0x148, F4, &[p(87)]),
    row(0x149, F4, &[a(two), p(87)]), // BRX
    row(0x14d, F4, &[p(87)]), // EXIT
    row(0x14e, F4, &[d(two)]), // LEPC
    row(0x150, F4, &[a(two), p(87)]), // RET
    row(0x152, R, &[g(32, one)]), // RPCMOV to a program counter
    row(0x153, R, &[d(one)]), // RPCMOV from a program counter
    row(0x155, R, &[d(one)]), // BMOV from a barrier
    row(0x156, R, &[g(32, one)]), // BMOV to a barrier
    row(0x158, F4, &[u(24, two), read(Place::Predicate(87), unconditional)]), // BRXU
    row(0x15c, F4, &[]), // BPT
    row(0x15d, R, &[g(32, one), p(87)]), // NANOSLEEP
    row(0x15d, F4, &[p(87)]),
    row(0x160, F7, &[pd(81), d(texels_low), write(Place::General(64), texels_high), a(coordinates), g(32, one), u(40, two)]), // TEX
    row(0x163, F7, &[pd(81), d(texels_low), write(Place::General(64), texels_high), a(coordinates), g(32, one), u(40, two)]), // TLD4
    row(0x166, F7, &[pd(81), d(texels_low), write(Place::General(64), texels_high), a(coordinates), g(32, one), u(40, two)]), // TLD
    row(0x16c, F7, &[pd(81), d(texels_low), write(Place::General(64), texels_high), a(slope_coordinates), g(32, four), u(40, two)]), // TXD
    row(0x16f, F7, &[d(texels_low), write(Place::General(64), texels_high), a(one), u(40, two)]), // TXQ
    row(0x177, R, &[ua(two), u(32, data)]), // USTGR
    row(0x17e, F4, &[d(loaded_low), write(Place::General(64), loaded_high), a(two), u(32, two)]), // LDG.256
    row(0x17f, F4, &[a(two), g(16, stored_high), g(32, stored_low), u(64, two)]), // STG.256
    row(0x180, F4, &[d(data), a(address), u(32, base)]), // LD
    row(0x181, R | F4, &[d(data), a(address), u(32, base)]), // LDG
    row(0x182, F5, &[d(data), a(one)]), // LDC
    row(0x183, F4, &[d(data), a(one), u(32, base_32)]), // LDL
    row(0x184, F4, &[d(data), a(one), u(32, base_32)]), // LDS
    row(0x185, R, &[a(address), g(64, data)]), // ST
    row(0x185, F4, &[a(address), g(32, data), u(64, base)]),
    row(0x186, R, &[a(address), g(32, data)]), // STG
    row(0x186, F4, &[a(address), g(32, data), u(64, base)]),
    row(0x187, R | F4, &[a(one), g(32, data), u(64, base_32)]), // STL
    row(0x188, R | F4, &[a(one), g(32, data), u(64, base_32)]), // STS
    row(0x189, R, &[d(one), pd(81), a(one), g(32, one), g(64, one)]), // SHFL
    row(0x189, F2, &[d(one), pd(81), a(one), g(32, one)]),
    row(0x189, F4, &[d(one), pd(81), a(one), g(64, one)]),
    row(0x189, F7, &[d(one), pd(81), a(one)]),
    row(0x18a, R | F4, &[d(atomic), pd(81), a(atomic_address), g(32, atomic), u(64, base)]), // ATOM
    row(0x18b, R, &[d(atomic), pd(81), a(address), g(32, atomic), g(64, atomic)]), // ATOM.CAS
    row(0x18c, R | F4, &[d(atomic), a(one), g(32, atomic), u(64, base_32)]), // ATOMS
    row(0x18c, F7, &[d(one), a(one), u(64, base_32)]), // ATOMS.POPC.INC
    row(0x18d, R, &[d(atomic), a(one), g(32, atomic), g(64, atomic)]), // ATOMS.CAS
    row(0x18d, F2, &[pd(81), a(one), g(32, atomic), g(64, atomic)]), // ATOMS.CAST
    row(0x18e, R | F4, &[a(address), g(32, atomic), u(64, base)]), // REDG
    row(0x18f, F4, &[a(address), u(32, base)]), // CCTL
    row(0x190, F4, &[a(one), u(32, base_32)]), // CCTLL
    row(0x192, F4, &[]), // MEMBAR
    row(0x199, F7, &[d(data), a(surface_coordinates), u(40, one)]), // SULD
    row(0x19b, F7, &[a(surface_coordinates), g(32, texels), u(40, one)]), // SUST.P
    row(0x19d, F7, &[a(surface_coordinates), g(32, data), u(40, one)]), // SUST.D
    row(0x19f, F7, &[a(surface_coordinates), g(32, reduced), u(40, one)]), // SURED
    row(0x1a1, R, &[d(one), pd(81), a(wide_73)]), // MATCH
    row(0x1a2, R | F4, &[d(atomic_float), pd(81), a(atomic_address), g(32, atomic_float), u(64, base)]), // ATOM of floats
    row(0x1a3, R | F4, &[d(atomic_float), pd(81), a(atomic_address), g(32, atomic_float), u(64, base)]), // ATOMG of floats
    row(0x1a4, F4, &[d(atomic), a(shared_address), u(64, two)]), // LDGMC
    row(0x1a5, F4, &[d(multicast_float), a(shared_address), u(64, two)]), // LDGMC of floats
    row(0x1a6, R | F4, &[a(address), g(32, atomic_float), u(64, base)]), // REDG of floats
    row(0x1a7, F2, &[pd(81), a(one), g(32, one), u(64, base_32)]), // SYNCS.PHASECHK
    row(0x1a7, F4, &[d(two), a(one), g(32, one), u(64, base_32)]), // SYNCS.ARRIVE
    row(0x1a8, R | F4, &[d(atomic), pd(81), a(atomic_address), g(32, atomic), u(64, base)]), // ATOMG
    row(0x1a9, R, &[d(atomic), pd(81), a(address), g(32, atomic), g(64, atomic)]), // ATOMG.CAS
    row(0x1aa, R, &[d(one), pd(81), a(two)]), // QSPC
    row(0x1aa, F4, &[d(one), pd(81), a(address), u(32, two)]),
    row(0x1ab, F2 | F4, &[]), // CGAERRBAR, ERRBAR
    row(0x1ac, F3, &[ud(data), ua(one)]), // LDCU
    row(0x1ae, F6 | F7, &[g(16, one), a(copied_address), u(64, base), p(87)]), // LDGSTS
    row(0x1af, F4, &[]), // LDGDEPBAR
    row(0x1b0, F4, &[a(one), u(64, base_32)]), // ARRIVES
    row(0x1b1, F4, &[a(base_32), u(64, base_32)]), // SYNCS.CCTL
    row(0x1b2, F2, &[ud(two), ua(one), u(32, two)]), // SYNCS.EXCH
    row(0x1b4, R, &[ua(two), u(32, tile_and_addresses), u(40, policy), u(64, one)]), // UTMALDG
    row(0x1b4, F2, &[ua(two), u(32, tile_and_addresses), u(40, policy)]),
    row(0x1b5, R, &[ua(two), u(32, scattered_and_address), u(40, policy)]), // UTMASTG
    row(0x1b6, R, &[ua(two), u(32, tile_and_address), u(40, policy)]), // UTMAREDG
    row(0x1b7, F4, &[]), // UTMACMDFLUSH
    row(0x1b8, R, &[ua(two), u(32, tile), u(40, policy), u(64, one)]), // UTMAPF
    row(0x1b8, F2, &[ua(two), u(32, tile), u(40, policy)]),
    row(0x1b9, F4, &[ua(two)]), // UTMACCTL
    row(0x1ba, R, &[ua(bulk_source), u(32, two), u(40, policy), u(64, one)]), // UBLKCP
    row(0x1bb, R, &[ua(bulk_source), u(32, two), u(40, policy), u(64, one)]), // UBLKRED
    row(0x1bc, R, &[ua(two), u(40, policy), u(64, one)]), // UBLKPF
    row(0x1bd, F6, &[a(two), g(32, data), u(64, base_32)]), // STAS
    row(0x1be, F6, &[a(two), g(32, atomic), u(64, base_32)]), // REDAS
    row(0x1c3, F4, &[ud(one)]), // S2UR
    row(0x1c4, R, &[ud(one), a(one)]), // REDUX
    row(0x1c6, R, &[]), // FENCE
    row(0x1c7, F4 | F6, &[]), // UCGABAR_ARV, UCGABAR_WAIT
    row(0x1ca, R, &[ua(two)]), // UGETNEXTWORKID
    row(0x1e3, F2, &[ud(one), upd(81), u(32, one)]), // UTCATOMSWS
    row(0x1e3, F4, &[ud(one), u(32, one)]),
    row(0x1e6, F4, &[ua(one)]), // UTCSHIFT
    row(0x1e7, F4, &[ua(one), u(32, two)]), // UTCCP
    row(0x1e9, R, &[ua(one), u(64, one)]), // UTCBAR
    row(0x1ea, F2, &[ua(two), u(32, two), u(40, two), u(48, masks), u(64, one), up(87)]), // UTCHMMA, UTCQMMA
    row(0x1ea, F4, &[ua(one), u(32, two), u(40, two), u(48, masks), u(64, one), up(87)]),
    row(0x1ea, F6, &[ua(two), u(32, two), u(40, two), u(48, two), u(64, one), up(87)]),
    row(0x1ea, F7, &[ua(one), u(32, two), u(40, two), u(48, two), u(64, one), up(87)]),
    row(0x1ed, F4, &[g(32, tensor_memory), u(64, one)]), // STTM
    row(0x1ee, F2, &[d(tensor_memory), write(Place::General(24), one), u(32, one)]), // LDTM with a statistic
    row(0x1ee, F4, &[d(tensor_memory), u(32, one)]), // LDTM
];
