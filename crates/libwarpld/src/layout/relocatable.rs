//! Shared memory in a relocatable output: nothing has an offset yet, but sections get their sizes,
//! and each kernel that uses a dynamic array gets an instance of it.

use super::Layout;
use super::shared::{DisjointSets, compiler_layouts, ready_made_alignment};
use crate::align::align_up;
use crate::collections::Map;
use crate::context::Analysis;
use crate::dialect::DYNAMIC_ALIGN;
use crate::ids::{FunctionId, SectionId, SymbolId, SymbolRefId};
use crate::merge::Merged;
use crate::usage::{Usage, array_alignment, is_dynamic, is_orphan, unplaced_value};

/// Size and alignment of sections.
type Extents = Map<SectionId, (u64, u64)>;

/// Kernels with an instance of a dynamic array, and where it starts.
#[derive(Debug, Default)]
pub struct Instances {
    /// Start of the array, by kernel.
    pub start_of: Map<FunctionId, u64>,
    /// Static size of each shared section.
    pub static_size: Map<SectionId, u64>,
}

/// The dynamic arrays of a kernel.
#[derive(Clone, Copy, Default)]
struct Arrays {
    /// Their largest alignment.
    align: u64,
    /// The alignment of the one that is met first, which alone decides where they start.
    first_align: u64,
    /// Its value, which their start is not below.
    least: u64,
}

impl Arrays {
    /// Where they start behind objects of this size.
    fn start(self, size: u64) -> u64 {
        align_up(size.max(self.least), self.first_align)
    }
}

/// Functions whose own code refers to dynamic arrays.
fn dynamic_users(cx: Analysis<'_, '_>, usage: &Usage) -> Map<FunctionId, Arrays> {
    let mut out: Map<FunctionId, Arrays> = Map::default();
    for (&id, functions) in usage.by_symbol.iter().filter(|(id, _)| is_dynamic(cx, **id)) {
        for &function in functions {
            let arrays = out.entry(function).or_default();
            let align = array_alignment(cx, id);
            arrays.align = arrays.align.max(align);
            if usage.first_array.get(&function).is_none_or(|&(_, first)| first == id) {
                arrays.first_align = align;
                arrays.least = unplaced_value(cx, id);
            }
        }
    }
    out
}

/// Sizes of shared-memory sections.
pub fn layout_shared(cx: Analysis<'_, '_>, usage: &Usage, merged: &Merged, out: &mut Layout) {
    let extents = static_extents(cx, merged);
    let extent = |section: SectionId| extents.get(&section).copied().unwrap_or((0, 0));
    let arrays = cx.resolution.symbols.ids();
    let arrays = arrays.filter(|&id| is_dynamic(cx, id) || is_orphan(cx, id));
    // Quirk: an instance created by an earlier link has its start where others have an alignment.
    // [`relink-dynamic-and-groups`, `whole-programs-relinked`]
    let starts = arrays.filter_map(|id| cx.input_symbol(cx.resolution.get(id).first));
    let instances = starts.map(|s| s.value).max();
    let declared = instances.is_some();
    let mut common_align = 0;
    if let Some(section) = merged.common_shared {
        let (size, align) = extent(section);
        let align = align.max(instances.unwrap_or(0)).max(ready_made_alignment(cx));
        common_align = align;
        let align = align.max(if declared { DYNAMIC_ALIGN } else { 0 });
        out.extents.insert(section, padded(size, align));
        out.instances.static_size.insert(section, size);
    }
    let users = dynamic_users(cx, usage);
    let compiler_layouts = compiler_layouts(cx, merged);
    let mut null_value = None;
    let mut kernels: Vec<Kernel> = Vec::new();
    for &function in &merged.function_order {
        let Some(section) = merged.function_sections[function].shared.get() else {
            continue;
        };
        let (mut size, mut align) = extent(section);
        let ready = compiler_layouts.get(&section);
        if let Some(ready) = ready {
            size = align_up(size, ready.align).saturating_add(ready.size);
            align = align.max(ready.align);
            // Quirk: the value of an object without an offset is its alignment, and an unnamed one
            // is symbol 0. The last kernel comes first. [`whole-programs-relinked`]
            if !ready.late {
                null_value.get_or_insert(ready.align);
            }
        }
        let (ready, arrays) = (ready.is_some(), users.get(&function).copied());
        kernels.push(Kernel { function, section, size, align, ready, arrays });
    }
    out.null_value = null_value.unwrap_or(out.null_value);
    let ends = match cx.config.is_debug_link() {
        true => joint_ends(cx, usage, &kernels, common_align, out),
        false => Map::default(),
    };
    let everywhere = declared && common_align >= DYNAMIC_ALIGN;
    for kernel in &kernels {
        let joint = ends.get(&kernel.function).copied();
        let mut size = joint.unwrap_or(0).max(kernel.size);
        let align = kernel.alignment(cx, size, common_align);
        if let Some(array) = kernel.arrays {
            let start = joint.unwrap_or_else(|| array.start(size));
            out.instances.start_of.insert(kernel.function, start);
            if cx.dialect.rounds_shared_with_arrays() {
                size = start;
            }
        }
        out.instances.static_size.insert(kernel.section, size);
        // Quirk: without objects it is kept only if its alignment is that of dynamic arrays.
        // [`relink-shared`]
        let affected = kernel.arrays.is_some() || everywhere;
        if size > 0 || kernel.ready || affected && align == DYNAMIC_ALIGN {
            let (size, align) = padded(size, align);
            let size = match kernel.arrays {
                Some(_) if cx.dialect.rounds_shared_with_arrays() => align_up(size, align),
                Some(arrays) => align_up(size, arrays.align),
                None => size,
            };
            out.extents.insert(kernel.section, (size, align));
        }
    }
}

/// A kernel with a section of shared memory.
struct Kernel {
    function: FunctionId,
    section: SectionId,
    /// Size of its objects.
    size: u64,
    /// Their alignment.
    align: u64,
    /// Whether the compiler has laid it out.
    ready: bool,
    /// What its own code uses.
    arrays: Option<Arrays>,
}

impl Kernel {
    /// The alignment of its section. One created late, only for the array, ignores the common
    /// alignment.
    fn alignment(&self, cx: Analysis<'_, '_>, size: u64, common_align: u64) -> u64 {
        let late = size == 0 && cx.reach.is_late(self.function);
        let align = if late { self.align } else { self.align.max(common_align) };
        align.max(self.arrays.map_or(0, |arrays| arrays.align))
    }
}

/// For debuggers a dynamic array has one address: kernels whose own code uses one get the same end.
/// Functions do not count, because their callers are not known yet.
fn joint_ends(
    cx: Analysis<'_, '_>,
    usage: &Usage,
    with_shared: &[Kernel],
    common_align: u64,
    out: &mut Layout,
) -> Map<FunctionId, u64> {
    let is_entry = |f: &FunctionId| cx.resolution.get(cx.graph.symbol(*f)).entry;
    let mut kernels_of: Vec<(SymbolId, Vec<FunctionId>)> = Vec::new();
    for (&id, functions) in usage.by_symbol.iter().filter(|(id, _)| is_dynamic(cx, **id)) {
        kernels_of.push((id, functions.iter().copied().filter(is_entry).collect()));
    }
    let mut together = DisjointSets::default();
    for (_, kernels) in &kernels_of {
        for pair in kernels.windows(2) {
            together.join(pair[0], pair[1]);
        }
    }
    let mut joint: Map<FunctionId, (u64, u64)> = Map::default();
    let kernels: Vec<FunctionId> = kernels_of.iter().flat_map(|(_, k)| k.iter().copied()).collect();
    for kernel in with_shared.iter().filter(|kernel| kernel.arrays.is_some()) {
        let (end, align) = joint.entry(together.find(kernel.function)).or_default();
        *end = (*end).max(kernel.size);
        *align = (*align).max(kernel.alignment(cx, kernel.size, common_align));
    }
    let rounds = cx.dialect.rounds_shared_with_arrays();
    let mut end_of = |kernel: FunctionId| {
        let &(end, align) = joint.get(&together.find(kernel))?;
        Some(align_up(end, if rounds { align } else { DYNAMIC_ALIGN }))
    };
    for (id, kernels) in kernels_of {
        let end = kernels.first().and_then(|k| end_of(*k)).unwrap_or(0);
        out.shared.dynamic_symbols.insert(id, end);
    }
    kernels.into_iter().filter_map(|kernel| Some((kernel, end_of(kernel)?))).collect()
}

/// Total size and largest alignment of the objects in each section. Quirks: sizes are summed
/// without regard to alignment, and a weak object still counts after a strong one replaced it.
fn static_extents(cx: Analysis<'_, '_>, merged: &Merged) -> Extents {
    let mut out = Extents::default();
    for (object, input) in cx.objects.enumerated() {
        for symbol in input.cubin.symbols().filter(|s| s.is_shared() && !s.is_undefined()) {
            let Some(id) = cx.resolution.id(object, symbol.index.0) else { continue };
            let at = SymbolRefId { object, symbol: symbol.index.0 };
            if let Some(place) = merged.placement(object, symbol.shndx)
                && cx.resolution.ever_selected(id, at)
            {
                let (size, align) = out.entry(place.section).or_default();
                *size = size.saturating_add(symbol.size);
                *align = (*align).max(input.shared_alignment(&symbol));
            }
        }
    }
    out
}

/// Quirk: a section no larger than its alignment grows by its alignment.
/// [`relocatable-shared-sizes`]
fn padded(size: u64, align: u64) -> (u64, u64) {
    (if size <= align { size.saturating_add(align) } else { size }, align)
}
