//! Symbols that are not functions, compared with those of the previous input. Most are variables of
//! the compiler that all inputs name in the same order.

use crate::object::symbols::{InputSymbol, LONG, Place};
use cubin::{SymbolRef, SymbolTable};
use std::ops::Range;

/// A list of such symbols: the previous input's, or that of the input whose list it repeats.
#[derive(Default)]
pub(super) struct Variables<'a> {
    /// The string table with their names.
    strings: &'a [u8],
    /// The range of all their names, if each of the symbols can be repeated.
    names: Option<Range<usize>>,
}

impl<'a> Variables<'a> {
    pub(super) fn new(list: &[InputSymbol], strings: &'a [u8]) -> Self {
        Self { strings, names: names(list) }
    }

    /// Records a symbol. If the one at its position in the list is undefined and has the same
    /// name, that is not hashed again.
    #[inline]
    pub(super) fn record(
        &self,
        previous: Option<&InputSymbol>,
        symbol: &SymbolRef<'_>,
        strings: &[u8],
    ) -> InputSymbol {
        let repeated = previous.and_then(|previous| self.repeated(previous, symbol, strings));
        repeated.unwrap_or_else(|| InputSymbol::of(symbol, strings))
    }

    #[inline]
    fn repeated(
        &self,
        previous: &InputSymbol,
        symbol: &SymbolRef<'_>,
        strings: &[u8],
    ) -> Option<InputSymbol> {
        let is_reference = previous.place == Place::Undefined && symbol.is_undefined();
        if !is_reference || previous.length == LONG {
            return None;
        }
        let rest = strings.get(symbol.name_offset as usize..)?;
        let (name, rest) = rest.split_at_checked(previous.length.into())?;
        if rest.first() != Some(&0) || name != previous.name(self.strings) {
            return None;
        }
        let named = InputSymbol::with_name(symbol, previous.hash, previous.length);
        let (this, that) = ((previous.info, previous.other), (named.info, named.other));
        let repeats = this == that && previous.size == named.size && has_size(&named);
        Some(InputSymbol { repeats, ..named })
    }

    /// Whether the symbols of a table like the list's are the same and have the same names, at
    /// whatever offsets.
    pub(super) fn are_repeated(
        &self,
        list: &[InputSymbol],
        table: &SymbolTable<'_>,
        same_symbols: bool,
    ) -> bool {
        let (Some(names), Some(first)) = (&self.names, list.first()) else {
            return list.is_empty();
        };
        let Some(symbol) = table.get_unnamed(first.symbol) else { return false };
        let distance = distance(first, &symbol);
        let is_same = |named: &InputSymbol| {
            table.get_unnamed(named.symbol).is_some_and(|symbol| {
                self::distance(named, &symbol) == distance && symbol.size == u64::from(named.size)
            })
        };
        let start = names.start.wrapping_add_signed(distance);
        (same_symbols || list.iter().all(is_same))
            && self.strings.get(names.clone())
                == table.strings().get(start..start.wrapping_add(names.len()))
    }
}

/// Whether a list is identical to the previous one, including symbol indices.
pub(super) fn are_all_repeated(previous: &[InputSymbol], list: &[InputSymbol]) -> bool {
    let same = |(old, new): (&InputSymbol, &InputSymbol)| new.repeats && old.symbol == new.symbol;
    previous.len() == list.len() && previous.iter().zip(list).all(same)
}

/// The range of the symbols' names in the string table, including their ends, if all of them can
/// be repeated.
fn names(list: &[InputSymbol]) -> Option<Range<usize>> {
    let end = |named: &InputSymbol| named.name as usize + usize::from(named.length) + 1;
    let can_be = |named: &InputSymbol| {
        named.place == Place::Undefined && named.length != LONG && has_size(named)
    };
    let start = list.iter().map(|named| named.name).min()?;
    let range = start as usize..list.iter().map(end).max()?;
    list.iter().all(can_be).then_some(range)
}

/// Whether the size is recorded.
#[inline]
fn has_size(named: &InputSymbol) -> bool {
    named.small_size().is_some()
}

/// The distance between the name offsets of two symbols.
#[inline]
fn distance(named: &InputSymbol, symbol: &SymbolRef<'_>) -> isize {
    symbol.name_offset as isize - named.name as isize
}
