//! Contents of the tables that the linker creates: strings, symbols, notes, compat, call graph,
//! relocations; and what their headers link to.

use super::numbering::Numbering;
use super::unified;
use crate::collections::Set;
use crate::compat;
use crate::ids::{FunctionId, SectionId};
use crate::layout::Form;
use crate::linked::Linked;
use crate::merge::{Content, Section, Synthetic};
use crate::relocate::{OutReloc, Source};
use cubin::callgraph::List;
use cubin::encode::{STRTAB, SYMTAB};
use cubin::note::{CudaInfo, NoteType, write_note};
use cubin::raw::{Pair, Rel64, Rela64};
use cubin::{SectionType, relaction};
use zerocopy::IntoBytes;

/// Appends the contents of a section other than string tables, symbol tables and notes.
pub(super) fn synthetic(
    linked: Linked<'_, '_>,
    numbering: &Numbering,
    what: Synthetic,
    fastpath_targets: Option<u64>,
    out: &mut Vec<u8>,
) {
    match what {
        Synthetic::SectionNames
        | Synthetic::SymbolNames
        | Synthetic::Symbols
        | Synthetic::SymbolSections
        | Synthetic::ToolNote => {}
        Synthetic::VersionNote => version_note(linked, out),
        Synthetic::Compat => out.append(&mut compat(linked, fastpath_targets)),
        Synthetic::CallGraph => callgraph(linked, numbering, out),
        Synthetic::Prototype => prototypes(linked, numbering, out),
        Synthetic::RelAction => out.append(&mut relaction::linker_section()),
        Synthetic::UnifiedIndex => out.append(&mut unified::index(linked)),
        Synthetic::HostFile => {
            out.extend_from_slice(linked.cx.config.nv_host.as_deref().unwrap_or_default());
        }
    }
}

fn compat(linked: Linked<'_, '_>, fastpath_targets: Option<u64>) -> Vec<u8> {
    let dialect = linked.cx.dialect;
    let mut out = compat::merge(linked.cx.objects, linked.cx.config.arch, dialect);
    if let Some(targets) = fastpath_targets {
        compat::push_finalizer(targets, dialect, &mut out);
    }
    out
}

/// Size of a relocation, with or without addend.
pub fn relocation_size(rela: bool) -> usize {
    if rela { size_of::<Rela64>() } else { size_of::<Rel64>() }
}

/// Appends a relocation table.
pub(super) fn relocations(
    relocs: &[OutReloc],
    rela: bool,
    numbering: &Numbering,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.resize(start + relocs.len() * relocation_size(rela), 0);
    write_relocations(relocs.iter().copied(), rela, numbering, &mut out[start..]);
}

/// Writes a relocation table; `out` has its size.
#[inline]
pub fn write_relocations(
    relocs: impl Iterator<Item = OutReloc>,
    rela: bool,
    numbering: &Numbering,
    out: &mut [u8],
) {
    for (r, out) in relocs.zip(out.chunks_exact_mut(relocation_size(rela))) {
        let r_sym = numbering.of(r.symbol).into();
        let (r_offset, r_type) = (r.offset.into(), r.kind.0.into());
        match rela {
            true => {
                let record = Rela64 { r_offset, r_type, r_sym, r_addend: r.addend.into() };
                out.copy_from_slice(record.as_bytes());
            }
            false => out.copy_from_slice(Rel64 { r_offset, r_type, r_sym }.as_bytes()),
        }
    }
}

/// The applied relocations of a `.nv.resolvedrela` section's target.
pub fn resolved(linked: Linked<'_, '_>, id: SectionId) -> Vec<(Source, OutReloc)> {
    let Content::ResolvedRelocs(targets) = linked.merged.section(id).content() else {
        return Vec::new();
    };
    let targets = targets.iter().map(|&target| linked.merged.section(target));
    let mut all: Vec<_> = targets
        .flat_map(|target| [target.rel(), target.rela()])
        .flatten()
        .flat_map(|r| linked.relocated.of(r).resolved)
        .collect();
    // Both kinds share one list, built by prepending in input order.
    all.sort_by_key(|(source, _)| (source.from.object, source.from.section));
    all.into_iter().rev().copied().collect()
}

/// One entry per texture, sampler and surface handle, in descending order of offset.
pub fn image_relocs(linked: Linked<'_, '_>, bank: SectionId, form: Form) -> Vec<OutReloc> {
    let slots = linked.layout.images.filled(bank).rev();
    slots
        .filter_map(|slot| {
            let symbol = linked.merged.symbol_of[slot.symbol].get()?;
            Some(OutReloc { offset: slot.offset, kind: slot.reloc(form), symbol, addend: 0 })
        })
        .collect()
}

/// The lowest virtual architecture of the inputs. [`older-targets`, `older-toolkit`]
fn version_note(linked: Linked<'_, '_>, out: &mut Vec<u8>) {
    let lowest = linked.cx.objects.iter().map(|o| o.virtual_sm).min();
    let info = CudaInfo {
        version: 2.into(),
        virtual_sm: lowest.unwrap_or(linked.cx.dialect.virtual_arch()).into(),
        toolkit: linked.cx.dialect.toolkit().into(),
    };
    write_note(NoteType::CUINFO, info.as_bytes(), out);
}

fn function_number(linked: Linked<'_, '_>, numbering: &Numbering, function: FunctionId) -> u32 {
    let symbol = linked.cx.graph.symbol(function);
    linked.merged.symbol_of[symbol].get().map_or(0, |s| numbering.index[s.index()])
}

/// Offset of a prototype in `.strtab`; kernels have the empty one, which is not the table's leading
/// NUL. [`device-launch`, `device-runtime`]
fn prototype_offsets(linked: Linked<'_, '_>) -> Vec<u32> {
    let mut offset = 1;
    linked
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

fn callgraph(linked: Linked<'_, '_>, numbering: &Numbering, out: &mut Vec<u8>) {
    let graph = linked.cx.graph;
    let live = |f: FunctionId| linked.cx.reach.is_live(f);
    let number = |f: FunctionId| function_number(linked, numbering, f);
    let prototype = prototype_offsets(linked);
    let mut out = PairList { bytes: out };
    // Not resolution order: a function is created before its alias.
    let mut rank = vec![u32::MAX; graph.len()];
    for (i, f) in linked.merged.function_order.iter().enumerate() {
        rank[f.index()] = i as u32;
    }
    let both = |list: &[(FunctionId, FunctionId)]| -> Vec<(FunctionId, u32)> {
        list.iter().filter(|(a, b)| live(*a) && live(*b)).map(|&(a, b)| (a, number(b))).collect()
    };
    let once = linked.cx.config.relocatable;
    out.open(List::Calls);
    out.by_function(both(&graph.calls), once, &rank, number);
    out.open(List::AddressTaken);
    for &f in &linked.merged.function_order {
        if let Some(proto) = graph.address_taken[f].get() {
            out.push(number(f), prototype[proto.index()]);
        }
    }
    out.open(List::IndirectCalls);
    let indirect = graph.indirect.iter().filter(|(f, _)| live(*f));
    let indirect = indirect.map(|&(f, proto)| (f, prototype[proto.index()])).collect();
    out.by_function(indirect, false, &rank, number);
    out.open(List::TakesAddress);
    out.by_function(both(&graph.takes_address), once, &rank, number);
}

/// Pairs of 32-bit words.
struct PairList<'b> {
    bytes: &'b mut Vec<u8>,
}

impl PairList<'_> {
    fn push(&mut self, first: u32, second: u32) {
        let pair = Pair { first: first.into(), second: second.into() };
        self.bytes.extend_from_slice(pair.as_bytes());
    }

    fn open(&mut self, list: List) {
        self.push(0, list.sentinel());
    }

    /// Functions in creation order, the entries of each in reverse input order; relocatable files
    /// list direct calls and taken addresses only once.
    /// [`relocatable-prototypes`, `relocatable-taken-twice`]
    fn by_function(
        &mut self,
        mut list: Vec<(FunctionId, u32)>,
        once: bool,
        rank: &[u32],
        number: impl Fn(FunctionId) -> u32,
    ) {
        if once {
            let mut seen = Set::<_>::default();
            list.retain(|entry| seen.insert(*entry));
        }
        // Where the entries of each rank start; those without one come last.
        let slot = |f: FunctionId| (rank[f.index()] as usize).min(rank.len());
        let mut next = vec![0; rank.len() + 2];
        for (f, _) in &list {
            next[slot(*f) + 1] += 1;
        }
        for i in 1..next.len() {
            next[i] += next[i - 1];
        }
        let start = self.bytes.len();
        self.bytes.resize(start + list.len() * size_of::<Pair>(), 0);
        for (f, second) in list.into_iter().rev() {
            let at = start + next[slot(f)] * size_of::<Pair>();
            next[slot(f)] += 1;
            let pair = Pair { first: number(f).into(), second: second.into() };
            self.bytes[at..at + size_of::<Pair>()].copy_from_slice(pair.as_bytes());
        }
    }
}

/// Functions listed in `.nv.prototype`. [`prototype-of-loser`, `prototypes`]
fn prototyped<'p>(linked: Linked<'p, 'p>) -> impl Iterator<Item = (FunctionId, u32)> + 'p {
    let graph = linked.cx.graph;
    linked.merged.function_order.iter().filter_map(move |&f| {
        let taken = graph.address_taken[f].is_some();
        let proto = graph.prototype_of[f].get().filter(|_| !taken)?;
        Some((f, proto.as_u32()))
    })
}

/// Whether `.nv.prototype` is needed.
pub fn has_prototypes(linked: Linked<'_, '_>) -> bool {
    let graph = linked.cx.graph;
    linked
        .merged
        .function_order
        .iter()
        .any(|&f| graph.address_taken[f].is_none() && graph.prototype_of[f].is_some())
}

fn prototypes(linked: Linked<'_, '_>, numbering: &Numbering, out: &mut Vec<u8>) {
    let offsets = prototype_offsets(linked);
    let mut out = PairList { bytes: out };
    for (f, proto) in prototyped(linked) {
        out.push(function_number(linked, numbering, f), offsets[proto as usize]);
    }
}

/// `sh_link` and `sh_info` of a section; `subject` is the result of [`subject`].
#[inline]
pub fn link_and_info(
    linked: Linked<'_, '_>,
    (id, subject): (SectionId, u32),
    numbering: &Numbering,
    index_of: &[u32],
) -> (u32, u32) {
    let section = linked.merged.section(id);
    // Nearly all are of three kinds.
    if section.is_attributes() || section.relocates().is_some() {
        (SYMTAB, subject)
    } else if !section.is_chunks() || section.kind.is_unified_entries() {
        other_link_and_info(linked, section, numbering, index_of)
    } else if subject != 0 && subject == index_of[id.index()] {
        (SYMTAB, text_info(linked, section, numbering))
    } else {
        (0, subject)
    }
}

#[cold]
fn other_link_and_info(
    linked: Linked<'_, '_>,
    section: &Section,
    numbering: &Numbering,
    index_of: &[u32],
) -> (u32, u32) {
    let synthetic = |what| linked.merged.synthetic(what).map_or(0, |id| index_of[id.index()]);
    match section.content() {
        Content::Synthetic(Synthetic::Symbols) => (STRTAB, numbering.local_count),
        Content::Synthetic(Synthetic::VersionNote) => {
            (synthetic(Synthetic::ToolNote), synthetic(Synthetic::Compat))
        }
        Content::Synthetic(
            Synthetic::CallGraph | Synthetic::Prototype | Synthetic::SymbolSections,
        ) => (SYMTAB, 0),
        Content::ResolvedRelocs(targets) => {
            (SYMTAB, targets.first().map_or(0, |target| index_of[target.index()]))
        }
        // The list that an executable has early does not link to a symbol table.
        Content::Chunks(_) => {
            let early = section.kind == SectionType::CUDA_UFT_ENTRY;
            (if early && !linked.cx.config.relocatable { 0 } else { SYMTAB }, 0)
        }
        _ => (0, 0),
    }
}

/// The index of the section that another refers to: the one that is relocated, or the text of its
/// function.
#[inline]
pub fn subject(linked: Linked<'_, '_>, id: SectionId, index_of: &[u32]) -> u32 {
    let section = linked.merged.section(id);
    if let Some(target) = section.relocates() {
        return index_of[target.index()];
    }
    section
        .function
        .get()
        .and_then(|f| linked.cx.graph.function(f))
        .and_then(|f| linked.merged.function_sections[f].text.get())
        .map_or(0, |text| index_of[text.index()])
}

/// A text section links to its function's symbol, before sm_90 with the input's register count in
/// the high byte.
#[inline]
fn text_info(linked: Linked<'_, '_>, section: &Section, numbering: &Numbering) -> u32 {
    let symbol = section.function.get().and_then(|f| linked.merged.symbol_of[f].get());
    let number = symbol.map_or(0, |s| numbering.index[s.index()]);
    if !linked.cx.dialect.registers_in_text_info() {
        return number;
    }
    let registers = || {
        let Content::Chunks(chunks) = section.content() else { return None };
        let from = chunks.first()?.from;
        let object = &linked.cx.objects[from.object];
        Some(object.registers(object.owner(from.section)?))
    };
    number | registers().unwrap_or(0) << 24
}
