//! Passes 2 and 3: all other symbols, and their sections, with or without symbols.

use super::steps::{Data, Emitted, FunctionData, Kind, Variable};
use super::tables::ENTRY_SIZE;
use super::{Merger, NewContent, NewSection, Placement, Text};
use crate::ids::{InputSection, ObjectId, SectionId, SymbolId};
use crate::name_hash::NameHash;
use crate::resolve::Role;
use cubin::bank;
use cubin::consts::shf;
use cubin::names::{self, prefix};
use cubin::{Binding, SectionType};

impl<'a> Merger<'a, '_> {
    pub(super) fn variable(&mut self, object: ObjectId, variable: &Variable) {
        let Variable { id, list, emitted, dynamic, common } = *variable;
        if dynamic {
            self.common_shared();
        }
        if common && self.seen_commons.insert(id) {
            self.out.commons.push(id);
        }
        let emitted = match emitted {
            Emitted::Yes => true,
            Emitted::No => false,
            Emitted::WithSection(section) => self.out.placements.section(object, section).is_some(),
        };
        if emitted && self.out.symbol_of[id].is_none() {
            self.named_symbol(id, list);
        }
    }

    /// Gets or creates the output section of an input data section and appends
    /// the input's bytes, once. [`weak-variables`, `debug-information`]
    pub(super) fn data_section(&mut self, object: ObjectId, data: &Data<'a>) {
        let from = InputSection { object, section: data.section };
        if self.out.placements.section(object, data.section).is_some() {
            return;
        }
        let known = self.by_name.get(data.name).copied();
        if let Some(section) = known.or_else(|| self.plain_section(from)) {
            self.place(section, from, data.align, data.size);
        }
    }

    fn plain_section(&mut self, from: InputSection) -> Option<SectionId> {
        let input = self.cx.objects[from.object].cubin.section(from.section)?;
        let section = self.create(NewSection {
            name: Text::new(input.name),
            kind: self.cx.output_kind(input.kind),
            flags: input.flags,
            align: 0,
            entsize: if input.kind.is_unified_entries() { ENTRY_SIZE } else { 0 },
            content: NewContent::Chunks,
            has_symbol: true,
            function: None,
        });
        self.out.sections[section].set_bank(bank::number_of(input.name, input.kind));
        self.by_name.insert(input.name, section);
        Some(section)
    }

    pub(super) fn common_shared(&mut self) -> SectionId {
        if let Some(known) = self.out.common_shared {
            return known;
        }
        let section = self.create(NewSection {
            name: Text::new(names::DEBUG_SHARED),
            kind: self.cx.output_kind(SectionType::CUDA_SHARED),
            flags: shf::WRITE | shf::ALLOC,
            align: 0,
            entsize: 0,
            content: NewContent::Chunks,
            has_symbol: true,
            function: None,
        });
        self.out.common_shared = Some(section);
        section
    }

    /// Gets or creates the output section of a function's data and appends the input's
    /// bytes, once.
    pub(super) fn function_data(&mut self, object: ObjectId, data: &FunctionData) {
        let FunctionData { id, function, role, align, size, .. } = *data;
        let from = InputSection { object, section: data.section };
        if self.out.placements.section(object, data.section).is_some() {
            return;
        }
        let sections = self.out.function_sections[function];
        match data.what {
            Kind::Bank2 => self.bank2_data(from, data),
            Kind::Shared => {
                if sections.shared.is_none() && !self.cx.reach.is_late(function) {
                    return;
                }
                let section = self.late_kernel_shared(function);
                self.out.placements.set(from, Placement { section, offset: 0 });
            }
            Kind::Bank0 { usual } => {
                let known = sections.constant0.get();
                let Some(bank) = known.or_else(|| self.new_parameter_bank(from, data, usual))
                else {
                    return;
                };
                self.out.function_sections[function].constant0 = bank.into();
                self.parameter_bank(bank, from, align, size);
            }
            Kind::Other | Kind::OtherBank if role == Role::Discarded => {}
            Kind::Other | Kind::OtherBank => {
                let input = self.cx.objects[object].cubin.section(from.section);
                let Some(name) = input.map(|input| input.name) else { return };
                let known = self.by_function.get(&(id, name)).copied();
                let Some(section) = self.per_function(known, id, from, 0) else { return };
                self.by_function.insert((id, name), section);
                if role == Role::Selected {
                    self.place(section, from, align, size);
                }
            }
        }
    }

    /// Only one parameter bank of several weak kernels is kept. Quirk: those that come with or
    /// after a strong one are all appended.
    /// [`weak-kernels-after-strong`, `weak-kernels`, `weak-kernel-then-strong`]
    fn parameter_bank(&mut self, bank: SectionId, from: InputSection, align: u64, size: u64) {
        let is_weak = |from: InputSection| {
            let owner = self.cx.owner(from.object, from.section);
            let symbol = owner.and_then(|(_, at)| self.cx.input_symbol(at));
            symbol.is_some_and(|s| s.binding() == Binding::WEAK)
        };
        let chunks = self.out.sections[bank].chunks();
        match chunks.last().copied() {
            Some(last) if is_weak(from) && chunks.iter().all(|c| is_weak(c.from)) => {
                let at = Placement { section: bank, offset: last.offset };
                self.out.placements.set(from, at);
            }
            _ => self.place(bank, from, align, size),
        }
    }

    /// The section of a function's data, called like that of the input.
    pub(super) fn per_function(
        &mut self,
        known: Option<SectionId>,
        id: SymbolId,
        from: InputSection,
        more_flags: u64,
    ) -> Option<SectionId> {
        if known.is_some() {
            return known;
        }
        let input = self.cx.objects[from.object].cubin.section(from.section)?;
        let flags = input.flags | more_flags;
        let section = self.create(self.like((input.kind, flags), Text::new(input.name), id));
        self.out.sections[section].set_bank(bank::number_of(input.name, input.kind));
        Some(section)
    }

    fn like<'n>(
        &self,
        (kind, flags): (SectionType, u64),
        name: Text<'n>,
        id: SymbolId,
    ) -> NewSection<'n> {
        NewSection {
            name,
            kind: self.cx.output_kind(kind),
            flags,
            align: 0,
            entsize: 0,
            content: NewContent::Chunks,
            has_symbol: true,
            function: Some(id),
        }
    }

    /// The section of a kernel's parameters, which is usually called after it.
    /// [`one-kernel`, `large-parameters`]
    fn new_parameter_bank(
        &mut self,
        from: InputSection,
        data: &FunctionData,
        usual: bool,
    ) -> Option<SectionId> {
        let FunctionData { id, function, kind, flags, .. } = *data;
        let (name, relocs) = match usual {
            true => {
                let relocs: &[u8] = match self.cx.handles_with_addends() {
                    true => prefix::RELA_CONSTANT0,
                    false => prefix::REL_CONSTANT0,
                };
                let name = self.new_name(prefix::CONSTANT0, id, function);
                (name, self.new_name(relocs, id, function))
            }
            false => {
                let input = self.cx.objects[from.object].cubin.section(from.section)?;
                let hash = NameHash::of(input.name);
                let relocs = Text::prefixed(self.cx.handles_prefix(), input.name, hash);
                (Text::hashed(input.name, hash), relocs)
            }
        };
        let new = self.like((kind, flags), name, id);
        let bank = match self.cx.config.relocatable {
            true => self.create(new),
            false => self.bank_of_handles(new, relocs, id),
        };
        self.out.sections[bank].set_bank(Some(0));
        Some(bank)
    }

    /// A bank for texture handles adds the name of a relocation section; the two string tables get
    /// the pair in opposite orders.
    pub(super) fn bank_of_handles(
        &mut self,
        new: NewSection<'_>,
        relocs: Text<'_>,
        id: SymbolId,
    ) -> SectionId {
        let name = self.out.strings.add_section(new.name);
        let relocs_name = self.out.strings.add(relocs);
        let symbol_name = self.out.strings.add_symbol_of_section(new.name, name);
        let bank = self.create_named(name, symbol_name, new);
        self.image_relocs(bank, id, relocs, relocs_name);
        bank
    }

    /// The relocation section of texture handles, dropped if it stays empty: then only its name and
    /// index are left.
    fn image_relocs(&mut self, bank: SectionId, id: SymbolId, name: Text<'_>, at: (u32, u32)) {
        if !self.handles {
            self.out.creation_index += 1;
            return;
        }
        let (kind, entsize, flags) = match self.cx.handles_with_addends() {
            true => (SectionType::RELA, 24, shf::INFO_LINK),
            false => (SectionType::REL, 16, 0),
        };
        let new = NewSection {
            name,
            kind,
            flags,
            align: 8,
            entsize,
            content: NewContent::ImageRelocs { target: bank },
            has_symbol: false,
            function: Some(id),
        };
        self.create_named(at.0, at.1, new);
    }
}
