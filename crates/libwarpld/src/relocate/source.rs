//! Processes the relocations of one input section in order.

use super::kind::KindInfo;
use super::outcome::Block;
use super::{Action, OutReloc, Patch, Place, Relocator, Source};
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::ids::{InputSection, OptId, OutSymbolId, SectionId, SymbolId, SymbolRefId};
use crate::resolve::discarded::discarded_data;
use cubin::{Reloc, RelocKind, reloc};
use std::ops::Range;

/// The last decisions about symbols, by kind of question. Consecutive relocations often ask the
/// same about the same symbol.
#[derive(Default)]
struct DecisionCache([Option<(u32, Action)>; 5]);

impl DecisionCache {
    /// The answer to this question. The action for a relocation depends on its symbol and, of its
    /// kind, on who applies it and whether it clears.
    #[inline]
    fn action(
        &mut self,
        reloc: &Reloc,
        kind: &KindInfo,
        decide: impl FnOnce() -> Action,
    ) -> Action {
        let question = match kind.yields {
            true => 4,
            false => usize::from(kind.linker_applies) * 2 + usize::from(kind.clears),
        };
        match &mut self.0[question] {
            Some((symbol, action)) if *symbol == reloc.symbol.0 => *action,
            other => other.insert((reloc.symbol.0, decide())).1,
        }
    }
}

/// The section that the current relocations apply to.
struct Relocated {
    /// The section of the input.
    section: u32,
    /// Its offset in the target.
    base: u64,
    /// The limit for relocation offsets.
    size: u64,
    /// Ranges whose relocations are dropped.
    discarded: Vec<Range<u64>>,
}

impl<'a> Relocator<'a, '_> {
    /// Decides about the relocations of an input section.
    pub(super) fn source(&self, place: &Place<'_, 'a>, out: &mut Block) -> Result<(), Diagnostic> {
        let input = place.input;
        let Some(section) = input.section(place.from.section) else { return Ok(()) };
        let Some(relocated) = input.relocated(section.index) else { return Ok(()) };
        let Some(base) = self.base(place, relocated) else { return Ok(()) };
        let relocated = Relocated {
            section: relocated,
            base,
            size: input.reloc_limit(relocated),
            discarded: discarded_data(
                self.cx.resolution,
                place.object,
                &self.cx.objects[place.object],
                place.target.name,
                relocated,
            ),
        };
        let relocs = input.relocs(&section);
        let relocs = relocs.map_err(|e| self.error(place, Code::BadRelocation, &e))?;
        // The form is determined once; nearly all have the same.
        match relocs.plain() {
            Some(plain) => self.relocs(place, &relocated, plain, out),
            None => self.relocs(place, &relocated, relocs.iter(), out),
        }
    }

    #[inline]
    fn relocs(
        &self,
        place: &Place<'_, 'a>,
        relocated: &Relocated,
        relocs: impl Iterator<Item = Reloc>,
        out: &mut Block,
    ) -> Result<(), Diagnostic> {
        let mut cache = DecisionCache::default();
        for (index, reloc) in (0..).zip(relocs) {
            let Some(kind) = self.kinds.get(reloc.kind) else {
                return Err(self.reloc_error(place, &reloc, "unknown relocation type"));
            };
            let Some(offset) = self.offset(place, relocated, &reloc) else { continue };
            let Some(&id) = place.ids.get(reloc.symbol.0 as usize) else {
                return Err(self.reloc_error(place, &reloc, "symbol index out of range"));
            };
            let action = match self.usual(place, &reloc, kind, id) {
                Some(action) => action,
                None => cache.action(&reloc, kind, || self.action(place, &reloc, kind, id)),
            };
            // Only applied relocations touch bytes, but all have an offset.
            let span = match action {
                Action::Apply { .. } | Action::Clear => kind.span.into(),
                _ => 1,
            };
            if reloc.offset.checked_add(span).is_none_or(|end| end > relocated.size) {
                return Err(self.reloc_error(place, &reloc, "relocation is past end of offset"));
            }
            self.act(place, (index, &reloc, offset), (action, kind), out);
        }
        Ok(())
    }

    /// The action for a function in the common cases: code calls it, or the debug data of its own
    /// input describe it.
    #[inline]
    fn usual(
        &self,
        place: &Place<'_, 'a>,
        reloc: &Reloc,
        kind: &KindInfo,
        id: OptId<SymbolId>,
    ) -> Option<Action> {
        let (id, target) = (id.get()?, place.target);
        let found = self.functions.get(id).filter(|_| !kind.yields && !target.constant)?;
        // The selected definition drops nothing, unless it replaced another one.
        let at = SymbolRefId { object: place.object, symbol: reloc.symbol.0 };
        let may_lose = target.weak_sensitive
            && (self.cx.resolution.get(id).definition != Some(at)
                || !self.merged.debug_cut.is_empty());
        (!may_lose).then(|| found.action(kind))
    }

    /// The offset of a relocation in the target, if the relocated data is there.
    #[inline]
    fn offset(&self, place: &Place<'_, 'a>, relocated: &Relocated, reloc: &Reloc) -> Option<u64> {
        let Relocated { section, base, discarded, .. } = relocated;
        if !discarded.is_empty() && discarded.iter().any(|range| range.contains(&reloc.offset)) {
            return None;
        }
        let offset = base.saturating_add(reloc.offset);
        if offset >= place.target.end {
            return None;
        }
        match place.target.pieces {
            // A dropped constant has none.
            Some(pieces) => {
                let from = InputSection { object: place.object, section: *section };
                pieces.moved(from, reloc.offset, offset)
            }
            None => Some(offset),
        }
    }

    /// Carries out the action for a relocation at `offset` in the output.
    #[inline(always)]
    fn act(
        &self,
        place: &Place<'_, 'a>,
        (index, reloc, offset): (u32, &Reloc, u64),
        (action, kind): (Action, &KindInfo),
        out: &mut Block,
    ) {
        let traced = self.cx.dialect.traces_applied_relocations();
        let source = Source { from: place.from, index };
        match action {
            Action::Drop => {}
            Action::Clear => {
                if traced {
                    out.patched_from.push(source);
                }
                let (kind, value, bank) = (reloc.kind, 0, 0);
                out.patches.push(Patch { offset, kind, value, bank, adds: false })
            }
            Action::Emit { symbol, relative } => {
                let addend = reloc.addend.unwrap_or_else(|| self.implied(place, reloc, offset));
                let (kind, shift) = match relative {
                    true => (reloc.kind, self.section_shift(place, reloc)),
                    false => (self.kinds.emitted(reloc.kind, kind), 0),
                };
                let addend = addend.wrapping_add(shift);
                if traced {
                    out.emitted_from.push(source);
                }
                out.emitted.push(OutReloc { offset, kind, symbol, addend });
            }
            Action::Apply { value, bank, symbol } => {
                let addend = reloc.addend.unwrap_or(0);
                let value = value.wrapping_add(addend as u64);
                let (kind, adds) = (reloc.kind, reloc.addend.is_none());
                if traced {
                    out.patched_from.push(source);
                }
                let patch = Patch { offset, kind, value, bank, adds };
                out.patches.push(patch);
                if let (true, Some(symbol)) = (self.cx.config.preserve_relocs, symbol.get()) {
                    self.preserve(place, (source, reloc), &patch, symbol, out);
                }
            }
        }
    }

    /// Records an applied relocation, if requested. [`preserve-long-static`, `lines`]
    #[cold]
    fn preserve(
        &self,
        place: &Place<'_, 'a>,
        (source, reloc): (Source, &Reloc),
        patch: &Patch,
        symbol: OutSymbolId,
        out: &mut Block,
    ) {
        if !self.is_preserved(place, reloc) {
            return;
        }
        let (offset, kind) = (patch.offset, reloc.kind);
        // Relative to a section, the addend is the new offset.
        let relative = self.is_section_relative(place, reloc);
        let held = match patch.adds && relative {
            true => self.held(place.target.id, offset, kind),
            false => 0,
        };
        let addend = match relative {
            true => held.wrapping_add(patch.value as i64),
            false => reloc.addend.unwrap_or(0),
        };
        out.resolved.push((source, OutReloc { offset, kind, symbol, addend }));
    }

    /// The addend of an emitted relocation that has none. [`address-tables`, `globals`]
    #[cold]
    fn implied(&self, place: &Place<'_, 'a>, reloc: &Reloc, offset: u64) -> i64 {
        match self.cx.config.force_rela {
            true => self.held(place.target.id, offset, reloc.kind),
            false => 0,
        }
    }

    /// The offset of the relocated input section in the target.
    fn base(&self, place: &Place<'_, 'a>, section: u32) -> Option<u64> {
        if place.base.is_some() {
            return place.base;
        }
        let base = self.merged.placement(place.object, section)?;
        debug_assert_eq!(base.section, place.target.id);
        Some(base.offset)
    }

    /// The value in a REL relocation's field. Quirk: if equal constants were merged, that may be
    /// something else. [`equal-constants-8`]
    #[cold]
    fn held(&self, target: SectionId, offset: u64, kind: RelocKind) -> i64 {
        let Some(known) = kind.info() else { return 0 };
        let mut held = [0; 16];
        self.layout.read(self.cx, self.merged, target, offset, &mut held);
        reloc::held(known.fields, &held).unwrap_or(0) as i64
    }
}
