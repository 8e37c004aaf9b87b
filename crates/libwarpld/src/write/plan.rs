//! The file, planned to the last byte.

use super::contents::table;
use super::places::{Ordered, Places, Sections};
use super::summary::{self, Memory};
use super::{Contents, FinalSection, Numbering, extent};
use crate::align::align_up;
use crate::linked::Linked;
use cubin::Segment;
use cubin::encode::{HeaderTables, pf};
use std::ops::Range;

/// The file, planned to the last byte.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Where its sections lie.
    places: Places,
    /// Program headers.
    pub segments: Vec<Segment>,
    /// Where the tables of headers lie; the file ends with them.
    pub tables: HeaderTables,
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
        let unusual = order.iter().filter(|section| section.summary.noted_extent().is_none());
        let unusual = unusual
            .map(|section| (section.id, unusual_extent(parts, section, &numbering, &contents)));
        let unusual = unusual.collect();
        let mut loaded = Loaded::default();
        let places = Places::new(order, unusual, |section| loaded.add(section));
        let count = if parts.cx.config.relocatable { 0 } else { loaded.segment_count() };
        let tables = HeaderTables::after(places.end(), places.count() + 1, count);
        let segments = match parts.cx.config.relocatable {
            true => Vec::new(),
            false => loaded.segments(tables.program_headers()..tables.end()),
        };
        Self { places, segments, tables, numbering, index_of, contents }
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

/// Size and alignment of a section of which the summary does not tell it.
#[cold]
fn unusual_extent(
    parts: Linked<'_, '_>,
    of: &Ordered,
    numbering: &Numbering,
    contents: &Contents<'_>,
) -> (u64, u64) {
    let &Ordered { id, summary } = of;
    let size = match table(parts, contents, id, summary.source) {
        Some(table) => table.size(numbering),
        None => extent(parts, id).0,
    };
    (size, summary::align(parts, id, parts.merged.section(id), summary.source))
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

    /// How many segments that makes.
    fn segment_count(&self) -> usize {
        2 + usize::from(self.readable.is_some()) + usize::from(self.writable.is_some())
    }

    /// The table of program headers, what can be read, what can be changed, and that `table`
    /// once more.
    fn segments(&self, table: Range<u64>) -> Vec<Segment> {
        let mut out = vec![Segment::of_program_headers(table.clone(), pf::R | pf::X)];
        if let Some(range) = &self.readable {
            out.push(Segment::load(range.clone(), 0, pf::R | pf::X));
        }
        if let Some(range) = &self.writable {
            out.push(Segment::load(range.clone(), self.zeroed, pf::R | pf::W));
        }
        out.push(Segment::load(table, 0, pf::R | pf::X));
        out
    }
}
