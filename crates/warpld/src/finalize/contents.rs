//! What the sections hold that the linker writes. Small ones are made when their size
//! has to be known; large tables only as they are written.

use super::tables::{image_relocs, relocation_size, relocations, resolved, synthetic};
use super::{Numbering, Parts, Plan, records, symbols, tables, unified};
use crate::layout::Form;
use crate::merge::{Content, SectionId, Synthetic};
use crate::relocate::OutReloc;
use crate::unified::is_entries;
use cubin::SectionType;
use cubin::raw::Sym64;
use rayon::prelude::*;
use std::ops::Range;

/// The bytes of the sections that are made early. Most are tiny, so many lie in one
/// block.
#[derive(Debug)]
pub struct Contents {
    blocks: Vec<Block>,
}

/// The bytes of sections with consecutive numbers.
#[derive(Debug)]
struct Block {
    bytes: Vec<u8>,
    /// Where those of each section end.
    ends: Vec<usize>,
}

/// How many sections share a block.
const BLOCK: usize = 1024;

impl Contents {
    /// The bytes of a section; none if it is not made early.
    pub fn get(&self, section: SectionId) -> &[u8] {
        let Some(block) = self.blocks.get(section.0 as usize / BLOCK) else { return &[] };
        let end = |i: usize| block.ends.get(i).copied().unwrap_or(0);
        let i = section.0 as usize % BLOCK;
        let start = i.checked_sub(1).map_or(0, end);
        block.bytes.get(start..end(i)).unwrap_or_default()
    }
}

/// Makes what is made early.
pub fn contents(parts: Parts<'_, '_>, numbering: &Numbering, exists: &[bool]) -> Contents {
    let block = |(number, exists): (usize, &[bool])| {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(exists.len());
        let mut writer = records::Writer::new(parts, numbering);
        for (i, exists) in exists.iter().enumerate() {
            if *exists {
                content(&mut writer, SectionId((number * BLOCK + i) as u32), &mut bytes);
            }
            ends.push(bytes.len());
        }
        bytes.shrink_to_fit();
        Block { bytes, ends }
    };
    Contents { blocks: exists.par_chunks(BLOCK).enumerate().map(block).collect() }
}

/// Appends the bytes of a section, if it is made early.
fn content(writer: &mut records::Writer<'_, '_>, id: SectionId, out: &mut Vec<u8>) {
    let (parts, numbering) = (writer.parts, writer.numbering);
    let section = parts.merged.section(id);
    match &section.content {
        Content::Chunks(chunks) if is_entries(section.kind) => {
            unified::entries(parts, numbering, chunks, out);
        }
        Content::Chunks(_) | Content::Relocs(..) => {}
        Content::Attributes(sources) => writer.section(id, sources, out),
        Content::ResolvedRelocs(_) => {
            let list: Vec<_> = resolved(parts, id).into_iter().map(|r| r.1).collect();
            relocations(&list, true, numbering, out);
        }
        Content::ImageRelocs(bank) => {
            let form = if parts.cx.flavour.is_mercury() { Form::Mercury } else { Form::Classic };
            let rela = section.kind == SectionType::RELA;
            relocations(&image_relocs(parts, *bank, form), rela, numbering, out);
        }
        Content::Synthetic(what) => {
            out.append(&mut synthetic(parts, numbering, *what).unwrap_or_default())
        }
    }
}

/// A section that the linker writes.
#[derive(Clone, Copy)]
pub enum Table<'p> {
    /// Bytes that are there.
    Bytes(&'p [u8]),
    /// Relocations that stay, with or without addend.
    Relocs(&'p [OutReloc], bool),
    /// `.symtab`.
    Symbols,
    /// `.symtab_shndx`.
    SymbolSections,
}

/// What the linker writes in a section; nothing where inputs' bytes are copied.
pub fn table<'p>(parts: Parts<'_, 'p>, contents: &'p Contents, id: SectionId) -> Option<Table<'p>> {
    let section = parts.merged.section(id);
    let strings = &parts.merged.strings;
    Some(match &section.content {
        Content::Chunks(_) if !is_entries(section.kind) => return None,
        Content::Relocs(..) => {
            Table::Relocs(parts.relocated.of(id).kept, section.kind == SectionType::RELA)
        }
        Content::Synthetic(Synthetic::SectionNames) => Table::Bytes(strings.sections()),
        Content::Synthetic(Synthetic::SymbolNames) => Table::Bytes(strings.symbols()),
        Content::Synthetic(Synthetic::Symbols) => Table::Symbols,
        Content::Synthetic(Synthetic::SymbolSections) => Table::SymbolSections,
        _ => Table::Bytes(contents.get(id)),
    })
}

impl Table<'_> {
    /// Its size.
    pub fn size(self, numbering: &Numbering) -> u64 {
        let symbols = numbering.order.len() + 1;
        let size = match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Relocs(list, rela) => list.len() * relocation_size(rela),
            Self::Symbols => symbols * size_of::<Sym64>(),
            Self::SymbolSections => symbols * size_of::<u32>(),
        };
        size as u64
    }

    /// Writes a part of it that starts and ends with whole entries.
    pub fn write(self, parts: Parts<'_, '_>, plan: &Plan, part: Range<usize>, out: &mut [u8]) {
        let rows = |size: usize| part.start / size..part.end / size;
        match self {
            Self::Bytes(bytes) => out.copy_from_slice(&bytes[part]),
            Self::Relocs(list, rela) => {
                let list = &list[rows(relocation_size(rela))];
                tables::write_relocations(list, rela, &plan.numbering, out);
            }
            Self::Symbols => symbols::write(parts, plan, rows(size_of::<Sym64>()), out),
            Self::SymbolSections => {
                symbols::write_sections(parts, plan, rows(size_of::<u32>()), out);
            }
        }
    }
}
