//! Which of the boards that an instruction waits for its guard depends on.

use super::instruction::{Instruction, NO_GUARD};
use super::registers::{RegisterSet, Registers};

/// The boards among those that an instruction waits for that its guard may depend on, given where blocks start: that
/// of the last writer in the block; else those that any instruction sets with the predicate that nobody has waited
/// for yet, in the order of the code, or by way of a loop; and those that nothing is known of.
pub fn boards_of_guard(code: &[Instruction], starts: &[bool], at: usize) -> u8 {
    let Some(instruction) = code.get(at) else { return 0 };
    let (guard, boards) = (instruction.guard(), instruction.waits());
    if guard == NO_GUARD || boards == 0 {
        return 0;
    }
    let predicate = guard & 7;
    if let Some(writer) = last_writer(code, starts, at, predicate) {
        return writer.write_board().map_or(0, |board| boards & 1 << board);
    }
    let before = code.get(..at).unwrap_or_default();
    let mut out = 0;
    for board in (0..6).filter(|b| boards >> b & 1 == 1) {
        let waits = |i: &Instruction| i.waits() >> board & 1 == 1;
        let pending = match before.iter().rposition(waits) {
            Some(last) => before.get(last..).unwrap_or_default(),
            None => code,
        };
        let guards = |i: &Instruction| i.write_board() == Some(board) && may_set(*i, predicate);
        let boards_of = |i: &Instruction| [i.write_board(), i.read_board()];
        let is_set = code.iter().any(|i| boards_of(i).contains(&Some(board)));
        out |= u8::from(!is_set || pending.iter().any(guards)) << board;
    }
    out
}

/// The instruction of the same block that the value of a predicate is from, if it is sure to be.
fn last_writer(
    code: &[Instruction],
    starts: &[bool],
    at: usize,
    predicate: u8,
) -> Option<Instruction> {
    let mut i = at;
    while i > 0 && !*starts.get(i)? {
        i -= 1;
        let instruction = *code.get(i)?;
        if may_set(instruction, predicate) {
            let known = Registers::of(instruction.0).is_some() && instruction.guard() == NO_GUARD;
            // Jumps lead to blocks that the code alone does not show.
            return Some(instruction).filter(|_| known && !code.iter().any(|i| i.is_indirect()));
        }
    }
    None
}

/// Whether an instruction writes a predicate, or may do so because it is not known.
fn may_set(instruction: Instruction, predicate: u8) -> bool {
    match Registers::of(instruction.0) {
        Some(registers) => {
            let number = RegisterSet::FIRST_PREDICATE + usize::from(predicate);
            registers.writes.iter().any(|register| register == number)
        }
        None => (instruction.0 >> 81) as u8 & 7 == predicate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MUFU.EX2 R5` on board 0, `ISETP P0`, `@P0 EXIT` that waits for board 0.
    const MUFU: u128 = 0x000e_2400_0000_0800_0000_0005_0005_7308;
    const ISETP: u128 = 0x000f_da00_03f0_5070_0000_0007_0000_780c;
    const EXIT: u128 = 0x001f_ea00_0380_0000_0000_0000_0000_094d;
    /// FCHK P0 on board 0
    const FCHK: u128 = 0x000e_2400_0000_0000_0000_0005_0400_7302;

    fn boards(code: &[u128]) -> u8 {
        let code: Vec<_> = code.iter().map(|&w| Instruction(w)).collect();
        boards_of_guard(&code, &super::super::block_starts(&code), code.len() - 1)
    }

    #[test]
    fn a_guard_depends_on_who_writes_it() {
        assert_eq!(boards(&[MUFU, EXIT]), 0, "not a predicate");
        assert_eq!(boards(&[FCHK, EXIT]), 1);
        assert_eq!(boards(&[FCHK, ISETP, EXIT]), 0, "written again");
        assert_eq!(boards(&[FCHK, EXIT, EXIT]), 0, "waited for");
        assert_eq!(boards(&[FCHK, ISETP & !0xf000, EXIT]), 1, "perhaps written again");
        assert_eq!(boards(&[FCHK, EXIT & !(0x3f << 116), EXIT]), 1, "in another block");
    }
}
