//! Reading a device ELF: a validated view that borrows the file's bytes.

use crate::consts::{EM_CUDA, SymbolType};
use crate::entries::{Reloc, SectionIndex, SectionRef, Segment, SymbolRef};
use crate::error::ReadError;
use crate::header::Header;
use crate::label::Label;
use crate::sections::Sections;
use crate::tables::{Relocs, SymbolTable, read_segments};
use std::sync::Arc;

/// What two similar files have in common. Both have the same sections and symbols in the same
/// order, as files from one compiler often do; they differ at most in names, offsets and sizes.
#[derive(Clone, Copy, Debug)]
pub struct Likeness {
    /// The section tables are byte-identical: sections have the same offsets, sizes and name
    /// offsets.
    pub same_sections: bool,
    /// Symbols have the same values, sizes and name offsets.
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

    /// Like [`Cubin::parse`], for a file whose tables may equal those of another one, as is common
    /// for files from one compiler. Equal tables are not checked again, and the first file's tables
    /// are used in their place, so that the tables of many files are in the cache when they are
    /// read.
    pub fn parse_after(data: &'a [u8], before: &Cubin<'a>) -> Result<Self, ReadError> {
        let header = Header::parse(data)?;
        if header.machine != EM_CUDA {
            return Err(ReadError::NotDevice { machine: header.machine });
        }
        let checked = (&before.sections, before.symtab_section());
        let (sections, table) = Sections::read(data, &header, checked)?;
        let checked = before.symtab.as_ref().map(|table| (&before.sections, table));
        let symtab = match table {
            Some(s) => Some(SymbolTable::read(&sections, &s, checked)?),
            None => None,
        };
        Ok(Self { sections, symtab })
    }

    /// The same file with these section labels and another symbol table.
    pub(crate) fn relabelled(&self, labels: Arc<[Label]>, symtab: SymbolTable<'a>) -> Self {
        let sections = self.sections.relabelled(labels);
        Self { sections, symtab: Some(symtab) }
    }

    /// Compares two files. `None` if they are not similar, or if one of them is a 32-bit file or a
    /// Mercury half.
    pub fn likeness(&self, other: &Cubin<'_>) -> Option<Likeness> {
        let same_sections = self.sections.likeness(&other.sections)?;
        let same_symbols = self.symtab.as_ref()?.likeness(other.symtab.as_ref()?)?;
        Some(Likeness { same_sections, same_symbols })
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.sections.file()
    }
    /// The file header. It is parsed again: links have many files and rarely need it.
    pub fn header(&self) -> Header {
        Header::parse(self.bytes()).unwrap_or_default()
    }
    /// All sections, including the null section.
    #[inline]
    pub fn sections(&self) -> &Sections<'a> {
        &self.sections
    }
    /// The section with this index.
    #[inline]
    pub fn section(&self, index: u32) -> Option<SectionRef<'a>> {
        self.sections.get(index)
    }
    /// The section with this index, without its name: reading the name would touch other memory.
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
    /// Number of symbols, including the null symbol.
    #[inline]
    pub fn symbol_count(&self) -> usize {
        self.symtab.as_ref().map_or(0, SymbolTable::len)
    }
    /// The symbol with this index.
    #[inline]
    pub fn symbol(&self, index: u32) -> Option<SymbolRef<'a>> {
        self.symtab.as_ref()?.get(index)
    }
    /// The symbol with this index, without its name: reading the name would touch other memory.
    #[inline]
    pub fn unnamed_symbol(&self, index: u32) -> Option<SymbolRef<'a>> {
        self.symtab.as_ref()?.get_unnamed(index)
    }
    /// All symbols in table order, including the null symbol.
    #[inline]
    pub fn symbols(&self) -> impl Iterator<Item = SymbolRef<'a>> + '_ {
        (0..self.symbol_count() as u32).filter_map(|i| self.symbol(i))
    }
    /// Whether the symbol with this index has this name.
    pub fn symbol_is_named(&self, index: u32, name: &[u8]) -> bool {
        self.symtab.as_ref().is_some_and(|table| table.is_named(index, name))
    }
    /// The type of a symbol; does not read its name.
    #[inline]
    pub fn symbol_kind(&self, index: u32) -> Option<SymbolType> {
        let (info, _) = self.symtab.as_ref()?.info_and_other(index)?;
        Some(SymbolType(info & 15))
    }
    /// [`SymbolRef::shndx`] of a symbol; does not read its name.
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
    /// The relocations of a REL or RELA section, decoded on access.
    #[inline]
    pub fn reloc_table(&self, section: &SectionRef<'a>) -> Result<Relocs<'a>, ReadError> {
        self.relocs_in(section.index.0, section.entsize, section.data)
    }
    /// The same, given the index, `sh_entsize` and bytes of the section.
    #[inline]
    pub fn relocs_in(
        &self,
        section: u32,
        entsize: u64,
        data: &'a [u8],
    ) -> Result<Relocs<'a>, ReadError> {
        Relocs::read(self.sections.class(), section, entsize, data)
    }
    /// Reads a symbol table other than `.symtab`: that of the Mercury half.
    pub fn symbol_table(&self, section: &SectionRef<'a>) -> Result<SymbolTable<'a>, ReadError> {
        SymbolTable::read(&self.sections, section, None)
    }
    /// The program headers.
    pub fn segments(&self) -> Result<Vec<Segment>, ReadError> {
        read_segments(self.bytes(), &self.header())
    }
}
