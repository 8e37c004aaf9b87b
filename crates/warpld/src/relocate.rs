//! Relocations: which are applied now, which stay for the loader.
//!
//! A value is known at link time for constant banks, shared memory and section
//! symbols (debug data). Addresses of code and global data are the loader's.
//! Output lists are the reverse of input order, as nvlink prepends.

pub mod kind;
mod mercury;
mod outcome;

pub use outcome::{OutReloc, Patch, Relocated, SectionRelocs, Source};

use crate::callgraph::FunctionId;
use crate::config::Config;
use crate::diag::{Diagnostic, Diagnostics};
use crate::layout::{Layout, is_declared_array, is_dynamic, is_orphan};
use crate::lost::{is_user_constant, is_weak_sensitive_debug, lost_data, names_lost_copy};
use crate::merge::{Content, Context, InputSection, Merged, OutSymbolId, SectionId};
use crate::object::{ObjectId, SectionClass, is_dynamic_array, is_image, is_internal, is_shared};
use crate::resolve::{Role, Sighting, SymbolId, text};
use cubin::consts::sto;
use cubin::reloc::{self, Handler, RelocType};
use cubin::{Binding, Reloc, SymbolRef, SymbolType};
use mercury::CopiedTables;
use outcome::{BLOCK, Block};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Decides about every relocation of every input.
pub fn relocate(
    cx: Context<'_, '_>,
    merged: &Merged,
    layout: &Layout,
    diags: &mut Diagnostics,
) -> Relocated {
    let relocator = Relocator { cx, merged, layout, copied: CopiedTables::collect(cx, merged) };
    let mut list_of = vec![u32::MAX; merged.sections.len()];
    let mut sections = Vec::new();
    for (i, section) in merged.sections.iter().enumerate() {
        if let Content::Relocs(target, sources) = &section.content {
            list_of[i] = sections.len() as u32;
            sections.push((*target, &sources[..]));
        }
    }
    let errors = Mutex::new(Vec::new());
    let block = |(number, sections): (usize, &[(SectionId, &[InputSection])])| {
        let mut block = Block::default();
        for (i, (target, from)) in sections.iter().enumerate() {
            let start = block.mark();
            if let Err(error) = relocator.section(*target, from, &mut block) {
                block.truncate(start);
                let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
                errors.push((number * BLOCK + i, error));
            }
            block.end_section();
        }
        block.shrink();
        block
    };
    let blocks: Vec<Block> = sections.par_chunks(BLOCK).enumerate().map(block).collect();
    let mut errors = errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    errors.sort_by_key(|(i, _)| *i);
    errors.into_iter().for_each(|(_, error)| diags.push(error));
    let mut used = vec![false; merged.symbols.len()];
    for reloc in blocks.iter().flat_map(|block| &block.kept) {
        used[reloc.symbol.0 as usize] = true;
    }
    Relocated { blocks, list_of, used }
}

struct Relocator<'a, 'o> {
    cx: Context<'a, 'o>,
    merged: &'o Merged,
    layout: &'o Layout,
    copied: CopiedTables,
}

/// What to do with one relocation.
#[derive(Clone, Copy)]
enum Action {
    Drop,
    /// Relocations against a section's symbol keep even the types of unified tables.
    Keep {
        symbol: OutSymbolId,
        relative: bool,
    },
    Apply {
        value: u64,
        bank: u8,
        symbol: Option<OutSymbolId>,
    },
    Clear,
}

/// What was decided about symbols last, by the kind of question. Relocations that
/// follow each other often ask the same about the same symbol.
#[derive(Default)]
struct Latest([Option<(u32, Action)>; 5]);

impl Latest {
    /// The answer to this question. What a relocation comes to depends on its symbol
    /// and, of its type, on who applies it and whether it clears.
    fn slot(&mut self, known: &RelocType, number: u32) -> &mut Option<(u32, Action)> {
        let question = match number {
            _ if kind::yields(number) => 4,
            _ => usize::from(is_ours(known)) * 2 + usize::from(kind::clears(number)),
        };
        &mut self.0[question]
    }
}

/// Whether the linker applies the type.
fn is_ours(kind: &RelocType) -> bool {
    matches!(kind.handler, Handler::Linker | Handler::Either)
}

/// The place of a relocation: its input section and who owns it.
struct Place<'n> {
    from: InputSection,
    object: ObjectId,
    function: Option<FunctionId>,
    target_name: &'n [u8],
    /// Whether relocations against losing weak copies are dropped there.
    weak_sensitive: bool,
    /// Where the relocated data lies, if it was copied there.
    base: Option<u64>,
}

impl<'n> Place<'n> {
    fn new(from: InputSection, function: Option<FunctionId>, target_name: &'n [u8]) -> Self {
        let weak_sensitive = is_weak_sensitive_debug(target_name);
        Self { from, object: from.object, function, target_name, weak_sensitive, base: None }
    }
}

/// How many input sections of one output section are worth a task of their own.
const TASK: usize = 512;

impl<'a> Relocator<'a, '_> {
    fn section(
        &self,
        target: SectionId,
        sources: &[InputSection],
        out: &mut Block,
    ) -> Result<(), Diagnostic> {
        let start = out.mark();
        if sources.len() <= TASK {
            self.sources(target, sources, out)?;
        } else {
            let part = |sources: &[InputSection]| {
                let mut part = Block::default();
                self.sources(target, sources, &mut part).map(|()| part)
            };
            let parts: Vec<_> = sources.par_chunks(TASK).map(part).collect();
            for part in parts {
                out.append(&mut part?);
            }
        }
        out.reverse_kept(start);
        self.copied_tables(target, out)
    }

    fn sources(
        &self,
        target: SectionId,
        sources: &[InputSection],
        out: &mut Block,
    ) -> Result<(), Diagnostic> {
        let function = self.merged.section(target).function;
        let function = function.and_then(|id| self.cx.graph.function(id));
        let target_name = self.merged.section_name(target);
        for &from in sources {
            let place = Place::new(from, function, target_name);
            self.source(target, &place, out)?;
        }
        Ok(())
    }

    fn source(
        &self,
        target: SectionId,
        place: &Place<'_>,
        out: &mut Block,
    ) -> Result<(), Diagnostic> {
        let input = &self.cx.objects[place.object.0 as usize];
        let Some(section) = input.cubin.section(place.from.section) else { return Ok(()) };
        let Some(base) = self.base(place, section.info, target) else { return Ok(()) };
        let size = input.reloc_limit(section.info);
        let lost = lost_data(self.cx, place.object, place.target_name, section.info);
        let relocs = input.cubin.reloc_table(&section);
        let relocs = relocs.map_err(|e| self.error(place, "bad-relocation", &e))?;
        let pieces = self.layout.pieces.get(&target);
        let mut latest = Latest::default();
        for (index, reloc) in relocs.iter().enumerate() {
            let known = input
                .reloc_type(reloc.kind)
                .ok_or_else(|| self.reloc_error(place, &reloc, "unknown relocation type"))?;
            if lost.iter().any(|range| range.contains(&reloc.offset)) {
                continue;
            }
            let mut offset = base.saturating_add(reloc.offset);
            if let Some(pieces) = pieces {
                // There is none in a constant that is gone.
                let from = InputSection { object: place.object, section: section.info };
                let Some(moved) = pieces.moved(from, reloc.offset, offset) else { continue };
                offset = moved;
            }
            let slot = latest.slot(known, reloc.kind);
            let action = match *slot {
                Some((symbol, action)) if symbol == reloc.symbol.0 => action,
                _ => {
                    let action = self.action(place, &reloc, known)?;
                    *slot = Some((reloc.symbol.0, action));
                    action
                }
            };
            // Only relocations that are applied touch bytes, but all have a place.
            let span = match action {
                Action::Apply { .. } | Action::Clear => known.span() as u64,
                _ => 1,
            };
            if reloc.offset.checked_add(span).is_none_or(|end| end > size) {
                return Err(self.reloc_error(place, &reloc, "relocation is past end of offset"));
            }
            let source = Source { from: place.from, index: index as u32 };
            self.act(target, place, (source, &reloc, offset), action, out);
        }
        Ok(())
    }

    /// Does what was decided about a relocation that lies at `offset` in the output.
    fn act(
        &self,
        target: SectionId,
        place: &Place<'_>,
        (source, reloc, offset): (Source, &Reloc, u64),
        action: Action,
        out: &mut Block,
    ) {
        let traced = self.cx.flavour.is_mercury();
        let held = || self.held(target, offset, reloc.kind);
        match action {
            Action::Drop => {}
            Action::Clear => {
                if traced {
                    out.patched_from.push(source);
                }
                let (kind, value, bank) = (reloc.kind, 0, 0);
                out.patches.push(Patch { offset, kind, value, bank, adds: false })
            }
            Action::Keep { symbol, relative } => {
                let forced = self.cx.config.force_rela;
                let addend = reloc.addend.unwrap_or_else(|| if forced { held() } else { 0 });
                let (kind, shift) = match relative {
                    true => (reloc.kind, self.section_shift(place, reloc)),
                    false => (final_kind(self.cx.config, reloc.kind), 0),
                };
                let addend = addend.wrapping_add(shift);
                if traced {
                    out.kept_from.push(source);
                }
                out.kept.push(OutReloc { offset, kind, symbol, addend });
            }
            Action::Apply { value, bank, symbol } => {
                let addend = reloc.addend.unwrap_or(0);
                let value = value.wrapping_add(addend as u64);
                let (kind, adds) = (reloc.kind, reloc.addend.is_none());
                if traced {
                    out.patched_from.push(source);
                }
                out.patches.push(Patch { offset, kind, value, bank, adds });
                if let Some(symbol) = symbol
                    && self.is_preserved(place, reloc)
                {
                    // Relative to a section, the addend is the new offset.
                    let relative = self.is_section_relative(place, reloc);
                    let held = if adds && relative { held() } else { 0 };
                    let addend = if relative { held.wrapping_add(value as i64) } else { addend };
                    let resolved = OutReloc { offset, kind: reloc.kind, symbol, addend };
                    out.resolved.push((source, resolved));
                }
            }
        }
    }

    /// Where the input section that is relocated lies in the target.
    fn base(&self, place: &Place<'_>, section: u32, target: SectionId) -> Option<u64> {
        if place.base.is_some() {
            return place.base;
        }
        if let Some(base) = self.merged.placement(place.object, section) {
            debug_assert_eq!(base.section, target);
            return Some(base.offset);
        }
        None
    }

    /// What a REL relocation's place holds. Quirk: where equal constants were merged,
    /// that may be something else.
    fn held(&self, target: SectionId, offset: u64, kind: u32) -> i64 {
        let Some(known) = reloc::by_number(kind) else { return 0 };
        let mut held = [0; 16];
        self.layout.read(self.cx, self.merged, target, offset, &mut held);
        reloc::held(known.fields, &held).unwrap_or(0) as i64
    }

    fn action(
        &self,
        place: &Place<'_>,
        reloc: &Reloc,
        known: &RelocType,
    ) -> Result<Action, Diagnostic> {
        let input = &self.cx.objects[place.object.0 as usize];
        let Some(symbol) = input.cubin.symbol(reloc.symbol.0) else {
            return Err(self.reloc_error(place, reloc, "symbol index out of range"));
        };
        if kind::yields(reloc.kind) {
            return Ok(Action::Drop);
        }
        if symbol.kind() == SymbolType::SECTION {
            return Ok(self.section_symbol(place, &symbol, known));
        }
        let Some(id) = self.cx.resolution.id(place.object, reloc.symbol.0) else {
            return Ok(Action::Drop);
        };
        if is_user_constant(place.target_name)
            && names_lost_copy(self.cx, place.object, &symbol, id)
        {
            return Ok(Action::Drop);
        }
        if symbol.kind() == SymbolType::FUNC {
            return Ok(self.function(place, &symbol, id, reloc));
        }
        Ok(self.object(place, &symbol, id, known))
    }

    fn is_section_relative(&self, place: &Place<'_>, reloc: &Reloc) -> bool {
        let input = &self.cx.objects[place.object.0 as usize].cubin;
        input.symbol_kind(reloc.symbol.0) == Some(SymbolType::SECTION)
    }

    fn section_symbol(
        &self,
        place: &Place<'_>,
        symbol: &SymbolRef<'a>,
        known: &RelocType,
    ) -> Action {
        let Some(at) = self.merged.placement(place.object, symbol.shndx) else {
            return Action::Drop;
        };
        let section = self.merged.section(at.section);
        if is_ours(known) {
            return Action::Apply {
                value: at.offset.wrapping_add(symbol.value),
                bank: section.bank.unwrap_or(0),
                symbol: section.symbol,
            };
        }
        match section.symbol {
            Some(symbol) => Action::Keep { symbol, relative: true },
            None => Action::Drop,
        }
    }

    fn function(
        &self,
        place: &Place<'_>,
        symbol: &SymbolRef<'a>,
        id: SymbolId,
        reloc: &Reloc,
    ) -> Action {
        let live = self.cx.keeps(id);
        let clears = kind::clears(reloc.kind);
        let at = Sighting { object: place.object, symbol: symbol.index.0 };
        if place.weak_sensitive {
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
        if !live {
            return if clears { Action::Clear } else { Action::Drop };
        }
        if clears {
            return Action::Drop;
        }
        match self.merged.symbol_of[self.behind_alias(id, at, symbol).0 as usize] {
            Some(symbol) => Action::Keep { symbol, relative: false },
            _ => Action::Drop,
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

    /// An alias is replaced by the function that owns its section.
    fn behind_alias(&self, id: SymbolId, seen: Sighting, symbol: &SymbolRef<'a>) -> SymbolId {
        let cx = self.cx;
        let owner = cx.resolution.get(id).definition.and_then(|at| {
            let section = match at == seen {
                true => symbol.shndx,
                false => cx.input_symbol(at)?.shndx,
            };
            let owner = cx.objects[at.object.0 as usize].owner(section)?;
            if owner == at.symbol { Some(id) } else { cx.resolution.id(at.object, owner) }
        });
        owner.unwrap_or(id)
    }

    fn object(
        &self,
        place: &Place<'_>,
        symbol: &SymbolRef<'a>,
        id: SymbolId,
        known: &RelocType,
    ) -> Action {
        if is_unified_table(symbol.name) && !self.cx.unified.has_table(symbol.name) {
            return Action::Drop;
        }
        let mut out = self.merged.symbol_of[id.0 as usize];
        if is_ours(known) {
            // In a relocatable file, weak symbols may still be replaced.
            let open =
                self.cx.config.relocatable && self.cx.resolution.get(id).binding == Binding::WEAK;
            if let Some((value, bank)) = self.layout.constant(self.cx, self.merged, id)
                && !open
            {
                // Constants of device functions have no symbol in the output.
                let copied = self.layout.address(self.cx, self.merged, id).is_none();
                let symbol = out.filter(|_| !copied);
                return Action::Apply { value, bank, symbol };
            }
            if is_shared(symbol) {
                let instance = place.function.and_then(|f| self.merged.instances.get(&f));
                if is_dynamic(self.cx, id) && instance.is_some() {
                    out = instance.copied();
                } else if let Some(value) = self.shared_value(place, symbol, id) {
                    // Recorded only with -g or -r and where no kernel reaches them;
                    // instances of relinked files only if kernels share objects.
                    let unrecorded = is_dynamic(self.cx, id)
                        && place.function.is_some()
                        && value != u64::MAX
                        && !self.cx.config.relocatable
                        && !self.cx.config.shows_shared()
                        || is_internal(symbol) && !self.layout.shared.grouped;
                    let symbol = out.filter(|_| !unrecorded);
                    return Action::Apply { value, bank: 0, symbol };
                }
            }
            if self.cx.config.relocatable && self.is_missing_constant(symbol, id) {
                // Quirk: "never allocated" goes into the code. Mercury's side leaves
                // the bank alone.
                let bank = if self.cx.flavour.is_mercury() { USER_BANK } else { NO_BANK };
                return Action::Apply { value: u64::MAX, bank, symbol: out };
            }
            // Mercury's side leaves image references open in a relocatable file.
            let stays = self.cx.config.relocatable && self.cx.flavour.is_mercury();
            if is_image(symbol) && !stays {
                return self.image(id);
            }
            if is_internal(symbol) && symbol.is_undefined() && !is_shared(symbol) {
                // `.nv.ptx.const0.size` of libcudadevrt.
                let value = self.layout.user_constants(self.merged);
                return Action::Apply { value, bank: 0, symbol: None };
            }
        }
        match out {
            Some(symbol) => Action::Keep { symbol, relative: false },
            None => Action::Drop,
        }
    }

    fn is_missing_constant(&self, symbol: &SymbolRef<'a>, id: SymbolId) -> bool {
        let known = self.cx.resolution.get(id);
        known.definition.is_none() && known.common.is_none() && is_undefined_constant(symbol)
    }

    /// The handle's offset in bank 0. Quirk: in a relocatable file the offset is
    /// 0 and the bank that of no section (0 - 0x64).
    fn image(&self, id: SymbolId) -> Action {
        if self.cx.config.relocatable {
            let symbol = self.merged.symbol_of[id.0 as usize];
            return Action::Apply { value: 0, bank: NO_BANK, symbol };
        }
        let value = self.layout.images.offset_of.get(&id).copied().unwrap_or(0);
        Action::Apply { value, bank: 0, symbol: None }
    }

    /// The offset of a shared object. Quirk: in a relocatable file it is "resolved"
    /// to `st_value`, the alignment, unless it is weak.
    fn shared_value(&self, place: &Place<'_>, symbol: &SymbolRef<'a>, id: SymbolId) -> Option<u64> {
        if self.cx.config.relocatable {
            let known = self.cx.resolution.get(id);
            let defined = known.definition.and_then(|at| self.cx.input_symbol(at));
            let placed = self.layout.shared.dynamic_symbols.get(&id);
            let missing = match is_declared_array(self.cx, id) {
                true if placed.is_some() => placed.copied().unwrap_or(0),
                true if is_dynamic_array(symbol) => symbol.value,
                true => 0,
                false => u64::MAX,
            };
            let defined = defined.map_or(missing, |s| s.value);
            let value = if is_orphan(self.cx, id) { 0 } else { defined };
            // An instance that an earlier link made is weak, too.
            let weak = known.binding == Binding::WEAK || is_internal(symbol);
            return (!weak).then_some(value);
        }
        if let Some(&(_, value)) = self.layout.shared.objects.get(&id) {
            return Some(value);
        }
        let shared = &self.layout.shared;
        match place.function {
            _ if is_orphan(self.cx, id) => {
                Some(if self.cx.config.shows_shared() { 0 } else { u64::MAX })
            }
            _ if self.cx.config.shows_shared() => shared.dynamic_symbols.get(&id).copied(),
            Some(function) => shared.dynamic_start.get(&function).copied(),
            None => Some(u64::MAX),
        }
    }

    fn error(
        &self,
        place: &Place<'_>,
        code: &'static str,
        what: &dyn std::fmt::Display,
    ) -> Diagnostic {
        let file = self.cx.objects[place.object.0 as usize].name;
        Diagnostic::fatal(code, format_args!("{what} in '{file}'"))
    }

    fn reloc_error(&self, place: &Place<'_>, reloc: &Reloc, what: &str) -> Diagnostic {
        let input = &self.cx.objects[place.object.0 as usize];
        let symbol = input.cubin.symbol(reloc.symbol.0).map_or(String::new(), |s| text(s.name));
        let kind = reloc::by_number(reloc.kind).map_or("unknown", |t| t.name);
        Diagnostic::fatal("bad-relocation", format_args!("{what} in '{}'", input.name)).note(
            format_args!(
                "section {}, offset {:#x}, type {} ({kind}), symbol {} '{symbol}'",
                text(place.target_name),
                reloc.offset,
                reloc.kind,
                reloc.symbol.0
            ),
        )
    }
}

/// Unified-table types become their plain counterparts in an executable without an
/// index of unified symbols.
pub fn final_kind(config: &Config, number: u32) -> u32 {
    if config.relocatable || config.uidx.is_some() {
        return number;
    }
    match number {
        kind::UNIFIED => kind::R64,
        kind::UNIFIED_32 => kind::R32,
        kind::UNIFIED_8_0..=kind::UNIFIED_8_56 => number - kind::UNIFIED_8_0 + kind::R8_0,
        kind::UNIFIED32_LO_32 => kind::ABS32_LO_32,
        kind::UNIFIED32_HI_32 => kind::ABS32_HI_32,
        kind::MERCURY_UNIFIED => kind::MERCURY_ABS64,
        kind::MERCURY_UNIFIED_32 => kind::MERCURY_ABS32,
        kind::MERCURY_UNIFIED_8_0..=kind::MERCURY_UNIFIED_8_56 => {
            number - kind::MERCURY_UNIFIED_8_0 + kind::MERCURY_8_0
        }
        kind::MERCURY_UNIFIED32_LO => kind::MERCURY_ABS32_LO,
        kind::MERCURY_UNIFIED32_HI => kind::MERCURY_ABS32_HI,
        _ => number,
    }
}

/// The bank of constants that programs declare.
const USER_BANK: u8 = 3;

/// The bank of a symbol without section: its type less that of bank 0.
const NO_BANK: u8 = 0x1c;

/// Symbols of the unified tables.
pub fn is_unified_table(name: &[u8]) -> bool {
    name.starts_with(b"__UFT") || name.starts_with(b"__UDT")
}

/// Whether the symbol is a constant of another input that is not there.
fn is_undefined_constant(symbol: &SymbolRef<'_>) -> bool {
    symbol.is_undefined() && symbol.other & sto::SPACE == sto::CONSTANT
}
