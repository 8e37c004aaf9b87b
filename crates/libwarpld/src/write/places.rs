//! Where the sections of the file lie.

use super::summary::Memory;
use super::{ContentSource, SectionSummary};
use crate::align::align_up;
use crate::ids::SectionId;
use cubin::raw::Ehdr64;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::ops::Range;

/// A section of the file. There may be many, so none of this is kept, and the rest of
/// their headers is made as they are written.
#[derive(Clone, Copy, Debug)]
pub struct FinalSection {
    /// The section it came from.
    pub id: SectionId,
    /// How its bytes come to be.
    pub source: ContentSource,
    /// Whether it has bytes in the file.
    pub has_bytes: bool,
    /// What the program can do with it.
    pub memory: Memory,
    /// Where it starts.
    pub offset: u64,
    /// Its size, in the file or in memory.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
}

/// A section in its place among others.
#[derive(Clone, Copy, Debug)]
pub struct Ordered {
    /// The section.
    pub id: SectionId,
    /// What is known of it.
    pub summary: SectionSummary,
}

impl FinalSection {
    /// Where it ends.
    #[inline]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// Where its bytes in the file end.
    #[inline]
    pub fn end_of_bytes(&self) -> u64 {
        if self.has_bytes { self.end() } else { self.offset }
    }
}

/// The places of all sections. There may be hundreds of thousands: what follows from the
/// places of those before is not kept.
#[derive(Debug)]
pub struct Places {
    /// Sections in file order; the null section is not among them.
    order: Vec<Ordered>,
    /// Size and alignment of those of which the summary does not tell it.
    unusual: Unusual,
    /// Where the bytes before every [`STEP`]th of them end.
    steps: Vec<u64>,
    /// Where those of the last one end.
    end: u64,
}

/// Sizes and alignments of some sections.
pub type Unusual = HashMap<SectionId, (u64, u64), FixedState>;

/// How many sections are passed, at most, to find the place of one.
const STEP: usize = 64;

impl Places {
    /// Finds the places of all sections, and hands them over.
    pub(super) fn new(
        order: Vec<Ordered>,
        unusual: Unusual,
        mut take: impl FnMut(&FinalSection),
    ) -> Self {
        let steps = Vec::with_capacity(order.len().div_ceil(STEP));
        let mut position = size_of::<Ehdr64>() as u64;
        let mut places = Self { order, unusual, steps, end: position };
        for (i, section) in places.order.iter().enumerate() {
            if i % STEP == 0 {
                places.steps.push(position);
            }
            let section = places.section_after(position, section);
            take(&section);
            position = section.end_of_bytes();
        }
        places.end = position;
        places
    }

    /// Where the bytes of the last section end.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Where the bytes of sections lie: of each, or of some that have `most` bytes together.
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

    /// The number of sections, the null section left out.
    pub fn count(&self) -> usize {
        self.order.len()
    }

    /// These sections in file order, the null section not counted.
    pub fn sections(&self, range: Range<usize>) -> Sections<'_> {
        let step = range.start / STEP;
        let position = self.steps.get(step).copied().unwrap_or(0);
        let list = self.order.get(step * STEP..range.end.min(self.count())).unwrap_or_default();
        let mut sections = Sections { places: self, list: list.iter(), position };
        sections.by_ref().take(range.start % STEP).for_each(drop);
        sections
    }

    /// A section before which the bytes end at `position`.
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
    places: &'p Places,
    list: std::slice::Iter<'p, Ordered>,
    /// Where the bytes before the next one end.
    position: u64,
}

/// Where the next section goes in a file in which they follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileCursor(u64);

impl Default for FileCursor {
    /// Behind the file header.
    fn default() -> Self {
        Self(size_of::<Ehdr64>() as u64)
    }
}

impl FileCursor {
    /// The offset of the next section, which has this number of bytes in the file.
    pub fn place(&mut self, bytes: u64, align: u64) -> u64 {
        let offset = align_up(self.0, align);
        self.0 = offset.saturating_add(bytes);
        offset
    }

    /// Where the bytes of the last section end.
    pub fn end(self) -> u64 {
        self.0
    }
}

/// How many sections are looked at together where what is asked of them lies in cold memory:
/// the processor waits for all of it at once.
const BATCH: usize = 16;

impl Sections<'_> {
    /// Puts the next ones in place of those in `batch`; whether there are any.
    #[inline]
    pub fn next_batch(&mut self, batch: &mut Vec<FinalSection>) -> bool {
        let list = self.list.as_slice();
        let (next, after) = list.split_at(list.len().min(BATCH));
        batch.clear();
        batch.extend(next.iter().map(|section| {
            let section = self.places.section_after(self.position, section);
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
        let section = self.places.section_after(self.position, self.list.next()?);
        self.position = section.end_of_bytes();
        Some(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From wherever sections are looked at, they lie where they lie from the first on: one
    /// after the other, as they are aligned, those that are large or oddly aligned among them.
    #[test]
    fn sections_lie_one_after_the_other() {
        let id = |i: usize| SectionId(i as u32);
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
        let places = Places::new(order.collect(), unusual.collect(), |section| all.push(*section));
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
            let offsets: Vec<u64> = places.sections(start..end).map(offset).collect();
            let expected = all[start..end.min(300)].iter().map(|section| section.offset);
            assert!(expected.eq(offsets.iter().copied()), "{start}..{end}");
            let (mut batch, mut sections) = (Vec::new(), places.sections(start..end));
            let mut in_batches = Vec::new();
            while sections.next_batch(&mut batch) {
                in_batches.extend(batch.iter().map(|section| section.offset));
            }
            assert_eq!(in_batches, offsets);
        }
    }

    /// Whether sections are told apart or not, none is left out.
    #[test]
    fn extents_follow_each_other() {
        let size = |i: usize| if i / STEP == 1 { 1000 } else { 10 };
        let summary = |i| SectionSummary::default().with_extent(size(i), 4);
        let order =
            (0..3 * STEP + 5).map(|i| Ordered { id: SectionId(i as u32), summary: summary(i) });
        let places = Places::new(order.collect(), Unusual::default(), |_| {});
        let extents: Vec<_> = places.extents(1000).collect();
        assert_eq!(extents.len(), 3 + STEP);
        let (mut section, mut end) = (0, size_of::<Ehdr64>() as u64);
        for (sections, range) in extents {
            assert_eq!(sections.start, section);
            assert!((end..end + 4).contains(&range.start));
            (section, end) = (sections.end, range.end);
        }
        assert_eq!((section, end), (places.count(), places.end()));
    }
}
