//! The final shape: which sections and symbols remain, their order and
//! numbers, and the bytes of everything the linker itself writes.

pub(crate) mod contents;
mod records;
pub(crate) mod symbols;
pub(crate) mod tables;
mod unified;

use crate::layout::Layout;
use crate::merge::{Content, Context, Merged, Section, SectionId, Synthetic, align_up};
use crate::properties::Properties;
use crate::relocate::Relocated;
pub use contents::Contents;
use cubin::SectionType;
use cubin::consts::{shf, shn};
use cubin::raw::{Phdr64, Shdr64};
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
#[derive(Debug)]
pub struct FinalSection {
    /// The section it came from.
    pub id: SectionId,
    /// Whether it has bytes in the file.
    pub has_bytes: bool,
    /// Where it starts.
    pub offset: u64,
    /// Its size, in the file or in memory.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
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
    /// By number of a section: the number it was created with; empty where no file
    /// needs it.
    pub creation_numbers: Vec<u32>,
    /// Bytes written by the linker; chunks are copied from the inputs.
    pub contents: Contents,
}

/// Plans the file.
pub fn finalize(parts: Parts<'_, '_>) -> Plan {
    let merged = parts.merged;
    let ids = (0..merged.sections.len() as u32).into_par_iter().map(SectionId);
    let exists: Vec<bool> = ids.map(|id| exists(parts, id)).collect();
    let numbering = symbols::number(parts, &exists);
    let contents = contents::contents(parts, &numbering, &exists);
    let order = order(parts, &contents, &exists);
    let mut index_of = vec![0u32; merged.sections.len()];
    for (i, id) in order.iter().enumerate() {
        index_of[id.0 as usize] = i as u32 + 1;
    }
    keep_common_number(merged, &mut index_of);
    let sections: Vec<FinalSection> =
        order.par_iter().map(|&id| final_section(parts, id, &contents, &numbering)).collect();
    place(parts, sections, index_of, numbering, contents)
}

/// Quirk: the section that was created with the number that stands for common symbols
/// keeps that, wherever it is referred to, if its final number has no room in a symbol.
/// [2,000 objects of 41 functions, `-r`]
fn keep_common_number(merged: &Merged, index_of: &mut [u32]) {
    if !merged.needs_symbol_sections() {
        return;
    }
    let common = |(section, _): &(&Section, &mut u32)| section.creation_index == shn::COMMON;
    if let Some((_, index)) = merged.sections.iter().zip(index_of).find(common)
        && !symbols::has_room(*index)
    {
        *index = shn::COMMON;
    }
}

/// Whether a section that is not made of attribute records remains.
pub(crate) fn exists(parts: Parts<'_, '_>, id: SectionId) -> bool {
    let section = parts.merged.section(id);
    match &section.content {
        Content::Synthetic(Synthetic::Prototype) => tables::has_prototypes(parts),
        Content::Synthetic(Synthetic::SymbolSections) => parts.merged.needs_symbol_sections(),
        Content::Synthetic(_) | Content::Attributes(_) => true,
        Content::Relocs(target, _) => {
            !parts.relocated.of(id).kept.is_empty() && exists(parts, *target)
        }
        Content::ResolvedRelocs(_) => !tables::resolved(parts, id).is_empty(),
        Content::ImageRelocs(bank) => parts.layout.images.banks.contains_key(bank),
        Content::Chunks(_) => {
            let is_kernel_shared =
                section.function.get().and_then(|f| parts.cx.graph.function(f)).is_some_and(|f| {
                    parts.merged.function_sections[f.0 as usize].shared == id.into()
                });
            if parts.cx.config.relocatable {
                let empty = extent(parts, id).0 == 0;
                !empty || !is_kernel_shared && section.bank != Some(2)
            } else if section.bank == Some(2) && extent(parts, id).0 == 0 {
                false
            } else if parts.merged.constant3 == Some(id) && parts.layout.pieces.contains_key(&id) {
                extent(parts, id).0 > 0
            } else if is_kernel_shared {
                parts.layout.shared.kernels.contains_key(&id)
            } else if parts.merged.common_shared == Some(id) {
                parts.layout.shared.common.is_some()
            } else {
                true
            }
        }
    }
}

/// Size and alignment in the file.
pub(crate) fn extent(parts: Parts<'_, '_>, id: SectionId) -> (u64, u64) {
    let shared = &parts.layout.shared;
    if let Some(&extent) = shared.kernels.get(&id) {
        return extent;
    }
    if parts.merged.common_shared == Some(id)
        && let Some(extent) = shared.common
    {
        return extent;
    }
    parts.layout.extent(parts.merged, id)
}

/// nvlink sorts sections into buckets and keeps creation order within each.
pub(crate) fn order(parts: Parts<'_, '_>, contents: &Contents, exists: &[bool]) -> Vec<SectionId> {
    let merged = parts.merged;
    let empty_info = |id: SectionId| {
        matches!(merged.section(id).content, Content::Attributes(_)) && contents.get(id).is_empty()
    };
    let bucket_of = |(i, exists): (usize, &bool)| {
        let id = SectionId(i as u32);
        if *exists && !empty_info(id) { bucket(merged, id) } else { GONE }
    };
    let bucket_of: Vec<u8> = exists.par_iter().enumerate().map(bucket_of).collect();
    let mut buckets: [Vec<SectionId>; GONE as usize] = Default::default();
    for (i, &bucket) in bucket_of.iter().enumerate() {
        if let Some(bucket) = buckets.get_mut(bucket as usize) {
            bucket.push(SectionId(i as u32));
        }
    }
    buckets.concat()
}

/// No bucket: one more than there are.
const GONE: u8 = 8;

pub(crate) fn bucket(merged: &Merged, id: SectionId) -> u8 {
    let s = merged.section(id);
    match s.kind {
        SectionType::STRTAB | SectionType::SYMTAB | SectionType::SYMTAB_SHNDX => 0,
        SectionType::REL | SectionType::RELA | SectionType::CUDA_RESOLVED_RELA => 3,
        _ if s.is_nobits() => 7,
        SectionType::PROGBITS if s.flags & shf::ALLOC == 0 => 1,
        _ if s.flags & shf::ALLOC == 0 => 2,
        _ if s.flags & shf::EXECINSTR != 0 => 5,
        _ if s.flags & shf::WRITE != 0 => 6,
        _ => 4,
    }
}

/// Flags in the file: barriers that became an attribute are gone.
pub(crate) fn flags(parts: Parts<'_, '_>, id: SectionId) -> u64 {
    let section = parts.merged.section(id);
    if section.flags & shf::EXECINSTR == 0 || section.flags & shf::BARRIERS_MASK == 0 {
        return section.flags;
    }
    let function = section.function.get().and_then(|f| parts.cx.graph.function(f));
    let changes = function.and_then(|f| parts.properties.attributes.get(&f));
    match changes {
        Some(changes) if changes.took_barriers => section.flags & !shf::BARRIERS_MASK,
        _ => section.flags,
    }
}

fn final_section(
    parts: Parts<'_, '_>,
    id: SectionId,
    contents: &Contents,
    numbering: &Numbering,
) -> FinalSection {
    let section = parts.merged.section(id);
    let (size, align) = match contents::table(parts, contents, id) {
        Some(table) => (table.size(numbering), section.align),
        None => extent(parts, id),
    };
    FinalSection { id, has_bytes: !section.is_nobits(), offset: 0, size, align }
}

/// The header of a section.
pub fn header(parts: Parts<'_, '_>, plan: &Plan, of: &FinalSection) -> Shdr64 {
    let section = parts.merged.section(of.id);
    let (link, info) = tables::link_and_info(parts, of.id, &plan.numbering, &plan.index_of);
    Shdr64 {
        sh_name: section.name.into(),
        sh_type: section.kind.0.into(),
        sh_flags: flags(parts, of.id).into(),
        sh_addr: 0.into(),
        sh_offset: of.offset.into(),
        sh_size: of.size.into(),
        sh_link: link.into(),
        sh_info: info.into(),
        sh_addralign: of.align.into(),
        sh_entsize: u64::from(section.entsize).into(),
    }
}

/// Assigns file offsets and makes the program headers.
fn place(
    parts: Parts<'_, '_>,
    mut sections: Vec<FinalSection>,
    index_of: Vec<u32>,
    numbering: Numbering,
    contents: Contents,
) -> Plan {
    let mut position = size_of::<cubin::raw::Ehdr64>() as u64;
    for section in &mut sections {
        position = align_up(position, section.align);
        section.offset = position;
        if section.has_bytes {
            position = section.end();
        }
    }
    let section_headers = align_up(position, 8);
    let count = sections.len() as u64 + 1;
    let after = section_headers.saturating_add(count * size_of::<Shdr64>() as u64);
    let segments =
        if parts.cx.config.relocatable { Vec::new() } else { segments(parts, &sections, after) };
    let size = after.saturating_add((segments.len() * size_of::<Phdr64>()) as u64);
    let note = parts.merged.synthetic(Synthetic::VersionNote);
    let note = note.map_or(0, |id| index_of[id.0 as usize]).min(0xff);
    let flags = note << 24 | u32::from(parts.cx.config.arch.number) << 8 | 0x04;
    let creation_numbers = tables::creation_numbers(parts, &index_of);
    Plan {
        sections,
        segments,
        section_headers,
        size,
        flags,
        numbering,
        index_of,
        creation_numbers,
        contents,
    }
}

/// PT_PHDR, read-only segment, writable segment, and the table once more.
fn segments(parts: Parts<'_, '_>, sections: &[FinalSection], at: u64) -> Vec<Phdr64> {
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
    let flags = |s: &FinalSection| parts.merged.section(s.id).flags;
    let alloc = |s: &&FinalSection| flags(s) & shf::ALLOC != 0;
    let writable = |s: &&FinalSection| flags(s) & shf::WRITE != 0;
    let mut readable = sections.iter().filter(alloc).filter(|s| !writable(s));
    if let Some(first) = readable.next() {
        let last = readable.next_back().unwrap_or(first);
        let size = last.end().saturating_sub(first.offset);
        middle.push(segment(PT_LOAD, 5, first.offset, size, size));
    }
    let data: Vec<&FinalSection> = sections.iter().filter(alloc).filter(writable).collect();
    if let (Some(first), Some(last)) = (data.first(), data.last()) {
        let start = first.offset;
        let end = if last.has_bytes { last.end() } else { last.offset };
        let file = end.saturating_sub(start);
        let mut memory: u64 = 0;
        for section in data.iter().filter(|s| !s.has_bytes) {
            memory = align_up(memory, section.align).saturating_add(section.size);
        }
        middle.push(segment(PT_LOAD, 6, start, file, file.saturating_add(memory)));
    }
    let size = (middle.len() as u64 + 2) * size_of::<Phdr64>() as u64;
    let mut out = vec![segment(PT_PHDR, 5, at, size, size)];
    out.append(&mut middle);
    out.push(segment(PT_LOAD, 5, at, size, size));
    out
}
