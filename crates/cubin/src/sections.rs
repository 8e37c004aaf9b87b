//! The section table of a file: the raw headers and the results of checking them. A [`SectionRef`]
//! is built on access: links have many thousands of sections, and most phases need only one or two
//! fields.

use crate::consts::{SectionType, shn};
use crate::entries::{SectionIndex, SectionRef};
use crate::error::{ReadError, slice};
use crate::header::{Class, Header};
use crate::label::{self, Label};
use crate::raw;
use crate::strings::{are_names_short, check_name_lengths, string_at, terminated};
use std::ops::Range;
use std::sync::Arc;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

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

/// The checked sections of a file.
#[derive(Clone, Debug, Default)]
pub struct Sections<'a> {
    file: &'a [u8],
    headers: Headers<'a>,
    /// The section name table, up to its last NUL.
    names: &'a [u8],
    /// How the Mercury half presents each section; `None` for a file as it is.
    labels: Option<Arc<[Label]>>,
    /// Whether there is a `.symtab_shndx`.
    extended: bool,
}

impl<'a> Sections<'a> {
    /// Reads and checks the section table, and finds the first symbol table. `checked` are the
    /// sections of another file, and which of them is its symbol table.
    pub(crate) fn read(
        file: &'a [u8],
        header: &Header,
        (checked, checked_symbols): (&Self, Option<SectionIndex>),
    ) -> Result<(Self, Option<SectionRef<'a>>), ReadError> {
        if header.shoff == 0 {
            return Ok((Self { file, ..Self::default() }, None));
        }
        let headers = Headers::read(file, header)?;
        let (name_table, names) = headers.names(file, header)?;
        let names = terminated(names);
        let mut sections = Self { file, headers, names, labels: None, extended: false };
        let found = if sections.passes_checks_of(checked) {
            sections.headers = checked.headers;
            let symbols = checked_symbols.map(|section| section.0);
            Found { symbols, extended: checked.extended }
        } else {
            headers.check(file, (name_table, names))?
        };
        sections.extended = found.extended;
        let table = found.symbols.and_then(|i| sections.get_unnamed(i));
        Ok((sections, table))
    }

    /// The same sections as the Mercury half presents them.
    pub(crate) fn relabelled(&self, labels: Arc<[Label]>) -> Self {
        Self { labels: Some(labels), ..self.clone() }
    }

    /// Whether the checks of `others` hold for these sections as well: the headers are equal, and
    /// the file and the name table are at least as long.
    pub(crate) fn passes_checks_of(&self, others: &Sections<'_>) -> bool {
        let (Headers::Elf64(these), Headers::Elf64(those)) = (self.headers, others.headers) else {
            return false;
        };
        others.labels.is_none()
            && self.file.len() >= others.file.len()
            && self.names.len() >= others.names.len()
            && are_names_short(self.file.len(), self.names.len(), these.len())
            && these.as_bytes() == those.as_bytes()
    }

    /// Compares with the sections of another file: whether the headers are equal; `None` if they
    /// differ in more than names, offsets and sizes.
    pub(crate) fn likeness(&self, other: &Sections<'_>) -> Option<bool> {
        let (Headers::Elf64(these), Headers::Elf64(those)) = (self.headers, other.headers) else {
            return None;
        };
        if self.labels.is_some() || other.labels.is_some() || these.len() != those.len() {
            return None;
        }
        // In field order, so that adjacent fields are compared together.
        let like = |(a, b): (&raw::Shdr64, &raw::Shdr64)| {
            a.sh_type == b.sh_type
                && a.sh_flags == b.sh_flags
                && a.sh_link == b.sh_link
                && a.sh_info == b.sh_info
                && a.sh_addralign == b.sh_addralign
                && a.sh_entsize == b.sh_entsize
        };
        let same = std::ptr::eq(these, those) || these.as_bytes() == those.as_bytes();
        (same || these.iter().zip(those).all(like)).then_some(same)
    }

    /// Whether there is a `.symtab_shndx`; only files with many sections have one.
    pub(crate) fn are_extended(&self) -> bool {
        self.extended
    }
    /// The class of the file; 64 bits if it has no sections.
    #[inline]
    pub(crate) fn class(&self) -> Class {
        match self.headers {
            Headers::Elf32(_) => Class::Elf32,
            Headers::Elf64(_) => Class::Elf64,
        }
    }
    /// The whole file.
    pub(crate) fn file(&self) -> &'a [u8] {
        self.file
    }
    /// Number of sections, including the null section.
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
            _ => self.get_slow(index),
        }
    }

    /// The section with this index, without its name: reading the name would touch other memory.
    #[inline]
    pub fn get_unnamed(&self, index: u32) -> Option<SectionRef<'a>> {
        match (&self.labels, self.headers) {
            (None, Headers::Elf64(headers)) => self.unnamed(headers, index),
            (None, Headers::Elf32(headers)) => self.unnamed(headers, index),
            _ => self.get_slow(index),
        }
    }

    /// A section of the file, unlabelled.
    #[inline]
    fn plain<H: SectionHeader>(&self, headers: &[H], index: u32) -> Option<SectionRef<'a>> {
        let section = self.unnamed(headers, index)?;
        let name = string_at(self.names, section.name_offset);
        Some(SectionRef { name: name.unwrap_or_default(), ..section })
    }

    /// The same without its name.
    #[inline]
    fn unnamed<H: SectionHeader>(&self, headers: &[H], index: u32) -> Option<SectionRef<'a>> {
        Some(self.with_data(headers.get(index as usize)?.widen(index)))
    }

    #[inline]
    fn with_data(&self, section: SectionRef<'static>) -> SectionRef<'a> {
        let (start, size) = (section.offset as usize, section.size as usize);
        let data = match section.kind.has_bytes() {
            true => self.file.get(start..start.wrapping_add(size)),
            false => None,
        };
        SectionRef { data: data.unwrap_or_default(), ..section }
    }

    /// A section of a 32-bit file or of a Mercury half.
    fn get_slow(&self, index: u32) -> Option<SectionRef<'a>> {
        let section = match self.headers {
            Headers::Elf32(headers) => self.plain(headers, index)?,
            Headers::Elf64(headers) => self.plain(headers, index)?,
        };
        match &self.labels {
            None => Some(section),
            Some(labels) => Some(label::apply(section, *labels.get(index as usize)?)),
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
    /// All sections in order, without their names, which are the most expensive part to read.
    pub fn iter_unnamed(&self) -> impl Iterator<Item = SectionRef<'a>> {
        (0..self.len() as u32).filter_map(|i| self.get_unnamed(i))
    }
    /// The same for a 64-bit file that is not a Mercury half; this is checked only once.
    #[inline]
    pub fn plain_unnamed(&self) -> Option<impl Iterator<Item = SectionRef<'a>>> {
        match (&self.labels, self.headers) {
            (None, Headers::Elf64(headers)) => {
                Some((0..).zip(headers).map(|(i, header)| self.with_data(header.widen(i))))
            }
            _ => None,
        }
    }
    /// Type, flags and `sh_info` of the section with this index, which determine whether it is code
    /// and whose.
    #[inline]
    pub fn owner_of(&self, index: u32) -> Option<(SectionType, u64, u32)> {
        let section = match (&self.labels, self.headers) {
            (None, Headers::Elf64(headers)) => headers.get(index as usize)?.widen(index),
            _ => self.get_slow(index)?,
        };
        Some((section.kind, section.flags, section.info))
    }
    /// Whether the section name table has this name at this offset.
    pub fn is_named(&self, name_offset: u32, name: &[u8]) -> bool {
        let rest = self.names.get(name_offset as usize..);
        let rest = rest.and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }
    /// The types of all sections.
    #[inline]
    pub fn kinds(&self) -> impl Iterator<Item = SectionType> {
        (0..self.len() as u32).filter_map(|i| self.kind(i))
    }
    /// The sections of a type. Skipping the others is cheap.
    pub fn of_kind(&self, kind: SectionType) -> impl Iterator<Item = SectionRef<'a>> {
        self.indices_of_kind(kind).filter_map(|i| self.get(i))
    }
    /// The sections of a type, without their names.
    pub(crate) fn unnamed_of_kind(
        &self,
        kind: SectionType,
    ) -> impl Iterator<Item = SectionRef<'a>> {
        self.indices_of_kind(kind).filter_map(|i| self.get_unnamed(i))
    }
    fn indices_of_kind(&self, kind: SectionType) -> impl Iterator<Item = u32> {
        (0..self.len() as u32).filter(move |&i| self.kind(i) == Some(kind))
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

/// Reads a single section of an otherwise unchecked file.
pub(crate) fn lone_section<'a>(
    file: &'a [u8],
    header: &Header,
    index: u32,
) -> Option<SectionRef<'a>> {
    let headers = Headers::read(file, header).ok()?;
    let (_, names) = headers.names(file, header).ok()?;
    let section = headers.get(index)?;
    let name = string_at(names, section.name_offset)?;
    let data = match section.kind.has_bytes() {
        true => slice(file, "data", Some(index), section.offset, section.size).ok()?,
        false => &[],
    };
    Some(SectionRef { name, data, ..section })
}

/// The bytes of the first section of a kind, if they can be read.
pub(crate) fn section_of_kind<'a>(
    file: &'a [u8],
    header: &Header,
    kind: SectionType,
) -> Option<&'a [u8]> {
    let headers = Headers::read(file, header).ok()?;
    let mut sections = (0..headers.len() as u32).filter_map(|index| headers.get(index));
    let section = sections.find(|section| section.kind == kind)?;
    slice(file, "data", None, section.offset, section.size).ok()
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
        if header.shentsize != header.class.section_header_size() {
            return Err(ReadError::BadField {
                field: "e_shentsize",
                section: None,
                value: header.shentsize.into(),
            });
        }
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

    /// Checks names and extents.
    fn check(&self, file: &[u8], names: (u32, &[u8])) -> Result<Found, ReadError> {
        match self {
            Self::Elf32(h) => check(h, file, names),
            Self::Elf64(h) => check(h, file, names),
        }
    }
}

/// Results of checking all headers.
#[derive(Default)]
struct Found {
    /// The first symbol table.
    symbols: Option<u32>,
    /// Whether there is a `.symtab_shndx`.
    extended: bool,
}

fn check<H: SectionHeader>(
    headers: &[H],
    file: &[u8],
    (name_table, names): (u32, &[u8]),
) -> Result<Found, ReadError> {
    let offsets = headers.iter().map(|header| header.widen(0).name_offset);
    check_name_lengths(file.len(), name_table, names, offsets)?;
    let mut found = Found::default();
    // The Mercury counterparts of data sections share their bytes, hence the factor.
    let (mut total, most) = (0_u64, 4 * file.len() as u64);
    for (index, header) in headers.iter().enumerate() {
        let section = header.widen(index as u32);
        let index = Some(section.index.0);
        if section.name_offset as usize >= names.len() {
            let value = section.name_offset.into();
            return Err(ReadError::BadField { field: "sh_name", section: index, value });
        }
        match section.kind {
            SectionType::SYMTAB if found.symbols.is_none() => found.symbols = index,
            SectionType::SYMTAB_SHNDX => found.extended = true,
            _ => {}
        }
        if section.kind.has_bytes() {
            slice(file, "data", index, section.offset, section.size)?;
            total = total.saturating_add(section.size);
            if total > most {
                return Err(ReadError::Overlap { total, size: file.len() as u64 });
            }
        }
    }
    Ok(found)
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

/// The section header table. Section 0 gives its length if there are too many sections for
/// `e_shnum`.
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
