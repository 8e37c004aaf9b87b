//! A whole file as values that can be modified and written back.
//!
//! [`Image::from_cubin`] reads a file, [`Image::write`] writes it to any [`Sink`]; an unmodified
//! file is reproduced byte for byte. Sections of known formats are decoded into records, unless
//! encoding these would not reproduce the bytes.
//!
//! This is the library's own writer, for its users and tests. A linker knows its output before
//! writing and can assemble it from [`crate::encode`] and [`crate::raw`] in one pass.

mod error;
mod layout;
mod sink;
mod write;

pub use error::WriteError;
pub use layout::{Layout, Placement};
pub use sink::{Callback, Counter, Memory, Sink, Stream};

use crate::callgraph;
use crate::capsule::Capsule;
use crate::classify::{self, SectionClass};
use crate::consts::SectionType;
use crate::entries::{Reloc, SectionRef, Segment};
use crate::error::ReadError;
use crate::header::{Class, Header};
use crate::info::{self, Record};
use crate::note::{self, Note};
use crate::raw::Pair;
use crate::read::Cubin;
use crate::relaction::RelActions;
use std::borrow::Cow;

/// A device ELF file.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The file header. Writing computes `phoff`, `shoff`, `phnum` and
    /// `shnum`.
    pub header: Header,
    /// All sections, including the null section.
    pub sections: Vec<Section<'a>>,
    pub segments: Vec<Segment>,
    /// Offset of the section headers; by default after the last section.
    pub section_headers: Placement,
    /// Offset of the program headers; by default after the section headers.
    pub program_headers: Placement,
    /// Nonzero bytes outside of all parts, and bytes after the last part.
    pub fillers: Vec<Filler<'a>>,
}

/// Bytes at a fixed offset outside of all parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filler<'a> {
    pub offset: u64,
    pub bytes: Cow<'a, [u8]>,
}

/// A section.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// Offset of the name in the section name table.
    pub name: u32,
    pub kind: SectionType,
    pub flags: u64,
    pub addr: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entsize: u64,
    pub content: Content<'a>,
    pub placement: Placement,
}

/// What a section holds.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// No bytes in the file, but a size.
    NoBits(u64),
    /// Code, data, and everything else that is not decoded.
    Bytes(Cow<'a, [u8]>),
    Strings(StringTable<'a>),
    Symbols(Vec<Symbol>),
    /// Relocations; all of them have an addend, or none has.
    Relocations(Vec<Reloc>),
    /// `.nv.info*` and `.nv.compat`.
    Records(Vec<Record<'a>>),
    /// `.nv.callgraph` and `.nv.prototype`.
    Pairs(Vec<Pair>),
    /// Notes with NVIDIA's owner.
    Notes(Vec<Note<'a>>),
    /// `.nv.rel.action`.
    RelActions(RelActions<'a>),
    /// `.nv.capmerc.text.*`.
    Capsule(Capsule<'a>),
}

/// A symbol as stored in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Offset of the name in the linked string table.
    pub name: u32,
    pub info: u8,
    pub other: u8,
    /// As stored: `SHN_XINDEX` if the index is in `.symtab_shndx`.
    pub shndx: u16,
    pub value: u64,
    pub size: u64,
}

/// NUL-terminated strings, addressed by offset. The tables of NVIDIA's tools also contain the names
/// of removed sections and symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StringTable<'a> {
    bytes: Cow<'a, [u8]>,
}

impl<'a> StringTable<'a> {
    /// A table with these bytes.
    pub fn new(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { bytes: bytes.into() }
    }
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The string at `offset`.
    pub fn get(&self, offset: u32) -> Option<&[u8]> {
        crate::strings::string_at(&self.bytes, offset)
    }
    /// Appends a string and returns its offset; `None` if the table would exceed 4 GiB or the
    /// string contains a NUL.
    pub fn add(&mut self, string: &[u8]) -> Option<u32> {
        let offset = u32::try_from(self.bytes.len()).ok()?;
        u32::try_from(self.bytes.len() + string.len() + 1).ok()?;
        if string.contains(&0) {
            return None;
        }
        let bytes = self.bytes.to_mut();
        bytes.extend_from_slice(string);
        bytes.push(0);
        Some(offset)
    }
}

/// Why a file cannot be modelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Parts of the file overlap in a way no tool writes.
    #[error(transparent)]
    Layout(#[from] WriteError),
}

impl<'a> Image<'a> {
    /// The model of a file.
    pub fn from_cubin(cubin: &Cubin<'a>) -> Result<Self, ModelError> {
        let header = cubin.header();
        let placements = layout::placements(cubin);
        let sections =
            cubin.sections().iter().zip(placements.sections).map(|(s, placement)| Section {
                name: s.name_offset,
                kind: s.kind,
                flags: s.flags,
                addr: s.addr,
                link: s.link,
                info: s.info,
                align: s.align,
                entsize: s.entsize,
                content: content(cubin, &s),
                placement,
            });
        let mut image = Self {
            header,
            sections: sections.collect(),
            segments: cubin.segments()?,
            section_headers: placements.section_headers,
            program_headers: placements.program_headers,
            fillers: Vec::new(),
        };
        image.fillers = layout::fillers(&image, cubin.bytes())?;
        Ok(image)
    }

    /// The name of a section.
    pub fn section_name(&self, section: &Section<'_>) -> Option<&[u8]> {
        let index = match (self.header.shstrndx, self.sections.first()) {
            (0xffff, Some(null)) => null.link as usize,
            (n, _) => n.into(),
        };
        match &self.sections.get(index)?.content {
            Content::Strings(table) => table.get(section.name),
            _ => None,
        }
    }
}

/// The decoded contents, or the bytes if encoding would not reproduce them.
fn content<'a>(cubin: &Cubin<'a>, s: &SectionRef<'a>) -> Content<'a> {
    if s.kind.is_nobits() || s.kind == SectionType::NULL {
        return Content::NoBits(s.size);
    }
    let class = cubin.header().class;
    match typed(cubin, s) {
        Some(content) if content.encode(class).is_some_and(|b| *b == *s.data) => content,
        _ => Content::Bytes(s.data.into()),
    }
}

fn typed<'a>(cubin: &Cubin<'a>, s: &SectionRef<'a>) -> Option<Content<'a>> {
    Some(match classify::section(s).class {
        SectionClass::Strings => Content::Strings(StringTable::new(s.data)),
        SectionClass::Symbols => Content::Symbols(symbols(cubin, s)?),
        SectionClass::Relocations { .. } | SectionClass::ResolvedRela => {
            Content::Relocations(cubin.relocs(s).ok()?)
        }
        SectionClass::Info(_) | SectionClass::Compat => {
            Content::Records(info::records(s.data).collect::<Result<_, _>>().ok()?)
        }
        SectionClass::CallGraph | SectionClass::Prototype => {
            Content::Pairs(callgraph::pairs(s.data).ok()?.to_vec())
        }
        SectionClass::Note(_) => {
            Content::Notes(note::notes(s.data).collect::<Result<_, _>>().ok()?)
        }
        SectionClass::RelAction => Content::RelActions(RelActions::parse(s.data).ok()?),
        SectionClass::Capsule(_) => Content::Capsule(Capsule::parse(s.data).ok()?),
        _ => return None,
    })
}

fn symbols<'a>(cubin: &Cubin<'a>, s: &SectionRef<'a>) -> Option<Vec<Symbol>> {
    let table = cubin.symbol_table(s).ok()?;
    let symbol = |i| {
        let s = table.get(i)?;
        let (name, info, other) = (s.name_offset, s.info, s.other);
        Some(Symbol { name, info, other, shndx: table.raw_shndx(i)?, value: s.value, size: s.size })
    };
    (0..table.len() as u32).map(symbol).collect()
}

impl Content<'_> {
    /// Size in the section header.
    pub fn size(&self, class: Class) -> u64 {
        let bytes = match self {
            Self::NoBits(size) => return *size,
            Self::Symbols(list) => return list.len() as u64 * class.symbol_size(),
            Self::Relocations(list) => {
                let addend = list.first().is_some_and(|r| r.addend.is_some());
                return list.len() as u64 * class.reloc_size(addend);
            }
            Self::Bytes(bytes) => bytes.len(),
            Self::Strings(table) => table.as_bytes().len(),
            Self::Records(list) => list.iter().map(Record::size).sum(),
            Self::Pairs(list) => list.len() * size_of::<Pair>(),
            Self::Notes(list) => list.iter().map(Note::size).sum(),
            Self::RelActions(actions) => 8 + 8 * actions.actions.len(),
            Self::Capsule(capsule) => capsule.size(),
        };
        bytes as u64
    }

    /// Size in the file.
    pub fn file_size(&self, class: Class) -> u64 {
        match self {
            Self::NoBits(_) => 0,
            _ => self.size(class),
        }
    }
}
