//! Why a file cannot be written.

/// Why a model was not written. A sink may have received the start of the
/// file when writing itself failed, and nothing in the other cases.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    #[error("value too large for {field}")]
    TooLarge { field: &'static str },
    /// Two parts claim the same bytes.
    #[error("parts of the file overlap at offset {offset:#x}")]
    Overlap { offset: u64 },
    /// Two sections share bytes but not their content.
    #[error("section {section} shares its place with different data")]
    SharedData { section: u32 },
    /// A section is placed on one that does not precede it, or too far out.
    #[error("section {section} cannot be placed")]
    Placement { section: u32 },
    /// Encoded content has another size than announced, or the count of
    /// sections contradicts the null section.
    #[error("size mismatch in section {section}: {actual:#x} instead of {expected:#x}")]
    SizeMismatch { section: u32, expected: u64, actual: u64 },
    #[error("writing failed: {0}")]
    Io(#[from] std::io::Error),
}
