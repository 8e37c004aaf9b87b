//! The file, planned to the last byte.

use super::contents::table;
use super::places::{Ordered, Places, Sections};
use super::summary::{self, Memory};
use super::{Contents, FinalSection, Numbering, extent};
use crate::align::align_up;
use crate::linked::Linked;
use crate::merge::Synthetic;
use cubin::raw::{Phdr64, Shdr64};
use std::ops::Range;

/// The file, planned to the last byte.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Where its sections lie.
    places: Places,
    /// Program headers.
    pub segments: Vec<Phdr64>,
    /// Offset of the section headers.
    pub section_headers: u64,
    /// Size of the file.
    pub size: u64,
    /// `e_flags`.
    pub flags: u32,
    /// Symbol numbers.
    pub numbering: Numbering,
    /// Number of each merged section, 0 if it is gone.
    pub index_of: Vec<u32>,
    /// Bytes written by the linker; chunks are copied from the inputs.
    pub contents: Contents<'a>,
}

impl<'a> Plan<'a> {
    /// Assigns file offsets and makes the program headers.
    pub(super) fn new(
        parts: Linked<'_, '_>,
        order: Vec<Ordered>,
        index_of: Vec<u32>,
        numbering: Numbering,
        contents: Contents<'a>,
    ) -> Self {
        let unusual = order.iter().filter(|section| section.facts.noted_extent().is_none());
        let unusual = unusual
            .map(|section| (section.id, unusual_extent(parts, section, &numbering, &contents)));
        let unusual = unusual.collect();
        let mut loaded = Loaded::default();
        let places = Places::new(order, unusual, |section| loaded.add(section));
        let section_headers = align_up(places.end(), 8);
        let headers = (places.count() as u64 + 1) * size_of::<Shdr64>() as u64;
        let after = section_headers.saturating_add(headers);
        let relocatable = parts.cx.config.relocatable;
        let segments = if relocatable { Vec::new() } else { loaded.segments(after) };
        let size = after.saturating_add((segments.len() * size_of::<Phdr64>()) as u64);
        let note = parts.merged.synthetic(Synthetic::VersionNote);
        let note = note.map_or(0, |id| index_of[id.0 as usize]).min(0xff);
        let flags = note << 24 | u32::from(parts.cx.config.arch.number) << 8 | 0x04;
        Self { places, segments, section_headers, size, flags, numbering, index_of, contents }
    }

    /// The number of sections, the null section left out.
    pub fn section_count(&self) -> usize {
        self.places.count()
    }

    /// A section, the null section not counted.
    pub fn section(&self, i: usize) -> Option<FinalSection> {
        self.sections(i..i.saturating_add(1)).next()
    }

    /// Where the bytes of sections lie: of each, or of some that have `most` bytes together.
    pub fn extents(&self, most: u64) -> impl Iterator<Item = (Range<usize>, Range<u64>)> {
        self.places.extents(most)
    }

    /// These sections in file order, the null section not counted.
    pub fn sections(&self, range: Range<usize>) -> Sections<'_> {
        self.places.sections(range)
    }
}

/// Size and alignment of a section of which the facts do not tell it.
#[cold]
fn unusual_extent(
    parts: Linked<'_, '_>,
    of: &Ordered,
    numbering: &Numbering,
    contents: &Contents<'_>,
) -> (u64, u64) {
    let &Ordered { id, facts } = of;
    let size = match table(parts, contents, id, facts.made) {
        Some(table) => table.size(numbering),
        None => extent(parts, id).0,
    };
    (size, summary::align(parts, id, parts.merged.section(id), facts.made))
}

/// What the program loads: where that lies in the file.
#[derive(Default)]
struct Loaded {
    /// What it can read.
    readable: Option<Range<u64>>,
    /// What it can change.
    writable: Option<Range<u64>>,
    /// The size of what it can change that has no bytes in the file.
    zeroed: u64,
}

impl Loaded {
    /// Adds a section. The sections come in order.
    #[inline]
    fn add(&mut self, section: &FinalSection) {
        let (list, end) = match section.memory {
            Memory::Absent => return,
            Memory::Readable => (&mut self.readable, section.end()),
            Memory::Writable => (&mut self.writable, section.end_of_bytes()),
        };
        list.get_or_insert(section.offset..end).end = end;
        if section.memory == Memory::Writable && !section.has_bytes {
            self.zeroed = align_up(self.zeroed, section.align).saturating_add(section.size);
        }
    }

    /// PT_PHDR, read-only segment, writable segment, and the table once more, which lies at `at`.
    fn segments(&self, at: u64) -> Vec<Phdr64> {
        const PT_LOAD: u32 = 1;
        const PT_PHDR: u32 = 6;
        let segment = |kind, flags, offset, filesz, memsz| {
            Phdr64::without_address(kind, flags, (offset, filesz, memsz))
        };
        let length = |range: &Range<u64>| range.end.saturating_sub(range.start);
        let count = 2 + usize::from(self.readable.is_some()) + usize::from(self.writable.is_some());
        let size = (count * size_of::<Phdr64>()) as u64;
        let mut out = vec![segment(PT_PHDR, 5, at, size, size)];
        if let Some(range) = &self.readable {
            out.push(segment(PT_LOAD, 5, range.start, length(range), length(range)));
        }
        if let Some(range) = &self.writable {
            let memory = length(range).saturating_add(self.zeroed);
            out.push(segment(PT_LOAD, 6, range.start, length(range), memory));
        }
        out.push(segment(PT_LOAD, 5, at, size, size));
        out
    }
}
