//! `.nv_debug_info_reg_sass`: which registers hold which variables where.
//!
//! For each function its name and the number of ranges (32 bits), and per range a
//! word (0 or 1), the variable's name, a word about the register, and the first
//! and last offset in the code.

use super::Both;
use super::edited::{moves_of_symbol, target};
use crate::finalizer::Moves;
use crate::object::ObjectId;
use crate::resolve::{Sighting, SymbolId};
use std::collections::HashSet;

/// Bytes of a number.
const WORD: usize = 4;

/// The tables of all inputs, one after the other.
pub struct Tables<'b, 'a, 'o> {
    both: &'b Both<'a, 'o>,
    /// Functions that had their ranges already.
    seen: HashSet<SymbolId>,
}

impl<'b, 'a, 'o> Tables<'b, 'a, 'o> {
    /// Before the first table.
    pub fn new(both: &'b Both<'a, 'o>) -> Self {
        Self { both, seen: HashSet::new() }
    }

    /// Zeroes the ranges of functions that the output does not have, of copies
    /// with other code than the one it has, and of all copies after the first
    /// (seen with templates in two files). The rest follow the code.
    pub fn follow(&mut self, object: ObjectId, table: &mut [u8]) {
        let mut at = 0;
        while let Some((name, after)) = text(table, at).filter(|(name, _)| !name.is_empty()) {
            let place = self.place(object, &name);
            let Some(count) = number(table, after) else { return };
            at = after + WORD;
            for _ in 0..count {
                let Some((_, after)) = text(table, at + WORD) else { return };
                let Some(range) = table.get_mut(after + WORD..after + 3 * WORD) else { return };
                match place {
                    Place::Gone => range.fill(0),
                    Place::Kept(Some(moves)) => {
                        range.chunks_exact_mut(WORD).for_each(|word| target(word, moves));
                    }
                    Place::Kept(None) => {}
                }
                at = after + 3 * WORD;
            }
        }
    }

    fn place(&mut self, object: ObjectId, name: &[u8]) -> Place<'b> {
        let (both, cx) = (self.both, self.both.parts.cx);
        let mut symbols = cx.objects[object.0 as usize].cubin.symbols();
        let symbol = symbols.find(|s| s.name == name && s.kind() == cubin::SymbolType::FUNC);
        let Some(symbol) = symbol.map(|s| s.index.0) else { return Place::Kept(None) };
        let Some(id) = cx.resolution.id(object, symbol) else { return Place::Kept(None) };
        let (at, kept) = (Sighting { object, symbol }, cx.resolution.get(id).definition);
        let other = kept.is_some_and(|kept| kept != at && code(both, kept) != code(both, at));
        if !cx.keeps(id) || other || !self.seen.insert(id) {
            return Place::Gone;
        }
        let moves = kept
            .and_then(|kept| moves_of_symbol(both.parts, &both.edited, kept.object, kept.symbol));
        Place::Kept(moves)
    }
}

/// What became of the code that a table is about.
#[derive(Clone, Copy)]
enum Place<'b> {
    Gone,
    Kept(Option<&'b Moves>),
}

/// The machine code of a definition.
fn code<'a>(both: &Both<'a, '_>, at: Sighting) -> &'a [u8] {
    let section = both.parts.cx.input_symbol(at).map_or(0, |s| s.shndx);
    let halves = both.parts.cx.objects[at.object.0 as usize].halves.as_ref();
    halves.and_then(|h| h.twin(section)).map_or(&[], |s| s.data)
}

fn text(table: &[u8], at: usize) -> Option<(Vec<u8>, usize)> {
    let rest = table.get(at..)?;
    let end = rest.iter().position(|&b| b == 0)?;
    Some((rest[..end].to_vec(), at + end + 1))
}

fn number(table: &[u8], at: usize) -> Option<u32> {
    let bytes = table.get(at..at.checked_add(WORD)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
