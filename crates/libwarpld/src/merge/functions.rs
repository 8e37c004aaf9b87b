//! Pass 1: functions, their symbols, code and attribute sections.

use super::steps::{self, Definition, Start};
use super::{Code, List, Meaning, Merger, NewContent, NewSection, Text};
use crate::ids::{FunctionId, InputSection, ObjectId, SectionId, SymbolId};
use cubin::SectionType;
use cubin::consts::shf;
use cubin::names::prefix;

impl<'a> Merger<'a, '_> {
    pub(super) fn function_symbol(&mut self, id: SymbolId, function: FunctionId, list: List) {
        if self.out.symbol_of[id].is_some() {
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
        self.out.symbol_of[id] = symbol.into();
    }

    pub(super) fn function_definition(&mut self, object: ObjectId, definition: &Definition) {
        let Definition { id, function, list, if_new, single, start, ref code } = *definition;
        // One that was only declared so far is new. [`alias-of-declared`]
        if if_new && self.out.function_sections[function].text.is_some() {
            return;
        }
        self.single[function] = single;
        self.function_symbol(id, function, list);
        if self.out.function_sections[function].text.is_some() {
            self.replaced(id, function, object);
            return;
        }
        let Some(code) = code else { return };
        let from = InputSection { object: code.object, section: code.section };
        if code.kind == SectionType::CUDA_UFT {
            self.stub(id, function, code);
            return;
        }
        let text = self.create(NewSection {
            name: self.new_name(prefix::TEXT, id, function),
            kind: SectionType::PROGBITS,
            flags: code.flags,
            align: code.align,
            entsize: 0,
            content: NewContent::Chunks,
            has_symbol: true,
            function: Some(id),
        });
        self.place(text, from, code.align, code.size);
        self.out.function_sections[function].text = text.into();
        self.out.code[function] = self.code(id, text, code);
        match start {
            Start::Plain => {}
            Start::Kernel => {
                self.info_section(id, function);
                let name = self.new_name(prefix::SHARED, id, function);
                self.kernel_shared(id, function, name);
            }
            Start::Builtin => {
                self.info_section(id, function);
                self.mention_shared(id);
            }
        }
    }

    /// The record of a function's code, which is in this section.
    #[inline]
    fn code(&self, id: SymbolId, text: SectionId, code: &steps::Code) -> Code {
        let symbol = self.cx.resolution.get(id);
        match code.ordinary {
            Some((size, other)) if symbol.common.is_none() => {
                let (first_other, binding) = (symbol.first_other, symbol.binding);
                Code { section: text.into(), size, other, first_other, binding }
            }
            _ => Code::default(),
        }
    }

    /// Leaves the name of a function's shared memory.
    pub(super) fn mention_shared(&mut self, id: SymbolId) {
        let symbol = &self.cx.resolution.symbols[id];
        self.mention(Text::of_function(prefix::SHARED, symbol.name, symbol.hash));
    }

    /// Gets or creates the section of a kernel's shared memory after its other sections.
    pub(super) fn late_kernel_shared(&mut self, function: FunctionId) -> SectionId {
        if let Some(known) = self.out.function_sections[function].shared.get() {
            return known;
        }
        let id = self.cx.graph.symbol(function);
        self.kernel_shared(id, function, self.known_name(prefix::SHARED, id))
    }

    /// Creates the section of a kernel's shared memory.
    fn kernel_shared(&mut self, id: SymbolId, function: FunctionId, name: Text<'_>) -> SectionId {
        let shared = self.create(NewSection {
            name,
            kind: self.cx.output_kind(SectionType::CUDA_SHARED),
            flags: shf::WRITE | shf::ALLOC | shf::INFO_LINK,
            align: 0,
            entsize: 0,
            content: NewContent::Chunks,
            has_symbol: true,
            function: Some(id),
        });
        self.out.function_sections[function].shared = shared.into();
        shared
    }

    /// A better definition replaces the previous one: the compiler's constants of that are dropped,
    /// and, if it has relocations with addends, so are the debug relocations against it that were
    /// read so far. [`weak-fewer-registers`, `weak-then-strong`]
    fn replaced(&mut self, id: SymbolId, function: FunctionId, object: ObjectId) {
        let text = self.out.function_sections[function].text.get();
        if text.is_some_and(|t| self.out.sections[t].rela().is_some()) {
            self.out.debug_cut.insert(id, object);
        }
        self.clear_bank2(id, function);
    }

    pub(super) fn info_section(&mut self, id: SymbolId, function: FunctionId) -> SectionId {
        if let Some(known) = self.out.function_sections[function].info.get() {
            return known;
        }
        if !self.cx.config.relocatable && self.cx.unified.is_stub(id) {
            return self.stub_info(id, function);
        }
        self.new_info(id, function, self.new_name(prefix::INFO, id, function))
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
            content: NewContent::Attributes,
            has_symbol: false,
            function: Some(id),
        });
        self.out.function_sections[function].info = info.into();
        info
    }
}
