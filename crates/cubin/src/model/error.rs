//! Why a file cannot be written.

/// Why a model was not written. If writing itself failed, the sink may have received the start of
/// the file; in all other cases it has received nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    #[error("value too large for {field}")]
    TooLarge { field: &'static str },
    /// Two parts claim the same bytes.
    #[error("parts of the file overlap at offset {offset:#x}")]
    Overlap { offset: u64 },
    /// Two sections share a file range but have different contents.
    #[error("section {section} shares its place with different data")]
    SharedData { section: u32 },
    /// A section is placed on one that does not precede it, or its offset overflows.
    #[error("section {section} cannot be placed")]
    Placement { section: u32 },
    /// The encoded contents have a different size than declared, or the number of sections
    /// contradicts the null section.
    #[error("size mismatch in section {section}: {actual:#x} instead of {expected:#x}")]
    SizeMismatch { section: u32, expected: u64, actual: u64 },
    #[error("writing failed: {0}")]
    Io(#[from] std::io::Error),
}
