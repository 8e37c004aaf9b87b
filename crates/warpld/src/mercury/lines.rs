//! Line tables of the machine-code side: in each unit the sequences of
//! functions that the output has, in the order of their symbols.

use super::rebuilt::{Alive, Input, Rebuilt};

/// Appends the units of one input.
pub fn add(out: &mut Rebuilt, input: &Input<'_>, alive: &Alive) {
    let mut start = 0;
    while let Some(unit) = unit(input.data, start) {
        let to = out.copy(input, start, unit.program);
        let mut sequences = sequences(input.data, &unit, input.object, alive);
        sequences.sort_by_key(|s| s.symbol);
        for sequence in sequences {
            out.copy(input, sequence.start, sequence.end);
        }
        let length = (out.bytes.len() - to - LENGTH) as u32;
        out.put(to, &length.to_le_bytes());
        start = unit.end;
    }
}

/// Bytes of a unit's length.
const LENGTH: usize = 4;
/// Bytes before those that the header's own length counts.
const BEFORE_HEADER: usize = 10;

/// A unit of a line table.
struct Unit {
    /// Where the line program starts and ends.
    program: usize,
    end: usize,
    /// Operand counts of the standard opcodes.
    operands: Vec<u8>,
}

struct Sequence {
    start: usize,
    end: usize,
    symbol: u32,
}

fn number(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
}

fn unit(data: &[u8], start: usize) -> Option<Unit> {
    let end = start.checked_add(LENGTH)?.checked_add(number(data, start)?)?;
    let program = (start + BEFORE_HEADER).checked_add(number(data, start + 6)?)?;
    let base = usize::from(*data.get(start + BEFORE_HEADER + 4)?);
    let counts = start + BEFORE_HEADER + 5;
    let operands = data.get(counts..counts.checked_add(base.checked_sub(1)?)?)?.to_vec();
    (program <= end && end <= data.len()).then_some(Unit { program, end, operands })
}

/// The sequences of functions that the output has.
fn sequences(data: &[u8], unit: &Unit, object: u32, alive: &Alive) -> Vec<Sequence> {
    let mut out = Vec::new();
    let mut start = unit.program;
    let mut at = start;
    let mut symbol = None;
    while let Some(step) = step(data, at, unit) {
        if let Some(address) = step.address {
            symbol = symbol.or_else(|| alive.get(&(object, address as u64)).copied());
        }
        at = step.end;
        if step.ends_sequence {
            if let Some(symbol) = symbol.take() {
                out.push(Sequence { start, end: at, symbol });
            }
            start = at;
        }
    }
    out
}

struct Step {
    end: usize,
    ends_sequence: bool,
    /// Where an address is set.
    address: Option<usize>,
}

/// One instruction of a line program.
fn step(data: &[u8], at: usize, unit: &Unit) -> Option<Step> {
    const EXTENDED: u8 = 0;
    const FIXED_ADVANCE_PC: u8 = 9;
    const END_SEQUENCE: u8 = 1;
    const SET_ADDRESS: u8 = 2;
    if at >= unit.end {
        return None;
    }
    let opcode = *data.get(at)?;
    let plain = |end: usize| Step { end, ends_sequence: false, address: None };
    if opcode == EXTENDED {
        let (length, body) = uleb(data, at + 1)?;
        let end = body.checked_add(usize::try_from(length).ok()?)?;
        let kind = data.get(body).copied().filter(|_| end <= unit.end && end > body)?;
        let address = (kind == SET_ADDRESS).then_some(body + 1);
        return Some(Step { end, ends_sequence: kind == END_SEQUENCE, address });
    }
    let Some(&count) = unit.operands.get(usize::from(opcode) - 1) else {
        return Some(plain(at + 1));
    };
    if opcode == FIXED_ADVANCE_PC {
        return Some(plain(at + 3));
    }
    let mut end = at + 1;
    for _ in 0..count {
        end = uleb(data, end)?.1;
    }
    Some(plain(end))
}

fn uleb(data: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let byte = *data.get(at)?;
        at += 1;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
    }
}
