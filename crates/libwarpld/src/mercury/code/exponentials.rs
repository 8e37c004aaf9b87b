//! Whether code for sm_100 waits enough on sm_103, where exponentials (MUFU.EX2) have a unit of their own.
//!
//! On sm_100 they share a unit with the other functions, which answers in order. So a compiler lets `MUFU.RCP R3;
//! MUFU.EX2 R4 (board 0); FADD R5, R3, R4 (waits for 0)` wait for the second result alone. Compilers for sm_103 and
//! sm_110 give both a board, and nvlink does so when it links code for sm_100 for sm_103, also code that
//! declares itself fit for it (kernels with two instructions of 17 kinds each, 289 pairs: a board is added to
//! the first of two exactly if one of them is MUFU.EX2; MUFU.EX2.F16 is of its unit). [`exponentials`]

use super::instruction::{Instruction, NO_GUARD};
use super::registers::Registers;
use std::cell::LazyCell;

const MUFU: u16 = 0x108;
const EXIT: u16 = 0x14d;

/// What answers in order on both targets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    Exponential,
    Other,
}

impl Queue {
    /// Where an instruction of the unit for functions, counts of bits and conversions (but those of 64 bits) answers.
    fn of(instruction: Instruction) -> Option<Self> {
        const EX2: u128 = 2;
        match instruction.operation() {
            MUFU if instruction.0 >> 74 & 0xf == EX2 => Some(Self::Exponential),
            0x100..=0x109 => Some(Self::Other),
            _ => None,
        }
    }
}

/// Whether some result is waited for by way of one that comes from another unit on sm_103.
pub fn relies_on_one_unit(code: &[u8]) -> bool {
    let Some(code) = Instruction::all(code) else { return true };
    let queues: Vec<_> = code.iter().map(|&instruction| Queue::of(instruction)).collect();
    if !queues.contains(&Some(Queue::Exponential)) {
        return false;
    }
    // Each may be looked at for many others.
    let registers: Vec<_> = code.iter().map(|i| LazyCell::new(|| Registers::of(i.0))).collect();
    let mut instructions = code.iter().zip(&queues).enumerate();
    instructions.any(|(at, (instruction, queue))| {
        let queue = queue.filter(|_| instruction.write_board().is_none());
        queue.is_some_and(|queue| is_mixed(&code, &queues, &registers, at, queue))
    })
}

/// Whether the result of an instruction that sets no board may be covered by one of another unit only: such a one
/// sets a board before the result is used, and nothing before that waits for a later one of its own unit.
fn is_mixed<F: FnOnce() -> Option<Registers>>(
    code: &[Instruction],
    queues: &[Option<Queue>],
    registers: &[LazyCell<Option<Registers>, F>],
    at: usize,
    own: Queue,
) -> bool {
    /// Far more than what is under way at once in compiled code.
    const FARTHEST: usize = 500;
    let result = registers.get(at).and_then(|registers| Some((**registers)?.writes));
    let (mut same, mut others) = (0, false);
    let later = code.iter().zip(queues).zip(registers).skip(at + 1).take(FARTHEST);
    for ((instruction, queue), registers) in later {
        if instruction.waits() & same != 0 {
            return false;
        }
        let uses = match (&result, &**registers) {
            (Some(result), Some(registers)) => registers.all().meets(result),
            _ => true,
        };
        let operation = instruction.operation();
        if uses || (0x140..0x160).contains(&operation) {
            // Behind an EXIT of all threads nothing uses it.
            let goes_on = operation != EXIT || *instruction != instruction.guarded(NO_GUARD);
            return others && (uses || goes_on);
        }
        match (instruction.write_board(), *queue) {
            (Some(board), Some(queue)) if queue == own => same |= 1 << board,
            (Some(_), Some(_)) => others = true,
            _ => {}
        }
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MUFU R0, R1`, setting a board, or none (7).
    fn mufu(function: u128, register: u128, board: u128) -> u128 {
        let control = 7 << 113 | board << 110 | 1 << 105;
        control | function << 74 | 1 << 32 | register << 16 | 0x7308
    }

    /// `IADD3 R6, R2, 1, RZ`, waiting for boards.
    fn sum(register: u128, waits: u128) -> u128 {
        0x000f_c200_07ff_e0ff_0000_0001_0006_7810 | register << 24 | waits << 116
    }

    fn relies(code: &[u128]) -> bool {
        let bytes: Vec<u8> = code.iter().flat_map(|i| i.to_le_bytes()).collect();
        relies_on_one_unit(&bytes)
    }

    #[test]
    fn a_result_must_not_be_covered_by_an_exponential() {
        const RCP: u128 = 4;
        const EX2: u128 = 2;
        const LG2: u128 = 3;
        for (first, second) in [(RCP, EX2), (EX2, LG2)] {
            assert!(relies(&[mufu(first, 2, 7), mufu(second, 3, 0), sum(2, 1), sum(3, 0)]));
            assert!(!relies(&[mufu(first, 2, 1), mufu(second, 3, 0), sum(2, 3), sum(3, 0)]));
        }
        assert!(!relies(&[mufu(RCP, 2, 7), mufu(LG2, 3, 0), sum(2, 1), mufu(EX2, 4, 0)]));
        assert!(!relies(&[mufu(EX2, 2, 7), mufu(EX2, 3, 0), sum(2, 1)]));
        let both = [mufu(RCP, 2, 7), mufu(EX2, 3, 0), mufu(LG2, 4, 1)];
        let [a, b, c] = both;
        assert!(!relies(&[a, b, c, sum(4, 2), sum(2, 1)]), "LG2 covers it");
        assert!(relies(&[a, b, c, sum(2, 1), sum(4, 2)]), "EX2 does");
    }
}
