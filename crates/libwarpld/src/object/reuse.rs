//! Analysis of the previous input, reused if the next one has the same shape. Usually one compiler
//! built them all, and many have the same sections and symbols in the same order.

use super::classify::Found;
use super::lists::Lists;
use super::sections::Extent;
use crate::object::symbols::InputSymbol;
use cubin::SymbolTable;
use cubin::{Cubin, Likeness};
use std::ops::Range;

#[cfg(test)]
mod tests;

/// The previous input, and its ranges of the lists.
#[derive(Default)]
pub(super) struct PreviousInput<'a> {
    /// The input, if there is one.
    pub(super) cubin: Option<&'a Cubin<'a>>,
    /// Results of scanning its sections.
    pub(super) found: Found<'a>,
    /// Their classes.
    pub(super) classes: Range<usize>,
    /// Their extents.
    pub(super) extents: Range<usize>,
    /// The string table of its symbols.
    pub(super) strings: &'a [u8],
    /// Its functions.
    pub(super) functions: Range<usize>,
    /// Results of scanning its symbols.
    pub(super) symbols: Symbols,
    /// Its symbols that are not functions, or those of the input whose list it repeats.
    pub(super) others: Others<'a>,
}

/// Results of scanning all symbols.
#[derive(Clone, Copy, Default)]
pub(super) struct Symbols {
    /// Whether some symbol is in shared memory or refers to an image.
    pub(super) shared_or_images: bool,
    /// Whether one was left out that would take part if it had a name or a size.
    pub(super) left_out: bool,
    /// Whether some function is not the one that owns the section it is in.
    pub(super) shares_code: bool,
}

/// A list of symbols that are not functions.
#[derive(Default)]
pub(super) struct Others<'a> {
    /// Their range of the list.
    pub(super) list: Range<usize>,
    /// The string table with their names.
    pub(super) strings: &'a [u8],
    /// The range of all their names, if each of the symbols can be repeated.
    names: Option<Range<usize>>,
}

impl<'a> Others<'a> {
    /// The symbols of an input that are already in the list.
    pub(super) fn new(named: &[InputSymbol], list: Range<usize>, strings: &'a [u8]) -> Self {
        let names = InputSymbol::names(named.get(list.clone()).unwrap_or_default());
        Self { list, strings, names }
    }

    /// Whether the symbols of a table like the previous input's are the same and have the same
    /// names, at whatever offsets.
    fn are_repeated(
        &self,
        named: &[InputSymbol],
        table: &SymbolTable<'_>,
        same_symbols: bool,
    ) -> bool {
        let list = named.get(self.list.clone()).unwrap_or_default();
        let (Some(names), Some(first)) = (&self.names, list.first()) else {
            return list.is_empty();
        };
        let Some(symbol) = table.get_unnamed(first.symbol) else { return false };
        let shift = first.shift(&symbol);
        let is_same = |named: &InputSymbol| {
            let symbol = table.get_unnamed(named.symbol);
            symbol.is_some_and(|symbol| named.is_repeated_by(&symbol, shift))
        };
        let start = names.start.wrapping_add_signed(shift);
        (same_symbols || list.iter().all(is_same))
            && self.strings.get(names.clone())
                == table.strings().get(start..start.wrapping_add(names.len()))
    }
}

impl<'a> PreviousInput<'a> {
    /// Whether an input has the same sections and symbols in the same order, and what else is the
    /// same.
    pub(super) fn likeness(&self, cubin: &Cubin<'_>) -> Option<Likeness> {
        cubin.likeness(self.cubin?)
    }

    /// Adds the sections of such an input; does nothing if their classes differ, because a few
    /// classes depend on names.
    pub(super) fn repeat_sections(
        &mut self,
        cubin: &Cubin<'_>,
        likeness: Likeness,
        lists: &mut Lists,
    ) -> bool {
        let classes = lists.classes.get(self.classes.clone()).unwrap_or_default();
        if !self.found.holds_for(cubin, classes) {
            return false;
        }
        if likeness.same_sections {
            // Their extents are shared.
            return true;
        }
        let Some(extents) = lists.repeat_extents(cubin, self.extents.clone()) else { return false };
        self.extents = extents;
        true
    }

    /// Finds the tables of this input or of one with the same sections, and returns whether they
    /// are those of the previous input, byte for byte.
    pub(super) fn find_tables(&mut self, cubin: &Cubin<'a>, extents: &[Extent]) -> bool {
        // Name offsets are in bounds if they were before.
        let mut same = cubin.symbol_strings().len() >= self.strings.len();
        for (_, section, table) in &mut self.found.tables {
            let extent = extents.get(*section as usize);
            let data = match extent.and_then(|extent| extent.bytes(cubin.bytes())) {
                Some(data) => data,
                None => cubin.unnamed_section(*section).map_or(&[][..], |s| s.data),
            };
            // The first of equal tables is kept: it is in the cache.
            if data != *table {
                (*table, same) = (data, false);
            }
        }
        same
    }

    /// Adds the symbols of such an input and returns whether symbols other than functions are
    /// repeated. Does nothing if there are some and they are not.
    pub(super) fn repeat_symbols(
        &mut self,
        cubin: &Cubin<'a>,
        likeness: Likeness,
        lists: &mut Lists,
    ) -> Option<bool> {
        let (table, same) = (cubin.symtab()?, likeness.same_symbols);
        if self.symbols.left_out || !self.others.are_repeated(&lists.named, table, same) {
            return None;
        }
        let start = lists.named.len();
        for at in self.functions.clone() {
            let function = lists.named.get(at)?.symbol;
            let function = table.get_unnamed(function)?;
            lists.named.push(InputSymbol::of(&function, table.strings()));
        }
        self.functions = start..lists.named.len();
        Some(!self.others.list.is_empty())
    }
}
