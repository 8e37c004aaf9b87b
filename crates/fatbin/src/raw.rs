//! Records and constants of the fatbin format, as they are in the file.

use std::fmt;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// First word of a container.
pub const CONTAINER_MAGIC: u32 = 0xBA55_ED50;
/// The only known container version.
pub const CONTAINER_VERSION: u16 = 1;
/// First word of the wrapper in `.nvFatBinSegment`.
pub const WRAPPER_MAGIC: u32 = 0x4662_43B1;
/// Entry version in all files seen.
pub const ENTRY_VERSION: u16 = 0x0101;
/// Alignment of entries and their strings.
pub const ALIGNMENT: usize = 8;

/// Container header; the entries follow.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ContainerHeader {
    pub magic: U32,
    pub version: U16,
    pub header_size: U16,
    /// Size of everything after the header.
    pub size: U64,
}

/// Entry header; ident and options strings may follow, then the payload.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct EntryHeader {
    pub kind: U16,
    pub version: U16,
    /// Size of this header with its strings; the payload starts there.
    pub header_size: U32,
    /// Payload size, including padding.
    pub payload_size: U64,
    /// Exact size of the compressed payload; 0 if it is not compressed.
    pub compressed_size: U32,
    /// Offset of the [`OptionsBlock`] from the start of the entry; 0 if there is none.
    pub options_offset: U32,
    pub minor: U16,
    pub major: U16,
    /// Number of the architecture; its letter is in the flags.
    pub sm: U32,
    pub ident_offset: U32,
    pub ident_size: U32,
    pub flags: U64,
    pub reserved: U64,
    /// Size after decompression; 0 if it is not compressed.
    pub uncompressed_size: U64,
}

/// Header of an entry's options, followed by a NUL-terminated string and, in entries with
/// [`Flags::MERCURY`], the image's `.nv.compat`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct OptionsBlock {
    /// Offset of the string from the start of the entry.
    pub text_offset: U32,
    /// Size of the string without its NUL, or of the `.nv.compat` after it.
    pub size: U32,
}

/// The wrapper in `.nvFatBinSegment` of a 64-bit host; the pointers are
/// usually filled in by relocations.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Wrapper {
    pub magic: U32,
    /// 1, or 2 if `prelinked` points to the containers that were linked.
    pub version: U32,
    pub data: U64,
    pub prelinked: U64,
}

impl Wrapper {
    /// The wrapper at the start of `data`, if there is one.
    pub fn read(data: &[u8]) -> Option<&Self> {
        let (wrapper, _) = Self::ref_from_prefix(data).ok()?;
        (wrapper.magic == WRAPPER_MAGIC).then_some(wrapper)
    }
}

/// What an entry holds. Unnamed values survive a rewrite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind(pub u16);

impl Kind {
    pub const PTX: Self = Self(1);
    pub const ELF: Self = Self(2);
    /// NVVM IR for link-time optimization.
    pub const LTO_IR: Self = Self(8);

    /// The name `fatbinary` and `cuobjdump` give it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::PTX => Some("ptx"),
            Self::ELF => Some("elf"),
            Self::LTO_IR => Some("nvvm"),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "kind {}", self.0),
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({self})")
    }
}

/// Entry flags. Unnamed bits survive a rewrite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u64);

impl Flags {
    pub const ADDRESS_64: Self = Self(0x1);
    pub const DEBUG: Self = Self(0x2);
    pub const LINUX: Self = Self(0x10);
    /// The payload is an LZ4 block.
    pub const LZ4: Self = Self(0x2000);
    /// The payload is a zstd frame.
    pub const ZSTD: Self = Self(0x8000);
    /// All bits for compression.
    pub const COMPRESSION: Self = Self(0xF000);
    /// The payload is scrambled (LTO-IR only).
    pub const SCRAMBLED: Self = Self(0x1_0000);
    /// Code for an `a` architecture.
    pub const ACCELERATED: Self = Self(0x10_0000);
    /// Code for an `f` architecture.
    pub const FAMILY: Self = Self(0x20_0000);
    /// A device ELF with Mercury code (sm_100 and later).
    pub const MERCURY: Self = Self(0x100_0000);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    /// The bits of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The bits of `self` that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({:#x})", self.0)
    }
}
