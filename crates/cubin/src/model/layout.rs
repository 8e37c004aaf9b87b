//! File offsets of the parts of a file.
//!
//! NVIDIA's tools write sections consecutively in index order, each aligned, then the section
//! headers, then the program headers. There are two exceptions: a string table can follow a gap
//! (for names that were dropped after the size was computed), and the Mercury counterpart of a data
//! section can share its bytes.

use super::error::WriteError;
use super::{Filler, Image};
use crate::header::Class;
use crate::read::Cubin;
use std::collections::HashMap;

/// The offset of a part, relative to the parts before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// At the next aligned offset.
    #[default]
    Natural,
    /// This many bytes after the next aligned offset.
    After(u64),
    /// On the bytes of an earlier section.
    SameAs(u32),
    /// At this file offset.
    At(u64),
}

/// Computed offsets of all parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// File offset of every section.
    pub sections: Vec<u64>,
    /// `e_shoff`.
    pub section_headers: u64,
    /// `e_phoff`.
    pub program_headers: u64,
    pub size: u64,
}

/// A file range and the part it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) part: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Header,
    Section(usize),
    SectionHeaders,
    ProgramHeaders,
    Filler(usize),
}

pub(crate) struct Placements {
    pub(crate) sections: Vec<Placement>,
    pub(crate) section_headers: Placement,
    pub(crate) program_headers: Placement,
}

/// `None` on overflow. The alignment need not be a power of two.
fn align_up(position: u64, align: u64) -> Option<u64> {
    position.checked_next_multiple_of(align.max(1))
}

/// The placements that reproduce a file's offsets.
pub(crate) fn placements(cubin: &Cubin<'_>) -> Placements {
    let header = cubin.header();
    let mut position = u64::from(header.class.header_size());
    let mut first_at = HashMap::new();
    let mut sections = Vec::with_capacity(cubin.sections().len());
    for (index, s) in cubin.sections().iter().enumerate() {
        let size = s.data.len() as u64;
        let placement = if index == 0 {
            Placement::At(s.offset)
        } else {
            relative(align_up(position, s.align), s.offset)
        };
        let placement = match (placement, first_at.get(&(s.offset, size))) {
            (Placement::At(_), Some(&earlier)) if size != 0 => Placement::SameAs(earlier),
            _ => placement,
        };
        if size != 0 {
            first_at.entry((s.offset, size)).or_insert(index as u32);
        }
        if matches!(placement, Placement::Natural | Placement::After(_)) {
            position = s.offset.saturating_add(size);
        }
        sections.push(placement);
    }
    let after = align_up(position, header.class.table_alignment());
    let section_headers = match sections.is_empty() {
        true => Placement::At(header.shoff),
        false => relative(after, header.shoff),
    };
    let after = after_section_headers(header.class, header.shoff, sections.len(), after);
    let program_headers = match header.phnum {
        0 => Placement::At(header.phoff),
        _ => relative(after, header.phoff),
    };
    Placements { sections, section_headers, program_headers }
}

/// The default offset of the program headers: after the section headers, or in their place if there
/// are none.
fn after_section_headers(
    class: Class,
    shoff: u64,
    count: usize,
    after_sections: Option<u64>,
) -> Option<u64> {
    match shoff {
        0 => after_sections,
        _ => shoff.checked_add(count as u64 * u64::from(class.section_header_size())),
    }
}

fn relative(natural: Option<u64>, offset: u64) -> Placement {
    match natural.and_then(|n| offset.checked_sub(n)) {
        Some(0) => Placement::Natural,
        Some(gap) => Placement::After(gap),
        None => Placement::At(offset),
    }
}

impl Image<'_> {
    /// Computes all offsets.
    pub fn layout(&self) -> Result<Layout, WriteError> {
        let class = self.header.class;
        let mut position = u64::from(class.header_size());
        let mut sections: Vec<u64> = Vec::with_capacity(self.sections.len());
        for (index, s) in self.sections.iter().enumerate() {
            let earlier = |i: u32| sections.get(i as usize).copied();
            let offset = place(s.placement, align_up(position, s.align), earlier)
                .ok_or(WriteError::Placement { section: index as u32 })?;
            if matches!(s.placement, Placement::Natural | Placement::After(_)) {
                position = offset
                    .checked_add(s.content.file_size(class))
                    .ok_or(WriteError::TooLarge { field: "sh_offset" })?;
            }
            sections.push(offset);
        }
        let (section_headers, program_headers) = self.place_tables(position)?;
        let mut layout = Layout { sections, section_headers, program_headers, size: 0 };
        layout.size = self.extents(&layout)?.iter().map(|e| e.end).max().unwrap_or(0);
        Ok(layout)
    }

    /// Offsets of the section headers and the program headers; by default 0 for an empty table.
    fn place_tables(&self, position: u64) -> Result<(u64, u64), WriteError> {
        let class = self.header.class;
        let natural = |empty: bool, after: Option<u64>| if empty { Some(0) } else { after };
        let after = align_up(position, class.table_alignment());
        let shoff = natural(self.sections.is_empty(), after);
        let shoff = place(self.section_headers, shoff, |_| None)
            .ok_or(WriteError::TooLarge { field: "e_shoff" })?;
        let after = after_section_headers(class, shoff, self.sections.len(), after);
        let phoff = natural(self.segments.is_empty(), after);
        let phoff = place(self.program_headers, phoff, |_| None)
            .ok_or(WriteError::TooLarge { field: "e_phoff" })?;
        Ok((shoff, phoff))
    }

    /// All file ranges in order. Two parts may have the same range; other overlaps are an error.
    pub(crate) fn extents(&self, layout: &Layout) -> Result<Vec<Extent>, WriteError> {
        let class = self.header.class;
        let mut extents = Vec::with_capacity(self.sections.len() + self.fillers.len() + 3);
        let mut add = |start: u64, size: u64, part| -> Result<(), WriteError> {
            let end = start.checked_add(size).ok_or(WriteError::TooLarge { field: "offset" })?;
            if size != 0 {
                extents.push(Extent { start, end, part });
            }
            Ok(())
        };
        add(0, class.header_size().into(), Part::Header)?;
        for (i, (s, &offset)) in self.sections.iter().zip(&layout.sections).enumerate() {
            add(offset, s.content.file_size(class), Part::Section(i))?;
        }
        let table = |count: usize, entry: u16| count as u64 * u64::from(entry);
        let size = table(self.sections.len(), class.section_header_size());
        add(layout.section_headers, size, Part::SectionHeaders)?;
        let size = table(self.segments.len(), class.program_header_size());
        add(layout.program_headers, size, Part::ProgramHeaders)?;
        for (i, filler) in self.fillers.iter().enumerate() {
            add(filler.offset, filler.bytes.len() as u64, Part::Filler(i))?;
        }
        extents.sort_by_key(|e| (e.start, e.end, e.part));
        for pair in extents.windows(2) {
            let same = (pair[0].start, pair[0].end) == (pair[1].start, pair[1].end);
            if pair[1].start < pair[0].end && !same {
                return Err(WriteError::Overlap { offset: pair[1].start });
            }
        }
        Ok(extents)
    }
}

fn place(
    placement: Placement,
    natural: Option<u64>,
    earlier: impl Fn(u32) -> Option<u64>,
) -> Option<u64> {
    match placement {
        Placement::Natural => natural,
        Placement::After(gap) => natural?.checked_add(gap),
        Placement::SameAs(index) => earlier(index),
        Placement::At(offset) => Some(offset),
    }
}

/// The nonzero bytes of a file that no part of the model covers, and all bytes after the last part.
pub(crate) fn fillers<'a>(
    image: &Image<'a>,
    file: &'a [u8],
) -> Result<Vec<Filler<'a>>, WriteError> {
    let layout = image.layout()?;
    let mut fillers = Vec::new();
    let mut position = 0;
    for extent in image.extents(&layout)? {
        let gap = file.get(position as usize..extent.start as usize).unwrap_or_default();
        if gap.iter().any(|&b| b != 0) {
            fillers.push(Filler { offset: position, bytes: gap.into() });
        }
        position = extent.end;
    }
    let rest = file.get(position as usize..).unwrap_or_default();
    if !rest.is_empty() {
        fillers.push(Filler { offset: position, bytes: rest.into() });
    }
    Ok(fillers)
}
