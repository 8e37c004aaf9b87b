//! The file, planned to the last byte.

use super::contents::table;
use super::facts::Memory;
use super::{Contents, Facts, Made, Numbering, Parts, extent};
use crate::merge::{SectionId, Synthetic, align_up};
use cubin::raw::{Ehdr64, Phdr64, Shdr64};
use std::ops::Range;

/// A section of the file. There may be many, so none of this is kept, and the rest of
/// their headers is made as they are written.
#[derive(Clone, Copy, Debug)]
pub struct FinalSection {
    /// The section it came from.
    pub id: SectionId,
    /// How its bytes come to be.
    pub made: Made,
    /// Whether it has bytes in the file.
    pub has_bytes: bool,
    /// What the program can do with it.
    pub memory: Memory,
    /// Where it starts.
    pub offset: u64,
    /// Its size, in the file or in memory.
    pub size: u64,
}

impl FinalSection {
    /// Where it ends.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// Where its bytes in the file end.
    fn end_of_bytes(&self) -> u64 {
        if self.has_bytes { self.end() } else { self.offset }
    }
}

/// The file, planned to the last byte.
#[derive(Debug)]
pub struct Plan<'a> {
    /// What is known of each merged section.
    facts: Vec<Facts>,
    /// Sections in file order; the null section is not among them.
    order: Vec<SectionId>,
    /// Where the bytes before every [`STEP`]th of them end.
    steps: Vec<u64>,
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

/// How many sections are passed, at most, to find the place of one.
const STEP: usize = 64;

impl<'a> Plan<'a> {
    /// Assigns file offsets and makes the program headers.
    pub(super) fn new(
        parts: Parts<'_, '_>,
        (facts, order): (Vec<Facts>, Vec<SectionId>),
        index_of: Vec<u32>,
        numbering: Numbering,
        contents: Contents<'a>,
    ) -> Self {
        let note = parts.merged.synthetic(Synthetic::VersionNote);
        let note = note.map_or(0, |id| index_of[id.0 as usize]).min(0xff);
        let mut plan = Self {
            steps: Vec::with_capacity(order.len() / STEP + 1),
            facts,
            order,
            segments: Vec::new(),
            section_headers: 0,
            size: 0,
            flags: note << 24 | u32::from(parts.cx.config.arch.number) << 8 | 0x04,
            numbering,
            index_of,
            contents,
        };
        let mut loaded = Loaded::default();
        let mut position = size_of::<Ehdr64>() as u64;
        for (i, &id) in plan.order.iter().enumerate() {
            if i % STEP == 0 {
                plan.steps.push(position);
            }
            let section = plan.section_after(parts, position, id);
            loaded.add(parts, &plan.facts[id.0 as usize], &section);
            position = section.end_of_bytes();
        }
        plan.section_headers = align_up(position, 8);
        let headers = (plan.len() as u64 + 1) * size_of::<Shdr64>() as u64;
        let after = plan.section_headers.saturating_add(headers);
        if !parts.cx.config.relocatable {
            plan.segments = loaded.segments(after);
        }
        plan.size = after.saturating_add((plan.segments.len() * size_of::<Phdr64>()) as u64);
        plan
    }

    /// The number of sections, the null section left out.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// A section, the null section not counted.
    pub fn section(&self, parts: Parts<'_, '_>, i: usize) -> Option<FinalSection> {
        self.sections(parts, i..i.saturating_add(1)).next()
    }

    /// These sections in file order, the null section not counted.
    pub fn sections<'p>(
        &'p self,
        parts: Parts<'p, 'p>,
        range: Range<usize>,
    ) -> impl Iterator<Item = FinalSection> + 'p {
        let step = range.start / STEP;
        let mut position = self.steps.get(step).copied().unwrap_or(0);
        let from_step = self.order.get(step * STEP..range.end.min(self.len())).unwrap_or_default();
        let sections = from_step.iter().map(move |&id| {
            let section = self.section_after(parts, position, id);
            position = section.end_of_bytes();
            section
        });
        sections.skip(range.start % STEP)
    }

    /// A section before which the bytes end at `position`.
    #[inline]
    fn section_after(&self, parts: Parts<'_, '_>, position: u64, id: SectionId) -> FinalSection {
        let facts = &self.facts[id.0 as usize];
        FinalSection {
            id,
            made: facts.made,
            has_bytes: facts.has_bytes(),
            memory: facts.memory,
            offset: facts.start(parts, id, position),
            size: facts.noted_size().unwrap_or_else(|| self.large_size(parts, id, facts.made)),
        }
    }

    /// The size of a section that is too large for it to be noted.
    #[cold]
    fn large_size(&self, parts: Parts<'_, '_>, id: SectionId, made: Made) -> u64 {
        match table(parts, &self.contents, id, made) {
            Some(table) => table.size(&self.numbering),
            None => extent(parts, id).0,
        }
    }
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
    fn add(&mut self, parts: Parts<'_, '_>, facts: &Facts, section: &FinalSection) {
        let (list, end) = match section.memory {
            Memory::Absent => return,
            Memory::Readable => (&mut self.readable, section.end()),
            Memory::Writable => (&mut self.writable, section.end_of_bytes()),
        };
        list.get_or_insert(section.offset..end).end = end;
        if section.memory == Memory::Writable && !section.has_bytes {
            let start = facts.start(parts, section.id, self.zeroed);
            self.zeroed = start.saturating_add(section.size);
        }
    }

    /// PT_PHDR, read-only segment, writable segment, and the table once more, which lies at `at`.
    fn segments(&self, at: u64) -> Vec<Phdr64> {
        const PT_LOAD: u32 = 1;
        const PT_PHDR: u32 = 6;
        let segment = |kind: u32, flags: u32, offset: u64, filesz: u64, memsz: u64| Phdr64 {
            p_type: kind.into(),
            p_flags: flags.into(),
            p_offset: offset.into(),
            p_vaddr: 0.into(),
            p_paddr: 0.into(),
            p_filesz: filesz.into(),
            p_memsz: memsz.into(),
            p_align: 8.into(),
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
