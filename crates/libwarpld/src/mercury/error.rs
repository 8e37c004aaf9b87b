//! Why a file with Mercury code cannot be linked, with NVIDIA's error number.

/// What differs after a round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Section contents.
    Section(String),
    /// A relocation table.
    Relocations(String),
    /// A symbol table.
    Symbols(String),
}

/// Why a file with Mercury code cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MercuryError {
    /// Machine code where capsules are needed.
    #[error("the file holds machine code without capsules")]
    NotCapsule,
    /// Mercury code alone, which needs a translator.
    #[error(
        "the file holds Mercury code without machine code, which only NVIDIA's compiler translates; compile for the target, give PTX, or name a CUDA toolkit whose nvlink does it (--cuda-path=DIR)"
    )]
    PureMercury,
    /// Mutually exclusive flags.
    #[error("the file claims to be both machine code and Mercury")]
    BothKinds,
    /// A file type that no tool writes.
    #[error("the file's type {0:#x} is none that can be finalized")]
    FileType(u16),
    /// Code for a target that it does not declare itself fit for.
    #[error(
        "code for sm_{from} must be scheduled anew for sm_{to}, which needs a compiler; compile for sm_{to}, give PTX, or name a CUDA toolkit whose nvlink does it (--cuda-path=DIR)"
    )]
    NeedsCompiler {
        /// The target it was compiled for.
        from: u16,
        /// The target of the link.
        to: u16,
    },
    /// A file that contradicts itself.
    #[error("damaged file: {0}")]
    Damaged(String),
    /// The file changes when it is parsed and written again.
    #[error("self-check: {0:?} differs")]
    RoundTrip(Mismatch),
    /// Written by a compiler newer than this linker supports.
    #[error("Mercury version {found:#x} is newer than {newest:#x}")]
    VersionTooHigh {
        /// The file's version.
        found: u16,
        /// The newest supported version.
        newest: u16,
    },
}

impl MercuryError {
    /// How nvlink names it, if it does.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::FileType(_) => Some("unsupported elf type"),
            Self::VersionTooHigh { .. } => Some("unsupported binary"),
            _ => None,
        }
    }

    /// The number that NVIDIA's finalizer returns in this case (0 is success).
    pub fn code(&self) -> u32 {
        match self {
            Self::NeedsCompiler { .. } => 4,
            Self::NotCapsule => 5,
            Self::Damaged(_) | Self::PureMercury | Self::BothKinds | Self::FileType(_) => 6,
            Self::RoundTrip(Mismatch::Section(_)) => 17,
            Self::RoundTrip(Mismatch::Relocations(_)) => 18,
            Self::RoundTrip(Mismatch::Symbols(_)) => 19,
            Self::VersionTooHigh { .. } => 25,
        }
    }
}
