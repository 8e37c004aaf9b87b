//! Sections of functions that are not in the output.
//!
//! nvlink creates them like all others, in the same passes, and takes them out at the
//! end together with their names. What is left of them is that sections created later
//! have higher numbers, which show in large links only (`.symtab_shndx`). [Ten programs
//! with and without dead code, linked before 14,000 kernels]

use super::lookups::looked_at;
use super::plan::{Kind, Planner, Step};
use super::{Context, Merger};
use crate::callgraph::FunctionId;
use crate::object::{ObjectId, SectionClass};
use crate::resolve::{Role, SymbolId};
use cubin::SectionType;
use cubin::consts::shn;

/// Sections that a function creates once.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Part {
    Text = 1,
    Info = 2,
    /// The relocations of its bank 2.
    Bank2Relocs = 4,
    /// With its relocation section, which is created along with it.
    Parameters = 8,
    Bank2 = 16,
    Rela = 32,
    /// The section, or only its name.
    Rel = 64,
    /// Any other, of which there may be several.
    Other = 128,
}

/// By function: the parts that were created. Nothing if nobody will see the numbers.
pub(super) fn ghosts(cx: Context<'_, '_>) -> Vec<u8> {
    // An input section creates one of its own, the name of another and, for a kernel,
    // two more at most.
    const MOST: usize = 4;
    const FIXED: usize = 64;
    let sections: usize = cx.objects.iter().map(|o| o.classes.len()).sum();
    let seen = sections * MOST + FIXED >= shn::LORESERVE as usize;
    if seen { vec![0; cx.graph.len()] } else { Vec::new() }
}

impl Merger<'_, '_> {
    pub(super) fn ghost(&mut self, function: FunctionId, part: Part) {
        let Some(made) = self.ghosts.get_mut(function.0 as usize) else { return };
        if *made & part as u8 == 0 || part == Part::Other {
            *made |= part as u8;
            self.out.creation_index += match part {
                Part::Parameters => 2,
                Part::Rel => self.cx.numbers_of_rel_name(),
                _ => 1,
            };
        }
    }
}

impl Planner<'_, '_> {
    /// Pass 1.
    pub(super) fn ghost_function(
        &mut self,
        id: SymbolId,
        function: FunctionId,
        owns: bool,
        role: Role,
    ) {
        if !owns || !matches!(role, Role::Selected | Role::Replaced) {
            return;
        }
        self.steps.push(Step::Ghost(function, Part::Text));
        if self.cx.resolution.get(id).entry && !self.cx.reach.is_unnamed(function) {
            self.steps.push(Step::Ghost(function, Part::Info));
        }
    }

    /// Passes 2 and 3.
    pub(super) fn ghost_data(&mut self, function: FunctionId, what: Kind, role: Role) {
        let part = match what {
            Kind::Bank0 { .. } => Part::Parameters,
            Kind::Bank2 => Part::Bank2,
            Kind::Other if role == Role::Selected => Part::Other,
            _ => return,
        };
        self.steps.push(Step::Ghost(function, part));
    }

    /// Pass 5: relocations of jump tables.
    pub(super) fn ghost_table_relocs(&mut self, function: FunctionId, table: SectionClass) {
        if let SectionClass::FunctionConstant { bank: 2, .. } = table {
            self.relocs.push(Step::Ghost(function, Part::Bank2Relocs));
        }
    }

    /// Pass 5: relocations of code, see `add_relocs`.
    pub(super) fn ghost_relocs(&mut self, function: FunctionId, object: ObjectId, section: u32) {
        let relocs = self.cx.objects[object.0 as usize].cubin.section(section);
        let Some(relocs) = relocs.filter(|relocs| relocs.size > 0) else { return };
        let found = looked_at(self.cx, object, &relocs, None);
        let rela = relocs.kind == SectionType::RELA;
        if found.any && (rela || self.cx.config.force_rela) {
            self.relocs.push(Step::Ghost(function, Part::Rela));
        }
        if found.any && (!rela || found.zero_addend) {
            self.relocs.push(Step::Ghost(function, Part::Rel));
        }
    }
}
