//! Reading a device ELF: a validated view that borrows the file's bytes.

use crate::consts::{Binding, EM_CUDA, SectionType, SegmentType, SymbolType, shn, sto};
use crate::half::Label;
use crate::header::Header;
use crate::reloc::RelocKind;
use crate::sections::Sections;
use crate::tables::{Relocs, SymbolTable, read_segments};
use std::sync::Arc;

/// Index of a section in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SectionIndex(pub u32);

/// Index of a symbol in its file's `.symtab`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SymbolIndex(pub u32);

/// Why a byte string is not a readable device ELF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Shorter than an ELF header, or without the magic.
    #[error("not an ELF file")]
    NotElf,
    /// An ELF file for something other than an NVIDIA GPU.
    #[error("not device code (e_machine {machine})")]
    NotDevice { machine: u16 },
    /// A class, byte order or record size we cannot read.
    #[error("unsupported {field} {value:#x}")]
    Unsupported { field: &'static str, value: u64 },
    /// Something lies outside the file.
    #[error("{what}{} lies outside the file (offset {offset:#x}, size {size:#x})", Section(*section))]
    OutOfFile { what: &'static str, section: Option<u32>, offset: u64, size: u64 },
    /// A field contradicts another one.
    #[error("bad {field}{}: {value:#x}", Section(*section))]
    BadField { field: &'static str, section: Option<u32>, value: u64 },
    /// Sections lie on top of each other so often that reading them all would
    /// take time out of proportion to the file.
    #[error("sections add up to {total:#x} bytes in a file of {size:#x}")]
    Overlap { total: u64, size: u64 },
    /// So many entries share so long a name that reading them all would take
    /// time out of proportion to the file.
    #[error("names in section {section} add up to more than {limit} bytes")]
    Names {
        /// The section whose entries have the names.
        section: u32,
        /// The most a file of this size may have.
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
    /// `sh_size`; [`SectionRef::data`] is empty for sections without bits.
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
    /// Section index; extended numbering (`SHN_XINDEX`) already resolved.
    /// Reserved values below `SHN_XINDEX` (`SHN_COMMON` …) are kept and
    /// `reserved` is set.
    pub shndx: u32,
    /// `st_shndx` was one of the reserved values other than `SHN_XINDEX`.
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
    /// Whether it is a common symbol, to be allocated by the linker.
    #[inline]
    pub fn is_common(&self) -> bool {
        self.reserved && self.shndx == shn::COMMON
    }
    /// Whether the function is a kernel.
    #[inline]
    pub fn is_entry(&self) -> bool {
        self.other & sto::ENTRY != 0
    }
    /// Whether it never leaves its object.
    #[inline]
    pub fn is_internal(&self) -> bool {
        self.other & sto::VISIBILITY == sto::INTERNAL
    }
    /// The bits of `st_other` that tell its memory space, one of those in [`sto`].
    #[inline]
    pub fn space(&self) -> u8 {
        self.other & sto::SPACE
    }
    /// Whether it lives in shared memory.
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

/// How much a file is like another one. Both have the same sections and symbols in the same
/// order, as files of one compiler may: they differ in names, places and sizes at most.
#[derive(Clone, Copy, Debug)]
pub struct Likeness {
    /// The tables of sections are the same to the last byte: sections have the same places and
    /// sizes, and their names start at the same places.
    pub same_sections: bool,
    /// Symbols have the same values and sizes, and their names start at the same places.
    pub same_symbols: bool,
}

/// A device ELF file whose header, section table, names, symbol table and
/// section extents have been checked.
#[derive(Clone, Debug, Default)]
pub struct Cubin<'a> {
    sections: Sections<'a>,
    symtab: Option<SymbolTable<'a>>,
}

impl<'a> Cubin<'a> {
    /// Reads and checks `data` as a device file of either class.
    pub fn parse(data: &'a [u8]) -> Result<Self, ReadError> {
        Self::parse_after(data, &Cubin::default())
    }

    /// The same of a file that may have just the tables of another one, as files that a
    /// program wrote often do: what was checked of those holds then, and they are used in
    /// place of its own, so that tables of many files are in the cache when they are asked for.
    pub fn parse_after(data: &'a [u8], before: &Cubin<'a>) -> Result<Self, ReadError> {
        let header = Header::parse(data)?;
        if header.machine != EM_CUDA {
            return Err(ReadError::NotDevice { machine: header.machine });
        }
        let (sections, table) = Sections::read(data, &header, before)?;
        let symtab = match table {
            Some(s) => Some(SymbolTable::read(header.class, &sections, &s, before)?),
            None => None,
        };
        Ok(Self { sections, symtab })
    }

    /// The same file with its sections described differently and another symbol
    /// table in force.
    pub(crate) fn relabelled(&self, labels: Arc<[Label]>, symtab: SymbolTable<'a>) -> Self {
        let sections = self.sections.relabelled(labels);
        Self { sections, symtab: Some(symtab) }
    }

    /// How much a file is like another one; not at all if one of them is of 32 bits or not
    /// seen as it is.
    pub fn likeness(&self, other: &Cubin<'_>) -> Option<Likeness> {
        let same_sections = self.sections.likeness(&other.sections)?;
        let same_symbols = self.symtab.as_ref()?.likeness(other.symtab.as_ref()?)?;
        Some(Likeness { same_sections, same_symbols })
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.sections.file()
    }
    /// The file header, read anew: links have many files, and seldom ask for it.
    pub fn header(&self) -> Header {
        Header::parse(self.bytes()).unwrap_or_default()
    }
    /// All sections, the null section included.
    #[inline]
    pub fn sections(&self) -> &Sections<'a> {
        &self.sections
    }
    /// The section with this index.
    #[inline]
    pub fn section(&self, index: u32) -> Option<SectionRef<'a>> {
        self.sections.get(index)
    }
    /// The section with this index, its name left out, which lies elsewhere in memory.
    #[inline]
    pub fn unnamed_section(&self, index: u32) -> Option<SectionRef<'a>> {
        self.sections.get_unnamed(index)
    }
    /// The first section with this name.
    pub fn section_by_name(&self, name: &[u8]) -> Option<SectionRef<'a>> {
        self.sections.iter().find(|s| s.name == name)
    }
    /// Index of the symbol table's section.
    pub fn symtab_section(&self) -> Option<SectionIndex> {
        self.symtab.as_ref().map(SymbolTable::section)
    }
    /// The symbol table `.symtab`.
    #[inline]
    pub fn symtab(&self) -> Option<&SymbolTable<'a>> {
        self.symtab.as_ref()
    }
    /// Number of symbols, the null symbol included.
    #[inline]
    pub fn symbol_count(&self) -> usize {
        self.symtab.as_ref().map_or(0, SymbolTable::len)
    }
    /// The symbol with this index.
    #[inline]
    pub fn symbol(&self, index: u32) -> Option<SymbolRef<'a>> {
        self.symtab.as_ref()?.get(index)
    }
    /// The symbol with this index, its name left out, which lies elsewhere in memory.
    #[inline]
    pub fn unnamed_symbol(&self, index: u32) -> Option<SymbolRef<'a>> {
        self.symtab.as_ref()?.get_unnamed(index)
    }
    /// All symbols in table order, the null symbol included.
    #[inline]
    pub fn symbols(&self) -> impl Iterator<Item = SymbolRef<'a>> + '_ {
        (0..self.symbol_count() as u32).filter_map(|i| self.symbol(i))
    }
    /// Whether the symbol with this index has this name.
    pub fn symbol_is_named(&self, index: u32, name: &[u8]) -> bool {
        self.symtab.as_ref().is_some_and(|table| table.is_named(index, name))
    }
    /// The type of a symbol, without looking at its name.
    #[inline]
    pub fn symbol_kind(&self, index: u32) -> Option<SymbolType> {
        let (info, _) = self.symtab.as_ref()?.info_and_other(index)?;
        Some(SymbolType(info & 15))
    }
    /// [`SymbolRef::shndx`] of a symbol, without looking at its name.
    #[inline]
    pub fn symbol_section(&self, index: u32) -> Option<u32> {
        self.symtab.as_ref()?.shndx(index)
    }
    /// The symbol table's string table.
    pub fn symbol_strings(&self) -> &'a [u8] {
        self.symtab.as_ref().map_or(&[], SymbolTable::strings)
    }
    /// A string of the symbol table's string table.
    pub fn symbol_string(&self, offset: u32) -> Option<&'a [u8]> {
        self.symtab.as_ref()?.string(offset)
    }
    /// The relocations of a REL or RELA section.
    pub fn relocs(&self, section: &SectionRef<'a>) -> Result<Vec<Reloc>, ReadError> {
        Ok(self.reloc_table(section)?.iter().collect())
    }
    /// The relocations of a REL or RELA section, read as they are asked for.
    #[inline]
    pub fn reloc_table(&self, section: &SectionRef<'a>) -> Result<Relocs<'a>, ReadError> {
        self.relocs_in(section.index.0, section.entsize, section.data)
    }
    /// The same of a section of which the number, `sh_entsize` and bytes are known.
    #[inline]
    pub fn relocs_in(
        &self,
        section: u32,
        entsize: u64,
        data: &'a [u8],
    ) -> Result<Relocs<'a>, ReadError> {
        Relocs::read(self.sections.class(), section, entsize, data)
    }
    /// Reads another symbol table than `.symtab`: that of the Mercury half.
    pub fn symbol_table(&self, section: &SectionRef<'a>) -> Result<SymbolTable<'a>, ReadError> {
        SymbolTable::read(self.sections.class(), &self.sections, section, &Cubin::default())
    }
    /// The program headers.
    pub fn segments(&self) -> Result<Vec<Segment>, ReadError> {
        read_segments(self.bytes(), &self.header())
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
