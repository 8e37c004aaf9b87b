//! Unified functions and variables: the index file with their offsets in the tables, and the
//! records that list those of an object.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The identity of a unified function or variable across programs.
pub type Uuid = [u64; 2];

/// One record of `.nv.uft.entry` or `.nv.udt.entry`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Entry {
    pub symbol: U32,
    pub flags: U32,
    pub offset: U64,
    pub uuid: [U64; 2],
}

impl Entry {
    /// Flags that the linker sets.
    pub const LINKED: u32 = 6;
    /// Flag of an entry that is not in the index.
    pub const ABSENT: u32 = 0x8000_0000;

    /// The identity.
    pub fn uuid(&self) -> Uuid {
        self.uuid.map(U64::get)
    }
}

/// The records of an entry section; trailing bytes are ignored.
pub fn entries(data: &[u8]) -> &[Entry] {
    let whole = data.len() - data.len() % size_of::<Entry>();
    <[Entry]>::ref_from_bytes(&data[..whole]).unwrap_or_default()
}

/// An index file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    pub functions: Table,
    pub data: Table,
}

/// The slots of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Size of the table.
    pub window: u64,
    pub slots: Vec<Slot>,
}

/// A slot of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub uuid: Uuid,
    pub offset: u64,
}

/// Why a file is not an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexError {
    /// Wrong magic number.
    Magic,
    /// Too short, too long or of an unknown version.
    Malformed,
}

const MAGIC: &[u8] = b"\x7fUFTINDX";

/// Versions 0 and 1 have the same format.
const NEWEST: u32 = 1;

impl Index {
    /// Reads an index file.
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(IndexError::Magic)?;
        let (version, rest) = U32::read_from_prefix(rest).map_err(|_| IndexError::Malformed)?;
        let rest = rest.get(4..).ok_or(IndexError::Malformed)?;
        let words = <[U64]>::ref_from_bytes(rest).map_err(|_| IndexError::Malformed)?;
        let (header, slots) = words.split_at_checked(4).ok_or(IndexError::Malformed)?;
        let [window, functions, data_window, data] = [0, 1, 2, 3].map(|i| header[i].get());
        let (slots, ragged) = slots.as_chunks::<3>();
        let count = functions.checked_add(data);
        if version.get() > NEWEST || !ragged.is_empty() || count != Some(slots.len() as u64) {
            return Err(IndexError::Malformed);
        }
        let slot = |s: &[U64; 3]| Slot { uuid: [s[0].get(), s[1].get()], offset: s[2].get() };
        let mut slots: Vec<Slot> = slots.iter().map(slot).collect();
        let after = slots.split_off(functions as usize);
        Ok(Self {
            functions: Table { window, slots },
            data: Table { window: data_window, slots: after },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u32, numbers: &[u64]) -> Vec<u8> {
        let mut out = [MAGIC, &version.to_le_bytes(), &[0; 4]].concat();
        out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
        out
    }

    #[test]
    fn functions_come_before_data() {
        let index = Index::parse(&file(1, &[0x80, 1, 4, 1, 1, 2, 0, 3, 4, 8])).unwrap();
        assert_eq!(index.functions.window, 0x80);
        assert_eq!(index.functions.slots, [Slot { uuid: [1, 2], offset: 0 }]);
        assert_eq!(index.data.slots, [Slot { uuid: [3, 4], offset: 8 }]);
    }

    #[test]
    fn what_is_no_index_is_refused() {
        assert_eq!(Index::parse(b"x"), Err(IndexError::Magic));
        let good = file(0, &[0, 0, 0, 0]);
        assert!(Index::parse(&good).is_ok());
        for bad in [
            &good[..good.len() - 8],
            &good[..10],
            &file(2, &[0, 0, 0, 0]),
            &file(1, &[0, 1, 0, 0]),
            &file(1, &[0, u64::MAX, 0, 1]),
            &file(1, &[0, 0, 0, 0, 0, 0]),
        ] {
            assert_eq!(Index::parse(bad), Err(IndexError::Malformed));
        }
    }
}
