//! Why a file cannot be read.

/// Why bytes are not a readable device ELF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Shorter than an ELF header, or without the magic.
    #[error("not an ELF file")]
    NotElf,
    /// An ELF file for something other than an NVIDIA GPU.
    #[error("not device code (e_machine {machine})")]
    NotDevice { machine: u16 },
    /// An unsupported class, byte order or record size.
    #[error("unsupported {field} {value:#x}")]
    Unsupported { field: &'static str, value: u64 },
    /// Something extends past the end of the file.
    #[error("{what}{} lies outside the file (offset {offset:#x}, size {size:#x})", Section(*section))]
    OutOfFile { what: &'static str, section: Option<u32>, offset: u64, size: u64 },
    /// A field contradicts another one.
    #[error("bad {field}{}: {value:#x}", Section(*section))]
    BadField { field: &'static str, section: Option<u32>, value: u64 },
    /// Sections overlap so much that reading all of them would take time out of proportion to the
    /// file's size.
    #[error("sections add up to {total:#x} bytes in a file of {size:#x}")]
    Overlap { total: u64, size: u64 },
    /// So many entries share such a long name that reading all of them would take time out of
    /// proportion to the file's size.
    #[error("names in section {section} add up to more than {limit} bytes")]
    Names {
        /// The section whose entries have the names.
        section: u32,
        /// The limit for a file of this size.
        limit: u64,
    },
}

struct Section(Option<u32>);
impl std::fmt::Display for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(index) => write!(f, " of section {index}"),
            None => Ok(()),
        }
    }
}

#[inline]
pub(crate) fn slice<'a>(
    data: &'a [u8],
    what: &'static str,
    section: Option<u32>,
    offset: u64,
    size: u64,
) -> Result<&'a [u8], ReadError> {
    let end = offset.checked_add(size).filter(|&end| end <= data.len() as u64);
    match end {
        Some(end) => Ok(&data[offset as usize..end as usize]),
        None => Err(ReadError::OutOfFile { what, section, offset, size }),
    }
}
