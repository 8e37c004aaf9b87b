//! The record stream of `.nv.info*` and `.nv.compat`: format byte, code byte,
//! then either a 16-bit value or a 16-bit length and that many bytes.

/// One attribute record, borrowed from its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Format byte: 1 NVAL, 2 BVAL, 3 HVAL, 4 SVAL.
    pub format: u8,
    /// Attribute code.
    pub code: u8,
    /// Value of formats 1-3; payload length of format 4.
    pub value: u16,
    /// Payload of format 4, empty otherwise.
    pub payload: &'a [u8],
}

/// Why a record stream could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InfoError {
    /// The stream ends inside a record.
    #[error("attribute record at offset {offset:#x} runs past the end")]
    Truncated {
        /// Offset in the section.
        offset: usize,
    },
    /// A format byte we do not know.
    #[error("attribute record at offset {offset:#x} has unknown format {format:#x}")]
    Format {
        /// Offset in the section.
        offset: usize,
        /// The byte.
        format: u8,
    },
}

/// Reads a whole stream.
pub fn records(data: &[u8]) -> impl Iterator<Item = Result<Record<'_>, InfoError>> {
    let mut offset = 0;
    let mut failed = false;
    std::iter::from_fn(move || {
        if failed || offset == data.len() {
            return None;
        }
        let record = read_record(data, offset);
        match &record {
            Ok(r) => offset += 4 + r.payload.len(),
            Err(_) => failed = true,
        }
        Some(record)
    })
}

fn read_record(data: &[u8], offset: usize) -> Result<Record<'_>, InfoError> {
    let truncated = InfoError::Truncated { offset };
    let head = data.get(offset..offset + 4).ok_or(truncated.clone())?;
    let value = u16::from_le_bytes([head[2], head[3]]);
    let payload = match head[0] {
        1..=3 => &[][..],
        4 => data.get(offset + 4..offset + 4 + usize::from(value)).ok_or(truncated)?,
        format => return Err(InfoError::Format { offset, format }),
    };
    Ok(Record { format: head[0], code: head[1], value, payload })
}
