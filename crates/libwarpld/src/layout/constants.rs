//! Constant banks 2 and 3.

use crate::align::align_up;
use crate::collections::{Map, Set};
use crate::context::Analysis;
use crate::ids::{FunctionId, InputSection, SectionId};
use crate::merge::{Chunk, Content, Merged};

/// Bank 2 of the kernels, after the data of device functions was copied in.
#[derive(Debug, Default)]
pub struct Bank2 {
    /// Offset of an input section's data in the banks of all kernels that have it.
    pub offset_of: Map<InputSection, u64>,
    /// Where a function's data starts there.
    pub start_of: Map<FunctionId, u64>,
    /// Copies to add to the kernels' sections.
    pub copies: Map<SectionId, Vec<Chunk>>,
    /// Size and alignment of those sections.
    pub extents: Map<SectionId, (u64, u64)>,
    /// The null symbol's new value. Quirk: nvlink writes the offset of the last discarded
    /// duplicate's data into symbol 0. [`bank2-unreached`]
    pub null_value: Option<u64>,
}

/// Copies the compiler's constants of device functions into the bank of every kernel that reaches
/// them, at the same offset in all of them, last function first.
/// [`jump-table-in-function`, `jump-table-indirect`, `jump-table-rounding`, `jump-table`]
pub fn layout_bank2(cx: Analysis<'_, '_>, merged: &Merged) -> Bank2 {
    let mut out = Bank2::default();
    for (function, entries) in &merged.bank2_users {
        let blob = blob_of(cx, merged, *function);
        let sections: Vec<SectionId> =
            entries.iter().filter_map(|e| merged.constant2.get(e).copied()).collect();
        let extent = |id: &SectionId| {
            let s = merged.section(*id);
            out.extents.get(id).copied().unwrap_or((s.size(), s.align()))
        };
        // The banks of all these kernels have the same start and end.
        let start = sections.iter().map(|id| extent(id).0).max().unwrap_or(0);
        let align = sections.iter().map(|id| extent(id).1).max().unwrap_or(0).max(blob.align);
        let start = align_up(start, align);
        let updates: Vec<(SectionId, (u64, u64))> = sections
            .iter()
            .map(|id| (*id, (align_up(start.saturating_add(blob.size), align), align)))
            .collect();
        out.start_of.insert(*function, start);
        for (id, extent) in updates {
            out.extents.insert(id, extent);
            let copies = out.copies.entry(id).or_default();
            copies.extend(
                blob.parts.iter().map(|p| Chunk { from: p.from, offset: start + p.offset }),
            );
        }
        let laid_over = merged.bank2.get(function).map_or(&[][..], |bank| &bank.laid_over);
        out.offset_of.extend(laid_over.iter().map(|&from| (from, start)));
        for part in &blob.parts {
            let at = if sections.is_empty() { 0 } else { start + part.offset };
            out.offset_of.insert(part.from, at);
            // In a debug link, data that no kernel reaches has no offset (`bank2-unreached`).
            if part.duplicate && !sections.is_empty() {
                out.null_value = Some(at);
            }
        }
    }
    out
}

struct Part {
    from: InputSection,
    offset: u64,
    duplicate: bool,
}

struct Blob {
    parts: Vec<Part>,
    size: u64,
    align: u64,
}

/// The bank-2 data of one device function. Quirk: the data of discarded weak duplicates is still
/// appended. [`jump-table-weak`]
fn blob_of(cx: Analysis<'_, '_>, merged: &Merged, function: FunctionId) -> Blob {
    let Some(bank) = merged.bank2.get(&function) else {
        return Blob { parts: Vec::new(), size: 0, align: 1 };
    };
    let mut blob = Blob { parts: Vec::new(), size: 0, align: bank.align };
    for &from in &bank.parts {
        let object = &cx.objects[from.object];
        let Some(input) = object.cubin.section(from.section) else { continue };
        let offset = align_up(blob.size, input.align);
        blob.size = offset.saturating_add(cx.linked_size(from.object, &input));
        blob.align = blob.align.max(input.align);
        blob.parts.push(Part { from, offset, duplicate: is_duplicate(cx, from) });
    }
    blob
}

/// Whether the data was found by its name: that of a discarded copy, or of a file that is linked
/// again and has no symbols for it.
fn is_duplicate(cx: Analysis<'_, '_>, from: InputSection) -> bool {
    let object = &cx.objects[from.object];
    let named = object.halves.is_some() || object.bank2_by_symbol(from.section).is_some();
    let selected = |(id, at)| cx.resolution.ever_selected(id, at);
    !named || !cx.owner(from.object, from.section).is_some_and(selected)
}

/// Bank 3 after duplicate values were dropped.
#[derive(Debug)]
pub struct Bank3 {
    /// Contents. [`bank2-unreached`]
    pub chunks: Vec<Chunk>,
    /// Size. [`bank2-unreached`]
    pub size: u64,
    /// The null symbol's new value.
    pub null_value: Option<u64>,
}

/// Drops inputs' `.nv.constant3` that equal an earlier one of the same size, as nvlink does when
/// kernels are pruned. Quirk: symbol values and relocations are not adjusted, and the null symbol
/// gets the offset of the last mergeable one. [`equal-constants-16`, `equal-constants-kept`]
pub fn compact_bank3(cx: Analysis<'_, '_>, merged: &Merged, section: SectionId) -> Bank3 {
    let mut out = Bank3 { chunks: Vec::new(), size: 0, null_value: None };
    let mut kept: Set<(u64, u64, &[u8])> = Set::default();
    let Content::Chunks(chunks) = merged.section(section).content() else { return out };
    for chunk in chunks.iter() {
        let from = chunk.from;
        let Some(input) = cx.objects[from.object].cubin.section(from.section) else {
            continue;
        };
        let mergeable = is_mergeable(input.size, input.align);
        let always = matches!(input.size, 4 | 8) && input.data.iter().all(|&b| b == 0);
        if mergeable && !kept.insert((input.size, input.align, input.data)) && !always {
            continue;
        }
        let offset = align_up(out.size, input.align);
        out.chunks.push(Chunk { from, offset });
        out.size = offset.saturating_add(input.size);
        if mergeable {
            out.null_value = Some(offset);
        }
    }
    out
}

fn is_mergeable(size: u64, align: u64) -> bool {
    matches!((size, align), (4, 4) | (8, 8)) || matches!(size, 12 | 16 | 20 | 24 | 32 | 48 | 64)
}
