//! How relocations against functions are handled.

use super::{Action, KindInfo, Place, Relocator};
use crate::context::Analysis;
use crate::ids::{OutSymbolId, SymbolId, SymbolRefId};
use crate::merge::Merged;
use crate::object::MergeClass;
use crate::resolve::{Role, Symbol};
use cubin::Reloc;
use cubin::consts::shn;
use rayon::prelude::*;

/// What represents functions in the output, by symbol of the link: the index of their symbol, or
/// one of the values below. A function is called from many places, so it pays to look it up once.
#[derive(Debug)]
pub struct Functions(Vec<u32>);

/// The index of a function's symbol, or one of the values below.
#[derive(Clone, Copy)]
pub(super) struct FunctionSymbol(u32);

impl FunctionSymbol {
    /// The action for relocations against the function that are not dropped.
    /// [`address-tables`]
    #[inline]
    pub(super) fn action(self, kind: &KindInfo) -> Action {
        match self.0 {
            GONE if kind.clears => Action::Clear,
            GONE | NAMELESS => Action::Drop,
            _ if kind.clears => Action::Drop,
            symbol => Action::Emit { symbol: OutSymbolId::from(symbol), relative: false },
        }
    }
}

/// Not live.
const GONE: u32 = u32::MAX;
/// Live, but without a symbol.
const NAMELESS: u32 = u32::MAX - 1;
/// Not a function.
const OTHER: u32 = u32::MAX - 2;

/// Fewer symbols are not worth another thread.
const TASK: usize = 1024;

impl Functions {
    /// Looks up all functions.
    pub(super) fn new(cx: Analysis<'_, '_>, merged: &Merged) -> Self {
        let symbols = cx.resolution.symbols.par_iter().enumerate().with_min_len(TASK);
        let find = |(i, symbol): (usize, &Symbol<'_>)| match symbol.function {
            true => find(cx, merged, SymbolId::new(i)),
            false => OTHER,
        };
        Self(symbols.map(find).collect())
    }

    /// Whether the symbol is a function.
    #[inline]
    pub fn has(&self, id: SymbolId) -> bool {
        self.get(id).is_some()
    }

    /// What represents a function; `None` if the symbol is not a function.
    #[inline]
    pub(super) fn get(&self, id: SymbolId) -> Option<FunctionSymbol> {
        let symbol = *self.0.get(id.index())?;
        (symbol != OTHER).then_some(FunctionSymbol(symbol))
    }
}

/// What stands for a function. [`alias-across-files`]
fn find(cx: Analysis<'_, '_>, merged: &Merged, id: SymbolId) -> u32 {
    if !cx.keeps(id) {
        return GONE;
    }
    let function = match merged.code_of(cx, id) {
        Some(_) => id,
        // The Mercury half names functions inside a kernel (`whole-programs-capsules`).
        None if cx.dialect.names_functions_inside_kernels() && is_nested(cx, id) => id,
        // An alias is replaced by its function.
        None => cx.owner_of_code(id).unwrap_or(id),
    };
    merged.symbol_of[function].get().map_or(NAMELESS, |symbol| symbol.as_u32())
}

fn is_nested(cx: Analysis<'_, '_>, id: SymbolId) -> bool {
    cx.resolution.kernel_around(cx.objects, id).is_some()
}

impl<'a> Relocator<'a, '_> {
    pub(super) fn function(
        &self,
        place: &Place<'_, 'a>,
        reloc: &Reloc,
        (id, FunctionSymbol(found)): (SymbolId, FunctionSymbol),
        kind: &KindInfo,
    ) -> Action {
        if place.target.weak_sensitive && self.is_debug_discarded(place, reloc, id, found != GONE) {
            return Action::Drop;
        }
        FunctionSymbol(found).action(kind)
    }

    /// Whether debug data drops its relocations against a function.
    fn is_debug_discarded(
        &self,
        place: &Place<'_, 'a>,
        reloc: &Reloc,
        id: SymbolId,
        live: bool,
    ) -> bool {
        let at = SymbolRefId { object: place.object, symbol: reloc.symbol.0 };
        let role = match self.cx.resolution.get(id).definition == Some(at) {
            true => Role::Selected,
            // Few are anything else, and only those need the input's table, which is cold.
            false => {
                let section = place.input.cubin.symbol_section(at.symbol);
                self.cx.resolution.role(id, at, section != Some(shn::UNDEF))
            }
        };
        let cut = self.merged.debug_cut.get(&id);
        let removed = cut.is_some_and(|&cut| place.object < cut) && reloc.addend.is_some();
        // The debug data of a dead function's replaced copy is cleared only if no copy before the
        // last replacement had relocations in its code.
        let outlived = !live && role == Role::Replaced && self.had_text_relocs(id);
        role == Role::Discarded || removed || outlived
    }

    /// Whether a replaced definition had relocations in its code.
    /// [`weak-kernel-replaced`, `weak-dead-with-relocations`, `weak-dead-replaced`,
    /// `weak-dead-replaced-twice`, `weak-dead-then-strong`]
    fn had_text_relocs(&self, id: SymbolId) -> bool {
        let relocated = |at: &SymbolRefId| {
            let object = &self.cx.objects[at.object];
            let text = object.cubin.symbol(at.symbol).map(|s| s.shndx);
            object
                .of_class(|class| matches!(class, MergeClass::Reloc(t) if Some(t) == text))
                .any(|(section, _)| section.size != 0)
        };
        self.cx.resolution.replaced.get(&id).is_some_and(|copies| copies.iter().any(relocated))
    }
}
