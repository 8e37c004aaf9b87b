//! The bytes of the tables the linker writes: strings, symbols, notes, compat,
//! call graph, relocations; and what their headers link to.

use super::{Numbering, Parts, records, symbols, unified};
use crate::callgraph::FunctionId;
use crate::compat;
use crate::layout::Form;
use crate::merge::{Content, Merged, SectionId, Synthetic};
use crate::object::SectionClass;
use crate::relocate::{OutReloc, Source};
use crate::unified::is_entries;
use cubin::consts::shn;
use cubin::note::{CudaInfo, NoteType, ToolInfo, write_note};
use cubin::raw::{Pair, Rel64, Rela64, Sym64};
use cubin::{SectionType, relaction};
use hashbrown::HashSet;
use rayon::prelude::*;
use std::borrow::Cow;
use zerocopy::IntoBytes;

/// Index of `.symtab` and `.strtab` in every output.
const STRTAB: u32 = 2;
const SYMTAB: u32 = 3;

/// The toolkit whose format we write: CUDA 13.0.
const TOOLKIT: u32 = 130;

/// The bytes of the sections that the linker writes. Most are tiny, so many lie
/// in one block.
#[derive(Debug)]
pub struct Contents<'m> {
    blocks: Vec<Block>,
    /// The tables of strings and symbols.
    large: Vec<(SectionId, Cow<'m, [u8]>)>,
}

/// The bytes of sections with consecutive numbers.
#[derive(Debug)]
struct Block {
    bytes: Vec<u8>,
    /// Where those of each section end, and whether the linker writes it.
    ends: Vec<(usize, bool)>,
}

/// How many sections share a block.
const BLOCK: usize = 1024;

impl Contents<'_> {
    /// The bytes of a section that the linker writes.
    pub fn get(&self, section: SectionId) -> Option<&[u8]> {
        let block = self.blocks.get(section.0 as usize / BLOCK)?;
        let before = |i: usize| block.ends.get(i).map_or(0, |&(end, _)| end);
        let i = section.0 as usize % BLOCK;
        match *block.ends.get(i)? {
            (end, true) => block.bytes.get(i.checked_sub(1).map_or(0, before)..end),
            _ => self.large.iter().find(|(id, _)| *id == section).map(|(_, bytes)| &bytes[..]),
        }
    }
}

/// Bytes of all sections the linker writes, except the tables of strings and symbols.
pub fn contents<'m>(parts: Parts<'_, '_>, numbering: &Numbering, exists: &[bool]) -> Contents<'m> {
    let block = |(number, exists): (usize, &[bool])| {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(exists.len());
        for (i, exists) in exists.iter().enumerate() {
            let id = SectionId((number * BLOCK + i) as u32);
            let made = *exists && content(parts, numbering, id, &mut bytes);
            ends.push((bytes.len(), made));
        }
        bytes.shrink_to_fit();
        Block { bytes, ends }
    };
    let blocks = exists.par_chunks(BLOCK).enumerate().map(block).collect();
    Contents { blocks, large: Vec::new() }
}

/// Adds the tables of strings, which are as `merge` made them.
pub fn string_tables<'m>(merged: &'m Merged, contents: &mut Contents<'m>) {
    let tables = [
        (Synthetic::SectionNames, merged.strings.sections()),
        (Synthetic::SymbolNames, merged.strings.symbols()),
    ];
    for (what, bytes) in tables {
        contents.large.extend(merged.synthetic(what).map(|id| (id, Cow::Borrowed(bytes))));
    }
}

/// Appends the bytes of a section; whether it is one that the linker writes.
fn content(parts: Parts<'_, '_>, numbering: &Numbering, id: SectionId, out: &mut Vec<u8>) -> bool {
    let section = parts.merged.section(id);
    let rela = section.kind == SectionType::RELA;
    match &section.content {
        Content::Chunks(chunks) if is_entries(section.kind) => {
            unified::entries(parts, numbering, chunks, out);
        }
        Content::Chunks(_) => return false,
        Content::Attributes(sources) => records::build(parts, numbering, id, sources, out),
        Content::Relocs(..) => relocations(parts.relocated.of(id).kept, rela, numbering, out),
        Content::ResolvedRelocs(_) => {
            let list: Vec<_> = resolved(parts, id).into_iter().map(|r| r.1).collect();
            relocations(&list, true, numbering, out);
        }
        Content::ImageRelocs(bank) => {
            let form = if parts.cx.flavour.is_mercury() { Form::Mercury } else { Form::Classic };
            relocations(&image_relocs(parts, *bank, form), rela, numbering, out);
        }
        Content::Synthetic(what) => match synthetic(parts, numbering, *what) {
            Some(mut bytes) => out.append(&mut bytes),
            None => return false,
        },
    }
    true
}

/// The bytes of a section that is neither a table of strings nor one of symbols.
fn synthetic(parts: Parts<'_, '_>, numbering: &Numbering, what: Synthetic) -> Option<Vec<u8>> {
    Some(match what {
        Synthetic::SectionNames
        | Synthetic::SymbolNames
        | Synthetic::Symbols
        | Synthetic::SymbolSections => return None,
        Synthetic::ToolNote => tool_note(parts),
        Synthetic::VersionNote => version_note(parts),
        Synthetic::Compat => compat(parts),
        Synthetic::CallGraph => callgraph(parts, numbering),
        Synthetic::Prototype => prototypes(parts, numbering),
        Synthetic::RelAction => relaction::linker_section(),
        Synthetic::UnifiedIndex => unified::index(parts),
        Synthetic::HostFile => parts.cx.config.nv_host.clone().unwrap_or_default(),
    })
}

fn compat(parts: Parts<'_, '_>) -> Vec<u8> {
    let (objects, arch) = (parts.cx.objects, parts.cx.config.arch);
    let mut out = compat::merge(objects, arch);
    if parts.cx.flavour.is_mercury() {
        compat::push_fastpath(crate::mercury::fastpath_targets(parts), &mut out);
    }
    out
}

fn relocations(relocs: &[OutReloc], rela: bool, numbering: &Numbering, out: &mut Vec<u8>) {
    let number = |r: &OutReloc| numbering.index[r.symbol.0 as usize].into();
    out.reserve(relocs.len() * 24);
    for r in relocs {
        if rela {
            let record = Rela64 {
                r_offset: r.offset.into(),
                r_type: r.kind.into(),
                r_sym: number(r),
                r_addend: r.addend.into(),
            };
            out.extend_from_slice(record.as_bytes());
        } else {
            let record =
                Rel64 { r_offset: r.offset.into(), r_type: r.kind.into(), r_sym: number(r) };
            out.extend_from_slice(record.as_bytes());
        }
    }
}

/// Applied relocations of a `.nv.resolvedrela` section's target.
pub fn resolved(parts: Parts<'_, '_>, id: SectionId) -> Vec<(Source, OutReloc)> {
    let Content::ResolvedRelocs(targets) = &parts.merged.section(id).content else {
        return Vec::new();
    };
    let targets = targets.iter().map(|&target| parts.merged.section(target));
    let mut all: Vec<_> = targets
        .flat_map(|target| [target.rel, target.rela])
        .flatten()
        .flat_map(|r| parts.relocated.of(r).resolved)
        .collect();
    // Both kinds share one list, built by prepending in input order.
    all.sort_by_key(|(source, _)| (source.from.object, source.from.section));
    all.into_iter().rev().copied().collect()
}

/// One entry per texture, sampler and surface handle, last offset first.
pub fn image_relocs(parts: Parts<'_, '_>, bank: SectionId, form: Form) -> Vec<OutReloc> {
    let slots = parts.layout.images.filled(bank).rev();
    slots
        .filter_map(|slot| {
            let symbol = parts.merged.symbol_of[slot.symbol.0 as usize]?;
            Some(OutReloc { offset: slot.offset, kind: slot.reloc(form), symbol, addend: 0 })
        })
        .collect()
}

/// Creation numbers by final number; empty where no file needs them.
pub fn creation_numbers(parts: Parts<'_, '_>, index_of: &[u32]) -> Vec<u32> {
    if !parts.merged.needs_symbol_sections() {
        return Vec::new();
    }
    let most = index_of.iter().copied().max().unwrap_or(0);
    let mut out = vec![0; most as usize + 1];
    for (section, &index) in parts.merged.sections.iter().zip(index_of) {
        // The section that keeps the number it was created with is the one that shows.
        if index != 0 && out[index as usize] != shn::COMMON {
            out[index as usize] = section.creation_index;
        }
    }
    out
}

/// Fills in `.symtab` once section numbers are known.
pub fn symbol_table(
    parts: Parts<'_, '_>,
    numbering: &Numbering,
    index_of: &[u32],
    contents: &mut Contents<'_>,
) {
    const ENTRY: usize = size_of::<Sym64>();
    const WORD: usize = size_of::<u32>();
    const ROWS: usize = 4096;
    let merged = parts.merged;
    let null = Sym64 { st_value: parts.layout.null_value.into(), ..Sym64::default() };
    let count = numbering.order.len() + 1;
    let mut table = vec![0; count * ENTRY];
    let mut sections = vec![0; count * WORD];
    table[..ENTRY].copy_from_slice(null.as_bytes());
    let created = creation_numbers(parts, index_of);
    // Quirk: where the entry has room for the section's number, the word is the
    // number the section had when it was created.
    let section_word = |section: u32| match created.get(section as usize) {
        Some(&number) if symbols::has_room(section) => number,
        _ => section,
    };
    let rows = numbering.order.par_chunks(ROWS);
    let entries = table[ENTRY..].par_chunks_mut(ROWS * ENTRY);
    let words = sections[WORD..].par_chunks_mut(ROWS * WORD);
    rows.zip(entries).zip(words).for_each(|((ids, entries), words)| {
        let places = entries.chunks_exact_mut(ENTRY).zip(words.chunks_exact_mut(WORD));
        for (&id, (entry, word)) in ids.iter().zip(places) {
            let name = merged.symbols[id.0 as usize].name;
            let (made, section) = symbols::entry(parts, id, name, index_of);
            entry.copy_from_slice(made.as_bytes());
            word.copy_from_slice(&section_word(section).to_le_bytes());
        }
    });
    let mut fill = |what, bytes: Vec<u8>| {
        contents.large.extend(merged.synthetic(what).map(|id| (id, Cow::Owned(bytes))));
    };
    fill(Synthetic::Symbols, table);
    if merged.needs_symbol_sections() {
        fill(Synthetic::SymbolSections, sections);
    }
}

/// The linker's note, then the inputs' in order (not in a relocatable file).
fn tool_note(parts: Parts<'_, '_>) -> Vec<u8> {
    let config = parts.cx.config;
    let own = ToolInfo {
        version: 2,
        object: config.note_object_name.as_bytes(),
        tool: config.identity.tool.as_bytes(),
        release: config.identity.version.as_bytes(),
        build: config.identity.build.as_bytes(),
        options: config.note_command_line.as_bytes(),
    };
    let mut out = Vec::new();
    write_note(NoteType::TKINFO, &own.to_desc(), &mut out);
    if !config.relocatable {
        for object in parts.cx.objects {
            for (section, _) in object.of_class(|class| class == SectionClass::ToolNote) {
                out.extend_from_slice(section.data);
            }
        }
    }
    out
}

/// The lowest virtual architecture of the inputs.
fn version_note(parts: Parts<'_, '_>) -> Vec<u8> {
    let lowest = parts.cx.objects.iter().map(|o| o.virtual_sm).min();
    let info = CudaInfo {
        version: 2.into(),
        virtual_sm: lowest.unwrap_or(parts.cx.config.arch.number).into(),
        toolkit: TOOLKIT.into(),
    };
    let mut out = Vec::new();
    write_note(NoteType::CUINFO, info.as_bytes(), &mut out);
    out
}

fn function_number(parts: Parts<'_, '_>, numbering: &Numbering, function: FunctionId) -> u32 {
    let symbol = parts.cx.graph.symbol(function);
    parts.merged.symbol_of[symbol.0 as usize].map_or(0, |s| numbering.index[s.0 as usize])
}

/// Offset of a prototype in `.strtab`; kernels have the empty one, which is not
/// the table's leading NUL.
fn prototype_offsets(parts: Parts<'_, '_>) -> Vec<u32> {
    let mut offset = 1;
    parts
        .cx
        .graph
        .prototypes
        .iter()
        .map(|text| {
            let at = offset;
            offset += text.len() as u32 + 1;
            at
        })
        .collect()
}

fn callgraph(parts: Parts<'_, '_>, numbering: &Numbering) -> Vec<u8> {
    let graph = parts.cx.graph;
    let live = |f: FunctionId| parts.cx.reach.is_live(f);
    let number = |f: FunctionId| function_number(parts, numbering, f);
    let prototype = prototype_offsets(parts);
    let mut out = PairList::default();
    // Not the order of resolution: a function is created before an alias of it.
    let mut rank = vec![u32::MAX; graph.len()];
    for (i, f) in parts.merged.function_order.iter().enumerate() {
        rank[f.0 as usize] = i as u32;
    }
    let rank = |f: FunctionId| rank[f.0 as usize];
    let both = |list: &[(FunctionId, FunctionId)]| -> Vec<(FunctionId, u32)> {
        list.iter().filter(|(a, b)| live(*a) && live(*b)).map(|&(a, b)| (a, number(b))).collect()
    };
    let once = parts.cx.config.relocatable;
    out.sentinel(-1);
    out.by_function(both(&graph.calls), once, rank, number);
    out.sentinel(-2);
    for &f in &parts.merged.function_order {
        if let Some(proto) = graph.address_taken[f.0 as usize] {
            out.push(number(f), prototype[proto.0 as usize]);
        }
    }
    out.sentinel(-3);
    let indirect = graph.indirect.iter().filter(|(f, _)| live(*f));
    let indirect = indirect.map(|&(f, proto)| (f, prototype[proto.0 as usize])).collect();
    out.by_function(indirect, false, rank, number);
    out.sentinel(-4);
    out.by_function(both(&graph.takes_address), once, rank, number);
    out.bytes
}

/// Pairs of 32-bit words.
#[derive(Default)]
struct PairList {
    bytes: Vec<u8>,
}

impl PairList {
    fn push(&mut self, first: u32, second: u32) {
        let pair = Pair { first: first.into(), second: second.into() };
        self.bytes.extend_from_slice(pair.as_bytes());
    }

    fn sentinel(&mut self, list: i32) {
        self.push(0, list as u32);
    }

    /// Functions in creation order, the entries of each in reverse input order;
    /// relocatable files have no direct call and no taken address twice.
    fn by_function(
        &mut self,
        mut list: Vec<(FunctionId, u32)>,
        once: bool,
        rank: impl Fn(FunctionId) -> u32,
        number: impl Fn(FunctionId) -> u32,
    ) {
        if once {
            let mut seen = HashSet::<_, foldhash::fast::FixedState>::default();
            list.retain(|entry| seen.insert(*entry));
        }
        list.reverse();
        list.sort_by_key(|(f, _)| rank(*f));
        for (f, second) in list {
            self.push(number(f), second);
        }
    }
}

/// Functions listed in `.nv.prototype`.
fn prototyped<'p>(parts: Parts<'p, 'p>) -> impl Iterator<Item = (FunctionId, u32)> + 'p {
    let graph = parts.cx.graph;
    parts.merged.function_order.iter().filter_map(move |&f| {
        let taken = graph.address_taken[f.0 as usize].is_some();
        let proto = graph.prototype_of[f.0 as usize].filter(|_| !taken)?;
        Some((f, proto.0))
    })
}

/// Whether `.nv.prototype` is needed.
pub fn has_prototypes(parts: Parts<'_, '_>) -> bool {
    let graph = parts.cx.graph;
    parts.merged.function_order.iter().any(|f| {
        graph.address_taken[f.0 as usize].is_none() && graph.prototype_of[f.0 as usize].is_some()
    })
}

fn prototypes(parts: Parts<'_, '_>, numbering: &Numbering) -> Vec<u8> {
    let offsets = prototype_offsets(parts);
    let mut out = PairList::default();
    for (f, proto) in prototyped(parts) {
        out.push(function_number(parts, numbering, f), offsets[proto as usize]);
    }
    out.bytes
}

/// `sh_link` and `sh_info` of a section.
pub fn link_and_info(
    parts: Parts<'_, '_>,
    id: SectionId,
    numbering: &Numbering,
    index_of: &[u32],
) -> (u32, u32) {
    let merged = parts.merged;
    let section = merged.section(id);
    let synthetic = |what| merged.synthetic(what).map_or(0, |id| index_of[id.0 as usize]);
    match &section.content {
        Content::Synthetic(Synthetic::Symbols) => (STRTAB, numbering.local_count),
        Content::Synthetic(Synthetic::VersionNote) => {
            (synthetic(Synthetic::ToolNote), synthetic(Synthetic::Compat))
        }
        Content::Synthetic(
            Synthetic::CallGraph | Synthetic::Prototype | Synthetic::SymbolSections,
        ) => (SYMTAB, 0),
        Content::Synthetic(_) => (0, 0),
        Content::Attributes(_) => (SYMTAB, text_index(parts, id, index_of)),
        Content::Relocs(target, _) | Content::ImageRelocs(target) => {
            (SYMTAB, index_of[target.0 as usize])
        }
        Content::ResolvedRelocs(targets) => {
            (SYMTAB, targets.first().map_or(0, |target| index_of[target.0 as usize]))
        }
        // The list that an executable has early names no symbol table.
        Content::Chunks(_) if is_entries(section.kind) => {
            let early = section.kind == SectionType::CUDA_UFT_ENTRY;
            (if early && !parts.cx.config.relocatable { 0 } else { SYMTAB }, 0)
        }
        Content::Chunks(chunks) => {
            let text = text_index(parts, id, index_of);
            if text != 0 && text == index_of[id.0 as usize] {
                (SYMTAB, text_info(parts, id, numbering, chunks))
            } else {
                (0, text)
            }
        }
    }
}

/// Index of the text section of the function a section belongs to.
fn text_index(parts: Parts<'_, '_>, id: SectionId, index_of: &[u32]) -> u32 {
    let function = parts.merged.section(id).function;
    function
        .and_then(|f| parts.cx.graph.function(f))
        .and_then(|f| parts.merged.function_sections[f.0 as usize].text)
        .map_or(0, |text| index_of[text.0 as usize])
}

/// A text section names its function's symbol, before sm_90 with the register
/// count the input had in the high byte.
fn text_info(
    parts: Parts<'_, '_>,
    id: SectionId,
    numbering: &Numbering,
    chunks: &[crate::merge::Chunk],
) -> u32 {
    let section = parts.merged.section(id);
    let symbol = section.function.and_then(|f| parts.merged.symbol_of[f.0 as usize]);
    let number = symbol.map_or(0, |s| numbering.index[s.0 as usize]);
    if !parts.cx.flavour.registers_in_text_info() {
        return number;
    }
    let registers = chunks.first().and_then(|chunk| {
        let object = &parts.cx.objects[chunk.from.object.0 as usize];
        Some(object.registers(object.owner(chunk.from.section)?))
    });
    number | registers.unwrap_or(0) << 24
}
