//! The file offsets of sections.

use super::summary::Memory;
use super::{ContentSource, SectionSummary};
use crate::align::align_up;
use crate::collections::Map;
use crate::ids::SectionId;
use cubin::raw::Ehdr64;
use std::ops::Range;

/// A section of the file. There may be many, so these are computed on the fly, and the rest of
/// their headers is built while writing.
#[derive(Clone, Copy, Debug)]
pub struct FinalSection {
    /// The section it came from.
    pub id: SectionId,
    /// Where its contents come from.
    pub source: ContentSource,
    /// Whether it has bytes in the file.
    pub has_bytes: bool,
    /// How the program accesses it.
    pub memory: Memory,
    /// File offset.
    pub offset: u64,
    /// Size in the file or in memory.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
}

/// A section and its position in the file's order.
#[derive(Clone, Copy, Debug)]
pub struct Ordered {
    /// The section.
    pub id: SectionId,
    /// Its summary.
    pub summary: SectionSummary,
}

impl FinalSection {
    /// Where it ends.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// End of its bytes in the file.
    #[inline]
    pub fn end_of_bytes(&self) -> u64 {
        if self.has_bytes { self.end() } else { self.offset }
    }
}

/// The offsets of all sections. There may be hundreds of thousands, so offsets that follow from
/// earlier ones are not stored.
#[derive(Debug)]
pub struct SectionOffsets {
    /// Sections in file order, without the null section.
    order: Vec<Ordered>,
    /// Sizes and alignments that do not fit the summary.
    unusual: Unusual,
    /// End of the bytes before every [`STEP`]th section.
    steps: Vec<u64>,
    /// End of the last section's bytes.
    end: u64,
}

/// Sizes and alignments of some sections.
pub type Unusual = Map<SectionId, (u64, u64)>;

/// Maximum number of sections to walk to find the offset of one.
const STEP: usize = 64;

impl SectionOffsets {
    /// Assigns offsets to all sections and passes them on.
    pub(super) fn new(
        order: Vec<Ordered>,
        unusual: Unusual,
        mut take: impl FnMut(&FinalSection),
    ) -> Self {
        let steps = Vec::with_capacity(order.len().div_ceil(STEP));
        let mut position = size_of::<Ehdr64>() as u64;
        let mut offsets = Self { order, unusual, steps, end: position };
        for (i, section) in offsets.order.iter().enumerate() {
            if i % STEP == 0 {
                offsets.steps.push(position);
            }
            let section = offsets.section_after(position, section);
            take(&section);
            position = section.end_of_bytes();
        }
        offsets.end = position;
        offsets
    }

    /// End of the last section's bytes.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// File ranges of sections: one for each, or one for several that have at most `most` bytes
    /// together.
    pub fn extents(&self, most: u64) -> impl Iterator<Item = (Range<usize>, Range<u64>)> {
        self.steps.iter().enumerate().flat_map(move |(step, &start)| {
            let end = self.steps.get(step + 1).copied().unwrap_or(self.end);
            let sections = step * STEP..self.count().min((step + 1) * STEP);
            let (some, each) = match end.saturating_sub(start) <= most {
                true => (Some((sections, start..end)), 0..0),
                false => (None, sections),
            };
            let each = (each.start..).zip(self.sections(each)).filter(|(_, one)| one.has_bytes);
            let each = each.map(|(i, section)| (i..i + 1, section.offset..section.end()));
            some.into_iter().chain(each)
        })
    }

    /// The number of sections, without the null section.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// These sections in file order, not counting the null section.
    pub fn sections(&self, range: Range<usize>) -> Sections<'_> {
        let step = range.start / STEP;
        let position = self.steps.get(step).copied().unwrap_or(0);
        let list = self.order.get(step * STEP..range.end.min(self.count())).unwrap_or_default();
        let mut sections = Sections { offsets: self, list: list.iter(), position };
        sections.by_ref().take(range.start % STEP).for_each(drop);
        sections
    }

    /// A section, given the end of the bytes before it (`position`).
    #[inline]
    fn section_after(&self, position: u64, section: &Ordered) -> FinalSection {
        let &Ordered { id, summary } = section;
        let (size, align, offset) = match summary.noted_extent() {
            Some((size, power)) => {
                let align = 1 << power;
                let end = position.checked_add(align - 1);
                (size, align, end.map_or(u64::MAX, |end| end & !(align - 1)))
            }
            None => {
                let (size, align) = self.unusual.get(&id).copied().unwrap_or((0, 1));
                (size, align, align_up(position, align))
            }
        };
        let (source, has_bytes, memory) = (summary.source, summary.has_bytes(), summary.memory);
        FinalSection { id, source, has_bytes, memory, offset, size, align }
    }
}

/// Sections of the file in order.
#[derive(Clone, Debug)]
pub struct Sections<'p> {
    offsets: &'p SectionOffsets,
    list: std::slice::Iter<'p, Ordered>,
    /// End of the bytes before the next one.
    position: u64,
}

/// Assigns consecutive file offsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileCursor(u64);

impl Default for FileCursor {
    /// Starts after the file header.
    fn default() -> Self {
        Self(size_of::<Ehdr64>() as u64)
    }
}

impl FileCursor {
    /// The offset of the next section, which has `bytes` bytes in the file.
    pub fn place(&mut self, bytes: u64, align: u64) -> u64 {
        let offset = align_up(self.0, align);
        self.0 = offset.saturating_add(bytes);
        offset
    }

    /// End of the last section's bytes.
    pub fn end(self) -> u64 {
        self.0
    }
}

/// Number of sections to process together when their data is in cold memory, so that the processor
/// overlaps the cache misses.
const BATCH: usize = 16;

impl Sections<'_> {
    /// Replaces `batch` with the next sections and returns whether there are any.
    #[inline]
    pub fn next_batch(&mut self, batch: &mut Vec<FinalSection>) -> bool {
        let list = self.list.as_slice();
        let (next, after) = list.split_at(list.len().min(BATCH));
        batch.clear();
        batch.extend(next.iter().map(|section| {
            let section = self.offsets.section_after(self.position, section);
            self.position = section.end_of_bytes();
            section
        }));
        self.list = after.iter();
        !batch.is_empty()
    }
}

impl Iterator for Sections<'_> {
    type Item = FinalSection;

    #[inline]
    fn next(&mut self) -> Option<FinalSection> {
        let section = self.offsets.section_after(self.position, self.list.next()?);
        self.position = section.end_of_bytes();
        Some(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starting anywhere yields the same offsets as starting at the first section: consecutive and
    /// aligned, also with large or oddly aligned sections among them.
    #[test]
    fn sections_lie_one_after_the_other() {
        let id = |i: usize| SectionId::new(i);
        let summary = |i: usize| match i % 7 {
            3 => SectionSummary::default().with_extent(1 << 40, 8),
            5 => SectionSummary::default().with_extent(10, 24),
            _ => SectionSummary::default().with_extent(i as u64, 1 << (i % 5)),
        };
        let order = (0..300).map(|i| Ordered { id: id(i), summary: summary(i) });
        let unusual = (0..300).filter_map(|i| match i % 7 {
            3 => Some((id(i), (1 << 40, 8))),
            5 => Some((id(i), (10, 24))),
            _ => None,
        });
        let mut all = Vec::new();
        let offsets =
            SectionOffsets::new(order.collect(), unusual.collect(), |section| all.push(*section));
        let mut position = size_of::<Ehdr64>() as u64;
        for (i, section) in all.iter().enumerate() {
            let (size, align) = match i % 7 {
                3 => (1 << 40, 8),
                5 => (10, 24),
                _ => (i as u64, 1 << (i % 5)),
            };
            assert_eq!((section.size, section.align), (size, align));
            assert_eq!(section.offset, align_up(position, align));
            position = section.end();
        }
        for (start, end) in [(0, 300), (0, 1), (63, 65), (64, 64), (100, 299), (299, 400)] {
            let offset = |section: FinalSection| section.offset;
            let found: Vec<u64> = offsets.sections(start..end).map(offset).collect();
            let expected = all[start..end.min(300)].iter().map(|section| section.offset);
            assert!(expected.eq(found.iter().copied()), "{start}..{end}");
            let (mut batch, mut sections) = (Vec::new(), offsets.sections(start..end));
            let mut in_batches = Vec::new();
            while sections.next_batch(&mut batch) {
                in_batches.extend(batch.iter().map(|section| section.offset));
            }
            assert_eq!(in_batches, found);
        }
    }

    /// No section is left out, whether extents are merged or not.
    #[test]
    fn extents_follow_each_other() {
        let size = |i: usize| if i / STEP == 1 { 1000 } else { 10 };
        let summary = |i| SectionSummary::default().with_extent(size(i), 4);
        let order =
            (0..3 * STEP + 5).map(|i| Ordered { id: SectionId::new(i), summary: summary(i) });
        let offsets = SectionOffsets::new(order.collect(), Unusual::default(), |_| {});
        let extents: Vec<_> = offsets.extents(1000).collect();
        assert_eq!(extents.len(), 3 + STEP);
        let (mut section, mut end) = (0, size_of::<Ehdr64>() as u64);
        for (sections, range) in extents {
            assert_eq!(sections.start, section);
            assert!((end..end + 4).contains(&range.start));
            (section, end) = (sections.end, range.end);
        }
        assert_eq!((section, end), (offsets.count(), offsets.end()));
    }
}
