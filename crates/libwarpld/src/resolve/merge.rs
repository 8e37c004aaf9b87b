//! Merges an input symbol into what is known about its name.

use super::{Common, FirstPrototype, Pass, checked_size};
use crate::builtins::is_builtin_function;
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::{Diagnostic, Severity};
use crate::ids::{ObjectId, SymbolId, SymbolRefId};
use crate::object::call_lists::Prototype;
use crate::object::{MergeClass, is_dynamic_array};
use cubin::consts::sto;
use cubin::{Binding, SectionType, SymbolRef, SymbolType};

impl<'a> Pass<'a, '_> {
    pub(super) fn merge(&mut self, id: SymbolId, at: SymbolRefId, symbol: &SymbolRef<'a>) {
        self.conflicts(id, at, symbol);
        let known = &self.known.out.symbols[id];
        if symbol.is_undefined() {
            return;
        }
        if symbol.is_common() {
            self.merge_common(id, at, symbol);
            return;
        }
        match known.definition {
            // Quirk: the array of a file that is linked again must come before any other
            // declaration. [`relink-declared-arrays`]
            None if is_dynamic_array(symbol)
                && !symbol.is_internal()
                && self.sighted(known.first).is_some_and(|s| is_dynamic_array(&s)) =>
            {
                let first = known.first;
                self.multiple_definition(symbol.name, at, first);
            }
            None => self.define(id, at, symbol),
            Some(old) => match (known.binding, symbol.binding()) {
                (Binding::WEAK, Binding::WEAK) => {
                    if known.entry && self.parameter_size(at) != self.parameter_size(old) {
                        self.known.errors.push(Diagnostic::error(
                            Code::ParameterMismatch,
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
                    self.multiple_definition(symbol.name, at, old);
                }
            },
        }
    }

    /// An initialized definition replaces a common symbol; a zero-initialized one does since 13.3.
    /// Before, it is placed, but the symbol still gets common storage (quirk, seen on 40 random
    /// mixes).
    /// [`common-and-definition`, `common-and-zero-definition`, `common-too-large`,
    /// `weak-and-strong-variables`, `weak-variables`]
    fn define(&mut self, id: SymbolId, at: SymbolRefId, symbol: &SymbolRef<'a>) {
        if self.known.out.symbols[id].common.is_some() && !self.beats_common(id, at, symbol) {
            return;
        }
        let known = &mut self.known.out.symbols[id];
        known.definition = Some(at);
        known.binding = symbol.binding();
        known.entry |= known.function && symbol.is_entry();
        self.known.expected[id].other = symbol.other;
    }

    /// Whether a definition counts next to a common symbol.
    fn beats_common(&mut self, id: SymbolId, at: SymbolRefId, symbol: &SymbolRef<'a>) -> bool {
        let takes_its_place = self.takes_place_of_common(at);
        if self.is_too_large(id, at, symbol) {
            return false;
        }
        if takes_its_place {
            self.known.out.symbols[id].common = None;
        }
        // A weak zero-initialized definition is discarded for a common one.
        takes_its_place || symbol.binding() != Binding::WEAK
    }

    /// Whether what is known is a common symbol that is larger than a definition which takes its
    /// place.
    fn is_too_large(&self, id: SymbolId, at: SymbolRefId, symbol: &SymbolRef<'a>) -> bool {
        let known = &self.known.out.symbols[id];
        let is_larger = known.common.as_ref().is_some_and(|common| common.size > symbol.size);
        is_larger && self.takes_place_of_common(at)
    }

    fn replace(&mut self, id: SymbolId, old: SymbolRefId, at: SymbolRefId, symbol: &SymbolRef<'a>) {
        self.known.out.replaced.entry(id).or_default().push(old);
        let initialised = self.is_initialised(at);
        let known = &mut self.known.out.symbols[id];
        known.definition = Some(at);
        known.binding = symbol.binding();
        if initialised {
            known.common = None;
        }
        self.known.expected[id].other = symbol.other;
    }

    fn merge_common(&mut self, id: SymbolId, at: SymbolRefId, symbol: &SymbolRef<'a>) {
        let file = self.file(at);
        let known = &self.known.out.symbols[id];
        let initialised = known.definition.is_some_and(|d| self.is_initialised(d));
        let stays = known.definition.is_some_and(|d| self.takes_place_of_common(d));
        let weak = known.binding == Binding::WEAK;
        let size = self.sighted(known.first).and_then(|first| checked_size(&first));
        let known = &mut self.known.out.symbols[id];
        let common = Common { size: symbol.size, align: symbol.value };
        match (&mut known.common, known.definition) {
            (Some(_), Some(_)) if !weak => {
                let first = known.first;
                self.multiple_definition(symbol.name, at, first);
            }
            (Some(known), _) => known.size = known.size.max(symbol.size),
            (None, None) => {
                known.common = Some(Box::new(common));
                known.binding = symbol.binding();
            }
            (None, Some(_)) if initialised => {
                if size.is_some_and(|size| symbol.size > size) {
                    let name = text(known.name);
                    self.known.errors.push(common_too_large(&name, file));
                }
            }
            (None, Some(_)) if stays => {}
            (None, Some(_)) if weak => known.common = Some(Box::new(common)),
            (None, Some(old)) => {
                self.multiple_definition(symbol.name, at, old);
            }
        }
    }

    fn multiple_definition(&mut self, name: &[u8], at: SymbolRefId, old: SymbolRefId) {
        let (name, file, first) = (text(name), self.file(at), self.file(old));
        let message =
            format!("Multiple definition of '{name}' in '{file}', first defined in '{first}'");
        let (list, severity) = match &mut self.known.duplicates {
            Some(duplicates) => (duplicates, Severity::Warning),
            None => (&mut self.known.errors, Severity::Error),
        };
        list.push(Diagnostic::new(severity, Code::MultipleDefinition, message).about(name));
    }

    /// Whether this is a definition that takes the place of common symbols: one with bytes in the
    /// file, and since 13.3 any. [`common-or-zeros`]
    fn takes_place_of_common(&self, at: SymbolRefId) -> bool {
        let zeros_do = self.known.dialect.prefers_zeros_to_common();
        self.section_kind(at).is_some_and(|kind| zeros_do || !kind.is_nobits())
    }

    /// Whether this is a definition with bytes in the file.
    fn is_initialised(&self, at: SymbolRefId) -> bool {
        self.section_kind(at).is_some_and(|kind| !kind.is_nobits())
    }

    /// The kind of the section that a definition is in.
    fn section_kind(&self, at: SymbolRefId) -> Option<SectionType> {
        let cubin = &self.objects[at.object].cubin;
        let symbol = cubin.symbol(at.symbol).filter(|symbol| !symbol.is_undefined())?;
        cubin.section(symbol.shndx).map(|section| section.kind)
    }

    /// Space, size, kernel and managed mismatches.
    /// [`conflicts`, `duplicates`, `managed`, `shared-declared-elsewhere`]
    fn conflicts(&mut self, id: SymbolId, at: SymbolRefId, symbol: &SymbolRef<'a>) {
        let known = &self.known.out.symbols[id];
        let first = known.first;
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
            errors.push(mismatch(Code::SpaceMismatch, "Memory space"));
        } else if function {
            if known.entry != symbol.is_entry() {
                errors.push(Diagnostic::error(
                    Code::KernelMismatch,
                    format_args!("Function '{}' not declared __global__ in all source files", {
                        let name = text(symbol.name);
                        crate::demangle::demangle(&name).unwrap_or(name)
                    }),
                ));
            }
        } else if let Some(earlier) = self.sighted(known.definition.unwrap_or(first)) {
            let common = (symbol.is_common() || known.common.is_some())
                && (symbol.is_common() == known.common.is_some()
                    || self.is_initialised(at)
                    || known.definition.is_some_and(|d| self.is_initialised(d)));
            let defined = !symbol.is_undefined();
            if earlier.other & sto::SPACE != symbol.other & sto::SPACE {
                errors.push(mismatch(Code::SpaceMismatch, "Memory space"));
            }
            if !symbol.is_common() && self.is_too_large(id, at, symbol) {
                errors.push(common_too_large(&text(known.name), self.file(first)));
            }
            let size = self.sighted(first).and_then(|first| checked_size(&first));
            if !common && size.is_some_and(|s| s != symbol.size && (symbol.size != 0 || defined)) {
                errors.push(mismatch(Code::SizeMismatch, "Size"));
            }
            if (earlier.other ^ symbol.other) & sto::MANAGED != 0 {
                errors.push(mismatch(Code::ManagedMismatch, "Managed attribute"));
            }
        }
        self.known.errors.extend(errors);
    }

    /// Compares the prototype of an input's function with the first one.
    /// [`prototypes-of-built-ins`, `conflicts`]
    pub(super) fn prototype(&mut self, object: ObjectId, id: SymbolId, prototype: Prototype) {
        let symbol = &self.known.out.symbols[id];
        if symbol.binding == Binding::LOCAL {
            return;
        }
        let at = id.index();
        if at >= self.known.prototypes.len() {
            self.known.prototypes.resize(self.known.out.symbols.len(), FirstPrototype::default());
        }
        let first = &mut self.known.prototypes[at];
        let (Some(first_object), known) = (first.0.get(), first.1) else {
            *first = (object.into(), prototype.kept());
            return;
        };
        let strings = |id: ObjectId| self.objects[id].cubin.symbol_strings();
        let same = known.is(strings(first_object), prototype, strings(object));
        // A program may define `malloc` itself, with any prototype.
        if same || is_builtin_function(symbol.name) {
            return;
        }
        let definer = symbol.definition.map_or(object, |d| d.object);
        let error = Diagnostic::error(
            Code::PrototypeMismatch,
            format_args!(
                "Prototype doesn't match for '{}' in '{}', first defined in '{}'",
                text(symbol.name),
                self.objects[object].name,
                self.objects[definer].name
            ),
        );
        self.known.errors.push(error);
    }

    /// Of two weak functions the one with fewer registers is selected; if equal, one for a newer
    /// virtual architecture than the first definition's.
    /// [`weak-equal`, `weak-fewer-registers`, `weak-more-registers`, `weak-three-copies`,
    /// `weak-newer-targets`, `weak-kernels`]
    fn is_better(&self, id: SymbolId, new: SymbolRefId, old: SymbolRefId) -> bool {
        let virtual_sm = |at: SymbolRefId| self.objects[at.object].virtual_sm;
        let first =
            self.known.out.replaced.get(&id).and_then(|r| r.first()).copied().unwrap_or(old);
        match self.registers(new).cmp(&self.registers(old)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => virtual_sm(new) > virtual_sm(first),
            std::cmp::Ordering::Greater => false,
        }
    }

    /// Size of a kernel's parameter bank.
    fn parameter_size(&self, at: SymbolRefId) -> Option<u64> {
        let object = &self.objects[at.object];
        let bank = MergeClass::FunctionConstant { bank: 0, function: at.symbol };
        object.first_of(bank).map(|section| section.size)
    }

    fn registers(&self, at: SymbolRefId) -> u32 {
        self.objects[at.object].registers(at.symbol)
    }

    fn file(&self, at: SymbolRefId) -> &'a str {
        self.objects[at.object].name
    }

    fn sighted(&self, at: SymbolRefId) -> Option<SymbolRef<'a>> {
        self.objects[at.object].cubin.symbol(at.symbol)
    }
}

fn common_too_large(name: &str, file: &str) -> Diagnostic {
    Diagnostic::error(
        Code::CommonTooLarge,
        format_args!("Common symbol '{name}' in file '{file}' has larger size than initialization"),
    )
}
