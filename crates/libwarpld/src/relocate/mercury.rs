//! Specific to links in the Mercury half: jump tables copied to kernels, and debug tables whose
//! relocations are emitted.

use super::outcome::Block;
use super::{Place, Relocator, Target};
use crate::collections::Map;
use crate::context::Analysis;
use crate::diag::Diagnostic;
use crate::ids::{FunctionId, InputSection, ObjectId};
use crate::merge::{Bank2Parts, Merged};

use cubin::Reloc;
use std::collections::BTreeSet;

/// Jump tables of functions, which are copied to kernels.
#[derive(Default)]
pub(super) struct CopiedTables {
    /// By kernel: the functions whose tables it gets.
    functions_of: Map<FunctionId, Vec<FunctionId>>,
    /// By input and bank: offset and size of each table.
    tables: Map<(ObjectId, u32), Vec<(u64, u64)>>,
}

impl CopiedTables {
    /// Collects them all: looking for each in its input would take time out of proportion if one
    /// input has thousands.
    pub(super) fn collect(cx: Analysis<'_, '_>, merged: &Merged) -> Self {
        let mut out = Self::default();
        if !cx.dialect.copies_table_relocations() {
            return out;
        }
        for (function, users) in &merged.bank2_users {
            let bank = merged.bank2.get(function).filter(|bank| !bank.relocs.is_empty());
            let Some(bank) = bank else { continue };
            for kernel in users {
                out.functions_of.entry(*kernel).or_default().push(*function);
            }
            for part in &bank.parts {
                out.tables.entry((part.object, part.section)).or_default();
            }
        }
        let objects: BTreeSet<ObjectId> = out.tables.keys().map(|(object, _)| *object).collect();
        for object in objects {
            let symbols = cx.objects[object].cubin.symbols();
            for symbol in symbols.filter(cubin::SymbolRef::is_internal) {
                if let Some(tables) = out.tables.get_mut(&(object, symbol.shndx)) {
                    tables.push((symbol.value, symbol.size));
                }
            }
        }
        // By offset, whatever the order of their symbols. [all orders of three]
        out.tables.values_mut().for_each(|tables| tables.sort_by_key(|&(offset, _)| offset));
        out
    }

    /// Offset and size of the parts of a function's bank: the tables of the selected copy and, as
    /// one part each, the banks of discarded copies (`jump-tables-of-copies`), even if the selected
    /// copy has none (`jump-tables-of-loser-alone`).
    fn pieces(&self, cx: Analysis<'_, '_>, bank: &Bank2Parts) -> Vec<(u64, u64)> {
        // Also that of a copy which a better one found in its place (`bank2-kept`).
        let is_own = |part: InputSection| {
            let owner = cx.owner(part.object, part.section);
            owner.is_none_or(|(id, at)| cx.resolution.ever_selected(id, at))
        };
        let mut out = Vec::new();
        for (number, (part, offset)) in bank.offsets(cx).into_iter().enumerate() {
            let own = self.tables.get(&(part.object, part.section));
            let own = own.filter(|_| number == 0 && is_own(part));
            match own.filter(|tables| !tables.is_empty()) {
                Some(tables) => {
                    let at = |&(value, size)| (offset.saturating_add(value), size);
                    out.extend(tables.iter().map(at));
                }
                None => {
                    let input = &cx.objects[part.object].cubin;
                    out.push((offset, input.section(part.section).map_or(0, |s| s.size)));
                }
            }
        }
        out
    }
}

impl<'a> Relocator<'a, '_> {
    /// Whether an applied relocation is recorded for `--preserve-relocs`. The Mercury half does
    /// that only for shared memory, not for constants or debug data.
    pub(super) fn is_preserved(&self, place: &Place<'_, 'a>, reloc: &Reloc) -> bool {
        let input = &place.input.cubin;
        self.cx.config.preserve_relocs
            && (!self.cx.dialect.preserves_shared_relocations_only()
                || place.target.function.is_some()
                    && input.symbol(reloc.symbol.0).is_some_and(|s| s.is_shared()))
    }

    /// The Mercury half emits relocations for offsets in debug tables; the addend moves with the
    /// table. [`debug-information`]
    pub(super) fn section_shift(&self, place: &Place<'_, 'a>, reloc: &Reloc) -> i64 {
        let section = place.input.cubin.symbol(reloc.symbol.0).map_or(0, |s| s.shndx);
        let at = self.merged.placement(place.object, section);
        at.filter(|_| self.cx.dialect.keeps_debug_offsets()).map_or(0, |at| at.offset as i64)
    }

    /// Appends the relocations of the function tables in a kernel's bank.
    ///
    /// nvlink keeps one list per function, latest first, and scans it for each table from the last
    /// to the first, taking what is inside that table. Relocations of a replaced table stay in the
    /// list and go with the table that covers their offset now (found with a weak function in four
    /// files). In a relocatable file both tables have a symbol at that offset; the later one takes all
    /// (`relink-tables-of-copies`).
    pub(super) fn copied_tables(
        &self,
        target: &Target<'_>,
        out: &mut Block,
    ) -> Result<(), Diagnostic> {
        let Some(kernel) = target.function else { return Ok(()) };
        if self.merged.constant2.get(&kernel) != Some(&target.id) {
            return Ok(());
        }
        for function in self.copied.functions_of.get(&kernel).into_iter().flatten() {
            let Some(bank) = self.merged.bank2.get(function) else { continue };
            let start = self.layout.bank2.start_of.get(function).copied().unwrap_or(0);
            let mut list = Block::default();
            for &(from, offset) in &bank.relocs {
                let base = Some(start.saturating_add(offset));
                let place = Place { base, ..Place::new(self.cx, from, target) };
                self.source(&place, &mut list)?;
            }
            // A relinked file has the symbols of replaced tables, too. [`relink-replaced-tables`]
            let all = list.emitted.all();
            let mut taken = vec![false; all.len()];
            for (first, size) in self.copied.pieces(self.cx, bank).into_iter().rev() {
                let first = start.saturating_add(first);
                let table = first..first.saturating_add(size);
                let left = all.iter().zip(&list.emitted_from).zip(&mut taken).rev();
                for ((emitted, from), taken) in left.filter(|(_, taken)| !**taken) {
                    if table.contains(&emitted.offset) {
                        *taken = true;
                        out.emitted.push(emitted);
                        out.emitted_from.push(*from);
                    }
                }
            }
            out.patches.append(&mut list.patches);
            out.patched_from.append(&mut list.patched_from);
        }
        Ok(())
    }
}
