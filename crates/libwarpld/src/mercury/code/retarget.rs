//! Branches of code whose instructions have moved.

use super::capsules::Edit;
use super::instruction::{Flow, Instruction};
use super::moves::Moves;

/// The branch that they end.
const BSSY: u16 = 0x145;
/// A call within the function: of itself, or of a part at its end (division in double precision). [program `ends`, linked with `-g`]
const CALL_REL: u16 = 0x144;

/// Updates every instruction that refers to a code offset. [`errors-and-addresses`]
pub fn retarget(
    code: &[Instruction],
    edits: &[Edit],
    moves: &Moves,
    out: &mut [Instruction],
) -> Option<()> {
    let end = (code.len() * Instruction::SIZE) as u64;
    for (i, (instruction, edit)) in code.iter().zip(edits).enumerate() {
        let at = (i * Instruction::SIZE) as i64;
        match instruction.flow(at) {
            Flow::Next => {}
            Flow::Call if instruction.operation() == CALL_REL => {
                let target = instruction.called(at).filter(|&target| target < end)?;
                let place = moves.place(at as u64);
                let new = out.get_mut(usize::try_from(place).ok()? / Instruction::SIZE)?;
                *new = new.towards(place as i64, moves.target(target) as i64);
            }
            Flow::Call | Flow::Unknown if *edit == Edit::Keep => {
                if moves.place(at as u64) != at as u64 && !is_absolute(*instruction) {
                    return None;
                }
            }
            Flow::To(target) => {
                let target = u64::try_from(target).ok().filter(|t| t % 16 == 0)?;
                let place = moves.place(at as u64);
                let new = out.get_mut(usize::try_from(place).ok()? / Instruction::SIZE)?;
                // BSSY names the BSYNC, not what delays it.
                let target = match instruction.operation() {
                    BSSY => moves.place(target),
                    _ => moves.target(target),
                };
                *new = new.towards(place as i64, target as i64);
            }
            Flow::Call | Flow::Unknown => return None,
        }
    }
    Some(())
}

/// Calls and jumps whose target comes from a relocation.
fn is_absolute(instruction: Instruction) -> bool {
    matches!(instruction.operation(), 0x143 | 0x14a)
}
