//! What relocations against functions come to.

use super::{Action, Facts, Place, Relocator};
use crate::merge::{Context, Merged, OutSymbolId};
use crate::object::SectionClass;
use crate::resolve::{Role, Sighting, SymbolId};
use cubin::{Reloc, SymbolRef};
use rayon::prelude::*;

/// The symbols that stand for functions in the output, by symbol of the link. A function
/// is called from many places, so it is worth looking it up once.
pub(super) struct Functions(Vec<u32>);

/// Not part of the output.
const GONE: u32 = u32::MAX;
/// Part of the output, but without symbol.
const NAMELESS: u32 = u32::MAX - 1;
/// Not a function.
const OTHER: u32 = u32::MAX - 2;

/// Fewer symbols are not worth another thread.
const TASK: usize = 1024;

impl Functions {
    /// Finds the symbols of all functions.
    pub fn new(cx: Context<'_, '_>, merged: &Merged) -> Self {
        let symbols = cx.resolution.symbols.par_iter().enumerate().with_min_len(TASK);
        let find = |(i, symbol): (usize, &crate::resolve::Symbol<'_>)| match symbol.function {
            true => find(cx, merged, SymbolId(i as u32)),
            false => OTHER,
        };
        Self(symbols.map(find).collect())
    }
}

/// The symbol that stands for a function.
fn find(cx: Context<'_, '_>, merged: &Merged, id: SymbolId) -> u32 {
    if !cx.keeps(id) {
        return GONE;
    }
    merged.symbol_of[behind_alias(cx, id).0 as usize].map_or(NAMELESS, |symbol| symbol.0)
}

/// An alias is replaced by the function that owns its section.
fn behind_alias(cx: Context<'_, '_>, id: SymbolId) -> SymbolId {
    let owner = cx.resolution.get(id).definition.and_then(|at| {
        let object = &cx.objects[at.object.0 as usize];
        let owner = object.owner(object.cubin.symbol_section(at.symbol)?)?;
        if owner == at.symbol { Some(id) } else { cx.resolution.id(at.object, owner) }
    });
    owner.unwrap_or(id)
}

impl<'a> Relocator<'a, '_> {
    pub(super) fn function(
        &self,
        place: &Place<'_, 'a>,
        symbol: &SymbolRef<'a>,
        id: SymbolId,
        (reloc, kind): (&Reloc, &Facts),
    ) -> Action {
        let found = match self.functions.0.get(id.0 as usize) {
            Some(&OTHER) | None => find(self.cx, self.merged, id),
            Some(&found) => found,
        };
        let live = found != GONE;
        if place.target.weak_sensitive {
            let at = Sighting { object: place.object, symbol: symbol.index.0 };
            let role = self.cx.resolution.role(id, at, !symbol.is_undefined());
            let cut = self.merged.debug_cut.get(&id);
            let removed = cut.is_some_and(|&cut| place.object < cut) && reloc.addend.is_some();
            // The debug data of a removed function's replaced copy is cleared only
            // if no copy before the last replacement had relocations in its code.
            let outlived = !live && role == Role::Replaced && self.had_text_relocs(id);
            if role == Role::Discarded || removed || outlived {
                return Action::Drop;
            }
        }
        match found {
            GONE if kind.clears => Action::Clear,
            GONE | NAMELESS => Action::Drop,
            _ if kind.clears => Action::Drop,
            symbol => Action::Keep { symbol: OutSymbolId(symbol), relative: false },
        }
    }

    /// Whether a definition that was replaced had relocations in its code.
    fn had_text_relocs(&self, id: SymbolId) -> bool {
        let relocated = |at: &Sighting| {
            let object = &self.cx.objects[at.object.0 as usize];
            let text = object.cubin.symbol(at.symbol).map(|s| s.shndx);
            object
                .of_class(|class| matches!(class, SectionClass::Reloc(t) if Some(t) == text))
                .any(|(section, _)| section.size != 0)
        };
        self.cx.resolution.replaced.get(&id).is_some_and(|copies| copies.iter().any(relocated))
    }
}
