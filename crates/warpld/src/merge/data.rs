//! Passes 2 and 3: all other symbols, and the sections they or nobody names.

use super::tables::ENTRY_SIZE;
use super::{Content, InputSection, List, Merger, NewSection, Placement, SectionId, Text};
use crate::layout::is_declared_array;
use crate::name_hash::NameHash;
use crate::object::{
    ObjectId, SectionClass, constant_bank, is_dynamic_array, is_internal, is_shared,
};
use crate::reach::Pruning;
use crate::resolve::{Role, Sighting, SymbolId};
use crate::unified::is_entries;
use cubin::consts::shf;
use cubin::{Binding, SectionRef, SectionType, SymbolRef};
use smallvec::SmallVec;

impl<'a, 'o> Merger<'a, 'o> {
    pub(super) fn data(&mut self, object: ObjectId) {
        let cx = self.cx;
        let input = &cx.objects[object.0 as usize];
        for symbol in input.symbols(&input.data) {
            let Some(id) = cx.resolution.id(object, symbol.index.0) else { continue };
            let at = Sighting { object, symbol: symbol.index.0 };
            let defined = !symbol.is_undefined() && !symbol.is_common();
            let role = cx.resolution.role(id, at, defined);
            let lost = || self.is_lost_bank2(object, symbol.shndx);
            if defined && role != Role::Discarded && !lost() {
                self.section_of_symbol(object, &symbol);
            }
            if is_dynamic_array(&symbol) && is_declared_array(cx, id) {
                self.common_shared();
            }
            if symbol.is_common() && self.seen_commons.insert(id) {
                self.out.commons.push(id);
            }
            if self.is_emitted(object, id, &symbol) && self.out.symbol_of[id.0 as usize].is_none() {
                let local = defined && symbol.binding() != Binding::GLOBAL
                    || symbol.binding() == Binding::LOCAL
                    || is_internal(&symbol);
                self.named_symbol(id, if local { List::Local } else { List::Global });
            }
        }
    }

    /// Internal symbols never leave their object; shared-memory symbols do so
    /// only for debuggers.
    fn is_emitted(&self, object: ObjectId, id: SymbolId, symbol: &SymbolRef<'_>) -> bool {
        let config = self.cx.config;
        if config.relocatable {
            return !self.is_lost_bank2(object, symbol.shndx);
        }
        if is_shared(symbol) && is_internal(symbol) {
            // The instances of dynamic arrays in a relinked file.
            return self.shows_instances;
        }
        if is_shared(symbol) {
            // An array that an earlier input defines is an ordinary one.
            if is_declared_array(self.cx, id) {
                return config.shows_shared() || self.shows_unplaced;
            }
            let shown = config.shows_shared() || config.preserve_relocs;
            let class = self.cx.objects[object.0 as usize].classes.get(symbol.shndx as usize);
            let own = matches!(class, Some(SectionClass::KernelShared(_)));
            return shown && (own || self.cx.mentions.by_symbol.contains_key(&id));
        }
        // Compiler constants of device functions have no section of their own.
        let placed = || self.out.placement(object, symbol.shndx).is_some();
        let own = || placed() && !self.is_lost_bank2(object, symbol.shndx);
        !is_internal(symbol) || (config.preserve_relocs && !symbol.is_undefined() && own())
    }

    fn section_of_symbol(&mut self, object: ObjectId, symbol: &SymbolRef<'a>) {
        let input = &self.cx.objects[object.0 as usize];
        if symbol.reserved {
            return;
        }
        if let Some(section) = input.cubin.section(symbol.shndx) {
            self.data_section(object, &section, input.classes[symbol.shndx as usize], true);
        }
    }

    /// Gets or creates the output section of an input data section and appends
    /// the input's bytes, once.
    fn data_section(
        &mut self,
        object: ObjectId,
        input: &SectionRef<'a>,
        class: SectionClass,
        by_symbol: bool,
    ) {
        let placed = self.out.placements[object.0 as usize][input.index.0 as usize].is_some();
        if placed || self.is_index(input) {
            return;
        }
        match class {
            SectionClass::Data => {
                let section = match self.by_name.get(input.name) {
                    Some(&known) => known,
                    None => self.plain_section(input),
                };
                self.place(section, object, input);
            }
            SectionClass::CommonShared => {
                let section = self.common_shared();
                self.out.placements[object.0 as usize][input.index.0 as usize] =
                    Some(Placement { section, offset: 0 });
            }
            SectionClass::KernelShared(_)
            | SectionClass::FunctionData(_)
            | SectionClass::FunctionConstant { .. } => {
                self.function_data(object, input, class, by_symbol);
            }
            _ => {}
        }
    }

    fn plain_section(&mut self, input: &SectionRef<'a>) -> SectionId {
        let section = self.create(NewSection {
            name: Text::new(input.name),
            kind: self.cx.output_kind(input.kind),
            flags: input.flags,
            align: 0,
            entsize: if is_entries(input.kind) { ENTRY_SIZE } else { 0 },
            content: Content::Chunks(SmallVec::new()),
            has_symbol: true,
            function: None,
        });
        self.out.sections[section.0 as usize].bank = constant_bank(input.name, input.kind);
        self.by_name.insert(input.name, section);
        section
    }

    fn common_shared(&mut self) -> SectionId {
        if let Some(known) = self.out.common_shared {
            return known;
        }
        let section = self.create(NewSection {
            name: Text::new(b".nv_debug.shared"),
            kind: self.cx.output_kind(SectionType::CUDA_SHARED),
            flags: shf::WRITE | shf::ALLOC,
            align: 0,
            entsize: 0,
            content: Content::Chunks(SmallVec::new()),
            has_symbol: true,
            function: None,
        });
        self.out.common_shared = Some(section);
        section
    }

    fn function_data(
        &mut self,
        object: ObjectId,
        input: &SectionRef<'a>,
        class: SectionClass,
        by_symbol: bool,
    ) {
        let cx = self.cx;
        let Some((id, at)) = cx.owner(object, input.index.0) else { return };
        let Some(function) = cx.graph.function(id) else { return };
        let role = cx.resolution.role(id, at, true);
        if !cx.reach.is_live(function) {
            let by_name = cx.reach.pruning == Pruning::ByName;
            if by_name && matches!(class, SectionClass::KernelShared(_)) {
                self.mention(Text::new(input.name));
            }
            self.ghost_data(function, class, role);
            return;
        }
        let sections = self.out.function_sections[function.0 as usize];
        match class {
            SectionClass::FunctionConstant { bank: 2, .. } => {
                self.bank2_data(object, input, id, by_symbol);
            }
            SectionClass::KernelShared(_) => {
                if sections.shared.is_none() && !cx.reach.is_unnamed(function) {
                    return;
                }
                let section = self.kernel_shared(function);
                self.out.placements[object.0 as usize][input.index.0 as usize] =
                    Some(Placement { section, offset: 0 });
            }
            SectionClass::FunctionConstant { bank: 0, .. } => {
                let section = self.per_function(sections.constant0, id, input, true);
                self.out.function_sections[function.0 as usize].constant0 = Some(section);
                self.parameter_bank(section, id, at, object, input);
            }
            _ if role == Role::Discarded => {}
            _ => {
                let known = self.by_function.get(&(id, input.name)).copied();
                let section = self.per_function(known, id, input, false);
                self.by_function.insert((id, input.name), section);
                if role == Role::Selected {
                    self.place(section, object, input);
                }
            }
        }
    }

    /// Of several weak kernels one parameter bank is kept. Quirk: those that come
    /// with or after a strong one are all appended.
    fn parameter_bank(
        &mut self,
        section: SectionId,
        id: SymbolId,
        at: Sighting,
        object: ObjectId,
        input: &SectionRef<'a>,
    ) {
        let weak =
            |s: Sighting| self.cx.input_symbol(s).is_some_and(|s| s.binding() == Binding::WEAK);
        let Content::Chunks(chunks) = &self.out.sections[section.0 as usize].content else {
            return;
        };
        let is_weak = |from: InputSection| {
            self.cx.owner(from.object, from.section).is_some_and(|(_, earlier)| weak(earlier))
        };
        match chunks.last().copied() {
            Some(last) if weak(at) && chunks.iter().all(|c| is_weak(c.from)) => {
                self.out.placements[object.0 as usize][input.index.0 as usize] =
                    Some(Placement { section, offset: last.offset });
            }
            _ => self.place(section, object, input),
        }
        debug_assert!(self.cx.keeps(id));
    }

    pub(super) fn per_function(
        &mut self,
        known: Option<SectionId>,
        id: SymbolId,
        input: &SectionRef<'a>,
        parameters: bool,
    ) -> SectionId {
        if let Some(known) = known {
            return known;
        }
        let hash = NameHash::of(input.name);
        let new = NewSection {
            name: Text::hashed(input.name, hash),
            kind: self.cx.output_kind(input.kind),
            flags: input.flags,
            align: 0,
            entsize: 0,
            content: Content::Chunks(SmallVec::new()),
            has_symbol: true,
            function: Some(id),
        };
        let section = if parameters && !self.cx.config.relocatable {
            self.bank_of_handles(
                new,
                Text::prefixed(self.cx.handles_prefix(), input.name, hash),
                id,
            )
        } else {
            self.create(new)
        };
        self.out.sections[section.0 as usize].bank = constant_bank(input.name, input.kind);
        section
    }

    /// A bank for texture handles brings the name of a relocation section along;
    /// the two string tables get the pair in opposite orders.
    pub(super) fn bank_of_handles(
        &mut self,
        new: NewSection<'_>,
        relocs: Text<'_>,
        id: SymbolId,
    ) -> SectionId {
        let name = self.out.strings.add_section(new.name);
        self.out.strings.add(relocs);
        let symbol_name = self.out.strings.add_symbol(new.name);
        let bank = self.create_named(name, symbol_name, new);
        self.image_relocs(bank, id, relocs);
        bank
    }

    /// The relocation section of texture handles, dropped if it stays empty.
    fn image_relocs(&mut self, bank: SectionId, id: SymbolId, name: Text<'_>) {
        let (kind, entsize, flags) = match self.cx.handles_with_addends() {
            true => (SectionType::RELA, 24, shf::INFO_LINK),
            false => (SectionType::REL, 16, 0),
        };
        self.create(NewSection {
            name,
            kind,
            flags,
            align: 8,
            entsize,
            content: Content::ImageRelocs(bank),
            has_symbol: false,
            function: Some(id),
        });
    }

    pub(super) fn remaining_sections(&mut self, object: ObjectId) {
        let input = &self.cx.objects[object.0 as usize];
        let may_remain = |class| {
            use SectionClass::{Data, FunctionConstant, FunctionData};
            matches!(class, Data | FunctionData(_) | FunctionConstant { .. })
        };
        for (section, class) in input.of_class(may_remain) {
            // Zero-initialised data whose symbols all lost is not allocated.
            if class != SectionClass::Data || !section.kind.is_nobits() {
                self.data_section(object, &section, class, false);
            }
        }
    }
}
