//! Sections as most phases ask for them. Headers have 64 bytes each, and are long out of the
//! cache when a phase comes to them: what is asked for is noted once, in nine bytes.

use super::Object;
use cubin::tables::Relocs;
use cubin::{ReadError, SectionRef, SectionType};

/// A section without its name and links.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Its number.
    pub index: u32,
    /// `sh_type`.
    pub kind: SectionType,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_size`.
    pub size: u64,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entsize: u64,
    /// Its bytes; none if it has no bits.
    pub data: &'a [u8],
}

/// Where a section is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    start: u32,
    size: u32,
}

/// What else is noted of sections. Those of many inputs have a few different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    kind: SectionType,
    flags: u64,
    align: u64,
    entsize: u64,
}

/// In place of the start: there are no bytes.
const NO_BYTES: u32 = u32::MAX;
/// In place of the size: it or the start does not fit.
const UNUSUAL: u32 = u32::MAX;
/// So many shapes are noted, so that looking for one costs little; the number of all others is
/// that of no shape.
const SHAPES_AT_MOST: usize = 32;

impl Extent {
    #[inline]
    pub(super) fn new(section: &SectionRef<'_>) -> Self {
        let has_bytes = section.data.len() as u64 == section.size;
        let start = if has_bytes { start(section.offset) } else { Some(NO_BYTES) };
        match (start, u32::try_from(section.size)) {
            (Some(start), Ok(size)) => Self { start, size },
            _ => Self { start: 0, size: UNUSUAL },
        }
    }
}

impl Shape {
    /// The number of a section's shape in a list, as a rule that of another section.
    #[inline]
    pub(super) fn number(section: &SectionRef<'_>, guess: u8, shapes: &mut Vec<Self>) -> u8 {
        let &SectionRef { kind, flags, align, entsize, .. } = section;
        let shape = Self { kind, flags, align, entsize };
        match shapes.get(usize::from(guess)) {
            Some(known) if *known == shape => guess,
            _ => shape.find(shapes),
        }
    }

    #[inline(never)]
    fn find(self, shapes: &mut Vec<Self>) -> u8 {
        let known = shapes.iter().position(|other| *other == self);
        let number = known.unwrap_or_else(|| shapes.len().min(SHAPES_AT_MOST));
        if number == shapes.len() && number < SHAPES_AT_MOST {
            shapes.push(self);
        }
        number as u8
    }
}

#[inline]
fn start(offset: u64) -> Option<u32> {
    u32::try_from(offset).ok().filter(|&start| start != NO_BYTES)
}

impl<'a> Object<'a> {
    /// The section with this index, without a look at its header.
    #[inline]
    pub fn section(&self, index: u32) -> Option<Section<'a>> {
        let extent = self.extents.get(index as usize)?;
        let shape = self.shapes.get(usize::from(*self.shape_of.get(index as usize)?));
        let Some(&Shape { kind, flags, align, entsize }) = shape else {
            return self.unusual_section(index);
        };
        if extent.size == UNUSUAL {
            return self.unusual_section(index);
        }
        let (size, data) = (extent.size.into(), self.bytes_of(extent));
        Some(Section { index, kind, flags, size, align, entsize, data })
    }

    /// The bytes of the section with this index, without a look at its header; none if there
    /// is no such section.
    #[inline]
    pub fn section_data(&self, index: u32) -> &'a [u8] {
        match self.extents.get(index as usize) {
            Some(extent) if extent.size != UNUSUAL => self.bytes_of(extent),
            Some(_) => self.unusual_section(index).map_or(&[], |section| section.data),
            None => &[],
        }
    }

    /// The relocations of a REL or RELA section, read as they are asked for.
    #[inline]
    pub fn relocs(&self, section: &Section<'a>) -> Result<Relocs<'a>, ReadError> {
        self.cubin.relocs_in(section.index, section.entsize, section.data)
    }

    #[inline]
    fn bytes_of(&self, extent: &Extent) -> &'a [u8] {
        if extent.start == NO_BYTES {
            return &[];
        }
        let (start, size) = (extent.start as usize, extent.size as usize);
        self.file.get(start..start.saturating_add(size)).unwrap_or_default()
    }

    #[cold]
    fn unusual_section(&self, index: u32) -> Option<Section<'a>> {
        let SectionRef { kind, flags, size, align, entsize, data, .. } =
            self.cubin.unnamed_section(index)?;
        Some(Section { index, kind, flags, size, align, entsize, data })
    }
}
