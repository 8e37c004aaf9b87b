//! Pass 1: functions, their symbols, code and attribute sections.

use super::{Content, List, Meaning, Merger, NewSection, SectionId, Text};
use crate::builtins::is_builtin_function;
use crate::callgraph::FunctionId;
use crate::object::{ObjectId, SectionClass, is_internal};
use crate::reach::Pruning;
use crate::resolve::{Role, Sighting, SymbolId};
use cubin::consts::shf;
use cubin::{Binding, SectionType, SymbolRef};
use smallvec::SmallVec;

impl<'a, 'o> Merger<'a, 'o> {
    pub(super) fn functions(&mut self, object: ObjectId) {
        let cx = self.cx;
        let input = &cx.objects[object.0 as usize];
        for symbol in input.symbols(&input.functions) {
            self.alias_owner(object, &symbol);
            self.function(object, &symbol);
        }
    }

    /// An alias needs the section of the function behind it, which comes first.
    fn alias_owner(&mut self, object: ObjectId, alias: &SymbolRef<'a>) {
        let input = &self.cx.objects[object.0 as usize];
        let Some(owner) = input.owner(alias.shndx).filter(|&owner| owner > alias.index.0) else {
            return;
        };
        let at = Sighting { object, symbol: alias.index.0 };
        let created = self.cx.resolution.id(object, alias.index.0).is_some_and(|id| {
            self.cx.keeps(id) && self.cx.resolution.role(id, at, true) != Role::Discarded
        });
        let known =
            self.cx.resolution.id(object, owner).and_then(|id| self.out.symbol_of[id.0 as usize]);
        if let (true, None, Some(owner)) = (created, known, input.cubin.symbol(owner)) {
            self.function(object, &owner);
        }
    }

    fn function(&mut self, object: ObjectId, symbol: &SymbolRef<'a>) {
        let cx = self.cx;
        let Some(id) = cx.resolution.id(object, symbol.index.0) else { return };
        let Some(function) = cx.graph.function(id) else { return };
        let at = Sighting { object, symbol: symbol.index.0 };
        let role = cx.resolution.role(id, at, !symbol.is_undefined());
        if !cx.reach.is_live(function) {
            // A kernel pruned for lack of host references leaves this name.
            let pruned = cx.reach.pruning == Pruning::HostReferences;
            if pruned && cx.resolution.get(id).entry && !symbol.is_undefined() {
                self.mention(cx.prefixed(b".nv.shared.", id));
            }
            self.ghost_function(id, function, object, symbol, role);
            return;
        }
        match role {
            Role::Selected | Role::Replaced => {
                self.function_definition(id, function, object, symbol);
            }
            Role::Reference => self.function_symbol(id, function, List::Global),
            Role::Discarded => {}
        }
    }

    fn function_symbol(&mut self, id: SymbolId, function: FunctionId, list: List) {
        if self.out.symbol_of[id.0 as usize].is_some() {
            return;
        }
        self.out.function_order.push(function);
        self.named_symbol(id, list);
    }

    pub(super) fn named_symbol(&mut self, id: SymbolId, list: List) {
        // Global names are added after all others, see `global_names`.
        let name = match list {
            List::Local => self.symbol_name(id),
            List::Global => 0,
        };
        let symbol = self.push_symbol(name, list, Meaning::Symbol(id));
        self.out.symbol_of[id.0 as usize] = Some(symbol);
    }

    /// A compiler constant of Mercury code is called after its bank, with its
    /// number among those of its input.
    fn constant_name(&mut self, id: SymbolId) -> Option<u32> {
        if !self.cx.flavour.is_mercury() {
            return None;
        }
        let at = self.cx.resolution.get(id).definition?;
        let symbol = self.cx.input_symbol(at).filter(is_internal)?;
        let object = &self.cx.objects[at.object.0 as usize];
        let is_constant = |s: &SymbolRef<'_>| {
            let class = object.classes.get(s.shndx as usize);
            is_internal(s) && matches!(class, Some(SectionClass::FunctionConstant { bank: 2, .. }))
        };
        if !is_constant(&symbol) {
            return None;
        }
        let before = object.cubin.symbols().take_while(|s| s.index != symbol.index);
        let number = before.filter(is_constant).count() + 1;
        let bank = object.cubin.section(symbol.shndx)?.name;
        let name = [bank, format!(".{number}").as_bytes()].concat();
        Some(self.out.strings.add_symbol(Text::new(&name)))
    }

    pub(super) fn symbol_name(&mut self, id: SymbolId) -> u32 {
        if let Some(name) = self.constant_name(id) {
            return name;
        }
        let symbol = &self.cx.resolution.symbols[id.0 as usize];
        match symbol.name {
            b"" => 0,
            name => self.out.strings.add_symbol(Text::hashed(name, symbol.hash)),
        }
    }

    fn function_definition(
        &mut self,
        id: SymbolId,
        function: FunctionId,
        object: ObjectId,
        symbol: &SymbolRef<'a>,
    ) {
        let list = match symbol.binding() {
            Binding::LOCAL | Binding::WEAK => List::Local,
            _ => List::Global,
        };
        self.function_symbol(id, function, list);
        if self.out.function_sections[function.0 as usize].text.is_some() {
            self.replaced(id, function, object);
            return;
        }
        let cx = self.cx;
        let definition = cx.resolution.get(id).definition;
        let Some(at) = definition else { return };
        let Some(code) = cx.input_symbol(at) else { return };
        let object = &cx.objects[at.object.0 as usize];
        // An alias lives in the section of the function it stands for.
        if object.owner(code.shndx) != Some(at.symbol) {
            return;
        }
        let Some(input) = object.cubin.section(code.shndx) else { return };
        if input.kind == SectionType::CUDA_UFT {
            let table = self.stub_section(id, &input);
            self.place(table, at.object, &input);
            self.out.function_sections[function.0 as usize].text = Some(table);
            if !cx.config.relocatable {
                self.stub_info(id, function);
            }
            return;
        }
        let text = self.create(NewSection {
            name: cx.prefixed(b".text.", id),
            kind: SectionType::PROGBITS,
            flags: input.flags,
            align: input.align,
            entsize: 0,
            content: Content::Chunks(SmallVec::new()),
            has_symbol: true,
            function: Some(id),
        });
        self.place(text, at.object, &input);
        self.out.function_sections[function.0 as usize].text = Some(text);
        if cx.resolution.get(id).entry && !cx.reach.is_unnamed(function) {
            self.info_section(id, function);
            self.kernel_shared(function);
        } else if is_builtin_function(symbol.name) {
            // A program's own copy of a function of the driver starts like a kernel.
            self.info_section(id, function);
            self.mention(cx.prefixed(b".nv.shared.", id));
        }
    }

    /// Gets or creates the section of a kernel's shared memory.
    pub(super) fn kernel_shared(&mut self, function: FunctionId) -> SectionId {
        if let Some(known) = self.out.function_sections[function.0 as usize].shared {
            return known;
        }
        let id = self.cx.graph.symbol(function);
        let shared = self.create(NewSection {
            name: self.cx.prefixed(b".nv.shared.", id),
            kind: self.cx.output_kind(SectionType::CUDA_SHARED),
            flags: shf::WRITE | shf::ALLOC | shf::INFO_LINK,
            align: 0,
            entsize: 0,
            content: Content::Chunks(SmallVec::new()),
            has_symbol: true,
            function: Some(id),
        });
        self.out.function_sections[function.0 as usize].shared = Some(shared);
        shared
    }

    /// A better definition takes the place of the one so far: the compiler's
    /// constants of that go, and, if it has relocations with addends, so do the
    /// debug relocations against it that were read so far.
    fn replaced(&mut self, id: SymbolId, function: FunctionId, object: ObjectId) {
        let text = self.out.function_sections[function.0 as usize].text;
        if text.is_some_and(|t| self.out.sections[t.0 as usize].rela.is_some()) {
            self.out.debug_cut.insert(id, object);
        }
        self.clear_bank2(id, function);
    }

    pub(super) fn info_section(&mut self, id: SymbolId, function: FunctionId) -> SectionId {
        if let Some(known) = self.out.function_sections[function.0 as usize].info {
            return known;
        }
        if !self.cx.config.relocatable && self.cx.unified.is_stub(id) {
            return self.stub_info(id, function);
        }
        self.new_info(id, function, self.cx.prefixed(b".nv.info.", id))
    }

    pub(super) fn new_info(
        &mut self,
        id: SymbolId,
        function: FunctionId,
        name: Text<'_>,
    ) -> SectionId {
        let info = self.create(NewSection {
            name,
            kind: SectionType::CUDA_INFO,
            flags: shf::INFO_LINK,
            align: 4,
            entsize: 0,
            content: Content::Attributes(SmallVec::new()),
            has_symbol: false,
            function: Some(id),
        });
        self.out.function_sections[function.0 as usize].info = Some(info);
        info
    }
}
