//! Contents of the sections that the linker creates. Small ones are built as soon as their size is
//! needed, large tables only while they are written.

use super::numbering::{Indices, Numbering};
use super::tables::{image_relocs, relocation_size, relocations, resolved, synthetic};
use super::{ContentSource, SectionSummary, ToolNotes};
use super::{records, symbols, tables, unified};
use crate::ids::SectionId;
use crate::layout::Form;
use crate::linked::Linked;
use crate::merge::{Content, StringTables};
use crate::relocate::EmittedRelocs;
use cubin::SectionType;
use cubin::raw::Sym64;
use rayon::prelude::*;
use std::ops::Range;

/// The contents of sections that are built early. Most are tiny, so many share a batch.
#[derive(Debug)]
pub struct Contents<'a> {
    batches: Vec<Batch>,
    /// The notes of the tools that built the inputs.
    pub notes: ToolNotes<'a>,
}

/// The contents of sections with consecutive ids.
#[derive(Debug)]
struct Batch {
    bytes: Vec<u8>,
    /// Where those of each section end.
    ends: Vec<usize>,
}

/// Number of sections that share a batch.
const BATCH: usize = 1024;

/// Number of sections to prefetch before building the first.
const TOGETHER: usize = 64;

/// Estimated average size of what is built early of a section; most sections are not.
const USUAL_SIZE: usize = 16;

impl Contents<'_> {
    /// The contents of a section; empty if it is not built early.
    pub fn get(&self, section: SectionId) -> &[u8] {
        let Some(batch) = self.batches.get(section.index() / BATCH) else { return &[] };
        let end = |i: usize| batch.ends.get(i).copied().unwrap_or(0);
        let i = section.index() % BATCH;
        let start = i.checked_sub(1).map_or(0, end);
        batch.bytes.get(start..end(i)).unwrap_or_default()
    }
}

/// Builds what is built early and records its size. A capsule file says which other targets its
/// code runs on.
pub fn contents<'a>(
    linked: Linked<'a, '_>,
    numbering: &Numbering,
    summaries: &mut [SectionSummary],
    fastpath_targets: Option<u64>,
) -> Contents<'a> {
    let notes = ToolNotes::collect(linked);
    let batch = |(number, summaries): (usize, &mut [SectionSummary])| {
        // The buffer that grows is allocated last, so that it can grow in place.
        let mut ends = Vec::with_capacity(summaries.len());
        let mut writer = records::Writer::new(linked, numbering);
        let mut bytes = Vec::with_capacity(summaries.len() * USUAL_SIZE);
        let mut id = SectionId::new(number * BATCH);
        for some in summaries.chunks_mut(TOGETHER) {
            ask_for(linked, id, some);
            for summary in some {
                let start = bytes.len();
                if summary.exists() && summary.is_early() {
                    content(&mut writer, id, fastpath_targets, &mut bytes);
                }
                summary.settle(bytes.len() - start, &notes, numbering);
                ends.push(bytes.len());
                id = SectionId::new(id.index() + 1);
            }
        }
        bytes.shrink_to_fit();
        Batch { bytes, ends }
    };
    Contents { batches: summaries.par_chunks_mut(BATCH).enumerate().map(batch).collect(), notes }
}

/// Prefetches the sources of attribute sections, starting with this section.
fn ask_for(linked: Linked<'_, '_>, first: SectionId, summaries: &[SectionSummary]) {
    for (id, summary) in (first.as_u32()..).map(SectionId::from).zip(summaries) {
        if summary.source == ContentSource::Attributes
            && let Content::Attributes(sources @ [_]) = linked.merged.section(id).content()
        {
            records::ask_for(linked, sources);
        }
    }
}

/// Appends the contents of a section that is built early.
fn content(
    writer: &mut records::Writer<'_, '_>,
    id: SectionId,
    fastpath_targets: Option<u64>,
    out: &mut Vec<u8>,
) {
    let (linked, numbering) = (writer.linked, writer.numbering);
    let section = linked.merged.section(id);
    match section.content() {
        Content::Chunks(chunks) => unified::entries(linked, numbering, &chunks, out),
        Content::Relocs(..) => {}
        Content::Attributes(sources) => writer.section(id, sources, out),
        Content::ResolvedRelocs(_) => {
            let list: Vec<_> = resolved(linked, id).into_iter().map(|r| r.1).collect();
            relocations(&list, true, numbering, out);
        }
        Content::ImageRelocs(bank) => {
            let form = Form::of(linked.cx.dialect.half());
            let rela = section.kind == SectionType::RELA;
            relocations(&image_relocs(linked, bank, form), rela, numbering, out);
        }
        Content::Synthetic(what) => synthetic(linked, numbering, what, fastpath_targets, out),
    }
}

/// A section that the linker creates.
#[derive(Clone, Copy)]
pub enum Table<'p> {
    /// Bytes built early.
    Bytes(&'p [u8]),
    /// Notes of inputs.
    Notes(&'p ToolNotes<'p>),
    /// Emitted relocations, with or without addend.
    Relocs(EmittedRelocs<'p>, bool),
    /// `.strtab`.
    SymbolNames(&'p StringTables),
    /// `.symtab`.
    Symbols,
    /// `.symtab_shndx`.
    SymbolSections,
}

/// The contents that the linker creates for a section; `None` if input bytes are copied.
#[inline]
pub fn table<'p>(
    linked: Linked<'_, 'p>,
    contents: &'p Contents<'_>,
    id: SectionId,
    source: ContentSource,
) -> Option<Table<'p>> {
    let strings = &linked.merged.strings;
    Some(match source {
        ContentSource::Copied => return None,
        ContentSource::Rel | ContentSource::Rela => {
            Table::Relocs(linked.relocated.emitted(id), source == ContentSource::Rela)
        }
        ContentSource::ToolNotes => Table::Notes(&contents.notes),
        ContentSource::SectionNames => Table::Bytes(strings.sections()),
        ContentSource::SymbolNames => Table::SymbolNames(strings),
        ContentSource::Symbols => Table::Symbols,
        ContentSource::SymbolSections => Table::SymbolSections,
        ContentSource::Attributes | ContentSource::Entries | ContentSource::Early => {
            Table::Bytes(contents.get(id))
        }
    })
}

impl Table<'_> {
    /// Its size.
    pub fn size(self, numbering: &Numbering) -> u64 {
        let symbols = numbering.order.len() + 1;
        let size = match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Notes(notes) => notes.size(),
            Self::Relocs(list, rela) => list.len() * relocation_size(rela),
            Self::SymbolNames(strings) => strings.symbols_size(),
            Self::Symbols => symbols * size_of::<Sym64>(),
            Self::SymbolSections => symbols * size_of::<u32>(),
        };
        size as u64
    }

    /// Writes a part of it that starts and ends with whole entries.
    pub fn write(
        self,
        linked: Linked<'_, '_>,
        indices: Indices<'_>,
        part: Range<usize>,
        out: &mut [u8],
    ) {
        let rows = |size: usize| part.start / size..part.end / size;
        match self {
            Self::Bytes(bytes) => out.copy_from_slice(&bytes[part]),
            Self::Notes(notes) => notes.write(part, out),
            Self::Relocs(list, rela) => {
                let list = list.part(rows(relocation_size(rela)));
                tables::write_relocations(list.iter(), rela, indices.symbols, out);
            }
            Self::SymbolNames(strings) => strings.write_symbols(part, out),
            Self::Symbols => symbols::write(linked, indices, rows(size_of::<Sym64>()), out),
            Self::SymbolSections => {
                symbols::write_sections(linked, indices, rows(size_of::<u32>()), out);
            }
        }
    }
}
