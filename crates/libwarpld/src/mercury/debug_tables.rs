//! Debug tables that the finalizer rebuilds for machine code: they cover only functions of the
//! output.

use super::code_edits::moves_of_symbol;
use super::frames::{EntryHalves, Joined};
use super::line_copies::Translated;
use super::pairing::{PairCache, pair_at};
use super::replaced_copies::Kept;
use super::{damaged, frames, lines};
use crate::collections::Map;
use crate::diag::Diagnostic;
use crate::ids::{ObjectId, SectionId};
use crate::linked::Linked;
use crate::mercury::code::{Edited, Moves};
use crate::merge::{Chunk, Content};
use crate::write::Numbering;
use cubin::names;
use cubin::{RelocKind, SymbolType};

/// A rebuilt table.
#[derive(Debug, Default)]
pub struct DebugTable {
    /// Contents.
    pub bytes: Vec<u8>,
    /// By input and section in the Mercury half: blocks of the machine-code half and their new
    /// offsets.
    moved: Map<(u32, u32), Vec<Moved>>,
    /// Its relocations are sorted by offset.
    pub sorted: bool,
}

/// A block of an input's table.
#[derive(Clone, Copy, Debug)]
struct Moved {
    start: u64,
    end: u64,
    to: u64,
}

/// Functions of the output, by input and by the offset of their address in the machine-code half.
pub type Alive<'e> = Map<(u32, u64), Function<'e>>;

/// A function of the output.
#[derive(Clone, Copy, Debug)]
pub struct Function<'e> {
    /// Index of its symbol in the output.
    pub symbol: u32,
    /// Its symbol in the input.
    input_symbol: u32,
    /// Offset of its address in the Mercury half.
    mercury: u64,
    /// How its code moved, if it did.
    pub moves: Option<&'e Moves>,
}

impl DebugTable {
    /// Maps an offset of an input's table to the output; `None` if it was dropped.
    pub fn offset(&self, object: u32, section: u32, offset: u64) -> Option<u64> {
        let list = self.moved.get(&(object, section))?;
        let behind = list.partition_point(|m| m.start <= offset);
        let moved = list.get(behind.checked_sub(1)?).filter(|m| offset < m.end)?;
        Some(moved.to + (offset - moved.start))
    }

    /// Sorts the blocks so that offsets can be looked up. Call it once all blocks are there.
    fn finish(&mut self) {
        self.moved.values_mut().for_each(|list| list.sort_by_key(|m| m.start));
    }

    /// Appends a block of an input's table and returns its new offset.
    pub fn copy(&mut self, input: &Input<'_>, start: usize, end: usize) -> usize {
        let to = self.bytes.len();
        self.bytes.extend_from_slice(input.data.get(start..end).unwrap_or_default());
        let moved = Moved { start: start as u64, end: end as u64, to: to as u64 };
        self.moved.entry((input.object, input.section)).or_default().push(moved);
        to
    }

    /// Overwrites bytes.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at.saturating_add(bytes.len())) {
            place.copy_from_slice(bytes);
        }
    }
}

/// One input's table in the machine-code half.
pub struct Input<'a> {
    /// The input.
    pub object: u32,
    /// Section in the Mercury half.
    pub section: u32,
    /// Contents.
    pub data: &'a [u8],
}

/// Rebuilds all such tables.
pub fn rebuild(
    parts: Linked<'_, '_>,
    numbering: &Numbering,
    edited: &Map<SectionId, Edited>,
) -> Result<Map<SectionId, DebugTable>, Diagnostic> {
    let mut out = Map::default();
    for id in parts.merged.sections.ids() {
        let is_frames = match parts.merged.section_name(id) {
            names::DEBUG_FRAME => true,
            names::DEBUG_LINE | names::NV_DEBUG_LINE_SASS => false,
            _ => continue,
        };
        let Content::Chunks(chunks) = parts.merged.section(id).content() else { continue };
        let alive = alive(parts, id, numbering, edited)?;
        let (mut joined, mut translated) = (Joined::default(), Translated::default());
        each_function(parts, numbering, edited, &chunks, &alive, |entries, kept, name| {
            match is_frames {
                true => joined.add(entries, kept, name == Name::Later),
                false => translated.add(entries, kept, name),
            }
        });
        let mut table = DebugTable { sorted: !is_frames, ..DebugTable::default() };
        for chunk in chunks.iter() {
            let object = &parts.cx.objects[chunk.from.object];
            let counterpart =
                object.halves.as_ref().and_then(|h| h.counterpart(chunk.from.section));
            let Some(counterpart) = counterpart else { continue };
            let (object, section) = (chunk.from.object.as_u32(), chunk.from.section);
            let input = Input { object, section, data: counterpart.data };
            match is_frames {
                true => frames::add(&mut table, &input, &alive, &joined)
                    .map_err(|e| damaged(parts, chunk.from.object, &e.to_string()))?,
                false => lines::add(&mut table, &input, &alive, &translated),
            }
        }
        table.finish();
        if !is_frames {
            header_values(parts, id, &mut table)?;
        }
        out.insert(id, table);
    }
    Ok(out)
}

/// A unit's header refers to the strings of its inlined functions. Objects have that relocation in
/// the Mercury half only, and its value in both tables.
fn header_values(
    parts: Linked<'_, '_>,
    id: SectionId,
    table: &mut DebugTable,
) -> Result<(), Diagnostic> {
    let Some(relocs) = parts.merged.section(id).rela() else { return Ok(()) };
    let relocs = parts.relocated.of(relocs);
    let mut pairs = PairCache::default();
    let mut headers: Map<(u32, u32), lines::Headers> = Map::default();
    for (patch, source) in relocs.patches.iter().zip(relocs.patched_from) {
        let Some((reloc, None)) = pair_at(parts, &mut pairs, *source)? else { continue };
        let object = &parts.cx.objects[source.from.object];
        let target = object.cubin.section(source.from.section).map_or(0, |s| s.info);
        let counterpart = object.halves.as_ref().and_then(|h| h.counterpart(target));
        let (Some(mercury), Some(machine)) = (object.cubin.section(target), counterpart) else {
            continue;
        };
        let headers = headers
            .entry((source.from.object.as_u32(), target))
            .or_insert_with(|| lines::Headers::read(mercury.data, machine.data));
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
    parts: Linked<'_, '_>,
    id: SectionId,
    numbering: &Numbering,
    edited: &'e Map<SectionId, Edited>,
) -> Result<Alive<'e>, Diagnostic> {
    let mut out = Alive::default();
    let Some(relocs) = parts.merged.section(id).rela() else { return Ok(out) };
    let mut pairs = PairCache::default();
    let relocs = parts.relocated.of(relocs);
    for (kept, source) in relocs.kept.iter().zip(relocs.kept_from) {
        if let Some((mercury, Some(machine))) = pair_at(parts, &mut pairs, *source)? {
            let symbol = numbering.of(kept.symbol);
            let (object, input_symbol) = (source.from.object, machine.symbol.0);
            let moves = moves_of_symbol(parts, edited, object, input_symbol);
            let function = Function { symbol, input_symbol, mercury: mercury.offset, moves };
            out.insert((object.as_u32(), machine.offset), function);
        }
    }
    Ok(out)
}

/// Which of the names of its code a function's name is, in symbol order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// The only one.
    Only,
    /// The first; aliases follow.
    First,
    /// A later one: an alias comes first.
    Later,
}

/// Calls `run` for each function with its entries in a table, the selected copy's code, and which
/// of that code's names it has.
fn each_function<'a>(
    parts: Linked<'a, '_>,
    numbering: &Numbering,
    edited: &Map<SectionId, Edited>,
    chunks: &[Chunk],
    alive: &Alive<'_>,
    mut run: impl FnMut(&[EntryHalves<'a>], &Kept<'_, '_>, Name),
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
        let input = parts.cx.objects.get(ObjectId::from(object))?;
        let machine = input.halves.as_ref()?.counterpart(section)?.data;
        let mercury = input.cubin.section(section)?.data;
        let mercury_address = function.mercury;
        Some(EntryHalves { object, address, machine, mercury_address, mercury })
    };
    let names = names_of_code(parts, numbering);
    for entries in all.chunk_by(|a, b| a.1.symbol == b.1.symbol) {
        let Some(&(&(object, _), function)) = entries.first() else { continue };
        let first = ObjectId::from(object);
        let Some(kept) = Kept::of_symbol(parts, edited, first, function.input_symbol) else {
            continue;
        };
        let entries: Vec<EntryHalves<'a>> = entries.iter().filter_map(halves).collect();
        let name = match names.get(&(kept.from.object.as_u32(), kept.from.section)) {
            Some(&(first, _)) if first < function.symbol => Name::Later,
            Some(&(first, last)) if first < last => Name::First,
            _ => Name::Only,
        };
        run(&entries, &kept, name);
    }
}

/// The first and the last output symbol for each input's code. Symbols inside a kernel do not name
/// it.
fn names_of_code(parts: Linked<'_, '_>, numbering: &Numbering) -> Map<(u32, u32), (u32, u32)> {
    let mut out: Map<(u32, u32), (u32, u32)> = Map::default();
    let resolution = parts.cx.resolution;
    let is_nested = |id| resolution.kernel_around(parts.cx.objects, id).is_some();
    for ((id, known), symbol) in resolution.symbols.enumerated().zip(&parts.merged.symbol_of) {
        let (Some(symbol), Some(at)) = (symbol.get(), known.definition) else { continue };
        let Some(input) = parts.cx.input_symbol(at) else { continue };
        if input.kind() == SymbolType::FUNC && !is_nested(id) {
            let number = numbering.index[symbol.index()];
            let names = out.entry((at.object.as_u32(), input.shndx)).or_insert((number, number));
            *names = (number.min(names.0), number.max(names.1));
        }
    }
    out
}
