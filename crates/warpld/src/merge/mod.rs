//! Output sections and symbols in creation order.
//!
//! nvlink numbers strings, sections and symbols as they are first touched, file
//! by file and pass by pass. This phase is that fold: it decides what exists
//! and in which order, and touches names and numbers only, never section bytes.

mod model;
mod strings;

pub use model::*;
pub use strings::StringRun;

use crate::callgraph::{CallGraph, Callers, FunctionId};
use crate::config::Config;
use crate::flavour::Flavour;
use crate::object::{
    Object, ObjectId, SectionClass, constant_bank, is_dynamic_array, is_internal, is_shared,
};
use crate::mentions::Mentions;
use crate::reach::{Pruning, Reach};
use crate::relocate::{is_weak_sensitive_debug, lost_data};
use crate::resolve::{Resolution, Role, Sighting, SymbolId};
use cubin::consts::shf;
use cubin::{Binding, SectionRef, SectionType, SymbolRef, SymbolType};
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

/// Type of `.nv.host`, which holds the file given to `--nv-host` as it is.
const HOST_FILE: u32 = 0x7000_0087;

/// What earlier phases decided.
#[derive(Clone, Copy)]
pub struct Context<'a, 'o> {
    /// Inputs.
    pub objects: &'o [Object<'a>],
    /// Names.
    pub resolution: &'o Resolution<'a>,
    /// Call graph.
    pub graph: &'o CallGraph<'a>,
    /// Live functions.
    pub reach: &'o Reach,
    /// Uses of shared memory and images.
    pub mentions: &'o Mentions,
    /// Settings.
    pub config: &'o Config,
    /// Dialect of the target.
    pub flavour: Flavour,
}

impl<'a> Context<'a, '_> {
    /// Whether the symbol is data or a function of the output.
    pub fn keeps(&self, symbol: SymbolId) -> bool {
        self.reach.keeps(self.graph, symbol)
    }

    /// The input symbol of a sighting.
    pub fn input_symbol(&self, at: Sighting) -> Option<SymbolRef<'a>> {
        self.objects[at.object.0 as usize].cubin.symbol(at.symbol)
    }

    /// The owner of an input section as a resolved function.
    pub fn owner(&self, object: ObjectId, section: u32) -> Option<(SymbolId, Sighting)> {
        let symbol = self.objects[object.0 as usize].owner(section)?;
        let id = self.resolution.id(object, symbol)?;
        Some((id, Sighting { object, symbol }))
    }
}

/// Creates everything the output contains.
pub fn merge<'a>(context: Context<'a, '_>) -> Merged {
    let mut merger = Merger::new(context);
    merger.prototype_strings();
    merger.fixed_sections();
    for i in 0..context.objects.len() {
        let object = ObjectId(i as u32);
        merger.functions(object);
        merger.data(object);
        merger.remaining_sections(object);
        merger.attributes(object);
        merger.relocations(object);
    }
    merger.closing_sections();
    merger.global_names();
    merger.out
}

struct Merger<'a, 'o> {
    cx: Context<'a, 'o>,
    out: Merged,
    by_name: HashMap<&'a [u8], SectionId, foldhash::fast::FixedState>,
    /// Created for a function while another definition of it was in force.
    by_function: HashMap<(SymbolId, &'a [u8]), SectionId, foldhash::fast::FixedState>,
    /// The members of `Merged::commons`.
    seen_commons: HashSet<SymbolId, foldhash::fast::FixedState>,
}

/// What relocations of one input section are for.
struct RelocPlace {
    object: ObjectId,
    lost: Vec<std::ops::Range<u64>>,
    debug: bool,
    constant: bool,
    weak_sensitive: bool,
}

/// How a new section is described.
struct NewSection<'n> {
    name: [&'n [u8]; 2],
    kind: SectionType,
    flags: u64,
    align: u64,
    entsize: u64,
    content: Content,
    has_symbol: bool,
    function: Option<SymbolId>,
}

impl<'n> NewSection<'n> {
    fn synthetic(name: &'n [u8], kind: SectionType, align: u64, what: Synthetic) -> Self {
        Self {
            name: [name, b""],
            kind,
            flags: 0,
            align,
            entsize: 0,
            content: Content::Synthetic(what),
            has_symbol: false,
            function: None,
        }
    }
}

impl<'a, 'o> Merger<'a, 'o> {
    fn new(cx: Context<'a, 'o>) -> Self {
        let out = Merged {
            sections: Vec::new(),
            symbols: Vec::new(),
            symbol_of: vec![None; cx.resolution.symbols.len()],
            section_names: StringRun::default(),
            names: StringRun::default(),
            creation_index: 0,
            placements: cx.objects.iter().map(|o| vec![None; o.classes.len()]).collect(),
            function_sections: vec![FunctionSections::default(); cx.graph.len()],
            function_order: Vec::new(),
            common_shared: None,
            bank2: Default::default(),
            bank2_users: Vec::new(),
            constant3: None,
            instances: HashMap::default(),
            common_storage: None,
            commons: Vec::new(),
            debug_cut: HashMap::default(),
        };
        Self {
            cx,
            out,
            by_name: HashMap::default(),
            by_function: HashMap::default(),
            seen_commons: HashSet::default(),
        }
    }

    // ---- creation -------------------------------------------------------

    /// Mentioning a section name adds it to `.shstrtab` and to the local run of
    /// `.strtab`, whether or not the section comes to be.
    fn mention(&mut self, name: [&[u8]; 2]) -> u32 {
        self.out.names.add(name);
        let known = self.out.section_names.bytes().len();
        let offset = self.out.section_names.add(name) + 1;
        if self.out.section_names.bytes().len() > known {
            self.out.creation_index += 1;
        }
        // Offsets count from the tables' leading NUL.
        offset
    }

    fn create(&mut self, new: NewSection<'_>) -> SectionId {
        self.out.names.add(new.name);
        let name = self.out.section_names.add(new.name) + 1;
        self.create_named(name, new)
    }

    fn create_named(&mut self, name: u32, new: NewSection<'_>) -> SectionId {
        let id = SectionId(self.out.sections.len() as u32);
        self.out.creation_index += 1;
        let symbol = new.has_symbol.then(|| {
            let name = self.out.names.add(new.name) + 1;
            self.push_symbol(name, List::Local, Meaning::Section(id))
        });
        self.out.sections.push(Section {
            name,
            creation_index: self.out.creation_index,
            kind: new.kind,
            flags: new.flags,
            align: new.align,
            size: 0,
            entsize: new.entsize,
            function: new.function,
            symbol,
            rel: None,
            rela: None,
            bank: None,
            content: new.content,
        });
        id
    }

    fn push_symbol(&mut self, name: u32, list: List, meaning: Meaning) -> OutSymbolId {
        let id = OutSymbolId(self.out.symbols.len() as u32);
        self.out.symbols.push(OutSymbol { name, list, meaning });
        id
    }

    fn fixed_sections(&mut self) {
        use SectionType as T;
        self.create(NewSection::synthetic(b".shstrtab", T::STRTAB, 1, Synthetic::SectionNames));
        self.create(NewSection::synthetic(b".strtab", T::STRTAB, 1, Synthetic::SymbolNames));
        self.create(NewSection {
            entsize: 24,
            ..NewSection::synthetic(b".symtab", T::SYMTAB, 8, Synthetic::Symbols)
        });
        self.create(NewSection {
            entsize: 4,
            ..NewSection::synthetic(
                b".symtab_shndx",
                T::SYMTAB_SHNDX,
                4,
                Synthetic::SymbolSections,
            )
        });
        self.create(NewSection {
            flags: shf::TKINFO,
            has_symbol: true,
            ..NewSection::synthetic(b".note.nv.tkinfo", T::NOTE, 4, Synthetic::ToolNote)
        });
        let compat = self.cx.flavour.has_compat();
        self.create(NewSection {
            flags: shf::CUINFO | if compat { shf::INFO_LINK } else { 0 },
            has_symbol: true,
            ..NewSection::synthetic(b".note.nv.cuinfo", T::NOTE, 4, Synthetic::VersionNote)
        });
        let info = self.create(NewSection {
            content: Content::Attributes(SmallVec::new()),
            ..NewSection::synthetic(b".nv.info", T::CUDA_INFO, 4, Synthetic::Compat)
        });
        self.by_name.insert(b".nv.info", info);
        if compat {
            self.create(NewSection::synthetic(
                b".nv.compat",
                T::CUDA_COMPAT_INFO,
                4,
                Synthetic::Compat,
            ));
        }
        // One number is never seen.
        self.out.creation_index += 1;
        if self.cx.config.nv_host.is_some() {
            self.create(NewSection {
                has_symbol: true,
                ..NewSection::synthetic(b".nv.host", T(HOST_FILE), 8, Synthetic::HostFile)
            });
        }
    }

    fn prototype_strings(&mut self) {
        for text in &self.cx.graph.prototypes {
            self.out.names.add([text, b""]);
        }
    }

    // ---- pass 1: functions ---------------------------------------------

    fn functions(&mut self, object: ObjectId) {
        let cx = self.cx;
        for symbol in cx.objects[object.0 as usize].cubin.symbols() {
            if symbol.kind() != SymbolType::FUNC {
                continue;
            }
            let Some(id) = cx.resolution.id(object, symbol.index.0) else { continue };
            let Some(function) = cx.graph.function(id) else { continue };
            let at = Sighting { object, symbol: symbol.index.0 };
            if !cx.reach.is_live(function) {
                // A kernel pruned for lack of host references leaves this name.
                let pruned = cx.reach.pruning == Pruning::HostReferences;
                if pruned && cx.resolution.get(id).entry && !symbol.is_undefined() {
                    self.mention([b".nv.shared.", symbol.name]);
                }
                continue;
            }
            let defined = !symbol.is_undefined();
            match cx.resolution.role(id, at, defined) {
                Role::Selected | Role::Replaced => {
                    self.function_definition(id, function, object, &symbol);
                }
                Role::Reference => self.function_symbol(id, function, List::Global),
                Role::Discarded => {}
            }
        }
    }

    fn function_symbol(&mut self, id: SymbolId, function: FunctionId, list: List) {
        if self.out.symbol_of[id.0 as usize].is_some() {
            return;
        }
        self.out.function_order.push(function);
        self.named_symbol(id, list);
    }

    fn named_symbol(&mut self, id: SymbolId, list: List) {
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
            is_internal(s)
                && matches!(class, Some(SectionClass::FunctionConstant { bank: 2, .. }))
        };
        if !is_constant(&symbol) {
            return None;
        }
        let before = object.cubin.symbols().take_while(|s| s.index != symbol.index);
        let number = format!(".{}", before.filter(is_constant).count() + 1);
        let bank = object.cubin.section(symbol.shndx)?.name;
        Some(self.out.names.add([bank, number.as_bytes()]) + 1)
    }

    fn symbol_name(&mut self, id: SymbolId) -> u32 {
        if let Some(name) = self.constant_name(id) {
            return name;
        }
        match self.cx.resolution.symbols[id.0 as usize].name {
            b"" => 0,
            name => self.out.names.add([name, b""]) + 1,
        }
    }

    /// Global names come last in `.strtab`; one that a section or local symbol
    /// has too is not repeated.
    fn global_names(&mut self) {
        for i in 0..self.out.symbols.len() {
            let symbol = self.out.symbols[i];
            if let (List::Global, Meaning::Symbol(id)) = (symbol.list, symbol.meaning) {
                self.out.symbols[i].name = self.symbol_name(id);
            }
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
        let text = self.create(NewSection {
            name: [b".text.", symbol.name],
            kind: SectionType::PROGBITS,
            flags: if cx.config.relocatable { input.flags } else { input.flags & !shf::BARRIERS_MASK },
            align: input.align,
            entsize: 0,
            content: Content::Chunks(SmallVec::new()),
            has_symbol: true,
            function: Some(id),
        });
        self.place(text, at.object, input);
        self.out.function_sections[function.0 as usize].text = Some(text);
        if cx.resolution.get(id).entry {
            self.info_section(id, function, symbol.name);
            let shared = self.create(NewSection {
                name: [b".nv.shared.", symbol.name],
                kind: cx.output_kind(SectionType::CUDA_SHARED),
                flags: shf::WRITE | shf::ALLOC | shf::INFO_LINK,
                align: 0,
                entsize: 0,
                content: Content::Chunks(SmallVec::new()),
                has_symbol: true,
                function: Some(id),
            });
            self.out.function_sections[function.0 as usize].shared = Some(shared);
        }
    }

    /// A better definition takes the place of the one so far: the compiler's
    /// constants of that go, and, if it has relocations with addends, so do the
    /// debug relocations against it that were read so far.
    fn replaced(&mut self, id: SymbolId, function: FunctionId, object: ObjectId) {
        let text = self.out.function_sections[function.0 as usize].text;
        if text.is_some_and(|t| self.out.sections[t.0 as usize].rela.is_some()) {
            self.out.debug_cut.insert(id, object);
        }
        if let Some(parts) = self.out.bank2.get_mut(&function) {
            parts.parts.clear();
        }
        let sections = &mut self.out.function_sections[function.0 as usize];
        if let Some(section) = sections.constant2 {
            if !self.cx.resolution.get(id).entry && !self.cx.config.relocatable {
                sections.constant2 = None;
            }
            let section = &mut self.out.sections[section.0 as usize];
            section.size = 0;
            section.content = Content::Chunks(SmallVec::new());
        }
    }

    fn info_section(&mut self, id: SymbolId, function: FunctionId, name: &[u8]) -> SectionId {
        if let Some(known) = self.out.function_sections[function.0 as usize].info {
            return known;
        }
        let info = self.create(NewSection {
            name: [b".nv.info.", name],
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

    /// Appends a whole input section to an output section.
    fn place(&mut self, section: SectionId, object: ObjectId, input: &SectionRef<'a>) {
        let out = &mut self.out.sections[section.0 as usize];
        let offset = align_up(out.size, input.align);
        out.size = offset.saturating_add(input.size);
        out.align = out.align.max(input.align);
        let from = InputSection { object, section: input.index.0 };
        if let Content::Chunks(chunks) = &mut out.content {
            chunks.push(Chunk { from, offset });
        }
        self.out.placements[object.0 as usize][input.index.0 as usize] =
            Some(Placement { section, offset });
    }

    // ---- pass 2: objects -------------------------------------------------

    fn data(&mut self, object: ObjectId) {
        let cx = self.cx;
        for symbol in cx.objects[object.0 as usize].cubin.symbols() {
            if symbol.kind() == SymbolType::FUNC {
                continue;
            }
            let Some(id) = cx.resolution.id(object, symbol.index.0) else { continue };
            let at = Sighting { object, symbol: symbol.index.0 };
            let defined = !symbol.is_undefined() && !symbol.is_common();
            let role = cx.resolution.role(id, at, defined);
            if defined && role != Role::Discarded && !self.is_stray(object, &symbol) {
                self.section_of_symbol(object, &symbol);
            }
            if is_dynamic_array(&symbol) {
                self.common_shared();
            }
            if symbol.is_common() && self.seen_commons.insert(id) {
                self.out.commons.push(id);
            }
            if self.is_emitted(object, id, &symbol) && self.out.symbol_of[id.0 as usize].is_none() {
                let local = defined && symbol.binding() != Binding::GLOBAL
                    || symbol.binding() == Binding::LOCAL;
                self.named_symbol(id, if local { List::Local } else { List::Global });
            }
        }
    }

    /// Quirk: a replaced kernel's compiler constants leave no trace unless the
    /// kernel that replaced it has some.
    fn keeps_bank2(&self, id: SymbolId, role: Role) -> bool {
        let Some(at) = self.cx.resolution.get(id).definition else { return true };
        let bank = SectionClass::FunctionConstant { bank: 2, function: at.symbol };
        role != Role::Replaced || self.cx.objects[at.object.0 as usize].classes.contains(&bank)
    }

    /// Symbols of a losing function's own sections do not create those.
    fn is_stray(&self, object: ObjectId, symbol: &SymbolRef<'_>) -> bool {
        let Some((id, at)) = self.cx.owner(object, symbol.shndx) else { return false };
        let class = self.cx.objects[object.0 as usize].classes.get(symbol.shndx as usize);
        let bank2 = matches!(class, Some(SectionClass::FunctionConstant { bank: 2, .. }));
        if !bank2 || self.cx.resolution.role(id, at, true) != Role::Discarded {
            return false;
        }
        let function = self.cx.graph.function(id);
        function.is_none_or(|f| {
            self.out.function_sections[f.0 as usize].constant2.is_none()
                && !self.out.bank2.contains_key(&f)
        })
    }

    /// Internal symbols never leave their object; shared-memory symbols do so
    /// only for debuggers.
    fn is_emitted(&self, object: ObjectId, id: SymbolId, symbol: &SymbolRef<'_>) -> bool {
        let config = self.cx.config;
        if config.relocatable {
            return !self.is_lost_constant(object, symbol);
        }
        if is_shared(symbol) && is_internal(symbol) {
            return false;
        }
        if is_shared(symbol) {
            let debug = config.debug && !config.suppress_debug_info;
            let shown = debug || (config.preserve_relocs && !is_dynamic_array(symbol));
            let class = self.cx.objects[object.0 as usize].classes.get(symbol.shndx as usize);
            let own = matches!(class, Some(SectionClass::KernelShared(_)));
            return shown && (own || self.cx.mentions.by_symbol.contains_key(&id));
        }
        // Compiler constants of device functions have no section of their own.
        let placed = || self.out.placement(object, symbol.shndx).is_some();
        !is_internal(symbol) || (config.preserve_relocs && !symbol.is_undefined() && placed())
    }

    /// The compiler's constants of a function that lost against another.
    fn is_lost_constant(&self, object: ObjectId, symbol: &SymbolRef<'_>) -> bool {
        let class = self.cx.objects[object.0 as usize].classes.get(symbol.shndx as usize);
        let bank2 = matches!(class, Some(SectionClass::FunctionConstant { bank: 2, .. }));
        let owner = self.cx.owner(object, symbol.shndx);
        bank2 && owner.is_some_and(|(id, at)| {
            self.cx.resolution.role(id, at, true) == Role::Discarded
        })
    }

    fn section_of_symbol(&mut self, object: ObjectId, symbol: &SymbolRef<'a>) {
        let input = &self.cx.objects[object.0 as usize];
        if symbol.reserved {
            return;
        }
        if let Some(section) = input.cubin.section(symbol.shndx) {
            self.data_section(object, section, input.classes[symbol.shndx as usize]);
        }
    }

    /// Gets or creates the output section of an input data section and appends
    /// the input's bytes, once.
    fn data_section(&mut self, object: ObjectId, input: &SectionRef<'a>, class: SectionClass) {
        if self.out.placements[object.0 as usize][input.index.0 as usize].is_some() {
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
            | SectionClass::FunctionConstant { .. } => self.function_data(object, input, class),
            _ => {}
        }
    }

    fn plain_section(&mut self, input: &SectionRef<'a>) -> SectionId {
        let section = self.create(NewSection {
            name: [input.name, b""],
            kind: self.cx.output_kind(input.kind),
            flags: input.flags,
            align: 0,
            entsize: 0,
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
            name: [b".nv_debug.shared", b""],
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

    fn function_data(&mut self, object: ObjectId, input: &SectionRef<'a>, class: SectionClass) {
        let cx = self.cx;
        let Some((id, at)) = cx.owner(object, input.index.0) else { return };
        let Some(function) = cx.graph.function(id) else { return };
        if !cx.reach.is_live(function) {
            let by_name = cx.reach.pruning == Pruning::ByName;
            if by_name && matches!(class, SectionClass::KernelShared(_)) {
                self.mention([input.name, b""]);
            }
            return;
        }
        let role = cx.resolution.role(id, at, true);
        let entry = cx.resolution.get(id).entry;
        let sections = self.out.function_sections[function.0 as usize];
        match class {
            SectionClass::FunctionConstant { bank: 2, .. } => {
                // Quirk: the data of a losing duplicate is appended where the
                // kept function has such data, else it is an ordinary section.
                if entry && !cx.config.relocatable && !self.keeps_bank2(id, role) {
                    return;
                }
                let merged = entry || cx.config.relocatable || sections.constant2.is_some();
                let stray = role == Role::Discarded && !self.out.bank2.contains_key(&function);
                if merged || stray {
                    let section = self.per_function(sections.constant2, id, input, false);
                    self.out.function_sections[function.0 as usize].constant2 = Some(section);
                    self.place(section, object, input);
                } else {
                    let from = InputSection { object, section: input.index.0 };
                    let bank = self.out.bank2.entry(function).or_default();
                    if bank.parts.last() != Some(&from) {
                        bank.parts.push(from);
                        bank.align = bank.align.max(input.align);
                    }
                }
            }
            SectionClass::KernelShared(_) => {
                let Some(section) = sections.shared else { return };
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

    /// Of several weak kernels one parameter bank is kept. Quirk: of a weak and a
    /// strong one both are, one after the other.
    fn parameter_bank(
        &mut self,
        section: SectionId,
        id: SymbolId,
        at: Sighting,
        object: ObjectId,
        input: &SectionRef<'a>,
    ) {
        let weak = |s: Sighting| {
            self.cx.input_symbol(s).is_some_and(|s| s.binding() == Binding::WEAK)
        };
        let Content::Chunks(chunks) = &self.out.sections[section.0 as usize].content else { return };
        let earlier = chunks.last().and_then(|c| self.cx.owner(c.from.object, c.from.section));
        match earlier {
            Some((_, earlier)) if weak(earlier) && weak(at) => {
                let first = chunks[chunks.len() - 1];
                self.out.placements[object.0 as usize][input.index.0 as usize] =
                    Some(Placement { section, offset: first.offset });
            }
            _ => self.place(section, object, input),
        }
        debug_assert!(self.cx.keeps(id));
    }

    fn per_function(
        &mut self,
        known: Option<SectionId>,
        id: SymbolId,
        input: &SectionRef<'a>,
        parameters: bool,
    ) -> SectionId {
        if let Some(known) = known {
            return known;
        }
        let new = NewSection {
            name: [input.name, b""],
            kind: self.cx.output_kind(input.kind),
            flags: input.flags,
            align: 0,
            entsize: 0,
            content: Content::Chunks(SmallVec::new()),
            has_symbol: true,
            function: Some(id),
        };
        let section = if parameters && !self.cx.config.relocatable {
            // The parameter bank brings the name of a relocation section for
            // texture handles along; the two string tables get the pair in
            // opposite orders.
            let prefix = self.cx.reloc_prefix();
            let name = self.out.section_names.add([input.name, b""]) + 1;
            self.out.section_names.add([prefix, input.name]);
            self.out.names.add([prefix, input.name]);
            self.out.names.add([input.name, b""]);
            let bank = self.create_named(name, new);
            self.image_relocs(bank, id, input.name);
            bank
        } else {
            self.create(new)
        };
        self.out.sections[section.0 as usize].bank = constant_bank(input.name, input.kind);
        section
    }

    /// The relocation section of texture handles, dropped if it stays empty.
    fn image_relocs(&mut self, bank: SectionId, id: SymbolId, bank_name: &[u8]) {
        let (kind, entsize) = match self.cx.config.force_rela {
            true => (SectionType::RELA, 24),
            false => (SectionType::REL, 16),
        };
        self.create(NewSection {
            name: [self.cx.reloc_prefix(), bank_name],
            kind,
            flags: if self.cx.config.force_rela { shf::INFO_LINK } else { 0 },
            align: 8,
            entsize,
            content: Content::ImageRelocs(bank),
            has_symbol: false,
            function: Some(id),
        });
    }

    // ---- pass 3: sections not yet seen -------------------------------------

    fn remaining_sections(&mut self, object: ObjectId) {
        let input = &self.cx.objects[object.0 as usize];
        for (section, class) in input.classified() {
            let unclaimed = class == SectionClass::Data && section.kind.is_nobits();
            let shared =
                matches!(class, SectionClass::KernelShared(_) | SectionClass::CommonShared);
            // Zero-initialised data whose symbols all lost is not allocated.
            if !unclaimed && !shared {
                self.data_section(object, section, class);
            }
        }
    }

    // ---- pass 4: attributes ------------------------------------------------

    fn attributes(&mut self, object: ObjectId) {
        let cx = self.cx;
        for (section, class) in cx.objects[object.0 as usize].classified() {
            let SectionClass::Info(owner) = class else { continue };
            let from = InputSection { object, section: section.index.0 };
            let Some(owner) = owner else {
                if let Some(&info) = self.by_name.get(&b".nv.info"[..]) {
                    self.add_attributes(info, from);
                }
                continue;
            };
            let Some(id) = cx.resolution.id(object, owner) else { continue };
            let at = Sighting { object, symbol: owner };
            let role = cx.resolution.role(id, at, true);
            let Some(function) = cx.graph.function(id) else { continue };
            if !cx.reach.is_live(function) || role == Role::Discarded {
                continue;
            }
            let name = cx.resolution.symbols[id.0 as usize].name;
            let info = self.info_section(id, function, name);
            if role == Role::Selected {
                self.add_attributes(info, from);
            }
        }
    }

    fn add_attributes(&mut self, info: SectionId, from: InputSection) {
        if let Content::Attributes(sources) = &mut self.out.sections[info.0 as usize].content {
            sources.push(from);
        }
    }

    // ---- pass 5: relocation sections -----------------------------------------

    fn relocations(&mut self, object: ObjectId) {
        let cx = self.cx;
        let input = &cx.objects[object.0 as usize];
        for (section, class) in input.classified() {
            let SectionClass::Reloc(target) = class else { continue };
            if section.size == 0 {
                continue;
            }
            let from = InputSection { object, section: section.index.0 };
            match cx.owner(object, target) {
                Some((id, at)) => {
                    let Some(function) = cx.graph.function(id) else { continue };
                    let role = cx.resolution.role(id, at, true);
                    // The jump tables of a losing duplicate that were kept, see
                    // `function_data`, keep their relocations.
                    let stray = cx.flavour.is_mercury()
                        && role == Role::Discarded
                        && self.out.placement(object, target).is_some();
                    if !cx.reach.is_live(function) || (role == Role::Discarded && !stray) {
                        continue;
                    }
                    let text = self.out.function_sections[function.0 as usize].text;
                    let text_target =
                        matches!(input.classes[target as usize], SectionClass::Text(_));
                    let out = match self.out.placement(object, target) {
                        Some(p) => Some(p.section),
                        None if text_target => text,
                        None => None,
                    };
                    if let Some(out) = out {
                        self.add_relocs(out, section, from, role == Role::Selected || stray);
                    }
                }
                None => {
                    if let Some(p) = self.out.placement(object, target) {
                        self.add_relocs(p.section, section, from, true);
                    }
                }
            }
        }
    }

    fn add_relocs(
        &mut self,
        target: SectionId,
        input: &SectionRef<'a>,
        from: InputSection,
        selected: bool,
    ) {
        let rela = input.kind == SectionType::RELA;
        let (any, zero_addend) = self.looked_at(from.object, target, input);
        if !any {
            return;
        }
        let looked_up = if rela { zero_addend } else { self.cx.config.force_rela };
        if looked_up && !rela {
            self.mention_rel(target);
        }
        let section = self.reloc_section(target, rela || self.cx.config.force_rela);
        if looked_up && rela {
            self.mention_rel(target);
        }
        if !selected {
            return;
        }
        if let Content::Relocs(_, sources) = &mut self.out.sections[section.0 as usize].content {
            sources.push(from);
        }
    }

    /// Whether nvlink looks at a relocation at all: not if it is debug data about
    /// a definition that lost, a constant that names code that is gone, or inside
    /// a variable that lost.
    fn counts(&self, place: &RelocPlace, offset: u64, symbol: u32) -> bool {
        if place.lost.iter().any(|range| range.contains(&offset)) {
            return false;
        }
        let object = place.object;
        let cubin = &self.cx.objects[object.0 as usize].cubin;
        match (self.cx.resolution.id(object, symbol), cubin.symbol(symbol)) {
            (Some(id), Some(input)) if input.kind() == SymbolType::FUNC => {
                if !place.debug {
                    return !place.constant || self.cx.keeps(id);
                }
                let at = Sighting { object, symbol };
                !place.weak_sensitive
                    || self.cx.resolution.role(id, at, !input.is_undefined()) != Role::Discarded
            }
            _ => true,
        }
    }

    /// Whether the section has a relocation that counts, and whether any but the
    /// first of those has addend 0: nvlink then looks up the REL section's name,
    /// which leaves it in the string tables.
    fn looked_at(
        &self,
        object: ObjectId,
        target: SectionId,
        input: &SectionRef<'a>,
    ) -> (bool, bool) {
        let name = self.out.section_name(target);
        let place = RelocPlace {
            object,
            lost: lost_data(self.cx, object, name, input.info),
            debug: name.starts_with(b".debug") || name.starts_with(b".nv_debug"),
            constant: name == b".nv.constant3",
            weak_sensitive: is_weak_sensitive_debug(name),
        };
        let relocs = self.cx.objects[object.0 as usize].cubin.relocs(input).unwrap_or_default();
        let mut counted = relocs.iter().filter(|r| self.counts(&place, r.offset, r.symbol.0));
        let any = counted.next().is_some();
        (any, counted.any(|r| r.addend == Some(0)))
    }

    fn mention_rel(&mut self, target: SectionId) {
        let name = self.out.section_name(target).to_vec();
        self.mention([b".rel", &name]);
    }

    fn reloc_section(&mut self, target: SectionId, rela: bool) -> SectionId {
        let out = &self.out.sections[target.0 as usize];
        let known = if rela { out.rela } else { out.rel };
        if let Some(known) = known {
            return known;
        }
        let function = out.function;
        let name = self.out.section_name(target).to_vec();
        let (prefix, kind, entsize): (&[u8], _, _) = match rela {
            true => (b".rela", SectionType::RELA, 24),
            false => (b".rel", SectionType::REL, 16),
        };
        let section = self.create(NewSection {
            name: [prefix, &name],
            kind,
            flags: shf::INFO_LINK,
            align: 8,
            entsize,
            content: Content::Relocs(target, SmallVec::new()),
            has_symbol: false,
            function,
        });
        let out = &mut self.out.sections[target.0 as usize];
        let first = out.rel.is_none() && out.rela.is_none();
        *(if rela { &mut out.rela } else { &mut out.rel }) = Some(section);
        if self.cx.config.preserve_relocs && first {
            self.create(NewSection {
                name: [b".nv.resolvedrela", &name],
                kind: SectionType::CUDA_RESOLVED_RELA,
                flags: shf::INFO_LINK,
                align: 8,
                entsize: 24,
                content: Content::ResolvedRelocs(target),
                has_symbol: false,
                function,
            });
        }
        section
    }

    // ---- after the last input ------------------------------------------------

    fn closing_sections(&mut self) {
        let user = [&b".nv.constant3"[..], b".nv.constant.user"];
        self.out.constant3 = user.iter().find_map(|name| self.by_name.get(*name).copied());
        self.common_storage();
        let graph = NewSection::synthetic(
            b".nv.callgraph",
            SectionType::CUDA_CALLGRAPH,
            4,
            Synthetic::CallGraph,
        );
        self.create(NewSection { entsize: 8, has_symbol: true, ..graph });
        let prototype = NewSection::synthetic(
            b".nv.prototype",
            SectionType::CUDA_PROTOTYPE,
            4,
            Synthetic::Prototype,
        );
        self.create(NewSection { entsize: 8, has_symbol: true, ..prototype });
        if self.cx.config.relocatable {
            self.dynamic_instances();
            return;
        }
        self.entry_banks();
        if self.cx.flavour.is_mercury() {
            return;
        }
        let action = NewSection::synthetic(
            b".nv.rel.action",
            SectionType::CUDA_RELOCINFO,
            8,
            Synthetic::RelAction,
        );
        self.create(NewSection { entsize: 8, has_symbol: true, ..action });
    }

    fn dynamic_instances(&mut self) {
        let users = crate::layout::dynamic_users(self.cx);
        for function in self.out.function_order.clone() {
            let kernel = self.out.function_sections[function.0 as usize].shared.is_some();
            if kernel && users.contains(&function) {
                let name = self.out.names.add([b"externsharedinstance", b""]) + 1;
                let meaning = Meaning::DynamicInstance(function);
                let symbol = self.push_symbol(name, List::Local, meaning);
                self.out.instances.insert(function, symbol);
            }
        }
    }

    fn common_storage(&mut self) {
        let resolution = self.cx.resolution;
        self.out.commons.retain(|&id| resolution.get(id).common.is_some());
        if self.out.commons.is_empty() {
            return;
        }
        let known = self.by_name.get(&b".nv.global"[..]).copied();
        let section = known.unwrap_or_else(|| {
            self.create(NewSection {
                name: [b".nv.global", b""],
                kind: self.cx.output_kind(SectionType::CUDA_GLOBAL),
                flags: shf::WRITE | shf::ALLOC,
                align: 0,
                entsize: 0,
                content: Content::Chunks(SmallVec::new()),
                has_symbol: true,
                function: None,
            })
        });
        self.out.common_storage = Some(section);
    }

    /// Bank 2 data of device functions is copied into every kernel that reaches
    /// them; kernels without a bank of their own get one here.
    fn entry_banks(&mut self) {
        let cx = self.cx;
        if self.out.bank2.is_empty() {
            return;
        }
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        let by_text = |f: &FunctionId| self.out.function_sections[f.0 as usize].text;
        let mut functions: Vec<FunctionId> = self.out.bank2.keys().copied().collect();
        functions.sort_by_key(by_text);
        if cx.flavour.is_mercury() {
            // Seen in links of three files in two orders: as the banks came.
            functions.sort_by_key(|f| {
                let first = self.out.bank2.get(f).and_then(|bank| bank.parts.first());
                first.map(|part| (part.object, part.section))
            });
        }
        for &function in functions.iter().rev() {
            let mut entries = callers.entries_reaching(&[function]);
            entries.sort_by_key(by_text);
            entries.reverse();
            self.out.bank2_users.push((function, entries));
        }
        for (function, entries) in self.out.bank2_users.clone() {
            for entry in entries {
                let bank = self.entry_bank(entry);
                self.copied_relocations(function, bank);
            }
        }
    }

    fn entry_bank(&mut self, entry: FunctionId) -> SectionId {
        if let Some(known) = self.out.function_sections[entry.0 as usize].constant2 {
            return known;
        }
        let id = self.cx.graph.symbol(entry);
        let name = self.cx.resolution.symbols[id.0 as usize].name;
        let section = self.create(NewSection {
                name: [self.cx.flavour.bank2_prefix(), name],
                kind: SectionType::PROGBITS,
                flags: shf::ALLOC | shf::INFO_LINK,
                align: 0,
                entsize: 0,
                content: Content::Chunks(SmallVec::new()),
                has_symbol: true,
                function: Some(id),
            });
        self.out.sections[section.0 as usize].bank = Some(2);
        self.out.function_sections[entry.0 as usize].constant2 = Some(section);
        section
    }

    /// Jump tables of Mercury code have relocations, which go where the table
    /// is copied to.
    fn copied_relocations(&mut self, function: FunctionId, bank: SectionId) {
        let objects = self.cx.objects;
        for part in self.out.bank2.get(&function).cloned().unwrap_or_default().parts {
            for (section, class) in objects[part.object.0 as usize].classified() {
                if class != SectionClass::Reloc(part.section) || section.size == 0 {
                    continue;
                }
                let relocs = self.reloc_section(bank, true);
                let from = InputSection { object: part.object, section: section.index.0 };
                if let Content::Relocs(_, sources) =
                    &mut self.out.sections[relocs.0 as usize].content
                {
                    sources.push(from);
                }
            }
        }
    }
}

impl Context<'_, '_> {
    /// Executables carry standard types where objects have NVIDIA's own.
    fn output_kind(&self, kind: SectionType) -> SectionType {
        if self.config.relocatable {
            kind
        } else if kind.is_nobits() {
            SectionType::NOBITS
        } else if kind.constant_bank().is_some() || kind == SectionType::CUDA_GLOBAL_INIT {
            SectionType::PROGBITS
        } else {
            kind
        }
    }

    fn reloc_prefix(&self) -> &'static [u8] {
        if self.config.force_rela { b".rela" } else { b".rel" }
    }
}

/// Rounds up; an alignment of 0 or 1 changes nothing.
pub fn align_up(value: u64, align: u64) -> u64 {
    match align {
        0 | 1 => value,
        _ => value.div_ceil(align).saturating_mul(align),
    }
}
