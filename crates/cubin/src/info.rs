//! The record stream of `.nv.info*` and `.nv.compat`: format byte, code byte,
//! then either a 16-bit value or a 16-bit length and that many bytes.

use crate::attr::{Attr, Compat, Format};
use crate::raw::Pair;
use zerocopy::FromBytes;

/// One attribute record, borrowed from its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Format byte: 1 NVAL, 2 BVAL, 3 HVAL, 4 SVAL.
    pub format: u8,
    pub code: u8,
    /// Value of formats 1-3; payload length of format 4.
    pub value: u16,
    /// Payload of format 4, empty otherwise.
    pub payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// A record with an 8- or 16-bit value, or none.
    pub fn scalar(format: Format, code: impl Into<u8>, value: u16) -> Self {
        Self { format: format.0, code: code.into(), value, payload: &[] }
    }
    /// A record with a payload; `None` if it is longer than 65535 bytes.
    pub fn sized(code: impl Into<u8>, payload: &'a [u8]) -> Option<Self> {
        let value = u16::try_from(payload.len()).ok()?;
        Some(Self { format: Format::SVAL.0, code: code.into(), value, payload })
    }
    /// The code as an attribute of `.nv.info`.
    #[inline]
    pub fn attr(&self) -> Attr {
        Attr(self.code)
    }
    /// The code as an attribute of `.nv.compat`.
    #[inline]
    pub fn compat(&self) -> Compat {
        Compat(self.code)
    }
    /// The 32-bit words of the payload; trailing bytes are ignored.
    pub fn words(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<'a> {
        words(self.payload)
    }
    /// One word of the payload.
    pub fn word(&self, index: usize) -> Option<u32> {
        self.words().nth(index)
    }
    /// Symbol and value, if the payload consists of these two words.
    #[inline]
    pub fn symbol_and_value(&self) -> Option<(u32, u32)> {
        symbol_and_value(self.payload)
    }
    /// The payload as a fixed record such as [`crate::attr::KernelParam`].
    pub fn payload_as<T: FromBytes>(&self) -> Option<T> {
        T::read_from_bytes(self.payload).ok()
    }
    /// Size of the record in bytes.
    pub fn size(&self) -> usize {
        4 + self.payload.len()
    }
    /// Appends the record to a section.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.format, self.code]);
        out.extend_from_slice(&self.value.to_le_bytes());
        out.extend_from_slice(self.payload);
    }
}

/// The little-endian words of a payload; trailing bytes are ignored.
pub fn words(payload: &[u8]) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + '_ {
    payload.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
}

/// Symbol and value of an eight-byte payload.
#[inline]
pub fn symbol_and_value(payload: &[u8]) -> Option<(u32, u32)> {
    let pair = Pair::ref_from_bytes(payload).ok()?;
    Some((pair.first.get(), pair.second.get()))
}

/// Why a record stream could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InfoError {
    /// The stream ends inside a record.
    #[error("attribute record at offset {offset:#x} runs past the end")]
    Truncated { offset: usize },
    /// An unknown format byte.
    #[error("attribute record at offset {offset:#x} has unknown format {format:#x}")]
    Format { offset: usize, format: u8 },
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

/// The bytes of each record (format, code, value, payload), up to the first that cannot be read.
#[inline]
pub fn raw_records(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = data;
    std::iter::from_fn(move || {
        let &[format, _, low, high, ..] = rest else { return None };
        let size = match format {
            1..=3 => 4,
            4 => 4 + usize::from(u16::from_le_bytes([low, high])),
            _ => return None,
        };
        let (record, after) = rest.split_at_checked(size)?;
        rest = after;
        Some(record)
    })
}

/// The records of a stream up to the first that cannot be read.
pub fn readable_records(data: &[u8]) -> impl Iterator<Item = Record<'_>> {
    raw_records(data).filter_map(|record| match *record {
        [format, code, low, high, ref payload @ ..] => {
            Some(Record { format, code, value: u16::from_le_bytes([low, high]), payload })
        }
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_records_end_where_reading_does() {
        let whole = [3, 0x50, 7, 0, 4, 0x11, 4, 0, 1, 2, 3, 4];
        let unknown = [whole.as_slice(), &[9, 1, 0, 0]].concat();
        for data in [&whole[..], &whole[..11], &whole[..3], &unknown] {
            let read = records(data).map_while(Result::ok).map(|record| {
                let mut out = Vec::new();
                record.write(&mut out);
                out
            });
            assert_eq!(raw_records(data).collect::<Vec<_>>(), read.collect::<Vec<_>>());
        }
    }
}
