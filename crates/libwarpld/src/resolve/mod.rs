//! Symbol resolution: which definition every name refers to.
//!
//! nvlink takes the inputs in order and merges each symbol into what it has seen before; this
//! simulates the outcome on names and numbers alone, so that later phases know the selected
//! definition before they touch any section.

use crate::collections::Map;
use crate::diag::{Diagnostic, Diagnostics};
use crate::dialect::Dialect;
use crate::ids::{IdVec, ObjectId, OptId, SymbolId, SymbolRefId};
use crate::name_hash::{NameHash, ShortHash};
use crate::object::call_lists::{Calls, KeptPrototype};
use crate::object::symbols::{InputSymbol, Place};
use crate::object::{Object, Objects, Parts, is_dynamic_array};
use cubin::consts::sto;
use cubin::{Binding, SymbolRef};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use previous::PreviousVariables;

pub mod discarded;
mod merge;
mod previous;
mod tensor;

/// The role of a symbol reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The definition that the output contains.
    Selected,
    /// Was selected until a later input had a better one.
    Replaced,
    /// A definition discarded for an earlier one.
    Discarded,
    /// Not a definition.
    Reference,
}

/// What is known about one name.
#[derive(Clone, Debug)]
pub struct Symbol<'a> {
    /// Name.
    pub name: &'a [u8],
    /// Its hash.
    pub hash: NameHash,
    /// Function, as opposed to data.
    pub function: bool,
    /// Kernel.
    pub entry: bool,
    /// First input that mentions it.
    pub first: SymbolRefId,
    /// `st_other` there.
    pub first_other: u8,
    /// The selected definition.
    pub definition: Option<SymbolRefId>,
    /// Binding in the output.
    pub binding: Binding,
    /// Size and alignment while it is a common symbol; few are.
    pub common: Option<Box<Common>>,
}

/// A common symbol: allocated by the linker unless an input defines it.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Largest size requested.
    pub size: u64,
    /// Alignment of the first mention (later ones do not count).
    pub align: u64,
}

/// The result of symbol resolution.
#[derive(Debug)]
pub struct Resolution<'a> {
    /// All symbols in order of first mention.
    pub symbols: IdVec<SymbolId, Symbol<'a>>,
    /// Those private to one input, in order: only they may share a name with another one.
    pub own: Vec<SymbolId>,
    /// The ids of all symbols of all inputs, input by input; none for section symbols,
    /// unnamed ones and undefined locals.
    ids: Vec<OptId<SymbolId>>,
    /// Where the ids of each input start, and where the last ones end.
    bounds: Vec<usize>,
    /// Definitions that were selected for a while, oldest first.
    pub replaced: Map<SymbolId, Vec<SymbolRefId>>,
}

impl Resolution<'_> {
    /// The id of an input symbol, if it has one.
    #[inline]
    pub fn id(&self, object: ObjectId, symbol: u32) -> Option<SymbolId> {
        self.ids_of(object)?.get(symbol as usize)?.get()
    }

    /// The ids of an input's symbols; none for those that take no part in resolution.
    #[inline]
    pub fn ids_of(&self, object: ObjectId) -> Option<&[OptId<SymbolId>]> {
        match *self.bounds.get(object.index()..)? {
            [start, end, ..] => self.ids.get(start..end),
            _ => None,
        }
    }

    /// The symbol with this id.
    #[inline]
    pub fn get(&self, id: SymbolId) -> &Symbol<'_> {
        &self.symbols[id]
    }

    /// The function whose section holds the code that a name refers to: usually itself, for an
    /// alias its function, for a function that `ptxas -ewp` put into a kernel that kernel.
    pub fn owner_of_code(&self, objects: &Objects<'_>, id: SymbolId) -> Option<SymbolId> {
        let known = self.get(id);
        let at = known.definition?;
        let object = objects.get(at.object)?;
        if known.function && !object.shares_code {
            return Some(id);
        }
        match object.owner(object.cubin.unnamed_symbol(at.symbol)?.shndx)? {
            owner if owner == at.symbol => Some(id),
            owner => self.id(at.object, owner),
        }
    }

    /// The kernel that has a function inside its code. Neither binding nor offset distinguishes
    /// such a function from an alias, only that a kernel has no alias (`whole-programs-relinked`;
    /// 20 objects with changed symbols).
    pub fn kernel_around(&self, objects: &Objects<'_>, id: SymbolId) -> Option<SymbolId> {
        let owner = self.owner_of_code(objects, id)?;
        (owner != id && self.get(owner).entry).then_some(owner)
    }

    /// The role of the reference `at` to `id`.
    #[inline]
    pub fn role(&self, id: SymbolId, at: SymbolRefId, defined: bool) -> Role {
        if self.get(id).definition == Some(at) {
            Role::Selected
        } else if !defined {
            Role::Reference
        } else if self.replaced.get(&id).is_some_and(|r| r.contains(&at)) {
            Role::Replaced
        } else {
            Role::Discarded
        }
    }

    /// Whether the first input that mentions a symbol defines it.
    pub fn is_defined_first(&self, id: SymbolId) -> bool {
        let symbol = self.get(id);
        let oldest = self.replaced.get(&id).and_then(|replaced| replaced.first());
        oldest.or(symbol.definition.as_ref()) == Some(&symbol.first)
    }

    /// Whether this definition was ever selected. [`weak-then-strong`]
    pub fn ever_selected(&self, id: SymbolId, at: SymbolRefId) -> bool {
        matches!(self.role(id, at, true), Role::Selected | Role::Replaced)
    }
}

/// What references to data are compared with.
#[derive(Clone, Copy)]
struct Expected {
    /// `st_other` of the definition, or of the first mention.
    other: u8,
    /// The size that references must have, if it is small.
    size: Option<u8>,
}

/// The first prototype of a function, if there is one, and the input that has it.
type FirstPrototype = (OptId<ObjectId>, KeptPrototype);

/// Resolves inputs in order.
pub struct Resolver<'a> {
    dialect: Dialect,
    /// Number of inputs.
    objects: usize,
    /// By name.
    names: HashTable<(ShortHash, SymbolId)>,
    /// By symbol.
    expected: IdVec<SymbolId, Expected>,
    /// By symbol, as far as there are any.
    prototypes: Vec<FirstPrototype>,
    variables: PreviousVariables,
    /// How tensor memory is managed, if an input uses it.
    accounts: Option<tensor::Accounts>,
    out: Resolution<'a>,
    errors: Vec<Diagnostic>,
    /// Warnings about definitions that were passed over, if these are no errors.
    duplicates: Option<Vec<Diagnostic>>,
}

/// The inputs being added, with everything before them.
struct Pass<'a, 'o> {
    objects: &'o Parts<'o, 'a>,
    known: &'o mut Resolver<'a>,
}

/// Limit for reserving memory: the first inputs may be larger than the others.
const MAX_ESTIMATE: usize = 1 << 20;

/// The number to expect in all inputs, if the first of them have `sum`.
pub fn estimate(sum: usize, first: usize, all: usize) -> usize {
    (sum.saturating_mul(all) / first.max(1)).min(MAX_ESTIMATE)
}

impl<'a> Resolver<'a> {
    /// For `objects` inputs; `keep_first` as in [`crate::ConfigBuilder::keep_first_definition`].
    pub fn new(dialect: Dialect, objects: usize, keep_first: bool) -> Self {
        let mut bounds = Vec::with_capacity(objects + 1);
        bounds.push(0);
        Self {
            dialect,
            objects,
            names: HashTable::new(),
            expected: IdVec::new(),
            prototypes: Vec::new(),
            variables: PreviousVariables::default(),
            accounts: None,
            out: Resolution {
                symbols: IdVec::new(),
                own: Vec::new(),
                ids: Vec::new(),
                bounds,
                replaced: Map::default(),
            },
            errors: Vec::new(),
            duplicates: keep_first.then(Vec::new),
        }
    }

    /// Adds the inputs of a part that starts with `first`; adds nothing more once there are
    /// conflicts.
    pub fn add(&mut self, objects: &Parts<'_, 'a>, first: ObjectId, calls: &Calls<'a>) {
        let part = objects.part(first);
        if self.out.symbols.is_empty() {
            self.reserve(part);
        }
        let mut pass = Pass { objects, known: self };
        for ((id, object), (_, prototypes)) in crate::ids::onward(first).zip(part).zip(calls.iter())
        {
            if pass.known.has_conflicts() {
                return;
            }
            let ids = pass.known.out.ids.len();
            pass.object(id, object);
            pass.tensor_memory(id, object);
            for &(function, prototype) in prototypes {
                // Its symbols are the last ones.
                let symbol = pass.known.out.ids.get(ids + function as usize);
                if let Some(symbol) = symbol.and_then(|symbol| symbol.get()) {
                    pass.prototype(id, symbol, prototype);
                }
            }
        }
    }

    /// Reserves memory for all inputs, of which these are the first: lists that grow are copied
    /// again and again, into fresh memory each time.
    fn reserve(&mut self, first: &[Object<'a>]) {
        let of_all = |sum: usize| estimate(sum, first.len(), self.objects);
        let defined = |object: &Object<'_>| {
            object.functions.iter().filter(|named| named.place == Place::Defined).count()
        };
        let functions = of_all(first.iter().map(defined).sum());
        self.names.reserve(functions, |(hash, _)| hash.spread());
        // Variables are mostly shared by all inputs; without memory for them, everything would be
        // copied at the end. The rest is for undefined symbols.
        let variables = first.iter().map(|object| object.data.len()).max().unwrap_or(0);
        let all = functions + variables.min(functions) + functions / 32;
        self.out.symbols.reserve_exact(all);
        self.expected.reserve_exact(all);
        self.prototypes.reserve_exact(all);
        let symbols = first.iter().map(|object| object.cubin.symbol_count()).sum();
        self.out.ids.reserve(of_all(symbols));
    }

    /// Whether there are conflicts, and the link has to stop.
    pub fn has_conflicts(&self) -> bool {
        !self.errors.is_empty()
    }

    /// What is known so far.
    pub fn resolution(&self) -> &Resolution<'a> {
        &self.out
    }

    /// The result. Conflicts are reported as nvlink does: all of one input, then the link stops
    /// there (`None`).
    pub fn finish(self, diags: &mut Diagnostics) -> Option<Resolution<'a>> {
        let duplicates = self.duplicates.into_iter().flatten();
        duplicates.for_each(|duplicate| diags.push(duplicate));
        if self.errors.is_empty() {
            return Some(self.out);
        }
        self.errors.into_iter().for_each(|error| diags.push(error));
        diags.push(Diagnostic::merge_failed());
        None
    }
}

impl<'a> Pass<'a, '_> {
    fn object(&mut self, id: ObjectId, object: &Object<'a>) {
        let start = self.known.out.ids.len();
        let end = start + object.cubin.symbol_count();
        self.known.out.ids.resize(end, OptId::NONE);
        self.known.out.bounds.push(end);
        for named in object.functions {
            let symbol = self.symbol(id, object, named);
            self.known.out.ids[start + named.symbol as usize] = symbol.into();
        }
        if self.known.has_conflicts() {
            // A function may have taken the name of a variable.
            self.known.variables.change();
        }
        if let Some(variables) = self.known.variables.all(object) {
            let ids = self.known.out.ids.get_mut(start..).unwrap_or_default();
            for (named, &id) in object.data.iter().zip(variables) {
                ids[named.symbol as usize] = id.into();
            }
            return;
        }
        for (i, named) in object.data.iter().enumerate() {
            let symbol = match self.known.variables.get(i, named) {
                Some(known) => known,
                None => {
                    let symbol = self.symbol(id, object, named);
                    self.known.variables.record(i, symbol);
                    symbol
                }
            };
            self.known.out.ids[start + named.symbol as usize] = symbol.into();
        }
        self.known.variables.end_input();
    }

    /// The id of a symbol.
    fn symbol(&mut self, id: ObjectId, object: &Object<'a>, named: &InputSymbol) -> SymbolId {
        let at = SymbolRefId { object: id, symbol: named.symbol };
        // `.nv.ptx.const0.size` is local and undefined, yet one for all inputs.
        // Instances of arrays, which are weak, have one name for all files that are linked again.
        let unique = match named.binding() {
            Binding::LOCAL => true,
            Binding::WEAK => named.is_internal() && !named.is_shared(),
            _ => named.is_internal(),
        };
        let known = match unique && named.place != Place::Undefined {
            true => {
                self.known.out.own.push(self.next_id());
                Err(self.next_id())
            }
            false => self.look_up(object, named),
        };
        match known {
            Ok(known) => {
                if !self.is_plain_mention(known, named)
                    && !self.define_plainly(known, at, named)
                    && let Some(symbol) = object.cubin.symbol(named.symbol)
                {
                    if !named.is_function() {
                        self.known.variables.change();
                    }
                    self.merge(known, at, &symbol);
                }
                known
            }
            Err(new) => {
                self.create(at, object, named);
                new
            }
        }
    }

    fn next_id(&self) -> SymbolId {
        self.known.out.symbols.next_id()
    }

    /// The symbol with a name, or the id of the one to create for it. [`names-with-one-hash`]
    fn look_up(&mut self, object: &Object<'a>, named: &InputSymbol) -> Result<SymbolId, SymbolId> {
        let new = self.next_id();
        let Resolver { names, out: Resolution { symbols, .. }, .. } = &mut *self.known;
        let short = named.hash.short();
        let same = |&(other, id): &(ShortHash, SymbolId)| {
            other == short && {
                let known = &symbols[id];
                known.hash == named.hash && object.name_of(named) == known.name
            }
        };
        match names.entry(short.spread(), same, |(hash, _)| hash.spread()) {
            Entry::Occupied(known) => Ok(known.get().1),
            Entry::Vacant(place) => {
                place.insert((short, new));
                Err(new)
            }
        }
    }

    /// Whether a symbol is a reference that agrees with what is known, as nearly all are;
    /// [`Self::merge`] would do nothing.
    fn is_plain_mention(&self, id: SymbolId, named: &InputSymbol) -> bool {
        let known = &self.known.out.symbols[id];
        if named.place != Place::Undefined || known.function != named.is_function() {
            return false;
        }
        if known.function {
            return known.entry == named.is_entry();
        }
        let expected = self.known.expected[id];
        let size = named.small_size();
        known.common.is_none()
            && (expected.other ^ named.other) & (sto::SPACE | sto::MANAGED) == 0
            && (size == Some(0) || size.is_some() && size == expected.size)
    }

    /// Defines a function that so far only had references, if both agree. [`Self::merge`] would do
    /// the same.
    fn define_plainly(&mut self, id: SymbolId, at: SymbolRefId, named: &InputSymbol) -> bool {
        let known = &mut self.known.out.symbols[id];
        let is_plain = named.place == Place::Defined
            && named.is_function()
            && known.function
            && known.entry == named.is_entry()
            && known.definition.is_none()
            && known.common.is_none()
            && !named.is_shared();
        if is_plain {
            known.definition = Some(at);
            known.binding = named.binding();
            self.known.expected[id].other = named.other;
        }
        is_plain
    }

    fn create(&mut self, at: SymbolRefId, object: &Object<'a>, named: &InputSymbol) {
        let size = named.small_size();
        // A dynamic array in a file that is linked again is only a declaration, too, though it
        // looks defined.
        let is_array = named.is_shared() && size == Some(0);
        let is_defined = named.place == Place::Defined && !is_array;
        let size = size.filter(|&size| size != 0 || is_defined);
        self.known.expected.push(Expected { other: named.other, size });
        let common = || {
            let symbol = object.cubin.unnamed_symbol(named.symbol)?;
            Some(Box::new(Common { size: symbol.size, align: symbol.value }))
        };
        self.known.out.symbols.push(Symbol {
            name: object.name_of(named),
            hash: named.hash,
            function: named.is_function(),
            entry: named.is_function() && named.is_entry(),
            first: at,
            first_other: named.other,
            definition: is_defined.then_some(at),
            // An undefined weak reference becomes a plain one.
            binding: match (named.place, named.binding()) {
                (Place::Undefined, Binding::WEAK) => Binding::GLOBAL,
                (_, binding) => binding,
            },
            common: if named.place == Place::Common { common() } else { None },
        });
    }
}

/// Whether the first occurrence of a symbol is a definition: a dynamic array in a file that is
/// linked again is only a declaration, too, though it looks defined.
fn is_definition(symbol: &SymbolRef<'_>) -> bool {
    !symbol.is_undefined() && !symbol.is_common() && !is_dynamic_array(symbol)
}

/// The size that every later reference must agree with; `None` if the first one is an array of
/// unknown size.
fn checked_size(first: &SymbolRef<'_>) -> Option<u64> {
    (first.size != 0 || is_definition(first)).then_some(first.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A large input before thousands of small ones must not reserve gigabytes.
    #[test]
    fn capacity_is_estimated_from_the_first_inputs_and_bounded() {
        assert_eq!(estimate(100, 10, 50), 500);
        assert_eq!(estimate(4_000_000, 64, 10_000), MAX_ESTIMATE);
        assert_eq!(estimate(usize::MAX, 1, usize::MAX), MAX_ESTIMATE);
        assert_eq!(estimate(0, 0, 7), 0);
    }
}
