//! Where code waits since 13.1: at a CALL itself, where code of 13.0 also waits at the instruction
//! before it, and at a wide fence for the narrow one before it.

use super::edits::{BusyBoards, FENCE, NARROW_FENCE};
use super::instruction::{Flow, Instruction};
use super::untimed::is_unoptimised;

/// Code of 13.0 that waits as that of later compilers does; `None` if it does already.
/// (`waits-at-calls`)
pub fn wait_later(code: &[u8]) -> Option<Vec<u8>> {
    let old = Instruction::all(code)?;
    if is_unoptimised(&old) {
        return None;
    }
    let mut code = old.clone();
    // Kept up to date, as looking back from every fence would take too long in large code.
    let mut boards = BusyBoards::default();
    for at in 1..code.len() {
        let (before, instruction) = (*code.get(at - 1)?, *code.get(at)?);
        let pair = if instruction.flow(0) == Flow::Call && before.flow(0) == Flow::Next {
            wait_at_call(&code, at)?
        } else if before.essence() == NARROW_FENCE && instruction.operation() == FENCE {
            wait_at_fence(before, instruction, boards)
        } else {
            [before, instruction]
        };
        [*code.get_mut(at - 1)?, *code.get_mut(at)?] = pair;
        let [before, _] = pair;
        boards.pass(before);
    }
    (code != old).then(|| code.iter().flat_map(|i| i.0.to_le_bytes()).collect())
}

/// A call and the instruction before it, which only waits for what it needs.
fn wait_at_call(code: &[Instruction], call: usize) -> Option<[Instruction; 2]> {
    let (before, instruction) = (*code.get(call - 1)?, *code.get(call)?);
    let own = own_waits(code, call - 1)?;
    let moved = before.waits() & !own;
    Some([before.waiting(own), instruction.waiting(instruction.waits() | moved)])
}

/// A narrow fence without timing and the wide one, which waits for it. (`waits-at-fences`)
fn wait_at_fence(
    narrow: Instruction,
    wide: Instruction,
    mut boards: BusyBoards,
) -> [Instruction; 2] {
    if narrow.stall() != 0 {
        return [narrow, wide];
    }
    boards.pass(narrow);
    let board = boards.free();
    let timed = wide.stalling(6).waiting(0).writing(None).reading(board);
    [narrow.timed_like(timed), wide.waiting(wide.waits() | 1 << board)]
}

/// The boards that an instruction has to wait for itself: those of pending instructions that
/// write what it reads or writes, or read what it writes.
fn own_waits(code: &[Instruction], at: usize) -> Option<u8> {
    let instruction = *code.get(at)?;
    let mut own = 0;
    for board in (0..6).filter(|board| instruction.waits() >> board & 1 == 1) {
        for setter in code.get(..at)?.iter().rev() {
            let needs_result =
                setter.write_board() == Some(board) && uses_result(instruction, *setter);
            let needs_operands =
                setter.read_board() == Some(board) && overwrites(instruction, *setter);
            if needs_result || needs_operands {
                own |= 1 << board;
            }
            if setter.waits() >> board & 1 == 1 {
                break;
            }
        }
    }
    Some(own)
}

/// Whether an instruction reads or writes a result of one before it.
fn uses_result(instruction: Instruction, setter: Instruction) -> bool {
    if writes_uniform(setter) {
        let read = instruction.uniform_source();
        return read.is_some_and(|read| written(setter).contains(&read));
    }
    let written = written(setter);
    let used = instruction.sources().into_iter().flatten().chain([instruction.destination()]);
    used.filter(|&register| register != RZ).any(|register| written.contains(&u16::from(register)))
}

/// Whether an instruction writes a register that one before it reads.
fn overwrites(instruction: Instruction, setter: Instruction) -> bool {
    let register = instruction.destination();
    // Addresses and wide data take the register after theirs, too.
    let mut read = setter.sources().into_iter().flatten().filter(|&source| source != RZ);
    register != RZ && read.any(|source| source == register || source.saturating_add(1) == register)
}

/// The registers that an instruction writes.
fn written(instruction: Instruction) -> std::ops::Range<u16> {
    let first = u16::from(instruction.destination());
    first..first + instruction.width()
}

/// The register that reads as zero.
const RZ: u8 = 0xff;

/// LDCU, S2UR.
fn writes_uniform(instruction: Instruction) -> bool {
    matches!(instruction.operation(), 0x1ac | 0x1c3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD_STACK: u128 = 0x000e_2200_0000_0800_0000_df00_ff01_7b82;
    const LOAD_R21: u128 = 0x000e_2200_0000_0800_0000_df00_ff15_7b82;
    const RETURN_ADDRESS: u128 = 0x001f_ce00_0000_0f00_0000_0000_0015_7802;
    const CALL: u128 = 0x002f_ea00_03c0_0000_0000_0000_0000_7943;
    const NARROW: u128 = 0x000f_c000_0000_8000_0000_0000_0000_7992;
    const WIDE: u128 = 0x000f_ec00_0000_2000_0000_0000_0000_7992;

    fn changed(code: &[u128]) -> Option<Vec<Instruction>> {
        let bytes: Vec<u8> = code.iter().flat_map(|i| i.to_le_bytes()).collect();
        Instruction::all(&wait_later(&bytes)?)
    }

    #[test]
    fn calls_wait_for_what_they_need() {
        let out = changed(&[LOAD_STACK, RETURN_ADDRESS, CALL]).unwrap();
        assert_eq!((out[1].waits(), out[2].waits()), (0, 3));
        assert_eq!(out[1].essence(), Instruction(RETURN_ADDRESS).essence());
        assert_eq!(changed(&[LOAD_R21, RETURN_ADDRESS, CALL]), None, "R21 is written twice");
    }

    /// Looking back over all code from each would take minutes.
    #[test]
    fn many_fences_take_no_longer_than_few() {
        let out = changed(&[NARROW, WIDE].repeat(100_000)).unwrap();
        assert_eq!(out.len(), 200_000);
    }

    #[test]
    fn wide_fences_wait_for_narrow_ones() {
        let out = changed(&[LOAD_STACK, NARROW, WIDE]).unwrap();
        assert_eq!((out[1].stall(), out[1].read_board()), (6, Some(1)), "0 is taken");
        assert_eq!(out[2].waits(), 2);
        assert_eq!(changed(&[LOAD_STACK, WIDE, WIDE]), None);
    }
}
