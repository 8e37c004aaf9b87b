//! Writes a model to any sink.

use super::error::WriteError;
use super::layout::{Extent, Layout, Part};
use super::sink::Sink;
use super::{Content, Image, Section, Symbol};
use crate::encode::{SectionHeader, fits_header};
use crate::entries::Reloc;
use crate::header::Class;
use crate::note;
use crate::raw;
use std::borrow::Cow;
use std::io;
use zerocopy::IntoBytes;

impl Image<'_> {
    /// The size of the file, without writing it.
    pub fn serialized_size(&self) -> Result<u64, WriteError> {
        Ok(self.layout()?.size)
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        let size = usize::try_from(self.serialized_size()?).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let room = bytes.try_reserve_exact(size);
        room.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        self.write(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes the file.
    pub fn write(&self, sink: &mut impl Sink) -> Result<(), WriteError> {
        let layout = self.layout()?;
        let extents = self.extents(&layout)?;
        self.check_shared(&extents)?;
        let header = self.encode_header(&layout)?;
        let section_headers = self.encode_section_headers(&layout)?;
        let program_headers = self.encode_program_headers()?;
        let mut position = 0;
        for extent in extents {
            // Only a section that shares the previous one's bytes starts before this position.
            let Some(gap) = extent.start.checked_sub(position) else { continue };
            let bytes = match extent.part {
                Part::Header => Cow::Borrowed(&header[..]),
                Part::SectionHeaders => Cow::Borrowed(&section_headers[..]),
                Part::ProgramHeaders => Cow::Borrowed(&program_headers[..]),
                Part::Filler(i) => Cow::Borrowed(&*self.fillers[i].bytes),
                Part::Section(i) => self.encode_section(i)?,
            };
            sink.write_zeros(gap)?;
            sink.write(&bytes)?;
            position = extent.end;
        }
        Ok(())
    }

    fn encode_section(&self, index: usize) -> Result<Cow<'_, [u8]>, WriteError> {
        let class = self.header.class;
        let content = &self.sections[index].content;
        let bytes = content.encode(class).ok_or(WriteError::TooLarge { field: "entry" })?;
        let (expected, actual) = (content.size(class), bytes.len() as u64);
        if expected != actual {
            return Err(WriteError::SizeMismatch { section: index as u32, expected, actual });
        }
        Ok(bytes)
    }

    /// Checks that parts with the same file range have the same bytes.
    fn check_shared(&self, extents: &[Extent]) -> Result<(), WriteError> {
        for pair in extents.windows(2).filter(|p| p[0].start == p[1].start) {
            match (pair[0].part, pair[1].part) {
                (Part::Section(a), Part::Section(b)) => {
                    if self.encode_section(a)? != self.encode_section(b)? {
                        return Err(WriteError::SharedData { section: b as u32 });
                    }
                }
                _ => return Err(WriteError::Overlap { offset: pair[1].start }),
            }
        }
        Ok(())
    }

    /// `e_shnum`: 0 if there are too many sections or the null section holds their number anyway.
    fn section_count(&self) -> Result<u16, WriteError> {
        let count = self.sections.len() as u64;
        let Some(null) = self.sections.first() else {
            return Ok(self.header.shnum);
        };
        let recorded = null.content.size(self.header.class);
        match u16::try_from(count) {
            Ok(n) if fits_header(n.into()) && (self.header.shnum != 0 || recorded == 0) => Ok(n),
            _ if recorded == count => Ok(0),
            _ => Err(WriteError::SizeMismatch { section: 0, expected: count, actual: recorded }),
        }
    }

    fn encode_header(&self, layout: &Layout) -> Result<Vec<u8>, WriteError> {
        let mut header = self.header;
        header.shoff = layout.section_headers;
        header.phoff = layout.program_headers;
        header.shnum = self.section_count()?;
        header.phnum = u16::try_from(self.segments.len())
            .map_err(|_| WriteError::TooLarge { field: "e_phnum" })?;
        let mut out = Vec::new();
        header
            .append(header.class, &mut out)
            .ok_or(WriteError::TooLarge { field: "file header" })?;
        Ok(out)
    }

    fn encode_section_headers(&self, layout: &Layout) -> Result<Vec<u8>, WriteError> {
        let class = self.header.class;
        let mut out =
            Vec::with_capacity(self.sections.len() * usize::from(class.section_header_size()));
        for (section, &offset) in self.sections.iter().zip(&layout.sections) {
            let header = section.header(class, offset);
            header
                .append(class, &mut out)
                .ok_or(WriteError::TooLarge { field: "section header" })?;
        }
        Ok(out)
    }

    fn encode_program_headers(&self) -> Result<Vec<u8>, WriteError> {
        let mut out = Vec::new();
        for segment in &self.segments {
            segment
                .append(self.header.class, &mut out)
                .ok_or(WriteError::TooLarge { field: "program header" })?;
        }
        Ok(out)
    }
}

impl Section<'_> {
    fn header(&self, class: Class, offset: u64) -> SectionHeader {
        SectionHeader {
            name: self.name,
            kind: self.kind,
            flags: self.flags,
            addr: self.addr,
            offset,
            size: self.content.size(class),
            link: self.link,
            info: self.info,
            align: self.align,
            entsize: self.entsize,
        }
    }
}

impl Content<'_> {
    /// The section's bytes; `None` if an entry does not fit the class, or if
    /// only some relocations have addends.
    pub fn encode(&self, class: Class) -> Option<Cow<'_, [u8]>> {
        Some(match self {
            Self::NoBits(_) => Cow::Borrowed(&[]),
            Self::Bytes(bytes) => Cow::Borrowed(bytes),
            Self::Strings(table) => Cow::Borrowed(table.as_bytes()),
            Self::Pairs(pairs) => Cow::Borrowed(pairs.as_bytes()),
            Self::RelActions(actions) => actions.to_bytes().into(),
            Self::Capsule(capsule) => capsule.to_bytes().into(),
            Self::Symbols(symbols) => {
                let mut out = Vec::new();
                symbols.iter().try_for_each(|s| encode_symbol(s, class, &mut out))?;
                out.into()
            }
            Self::Relocations(relocs) => {
                let addends = relocs.first().is_some_and(|r| r.addend.is_some());
                let mut out = Vec::new();
                for r in relocs {
                    if r.addend.is_some() != addends {
                        return None;
                    }
                    encode_reloc(r, class, &mut out)?;
                }
                out.into()
            }
            Self::Records(records) => {
                let mut out = Vec::new();
                records.iter().for_each(|r| r.write(&mut out));
                out.into()
            }
            Self::Notes(notes) => {
                let mut out = Vec::new();
                for n in notes {
                    if n.owner != note::OWNER {
                        return None;
                    }
                    note::write_note(n.kind, n.desc, &mut out);
                }
                out.into()
            }
        })
    }
}

fn encode_symbol(s: &Symbol, class: Class, out: &mut Vec<u8>) -> Option<()> {
    macro_rules! narrow {
        ($raw:ident) => {
            out.extend_from_slice(
                raw::$raw {
                    st_name: s.name.into(),
                    st_info: s.info,
                    st_other: s.other,
                    st_shndx: s.shndx.into(),
                    st_value: raw::word(s.value)?,
                    st_size: raw::word(s.size)?,
                }
                .as_bytes(),
            )
        };
    }
    match class {
        Class::Elf32 => narrow!(Sym32),
        Class::Elf64 => narrow!(Sym64),
    }
    Some(())
}

fn encode_reloc(r: &Reloc, class: Class, out: &mut Vec<u8>) -> Option<()> {
    let (r_type, r_sym) = (r.kind.0.into(), r.symbol.0.into());
    let r_info = || {
        let fits = r.kind.0 <= 0xff && r.symbol.0 <= 0xff_ffff;
        fits.then_some(((r.symbol.0 << 8) | r.kind.0).into())
    };
    match (class, r.addend) {
        (Class::Elf64, Some(addend)) => {
            let r_offset = r.offset.into();
            let rela = raw::Rela64 { r_offset, r_type, r_sym, r_addend: addend.into() };
            out.extend_from_slice(rela.as_bytes());
        }
        (Class::Elf64, None) => {
            let rel = raw::Rel64 { r_offset: r.offset.into(), r_type, r_sym };
            out.extend_from_slice(rel.as_bytes());
        }
        (Class::Elf32, Some(addend)) => {
            let r_addend = i32::try_from(addend).ok()?.into();
            let rela = raw::Rela32 { r_offset: raw::word(r.offset)?, r_info: r_info()?, r_addend };
            out.extend_from_slice(rela.as_bytes());
        }
        (Class::Elf32, None) => {
            let rel = raw::Rel32 { r_offset: raw::word(r.offset)?, r_info: r_info()? };
            out.extend_from_slice(rel.as_bytes());
        }
    }
    Some(())
}
