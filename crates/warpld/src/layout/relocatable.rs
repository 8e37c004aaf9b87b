//! Shared memory in a relocatable output: nothing is placed yet, but sections
//! get their sizes and each kernel that uses a dynamic array gets an instance
//! of it.

use super::Layout;
use crate::callgraph::FunctionId;
use crate::merge::{Context, Merged, SectionId, align_up};
use crate::object::is_shared;
use crate::resolve::SymbolId;
use hashbrown::{HashMap, HashSet};

/// Kernels with an instance of a dynamic array, and where it starts.
#[derive(Debug, Default)]
pub struct Instances {
    /// Start of the array, by kernel.
    pub start_of: HashMap<FunctionId, u64, foldhash::fast::FixedState>,
}

/// Alignment of dynamic arrays.
const DYNAMIC_ALIGN: u64 = 16;

/// Functions whose own code refers to a dynamic array.
pub fn dynamic_users(cx: Context<'_, '_>) -> HashSet<FunctionId, foldhash::fast::FixedState> {
    let dynamic = cx.mentions.by_symbol.iter().filter(|(id, _)| is_dynamic(cx, **id));
    dynamic.flat_map(|(_, functions)| functions.iter().copied()).collect()
}

fn is_dynamic(cx: Context<'_, '_>, id: SymbolId) -> bool {
    let symbol = cx.resolution.get(id);
    symbol.definition.is_none() && cx.input_symbol(symbol.first).is_some_and(|s| is_shared(&s))
}

/// Sizes of shared-memory sections.
pub fn layout_shared(cx: Context<'_, '_>, merged: &Merged, out: &mut Layout) {
    for &function in merged.instances.keys() {
        if let Some(section) = merged.function_sections[function.0 as usize].shared {
            let start = align_up(merged.section(section).size, DYNAMIC_ALIGN);
            out.instances.start_of.insert(function, start);
        }
    }
    for &function in &merged.function_order {
        let Some(section) = merged.function_sections[function.0 as usize].shared else { continue };
        let instance = out.instances.start_of.contains_key(&function);
        resize(merged, section, instance, out);
    }
    if let Some(section) = merged.common_shared {
        let count = cx.resolution.symbols.len() as u32;
        let declared = (0..count).any(|i| is_dynamic(cx, SymbolId(i)));
        let (size, align) = padded(
            merged.section(section).size,
            merged.section(section).align.max(if declared { DYNAMIC_ALIGN } else { 0 }),
        );
        out.extents.insert(section, (size, align));
    }
}

fn resize(merged: &Merged, section: SectionId, instance: bool, out: &mut Layout) {
    let (size, align) = (merged.section(section).size, merged.section(section).align);
    if instance {
        let (size, align) = padded(size, align.max(DYNAMIC_ALIGN));
        out.extents.insert(section, (align_up(size, DYNAMIC_ALIGN), align));
    } else if size > 0 {
        out.extents.insert(section, padded(size, align));
    }
}

/// Quirk: a section no larger than its alignment grows by its alignment.
fn padded(size: u64, align: u64) -> (u64, u64) {
    (if size <= align { size + align } else { size }, align)
}
