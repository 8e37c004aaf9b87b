//! Entries of the tables of a file, the same for both classes: section headers, symbols,
//! relocations and program headers, widened to 64 bits.

use crate::consts::{Binding, SectionType, SegmentType, SymbolType, shn, sto};
use crate::reloc::RelocKind;

/// Index of a section in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SectionIndex(pub u32);

/// Index of a symbol in its file's `.symtab`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SymbolIndex(pub u32);

/// A section header, widened to 64 bits, with its name and bytes.
#[derive(Clone, Copy, Debug)]
pub struct SectionRef<'a> {
    pub index: SectionIndex,
    pub name: &'a [u8],
    pub name_offset: u32,
    pub kind: SectionType,
    pub flags: u64,
    pub addr: u64,
    pub offset: u64,
    /// `sh_size`; [`SectionRef::data`] is empty for NOBITS sections.
    pub size: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entsize: u64,
    pub data: &'a [u8],
}

/// A symbol, widened to 64 bits, with its name.
#[derive(Clone, Copy, Debug)]
pub struct SymbolRef<'a> {
    pub index: SymbolIndex,
    pub name: &'a [u8],
    pub name_offset: u32,
    pub info: u8,
    pub other: u8,
    /// Section index; `SHN_XINDEX` is already resolved. Other reserved values (`SHN_COMMON` …) are
    /// unchanged, and `reserved` is set.
    pub shndx: u32,
    /// Whether `st_shndx` is a reserved value other than `SHN_XINDEX`.
    pub reserved: bool,
    pub value: u64,
    pub size: u64,
}

impl SymbolRef<'_> {
    /// Symbol type.
    #[inline]
    pub fn kind(&self) -> SymbolType {
        SymbolType(self.info & 15)
    }
    /// Symbol binding.
    #[inline]
    pub fn binding(&self) -> Binding {
        Binding(self.info >> 4)
    }
    /// Whether no section defines it.
    #[inline]
    pub fn is_undefined(&self) -> bool {
        self.shndx == shn::UNDEF
    }
    /// Whether it is a common symbol, which the linker allocates.
    #[inline]
    pub fn is_common(&self) -> bool {
        self.reserved && self.shndx == shn::COMMON
    }
    /// Whether the function is a kernel.
    #[inline]
    pub fn is_entry(&self) -> bool {
        self.other & sto::ENTRY != 0
    }
    /// Whether it is visible only in its object (`STV_INTERNAL`).
    #[inline]
    pub fn is_internal(&self) -> bool {
        self.other & sto::VISIBILITY == sto::INTERNAL
    }
    /// The bits of `st_other` for the memory space, one of those in [`sto`].
    #[inline]
    pub fn space(&self) -> u8 {
        self.other & sto::SPACE
    }
    /// Whether it is in shared memory.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.space() == sto::SHARED
    }
    /// Whether it is a texture, sampler or surface reference.
    #[inline]
    pub fn is_image(&self) -> bool {
        self.kind().is_image()
    }
}

/// A relocation of a REL or RELA section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reloc {
    pub offset: u64,
    pub kind: RelocKind,
    pub symbol: SymbolIndex,
    /// `None` in REL sections.
    pub addend: Option<i64>,
}

/// A program header, widened to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub kind: SegmentType,
    pub flags: u32,
    pub offset: u64,
    pub vaddr: u64,
    pub paddr: u64,
    pub filesz: u64,
    pub memsz: u64,
    pub align: u64,
}
