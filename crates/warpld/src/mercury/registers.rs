//! `.nv_debug_info_reg_sass`: which registers hold which variables where.
//!
//! For each function its name and the number of ranges (32 bits), and per range a
//! word (0 or 1), the variable's name, a word about the register, and the first
//! and last offset in the code.

use super::Both;
use super::edited::{moves_of_symbol, target};
use crate::finalizer::Moves;
use crate::object::ObjectId;
use crate::resolve::Sighting;

/// Bytes of a number.
const WORD: usize = 4;

/// Zeroes the ranges of functions that the output does not have, and of copies
/// with other code than the one it has, and moves those of code that moved. `table`
/// starts with the part of one input.
pub fn follow_code(both: &Both<'_, '_>, object: ObjectId, table: &mut [u8]) {
    let mut at = 0;
    while let Some((name, after)) = text(table, at) {
        let symbol = function(both, object, &name);
        let removed = symbol.is_some_and(|symbol| is_removed(both, object, symbol));
        let moves = symbol.and_then(|symbol| moves(both, object, symbol));
        let Some(count) = number(table, after) else { return };
        at = after + WORD;
        for _ in 0..count {
            let Some((_, after)) = text(table, at + WORD) else { return };
            let Some(range) = table.get_mut(after + WORD..after + 3 * WORD) else { return };
            if removed {
                range.fill(0);
            } else if let Some(moves) = moves {
                range.chunks_exact_mut(WORD).for_each(|word| target(word, moves));
            }
            at = after + 3 * WORD;
        }
        if name_is_missing(table, at) {
            return;
        }
    }
}

fn name_is_missing(table: &[u8], at: usize) -> bool {
    table.get(at).is_none_or(|&byte| byte == 0)
}

/// The symbol of the function with this name.
fn function(both: &Both<'_, '_>, object: ObjectId, name: &[u8]) -> Option<u32> {
    let input = &both.parts.cx.objects[object.0 as usize].cubin;
    let symbol = input.symbols().find(|s| s.name == name && s.kind() == cubin::SymbolType::FUNC);
    symbol.map(|s| s.index.0)
}

/// How the code moved that stayed for the function.
fn moves<'b>(both: &'b Both<'_, '_>, object: ObjectId, symbol: u32) -> Option<&'b Moves> {
    let resolution = &both.parts.cx.resolution;
    let kept = resolution.get(resolution.id(object, symbol)?).definition?;
    moves_of_symbol(both.parts, &both.edited, kept.object, kept.symbol)
}

fn is_removed(both: &Both<'_, '_>, object: ObjectId, symbol: u32) -> bool {
    let cx = both.parts.cx;
    let at = Sighting { object, symbol };
    let id = cx.resolution.id(object, symbol);
    let Some(id) = id else { return false };
    let kept = cx.resolution.get(id).definition;
    !cx.keeps(id) || kept.is_some_and(|kept| kept != at && code(both, kept) != code(both, at))
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
