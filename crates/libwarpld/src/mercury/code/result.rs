//! Why a file was not finalized, and NVIDIA's number for it.

/// What a self-check found to differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Bytes of a section.
    Section(String),
    /// A relocation table.
    Relocations(String),
    /// A symbol table.
    Symbols(String),
}

/// Why a file was not finalized.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FinalizerError {
    /// Nothing to finalize.
    #[error("the file holds nothing to finalize")]
    NotEligible,
    /// Finalized machine code was given after the link.
    #[error("the file holds machine code without capsules")]
    NotCapsule,
    /// Mercury code alone needs a translator.
    #[error(
        "the file holds Mercury code without machine code, which only NVIDIA's compiler translates; compile for the target, give PTX, or name an nvlink that does it (--finalizer=PATH)"
    )]
    PureMercury,
    /// Code for another target that it does not declare itself fit for.
    #[error(
        "code for sm_{from} must be scheduled anew for sm_{to}, which needs a compiler; compile for sm_{to}, give PTX, or name an nvlink that does it (--finalizer=PATH)"
    )]
    NeedsCompiler {
        /// Compiled for.
        from: u16,
        /// Wanted for.
        to: u16,
    },
    /// A file that contradicts itself.
    #[error("damaged file: {0}")]
    Damaged(String),
    /// Not a device ELF of a known kind.
    #[error("not a device file of a known kind")]
    UnknownElf,
    /// No memory for the output.
    #[error("the output does not fit in memory")]
    Memory,
    /// The result, finalized again, is another.
    #[error("self-check: {0:?} differs")]
    SelfCheck(Mismatch),
    /// Written by a compiler newer than this format.
    #[error("Mercury version {found:#x} is newer than {newest:#x}")]
    VersionTooHigh {
        /// The file's.
        found: u16,
        /// The newest known.
        newest: u16,
    },
}

impl FinalizerError {
    /// The number NVIDIA's engine returns in this case (0 is success).
    pub fn code(&self) -> u32 {
        match self {
            Self::NotEligible | Self::NeedsCompiler { .. } => 4,
            Self::NotCapsule => 5,
            Self::Damaged(_) | Self::PureMercury => 6,
            Self::UnknownElf => 7,
            Self::Memory => 11,
            Self::SelfCheck(Mismatch::Section(_)) => 17,
            Self::SelfCheck(Mismatch::Relocations(_)) => 18,
            Self::SelfCheck(Mismatch::Symbols(_)) => 19,
            Self::VersionTooHigh { .. } => 25,
        }
    }
}
