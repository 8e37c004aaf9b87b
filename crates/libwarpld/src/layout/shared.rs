//! Shared memory.
//!
//! Shared symbols are like commons: `st_value` is the alignment. Objects in a kernel's own section
//! are private to it. Those of device functions are assigned to the one kernel that uses them or,
//! if several do, placed in groups such that objects that no kernel uses together may overlap.
//! Dynamic arrays start where the static part ends.

use crate::align::align_up;
use crate::callgraph::callers::Callers;
use crate::collections::{Map, Set};
use crate::context::Analysis;
use crate::dialect::DYNAMIC_ALIGN;
use crate::ids::{FunctionId, SectionId, SymbolId};
use crate::merge::Merged;
use crate::object::{MergeClass, Object, is_dynamic_array};
use crate::usage::sort::{Ties, alternating_merge_sort};
use crate::usage::{SharedObject, SharedObjects, Usage, array_alignment, is_dynamic, is_orphan};

/// Offsets of shared memory objects.
#[derive(Debug, Default)]
pub struct SharedLayout {
    /// Offset of each static object, and the section it is in.
    pub objects: Map<SymbolId, (SectionId, u64)>,
    /// Where dynamic arrays start, by the function that refers to one.
    pub dynamic_start: Map<FunctionId, u64>,
    /// Size and alignment of each `.nv.shared.K` that exists.
    pub kernels: Map<SectionId, (u64, u64)>,
    /// Size and alignment of `.nv_debug.shared`, if it exists.
    pub common: Option<(u64, u64)>,
    /// Whether kernels share objects.
    pub grouped: bool,
    /// Start of a dynamic array for debuggers.
    pub dynamic_symbols: Map<SymbolId, u64>,
    /// How often each common object was counted: a weak one and the strong one that replaced it
    /// both are.
    pub counted: Map<SymbolId, u64>,
    /// Static bytes of each kernel, without the reserved part.
    pub static_bytes: Map<FunctionId, u64>,
    /// The resulting value of symbol 0.
    pub null_value: Option<u64>,
}

/// Lays out the shared memory of every kernel. [`shared-private`]
pub fn layout_shared(cx: Analysis<'_, '_>, usage: &Usage, merged: &Merged) -> SharedLayout {
    let SharedObjects { mut private, common, dynamic } = SharedObjects::collect(cx);
    private.retain(|&kernel, _| merged.function_sections[kernel].shared.is_some());
    let compiler_layouts = compiler_layouts(cx, merged);
    if private.is_empty() && common.is_empty() && dynamic.is_empty() && compiler_layouts.is_empty()
    {
        return SharedLayout::default();
    }
    let mut planner = Planner {
        cx,
        usage,
        merged,
        callers: Callers::new(cx.graph, cx.resolution, cx.reach),
        out: SharedLayout::default(),
        group_end: Map::default(),
        group_align: 0,
        groups_end: 0,
        nameless: None,
    };
    for layout in compiler_layouts.values().filter(|layout| !layout.whole && !layout.late) {
        let CompilerLayout { size, align, kernel, .. } = *layout;
        let symbol = cx.graph.symbol(kernel);
        let all = SharedObject { symbol, nameless: true, size, align, placed: true, fixed: None };
        private.entry(kernel).or_default().push(all);
    }
    planner.groups(common, &mut private);
    planner.kernels(private, &dynamic);
    planner.whole_programs(compiler_layouts);
    planner.out
}

struct Planner<'a, 'o> {
    cx: Analysis<'a, 'o>,
    usage: &'o Usage,
    merged: &'o Merged,
    callers: Callers<'o>,
    out: SharedLayout,
    /// End of the grouped objects that a kernel uses.
    group_end: Map<FunctionId, u64>,
    /// Largest alignment of all common objects, if there is a group.
    group_align: u64,
    groups_end: u64,
    /// Offset of the first object without a name, and their number.
    nameless: Option<(u64, u64)>,
}

impl Planner<'_, '_> {
    /// Assigns common objects with one user to that kernel and places the others in groups.
    /// [`shared-groups`, `shared-in-functions`, `shared-weak`]
    fn groups(
        &mut self,
        mut common: Vec<SharedObject>,
        private: &mut Map<FunctionId, Vec<SharedObject>>,
    ) {
        alternating_merge_sort(&mut common, Ties::B, |o| std::cmp::Reverse(o.size));
        let mut groups: Vec<(Set<FunctionId>, Vec<SharedObject>)> = Vec::new();
        let mut users_of = Map::<SymbolId, Vec<FunctionId>>::default();
        // Quirk: instances created by an earlier `-r` link have their start where others have an
        // alignment (and one name for all, so the first counts). [`relink-dynamic-and-groups`]
        let instances = common.iter().filter(|o| !o.placed).map(|o| o.align).max().unwrap_or(0);
        // Objects that no code refers to only affect how ties are broken.
        common.retain(|o| {
            self.usage.mentioned.contains(&o.symbol)
                && !is_dynamic(self.cx, o.symbol)
                && !is_orphan(self.cx, o.symbol)
        });
        for object in common {
            let users = self.users(object.symbol);
            *self.out.counted.entry(object.symbol).or_default() += 1;
            if let [only] = users[..] {
                private.entry(only).or_default().push(object);
                continue;
            }
            let free = groups.iter().position(|(used, _)| users.iter().all(|u| !used.contains(u)));
            let group = free.unwrap_or_else(|| {
                groups.push(Default::default());
                groups.len() - 1
            });
            groups[group].0.extend(users.iter().copied());
            groups[group].1.push(object);
            users_of.insert(object.symbol, users);
        }
        if groups.is_empty() {
            return;
        }
        self.group_align = common_alignment(self.cx).max(instances);
        let section = self.merged.common_shared;
        let mut position = 0;
        for (_, members) in groups {
            let align = members.iter().map(|o| o.align).max().unwrap_or(1);
            position = self.past_null(align_up(position, align), align);
            for object in &members {
                if let Some(section) = section.filter(|_| object.placed) {
                    self.out.objects.insert(object.symbol, (section, position));
                }
                for &user in &users_of[&object.symbol] {
                    let end = self.group_end.entry(user).or_default();
                    *end = (*end).max(position.saturating_add(object.size));
                }
            }
            let size = members.iter().map(|o| o.size).max().unwrap_or(0);
            position = position.saturating_add(size);
        }
        self.groups_end = position;
    }

    /// `--reserve-null-pointer`: nothing is at offset 0. [`shared-options`]
    fn past_null(&self, offset: u64, align: u64) -> u64 {
        if offset == 0 && self.cx.config.reserve_null_pointer { align } else { offset }
    }

    fn users(&mut self, symbol: SymbolId) -> Vec<FunctionId> {
        self.callers.entries_reaching(self.usage.functions(symbol))
    }

    fn kernels(&mut self, mut private: Map<FunctionId, Vec<SharedObject>>, dynamic: &[SymbolId]) {
        let reserved = self.reserved();
        let entries: Vec<FunctionId> = (self.merged.function_order.iter().copied())
            .filter(|&f| self.merged.function_sections[f].shared.is_some())
            .collect();
        let mut ends: Map<FunctionId, u64> = Map::default();
        let mut aligns: Map<FunctionId, u64> = Map::default();
        for &entry in &entries {
            let grouped = self.group_end.get(&entry).copied();
            let own = private.remove(&entry);
            if grouped.is_none() && own.is_none() {
                continue;
            }
            let (end, align) = self.place_private(entry, grouped.unwrap_or(0), own);
            ends.insert(entry, end);
            aligns.insert(entry, align.max(self.group_align));
        }
        self.dynamic(dynamic, &mut ends, &mut aligns);
        let everywhere = !dynamic.is_empty() && self.group_align >= 16;
        for &entry in &entries {
            let Some(section) = self.merged.function_sections[entry].shared.get() else {
                continue;
            };
            let exists = ends.contains_key(&entry) || everywhere;
            if exists {
                let end = ends.get(&entry).copied().unwrap_or(0);
                let align = aligns.get(&entry).copied().unwrap_or(self.group_align);
                self.out.static_bytes.insert(entry, end);
                let size = end.saturating_add(reserved);
                // Quirk: an empty section is kept only if its alignment is that of dynamic arrays,
                // whether or not it has one. The Mercury half is linked without the system's part.
                // [`shared-dynamic-unused`]
                let counted =
                    if self.cx.dialect.sizes_exclude_reserved_shared() { end } else { size };
                if counted > 0 || align == DYNAMIC_ALIGN {
                    self.out.kernels.insert(section, (size, align));
                }
            }
        }
        self.common_section(dynamic, reserved);
    }

    /// Kernels that were compiled as a whole. Quirk: an empty section gets the system's part only
    /// if the finalizer writes the file. An unnamed object is symbol 0. [`whole-programs`]
    fn whole_programs(&mut self, compiler_layouts: CompilerLayouts) {
        if let Some((offset, count)) = self.nameless {
            // The system's part is not counted on the Mercury half.
            let reserved = match self.cx.dialect.moves_null_symbol() {
                true => self.reserved().saturating_mul(count),
                false => 0,
            };
            self.out.null_value = Some(offset.saturating_add(reserved));
        }
        let whole = compiler_layouts.into_iter().filter(|(_, layout)| layout.whole);
        for (section, CompilerLayout { size, align, late, .. }) in whole {
            if size > 0 && !late && self.cx.dialect.moves_null_symbol() {
                let shift = self.out.null_value.unwrap_or(0);
                self.out.null_value = Some(shift.saturating_add(self.reserved()));
            }
            if let Some(placed) = self.out.kernels.get_mut(&section) {
                // Quirk: for debuggers objects have names, and are placed once more.
                // [`whole-programs-debug`]
                *placed = (placed.0.saturating_add(size), placed.1.max(align));
                continue;
            }
            let used = size > 0 && !late || self.cx.dialect.reserves_shared_of_empty_kernels();
            let reserved = if used { self.reserved() } else { 0 };
            let align = if late { align } else { align.max(self.group_align) };
            self.out.kernels.insert(section, (size.saturating_add(reserved), align));
        }
    }

    fn reserved(&self) -> u64 {
        if self.cx.config.disable_smem_reservation { 0 } else { self.cx.dialect.reserved_shared() }
    }

    fn place_private(
        &mut self,
        entry: FunctionId,
        start: u64,
        own: Option<Vec<SharedObject>>,
    ) -> (u64, u64) {
        let mut list = own.unwrap_or_default();
        alternating_merge_sort(&mut list, Ties::A, |o| (std::cmp::Reverse(o.align), o.size));
        let section = self.merged.function_sections[entry].shared.get();
        let (mut end, mut align) = (start, 0);
        for object in list {
            let next = || self.past_null(align_up(end, object.align), object.align);
            let start = object.fixed.unwrap_or_else(next);
            if object.nameless {
                let (first, count) = self.nameless.unwrap_or((start, 0));
                self.nameless = Some((first, count + 1));
            } else if let Some(section) = section.filter(|_| object.placed) {
                self.out.objects.insert(object.symbol, (section, start));
            }
            end = end.max(start.saturating_add(object.size));
            // An object without alignment, first declared as an array and linked again, has 1.
            align = align.max(object.align).max(1);
        }
        (end, align)
    }

    /// Dynamic arrays: every kernel that reaches a user ends at a multiple of their alignment;
    /// kernels that share a device function that uses one get the same end.
    /// [`shared-dynamic`, `shared-dynamic-in-function`, `debug-dynamic-users`]
    fn dynamic(
        &mut self,
        dynamic: &[SymbolId],
        ends: &mut Map<FunctionId, u64>,
        aligns: &mut Map<FunctionId, u64>,
    ) {
        let cx = self.cx;
        let dynamic: Vec<SymbolId> =
            dynamic.iter().copied().filter(|&id| is_dynamic(cx, id)).collect();
        let dynamic = &dynamic[..];
        let users = dynamic.iter().flat_map(|&symbol| self.usage.functions(symbol));
        let mut functions: Vec<FunctionId> = users.copied().collect();
        functions.sort_unstable();
        functions.dedup();
        let mut users = self.callers.entries_reaching(&functions);
        // A kernel that does not count still has its own use.
        let is_entry = |f: &&FunctionId| self.cx.resolution.get(self.cx.graph.symbol(**f)).entry;
        users.extend(functions.iter().filter(is_entry));
        users.sort_unstable();
        users.dedup();
        let array_align = self.array_alignments(dynamic);
        let first_align = self.first_alignments(&functions);
        for &entry in &users {
            // A section created only for the array comes after the common alignment.
            let late = cx.reach.is_late(entry);
            let align = aligns.entry(entry).or_insert(if late { 0 } else { self.group_align });
            *align = (*align).max(array_align.get(&entry).copied().unwrap_or(DYNAMIC_ALIGN));
        }
        let mut together = DisjointSets::default();
        let mut reaching = Vec::new();
        for &function in &functions {
            let entry = self.cx.resolution.get(self.cx.graph.symbol(function)).entry;
            let entries =
                if entry { vec![function] } else { self.callers.entries_reaching(&[function]) };
            for pair in entries.windows(2) {
                together.join(pair[0], pair[1]);
            }
            reaching.push((function, entries));
        }
        if self.cx.config.is_debug_link() {
            // One symbol has one value, so its users must agree.
            for entries in self.users_of_each(dynamic) {
                for pair in entries.windows(2) {
                    together.join(pair[0], pair[1]);
                }
            }
        }
        let mut joint: Map<FunctionId, JointEnd> = Map::default();
        for &entry in &users {
            let end = ends.get(&entry).copied().unwrap_or(0);
            let own = first_align.get(&entry).copied().unwrap_or(DYNAMIC_ALIGN);
            let together = joint.entry(together.find(entry)).or_default();
            together.end = together.end.max(end);
            together.align = together.align.max(aligns[&entry]);
            together.start = together.start.max(self.past_null(align_up(end, own), own));
        }
        let mut starts: Map<FunctionId, u64> = Map::default();
        for &entry in &users {
            let JointEnd { mut start, end, align } = joint[&together.find(entry)];
            let mut size = start;
            if cx.dialect.rounds_shared_with_arrays() {
                // For debuggers arrays start where sections end. Quirk: otherwise they start at
                // the largest of the kernels' own starts, whatever another's array is aligned to.
                // [`shared-dynamic-aligned`]
                let debug = cx.config.is_debug_link();
                size = self
                    .past_null(align_up(end, if debug { align } else { aligns[&entry] }), align);
                if debug {
                    start = size;
                }
            }
            starts.insert(entry, start);
            ends.insert(entry, size);
        }
        let ends = &starts;
        for (function, entries) in reaching {
            // Code that no kernel reaches has no start: all ones.
            let start = entries.iter().filter_map(|e| ends.get(e).copied()).max();
            let start = start.unwrap_or(u64::MAX);
            self.out.dynamic_start.insert(function, start);
        }
        for (&symbol, entries) in dynamic.iter().zip(self.users_of_each(dynamic)) {
            let start = entries.iter().filter_map(|e| ends.get(e).copied()).max();
            let start = start.unwrap_or_else(|| self.past_null(0, DYNAMIC_ALIGN));
            self.out.dynamic_symbols.insert(symbol, start);
        }
    }

    /// The alignment of the array that is met first, for each kernel. Quirk: it alone decides where
    /// the arrays start. [`shared-dynamic-aligned`]
    fn first_alignments(&mut self, functions: &[FunctionId]) -> Map<FunctionId, u64> {
        let first = |f: &FunctionId| Some((*self.usage.first_array.get(f)?, *f));
        let mut order: Vec<((u32, SymbolId), FunctionId)> =
            functions.iter().filter_map(first).collect();
        order.sort_unstable();
        let mut out = Map::default();
        for ((_, array), function) in order {
            let align = array_alignment(self.cx, array);
            let entries = self.callers.entries_reaching(&[function]);
            for entry in entries.into_iter().chain([function]) {
                out.entry(entry).or_insert(align);
            }
        }
        out
    }

    /// The largest alignment of the arrays that each kernel reaches.
    fn array_alignments(&mut self, dynamic: &[SymbolId]) -> Map<FunctionId, u64> {
        let mut out = Map::default();
        for &symbol in dynamic {
            let own = self.usage.functions(symbol).iter().copied();
            for user in self.users(symbol).into_iter().chain(own) {
                let align: &mut u64 = out.entry(user).or_default();
                *align = (*align).max(array_alignment(self.cx, symbol));
            }
        }
        out
    }

    /// The kernels that reach a use of each array.
    fn users_of_each(&mut self, dynamic: &[SymbolId]) -> Vec<Vec<FunctionId>> {
        dynamic.iter().map(|&symbol| self.users(symbol)).collect()
    }

    /// `.nv_debug.shared` stays, empty, if dynamic arrays are declared; with -g it holds the
    /// groups. [`shared-dynamic-in-function`]
    fn common_section(&mut self, dynamic: &[SymbolId], reserved: u64) {
        if self.merged.common_shared.is_none() {
            return;
        }
        let config = self.cx.config;
        let debug = config.is_debug_link() || config.preserve_relocs;
        self.out.grouped = self.group_align > 0;
        if debug && (self.out.grouped || !dynamic.is_empty()) {
            let align = self.group_align.max(if dynamic.is_empty() { 0 } else { 16 });
            self.out.common = Some((reserved.saturating_add(self.groups_end), align));
        } else if !dynamic.is_empty() && self.group_align <= 16 {
            self.out.common = Some((0, 16));
        }
    }
}

/// Kernels that end together, because they share a function with a dynamic array.
#[derive(Clone, Copy, Default)]
struct JointEnd {
    /// The largest start of their arrays.
    start: u64,
    /// The largest end of their objects.
    end: u64,
    /// The largest alignment of their sections.
    align: u64,
}

/// Disjoint sets of kernels.
#[derive(Default)]
pub(super) struct DisjointSets {
    parent: Map<FunctionId, FunctionId>,
}

impl DisjointSets {
    pub(super) fn find(&mut self, mut f: FunctionId) -> FunctionId {
        while let Some(&parent) = self.parent.get(&f) {
            if let Some(&grand) = self.parent.get(&parent) {
                self.parent.insert(f, grand);
            }
            f = parent;
        }
        f
    }

    pub(super) fn join(&mut self, a: FunctionId, b: FunctionId) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.parent.insert(b.max(a), a.min(b));
        }
    }
}

/// Largest alignment of the objects in the inputs' sections of common shared memory. (In files with
/// dynamic arrays that are linked again, their sections may have more.)
/// [`shared-unreferenced-alignment`]
fn common_alignment(cx: Analysis<'_, '_>) -> u64 {
    let of_object = |input: &crate::object::Object<'_>| {
        let common = |s: &cubin::SymbolRef<'_>| {
            let class = input.classes.get(s.shndx as usize);
            class == Some(&MergeClass::CommonShared) && s.is_shared() && !is_dynamic_array(s)
        };
        let used = input.classes.contains(&MergeClass::CommonShared);
        let symbols = input.cubin.symbols().filter(|s| used && common(s));
        symbols.map(|s| s.value).max().unwrap_or(0)
    };
    cx.objects.iter().map(of_object).max().unwrap_or(0)
}

/// Sections that are kept unchanged.
type CompilerLayouts = Map<SectionId, CompilerLayout>;

/// Shared memory that the compiler has laid out.
#[derive(Clone, Copy)]
pub(super) struct CompilerLayout {
    pub size: u64,
    pub align: u64,
    pub kernel: FunctionId,
    /// Whether it is that of a whole program, and not of a relocatable file that is linked again.
    pub whole: bool,
    /// Of an unrequested kernel: nothing is counted for it (`whole-programs-used`).
    pub late: bool,
}

/// Shared memory in which nothing has a name, so that it is kept unchanged: that of kernels that
/// were compiled as a whole (`ptxas -ewp`), and what a relocatable link reserved for arrays.
/// [`relink-nameless-shared`]
pub(super) fn compiler_layouts(cx: Analysis<'_, '_>, merged: &Merged) -> CompilerLayouts {
    let mut out = CompilerLayouts::default();
    // For debuggers all of it has names, and is laid out once more.
    if cx.config.is_debug_link() {
        return out;
    }
    let counts = |object: &Object<'_>| object.whole_program || cx.dialect.keeps_nameless_shared();
    for (of, object) in cx.objects.enumerated().filter(|(_, object)| counts(object)) {
        for (section, class) in (0..).zip(object.classes) {
            let &MergeClass::KernelShared(symbol) = class else { continue };
            let Some(section) = object.cubin.section(section) else { continue };
            if !object.is_nameless_shared(section.index.0) {
                continue;
            }
            let id = cx.resolution.id(of, symbol);
            let Some(kernel) = id.and_then(|id| cx.graph.function(id)) else { continue };
            let sections = merged.function_sections.get(kernel);
            if let Some(shared) = sections.and_then(|sections| sections.shared.get()) {
                let late = cx.reach.is_late(kernel);
                let (size, align) = (section.size, section.align);
                let whole = object.whole_program;
                out.insert(shared, CompilerLayout { size, align, kernel, whole, late });
            }
        }
    }
    out
}

/// The alignment of memory that kernels of whole programs share.
pub(super) fn ready_made_alignment(cx: Analysis<'_, '_>) -> u64 {
    let whole = cx.objects.iter().filter(|object| object.whole_program);
    let common = whole.filter_map(|object| object.first_of(MergeClass::CommonShared));
    match cx.config.is_debug_link() {
        true => 0,
        false => common.map(|section| section.align).max().unwrap_or(0),
    }
}
