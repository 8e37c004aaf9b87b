//! Debug tables that the finalizer rebuilds for machine code: they cover only functions of the
//! output.

use super::code_edits::moves_of_symbol;
use super::debug_blocks::{Alive, DebugTable, EntryHalves, Function, Input, Name};
use super::frames::Joined;
use super::line_copies::Translated;
use super::pairing::{PairCache, pair_at};
use super::replaced_copies::SelectedCode;
use super::{damaged, frames, line_units, lines};
use crate::collections::Map;
use crate::diag::Diagnostic;
use crate::ids::{ObjectId, SectionId};
use crate::linked::Linked;
use crate::mercury::code::Edited;
use crate::merge::{Chunk, Content};
use crate::write::Numbering;
use cubin::names;
use cubin::{RelocKind, SymbolType};

/// Rebuilds all such tables.
pub fn rebuild(
    linked: Linked<'_, '_>,
    numbering: &Numbering,
    edited: &Map<SectionId, Edited>,
) -> Result<Map<SectionId, DebugTable>, Diagnostic> {
    let mut out = Map::default();
    for id in linked.merged.sections.ids() {
        let is_frames = match linked.merged.section_name(id) {
            names::DEBUG_FRAME => true,
            names::DEBUG_LINE | names::NV_DEBUG_LINE_SASS => false,
            _ => continue,
        };
        let Content::Chunks(chunks) = linked.merged.section(id).content() else { continue };
        let alive = alive(linked, id, numbering, edited)?;
        let (mut joined, mut translated) = (Joined::default(), Translated::default());
        each_function(linked, numbering, edited, &chunks, &alive, |entries, selected, name| {
            match is_frames {
                true => joined.add(entries, selected, name == Name::Later),
                false => translated.add(entries, selected, name),
            }
        });
        let mut table = DebugTable::new(!is_frames);
        for chunk in chunks.iter() {
            let object = &linked.cx.objects[chunk.from.object];
            let counterpart =
                object.halves.as_ref().and_then(|h| h.counterpart(chunk.from.section));
            let Some(counterpart) = counterpart else { continue };
            let (object, section) = (chunk.from.object.as_u32(), chunk.from.section);
            let input = Input { object, section, data: counterpart.data };
            match is_frames {
                true => frames::add(&mut table, &input, &alive, &joined)
                    .map_err(|e| damaged(linked, chunk.from.object, &e.to_string()))?,
                false => lines::add(&mut table, &input, &alive, &translated, linked.cx.dialect),
            }
        }
        table.finish();
        if !is_frames {
            header_values(linked, id, &mut table)?;
        }
        out.insert(id, table);
    }
    Ok(out)
}

/// A unit's header refers to the strings of its inlined functions. Objects have that relocation in
/// the Mercury half only, and its value in both tables.
fn header_values(
    linked: Linked<'_, '_>,
    id: SectionId,
    table: &mut DebugTable,
) -> Result<(), Diagnostic> {
    let Some(relocs) = linked.merged.section(id).rela() else { return Ok(()) };
    let relocs = linked.relocated.of(relocs);
    let mut pairs = PairCache::default();
    let mut headers: Map<(u32, u32), line_units::Headers> = Map::default();
    for (patch, source) in relocs.patches.iter().zip(relocs.patched_from) {
        let Some((reloc, None)) = pair_at(linked, &mut pairs, *source)? else { continue };
        let object = &linked.cx.objects[source.from.object];
        let target = object.cubin.section(source.from.section).map_or(0, |s| s.info);
        let counterpart = object.halves.as_ref().and_then(|h| h.counterpart(target));
        let (Some(mercury), Some(machine)) = (object.cubin.section(target), counterpart) else {
            continue;
        };
        let headers = headers
            .entry((source.from.object.as_u32(), target))
            .or_insert_with(|| line_units::Headers::read(mercury.data, machine.data));
        let at = headers
            .place(reloc.offset)
            .and_then(|place| table.offset(source.from.object.as_u32(), target, place));
        if let (RelocKind::MERCURY_ABS32, Some(at)) = (patch.kind, at) {
            table.put(at as usize, &(patch.value as u32).to_le_bytes());
        }
    }
    Ok(())
}

fn alive<'e>(
    linked: Linked<'_, '_>,
    id: SectionId,
    numbering: &Numbering,
    edited: &'e Map<SectionId, Edited>,
) -> Result<Alive<'e>, Diagnostic> {
    let mut out = Alive::default();
    let Some(relocs) = linked.merged.section(id).rela() else { return Ok(out) };
    let mut pairs = PairCache::default();
    let relocs = linked.relocated.of(relocs);
    for (emitted, source) in relocs.emitted.iter().zip(relocs.emitted_from) {
        if let Some((mercury, Some(machine))) = pair_at(linked, &mut pairs, *source)? {
            let symbol = numbering.of(emitted.symbol);
            let (object, input_symbol) = (source.from.object, machine.symbol.0);
            let moves = moves_of_symbol(linked, edited, object, input_symbol);
            let function = Function { symbol, input_symbol, mercury: mercury.offset, moves };
            out.insert((object.as_u32(), machine.offset), function);
        }
    }
    Ok(out)
}

/// Calls `run` for each function with its entries in a table, the selected copy's code, and which
/// of that code's names it has.
fn each_function<'a>(
    linked: Linked<'a, '_>,
    numbering: &Numbering,
    edited: &Map<SectionId, Edited>,
    chunks: &[Chunk],
    alive: &Alive<'_>,
    mut run: impl FnMut(&[EntryHalves<'a>], &SelectedCode<'_, '_>, Name),
) {
    let mut order: Map<u32, usize> = Map::default();
    let mut sections: Map<u32, u32> = Map::default();
    for (i, chunk) in chunks.iter().enumerate() {
        order.insert(chunk.from.object.as_u32(), i);
        sections.insert(chunk.from.object.as_u32(), chunk.from.section);
    }
    let mut all: Vec<_> = alive.iter().collect();
    all.sort_by_cached_key(|&(&(object, at), function)| {
        (function.symbol, order.get(&object).copied().unwrap_or(usize::MAX), at)
    });
    let halves = |&(&(object, address), function): &(&(u32, u64), &Function<'_>)| {
        let section = *sections.get(&object)?;
        let input = linked.cx.objects.get(ObjectId::from(object))?;
        let machine = input.halves.as_ref()?.counterpart(section)?.data;
        let mercury = input.cubin.section(section)?.data;
        let mercury_address = function.mercury;
        Some(EntryHalves { object, address, machine, mercury_address, mercury })
    };
    let names = names_of_code(linked, numbering);
    for entries in all.chunk_by(|a, b| a.1.symbol == b.1.symbol) {
        let Some(&(&(object, _), function)) = entries.first() else { continue };
        let first = ObjectId::from(object);
        let Some(selected) = SelectedCode::of_symbol(linked, edited, first, function.input_symbol)
        else {
            continue;
        };
        let entries: Vec<EntryHalves<'a>> = entries.iter().filter_map(halves).collect();
        let name = match names.get(&(selected.from.object.as_u32(), selected.from.section)) {
            Some(&(first, _)) if first < function.symbol => Name::Later,
            Some(&(first, last)) if first < last => Name::First,
            _ => Name::Only,
        };
        run(&entries, &selected, name);
    }
}

/// The first and the last output symbol for each input's code. Symbols inside a kernel do not name
/// it.
fn names_of_code(linked: Linked<'_, '_>, numbering: &Numbering) -> Map<(u32, u32), (u32, u32)> {
    let mut out: Map<(u32, u32), (u32, u32)> = Map::default();
    let resolution = linked.cx.resolution;
    let is_nested = |id| resolution.kernel_around(linked.cx.objects, id).is_some();
    for ((id, known), symbol) in resolution.symbols.enumerated().zip(&linked.merged.symbol_of) {
        let (Some(symbol), Some(at)) = (symbol.get(), known.definition) else { continue };
        let Some(input) = linked.cx.input_symbol(at) else { continue };
        if input.kind() == SymbolType::FUNC && !is_nested(id) {
            let number = numbering.index[symbol.index()];
            let names = out.entry((at.object.as_u32(), input.shndx)).or_insert((number, number));
            *names = (number.min(names.0), number.max(names.1));
        }
    }
    out
}
