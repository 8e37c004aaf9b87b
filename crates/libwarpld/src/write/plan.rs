//! The complete plan of a file.

use super::contents::table;
use super::numbering::Indices;
use super::offsets::{Ordered, SectionOffsets, Sections};
use super::summary::{self, Memory};
use super::{Contents, FinalSection, Numbering, extent};
use crate::align::align_up;
use crate::linked::Linked;
use cubin::Segment;
use cubin::consts::pf;
use cubin::encode::HeaderTables;
use std::ops::Range;

/// The complete plan of a file.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Section offsets.
    offsets: SectionOffsets,
    /// Program headers.
    pub segments: Vec<Segment>,
    /// Offsets of the header tables, which end the file.
    pub tables: HeaderTables,
    /// Symbol indices.
    pub numbering: Numbering,
    /// Index of each merged section, 0 if it is dropped.
    pub index_of: Vec<u32>,
    /// Contents that the linker creates; chunks are copied from the inputs.
    pub contents: Contents<'a>,
}

impl<'a> Plan<'a> {
    /// Assigns file offsets and builds the program headers. [`debug`, `weak-debug`]
    pub(super) fn new(
        linked: Linked<'_, '_>,
        order: Vec<Ordered>,
        index_of: Vec<u32>,
        numbering: Numbering,
        contents: Contents<'a>,
    ) -> Self {
        let unusual = order.iter().filter(|section| section.summary.noted_extent().is_none());
        let unusual = unusual
            .map(|section| (section.id, unusual_extent(linked, section, &numbering, &contents)));
        let unusual = unusual.collect();
        let mut loaded = Loaded::default();
        let offsets = SectionOffsets::new(order, unusual, |section| loaded.add(section));
        let count = if linked.cx.config.relocatable { 0 } else { loaded.segment_count() };
        let tables = HeaderTables::after(offsets.end(), offsets.count() + 1, count);
        let segments = match linked.cx.config.relocatable {
            true => Vec::new(),
            false => loaded.segments(tables.program_headers()..tables.end()),
        };
        Self { offsets, segments, tables, numbering, index_of, contents }
    }

    /// The number of sections, without the null section.
    pub fn section_count(&self) -> usize {
        self.offsets.count()
    }

    /// The indices of symbols and sections.
    pub fn indices(&self) -> Indices<'_> {
        Indices { symbols: &self.numbering, sections: &self.index_of }
    }

    /// A section, not counting the null section.
    pub fn section(&self, i: usize) -> Option<FinalSection> {
        self.sections(i..i.saturating_add(1)).next()
    }

    /// File ranges of sections: one for each, or one for several that have at most `most` bytes
    /// together.
    pub fn extents(&self, most: u64) -> impl Iterator<Item = (Range<usize>, Range<u64>)> {
        self.offsets.extents(most)
    }

    /// These sections in file order, not counting the null section.
    pub fn sections(&self, range: Range<usize>) -> Sections<'_> {
        self.offsets.sections(range)
    }
}

/// Size and alignment of a section where they do not fit the summary.
#[cold]
fn unusual_extent(
    linked: Linked<'_, '_>,
    of: &Ordered,
    numbering: &Numbering,
    contents: &Contents<'_>,
) -> (u64, u64) {
    let &Ordered { id, summary } = of;
    let size = match table(linked, contents, id, summary.source) {
        Some(table) => table.size(numbering),
        None => extent(linked, id).0,
    };
    (size, summary::align(linked, id, linked.merged.section(id), summary.source))
}

/// The file ranges that the program loads.
#[derive(Default)]
struct Loaded {
    /// Read-only.
    readable: Option<Range<u64>>,
    /// Writable.
    writable: Option<Range<u64>>,
    /// Size of the writable part without bytes in the file.
    zeroed: u64,
}

impl Loaded {
    /// Adds a section. Call it in file order.
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

    /// Number of segments.
    fn segment_count(&self) -> usize {
        2 + usize::from(self.readable.is_some()) + usize::from(self.writable.is_some())
    }

    /// PHDR for `table`, the read-only and the writable part, and a LOAD for `table`.
    /// [`one-kernel`]
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
