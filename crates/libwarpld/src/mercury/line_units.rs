//! The units of a line table, decoded.

use super::code::line_rows::RowCoding;

/// Size of a unit's length field.
pub const LENGTH: usize = 4;
/// Size of a function's address.
pub const ADDRESS: usize = 8;
/// Bytes before those that the header length counts.
const BEFORE_HEADER: usize = 10;

/// A unit of a line table.
#[derive(Debug)]
pub struct Unit<'a> {
    /// Start of the line program.
    pub program: usize,
    /// End of the line program and of the unit.
    pub end: usize,
    /// Operand counts of the standard opcodes.
    operands: &'a [u8],
    /// How its rows are encoded.
    pub coding: RowCoding,
}

fn number(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// The unit that starts at `start`.
pub fn unit(data: &[u8], start: usize) -> Option<Unit<'_>> {
    let end = start.checked_add(LENGTH)?.checked_add(number(data, start)?)?;
    let program = (start + BEFORE_HEADER).checked_add(number(data, start + 6)?)?;
    let base = usize::from(*data.get(start + BEFORE_HEADER + 4)?);
    let counts = start + BEFORE_HEADER + 5;
    let operands = data.get(counts..counts.checked_add(base.checked_sub(1)?)?)?;
    let coding = RowCoding {
        unit: (*data.get(start + BEFORE_HEADER)?).into(),
        line_base: *data.get(start + BEFORE_HEADER + 2)? as i8,
        line_range: *data.get(start + BEFORE_HEADER + 3)?,
        opcode_base: *data.get(start + BEFORE_HEADER + 4)?,
    };
    (program <= end && end <= data.len()).then_some(Unit { program, end, operands, coding })
}

/// The unit headers in both halves.
pub struct Headers(Vec<Header>);

/// A unit's header: where it is in Mercury's table, where its unit ends, and where it is in the
/// other half, if it is the same there.
struct Header {
    start: usize,
    program: usize,
    end: usize,
    counterpart: Option<usize>,
}

impl Headers {
    /// Parses both tables.
    pub fn read(mercury: &[u8], machine: &[u8]) -> Self {
        let mut out = Vec::new();
        let (mut start, mut counterpart) = (0, 0);
        while let (Some(header), Some(other)) = (unit(mercury, start), unit(machine, counterpart)) {
            let same = header.program - start == other.program - counterpart;
            let Unit { program, end, .. } = header;
            out.push(Header { start, program, end, counterpart: same.then_some(counterpart) });
            (start, counterpart) = (end, other.end);
        }
        Self(out)
    }

    /// Maps a header field in Mercury's table to the other half. [`line-header-strings`]
    pub fn place(&self, offset: u64) -> Option<u64> {
        let offset = usize::try_from(offset).ok()?;
        let header = self.0.get(self.0.partition_point(|header| header.end <= offset))?;
        let inside = offset.checked_sub(header.start)?;
        header
            .counterpart
            .filter(|_| offset < header.program)
            .map(|counterpart| (counterpart + inside) as u64)
    }
}

/// The instruction that ends a sequence.
pub const END_OF_SEQUENCE: [u8; 3] = [0, 1, 1];

/// An instruction of a line program.
pub struct Step {
    /// Where it ends.
    pub end: usize,
    /// What it does.
    pub effect: Effect,
}

/// What an instruction of a line program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Sets the address to the one stored at this offset.
    SetAddress(usize),
    /// Advances address and line, and emits a row if `row`.
    Advance {
        bytes: u64,
        lines: i64,
        row: bool,
    },
    EndSequence,
    Other,
}

/// Decodes one instruction of a line program.
pub fn step(data: &[u8], at: usize, unit: &Unit<'_>) -> Option<Step> {
    const EXTENDED: u8 = 0;
    const END_SEQUENCE: u8 = 1;
    const SET_ADDRESS: u8 = 2;
    if at >= unit.end {
        return None;
    }
    let opcode = *data.get(at)?;
    if opcode == EXTENDED {
        let (length, body) = uleb(data, at + 1)?;
        let end = body.checked_add(usize::try_from(length).ok()?)?;
        let kind = data.get(body).copied().filter(|_| end <= unit.end && end > body)?;
        let effect = match kind {
            SET_ADDRESS => Effect::SetAddress(body + 1),
            END_SEQUENCE => Effect::EndSequence,
            _ => Effect::Other,
        };
        return Some(Step { end, effect });
    }
    match unit.operands.get(usize::from(opcode) - 1) {
        Some(&count) => standard_step(data, at, unit, count),
        None => Some(Step { end: at + 1, effect: unit.coding.special(opcode) }),
    }
}

/// Decodes a standard opcode with `count` operands.
fn standard_step(data: &[u8], at: usize, unit: &Unit<'_>, count: u8) -> Option<Step> {
    let moved = |bytes: u64, lines: i64, row: bool| Effect::Advance { bytes, lines, row };
    let mut end = at + 1;
    let effect = match *data.get(at)? {
        1 => moved(0, 0, true),
        2 => moved(uleb(data, end)?.0.wrapping_mul(unit.coding.unit), 0, false),
        3 => moved(0, sleb(data, end)?, false),
        8 => match unit.coding.special(u8::MAX) {
            Effect::Advance { bytes, .. } => moved(bytes, 0, false),
            other => other,
        },
        9 => {
            let bytes = data.get(end..end + 2)?.try_into().ok()?;
            let effect = moved(u16::from_le_bytes(bytes).into(), 0, false);
            return Some(Step { end: end + 2, effect });
        }
        _ => Effect::Other,
    };
    for _ in 0..count {
        end = uleb(data, end)?.1;
    }
    Some(Step { end, effect })
}

impl RowCoding {
    /// What a special opcode does.
    fn special(&self, opcode: u8) -> Effect {
        let number = opcode.saturating_sub(self.opcode_base);
        let range = self.line_range.max(1);
        Effect::Advance {
            bytes: u64::from(number / range) * self.unit,
            lines: i64::from(self.line_base) + i64::from(number % range),
            row: true,
        }
    }
}

fn sleb(data: &[u8], at: usize) -> Option<i64> {
    let (value, end) = uleb(data, at)?;
    let bits = 7 * u32::try_from(end - at).ok()?;
    let shift = 64_u32.checked_sub(bits)?;
    Some((value << shift) as i64 >> shift)
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
