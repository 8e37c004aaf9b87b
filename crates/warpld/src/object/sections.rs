//! Sections as most phases ask for them. Headers have 64 bytes each, and are long out of the
//! cache when a phase comes to them: what is asked for is noted once, in a third of that.

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

/// What is noted of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brief {
    start: u32,
    size: u32,
    kind: SectionType,
    flags: u32,
    /// Which power of two it is; [`NO_POWER`] for 0.
    align: u8,
    entsize: u8,
}

/// In place of the start: there are no bytes.
const NO_BYTES: u32 = u32::MAX;
/// In place of the size: the header has numbers that do not fit, as no compiler writes.
const UNUSUAL: u32 = u32::MAX;
/// In place of the power of two: no alignment.
const NO_POWER: u8 = 64;

impl Brief {
    #[inline]
    pub(super) fn new(section: &SectionRef<'_>) -> Self {
        let unusual =
            Self { start: 0, size: UNUSUAL, kind: section.kind, flags: 0, align: 0, entsize: 0 };
        Self::fitting(section).unwrap_or(unusual)
    }

    #[inline]
    fn fitting(section: &SectionRef<'_>) -> Option<Self> {
        let has_bytes = section.data.len() as u64 == section.size;
        let align = match section.align {
            0 => NO_POWER,
            align if align.is_power_of_two() => align.trailing_zeros() as u8,
            _ => return None,
        };
        Some(Self {
            start: if has_bytes { start(section.offset)? } else { NO_BYTES },
            size: u32::try_from(section.size).ok()?,
            kind: section.kind,
            flags: u32::try_from(section.flags).ok()?,
            align,
            entsize: u8::try_from(section.entsize).ok()?,
        })
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
        let brief = self.briefs.get(index as usize)?;
        if brief.size == UNUSUAL {
            return self.unusual_section(index);
        }
        Some(Section {
            index,
            kind: brief.kind,
            flags: brief.flags.into(),
            size: brief.size.into(),
            align: 1_u64.checked_shl(brief.align.into()).unwrap_or(0),
            entsize: brief.entsize.into(),
            data: self.bytes_of(brief),
        })
    }

    /// The bytes of the section with this index, without a look at its header; none if there
    /// is no such section.
    #[inline]
    pub fn section_data(&self, index: u32) -> &'a [u8] {
        match self.briefs.get(index as usize) {
            Some(brief) if brief.size != UNUSUAL => self.bytes_of(brief),
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
    fn bytes_of(&self, brief: &Brief) -> &'a [u8] {
        if brief.start == NO_BYTES {
            return &[];
        }
        let (start, size) = (brief.start as usize, brief.size as usize);
        self.file.get(start..start.saturating_add(size)).unwrap_or_default()
    }

    #[cold]
    fn unusual_section(&self, index: u32) -> Option<Section<'a>> {
        let SectionRef { kind, flags, size, align, entsize, data, .. } =
            self.cubin.unnamed_section(index)?;
        Some(Section { index, kind, flags, size, align, entsize, data })
    }
}
