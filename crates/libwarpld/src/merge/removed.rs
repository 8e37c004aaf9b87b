//! Sections of functions that are not in the output.
//!
//! nvlink creates them like all others, in the same passes, and removes them at the end together
//! with their names. Their only trace is that sections created later have higher numbers, which
//! show only in large links (`.symtab_shndx`). [Ten programs with and without dead code, linked
//! before 14,000 kernels]

use super::Merger;
use super::plan::{Disposition, Planner};
use super::reloc_scan::scan_relocs;
use super::steps::{Kind, Part, Pass, Step};
use crate::context::Analysis;
use crate::ids::{FunctionId, ObjectId};
use crate::object::MergeClass;
use crate::resolve::Role;
use cubin::SectionType;
use cubin::consts::shn;

/// Whether the numbers of such sections may show.
pub(super) fn may_show(cx: Analysis<'_, '_>) -> bool {
    // An input section creates its own output section, the name of another and, for a kernel, two
    // more at most.
    const MOST: usize = 4;
    const FIXED: usize = 64;
    let sections: usize = cx.objects.iter().map(|o| o.classes.len()).sum();
    sections * MOST + FIXED >= shn::LORESERVE as usize
}

impl Part {
    /// How many numbers it takes.
    fn numbers(self, cx: Analysis<'_, '_>) -> u32 {
        match self {
            Part::Parameters => 2,
            Part::Rel => cx.numbers_of_rel_name(),
            _ => 1,
        }
    }
}

impl Merger<'_, '_> {
    pub(super) fn removed_part(&mut self, function: FunctionId, part: Part) {
        let Some(created) = self.removed_parts.get_mut(function.index()) else { return };
        if *created & part as u8 == 0 || part == Part::Other {
            *created |= part as u8;
            self.out.creation_index += part.numbers(self.cx);
        }
    }
}

impl Planner<'_, '_> {
    /// Plans a part of the function with this index in the current input's list.
    pub(super) fn removed_part(&mut self, pass: Pass, index: usize, part: Part) {
        let Some(Some(disposition)) = self.dispositions.get_mut(index) else { return };
        let step = match disposition.sole && !matches!(part, Part::Parameters | Part::Bank2) {
            // No other input creates it: only its numbers matter.
            true if disposition.created & part as u8 != 0 && part != Part::Other => return,
            true => Step::Numbers(part.numbers(self.cx)),
            false => Step::RemovedPart(disposition.function, part),
        };
        disposition.created |= part as u8;
        let steps = match pass {
            Pass::Symbols => &mut self.steps,
            Pass::Attributes => &mut self.attributes,
            Pass::Relocs => &mut self.relocs,
        };
        match (&step, steps.last_mut()) {
            (Step::Numbers(more), Some(Step::Numbers(known))) => *known += more,
            _ => steps.push(step),
        }
    }

    /// Pass 1.
    pub(super) fn removed_function(&mut self, index: usize, owns: bool) {
        let Some(Some(Disposition { id, function, role, .. })) =
            self.dispositions.get(index).copied()
        else {
            return;
        };
        if !owns || !matches!(role, Role::Selected | Role::Replaced) {
            return;
        }
        self.removed_part(Pass::Symbols, index, Part::Text);
        if self.cx.resolution.get(id).entry && !self.cx.reach.is_late(function) {
            self.removed_part(Pass::Symbols, index, Part::Info);
        }
    }

    /// Passes 2 and 3.
    pub(super) fn removed_data(&mut self, index: usize, what: Kind, role: Role) {
        let part = match what {
            Kind::Bank0 { .. } => Part::Parameters,
            Kind::Bank2 => Part::Bank2,
            Kind::Other if role == Role::Selected => Part::Other,
            _ => return,
        };
        self.removed_part(Pass::Symbols, index, part);
    }

    /// Pass 5: relocations of jump tables, and of code, see `add_relocs`.
    pub(super) fn removed_relocs(
        &mut self,
        index: usize,
        object: ObjectId,
        section: u32,
        target: MergeClass,
    ) {
        let input = &self.cx.objects[object];
        let Some(relocs) = input.section(section).filter(|relocs| relocs.size > 0) else {
            return;
        };
        if !matches!(target, MergeClass::Text(_)) {
            if let MergeClass::FunctionConstant { bank: 2, .. } = target {
                self.removed_part(Pass::Relocs, index, Part::Bank2Relocs);
            }
            return;
        }
        let found = scan_relocs(self.cx, object, &relocs, None, false);
        let rela = relocs.kind == SectionType::RELA;
        if found.any && (rela || self.cx.config.force_rela) {
            self.removed_part(Pass::Relocs, index, Part::Rela);
        }
        if found.any && (!rela || found.zero_addend) {
            self.removed_part(Pass::Relocs, index, Part::Rel);
        }
    }
}
