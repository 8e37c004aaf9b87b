//! Sections of functions that are not in the output.
//!
//! nvlink creates them like all others, in the same passes, and removes them at the end together
//! with their names. Their only trace is that sections created later have higher numbers, which
//! show only in large links (`.symtab_shndx`). [Ten programs with and without dead code, linked
//! before 14,000 kernels]

use super::Merger;
use super::plan::{Fate, Planner};
use super::reloc_scan::looked_at;
use super::steps::{Kind, Part, Pass, Step};
use crate::context::Analysis;
use crate::ids::{FunctionId, ObjectId};
use crate::object::MergeClass;
use crate::resolve::Role;
use cubin::SectionType;
use cubin::consts::shn;

/// Whether the numbers of such sections may show.
pub(super) fn are_seen(cx: Analysis<'_, '_>) -> bool {
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
    pub(super) fn ghost(&mut self, function: FunctionId, part: Part) {
        let Some(made) = self.ghosts.get_mut(function.index()) else { return };
        if *made & part as u8 == 0 || part == Part::Other {
            *made |= part as u8;
            self.out.creation_index += part.numbers(self.cx);
        }
    }
}

impl Planner<'_, '_> {
    /// Plans a part of the function with this index in the current input's list.
    pub(super) fn ghost(&mut self, pass: Pass, index: usize, part: Part) {
        let Some(Some(fate)) = self.fates.get_mut(index) else { return };
        let step = match fate.sole && !matches!(part, Part::Parameters | Part::Bank2) {
            // No other input creates it: only its numbers matter.
            true if fate.made & part as u8 != 0 && part != Part::Other => return,
            true => Step::Numbers(part.numbers(self.cx)),
            false => Step::Ghost(fate.function, part),
        };
        fate.made |= part as u8;
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
    pub(super) fn ghost_function(&mut self, index: usize, owns: bool) {
        let Some(Some(Fate { id, function, role, .. })) = self.fates.get(index).copied() else {
            return;
        };
        if !owns || !matches!(role, Role::Selected | Role::Replaced) {
            return;
        }
        self.ghost(Pass::Symbols, index, Part::Text);
        if self.cx.resolution.get(id).entry && !self.cx.reach.is_late(function) {
            self.ghost(Pass::Symbols, index, Part::Info);
        }
    }

    /// Passes 2 and 3.
    pub(super) fn ghost_data(&mut self, index: usize, what: Kind, role: Role) {
        let part = match what {
            Kind::Bank0 { .. } => Part::Parameters,
            Kind::Bank2 => Part::Bank2,
            Kind::Other if role == Role::Selected => Part::Other,
            _ => return,
        };
        self.ghost(Pass::Symbols, index, part);
    }

    /// Pass 5: relocations of jump tables, and of code, see `add_relocs`.
    pub(super) fn ghost_relocs(
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
                self.ghost(Pass::Relocs, index, Part::Bank2Relocs);
            }
            return;
        }
        let found = looked_at(self.cx, object, &relocs, None, false);
        let rela = relocs.kind == SectionType::RELA;
        if found.any && (rela || self.cx.config.force_rela) {
            self.ghost(Pass::Relocs, index, Part::Rela);
        }
        if found.any && (!rela || found.zero_addend) {
            self.ghost(Pass::Relocs, index, Part::Rel);
        }
    }
}
