//! Frame tables that follow moved code: the range of an entry and the distances between its rows
//! are updated in place.

use super::moves::Moves;

/// Why `move_frame` failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame entry that does not follow moved code, at offset {0:#x}")]
pub struct FrameError(pub usize);

/// Offset of the function's address in an entry of 64-bit DWARF.
const ADDRESS: usize = 20;
/// Offset of its instructions.
const INSTRUCTIONS: usize = 36;

/// Updates one entry of a function whose code moved. `unit` is the code alignment factor.
pub fn move_frame(entry: &mut [u8], unit: u64, moves: &Moves) -> Result<(), FrameError> {
    if let Some(range) = entry.get_mut(ADDRESS + 8..INSTRUCTIONS) {
        let old = range.try_into().map_or(0, u64::from_le_bytes);
        range.copy_from_slice(&moves.target(old).to_le_bytes());
    }
    let unit = unit.max(1);
    let (mut at, mut address) = (INSTRUCTIONS, 0_u64);
    while let Some(&opcode) = entry.get(at) {
        let end = instruction_end(entry, at).ok_or(FrameError(at))?;
        let Some(distance) = advance(entry, at, end) else {
            at = end;
            continue;
        };
        let bits = if opcode >= 0x40 { 6 } else { 8 * (end - at - 1) as u32 };
        let next = address.saturating_add(distance.saturating_mul(unit));
        let new = moves.target(next).saturating_sub(moves.target(address)) / unit;
        if new >> bits != 0 {
            return Err(FrameError(at));
        }
        match entry.get_mut(at + 1..end) {
            Some(place) if bits != 6 => {
                place.copy_from_slice(new.to_le_bytes().get(..end - at - 1).unwrap_or_default());
            }
            _ => entry[at] = 0x40 | new as u8,
        }
        (at, address) = (end, next);
    }
    Ok(())
}

/// How far an instruction advances, in units, if it does.
pub(super) fn advance(entry: &[u8], at: usize, end: usize) -> Option<u64> {
    match *entry.get(at)? {
        opcode @ 0x40..=0x7f => Some(u64::from(opcode & 0x3f)),
        0x02..=0x04 => Some(number(entry, at + 1, end)),
        _ => None,
    }
}

fn number(entry: &[u8], start: usize, end: usize) -> u64 {
    let bytes = entry.get(start..end).unwrap_or_default();
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

/// Where the next instruction starts; `None` if this one is unknown.
pub(super) fn instruction_end(entry: &[u8], at: usize) -> Option<usize> {
    let end = at.checked_add(1)?;
    let numbers = |count: usize| (0..count).try_fold(end, |at, _| skip_number(entry, at));
    let end = match *entry.get(at)? {
        0x00 | 0x0a | 0x0b | 0x40..=0x7f | 0xc0..=0xff => end,
        0x02 => end + 1,
        0x03 => end + 2,
        0x04 => end + 4,
        0x01 => end + 8,
        0x06..=0x08 | 0x0d | 0x0e | 0x13 | 0x80..=0xbf => numbers(1)?,
        0x05 | 0x09 | 0x0c | 0x11 | 0x12 | 0x14 | 0x15 => numbers(2)?,
        // An expression, preceded by its length.
        0x0f => skip_block(entry, end)?,
        0x10 | 0x16 => skip_block(entry, numbers(1)?)?,
        _ => return None,
    };
    (end <= entry.len()).then_some(end)
}

fn skip_number(entry: &[u8], at: usize) -> Option<usize> {
    let rest = entry.get(at..)?;
    Some(at + rest.iter().position(|b| b & 0x80 == 0)? + 1)
}

fn skip_block(entry: &[u8], at: usize) -> Option<usize> {
    let start = skip_number(entry, at)?;
    let digits = entry.get(at..start)?.iter().rev();
    let length =
        digits.fold(0_usize, |n, b| n.saturating_mul(128).saturating_add((b & 0x7f).into()));
    start.checked_add(length)
}

/// The code alignment factor in a CIE.
pub fn code_unit(common: &[u8]) -> Option<u64> {
    common.get(code_unit_at(common)?).map(|&unit| unit.into())
}

/// The offset of that factor in a CIE.
pub fn code_unit_at(common: &[u8]) -> Option<usize> {
    const AUGMENTATION: usize = 21;
    let text = common.get(AUGMENTATION..)?;
    Some(AUGMENTATION + text.iter().position(|&b| b == 0)? + 1)
}
