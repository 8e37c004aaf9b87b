//! Bank 2: the compiler's own constants of a function.

use super::steps::FunctionData;
use super::{Merger, Placement};
use crate::callgraph::callers::Callers;
use crate::collections::{Map, Set};
use crate::context::Analysis;
use crate::ids::{FunctionId, InputSection, ObjectId, SectionId, SymbolId};
use crate::object::MergeClass;
use crate::resolve::Role;
use cubin::consts::shf;
use std::cell::OnceCell;

/// The two places that may hold a function's bank 2, as far as they exist.
///
/// Symbols lead to the function's own place: for a kernel, and in a relocatable file, its section;
/// otherwise what is collected for the kernels. Quirk: data without a symbol of a selected copy
/// (discarded copies) goes by *name* to the place that came first, which may be a stray section
/// created for such data while the selected copy had none. A replacement clears only the first
/// place, and only the first one gets the data of functions. [`bank2-strays`]
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<T> {
    own: Option<T>,
    stray: Option<T>,
}

impl<T> Default for Places<T> {
    fn default() -> Self {
        Self { own: None, stray: None }
    }
}

impl<T> Places<T> {
    /// The place that a name leads to. A stray one came first, or it would not exist.
    fn named(&mut self) -> Option<&mut T> {
        self.stray.as_mut().or(self.own.as_mut())
    }

    /// Whether data goes to the stray place.
    fn is_stray(&self, by_symbol: bool) -> bool {
        !by_symbol && (self.stray.is_some() || self.own.is_none())
    }
}

impl Places<Option<SectionId>> {
    /// Whether there was a stray place of which nothing is left.
    pub(super) fn is_emptied(&self) -> bool {
        matches!(self.stray, Some(None))
    }
}

/// For functions that were ever replaced: whether the places have data at the end.
pub(super) type Filled = Map<SymbolId, Places<bool>>;

/// Replays which places are filled and cleared, input by input. [`bank2-cleared-kernel`]
pub(super) fn filled_places(cx: Analysis<'_, '_>) -> Filled {
    let mut out = Filled::default();
    let mut clears: Vec<(ObjectId, SymbolId)> = Vec::new();
    for (&id, replaced) in &cx.resolution.replaced {
        if cx.graph.function(id).is_some() {
            out.insert(id, Places::default());
            let later = replaced.iter().skip(1).chain(&cx.resolution.get(id).definition);
            clears.extend(later.map(|at| (at.object, id)));
        }
    }
    clears.sort_unstable();
    let mut clears = clears.into_iter().peekable();
    let mut order = Vec::new();
    for (i, input) in cx.objects.iter().enumerate() {
        let object = ObjectId::new(i);
        while let Some((_, id)) = clears.next_if(|(at, _)| *at == object) {
            if let Some(filled) = out.get_mut(&id).and_then(Places::named) {
                *filled = false;
            }
        }
        if out.is_empty() {
            break;
        }
        let is_bank2 = |c| matches!(c, MergeClass::FunctionConstant { bank: 2, .. });
        // The non-empty sections, collected on first use.
        let full: OnceCell<Set<u32>> = OnceCell::new();
        let is_full = |section: u32| {
            let sized = || input.cubin.symbols().filter(|s| s.size > 0).map(|s| s.shndx).collect();
            full.get_or_init(sized).contains(&section)
        };
        for (section, _) in input.of_class(is_bank2) {
            let Some((id, at)) = cx.owner(object, section.index.0) else { continue };
            let selected = cx.resolution.ever_selected(id, at) && is_full(section.index.0);
            match out.get_mut(&id) {
                None if selected => order.extend(cx.graph.function(id)),
                None => {}
                Some(places) if places.is_stray(selected) => places.stray = Some(true),
                Some(places) => {
                    let is_new = places.own.replace(true).is_none();
                    order.extend(cx.graph.function(id).filter(|_| is_new));
                }
            }
        }
    }
    given_to_kernels(cx, &mut out, &order);
    out
}

/// Kernels get the data of functions, whose banks came in this `order`, and what [`gives_bank2`]
/// says of those without (`bank2-of-kernels-alike`).
///
/// [`gives_bank2`]: Merger::gives_bank2
fn given_to_kernels(cx: Analysis<'_, '_>, filled: &mut Filled, order: &[FunctionId]) {
    let is_kernel = |id: SymbolId| cx.resolution.get(id).entry;
    let waits = |places: &mut Places<bool>| places.named().is_some_and(|filled| !*filled);
    if !filled.iter_mut().any(|(&id, places)| is_kernel(id) && waits(places)) {
        return;
    }
    let has_data = |f: FunctionId| {
        let places = filled.get(&cx.graph.symbol(f));
        places.is_none_or(|places| places.own == Some(true) || places.stray == Some(true))
    };
    let (kernels, functions): (Vec<FunctionId>, Vec<FunctionId>) =
        order.iter().partition(|f| is_kernel(cx.graph.symbol(**f)));
    type Kernels = Set<FunctionId>;
    let full: Kernels = kernels.into_iter().filter(|&kernel| has_data(kernel)).collect();
    let mut given = Kernels::default();
    let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
    for &function in functions.iter().rev().filter(|f| cx.reach.is_live(**f)) {
        let entries = callers.entries_reaching(&[function]);
        let places = filled.get(&cx.graph.symbol(function));
        let gives = places.is_none_or(|places| places.own == Some(true));
        if gives || entries.iter().any(|e| full.contains(e) || given.contains(e)) {
            given.extend(entries);
        }
    }
    for kernel in given {
        let places = filled.get_mut(&cx.graph.symbol(kernel));
        if let Some(filled) = places.and_then(Places::named) {
            *filled = true;
        }
    }
}

impl Merger<'_, '_> {
    /// Bank 2 data of one input's copy of a function, see [`Places`]. A place that is empty at the
    /// end leaves no trace in an executable.
    pub(super) fn bank2_data(&mut self, from: InputSection, data: &FunctionData) {
        let FunctionData { id, function, by_symbol, align, .. } = *data;
        if self.out.bank2.get(&function).is_some_and(|bank| bank.parts.last() == Some(&from)) {
            return;
        }
        let mut places = self.bank2_places.get(&function).copied().unwrap_or_default();
        let stray = places.is_stray(by_symbol);
        if !stray && !self.has_bank2_section(id) {
            // nvlink creates a section for it all the same, and drops it.
            self.out.creation_index += u32::from(places.own.is_none());
            places.own = Some(None);
            self.collect_bank2(function, from, align, by_symbol);
        } else {
            let known = if stray { places.stray } else { places.own };
            let section = known.unwrap_or_else(|| self.bank2_section(id, from, stray));
            *(if stray { &mut places.stray } else { &mut places.own }) = Some(section);
            if let Some(section) = section {
                self.out.constant2.entry(function).or_insert(section);
                let before = self.out.sections[section].chunks().first().map(|chunk| chunk.from);
                if by_symbol && before.is_some_and(|before| self.starts_alike(before, from)) {
                    let placement = Placement { section, offset: 0 };
                    self.out.placements.set(from, placement);
                } else {
                    if by_symbol {
                        self.clear_section(section);
                    }
                    self.place(section, from, align, data.size);
                }
            }
        }
        self.bank2_places.insert(function, places);
    }

    /// Whether a function has its bank as a section, as opposed to giving it to kernels.
    fn has_bank2_section(&self, id: SymbolId) -> bool {
        self.cx.config.relocatable || self.cx.resolution.get(id).entry
    }

    /// The section for a place that is new, unless that is empty in the end.
    fn bank2_section(
        &mut self,
        id: SymbolId,
        from: InputSection,
        stray: bool,
    ) -> Option<SectionId> {
        let places = self.bank2_filled.get(&id);
        let filled =
            places.is_none_or(|places| if stray { places.stray } else { places.own } == Some(true));
        if !filled && !self.cx.config.relocatable {
            self.out.creation_index += 1;
            return None;
        }
        // Compilers up to 12.2 do not set it. What is made for a symbol has it all the same,
        // a copy of the input's section has not.
        let more_flags = if stray { 0 } else { shf::INFO_LINK };
        self.per_function(None, id, from, more_flags)
    }

    fn collect_bank2(&mut self, function: FunctionId, from: InputSection, align: u64, new: bool) {
        if !self.out.bank2.contains_key(&function) {
            self.out.bank2_order.push(function);
        }
        let before = self.out.bank2.get(&function).and_then(|bank| bank.parts.first().copied());
        let same = new && before.is_some_and(|before| self.starts_alike(before, from));
        let bank = self.out.bank2.entry(function).or_default();
        bank.first.get_or_insert(from);
        bank.align = bank.align.max(align);
        if same {
            bank.laid_over.push(from);
            return;
        }
        if new {
            bank.parts.clear();
            bank.laid_over.clear();
        }
        bank.parts.push(from);
    }

    /// Whether the data of a better definition is how the data starts that it finds in its place, because
    /// the replacement cleared a stray place instead. Quirk: the longer one stays as it is then. Where
    /// they differ nvlink ends in "overlapping non-identical data". [`bank2-kept`; tables of 5 to 7, 17
    /// and 22 words, with and without `-r`, sm_90 and sm_121]
    fn starts_alike(&self, before: InputSection, from: InputSection) -> bool {
        self.cx.linked_bytes(before).starts_with(self.cx.linked_bytes(from))
    }

    /// Applies a better definition to the bank of the previous one. [`bank2-of-replaced-kernel`]
    pub(super) fn clear_bank2(&mut self, id: SymbolId, function: FunctionId) {
        let Some(places) = self.bank2_places.get_mut(&function) else { return };
        let collected = places.stray.is_none();
        let section = places.named().copied().flatten();
        if let Some(section) = section {
            self.clear_section(section);
        } else if collected
            && !self.has_bank2_section(id)
            && let Some(bank) = self.out.bank2.get_mut(&function)
        {
            bank.parts.clear();
            bank.laid_over.clear();
        }
    }

    fn clear_section(&mut self, section: SectionId) {
        self.out.sections[section].clear_chunks();
    }

    /// Whether a device function passes anything to its kernels. Quirk: one whose data a
    /// replacement cleared still makes their banks end alike. [`bank2-of-kernels-alike`]
    pub(super) fn gives_bank2(
        &self,
        function: FunctionId,
        kernels: &[FunctionId],
        filled: &Set<FunctionId>,
    ) -> bool {
        let has_data = |kernel: &FunctionId| {
            let own = self.out.constant2.get(kernel);
            filled.contains(kernel) || own.is_some_and(|&s| self.out.sections[s].size() > 0)
        };
        self.out.bank2.get(&function).is_some_and(|bank| !bank.parts.is_empty())
            || kernels.iter().any(has_data)
    }
}

impl Analysis<'_, '_> {
    /// Whether the symbol's section is bank 2 of a discarded copy. The symbol does not lead to the
    /// section.
    pub(super) fn is_discarded_bank2(&self, object: ObjectId, section: u32) -> bool {
        let class = self.objects[object].classes.get(section as usize);
        matches!(class, Some(MergeClass::FunctionConstant { bank: 2, .. }))
            && (self.owner(object, section))
                .is_some_and(|(id, at)| self.resolution.role(id, at, true) == Role::Discarded)
    }
}
