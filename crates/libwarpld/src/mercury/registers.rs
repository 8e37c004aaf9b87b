//! `.nv_debug_info_reg_sass`: which variables are in which registers, by range of code.
//!
//! Per function: its name, the number of ranges (32 bits), and per range a word (0 or 1), the
//! variable's name, a word about the register, and the first and last offset in the code.

use super::CapsuleFile;
use super::code::instruction::Instruction;
use super::code_edits::moves_of_symbol;
use super::replaced_copies::SelectedCode;
use super::round_trip::linker;
use crate::collections::{Map, Set};
use crate::ids::{InputSection, ObjectId, SymbolId, SymbolRefId};

/// Size of a number.
const WORD: usize = 4;

/// The tables of all inputs, processed in order.
pub struct Tables<'b, 'a, 'o> {
    file: &'b CapsuleFile<'a, 'o>,
    /// The functions of the output by name. If several share a name, the first in the symbol table
    /// counts: a local one before a global one.
    selected: Map<&'o [u8], SymbolId>,
    /// Functions with an alias before them in the symbol table: their code has its name.
    behind_alias: Set<SymbolId>,
    /// Functions whose ranges have been written.
    seen: Set<SymbolId>,
    /// The functions of the last input looked up, by name.
    functions: Option<(ObjectId, Map<&'a [u8], u32>)>,
    /// Which inputs a linker wrote.
    linked: Map<ObjectId, bool>,
}

impl<'b, 'a, 'o> Tables<'b, 'a, 'o> {
    /// Starts before the first table.
    pub fn new(file: &'b CapsuleFile<'a, 'o>) -> Self {
        let cx = file.linked.cx;
        let mut selected: Map<&[u8], SymbolId> = Map::default();
        let number = |id: SymbolId| {
            let symbol = file.linked.merged.symbol_of[id].get();
            symbol.map_or(u32::MAX, |s| file.plan.numbering.index[s.index()])
        };
        let mut behind_alias = Set::default();
        for &function in &file.linked.merged.function_order {
            let id = cx.graph.symbol(function);
            if cx.keeps(id) {
                let owner = cx.owner_of_code(id).filter(|&owner| number(id) < number(owner));
                behind_alias.extend(owner);
                let first = selected.entry(cx.resolution.get(id).name).or_insert(id);
                if number(id) < number(*first) {
                    *first = id;
                }
            }
        }
        Self {
            file,
            selected,
            behind_alias,
            seen: Set::default(),
            functions: None,
            linked: Map::default(),
        }
    }

    /// Zeroes the ranges of functions that the output does not have, and of all copies after the
    /// first (seen with templates in two files, and with local functions of one name:
    /// `registers-of-namesakes`), and of functions behind an alias (`registers-with-alias`). The
    /// others follow the code: ranges in Mercury code are translated with the selected copy's map,
    /// and are 0 where none of its instructions starts. Quirk: nvlink reads past the end of the map,
    /// with a different result every time; warpld writes 0.
    pub fn follow(&mut self, from: InputSection, table: &mut [u8]) {
        let object = &self.file.linked.cx.objects[from.object];
        let mercury = object.cubin.section(from.section).map_or(&[][..], |s| s.data);
        let (mut described, mut at) = (None, 0);
        while let Some((name, after)) = text(table, at).filter(|(name, _)| !name.is_empty()) {
            let place = self.place(from.object, name);
            let Some(count) = number(table, after) else { return };
            let mut others = Ranges::default();
            if let Described::Selected(_) | Described::Linked(_) = &place {
                let starts = described.get_or_insert_with(|| functions(mercury));
                others = starts.get(name).map(|&at| ranges(mercury, at)).unwrap_or_default();
            }
            at = after + WORD;
            for _ in 0..count {
                let Some(record) = record(table, at) else { return };
                let (end, new) = (record.end, self.range(&record, &place, &mut others));
                let Some(words) = table.get_mut(end - 2 * WORD..end) else { return };
                for (word, place) in words.chunks_exact_mut(WORD).zip(new) {
                    word.copy_from_slice(&place.to_le_bytes());
                }
                at = end;
            }
        }
    }

    /// The range of a record in the output.
    fn range(
        &self,
        own: &Record<'_>,
        place: &Described<'a, 'b>,
        others: &mut Ranges<'_>,
    ) -> [u32; 2] {
        match place {
            Described::Gone => [0; 2],
            Described::Unchanged => own.range,
            Described::Selected(selected) | Described::Linked(selected) => {
                let found = others.get_mut(own.head).and_then(Vec::pop);
                let is_known = own.range.iter().all(|&at| is_place(at, selected.size));
                if matches!(place, Described::Linked(_)) && is_known {
                    return own.range;
                }
                let [start, end] = found.unwrap_or_default().map(u64::from);
                selected.range(start, end, self.file.linked.cx.dialect).map(|at| at as u32)
            }
        }
    }

    /// The function with that name in an input.
    fn symbol(&mut self, object: ObjectId, name: &[u8]) -> Option<u32> {
        if self.functions.as_ref().is_none_or(|(of, _)| *of != object) {
            let mut functions = Map::default();
            let symbols = self.file.linked.cx.objects[object].cubin.symbols();
            for symbol in symbols.filter(|s| s.kind() == cubin::SymbolType::FUNC) {
                functions.entry(symbol.name).or_insert(symbol.index.0);
            }
            self.functions = Some((object, functions));
        }
        self.functions.as_ref()?.1.get(name).copied()
    }

    fn place(&mut self, object: ObjectId, name: &[u8]) -> Described<'a, 'b> {
        let (file, cx) = (self.file, self.file.linked.cx);
        let Some(symbol) = self.symbol(object, name) else { return Described::Unchanged };
        let Some(&id) = self.selected.get(name).filter(|&&id| self.seen.insert(id)) else {
            return Described::Gone;
        };
        if self.behind_alias.contains(&id) {
            return Described::Gone;
        }
        let (at, selected) = (SymbolRefId { object, symbol }, cx.resolution.get(id).definition);
        let is_other = selected
            .is_some_and(|selected| selected != at && code(file, selected) != code(file, at));
        let is_edited = selected.is_some_and(|selected| {
            moves_of_symbol(file.linked, &file.edited, selected.object, selected.symbol).is_some()
        });
        let described = match () {
            () if is_other || is_edited => Described::Selected,
            () if self.is_linked(object) => Described::Linked,
            () => return Described::Unchanged,
        };
        SelectedCode::new(file.linked, &file.edited, id).map_or(Described::Gone, described)
    }

    /// Whether an input was written by a linker.
    fn is_linked(&mut self, object: ObjectId) -> bool {
        let input = &self.file.linked.cx.objects[object].cubin;
        *self.linked.entry(object).or_insert_with(|| linker(input).is_some())
    }
}

/// What happened to the code that a table describes.
enum Described<'a, 'b> {
    /// The output does not have it, or not in its own name.
    Gone,
    /// It is where it was.
    Unchanged,
    /// This code of the output has its name.
    Selected(SelectedCode<'a, 'b>),
    /// It is where it was, but the link before left out ranges: of functions behind an alias, and of replaced
    /// copies.
    Linked(SelectedCode<'a, 'b>),
}

/// Whether an offset in machine code of this size is one that the link before found. Otherwise it wrote 0
/// or, if it was nvlink, what its memory held.
fn is_place(at: u32, size: u64) -> bool {
    at != 0 && u64::from(at).is_multiple_of(Instruction::SIZE as u64) && u64::from(at) <= size
}

/// The Mercury ranges of one function: by the fields before them in their records (variable and
/// register), the last one first. Both halves have the ranges of one variable in one register in the
/// same order.
type Ranges<'a> = Map<&'a [u8], Vec<[u32; 2]>>;

/// Where the records of each function start in a Mercury table. A file that was linked before has
/// those of replaced copies as well: the first of a name counts (`debug-places-of-copies`).
fn functions(table: &[u8]) -> Map<&[u8], usize> {
    let (mut at, mut out) = (0, Map::default());
    while let Some((name, after)) = text(table, at).filter(|(name, _)| !name.is_empty()) {
        out.entry(name).or_insert(after);
        let Some(count) = number(table, after) else { break };
        at = after + WORD;
        for _ in 0..count {
            let Some(record) = record(table, at) else { return out };
            at = record.end;
        }
    }
    out
}

/// The ranges of the function whose number of records is at an offset.
fn ranges(table: &[u8], at: usize) -> Ranges<'_> {
    let (count, mut at) = (number(table, at).unwrap_or(0), at + WORD);
    let mut out = Ranges::default();
    for _ in 0..count {
        let Some(record) = record(table, at) else { break };
        out.entry(record.head).or_default().push(record.range);
        at = record.end;
    }
    out.values_mut().for_each(|ranges| ranges.sort_by(|a, b| b.cmp(a)));
    out
}

/// A record of a table.
struct Record<'a> {
    head: &'a [u8],
    range: [u32; 2],
    end: usize,
}

fn record(table: &[u8], at: usize) -> Option<Record<'_>> {
    let head_end = text(table, at + WORD)?.1 + WORD;
    let range = [number(table, head_end)?, number(table, head_end + WORD)?];
    Some(Record { head: table.get(at..head_end)?, range, end: head_end + 2 * WORD })
}

/// The machine code of a definition.
fn code<'a>(file: &CapsuleFile<'a, '_>, at: SymbolRefId) -> &'a [u8] {
    let section = file.linked.cx.input_symbol(at).map_or(0, |s| s.shndx);
    let halves = file.linked.cx.objects[at.object].halves.as_ref();
    halves.and_then(|h| h.counterpart(section)).map_or(&[], |s| s.data)
}

fn text(table: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = table.get(at..)?;
    let end = rest.iter().position(|&b| b == 0)?;
    Some((&rest[..end], at + end + 1))
}

fn number(table: &[u8], at: usize) -> Option<u32> {
    let bytes = table.get(at..at.checked_add(WORD)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_nvlink_is_no_place() {
        let places = [0, 0x10, 0x80, 0x90, 0x18, 0x1d4_cfc0, u32::MAX].map(|at| is_place(at, 0x80));
        assert_eq!(places, [false, true, true, false, false, false, false]);
    }
}
