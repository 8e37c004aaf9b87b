//! Sections of functions that are not in the output.
//!
//! nvlink creates them like all others, in the same passes, and takes them out at the
//! end together with their names. What is left of them is that sections created later
//! have higher numbers, which show in large links only (`.symtab_shndx`). [Ten programs
//! with and without dead code, linked before 14,000 kernels]

use super::Merger;
use crate::callgraph::FunctionId;
use crate::object::{ObjectId, SectionClass};
use crate::resolve::{Role, SymbolId};
use cubin::consts::shn;
use cubin::{SectionRef, SectionType, SymbolRef};

/// Sections that a function creates once.
#[derive(Clone, Copy)]
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
}

/// By function: the parts that were created. Nothing if nobody will see the numbers.
pub(super) fn ghosts(cx: super::Context<'_, '_>) -> Vec<u8> {
    // An input section creates one of its own, the name of another and, for a kernel,
    // two more at most.
    const MOST: usize = 4;
    const FIXED: usize = 64;
    let sections: usize = cx.objects.iter().map(|o| o.classes.len()).sum();
    let seen = sections * MOST + FIXED >= shn::LORESERVE as usize;
    if seen { vec![0; cx.graph.len()] } else { Vec::new() }
}

impl<'a> Merger<'a, '_> {
    fn ghost(&mut self, function: FunctionId, part: Part) {
        let Some(made) = self.ghosts.get_mut(function.0 as usize) else { return };
        if *made & part as u8 == 0 {
            *made |= part as u8;
            self.out.creation_index += match part {
                Part::Parameters => 2,
                Part::Rel => self.cx.numbers_of_rel_name(),
                _ => 1,
            };
        }
    }

    /// Pass 1.
    pub(super) fn ghost_function(
        &mut self,
        id: SymbolId,
        function: FunctionId,
        object: ObjectId,
        symbol: &SymbolRef<'a>,
        role: Role,
    ) {
        let input = &self.cx.objects[object.0 as usize];
        let owns = input.owner(symbol.shndx) == Some(symbol.index.0);
        if !owns || !matches!(role, Role::Selected | Role::Replaced) {
            return;
        }
        self.ghost(function, Part::Text);
        if self.cx.resolution.get(id).entry && !self.cx.reach.is_unnamed(function) {
            self.ghost(function, Part::Info);
        }
    }

    /// Passes 2 and 3.
    pub(super) fn ghost_data(&mut self, function: FunctionId, class: SectionClass, role: Role) {
        match class {
            SectionClass::FunctionConstant { bank: 0, .. } => {
                self.ghost(function, Part::Parameters);
            }
            SectionClass::FunctionConstant { bank: 2, .. } => self.ghost(function, Part::Bank2),
            SectionClass::FunctionData(_) if role == Role::Selected && !self.ghosts.is_empty() => {
                self.out.creation_index += 1;
            }
            _ => {}
        }
    }

    /// Pass 4.
    pub(super) fn ghost_info(&mut self, function: FunctionId) {
        self.ghost(function, Part::Info);
    }

    /// Pass 5: relocations of jump tables.
    pub(super) fn ghost_table_relocs(&mut self, function: FunctionId, table: SectionClass) {
        if let SectionClass::FunctionConstant { bank: 2, .. } = table {
            self.ghost(function, Part::Bank2Relocs);
        }
    }

    /// Pass 5: relocations of code, see `add_relocs`.
    pub(super) fn ghost_relocs(
        &mut self,
        function: FunctionId,
        object: ObjectId,
        relocs: &SectionRef<'a>,
    ) {
        if self.ghosts.is_empty() {
            return;
        }
        let Ok(table) = self.cx.objects[object.0 as usize].cubin.reloc_table(relocs) else {
            return;
        };
        if table.is_empty() {
            return;
        }
        let rela = relocs.kind == SectionType::RELA;
        let forced = self.cx.config.force_rela;
        if rela || forced {
            self.ghost(function, Part::Rela);
        }
        let looked_up = if rela { table.iter().skip(1).any(|r| r.addend == Some(0)) } else { true };
        if looked_up {
            self.ghost(function, Part::Rel);
        }
    }
}
