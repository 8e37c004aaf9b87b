//! The section table of a file: the raw headers, with what checking them found.
//! A section is put together when it is asked for, as links have many thousands
//! and most phases want a field or two.

use crate::consts::{SectionType, shn};
use crate::half;
use crate::header::{Class, Header};
use crate::raw;
use crate::read::{ReadError, SectionIndex, SectionRef, slice};
use crate::tables::{NameBudget, string_at};
use std::ops::Range;
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A length that is not noted.
pub(crate) const UNKNOWN_LENGTH: u16 = u16::MAX;

/// A length of a name as it is noted.
pub(crate) fn noted_length(name: &[u8]) -> u16 {
    u16::try_from(name.len()).unwrap_or(UNKNOWN_LENGTH)
}

/// The string at `offset`, whose length was noted.
#[inline]
pub(crate) fn noted_string(table: &[u8], offset: u32, length: u16) -> Option<&[u8]> {
    match length {
        UNKNOWN_LENGTH => string_at(table, offset),
        length => table.get(offset as usize..offset as usize + usize::from(length)),
    }
}

#[derive(Clone, Copy, Debug)]
enum Headers<'a> {
    Elf32(&'a [raw::Shdr32]),
    Elf64(&'a [raw::Shdr64]),
}

impl Default for Headers<'_> {
    fn default() -> Self {
        Self::Elf64(&[])
    }
}

/// The sections of a file, all of them checked.
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    file: &'a [u8],
    headers: Headers<'a>,
    /// The section name table.
    names: &'a [u8],
    /// Lengths of the names: those of the sections, then those of the symbols.
    lengths: Arc<[u16]>,
    /// How each section is seen from the Mercury side, if it is.
    labels: Option<Arc<[half::Label]>>,
    /// Whether there is a `.symtab_shndx`.
    extended: bool,
}

impl<'a> Sections<'a> {
    /// Reads and checks the section table, and finds the first symbol table; the
    /// lengths have room for those of the names in that.
    pub(crate) fn read(
        file: &'a [u8],
        header: &Header,
    ) -> Result<(Self, Option<SectionRef<'a>>), ReadError> {
        if header.shoff == 0 {
            return Ok((Self { file, ..Self::default() }, None));
        }
        if header.shentsize != header.class.section_header_size() {
            return Err(ReadError::BadField {
                field: "e_shentsize",
                section: None,
                value: header.shentsize.into(),
            });
        }
        let headers = Headers::read(file, header)?;
        let (name_table, names) = headers.names(file, header)?;
        let mut all = 0..headers.len() as u32;
        let table = all.find(|&i| headers.kind(i) == Some(SectionType::SYMTAB));
        let symbols = match table.and_then(|i| headers.get(i)) {
            // The size is yet to be checked.
            Some(table) => table.size.min(file.len() as u64) / header.class.symbol_size(),
            None => 0,
        };
        let mut lengths: Arc<[u16]> =
            std::iter::repeat_n(0, headers.len() + symbols as usize).collect();
        let extended = match Arc::get_mut(&mut lengths) {
            Some(lengths) => headers.check(file, (name_table, names), lengths)?,
            None => false,
        };
        let sections = Self { file, headers, names, lengths, labels: None, extended };
        let table = table.and_then(|i| sections.get(i));
        Ok((sections, table))
    }

    /// The same sections as the Mercury side sees them.
    pub(crate) fn relabelled(&self, labels: Arc<[half::Label]>) -> Self {
        Self { labels: Some(labels), ..self.clone() }
    }

    /// The lengths of all names; they can be changed until the file is read.
    pub(crate) fn lengths(&mut self) -> &mut Arc<[u16]> {
        &mut self.lengths
    }

    /// Whether there is a `.symtab_shndx`, as only files with many sections have.
    pub(crate) fn are_extended(&self) -> bool {
        self.extended
    }
    /// The whole file.
    pub(crate) fn file(&self) -> &'a [u8] {
        self.file
    }
    /// Number of sections, the null section included.
    #[inline]
    pub fn len(&self) -> usize {
        self.headers.len()
    }
    /// Whether there is not even the null section.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The section with this index.
    #[inline]
    pub fn get(&self, index: u32) -> Option<SectionRef<'a>> {
        match (&self.labels, self.headers) {
            (None, Headers::Elf64(headers)) => self.plain(headers, index),
            _ => self.unusual(index),
        }
    }

    /// The section with this index, its name left out, which lies elsewhere in memory.
    #[inline]
    pub fn get_unnamed(&self, index: u32) -> Option<SectionRef<'a>> {
        match (&self.labels, self.headers) {
            (None, Headers::Elf64(headers)) => self.unnamed(headers, index),
            _ => self.unusual(index),
        }
    }

    /// A section as the file has it.
    #[inline]
    fn plain<H: SectionHeader>(&self, headers: &[H], index: u32) -> Option<SectionRef<'a>> {
        let section = self.unnamed(headers, index)?;
        let length = *self.lengths.get(index as usize)?;
        let name = noted_string(self.names, section.name_offset, length);
        Some(SectionRef { name: name.unwrap_or_default(), ..section })
    }

    /// The same without its name.
    #[inline]
    fn unnamed<H: SectionHeader>(&self, headers: &[H], index: u32) -> Option<SectionRef<'a>> {
        let section = headers.get(index as usize)?.widen(index);
        let (start, size) = (section.offset as usize, section.size as usize);
        let data = match has_bytes(section.kind) {
            true => self.file.get(start..start.wrapping_add(size)),
            false => None,
        };
        Some(SectionRef { data: data.unwrap_or_default(), ..section })
    }

    /// A section of a small file, or as the Mercury side sees it.
    fn unusual(&self, index: u32) -> Option<SectionRef<'a>> {
        let section = match self.headers {
            Headers::Elf32(headers) => self.plain(headers, index)?,
            Headers::Elf64(headers) => self.plain(headers, index)?,
        };
        match &self.labels {
            None => Some(section),
            Some(labels) => Some(half::seen(section, *labels.get(index as usize)?)),
        }
    }
    /// The type of the section with this index.
    #[inline]
    pub fn kind(&self, index: u32) -> Option<SectionType> {
        match self.labels {
            None => self.headers.kind(index),
            Some(_) => Some(self.get(index)?.kind),
        }
    }
    /// What tells the sections apart, without names and bytes, which cost most of
    /// what a section costs.
    #[inline]
    pub fn heads(&self) -> impl Iterator<Item = Head> {
        (0..self.len() as u32).filter_map(|i| self.head(i))
    }
    /// What tells the section with this index from others.
    #[inline]
    pub fn head(&self, index: u32) -> Option<Head> {
        match (&self.labels, self.headers) {
            (None, Headers::Elf64(headers)) => {
                Some(Head::of(&headers.get(index as usize)?.widen(index)))
            }
            _ => Some(Head::of(&self.unusual(index)?)),
        }
    }
    /// The types of all sections.
    #[inline]
    pub fn kinds(&self) -> impl Iterator<Item = SectionType> {
        (0..self.len() as u32).filter_map(|i| self.kind(i))
    }
    /// The sections of a type. The others cost next to nothing.
    pub fn of_kind(&self, kind: SectionType) -> impl Iterator<Item = SectionRef<'a>> {
        let indices = (0..self.len() as u32).filter(move |&i| self.kind(i) == Some(kind));
        indices.filter_map(|i| self.get(i))
    }
    /// The first section of a type.
    pub fn find(&self, kind: SectionType) -> Option<SectionRef<'a>> {
        self.of_kind(kind).next()
    }
    /// All sections in order.
    #[inline]
    pub fn iter(&self) -> Iter<'_, 'a> {
        Iter { sections: self, left: 0..self.len() as u32 }
    }
}

/// What tells a section from others.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Head {
    pub index: SectionIndex,
    pub kind: SectionType,
    pub flags: u64,
    pub info: u32,
    pub align: u64,
}

impl Head {
    #[inline]
    fn of(section: &SectionRef<'_>) -> Self {
        let &SectionRef { index, kind, flags, info, align, .. } = section;
        Self { index, kind, flags, info, align }
    }
}

impl<'s, 'a> IntoIterator for &'s Sections<'a> {
    type Item = SectionRef<'a>;
    type IntoIter = Iter<'s, 'a>;
    fn into_iter(self) -> Iter<'s, 'a> {
        self.iter()
    }
}

/// Sections in order.
#[derive(Clone, Debug)]
pub struct Iter<'s, 'a> {
    sections: &'s Sections<'a>,
    left: Range<u32>,
}

impl<'a> Iterator for Iter<'_, 'a> {
    type Item = SectionRef<'a>;
    #[inline]
    fn next(&mut self) -> Option<SectionRef<'a>> {
        self.sections.get(self.left.next()?)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
    fn nth(&mut self, n: usize) -> Option<SectionRef<'a>> {
        self.sections.get(self.left.nth(n)?)
    }
}

impl DoubleEndedIterator for Iter<'_, '_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.sections.get(self.left.next_back()?)
    }
}

impl ExactSizeIterator for Iter<'_, '_> {}

/// Whether sections of a type have bytes in the file.
#[inline]
fn has_bytes(kind: SectionType) -> bool {
    !kind.is_nobits() && kind != SectionType::NULL
}

/// The section headers alone, without names and bytes.
pub(crate) fn bare_sections(
    file: &[u8],
    header: &Header,
) -> Result<Vec<SectionRef<'static>>, ReadError> {
    if header.shoff == 0 {
        return Ok(Vec::new());
    }
    let headers = Headers::read(file, header)?;
    Ok((0..headers.len() as u32).filter_map(|i| headers.get(i)).collect())
}

impl<'a> Headers<'a> {
    fn read(file: &'a [u8], header: &Header) -> Result<Self, ReadError> {
        Ok(match header.class {
            Class::Elf32 => Self::Elf32(table(file, header)?),
            Class::Elf64 => Self::Elf64(table(file, header)?),
        })
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Elf32(h) => h.len(),
            Self::Elf64(h) => h.len(),
        }
    }

    /// The section with this index, without name and bytes.
    #[inline]
    fn get(&self, index: u32) -> Option<SectionRef<'static>> {
        Some(match self {
            Self::Elf32(h) => h.get(index as usize)?.widen(index),
            Self::Elf64(h) => h.get(index as usize)?.widen(index),
        })
    }

    /// The type of the section with this index.
    #[inline]
    fn kind(&self, index: u32) -> Option<SectionType> {
        Some(SectionType(match self {
            Self::Elf32(h) => h.get(index as usize)?.sh_type.get(),
            Self::Elf64(h) => h.get(index as usize)?.sh_type.get(),
        }))
    }

    /// The section name table and its index.
    fn names(&self, file: &'a [u8], header: &Header) -> Result<(u32, &'a [u8]), ReadError> {
        let index = match (u32::from(header.shstrndx), self.get(0)) {
            (shn::XINDEX, Some(first)) => first.link,
            (n, _) => n,
        };
        match self.get(index) {
            Some(s) if s.kind == SectionType::STRTAB => {
                Ok((index, slice(file, "section name table", Some(index), s.offset, s.size)?))
            }
            _ => {
                Err(ReadError::BadField { field: "e_shstrndx", section: None, value: index.into() })
            }
        }
    }

    /// Checks names and extents, and notes the lengths of the names; whether there is a
    /// `.symtab_shndx`.
    fn check(
        &self,
        file: &[u8],
        (name_table, names): (u32, &[u8]),
        lengths: &mut [u16],
    ) -> Result<bool, ReadError> {
        match self {
            Self::Elf32(h) => check(h, file, (name_table, names), lengths),
            Self::Elf64(h) => check(h, file, (name_table, names), lengths),
        }
    }
}

fn check<H: SectionHeader>(
    headers: &[H],
    file: &[u8],
    (name_table, names): (u32, &[u8]),
    lengths: &mut [u16],
) -> Result<bool, ReadError> {
    let mut extended = false;
    let mut budget = NameBudget::new(file.len(), headers.len());
    // The Mercury twins of data sections share their bytes, hence the factor.
    let (mut total, most) = (0_u64, 4 * file.len() as u64);
    for ((index, header), length) in headers.iter().enumerate().zip(lengths) {
        let section = header.widen(index as u32);
        let index = Some(section.index.0);
        let bad = || ReadError::BadField {
            field: "sh_name",
            section: index,
            value: section.name_offset.into(),
        };
        let name = string_at(names, section.name_offset).ok_or_else(bad)?;
        budget.take(name, name_table)?;
        *length = noted_length(name);
        extended |= section.kind == SectionType::SYMTAB_SHNDX;
        if has_bytes(section.kind) {
            slice(file, "data", index, section.offset, section.size)?;
            total = total.saturating_add(section.size);
            if total > most {
                return Err(ReadError::Overlap { total, size: file.len() as u64 });
            }
        }
    }
    Ok(extended)
}

/// A section header of either class.
trait SectionHeader: FromBytes + Immutable + KnownLayout + Unaligned {
    /// The header without name and bytes.
    fn widen(&self, index: u32) -> SectionRef<'static>;
}

macro_rules! section_header {
    ($raw:ty) => {
        impl SectionHeader for $raw {
            #[inline]
            fn widen(&self, index: u32) -> SectionRef<'static> {
                SectionRef {
                    index: SectionIndex(index),
                    name: &[],
                    name_offset: self.sh_name.get(),
                    kind: SectionType(self.sh_type.get()),
                    flags: self.sh_flags.get().into(),
                    addr: self.sh_addr.get().into(),
                    offset: self.sh_offset.get().into(),
                    size: self.sh_size.get().into(),
                    link: self.sh_link.get(),
                    info: self.sh_info.get(),
                    align: self.sh_addralign.get().into(),
                    entsize: self.sh_entsize.get().into(),
                    data: &[],
                }
            }
        }
    };
}
section_header!(raw::Shdr32);
section_header!(raw::Shdr64);

/// The section header table, whose length section 0 gives when there are too
/// many sections for `e_shnum`.
fn table<'a, H: SectionHeader>(data: &'a [u8], header: &Header) -> Result<&'a [H], ReadError> {
    let what = "section header table";
    let entry = u64::from(header.shentsize);
    let first = slice(data, what, None, header.shoff, entry)?;
    let first = H::ref_from_bytes(first).map_err(|_| ReadError::NotElf)?.widen(0);
    let count = match header.shnum {
        0 => first.size,
        n => n.into(),
    };
    let too_many = ReadError::BadField { field: "section count", section: None, value: count };
    let size = count.checked_mul(entry).filter(|_| count <= u32::MAX.into()).ok_or(too_many)?;
    let table = slice(data, what, None, header.shoff, size)?;
    <[H]>::ref_from_bytes(table).map_err(|_| ReadError::NotElf)
}
