//! Decodes the rows of a frame entry, so that those of several entries can be merged, and encodes
//! them again.

use super::frame_moves::{advance, instruction_end};
use crate::dialect::Half;
use std::collections::BTreeMap;

/// Frame instructions by code offset.
pub type Rows = BTreeMap<u64, Vec<u8>>;

/// Decodes the instructions of an entry; a second row at an offset replaces the first. In the
/// Mercury half, the first instruction after an advance starts a row, even a filler. In the
/// machine-code half there are no fillers, and every advance starts a row. `None` if there is an
/// unknown instruction.
pub fn parse(instructions: &[u8], unit: u64, half: Half) -> Option<Vec<(u64, Vec<u8>)>> {
    let mut rows: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut at, mut address, mut open) = (0, 0_u64, true);
    while let Some(&opcode) = instructions.get(at) {
        let end = instruction_end(instructions, at)?;
        if let Some(distance) = advance(instructions, at, end) {
            // Distances are 32 bits wide and may go back.
            let distance = (distance as u32).wrapping_mul(unit as u32);
            address = u64::from((address as u32).wrapping_add(distance));
            open = half == Half::Mercury;
            if !open {
                rows.push((address, Vec::new()));
            }
        } else {
            let instruction = match opcode {
                0 => &[][..],
                _ => instructions.get(at..end)?,
            };
            match rows.last_mut() {
                Some((_, row)) if !open => row.extend_from_slice(instruction),
                _ => rows.push((address, instruction.to_vec())),
            }
            open = false;
        }
        at = end;
    }
    Some(rows)
}

/// Encodes an entry's instructions; `unit` is the code alignment factor.
pub fn write(rows: &Rows, unit: u64) -> Vec<u8> {
    const ADVANCE: u8 = 4;
    let (mut out, mut address) = (Vec::new(), 0);
    for (&place, row) in rows {
        if place != address {
            let distance = u32::try_from((place - address) / unit.max(1)).unwrap_or(u32::MAX);
            out.push(ADVANCE);
            out.extend_from_slice(&distance.to_le_bytes());
            address = place;
        }
        out.extend_from_slice(row);
    }
    // Entries have a header of 36 bytes and end at a multiple of 8.
    out.resize(out.len().saturating_sub(4).next_multiple_of(8) + 4, 0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_joined_by_place() {
        // A kernel without a frame: nothing at 0x10, the rule after the last instruction.
        let entry = [4, 0x10, 0, 0, 0, 4, 0x40, 1, 0, 0, 0x0c, 1, 0, 4, 0xf0, 255, 255, 255, 0, 0];
        let rows = parse(&entry, 1, Half::Mercury).unwrap();
        assert_eq!(rows, [(0x150, vec![0x0c, 1, 0]), (0x140, vec![])]);
        let written = write(&rows.into_iter().collect(), 4);
        assert_eq!(written[..13], [4, 0x50, 0, 0, 0, 4, 4, 0, 0, 0, 0x0c, 1, 0]);
        assert_eq!(written.len(), 20);
        let again = parse(&written, 4, Half::Machine).unwrap();
        assert_eq!(again, [(0x140, vec![]), (0x150, vec![0x0c, 1, 0])]);
        // An advance by 0 at the end makes the previous row empty.
        let entry = [4, 0x20, 0, 0, 0, 6, 1, 4, 0, 0, 0, 0, 0, 0];
        let rows: Rows = parse(&entry, 1, Half::Mercury).unwrap().into_iter().collect();
        assert_eq!(rows, Rows::from([(0x20, vec![])]));
        assert_eq!(write(&Rows::new(), 4), [0; 4]);
    }
}
