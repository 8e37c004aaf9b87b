//! Relocations of jump tables that are copied to kernels (Mercury code).

use super::{Place, Relocator, SectionRelocs};
use crate::diag::Diagnostic;
use crate::merge::SectionId;

impl Relocator<'_, '_> {
    /// Appends what comes with the tables of functions that a kernel's bank has.
    ///
    /// nvlink keeps one list per function, the latest first, and goes over it for
    /// each table from the last to the first, taking what lies in that table.
    /// Relocations of a replaced table stay in the list and go with the table that
    /// covers their offset now (found with a weak function in four files).
    pub(super) fn copied_tables(
        &self,
        target: SectionId,
        out: &mut SectionRelocs,
    ) -> Result<(), Diagnostic> {
        let Some(kernel) = self.merged.section(target).function else { return Ok(()) };
        let Some(kernel) = self.cx.graph.function(kernel) else { return Ok(()) };
        if self.merged.function_sections[kernel.0 as usize].constant2 != Some(target) {
            return Ok(());
        }
        for (function, users) in &self.merged.bank2_users {
            let Some(bank) = self.merged.bank2.get(function) else { continue };
            if !users.contains(&kernel) || bank.relocs.is_empty() {
                continue;
            }
            let start = self.layout.bank2.start_of.get(function).copied().unwrap_or(0);
            let mut list = SectionRelocs::default();
            for &(from, offset) in &bank.relocs {
                let base = Some(start.saturating_add(offset));
                let (object, target_name) = (from.object, self.merged.section_name(target));
                let place = Place { from, object, function: Some(kernel), target_name, base };
                self.source(target, &place, &mut list)?;
            }
            for (part, offset) in bank.offsets(self.cx).into_iter().rev() {
                let input = &self.cx.objects[part.object.0 as usize].cubin;
                let size = input.section(part.section).map_or(0, |s| s.size);
                let first = start.saturating_add(offset);
                let table = first..first.saturating_add(size);
                for (kept, from) in list.kept.iter().zip(&list.kept_from).rev() {
                    if table.contains(&kept.offset) {
                        out.kept.push(*kept);
                        out.kept_from.push(*from);
                    }
                }
            }
            out.patches.append(&mut list.patches);
            out.patched_from.append(&mut list.patched_from);
        }
        Ok(())
    }
}
