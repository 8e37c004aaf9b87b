//! Shared memory in a relocatable output: nothing has an offset yet, but sections get their sizes,
//! and each kernel that uses a dynamic array gets an instance of it.

use super::Layout;
use super::shared::{DYNAMIC_ALIGN, DisjointSets, compiler_layouts, ready_made_alignment};
use crate::align::align_up;
use crate::collections::{Map, Set};
use crate::context::Analysis;
use crate::ids::{FunctionId, SectionId, SymbolId, SymbolRefId};
use crate::merge::Merged;
use crate::usage::{Usage, is_dynamic, is_orphan};

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

/// Functions whose own code refers to a dynamic array.
fn dynamic_users(cx: Analysis<'_, '_>, usage: &Usage) -> Set<FunctionId> {
    let dynamic = usage.by_symbol.iter().filter(|(id, _)| is_dynamic(cx, **id));
    dynamic.flat_map(|(_, functions)| functions.iter().copied()).collect()
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
    let ends = match cx.config.is_debug_link() {
        true => joint_ends(cx, usage, merged, &extents, out),
        false => Map::default(),
    };
    let everywhere = declared && common_align >= DYNAMIC_ALIGN;
    let compiler_layouts = compiler_layouts(cx, merged);
    let mut null_value = None;
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
        let dynamic = users.contains(&function);
        let joint = ends.get(&function).copied();
        if dynamic {
            let start = joint.unwrap_or(align_up(size, DYNAMIC_ALIGN));
            out.instances.start_of.insert(function, start);
        }
        let size = joint.unwrap_or(0).max(size);
        out.instances.static_size.insert(section, size);
        // A section created late, only for the array, ignores the common alignment.
        let late = size == 0 && cx.reach.is_late(function);
        let align = if late { align } else { align.max(common_align) };
        let align = align.max(if dynamic { DYNAMIC_ALIGN } else { 0 });
        // Quirk: without objects it is kept only if its alignment is that of dynamic arrays.
        // [`relink-shared`]
        let kept = size > 0 || ready.is_some() || (dynamic || everywhere) && align == DYNAMIC_ALIGN;
        if kept {
            let (size, align) = padded(size, align);
            let size = if dynamic { align_up(size, DYNAMIC_ALIGN) } else { size };
            out.extents.insert(section, (size, align));
        }
    }
    out.null_value = null_value.unwrap_or(out.null_value);
}

/// For debuggers a dynamic array has one address: kernels whose own code uses one get the same end.
/// Functions do not count, because their callers are not known yet.
fn joint_ends(
    cx: Analysis<'_, '_>,
    usage: &Usage,
    merged: &Merged,
    extents: &Extents,
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
    let mut joint: Map<FunctionId, u64> = Map::default();
    let kernels: Vec<FunctionId> = kernels_of.iter().flat_map(|(_, k)| k.iter().copied()).collect();
    for &kernel in &kernels {
        let section = merged.function_sections[kernel].shared.get();
        let size = section.and_then(|s| extents.get(&s)).map_or(0, |(size, _)| *size);
        let end = joint.entry(together.find(kernel)).or_default();
        *end = (*end).max(align_up(size, DYNAMIC_ALIGN));
    }
    for (id, kernels) in kernels_of {
        let end = kernels.first().map_or(0, |k| joint[&together.find(*k)]);
        out.shared.dynamic_symbols.insert(id, end);
    }
    kernels.into_iter().map(|k| (k, joint[&together.find(k)])).collect()
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
