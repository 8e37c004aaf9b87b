//! Names of sections and symbols that come from names of the link.

use super::{List, Meaning, Merger, OutSymbol, Text};
use crate::ids::{FunctionId, SymbolId};
use crate::name_hash::{NameHash, ShortHash};
use crate::object::MergeClass;
use crate::resolve::Resolution;
use cubin::SymbolRef;
use hashbrown::HashTable;
use rayon::prelude::*;

/// Names that several symbols may have: those of symbols that belong to one input. All others
/// were found by name, so that there is one of each.
pub(super) struct Names {
    /// Hashes of them.
    shared: HashTable<ShortHash>,
}

impl Names {
    pub(super) fn new(resolution: &Resolution<'_>) -> Self {
        let own = &resolution.own;
        let mut shared = HashTable::with_capacity(own.len());
        for hash in own.iter().map(|&id| resolution.get(id).hash.short()) {
            let entry = shared.entry(hash.spread(), |&h| h == hash, |h: &ShortHash| h.spread());
            entry.or_insert(hash);
        }
        Self { shared }
    }

    /// Whether no other symbol has the name.
    pub(super) fn is_single(&self, hash: NameHash) -> bool {
        let hash = hash.short();
        self.shared.is_empty() || self.shared.find(hash.spread(), |&h| h == hash).is_none()
    }
}

impl<'a> Merger<'a, '_> {
    /// The name of a function after a prefix, where the caller sees to it that the string
    /// is not added again.
    pub(super) fn new_name(
        &self,
        prefix: &'static [u8],
        id: SymbolId,
        function: FunctionId,
    ) -> Text<'a> {
        let symbol = &self.cx.resolution.symbols[id];
        match self.single[function] {
            true => Text::once(prefix, symbol.name),
            false => Text::of_function(prefix, symbol.name, symbol.hash),
        }
    }

    /// The name of a function after a prefix, where the string may be there or come again.
    pub(super) fn known_name(&self, prefix: &'static [u8], id: SymbolId) -> Text<'a> {
        let symbol = &self.cx.resolution.symbols[id];
        Text::prefixed(prefix, symbol.name, symbol.hash)
    }

    /// A compiler constant of Mercury code is called after its bank, with its number among those
    /// of its input, or after its function, with its offset and size (`names-anew`).
    fn constant_name(&mut self, id: SymbolId) -> Option<u32> {
        if !self.cx.dialect.numbers_compiler_constants() {
            return None;
        }
        let at = self.cx.resolution.get(id).definition?;
        let symbol = self.cx.input_symbol(at).filter(SymbolRef::is_internal)?;
        let object = &self.cx.objects[at.object];
        let is_constant = |s: &SymbolRef<'_>| {
            let class = object.classes.get(s.shndx as usize);
            s.is_internal() && matches!(class, Some(MergeClass::FunctionConstant { bank: 2, .. }))
        };
        if !is_constant(&symbol) {
            return None;
        }
        let (bank, dialect) = (object.cubin.section(symbol.shndx)?.name, self.cx.dialect);
        let name = match (
            dialect.names_constants_by_offset(),
            bank.strip_prefix(dialect.bank2_prefix()),
        ) {
            (true, Some(function)) => {
                let place = format!(".const_opt.{}.{}", symbol.value, symbol.size);
                [function, place.as_bytes()].concat()
            }
            _ => {
                let before = object.cubin.symbols().take_while(|s| s.index != symbol.index);
                let number = before.filter(is_constant).count() + 1;
                [bank, format!(".{number}").as_bytes()].concat()
            }
        };
        Some(self.out.strings.add_symbol(Text::new(&name)))
    }

    pub(super) fn symbol_name(&mut self, id: SymbolId) -> u32 {
        if let Some(name) = self.constant_name(id) {
            return name;
        }
        let symbol = &self.cx.resolution.symbols[id];
        match symbol.name {
            b"" => 0,
            name => self.out.strings.add_symbol(Text::hashed(name, symbol.hash)),
        }
    }

    /// The name that all instances of dynamic arrays have.
    pub(super) fn instance_name(&mut self) -> u32 {
        self.out.strings.add_symbol(Text::new(b"externsharedinstance"))
    }

    /// Global names come last in `.strtab`; one that a section or local symbol
    /// has too is not repeated.
    pub(super) fn global_names(&mut self, names: &Names) {
        let mut symbols = std::mem::take(&mut self.out.symbols);
        let parts = symbols.par_chunks_mut(NAMED_AT_ONCE);
        let lists: Vec<_> = parts.map(|part| self.last_names(names, part)).collect();
        for (part, list) in symbols.chunks_mut(NAMED_AT_ONCE).zip(lists) {
            let (start, known) = match list {
                Some(list) => (Some(self.out.strings.add_last(list.text)), list.known),
                None => (None, Vec::new()),
            };
            for symbol in part.iter_mut() {
                match (self.last(symbol), start) {
                    (Some(_), Some(start)) => symbol.name += start,
                    (Some(Last::Symbol(id)), None) => symbol.name = self.symbol_name(id),
                    (Some(Last::Instance), None) => symbol.name = self.instance_name(),
                    (None, _) => {}
                }
            }
            known.into_iter().for_each(|(i, name)| part[i].name = name);
        }
        self.out.symbols = symbols;
    }

    /// What a symbol stands for, if its name comes last.
    fn last(&self, symbol: &OutSymbol) -> Option<Last> {
        match (symbol.list(), symbol.meaning()) {
            (List::Global, Meaning::Symbol(id)) => {
                self.out.symbol_of[id].is_some().then_some(Last::Symbol(id))
            }
            (List::Global, Meaning::DynamicInstance(_)) => Some(Last::Instance),
            _ => None,
        }
    }

    /// The last names of some symbols, which get their places among them. Nothing if one of
    /// the names may be that of another symbol: then all have to be looked for in order.
    fn last_names(&self, names: &Names, symbols: &mut [OutSymbol]) -> Option<LastNames> {
        let mut out = LastNames::default();
        for (i, symbol) in symbols.iter_mut().enumerate() {
            let id = match self.last(symbol) {
                Some(Last::Symbol(id)) => id,
                Some(Last::Instance) => return None,
                None => continue,
            };
            let input = &self.cx.resolution.symbols[id];
            // A name with a dot may be one that sections have, which not all are in the index.
            let is_plain = !matches!(input.name.first(), None | Some(b'.'))
                && (input.function || !self.cx.dialect.numbers_compiler_constants());
            if !is_plain || !names.is_single(input.hash) {
                return None;
            }
            match self.out.strings.find_symbol(Text::hashed(input.name, input.hash)) {
                Some(known) => out.known.push((i, known)),
                None => {
                    symbol.name = out.text.len() as u32;
                    out.text.extend_from_slice(input.name);
                    out.text.push(0);
                }
            }
        }
        Some(out)
    }
}

/// A symbol whose name comes last.
enum Last {
    Symbol(SymbolId),
    /// A kernel's instance of the dynamic array; all have one name.
    Instance,
}

/// So many symbols get their last names together.
const NAMED_AT_ONCE: usize = 1 << 12;

/// Names at the end of `.strtab`.
#[derive(Default)]
struct LastNames {
    text: Vec<u8>,
    /// Symbols whose names are there already.
    known: Vec<(usize, u32)>,
}
