//! The tables of unified functions and variables.

use super::steps::Code;
use super::{Merger, NewContent, NewSection, Text};
use crate::ids::{FunctionId, InputSection, SectionId, SymbolId};
use cubin::names;
use cubin::{SectionRef, SectionType};

/// Alignment of the list of unified functions in an executable.
const ENTRIES_ALIGN: u64 = 32;

/// Size of a record in the lists of unified symbols.
pub(super) const ENTRY_SIZE: u64 = size_of::<cubin::unified::Entry>() as u64;

impl<'a> Merger<'a, '_> {
    /// The list of unified functions comes early in an executable.
    pub(super) fn function_entries(&mut self) {
        if self.cx.config.relocatable || !self.cx.unified.has_functions {
            return;
        }
        let section = self.create(NewSection {
            name: Text::new(names::UFT_ENTRY),
            kind: SectionType::CUDA_UFT_ENTRY,
            flags: 0,
            align: ENTRIES_ALIGN,
            entsize: ENTRY_SIZE,
            content: NewContent::Chunks,
            has_symbol: true,
            function: None,
        });
        self.by_name.insert(names::UFT_ENTRY, section);
    }

    /// The code of the stub of a unified function.
    pub(super) fn stub(&mut self, id: SymbolId, function: FunctionId, code: &Code) {
        let cubin = &self.cx.objects[code.object].cubin;
        let Some(input) = cubin.section(code.section) else { return };
        let table = self.stub_section(id, &input);
        let from = InputSection { object: code.object, section: code.section };
        self.place(table, from, code.align, code.size);
        self.out.function_sections[function].text = table.into();
        if !self.cx.config.relocatable {
            self.stub_info(id, function);
        }
    }

    /// The section of a stub: its own in a relocatable file, one for all elsewhere.
    fn stub_section(&mut self, id: SymbolId, input: &SectionRef<'a>) -> SectionId {
        let joint = !self.cx.config.relocatable;
        if let Some(known) = self.function_table.filter(|_| joint) {
            return known;
        }
        let section = self.create(NewSection {
            name: Text::new(if joint { names::UFT } else { input.name }),
            kind: input.kind,
            flags: input.flags,
            align: input.align,
            entsize: input.entsize,
            content: NewContent::Chunks,
            has_symbol: true,
            function: Some(id),
        });
        self.function_table = joint.then_some(section);
        section
    }

    /// The attributes of a stub: those of all stubs share a section in an executable.
    pub(super) fn stub_info(&mut self, id: SymbolId, function: FunctionId) -> SectionId {
        if let Some(known) = self.function_table_info {
            self.out.function_sections[function].info = known.into();
            return known;
        }
        let info = self.new_info(id, function, Text::new(names::UFT_INFO));
        self.function_table_info = Some(info);
        info
    }
}
