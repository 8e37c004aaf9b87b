//! Plans the merge of every input in advance and in parallel: which of its symbols and sections
//! count, whom they belong to, and their sizes. Only numbering is left to do sequentially.

use super::List;
use super::names::Names;
use super::reloc_scan::scan_relocs;
use super::steps::{
    Attributes, Code, Data, Definition, Emitted, FunctionData, Kind, Part, Pass, Relocs, Start,
    Step, Variable,
};
use crate::builtins::is_builtin_function;
use crate::callgraph::reach::Pruning;
use crate::collections::Map;
use crate::context::Analysis;
use crate::ids::{FunctionId, ObjectId, OptId, SymbolId, SymbolRefId};
use crate::object::symbols::{InputSymbol, Place};
use crate::object::{MergeClass, Object, Section, is_dynamic_array};
use crate::resolve::Role;
use crate::usage::{Usage, has_groups, is_declared_array};
use cubin::consts::sto;
use cubin::names::prefix;
use cubin::{Binding, SectionType, SymbolRef, SymbolType};

/// Which usually hidden symbols of shared memory are shown.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// Quirk: `--preserve-relocs` shows dynamic arrays, which have no offset, only if the reserved
    /// part is added to it, as it is if kernels share objects. [`debug-dynamic-and-groups`]
    pub unplaced: bool,
    /// The same for their instances in files that are linked again; with `-g`, where they have an
    /// offset, if there is a reserved part or kernels share objects.
    pub instances: bool,
}

impl Shown {
    pub(super) fn new(cx: Analysis<'_, '_>, usage: &Usage) -> Self {
        let preserves = cx.config.preserve_relocs && cx.dialect.preserves_unplaced_shared();
        let grouped = preserves && has_groups(cx, usage);
        let reserve = cx.dialect.reserved_shared() > 0 && !cx.config.disable_smem_reservation;
        let unplaced = grouped && reserve;
        let placed = cx.config.preserve_relocs && cx.config.is_debug_link();
        Self { unplaced, instances: unplaced || placed && (grouped || reserve) }
    }
}

/// The input of all planning.
#[derive(Clone, Copy)]
pub(super) struct Planning<'a, 'o> {
    pub cx: Analysis<'a, 'o>,
    pub usage: &'o Usage,
    pub shown: Shown,
    pub names: &'o Names,
    /// Whether sections of dead functions count.
    pub count_removed: bool,
}

/// The steps of some inputs.
pub(super) fn plan<'a>(
    planning: Planning<'a, '_>,
    objects: std::ops::Range<usize>,
) -> Vec<Step<'a>> {
    let Planning { cx, usage, shown, names, count_removed } = planning;
    let sections: usize =
        cx.objects.iter().take(objects.end).skip(objects.start).map(|o| o.classes.len()).sum();
    let mut planner = Planner {
        cx,
        usage,
        shown,
        names,
        count_removed,
        steps: Vec::with_capacity(sections),
        dispositions: Vec::new(),
        attributes: Vec::new(),
        relocs: Vec::new(),
        named: [OptId::NONE; NAMED],
        classes: (&[], Vec::new()),
    };
    for object in objects {
        planner.object(ObjectId::new(object));
    }
    planner.steps
}

/// Number of symbols remembered.
const NAMED: usize = 64;

pub(super) struct Planner<'a, 'o> {
    pub(super) cx: Analysis<'a, 'o>,
    usage: &'o Usage,
    shown: Shown,
    names: &'o Names,
    /// Whether sections of dead functions count.
    count_removed: bool,
    pub(super) steps: Vec<Step<'a>>,
    /// What happened to the functions of the current input, in list order.
    pub(super) dispositions: Vec<Option<Disposition>>,
    /// Those of the last two passes over an input.
    pub(super) attributes: Vec<Step<'a>>,
    pub(super) relocs: Vec<Step<'a>>,
    /// Symbols that already have steps. All inputs refer to the same few, and the first reference
    /// is enough.
    named: [OptId<SymbolId>; NAMED],
    /// Classes of sections, and those that the plan is about. Many inputs have the same list.
    classes: (&'a [MergeClass], Vec<(u32, MergeClass)>),
}

/// What happened to an input's reference to a function.
#[derive(Clone, Copy)]
pub(super) struct Disposition {
    pub id: SymbolId,
    pub function: FunctionId,
    pub role: Role,
    /// Whether the function is live.
    pub live: bool,
    /// Whether this is the only definition that was ever selected.
    pub sole: bool,
    /// The parts that were created, if it is dead.
    pub created: u8,
}

impl Disposition {
    fn is_discarded(&self) -> bool {
        self.role == Role::Discarded
    }
}

impl<'a> Planner<'a, '_> {
    /// Finds the sections of an input that the plan is about.
    #[inline]
    fn look_at_classes(&mut self, input: &Object<'a>) {
        if !input.shares_classes(self.classes.0) {
            let classes = (0..).zip(input.classes.iter().copied());
            self.classes.1.clear();
            self.classes.1.extend(classes.filter(|(_, class)| is_planned(*class)));
            self.classes.0 = input.classes;
        }
    }

    fn object(&mut self, object: ObjectId) {
        let input = &self.cx.objects[object];
        self.steps.push(Step::Input(object));
        self.dispositions.clear();
        let ids = self.cx.resolution.ids_of(object).unwrap_or_default();
        self.dispositions
            .extend(input.functions.iter().map(|named| self.cx.disposition(object, ids, named)));
        for (i, named) in input.functions.iter().enumerate() {
            let section = section_of(input, named);
            if let Some(section) = section {
                self.alias_owner(object, i, section);
            }
            self.function(object, i, section, false);
        }
        let mut last = None;
        for named in input.data.iter() {
            // All inputs refer to the same few.
            let id = ids.get(named.symbol as usize).and_then(|id| id.get());
            let is_reference =
                named.place == Place::Undefined && named.other & sto::SPACE != sto::SHARED;
            if is_reference && id.is_some_and(|id| self.is_known(id)) {
                continue;
            }
            if let Some(symbol) = input.cubin.symbol(named.symbol) {
                self.variable(object, &symbol, &mut last);
            }
        }
        let namesakes = self.namesakes(input);
        self.look_at_classes(input);
        let classes = std::mem::take(&mut self.classes.1);
        for &(section, class) in &classes {
            match class {
                MergeClass::ModuleInfo => self.attributes(object, section, None),
                MergeClass::Info(owner) => {
                    let known_as = namesakes.get(&section).copied().unwrap_or(section);
                    self.attributes(object, known_as, Some(owner));
                }
                MergeClass::Reloc(target) => self.relocs(object, section, target),
                _ => self.remaining_section(object, section, class),
            }
        }
        self.classes.1 = classes;
        self.steps.append(&mut self.attributes);
        self.steps.append(&mut self.relocs);
        if input.whole_program || self.cx.dialect.keeps_nameless_shared() {
            self.nameless_shared(object, input);
        }
    }

    /// Shared memory without symbols comes last; unrequested kernels have none yet then.
    /// [`whole-programs-used`, `relink-nameless-shared`]
    fn nameless_shared(&mut self, object: ObjectId, input: &Object<'a>) {
        for (section, &class) in (0..).zip(input.classes) {
            if let (MergeClass::KernelShared(_), Some(found)) = (class, input.section(section))
                && input.is_nameless_shared(section)
            {
                self.data_section(object, &found, class, false);
            }
        }
    }

    /// Quirk: in a file that is linked again, functions of one name have attributes of one name,
    /// and a Mercury link finds the first of them for all: maps the later ones to the first.
    /// [`relinked-namesakes`]
    fn namesakes(&self, input: &Object<'_>) -> Map<u32, u32> {
        let is_local = |named: &InputSymbol| named.binding() == Binding::LOCAL;
        if !self.cx.dialect.merges_attributes_of_namesakes()
            || !input.functions.iter().any(is_local)
        {
            return Map::default();
        }
        let mut first = Map::default();
        let infos = (0..).zip(input.classes.iter());
        let infos = infos.filter(|(_, class)| matches!(class, MergeClass::Info(_)));
        let named = infos.filter_map(|(i, _)| Some((i, input.cubin.section(i)?.name)));
        let known = named.map(|(i, name)| (i, *first.entry(name).or_insert(i)));
        known.filter(|(i, first)| i != first).collect()
    }

    fn remaining_section(&mut self, object: ObjectId, section: u32, class: MergeClass) {
        let Some(input) = self.cx.objects[object].section(section) else { return };
        // Zero-initialized data whose symbols were all discarded is not allocated.
        if class != MergeClass::Data || !input.kind.is_nobits() {
            self.data_section(object, &input, class, false);
        }
    }

    /// A function of the current input with its index in the list, and what happened to it.
    fn disposition(&self, input: &Object<'a>, symbol: u32) -> Option<(usize, Disposition)> {
        // They are mostly consecutive.
        let first = input.functions.first()?.symbol;
        let guess = symbol.wrapping_sub(first) as usize;
        let index = match input.functions.get(guess) {
            Some(named) if named.symbol == symbol => guess,
            _ => input.functions.binary_search_by_key(&symbol, |named| named.symbol).ok()?,
        };
        Some((index, (*self.dispositions.get(index)?)?))
    }

    /// What happened to the function that a section of the current input belongs to.
    fn owner_disposition(&self, object: ObjectId, section: u32) -> Option<(usize, Disposition)> {
        let input = &self.cx.objects[object];
        self.disposition(input, input.owner(section)?)
    }

    /// An alias needs the section of its function, which comes first.
    fn alias_owner(&mut self, object: ObjectId, alias: usize, section: u32) {
        let input = &self.cx.objects[object];
        let symbol = input.functions[alias].symbol;
        let Some(owner) = input.owner(section).filter(|&owner| owner > symbol) else { return };
        let created = self.dispositions[alias].is_some_and(|f| f.live && f.role != Role::Discarded);
        let index = input.functions.binary_search_by_key(&owner, |named| named.symbol);
        if let (true, Ok(index)) = (created, index) {
            self.function(object, index, section_of(input, &input.functions[index]), true);
        }
    }

    fn function(&mut self, object: ObjectId, index: usize, section: Option<u32>, if_new: bool) {
        let cx = self.cx;
        let Some(Disposition { id, function, role, live, .. }) = self.dispositions[index] else {
            return;
        };
        let named = &cx.objects[object].functions[index];
        if !live {
            // A kernel pruned for lack of host references leaves this name.
            let pruned = cx.reach.pruning == Pruning::HostReferences;
            if pruned && cx.resolution.get(id).entry && named.place != Place::Undefined {
                self.steps.push(Step::MentionShared(id));
            }
            if let (true, Some(section)) = (self.count_removed, section) {
                let owns = cx.objects[object].owner(section) == Some(named.symbol);
                self.removed_function(index, owns);
            }
            return;
        }
        match role {
            Role::Selected | Role::Replaced => {
                let list = self.list_of(named.binding());
                let symbol = cx.resolution.get(id);
                let start = match symbol.entry && !cx.reach.is_late(function) {
                    true => Start::Kernel,
                    false if is_builtin_function(symbol.name) => Start::Builtin,
                    false => Start::Plain,
                };
                let code = match role {
                    Role::Selected => section.and_then(|section| {
                        cx.code(SymbolRefId { object, symbol: named.symbol }, section)
                    }),
                    _ => symbol.definition.and_then(|at| cx.code(at, cx.input_symbol(at)?.shndx)),
                };
                let single = self.names.is_single(symbol.hash);
                let definition = Definition { id, function, list, if_new, single, start, code };
                self.steps.push(Step::Define(definition));
            }
            Role::Reference if self.is_first(id) => self.steps.push(Step::Declare(id, function)),
            Role::Reference | Role::Discarded => {}
        }
    }

    /// The list that symbols of a binding are appended to. [`weak-in-global-list`]
    fn list_of(&self, binding: Binding) -> List {
        match binding {
            Binding::LOCAL => List::Local,
            Binding::WEAK if !self.cx.dialect.lists_weak_with_global() => List::Local,
            _ => List::Global,
        }
    }

    /// Whether the symbol is remembered.
    fn is_known(&self, id: SymbolId) -> bool {
        self.named[id.index() % NAMED] == id.into()
    }

    /// Remembers the symbol and returns whether it was new.
    fn is_first(&mut self, id: SymbolId) -> bool {
        let place = &mut self.named[id.index() % NAMED];
        std::mem::replace(place, id.into()) != id.into()
    }

    fn variable(&mut self, object: ObjectId, symbol: &SymbolRef<'a>, last: &mut Option<u32>) {
        let cx = self.cx;
        let Some(id) = cx.resolution.id(object, symbol.index.0) else { return };
        let defined = !symbol.is_undefined() && !symbol.is_common();
        let at = SymbolRefId { object, symbol: symbol.index.0 };
        if defined
            && !symbol.reserved
            && cx.resolution.role(id, at, true) != Role::Discarded
            && !cx.is_discarded_bank2(object, symbol.shndx)
            && let Some(section) = cx.objects[object].section(symbol.shndx)
        {
            let class = cx.objects[object].classes[symbol.shndx as usize];
            // Once is enough for a section that many symbols are in.
            if class != MergeClass::Data || *last != Some(symbol.shndx) {
                *last = Some(symbol.shndx);
                self.data_section(object, &section, class, true);
            }
        }
        let dynamic = is_dynamic_array(symbol) && is_declared_array(cx, id);
        let emitted = self.emitted(object, id, symbol);
        let named = emitted == Emitted::Yes && !dynamic && !symbol.is_common();
        if named && !self.is_first(id) || !dynamic && !symbol.is_common() && emitted == Emitted::No
        {
            return;
        }
        let list = match defined || symbol.binding() == Binding::LOCAL {
            // Instances of dynamic arrays in a file that is linked again are weak.
            _ if symbol.is_internal() => self.list_of(match symbol.binding() {
                Binding::WEAK => Binding::WEAK,
                _ => Binding::LOCAL,
            }),
            true => self.list_of(symbol.binding()),
            false => List::Global,
        };
        let common = symbol.is_common();
        self.steps.push(Step::Variable(Variable { id, list, emitted, dynamic, common }));
    }

    /// Internal symbols never leave their object; shared-memory symbols do so only for debuggers.
    /// [`shared-visible`, `debug-shared`, `shared-unreferenced`]
    fn emitted(&self, object: ObjectId, id: SymbolId, symbol: &SymbolRef<'_>) -> Emitted {
        let config = self.cx.config;
        let is_discarded = || self.cx.is_discarded_bank2(object, symbol.shndx);
        let shown = |shown| if shown { Emitted::Yes } else { Emitted::No };
        if config.relocatable {
            return shown(!is_discarded());
        }
        if symbol.is_shared() && symbol.is_internal() {
            // The instances of dynamic arrays in a file that is linked again.
            return shown(self.shown.instances);
        }
        if symbol.is_shared() {
            // An array that an earlier input defines is an ordinary one.
            if is_declared_array(self.cx, id) {
                return shown(config.is_debug_link() || self.shown.unplaced);
            }
            let any = config.is_debug_link() || config.preserve_relocs;
            let class = self.cx.objects[object].classes.get(symbol.shndx as usize);
            let own = matches!(class, Some(MergeClass::KernelShared(_)));
            return shown(any && (own || self.usage.by_symbol.contains_key(&id)));
        }
        if !symbol.is_internal() {
            return Emitted::Yes;
        }
        // Compiler constants of device functions have no separate section.
        match config.preserve_relocs && !symbol.is_undefined() && !is_discarded() {
            true => Emitted::WithSection(symbol.shndx),
            false => Emitted::No,
        }
    }

    /// The name of an input's section, which is in none of the tables that are at hand.
    fn name(&self, object: ObjectId, section: u32) -> Option<&'a [u8]> {
        self.cx.objects[object].cubin.section(section).map(|section| section.name)
    }

    fn data_section(
        &mut self,
        object: ObjectId,
        input: &Section<'a>,
        class: MergeClass,
        by_symbol: bool,
    ) {
        let section = input.index;
        // The output has another section instead of this one.
        if input.kind == SectionType::CUDA_UFT_INDEX && self.cx.config.uidx.is_some() {
            return;
        }
        match class {
            MergeClass::Data => {
                let Some(name) = self.name(object, section) else { return };
                let align = input.align;
                let size = self.cx.size_of_linked(object, section, input.size);
                self.steps.push(Step::Data(Data { section, name, align, size }));
            }
            MergeClass::CommonShared => self.steps.push(Step::CommonShared(section)),
            MergeClass::KernelShared(_) => {
                self.function_data(object, input, Kind::Shared, by_symbol);
            }
            MergeClass::FunctionConstant { bank: 0, .. } => {
                self.function_data(object, input, Kind::Bank0 { usual: false }, by_symbol);
            }
            MergeClass::FunctionConstant { bank: 2, .. } => {
                self.function_data(object, input, Kind::Bank2, by_symbol);
            }
            MergeClass::FunctionData(_) => {
                self.function_data(object, input, Kind::Other, by_symbol);
            }
            MergeClass::FunctionConstant { .. } => {
                self.function_data(object, input, Kind::OtherBank, by_symbol);
            }
            _ => {}
        }
    }

    fn function_data(
        &mut self,
        object: ObjectId,
        input: &Section<'a>,
        mut what: Kind,
        by_symbol: bool,
    ) {
        let cx = self.cx;
        let section = input.index;
        let Some((index, disposition)) = self.owner_disposition(object, section) else { return };
        let Disposition { id, function, role, live, .. } = disposition;
        if !live {
            if cx.reach.pruning == Pruning::ByName && what == Kind::Shared {
                let name = self.name(object, section);
                self.steps.extend(name.map(Step::Mention));
            }
            if self.count_removed {
                self.removed_data(index, what, role);
            }
            return;
        }
        if let Kind::Bank0 { usual } = &mut what {
            let (own, name) = (self.name(object, section), cx.resolution.get(id).name);
            *usual = own.and_then(|own| own.strip_prefix(prefix::CONSTANT0)) == Some(name);
        }
        let (align, size) = (input.align, cx.size_of_linked(object, section, input.size));
        self.steps.push(Step::FunctionData(FunctionData {
            section,
            id,
            function,
            role,
            what,
            by_symbol,
            kind: input.kind,
            flags: input.flags,
            align,
            size,
        }));
    }

    fn attributes(&mut self, object: ObjectId, section: u32, owner: Option<u32>) {
        let Some(owner) = owner else {
            let all = Attributes { section, of: None, selected: true };
            self.attributes.push(Step::Attributes(all));
            return;
        };
        let disposition = self.disposition(&self.cx.objects[object], owner);
        let Some((index, Disposition { id, function, role, live, .. })) = disposition else {
            return;
        };
        if role == Role::Discarded {
            return;
        }
        if live {
            let (of, selected) = (Some((id, function)), role == Role::Selected);
            self.attributes.push(Step::Attributes(Attributes { section, of, selected }));
        } else if self.count_removed {
            self.removed_part(Pass::Attributes, index, Part::Info);
        }
    }

    fn relocs(&mut self, object: ObjectId, section: u32, target: u32) {
        let cx = self.cx;
        let class = cx.objects[object].classes[target as usize];
        let owner = self.owner_disposition(object, target);
        if let Some((index, Disposition { role, live: false, .. })) = owner {
            if self.count_removed && role != Role::Discarded {
                self.removed_relocs(index, object, section, class);
            }
            return;
        }
        let input = cx.objects[object].section(section);
        let Some(input) = input.filter(|input| input.size > 0) else { return };
        let of_code = matches!(class, MergeClass::Text(_));
        let owner = owner.map(|(_, disposition)| (disposition.function, disposition.role));
        let is_discarded = matches!(owner, Some((_, Role::Discarded)));
        let found = match class {
            _ if is_discarded => None,
            MergeClass::Text(_) => Some(scan_relocs(cx, object, &input, None, false)),
            MergeClass::Data => {
                let name = self.name(object, target);
                let none_discarded =
                    || self.dispositions.iter().all(|f| f.is_some_and(|f| !f.is_discarded()));
                name.map(|name| scan_relocs(cx, object, &input, Some(name), none_discarded()))
            }
            _ => None,
        };
        let rela = input.kind == SectionType::RELA;
        let relocs = Relocs { section, target, rela, owner, of_code, found };
        self.relocs.push(Step::Relocs(relocs));
    }
}

/// Whether sections of this class are planned one by one. Others are found by their symbols, or
/// have no counterpart in the output.
fn is_planned(class: MergeClass) -> bool {
    matches!(
        class,
        MergeClass::Data
            | MergeClass::FunctionData(_)
            | MergeClass::FunctionConstant { .. }
            | MergeClass::ModuleInfo
            | MergeClass::Info(_)
            | MergeClass::Reloc(_)
    )
}

/// The section of a defined symbol.
fn section_of(input: &Object<'_>, named: &InputSymbol) -> Option<u32> {
    match named.place {
        Place::Undefined => None,
        _ => input.cubin.symtab()?.place(named.symbol).map(|(section, _)| section),
    }
}

impl Analysis<'_, '_> {
    /// What happened to a function of an input, whose symbols have these ids.
    fn disposition(
        &self,
        object: ObjectId,
        ids: &[OptId<SymbolId>],
        named: &InputSymbol,
    ) -> Option<Disposition> {
        let id = ids.get(named.symbol as usize)?.get()?;
        let function = self.graph.function(id)?;
        let at = SymbolRefId { object, symbol: named.symbol };
        let role = self.resolution.role(id, at, named.place != Place::Undefined);
        let live = self.reach.is_live(function);
        let sole = role == Role::Selected && !self.resolution.replaced.contains_key(&id);
        Some(Disposition { id, function, role, live, sole, created: 0 })
    }

    /// The code of a definition in this section, unless it is an alias of another one.
    fn code(&self, at: SymbolRefId, section: u32) -> Option<Code> {
        let object = &self.objects[at.object];
        // An alias is in the section of its function.
        if object.owner(section) != Some(at.symbol) {
            return None;
        }
        let input = object.section(section)?;
        Some(Code {
            object: at.object,
            section,
            kind: input.kind,
            flags: input.flags,
            align: input.align,
            size: self.size_of_linked(at.object, section, input.size),
            ordinary: self.unnamed_symbol(at).and_then(|symbol| ordinary(&symbol)),
        })
    }
}

/// Size and `st_other` of a function that starts where its section does. Read while its entry is in
/// the cache.
fn ordinary(symbol: &SymbolRef<'_>) -> Option<(u32, u8)> {
    let is_ordinary = symbol.kind() == SymbolType::FUNC
        && !symbol.is_undefined()
        && !symbol.reserved
        && !symbol.is_shared()
        && !symbol.is_internal()
        && symbol.value == 0;
    let size = u32::try_from(symbol.size).ok().filter(|_| is_ordinary)?;
    Some((size, symbol.other))
}
