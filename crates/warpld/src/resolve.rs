//! Symbol resolution: which definition every name stands for.
//!
//! nvlink takes the inputs in order and merges each symbol into what it has
//! seen before; the outcome is simulated here on names and numbers alone, so
//! that later phases know the winner before they touch any section.

use crate::builtins::is_builtin_function;
use crate::diag::{Diagnostic, Diagnostics};
use crate::name_hash::{NameHash, ShortHash};
use crate::object::{Object, ObjectId, SectionClass, is_dynamic_array, is_entry, is_internal};
use cubin::consts::sto;
use cubin::{Binding, SymbolRef, SymbolType};
use hashbrown::{HashMap, HashTable};

/// A name of the link, or one local symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

/// One symbol table entry of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sighting {
    /// The input.
    pub object: ObjectId,
    /// Index in its symbol table.
    pub symbol: u32,
}

/// What a sighting turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The definition that the output contains.
    Selected,
    /// Was selected until a later input brought a better one.
    Replaced,
    /// A definition that lost against an earlier one.
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
    pub first: Sighting,
    /// The definition in force.
    pub definition: Option<Sighting>,
    /// Binding in the output.
    pub binding: Binding,
    /// Size every later mention must agree with; `None` when the first mention
    /// was an array of unknown size.
    pub checked_size: Option<u64>,
    /// Size and alignment while it is a common symbol.
    pub common: Option<Common>,
}

/// A common symbol: allocated by the linker unless somebody defines it.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Largest size asked for.
    pub size: u64,
    /// Alignment of the first mention (later ones do not count).
    pub align: u64,
}

/// The result of symbol resolution.
#[derive(Debug)]
pub struct Resolution<'a> {
    /// All symbols in order of first mention.
    pub symbols: Vec<Symbol<'a>>,
    /// Per object and input symbol: the id; `NO_SYMBOL` for section symbols,
    /// nameless ones and undefined locals.
    pub ids: Vec<Vec<SymbolId>>,
    /// Definitions that were in force for a while, oldest first.
    pub replaced: HashMap<SymbolId, Vec<Sighting>, foldhash::fast::FixedState>,
}

/// In [`Resolution::ids`]: the input symbol takes no part in resolution.
pub const NO_SYMBOL: SymbolId = SymbolId(u32::MAX);

impl Resolution<'_> {
    /// The id of an input symbol, if it has one.
    pub fn id(&self, object: ObjectId, symbol: u32) -> Option<SymbolId> {
        let id = *self.ids.get(object.0 as usize)?.get(symbol as usize)?;
        (id != NO_SYMBOL).then_some(id)
    }

    /// The symbol with this id.
    pub fn get(&self, id: SymbolId) -> &Symbol<'_> {
        &self.symbols[id.0 as usize]
    }

    /// What the sighting of `id` is.
    pub fn role(&self, id: SymbolId, at: Sighting, defined: bool) -> Role {
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

    /// Whether this definition was in force at any time.
    pub fn ever_selected(&self, id: SymbolId, at: Sighting) -> bool {
        matches!(self.role(id, at, true), Role::Selected | Role::Replaced)
    }
}

/// Resolves all inputs in order. Conflicts are reported as nvlink does: all of
/// one input, then the link stops there (`None`).
pub fn resolve<'a>(objects: &[Object<'a>], diags: &mut Diagnostics) -> Option<Resolution<'a>> {
    let mut resolver = Resolver {
        objects,
        names: HashTable::new(),
        prototypes: HashMap::default(),
        out: Resolution {
            symbols: Vec::new(),
            ids: Vec::with_capacity(objects.len()),
            replaced: HashMap::default(),
        },
        errors: Vec::new(),
    };
    for (i, object) in objects.iter().enumerate() {
        resolver.object(ObjectId(i as u32), object);
        if !resolver.errors.is_empty() {
            for error in resolver.errors {
                diags.push(error);
            }
            diags.push(Diagnostic::fatal("merge-failed", "merge_elf failed"));
            return None;
        }
    }
    Some(resolver.out)
}

struct Resolver<'a, 'o> {
    objects: &'o [Object<'a>],
    /// By name.
    names: HashTable<(ShortHash, SymbolId)>,
    prototypes: HashMap<SymbolId, (&'a [u8], ObjectId), foldhash::fast::FixedState>,
    out: Resolution<'a>,
    errors: Vec<Diagnostic>,
}

impl<'a> Resolver<'a, '_> {
    fn object(&mut self, id: ObjectId, object: &Object<'a>) {
        self.out.ids.push(vec![NO_SYMBOL; object.cubin.symbol_count()]);
        for list in [&object.functions, &object.data] {
            for (symbol, hash) in object.symbols(list) {
                self.symbol(id, &symbol, hash);
            }
        }
        for &(function, prototype) in &object.prototypes {
            self.prototype(id, function, prototype);
        }
    }

    fn symbol(&mut self, object: ObjectId, symbol: &SymbolRef<'a>, hash: NameHash) {
        let at = Sighting { object, symbol: symbol.index.0 };
        // `.nv.ptx.const0.size` is local and undefined, yet one for all inputs.
        let unique = symbol.binding() == Binding::LOCAL || is_internal(symbol);
        let id = if unique && !symbol.is_undefined() {
            self.create(at, symbol, hash)
        } else {
            let symbols = &self.out.symbols;
            let short = hash.short();
            let same = |&(other, id): &(ShortHash, SymbolId)| {
                other == short && symbols[id.0 as usize].name == symbol.name
            };
            match self.names.find(short.spread(), same).copied() {
                Some((_, id)) => {
                    self.merge(id, at, symbol);
                    id
                }
                None => {
                    let id = self.create(at, symbol, hash);
                    let entry = (short, id);
                    self.names.insert_unique(short.spread(), entry, |(hash, _)| hash.spread());
                    id
                }
            }
        };
        self.out.ids[object.0 as usize][symbol.index.0 as usize] = id;
    }

    fn create(&mut self, at: Sighting, symbol: &SymbolRef<'a>, hash: NameHash) -> SymbolId {
        let id = SymbolId(self.out.symbols.len() as u32);
        // A dynamic array is declared in a relinked file as well, though it looks defined.
        let defined = !symbol.is_undefined() && !symbol.is_common() && !is_dynamic_array(symbol);
        self.out.symbols.push(Symbol {
            name: symbol.name,
            hash,
            function: symbol.kind() == SymbolType::FUNC,
            entry: symbol.kind() == SymbolType::FUNC && is_entry(symbol),
            first: at,
            definition: defined.then_some(at),
            // An undefined weak reference becomes a plain one.
            binding: if symbol.is_undefined() && symbol.binding() == Binding::WEAK {
                Binding::GLOBAL
            } else {
                symbol.binding()
            },
            checked_size: (symbol.size != 0 || defined).then_some(symbol.size),
            common: symbol.is_common().then_some(Common { size: symbol.size, align: symbol.value }),
        });
        id
    }

    fn merge(&mut self, id: SymbolId, at: Sighting, symbol: &SymbolRef<'a>) {
        self.conflicts(id, at, symbol);
        let known = &self.out.symbols[id.0 as usize];
        if symbol.is_undefined() {
            return;
        }
        if symbol.is_common() {
            self.merge_common(id, at, symbol);
            return;
        }
        match known.definition {
            // Quirk: the array of a relinked file must come before any other declaration.
            None if is_dynamic_array(symbol)
                && self.sighted(known.first).is_some_and(|s| is_dynamic_array(&s)) =>
            {
                let error = self.multiple_definition(symbol.name, at, known.first);
                self.errors.push(error);
            }
            None => self.define(id, at, symbol),
            Some(old) => match (known.binding, symbol.binding()) {
                (Binding::WEAK, Binding::WEAK) => {
                    if known.entry && self.parameter_size(at) != self.parameter_size(old) {
                        self.errors.push(Diagnostic::error(
                            "parameter-mismatch",
                            format_args!(
                                "Duplicate weak parameter bank for '{}' is not the same size",
                                text(symbol.name)
                            ),
                        ));
                        return;
                    }
                    if known.function && self.is_better(id, at, old) {
                        self.replace(id, old, at, symbol);
                    }
                }
                (Binding::WEAK, _) => self.replace(id, old, at, symbol),
                (_, Binding::WEAK) => {}
                _ => {
                    let error = self.multiple_definition(symbol.name, at, old);
                    self.errors.push(error);
                }
            },
        }
    }

    /// An initialised definition takes the place of a common symbol; a
    /// zero-initialised one is placed, but the symbol still gets common storage
    /// (quirk, seen on 40 random mixes).
    fn define(&mut self, id: SymbolId, at: Sighting, symbol: &SymbolRef<'a>) {
        let file = self.file(at);
        let initialised = self.is_initialised(at);
        let known = &mut self.out.symbols[id.0 as usize];
        if let Some(common) = known.common {
            if symbol.binding() == Binding::WEAK && !initialised {
                // A weak zero-initialised definition loses against a common one.
                return;
            }
            if initialised && common.size > symbol.size {
                let name = text(known.name);
                self.errors.push(common_too_large(&name, file));
                return;
            }
            if initialised {
                known.common = None;
            }
        }
        known.definition = Some(at);
        known.binding = symbol.binding();
        known.entry |= known.function && is_entry(symbol);
    }

    fn replace(&mut self, id: SymbolId, old: Sighting, at: Sighting, symbol: &SymbolRef<'a>) {
        self.out.replaced.entry(id).or_default().push(old);
        let known = &mut self.out.symbols[id.0 as usize];
        known.definition = Some(at);
        known.binding = symbol.binding();
    }

    fn merge_common(&mut self, id: SymbolId, at: Sighting, symbol: &SymbolRef<'a>) {
        let file = self.file(at);
        let known = &self.out.symbols[id.0 as usize];
        let initialised = known.definition.is_some_and(|d| self.is_initialised(d));
        let weak = known.binding == Binding::WEAK;
        let known = &mut self.out.symbols[id.0 as usize];
        let common = Common { size: symbol.size, align: symbol.value };
        match (&mut known.common, known.definition) {
            (Some(known), _) => known.size = known.size.max(symbol.size),
            (None, None) => {
                known.common = Some(common);
                known.binding = symbol.binding();
            }
            (None, Some(_)) if initialised => {
                if known.checked_size.is_some_and(|size| symbol.size > size) {
                    let name = text(known.name);
                    self.errors.push(common_too_large(&name, file));
                }
            }
            (None, Some(_)) if weak => known.common = Some(common),
            (None, Some(old)) => {
                let error = self.multiple_definition(symbol.name, at, old);
                self.errors.push(error);
            }
        }
    }

    fn multiple_definition(&self, name: &[u8], at: Sighting, old: Sighting) -> Diagnostic {
        Diagnostic::error(
            "multiple-definition",
            format_args!(
                "Multiple definition of '{}' in '{}', first defined in '{}'",
                text(name),
                self.file(at),
                self.file(old)
            ),
        )
        .about(text(name))
    }

    /// Whether a definition has bytes in the file.
    fn is_initialised(&self, at: Sighting) -> bool {
        let cubin = &self.objects[at.object.0 as usize].cubin;
        let section = cubin.symbol(at.symbol).and_then(|s| cubin.section(s.shndx));
        section.is_some_and(|s| !s.kind.is_nobits())
    }

    /// Space, size, kernel and managed mismatches.
    fn conflicts(&mut self, id: SymbolId, at: Sighting, symbol: &SymbolRef<'a>) {
        let known = &self.out.symbols[id.0 as usize];
        let first = known.first;
        let earlier = self.sighted(known.definition.unwrap_or(first));
        let mismatch = |code, what: &str| {
            Diagnostic::error(
                code,
                format_args!(
                    "{what} doesn't match for '{}' in '{}', first specified in '{}'",
                    text(symbol.name),
                    self.file(at),
                    self.file(first)
                ),
            )
            .about(text(symbol.name))
        };
        let function = symbol.kind() == SymbolType::FUNC;
        let mut errors = Vec::new();
        if known.function != function {
            errors.push(mismatch("space-mismatch", "Memory space"));
        } else if function {
            if known.entry != is_entry(symbol) {
                errors.push(Diagnostic::error(
                    "kernel-mismatch",
                    format_args!("Function '{}' not declared __global__ in all source files", {
                        let name = text(symbol.name);
                        crate::demangle::demangle(&name).unwrap_or(name)
                    }),
                ));
            }
        } else if let Some(earlier) = earlier {
            let common = (symbol.is_common() || known.common.is_some())
                && (symbol.is_common() == known.common.is_some()
                    || self.is_initialised(at)
                    || known.definition.is_some_and(|d| self.is_initialised(d)));
            let defined = !symbol.is_undefined();
            if earlier.other & sto::SPACE != symbol.other & sto::SPACE {
                errors.push(mismatch("space-mismatch", "Memory space"));
            }
            if !common
                && known
                    .checked_size
                    .is_some_and(|s| s != symbol.size && (symbol.size != 0 || defined))
            {
                errors.push(mismatch("size-mismatch", "Size"));
            }
            if (earlier.other ^ symbol.other) & sto::MANAGED != 0 {
                errors.push(mismatch("managed-mismatch", "Managed attribute"));
            }
        }
        self.errors.extend(errors);
    }

    fn prototype(&mut self, object: ObjectId, function: u32, prototype: &'a [u8]) {
        let Some(id) = self.out.id(object, function) else { return };
        let symbol = &self.out.symbols[id.0 as usize];
        // A program may bring its own `malloc`, declared as it likes.
        if symbol.binding == Binding::LOCAL || is_builtin_function(symbol.name) {
            return;
        }
        let definer = symbol.definition.map_or(object, |d| d.object);
        match self.prototypes.get(&id) {
            None => {
                self.prototypes.insert(id, (prototype, object));
            }
            Some(&(known, _)) if known == prototype => {}
            Some(_) => {
                let error = Diagnostic::error(
                    "prototype-mismatch",
                    format_args!(
                        "Prototype doesn't match for '{}' in '{}', first defined in '{}'",
                        text(symbol.name),
                        self.objects[object.0 as usize].name,
                        self.objects[definer.0 as usize].name
                    ),
                );
                self.errors.push(error);
            }
        }
    }

    /// Of two weak functions the one with fewer registers is taken; among
    /// equals, one for a newer virtual architecture than the first definition's.
    fn is_better(&self, id: SymbolId, new: Sighting, old: Sighting) -> bool {
        let virtual_sm = |at: Sighting| self.objects[at.object.0 as usize].virtual_sm;
        let first = self.out.replaced.get(&id).and_then(|r| r.first()).copied().unwrap_or(old);
        match self.registers(new).cmp(&self.registers(old)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => virtual_sm(new) > virtual_sm(first),
            std::cmp::Ordering::Greater => false,
        }
    }

    /// Size of a kernel's parameter bank.
    fn parameter_size(&self, at: Sighting) -> Option<u64> {
        let object = &self.objects[at.object.0 as usize];
        let bank = SectionClass::FunctionConstant { bank: 0, function: at.symbol };
        object.classified().find(|(_, class)| *class == bank).map(|(section, _)| section.size)
    }

    fn registers(&self, at: Sighting) -> u32 {
        self.objects[at.object.0 as usize].registers(at.symbol)
    }

    fn file(&self, at: Sighting) -> &'a str {
        self.objects[at.object.0 as usize].name
    }

    fn sighted(&self, at: Sighting) -> Option<SymbolRef<'a>> {
        self.objects[at.object.0 as usize].cubin.symbol(at.symbol)
    }
}

fn common_too_large(name: &str, file: &str) -> Diagnostic {
    Diagnostic::error(
        "common-too-large",
        format_args!("Common symbol '{name}' in file '{file}' has larger size than initialization"),
    )
}

/// A symbol name for a message.
pub fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
