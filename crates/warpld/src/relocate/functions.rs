//! What relocations against functions come to.

use super::{Action, Facts, Place, Relocator};
use crate::layout::Layout;
use crate::maybe::Maybe;
use crate::merge::{Context, Merged, OutSymbolId, SectionId};
use crate::object::{SectionClass, is_internal, is_shared};
use crate::resolve::{Role, Sighting, Symbol, SymbolId};
use cubin::consts::shn;
use cubin::{Binding, Reloc, SymbolRef, SymbolType};
use rayon::prelude::*;

/// What stands for functions in the output, by symbol of the link. A function is called
/// from many places, so it is worth looking it up once.
#[derive(Debug)]
pub struct Functions(Vec<Function>);

/// What stands for a function.
#[derive(Clone, Copy, Debug)]
struct Function {
    /// The number of its symbol, or one of the values below.
    symbol: u32,
    /// Its code.
    code: Code,
}

/// A function's code and what the definition says of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Code {
    /// The output section, which starts with it; none if that takes a closer look.
    section: Maybe<SectionId>,
    /// Its size.
    pub size: u32,
    /// `st_other` of the definition.
    pub other: u8,
    /// `st_other` where the function is first seen.
    pub first_other: u8,
    /// Its binding, as the link has it.
    pub binding: Binding,
}

const _: () = assert!(size_of::<Function>() <= 16);

/// The number of a function's symbol, or one of the values below.
#[derive(Clone, Copy)]
pub(super) struct Found(u32);

impl Found {
    /// What relocations against the function come to that are not lost.
    #[inline]
    pub(super) fn action(self, kind: &Facts) -> Action {
        match self.0 {
            GONE if kind.clears => Action::Clear,
            GONE | NAMELESS => Action::Drop,
            _ if kind.clears => Action::Drop,
            symbol => Action::Keep { symbol: OutSymbolId(symbol), relative: false },
        }
    }
}

/// Not part of the output.
const GONE: u32 = u32::MAX;
/// Part of the output, but without symbol.
const NAMELESS: u32 = u32::MAX - 1;
/// Not a function.
const OTHER: u32 = u32::MAX - 2;

/// Fewer symbols are not worth another thread.
const TASK: usize = 1024;

impl Functions {
    /// Finds what stands for all functions.
    pub(super) fn new(cx: Context<'_, '_>, merged: &Merged, layout: &Layout) -> Self {
        let symbols = cx.resolution.symbols.par_iter().enumerate().with_min_len(TASK);
        let find = |(i, symbol): (usize, &Symbol<'_>)| match symbol.function {
            true => find(cx, merged, layout, SymbolId(i as u32)),
            false => Function { symbol: OTHER, code: Code::default() },
        };
        Self(symbols.map(find).collect())
    }

    /// Whether the symbol is a function.
    #[inline]
    pub fn has(&self, id: SymbolId) -> bool {
        self.get(id).is_some()
    }

    /// What stands for a function; `None` if the symbol is none.
    #[inline]
    pub(super) fn get(&self, id: SymbolId) -> Option<Found> {
        let symbol = self.0.get(id.0 as usize)?.symbol;
        (symbol != OTHER).then_some(Found(symbol))
    }

    /// The code of a function and its section, if it was found.
    pub fn code(&self, id: SymbolId) -> Option<(SectionId, Code)> {
        let code = self.0.get(id.0 as usize)?.code;
        Some((code.section.get()?, code))
    }
}

/// What stands for a function.
fn find(cx: Context<'_, '_>, merged: &Merged, layout: &Layout, id: SymbolId) -> Function {
    if !cx.keeps(id) {
        return Function { symbol: GONE, code: Code::default() };
    }
    let known = cx.resolution.get(id);
    let definition = known.definition.and_then(|at| Some((at, cx.unnamed_symbol(at)?)));
    let function = definition.and_then(|(at, input)| {
        // An alias is replaced by the function that owns its section.
        match cx.objects[at.object.0 as usize].owner(input.shndx)? {
            owner if owner == at.symbol => Some(id),
            owner => cx.resolution.id(at.object, owner),
        }
    });
    let symbol = merged.symbol_of[function.unwrap_or(id).0 as usize].get();
    Function {
        symbol: symbol.map_or(NAMELESS, |symbol| symbol.0),
        // Tables of unified functions are laid out symbol by symbol.
        code: definition
            .filter(|_| layout.pieces.is_empty())
            .and_then(|(at, input)| code(cx, merged, known, at, &input))
            .unwrap_or_default(),
    }
}

/// The code of an ordinary function, which is all there is in its section.
fn code(
    cx: Context<'_, '_>,
    merged: &Merged,
    known: &Symbol<'_>,
    at: Sighting,
    input: &SymbolRef<'_>,
) -> Option<Code> {
    let first_other = match known.first == at {
        true => input.other,
        false => cx.unnamed_symbol(known.first)?.other,
    };
    let place = merged.placement(at.object, input.shndx)?;
    let ordinary = input.kind() == SymbolType::FUNC
        && !input.is_undefined()
        && !input.reserved
        && !is_shared(input)
        && !is_internal(input)
        && (place.offset, input.value) == (0, 0)
        && known.common.is_none();
    let size = u32::try_from(input.size).ok().filter(|_| ordinary)?;
    let (section, other) = (place.section.into(), input.other);
    Some(Code { section, size, other, first_other, binding: known.binding })
}

impl<'a> Relocator<'a, '_> {
    pub(super) fn function(
        &self,
        place: &Place<'_, 'a>,
        reloc: &Reloc,
        (id, Found(found)): (SymbolId, Found),
        kind: &Facts,
    ) -> Action {
        if place.target.weak_sensitive && self.is_debug_lost(place, reloc, id, found != GONE) {
            return Action::Drop;
        }
        Found(found).action(kind)
    }

    /// Whether debug data loses its relocations against a function.
    fn is_debug_lost(
        &self,
        place: &Place<'_, 'a>,
        reloc: &Reloc,
        id: SymbolId,
        live: bool,
    ) -> bool {
        let at = Sighting { object: place.object, symbol: reloc.symbol.0 };
        let role = match self.cx.resolution.get(id).definition == Some(at) {
            true => Role::Selected,
            // Few are anything else: only then the input's table is looked at, which is cold.
            false => {
                let section = place.input.cubin.symbol_section(at.symbol);
                self.cx.resolution.role(id, at, section != Some(shn::UNDEF))
            }
        };
        let cut = self.merged.debug_cut.get(&id);
        let removed = cut.is_some_and(|&cut| place.object < cut) && reloc.addend.is_some();
        // The debug data of a removed function's replaced copy is cleared only
        // if no copy before the last replacement had relocations in its code.
        let outlived = !live && role == Role::Replaced && self.had_text_relocs(id);
        role == Role::Discarded || removed || outlived
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
