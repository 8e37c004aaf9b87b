//! Shared memory in a relocatable output: nothing is placed yet, but sections
//! get their sizes and each kernel that uses a dynamic array gets an instance
//! of it.

use super::Layout;
use super::shared::{DYNAMIC_ALIGN, is_dynamic, is_orphan};
use crate::callgraph::FunctionId;
use crate::merge::{Context, Merged, SectionId, align_up};
use crate::object::{ObjectId, is_shared};
use crate::resolve::{Sighting, SymbolId};
use hashbrown::{HashMap, HashSet};

/// Kernels with an instance of a dynamic array, and where it starts.
#[derive(Debug, Default)]
pub struct Instances {
    /// Start of the array, by kernel.
    pub start_of: HashMap<FunctionId, u64, foldhash::fast::FixedState>,
    /// Static size of each shared section.
    pub static_size: HashMap<SectionId, u64, foldhash::fast::FixedState>,
}

/// Functions whose own code refers to a dynamic array.
fn dynamic_users(cx: Context<'_, '_>) -> HashSet<FunctionId, foldhash::fast::FixedState> {
    let dynamic = cx.mentions.by_symbol.iter().filter(|(id, _)| is_dynamic(cx, **id));
    dynamic.flat_map(|(_, functions)| functions.iter().copied()).collect()
}

/// Sizes of shared-memory sections.
pub fn layout_shared(cx: Context<'_, '_>, merged: &Merged, out: &mut Layout) {
    let extents = static_extents(cx, merged);
    let extent = |section: SectionId| extents.get(&section).copied().unwrap_or((0, 0));
    let mut declared = (0..cx.resolution.symbols.len() as u32).map(SymbolId);
    let declared = declared.any(|id| is_dynamic(cx, id) || is_orphan(cx, id));
    let mut common_align = 0;
    if let Some(section) = merged.common_shared {
        let (size, align) = extent(section);
        common_align = align;
        let align = align.max(if declared { DYNAMIC_ALIGN } else { 0 });
        out.extents.insert(section, padded(size, align));
        out.instances.static_size.insert(section, size);
    }
    let users = dynamic_users(cx);
    let everywhere = declared && common_align >= DYNAMIC_ALIGN;
    for &function in &merged.function_order {
        let Some(section) = merged.function_sections[function.0 as usize].shared else { continue };
        let (size, align) = extent(section);
        out.instances.static_size.insert(section, size);
        let dynamic = users.contains(&function);
        if dynamic {
            out.instances.start_of.insert(function, align_up(size, DYNAMIC_ALIGN));
        }
        let align = align.max(common_align).max(if dynamic { DYNAMIC_ALIGN } else { 0 });
        // Quirk: without objects it is kept only if its alignment is that of
        // dynamic arrays.
        let kept = size > 0 || (dynamic || everywhere) && align == DYNAMIC_ALIGN;
        if kept {
            let (size, align) = padded(size, align);
            let size = if dynamic { align_up(size, DYNAMIC_ALIGN) } else { size };
            out.extents.insert(section, (size, align));
        }
    }
}

/// Total size and largest alignment of the objects in each section. Quirks: the
/// sizes are added up without regard to alignment, and a weak object still counts
/// after a strong one replaced it.
fn static_extents(
    cx: Context<'_, '_>,
    merged: &Merged,
) -> HashMap<SectionId, (u64, u64), foldhash::fast::FixedState> {
    let mut out: HashMap<SectionId, (u64, u64), foldhash::fast::FixedState> = HashMap::default();
    for (i, input) in cx.objects.iter().enumerate() {
        let object = ObjectId(i as u32);
        for symbol in input.cubin.symbols().filter(|s| is_shared(s) && !s.is_undefined()) {
            let Some(id) = cx.resolution.id(object, symbol.index.0) else { continue };
            let at = Sighting { object, symbol: symbol.index.0 };
            if let Some(place) = merged.placement(object, symbol.shndx)
                && cx.resolution.ever_selected(id, at)
            {
                let (size, align) = out.entry(place.section).or_default();
                *size = size.saturating_add(symbol.size);
                *align = (*align).max(symbol.value);
            }
        }
    }
    out
}

/// Quirk: a section no larger than its alignment grows by its alignment.
fn padded(size: u64, align: u64) -> (u64, u64) {
    (if size <= align { size.saturating_add(align) } else { size }, align)
}
