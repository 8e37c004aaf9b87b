//! Symbols of an input that take part in resolution.

use super::classify::owner;
use super::lists::Lists;
use super::symbols::InputSymbol;
use cubin::consts::sto;
use cubin::{Binding, Cubin, SymbolRef, SymbolType};
use std::ops::Range;

/// Results of scanning all symbols, besides the lists.
#[derive(Clone, Copy, Default)]
pub(super) struct Symbols {
    /// Whether some symbol is in shared memory or refers to an image.
    pub(super) shared_or_images: bool,
    /// Whether one was left out that would take part if it had a name or a size.
    pub(super) left_out: bool,
    /// Whether some function is not the one that owns the section it is in.
    pub(super) shares_code: bool,
}

/// Adds functions to the list of symbols with names, and others to the list of others, as `record`
/// makes them: it gets the list of all symbols with names, and the position among the others.
#[inline]
pub(super) fn scan(
    cubin: &Cubin<'_>,
    classes: Range<usize>,
    lists: &mut Lists,
    record: impl Fn(&[InputSymbol], usize, &SymbolRef<'_>) -> InputSymbol,
) -> Symbols {
    let mut found = Symbols::default();
    let strings = cubin.symbol_strings();
    if let Some(table) = cubin.symtab() {
        let mut add = |symbol| found.add(symbol, strings, classes.clone(), lists, &record);
        match table.plain_unnamed() {
            Some(symbols) => symbols.for_each(&mut add),
            None => table.iter_unnamed().for_each(&mut add),
        }
    }
    found
}

impl Symbols {
    /// Takes the next symbol, which is never put together in memory.
    #[inline(always)]
    fn add(
        &mut self,
        symbol: SymbolRef<'_>,
        strings: &[u8],
        own: Range<usize>,
        Lists { named, others, classes, .. }: &mut Lists,
        record: impl Fn(&[InputSymbol], usize, &SymbolRef<'_>) -> InputSymbol,
    ) {
        let kind = symbol.kind();
        self.shared_or_images |= symbol.is_shared() || kind.is_image();
        // Most symbols are those of sections: their names are of no use.
        if kind == SymbolType::SECTION || is_label(&symbol) {
            return;
        }
        if kind == SymbolType::FUNC {
            let classes = classes.get(own).unwrap_or_default();
            self.shares_code |=
                !symbol.is_undefined() && owner(classes, symbol.shndx) != Some(symbol.index.0);
            named.push(InputSymbol::of(&symbol, strings));
        } else if is_mark(&symbol) {
            // It says that a whole program was compiled for a target with reserved memory. The
            // next input may have something there.
            self.left_out = true;
        } else if has_name(&symbol, strings) {
            others.push(record(named, others.len(), &symbol));
        } else {
            self.left_out = true;
        }
    }
}

/// Undefined locals (labels of debug files) are not resolved.
#[inline]
fn is_label(symbol: &SymbolRef<'_>) -> bool {
    let is_local = symbol.is_undefined() && symbol.binding() == Binding::LOCAL;
    is_local && symbol.kind() != SymbolType::FUNC && !symbol.is_internal()
}

/// Places in reserved shared memory that hold nothing (`ptxas -ewp`) are not resolved.
/// [`reserved-shared`]
#[inline]
fn is_mark(symbol: &SymbolRef<'_>) -> bool {
    symbol.size == 0 && !symbol.is_undefined() && symbol.space() == sto::RESERVED_SHARED
}

/// Nameless symbols are not resolved.
#[inline]
fn has_name(symbol: &SymbolRef<'_>, strings: &[u8]) -> bool {
    strings.get(symbol.name_offset as usize).is_some_and(|&first| first != 0)
}
