//! Rows of a DWARF line program, encoded again where code moved.

/// The encoding parameters in a unit's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCoding {
    /// Size of the smallest instruction.
    pub unit: u64,
    /// Smallest line advance of a special opcode.
    pub line_base: i8,
    /// Number of line advances.
    pub line_range: u8,
    /// First special opcode.
    pub opcode_base: u8,
}

/// Advances of address and line before a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advance {
    /// Bytes.
    pub address: u64,
    /// Lines.
    pub line: i64,
    /// Whether a separate instruction advances the line, even by 0 (the first row of a function).
    pub explicit_line: bool,
}

/// Writes a row.
pub const COPY: u8 = 1;
const ADVANCE_PC: u8 = 2;
const ADVANCE_LINE: u8 = 3;

/// Writes the instructions that end in a new row, choosing like nvlink: one special opcode if both
/// advances fit and the line changes, otherwise a separate instruction for each advance.
pub fn row(coding: &RowCoding, advance: Advance, out: &mut Vec<u8>) {
    if let Some(opcode) = special(coding, advance) {
        out.push(opcode);
        return;
    }
    if advance.line != 0 || advance.explicit_line {
        out.push(ADVANCE_LINE);
        sleb(advance.line, out);
    }
    advance_address(coding, advance.address, out);
    out.push(COPY);
}

/// Advances the address without a row (at the end of a sequence).
pub fn advance_address(coding: &RowCoding, bytes: u64, out: &mut Vec<u8>) {
    if bytes != 0 {
        out.push(ADVANCE_PC);
        sleb((bytes / coding.unit.max(1)) as i64, out);
    }
}

fn special(coding: &RowCoding, advance: Advance) -> Option<u8> {
    if advance.line == 0 || advance.address == 0 {
        return None;
    }
    let line = advance.line.checked_sub(coding.line_base.into())?;
    if !(0..i64::from(coding.line_range)).contains(&line) {
        return None;
    }
    let steps = advance.address / coding.unit.max(1);
    let opcode = steps
        .checked_mul(coding.line_range.into())?
        .checked_add(line as u64)?
        .checked_add(coding.opcode_base.into())?;
    u8::try_from(opcode).ok()
}

/// A signed LEB128. Addresses are written this way too: the tools end an unsigned 0x40 with a zero
/// byte.
fn sleb(mut value: i64, out: &mut Vec<u8>) {
    loop {
        let byte = value as u8 & 0x7f;
        value >>= 7;
        let done = value == 0 && byte & 0x40 == 0 || value == -1 && byte & 0x40 != 0;
        out.push(if done { byte } else { byte | 0x80 });
        if done {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(address: u64, line: i64) -> Vec<u8> {
        let coding = RowCoding { unit: 1, line_base: -5, line_range: 14, opcode_base: 10 };
        let mut out = Vec::new();
        row(&coding, Advance { address, line, explicit_line: false }, &mut out);
        out
    }

    #[test]
    fn rows_are_written_as_nvlink_writes_them() {
        assert_eq!(written(0x10, 3), [0xf2]);
        assert_eq!(written(0x10, 11), [3, 11, 2, 0x10, 1]);
        assert_eq!(written(0x40, 2), [3, 2, 2, 0xc0, 0, 1]);
        assert_eq!(written(0x10, 0), [2, 0x10, 1]);
        assert_eq!(written(0, 5), [3, 5, 1]);
    }
}
