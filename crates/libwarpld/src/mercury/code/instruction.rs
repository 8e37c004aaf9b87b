//! The fields of a machine instruction that the finalizer looks at. All of this was derived from
//! pairs of an object and its link; other fields are left alone.

/// One instruction: 16 bytes, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction(pub u128);

/// How an instruction depends on its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does not.
    Next,
    /// It refers to another offset of the function by distance.
    To(i64),
    /// It calls.
    Call,
    /// In a way that is not known well enough to move it.
    Unknown,
}

/// The guard field of an unguarded instruction.
pub const NO_GUARD: u8 = 7;

/// How threads meet at a BSYNC, or leave those that do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Nothing is promised.
    Plain,
    /// `.RELIABLE`.
    Reliable,
    /// `.RECONVERGENT`.
    Reconvergent,
}

/// First bit of the condition operand of an EXIT or a branch.
const CONDITION: u32 = 87;

/// First bit of the control fields: stall count, yield, boards, waits, reuse.
const CONTROL: u32 = 105;

impl Instruction {
    /// Size of an instruction.
    pub const SIZE: usize = 16;
    /// Pads a function.
    pub const NOP: Self = Self(0x000f_c000_0000_0000_0000_0000_0000_7918);

    /// `EXIT` without a condition operand, as [`Instruction::essence`] returns it.
    pub const EXIT: u128 = 0x0380_0000_0000_0000_0000_094d;
    /// Low bits of the opcodes of reconvergence after a branch, and of leaving it.
    pub const BSYNC: u16 = 0x141;
    pub const BREAK: u16 = 0x142;

    /// The convergence barrier of BSYNC and BREAK.
    pub fn barrier(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// How BSYNC and BREAK meet.
    pub fn meeting(self) -> Meeting {
        match self.0 >> 72 & 3 {
            0 => Meeting::Plain,
            1 => Meeting::Reliable,
            _ => Meeting::Reconvergent,
        }
    }

    /// The instructions of a function; `None` if the size is not a multiple of theirs.
    pub fn all(code: &[u8]) -> Option<Vec<Self>> {
        let chunks = code.chunks_exact(Self::SIZE);
        if !chunks.remainder().is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            out.push(Self(u128::from_le_bytes(chunk.try_into().ok()?)));
        }
        Some(out)
    }

    /// The opcode without the bits for the kinds of operands.
    pub fn operation(self) -> u16 {
        (self.0 & 0x1ff) as u16
    }

    /// Whether it waits for all boards for the sake of memory, not of registers: a NOP behind a fence, CCTL.IVALL. The
    /// allocator does not know that.
    pub fn waits_for_memory(self) -> bool {
        const NOP: u16 = 0x118;
        const INVALIDATE: u16 = 0x18f;
        self.waits() == 0x3f && matches!(self.operation(), NOP | INVALIDATE)
    }

    /// ATOM, with integers and floating-point numbers, and ATOM.CAS: their predicate, which tells the kind of memory, is
    /// there once the operands have been read.
    pub fn is_generic_atomic(self) -> bool {
        matches!(self.operation(), 0x18a | 0x18b | 0x1a2)
    }

    /// The board that tells that a predicate which it writes is there.
    pub fn predicate_board(self) -> Option<u8> {
        self.read_board().filter(|_| self.is_generic_atomic()).or(self.write_board())
    }

    /// The opcode with them.
    pub fn opcode(self) -> u16 {
        (self.0 & 0xfff) as u16
    }

    /// What a matrix product of the fifth tensor core multiplies: 0 halves or 4-bit numbers, 1
    /// integers, 3 bytes.
    pub fn matrix_kind(self) -> u8 {
        (self.0 >> 72) as u8 & 3
    }

    /// The predicate that guards it (7: none); bit 3 negates it.
    pub fn guard(self) -> u8 {
        (self.0 >> 12) as u8 & 0xf
    }

    /// The condition operand of an EXIT or a branch, or the predicate that a comparison is combined
    /// with, in the form of [`Self::guard`].
    pub fn condition(self) -> u8 {
        (self.0 >> CONDITION) as u8 & 0xf
    }

    /// Whether it is an EXIT, under any guard and condition.
    pub fn is_exit(self) -> bool {
        self.essence() & !(0xf << CONDITION) | 7 << CONDITION == Self::EXIT
    }

    /// The instruction without guard and control fields.
    pub fn essence(self) -> u128 {
        self.0 & ((1 << CONTROL) - 1) & !0xf000
    }

    /// The same instruction with another guard.
    #[must_use]
    pub fn guarded(self, guard: u8) -> Self {
        Self(self.0 & !0xf000 | u128::from(guard & 0xf) << 12)
    }

    /// Cycles before the next instruction.
    pub fn stall(self) -> u8 {
        (self.0 >> CONTROL) as u8 & 0xf
    }

    /// The same instruction with another stall count.
    #[must_use]
    pub fn stalling(self, cycles: u8) -> Self {
        Self(self.0 & !(0xf << CONTROL) | u128::from(cycles & 0xf) << CONTROL)
    }

    /// Whether other warps may go first, which a bit prevents.
    pub fn yields(self) -> bool {
        self.0 >> (CONTROL + 4) & 1 == 0
    }

    /// The same instruction if that changes.
    #[must_use]
    pub fn with_yield(self, yields: bool) -> Self {
        Self(self.0 & !(1 << (CONTROL + 4)) | u128::from(!yields) << (CONTROL + 4))
    }

    /// The same instruction with the bit that short stall counts come with.
    #[must_use]
    pub fn yielding(self) -> Self {
        Self(self.0 | 1 << (CONTROL + 4))
    }

    /// Scoreboards it waits for, one bit each.
    pub fn waits(self) -> u8 {
        (self.0 >> (CONTROL + 11)) as u8 & 0x3f
    }

    /// The same instruction with other waits.
    #[must_use]
    pub fn waiting(self, boards: u8) -> Self {
        let field = 0x3f_u128 << (CONTROL + 11);
        Self(self.0 & !field | u128::from(boards & 0x3f) << (CONTROL + 11))
    }

    /// The same instruction with all control fields of another.
    #[must_use]
    pub fn timed_like(self, other: Self) -> Self {
        let low = (1 << CONTROL) - 1;
        Self(self.0 & low | other.0 & !low)
    }

    /// The board that signals its result, if any.
    pub fn write_board(self) -> Option<u8> {
        let board = (self.0 >> (CONTROL + 5)) as u8 & 7;
        (board != 7).then_some(board)
    }

    /// The board that signals that it has read its operands, if any.
    pub fn read_board(self) -> Option<u8> {
        let board = (self.0 >> (CONTROL + 8)) as u8 & 7;
        (board != 7).then_some(board)
    }

    /// The same instruction with this board for its operands.
    #[must_use]
    pub fn reading(self, board: u8) -> Self {
        Self(self.0 & !(7 << (CONTROL + 8)) | u128::from(board & 7) << (CONTROL + 8))
    }

    /// The same instruction with this board, or none, for its result.
    #[must_use]
    pub fn writing(self, board: Option<u8>) -> Self {
        let board = board.map_or(7, |b| b & 7);
        Self(self.0 & !(7 << (CONTROL + 5)) | u128::from(board) << (CONTROL + 5))
    }

    /// The register that it writes, if it writes one.
    pub fn destination(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// The registers that it may read; of wide operands the first.
    pub fn sources(self) -> [Option<u8>; 3] {
        let is_register = matches!(self.0 >> 9 & 7, 1 | 2 | 5);
        [
            Some((self.0 >> 24) as u8),
            is_register.then_some((self.0 >> 32) as u8),
            Some((self.0 >> 64) as u8),
        ]
    }

    /// The uniform register that it reads in place of its second or third operand.
    pub fn uniform_source(self) -> Option<u16> {
        matches!(self.0 >> 9 & 7, 6 | 7).then_some((self.0 >> 32) as u16 & 0xff)
    }

    /// How many registers its result takes: loads tell.
    pub fn width(self) -> u16 {
        match (self.operation(), self.0 >> 73 & 7) {
            (0x180..=0x184 | 0x1ac, 5) => 2,
            (0x180..=0x184 | 0x1ac, 6) => 4,
            _ => 1,
        }
    }

    /// Whether it is a branch that is always taken: `BRA` without a guard or any other condition.
    pub fn always_branches(self) -> bool {
        const BRA: u128 = 0x0380_0000_0000_0000_0000_0947;
        let distance = 0xff << 16 | DISTANCE_HIGH << 34;
        self.guard() == NO_GUARD && self.essence() & !distance == BRA
    }

    /// Whether it is a branch of warps that have split, `BRA.DIV`.
    pub fn branches_if_split(self) -> bool {
        self.opcode() == 0x947 && self.0 >> 91 & 1 == 1
    }

    /// Whether it takes its target from a register: BRX, BRXU.
    pub fn is_indirect(self) -> bool {
        matches!(self.operation(), 0x149 | 0x158)
    }

    /// Whether it is a NOP.
    pub fn does_nothing(self) -> bool {
        self.opcode() == Self::NOP.opcode()
    }

    /// Whether it calls a function or returns: CALL.ABS, CALL.REL, RET.
    pub fn leaves_function(self) -> bool {
        matches!(self.operation(), 0x143 | 0x144 | 0x150)
    }

    /// Whether code of split warps starts here: `WARPSYNC.COLLECTIVE`.
    pub fn is_collective(self) -> bool {
        self.operation() == 0x148 && self.0 >> 86 & 1 == 1
    }

    /// The board that `DEPBAR.LE` waits for, up to a count of events.
    pub fn counted_board(self) -> Option<u8> {
        (self.operation() == DEPBAR && self.0 >> 47 & 1 == 1).then_some((self.0 >> 44) as u8 & 7)
    }

    /// The same instruction for another board.
    #[must_use]
    pub fn counting(self, board: u8) -> Self {
        Self(self.0 & !(7 << 44) | u128::from(board & 7) << 44)
    }

    /// The boards that `DEPBAR {5,4,3,2,1,0}` waits for, one bit each.
    pub fn listed_boards(self) -> u8 {
        if self.operation() == DEPBAR { (self.0 >> 32) as u8 & 0x3f } else { 0 }
    }

    /// Whether it sleeps until a barrier in shared memory has changed, `NANOSLEEP.SYNCS`.
    pub fn sleeps_for_barrier(self) -> bool {
        self.operation() == 0x15d && self.0 >> 84 & 1 == 1
    }

    /// Whether it closes a group of copies: LDGDEPBAR, UTMACMDFLUSH.
    pub fn closes_group(self) -> bool {
        matches!(self.operation(), 0x1af | 0x1b7)
    }

    /// UTCATOMSWS, before which `DEPBAR.LE` names the board that it sets.
    pub fn is_limited(self) -> bool {
        self.operation() == 0x1e3
    }

    /// Whether it always ends the thread.
    pub fn always_exits(self) -> bool {
        self.guard() == NO_GUARD && self.essence() == Self::EXIT
    }

    /// How it depends on its offset, `at` bytes into the function.
    pub fn flow(self, at: i64) -> Flow {
        match self.operation() {
            // CALL.ABS, CALL.REL
            0x143 | 0x144 => Flow::Call,
            // BSSY counts from its own start
            0x145 => Flow::To(at + i64::from((self.0 >> 32) as u32 as i32)),
            // BRA; BRX and BRXU, whose tables count from the function's start
            0x147 | 0x149 | 0x158 => Flow::To(at + Self::SIZE as i64 + self.distance()),
            // LEPC of a later offset; other forms are unknown
            LEPC if self.essence() >> 56 == 0 => {
                Flow::To(at + Self::SIZE as i64 + i64::from((self.0 >> 24) as u32))
            }
            // WARPSYNC with a reconvergence point; JMP, JMX, RET, JMXU
            0x148 if self.names_meeting_place() => {
                Flow::To(at + Self::SIZE as i64 + self.distance())
            }
            0x150 if self.essence() & !(0xff << 24) == RETURN => Flow::Next,
            0x14a | 0x14c | LEPC | 0x150 | 0x159 => Flow::Unknown,
            _ => Flow::Next,
        }
    }

    /// The offset that CALL.REL at an offset calls.
    pub fn called(self, at: i64) -> Option<u64> {
        u64::try_from(at + Self::SIZE as i64 + self.distance()).ok().filter(|t| t % 16 == 0)
    }

    /// The same instruction, moved to `at` and referring to `target`.
    #[must_use]
    pub fn towards(self, at: i64, target: i64) -> Self {
        if self.operation() == 0x145 {
            let distance = (target - at) as i32 as u32;
            return Self(self.0 & !(0xffff_ffff << 32) | u128::from(distance) << 32);
        }
        if self.operation() == LEPC {
            let distance = (target - at - Self::SIZE as i64) as u32;
            return Self(self.0 & !(0xffff_ffff << 24) | u128::from(distance) << 24);
        }
        let words = ((target - at - Self::SIZE as i64) >> 2) as u64 & ((1 << 56) - 1);
        let fields = 0xff << 16 | DISTANCE_HIGH << 34;
        Self(self.0 & !fields | u128::from(words & 0xff) << 16 | u128::from(words >> 8) << 34)
    }

    /// Distance of a branch: 56 bits of words, low byte and the rest.
    fn distance(self) -> i64 {
        let words = (self.0 >> 16 & 0xff) | (self.0 >> 34 & DISTANCE_HIGH) << 8;
        ((words as u64) << 8) as i64 >> 8 << 2
    }

    /// Only WARPSYNC.COLLECTIVE contains an offset.
    fn names_meeting_place(self) -> bool {
        self.distance() != 0
    }
}

/// `RET.ABS.NODEC` without a distance, to the address in a register.
const RETURN: u128 = 0x03e0_0000_0000_0000_0000_0950;
/// Loads a code address (`--sanitize=memcheck` passes those of accesses to its checks).
const LEPC: u16 = 0x14e;
const DEPBAR: u16 = 0x11a;
const DISTANCE_HIGH: u128 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_keeps_its_target_when_it_moves() {
        // BRX R4 in a function of 0x1800 bytes: the table counts from 0.
        let jump = Instruction(0x000f_ea00_0383_ffff_ffff_fffc_049c_7949);
        assert_eq!(jump.flow(0x180), Flow::To(0));
        let moved = jump.towards(0x130, 0);
        assert_eq!(moved.0, 0x000f_ea00_0383_ffff_ffff_fffc_04b0_7949);
        let mark = Instruction(0x000f_e200_0380_0200_0000_01c0_0000_7945);
        assert_eq!(mark.flow(0x70), Flow::To(0x230));
        assert_eq!(mark.towards(0x70, 0x1e0).0, 0x000f_e200_0380_0200_0000_0170_0000_7945);
        let address = Instruction(0x000f_e200_0000_0000_0000_0001_b006_794e);
        assert_eq!(address.flow(0x2f0), Flow::To(0x4b0));
        assert_eq!(address.towards(0x300, 0x4d0).0, 0x000f_e200_0000_0000_0000_0001_c006_794e);
    }
}
