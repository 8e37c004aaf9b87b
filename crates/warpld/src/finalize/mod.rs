//! The final shape: which sections and symbols remain, their order and
//! numbers, and the bytes of everything the linker itself writes.

pub(crate) mod contents;
pub(crate) mod facts;
mod records;
pub(crate) mod symbols;
pub(crate) mod tables;
mod unified;

use crate::layout::Layout;
use crate::merge::{Context, Merged, Section, SectionId, Synthetic, align_up};
use crate::properties::Properties;
use crate::relocate::Relocated;
pub use contents::Contents;
use cubin::consts::{shf, shn};
use cubin::raw::{Phdr64, Shdr64};
use facts::Memory;
pub use facts::{Facts, Made, bucket, extent};
use rayon::prelude::*;
pub use symbols::Numbering;

/// Everything `finalize` consults.
#[derive(Clone, Copy)]
pub struct Parts<'a, 'o> {
    /// Earlier decisions.
    pub cx: Context<'a, 'o>,
    /// Sections and symbols.
    pub merged: &'o Merged,
    /// Offsets.
    pub layout: &'o Layout,
    /// Relocations.
    pub relocated: &'o Relocated,
    /// Kernel properties.
    pub properties: &'o Properties,
}

/// A section of the file. There may be many: the rest of their headers is made
/// as they are written.
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
}

/// The file, planned to the last byte.
#[derive(Debug)]
pub struct Plan {
    /// Sections in file order; index 0, the null section, is not among them.
    pub sections: Vec<FinalSection>,
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
    pub contents: Contents,
}

/// Plans the file.
pub fn finalize(parts: Parts<'_, '_>) -> Plan {
    let mut facts = facts::collect(parts);
    let numbering = symbols::number(parts, &facts);
    let contents = contents::contents(parts, &numbering, &mut facts);
    let (order, mut index_of) = order(&facts);
    keep_common_number(parts, &facts, &mut index_of);
    place(parts, (&facts, &order), index_of, numbering, contents)
}

/// Quirk: in a relocatable file the section that was created with the number that stands
/// for common symbols keeps that, wherever it is referred to.
/// [4,685 objects of five functions behind 0 to 7 others that moved the numbers]
fn keep_common_number(parts: Parts<'_, '_>, facts: &[Facts], index_of: &mut [u32]) {
    if !parts.cx.config.relocatable || !parts.merged.needs_symbol_sections() {
        return;
    }
    let common = |(facts, _): &(&Facts, &mut u32)| facts.creation_index == shn::COMMON;
    if let Some((_, index)) = facts.iter().zip(index_of).find(common)
        && *index > 0
    {
        *index = shn::COMMON;
    }
}

/// The sections of the file in order, and the number of each section.
/// nvlink sorts sections into buckets and keeps creation order within each.
pub(crate) fn order(facts: &[Facts]) -> (Vec<SectionId>, Vec<u32>) {
    // Where the sections of each bucket go.
    let mut next = [0; facts::GONE as usize + 2];
    for facts in facts {
        next[facts.bucket as usize + 1] += 1;
    }
    for i in 1..next.len() {
        next[i] += next[i - 1];
    }
    let mut order = vec![SectionId(0); next[facts::GONE as usize]];
    let mut index_of = vec![0; facts.len()];
    for (i, facts) in facts.iter().enumerate().filter(|(_, facts)| facts.exists()) {
        let at = &mut next[facts.bucket as usize];
        order[*at] = SectionId(i as u32);
        *at += 1;
        index_of[i] = *at as u32;
    }
    (order, index_of)
}

/// Flags in the file: barriers that became an attribute are gone.
#[inline]
pub(crate) fn flags(parts: Parts<'_, '_>, section: &Section) -> u64 {
    if section.flags() & shf::EXECINSTR == 0 || section.flags() & shf::BARRIERS_MASK == 0 {
        return section.flags();
    }
    let function = section.function.get().and_then(|f| parts.cx.graph.function(f));
    let changes = function.and_then(|f| parts.properties.attributes.get(&f));
    match changes {
        Some(changes) if changes.took_barriers => section.flags() & !shf::BARRIERS_MASK,
        _ => section.flags(),
    }
}

/// Hands over the headers of sections in their order.
///
/// Sections that follow each other in the file lie far apart in memory, and so does what leads
/// from them to those they are about. To look that up for a number of them first lets the
/// processor wait for all at once.
#[inline]
pub fn headers(
    parts: Parts<'_, '_>,
    plan: &Plan,
    sections: &[FinalSection],
    mut take: impl FnMut(Shdr64),
) {
    const TOGETHER: usize = 16;
    let mut subjects = [0; TOGETHER];
    for sections in sections.chunks(TOGETHER) {
        for (subject, section) in subjects.iter_mut().zip(sections) {
            *subject = tables::subject(parts, section.id, &plan.index_of);
        }
        for (&subject, section) in subjects.iter().zip(sections) {
            take(header(parts, plan, section, subject));
        }
    }
}

/// The header of a section that is about the one with the number `subject`.
#[inline]
fn header(parts: Parts<'_, '_>, plan: &Plan, of: &FinalSection, subject: u32) -> Shdr64 {
    let section = parts.merged.section(of.id);
    let (link, info) =
        tables::link_and_info(parts, (of.id, subject), &plan.numbering, &plan.index_of);
    Shdr64 {
        sh_name: section.name.into(),
        sh_type: section.kind.0.into(),
        sh_flags: flags(parts, section).into(),
        sh_addr: 0.into(),
        sh_offset: of.offset.into(),
        sh_size: of.size.into(),
        sh_link: link.into(),
        sh_info: info.into(),
        sh_addralign: facts::align(parts, of.id, section, of.made).into(),
        sh_entsize: u64::from(section.entsize()).into(),
    }
}

/// Assigns file offsets and makes the program headers.
fn place(
    parts: Parts<'_, '_>,
    (facts, order): (&[Facts], &[SectionId]),
    index_of: Vec<u32>,
    numbering: Numbering,
    contents: Contents,
) -> Plan {
    let unplaced = |&id: &SectionId| {
        let facts = &facts[id.0 as usize];
        let (made, has_bytes, memory) = (facts.made, facts.has_bytes(), facts.memory);
        FinalSection { id, made, has_bytes, memory, offset: facts.align, size: facts.size }
    };
    let mut sections: Vec<FinalSection> = order.par_iter().map(unplaced).collect();
    let mut position = size_of::<cubin::raw::Ehdr64>() as u64;
    for section in &mut sections {
        // Until now it is the alignment, to have all in one place: this loop is serial.
        section.offset = align_up(position, section.offset);
        position = if section.has_bytes { section.end() } else { section.offset };
    }
    let section_headers = align_up(position, 8);
    let count = sections.len() as u64 + 1;
    let after = section_headers.saturating_add(count * size_of::<Shdr64>() as u64);
    let segments =
        if parts.cx.config.relocatable { Vec::new() } else { segments(facts, &sections, after) };
    let size = after.saturating_add((segments.len() * size_of::<Phdr64>()) as u64);
    let note = parts.merged.synthetic(Synthetic::VersionNote);
    let note = note.map_or(0, |id| index_of[id.0 as usize]).min(0xff);
    let flags = note << 24 | u32::from(parts.cx.config.arch.number) << 8 | 0x04;
    Plan { sections, segments, section_headers, size, flags, numbering, index_of, contents }
}

/// PT_PHDR, read-only segment, writable segment, and the table once more.
fn segments(facts: &[Facts], sections: &[FinalSection], at: u64) -> Vec<Phdr64> {
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
    let mut middle = Vec::new();
    let is = |memory: Memory| move |s: &&FinalSection| s.memory == memory;
    let mut readable = sections.iter().filter(is(Memory::Readable));
    if let Some(first) = readable.next() {
        let last = readable.next_back().unwrap_or(first);
        let size = last.end().saturating_sub(first.offset);
        middle.push(segment(PT_LOAD, 5, first.offset, size, size));
    }
    let data: Vec<&FinalSection> = sections.iter().filter(is(Memory::Writable)).collect();
    if let (Some(first), Some(last)) = (data.first(), data.last()) {
        let start = first.offset;
        let end = if last.has_bytes { last.end() } else { last.offset };
        let file = end.saturating_sub(start);
        let mut memory: u64 = 0;
        for section in data.iter().filter(|s| !s.has_bytes) {
            let align = facts[section.id.0 as usize].align;
            memory = align_up(memory, align).saturating_add(section.size);
        }
        middle.push(segment(PT_LOAD, 6, start, file, file.saturating_add(memory)));
    }
    let size = (middle.len() as u64 + 2) * size_of::<Phdr64>() as u64;
    let mut out = vec![segment(PT_PHDR, 5, at, size, size)];
    out.append(&mut middle);
    out.push(segment(PT_LOAD, 5, at, size, size));
    out
}
