//! Relocations: which are applied now, and which are emitted for the loader.
//!
//! A value is known at link time for constant banks, shared memory and section symbols (debug
//! data). Addresses of code and global data are left to the loader. Output lists are in reverse
//! input order, because nvlink prepends.

mod emitted;
mod functions;
mod kind;
mod mercury;
mod outcome;
mod source;

pub use emitted::EmittedRelocs;
pub use emitted::OutReloc;
pub use kind::final_kind;
pub use outcome::{Patch, Relocated, Source};

use crate::context::Analysis;
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ids::{FunctionId, InputSection, ObjectId, OptId, OutSymbolId, SectionId, SymbolId};
use crate::layout::{Layout, Pieces};
use crate::merge::{Content, Merged, Section};
use crate::object::{Object, is_dynamic_array};
use crate::par_ordered::map_in_order;
use crate::resolve::discarded::{is_weak_sensitive_debug, names_discarded_copy};
use crate::usage::{first_value, is_declared_array, is_dynamic, is_orphan, unplaced_value};
use cubin::bank;
use cubin::consts::{shn, sto};
use cubin::names;
use cubin::raw::Rela64;
use cubin::{Binding, Reloc, SymbolRef, SymbolType};
use functions::Functions;
use kind::{KindInfo, Kinds};
use mercury::CopiedTables;
use outcome::{BLOCK, Block, Used};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Decides about every relocation of every input.
pub fn relocate(
    cx: Analysis<'_, '_>,
    merged: &Merged,
    layout: &Layout,
    diags: &mut Diagnostics,
) -> Relocated {
    let relocator = Relocator {
        cx,
        merged,
        layout,
        copied: CopiedTables::collect(cx, merged),
        kinds: Kinds::new(cx.config, cx.dialect.half()),
        functions: Functions::new(cx, merged),
    };
    let errors = Mutex::new(Vec::new());
    let used = Used::new(merged.symbols.len());
    let block = |(number, sections): (usize, &[Section])| {
        let mut block = Block::new(sections.len());
        relocator.reserve(sections, &mut block);
        for (i, section) in sections.iter().enumerate() {
            if let Content::Relocs(target, sources) = section.content() {
                let start = block.mark();
                if let Err(error) = relocator.section(target, sources, &mut block) {
                    block.truncate(start);
                    let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
                    errors.push((number * BLOCK + i, error));
                }
            }
            block.end_section();
        }
        block.shrink();
        block.emitted.symbols().for_each(|symbol| used.add(symbol));
        block
    };
    let blocks: Vec<Block> = merged.sections.par_chunks(BLOCK).enumerate().map(block).collect();
    let mut errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    errors.sort_by_key(|(i, _)| *i);
    errors.into_iter().for_each(|(_, error)| diags.push(error));
    Relocated { blocks, used, functions: relocator.functions }
}

struct Relocator<'a, 'o> {
    cx: Analysis<'a, 'o>,
    merged: &'o Merged,
    layout: &'o Layout,
    copied: CopiedTables,
    kinds: Kinds,
    functions: Functions,
}

/// What to do with one relocation.
#[derive(Clone, Copy)]
enum Action {
    Drop,
    /// Relocations against a section symbol keep even the kinds of unified tables.
    Emit {
        symbol: OutSymbolId,
        relative: bool,
    },
    Apply {
        value: u64,
        bank: u8,
        symbol: OptId<OutSymbolId>,
    },
    Clear,
}

/// An output section that relocations apply to.
struct Target<'o> {
    id: SectionId,
    function: Option<FunctionId>,
    /// Its name, unless it belongs to a function: no rule knows such a section by name.
    name: &'o [u8],
    /// Whether relocations against discarded weak copies are dropped there.
    weak_sensitive: bool,
    /// Whether it holds the program's constants.
    constant: bool,
    /// Its layout, if it was laid out symbol by symbol.
    pieces: Option<&'o Pieces>,
    /// Where a bank of jump tables ends. Relocations of a table that a shorter one replaced may lie behind it;
    /// nvlink then stops with an internal error.
    end: u64,
}

/// The place of a relocation: its input section and the output section it went to.
struct Place<'t, 'a> {
    from: InputSection,
    object: ObjectId,
    input: &'t Object<'a>,
    /// What the input's symbols resolve to.
    ids: &'t [OptId<SymbolId>],
    target: &'t Target<'t>,
    /// Offset of the relocated data, if it was copied.
    base: Option<u64>,
}

impl<'t, 'a> Place<'t, 'a> {
    fn new(cx: Analysis<'a, 't>, from: InputSection, target: &'t Target<'t>) -> Self {
        let object = from.object;
        let ids = cx.resolution.ids_of(object).unwrap_or_default();
        let input = &cx.objects[object];
        Self { from, object, input, ids, target, base: None }
    }
}

/// Number of input sections of one output section that justifies a separate task.
const TASK: usize = 64;

impl<'a, 'o> Relocator<'a, 'o> {
    /// Makes room for all relocations, which most sections emit.
    fn reserve(&self, sections: &[Section], out: &mut Block) {
        let sources = sections.iter().filter_map(|section| match section.content() {
            Content::Relocs(_, sources) if sources.len() <= TASK => Some(sources),
            _ => None,
        });
        out.emitted.reserve(sources.map(|sources| self.count(sources)).sum());
    }

    /// Approximate number of relocations.
    fn count(&self, sources: &[InputSection]) -> usize {
        let size: usize = sources.iter().map(|&from| self.cx.data_of(from).len()).sum();
        size / size_of::<Rela64>()
    }

    fn section(
        &self,
        target: SectionId,
        sources: &[InputSection],
        out: &mut Block,
    ) -> Result<(), Diagnostic> {
        let start = out.mark();
        let target = &self.target(target);
        if sources.len() <= TASK {
            self.sources(target, sources, out)?;
        } else {
            let part = |sources: &&[InputSection]| {
                let mut part = Block::default();
                self.sources(target, sources, &mut part).map(|()| part)
            };
            let mut done = Ok(());
            map_in_order(sources.chunks(TASK), part, |part| match part {
                Ok(mut part) if done.is_ok() => out.append(&mut part),
                Err(error) if done.is_ok() => done = Err(error),
                _ => {}
            });
            done?;
        }
        out.reverse_kept(start);
        self.copied_tables(target, out)
    }

    fn target(&self, id: SectionId) -> Target<'o> {
        let section = self.merged.section(id);
        let function = section.function.get().and_then(|id| self.cx.graph.function(id));
        let name = match section.function.get() {
            Some(_) => &[],
            None => self.merged.section_name(id),
        };
        let (weak_sensitive, constant) =
            (is_weak_sensitive_debug(name), names::is_user_constants(name));
        let pieces = self.layout.pieces.get(&id);
        let is_tables = section.bank() == Some(cubin::bank::OPTIMIZER);
        let end = if is_tables { self.layout.extent(self.merged, id).0 } else { u64::MAX };
        Target { id, function, name, weak_sensitive, constant, pieces, end }
    }

    fn sources(
        &self,
        target: &Target<'_>,
        sources: &[InputSection],
        out: &mut Block,
    ) -> Result<(), Diagnostic> {
        sources.iter().try_for_each(|&from| self.source(&Place::new(self.cx, from, target), out))
    }

    /// The action for a symbol. The link knows the symbol's kind by its id, without looking at the
    /// input's table: no function is declared as data anywhere, or the link would have stopped.
    #[inline(never)]
    fn action(
        &self,
        place: &Place<'_, 'a>,
        reloc: &Reloc,
        kind: &KindInfo,
        id: OptId<SymbolId>,
    ) -> Action {
        let index = reloc.symbol.0;
        if kind.yields {
            return Action::Drop;
        }
        let Some(id) = id.get() else {
            return self.unresolved(place, index, kind).unwrap_or(Action::Drop);
        };
        let is_discarded = |symbol: SymbolRef<'_>| {
            names_discarded_copy(self.cx.resolution, place.object, &symbol, id)
        };
        if place.target.constant
            && place.input.cubin.unnamed_symbol(index).is_some_and(is_discarded)
        {
            return Action::Drop;
        }
        if let Some(found) = self.functions.get(id) {
            return self.function(place, reloc, (id, found), kind);
        }
        let symbol = place.input.cubin.unnamed_symbol(index);
        symbol.map_or(Action::Drop, |symbol| self.object(place, &symbol, id, kind))
    }

    fn is_section_relative(&self, place: &Place<'_, 'a>, reloc: &Reloc) -> bool {
        place.input.cubin.symbol_kind(reloc.symbol.0) == Some(SymbolType::SECTION)
    }

    /// The action for symbols that do not take part in resolution. Undefined local ones (labels in
    /// location lists of inlined code) become symbol 0. [`debug-shared`]
    fn unresolved(&self, place: &Place<'_, 'a>, symbol: u32, kind: &KindInfo) -> Option<Action> {
        let symbol = place.input.cubin.unnamed_symbol(symbol)?;
        if symbol.kind() == SymbolType::SECTION {
            return self.section_symbol(place, &symbol, kind);
        }
        let null = OutSymbolId::NULL;
        (symbol.shndx == shn::UNDEF).then(|| match kind.linker_applies {
            true => Action::Apply { value: self.layout.null_value, bank: 0, symbol: null.into() },
            false => Action::Emit { symbol: null, relative: false },
        })
    }

    fn section_symbol(
        &self,
        place: &Place<'_, 'a>,
        symbol: &SymbolRef<'a>,
        kind: &KindInfo,
    ) -> Option<Action> {
        let at = self.merged.placement(place.object, symbol.shndx)?;
        let section = self.merged.section(at.section);
        if kind.linker_applies {
            let value = at.offset.wrapping_add(symbol.value);
            let bank = section.bank().unwrap_or(0);
            return Some(Action::Apply { value, bank, symbol: section.symbol });
        }
        Some(Action::Emit { symbol: section.symbol.get()?, relative: true })
    }

    fn object(
        &self,
        place: &Place<'_, 'a>,
        symbol: &SymbolRef<'a>,
        id: SymbolId,
        kind: &KindInfo,
    ) -> Action {
        let name = self.cx.resolution.get(id).name;
        if names::symbol::is_of_unified_table(name) && !self.cx.unified.has_table(name) {
            return Action::Drop;
        }
        let mut out = self.merged.symbol_of[id].get();
        if kind.linker_applies {
            // In a relocatable file, weak symbols may still be replaced.
            let open =
                self.cx.config.relocatable && self.cx.resolution.get(id).binding == Binding::WEAK;
            if let Some((value, bank)) = self.layout.constant(self.cx, self.merged, id)
                && !open
            {
                // Constants of device functions have no symbol in the output.
                let copied = self.layout.address(self.cx, self.merged, id).is_none();
                let symbol = out.filter(|_| !copied).into();
                return Action::Apply { value, bank, symbol };
            }
            if symbol.is_shared() {
                let instance = place.target.function.and_then(|f| self.merged.instances.get(&f));
                if is_dynamic(self.cx, id) && instance.is_some() {
                    out = instance.copied();
                } else if self.cx.config.relocatable && self.cx.dialect.leaves_shared_open() {
                    // Emitted below.
                } else if let Some(value) = self.shared_value(place, symbol, id) {
                    // Recorded only with -g or -r and if no kernel reaches them; instances in files
                    // that are linked again only if kernels share objects.
                    let unrecorded = is_dynamic(self.cx, id)
                        && place.target.function.is_some()
                        && value != u64::MAX
                        && !self.cx.config.relocatable
                        && !self.cx.config.is_debug_link()
                        || symbol.is_internal() && !self.layout.shared.grouped;
                    let symbol = out.filter(|_| !unrecorded).into();
                    return Action::Apply { value, bank: 0, symbol };
                }
            }
            if self.cx.config.relocatable && self.is_missing_constant(symbol, id) {
                // Quirk: "never allocated" goes into the code. The Mercury half leaves the bank
                // alone. [`relocatable-debug-arrays`]
                let bank = match self.cx.dialect.keeps_bank_of_missing_constants() {
                    true => bank::USER,
                    false => NO_BANK,
                };
                return Action::Apply { value: u64::MAX, bank, symbol: out.into() };
            }
            // In a relocatable file, the Mercury half emits relocations against images.
            let stays = self.cx.config.relocatable && self.cx.dialect.leaves_images_open();
            if symbol.is_image() && !stays {
                return self.image(id);
            }
            if symbol.is_internal() && symbol.is_undefined() && !symbol.is_shared() {
                // `.nv.ptx.const0.size` of libcudadevrt.
                let value = self.layout.user_constants(self.merged);
                return Action::Apply { value, bank: 0, symbol: OptId::NONE };
            }
        }
        match out {
            Some(symbol) => Action::Emit { symbol, relative: false },
            None => Action::Drop,
        }
    }

    fn is_missing_constant(&self, symbol: &SymbolRef<'a>, id: SymbolId) -> bool {
        let known = self.cx.resolution.get(id);
        known.definition.is_none() && known.common.is_none() && is_undefined_constant(symbol)
    }

    /// The handle's offset in bank 0. Quirk: in a relocatable file the offset is 0 and the bank
    /// that of no section (0 - 0x64). [`texture-references`, `sampler-references`]
    fn image(&self, id: SymbolId) -> Action {
        if self.cx.config.relocatable {
            let symbol = self.merged.symbol_of[id];
            return Action::Apply { value: 0, bank: NO_BANK, symbol };
        }
        let value = self.layout.images.offset_of.get(&id).copied().unwrap_or(0);
        Action::Apply { value, bank: 0, symbol: OptId::NONE }
    }

    /// The offset of a shared object. Quirk: in a relocatable file it is "resolved" to `st_value`,
    /// the alignment, unless it is weak. In an executable's debug information an array is -1.
    /// [`relocatable-visible-shared`, `debug-information`]
    fn shared_value(
        &self,
        place: &Place<'_, 'a>,
        symbol: &SymbolRef<'a>,
        id: SymbolId,
    ) -> Option<u64> {
        if self.cx.config.relocatable {
            let known = self.cx.resolution.get(id);
            let defined = known.definition.and_then(|at| self.cx.input_symbol(at));
            let placed = self.layout.shared.dynamic_symbols.get(&id);
            let missing = match is_declared_array(self.cx, id) {
                true if placed.is_some() => placed.copied().unwrap_or(0),
                true if is_dynamic_array(symbol) => first_value(self.cx, id),
                true => unplaced_value(self.cx, id),
                false => u64::MAX,
            };
            let defined = defined.map_or(missing, |s| s.value);
            let value = if is_orphan(self.cx, id) { unplaced_value(self.cx, id) } else { defined };
            // An instance created by an earlier link is weak, too.
            let weak = known.binding == Binding::WEAK || symbol.is_internal();
            return (!weak).then_some(value);
        }
        if let Some(&(_, value)) = self.layout.shared.objects.get(&id) {
            return Some(value);
        }
        let shared = &self.layout.shared;
        match place.target.function {
            _ if is_orphan(self.cx, id) => {
                Some(if self.cx.config.is_debug_link() { 0 } else { u64::MAX })
            }
            _ if self.cx.config.is_debug_link() => shared.dynamic_symbols.get(&id).copied(),
            Some(function) => shared.dynamic_start.get(&function).copied(),
            None => Some(u64::MAX),
        }
    }

    fn error(&self, place: &Place<'_, 'a>, code: Code, what: &dyn std::fmt::Display) -> Diagnostic {
        Diagnostic::fatal(code, format_args!("{what} in '{}'", place.input.name))
    }

    fn reloc_error(&self, place: &Place<'_, 'a>, reloc: &Reloc, what: &str) -> Diagnostic {
        let input = place.input;
        let symbol = input.cubin.symbol(reloc.symbol.0).map_or(String::new(), |s| text(s.name));
        let kind = reloc.kind.name().unwrap_or("unknown");
        Diagnostic::fatal(Code::BadRelocation, format_args!("{what} in '{}'", input.name)).note(
            format_args!(
                "section {}, offset {:#x}, type {} ({kind}), symbol {} '{symbol}'",
                text(self.merged.section_name(place.target.id)),
                reloc.offset,
                reloc.kind.0,
                reloc.symbol.0
            ),
        )
    }
}

/// The bank of a symbol without a section: its type minus that of bank 0.
const NO_BANK: u8 = 0x1c;

/// Whether the symbol is a constant of another input that is missing.
/// [`constants-weak`, `undefined`]
fn is_undefined_constant(symbol: &SymbolRef<'_>) -> bool {
    symbol.is_undefined() && symbol.other & sto::SPACE == sto::CONSTANT
}
