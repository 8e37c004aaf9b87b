//! Who uses shared memory and image references.
//!
//! The relocations of text sections determine who owns a shared object and which kernels need
//! handles; they are scanned once, in parallel. `merge` asks before it has created all sections and
//! `layout` afterwards: what both need is answered here.

mod images;
mod shared;
pub mod sort;

pub use images::ImageUsers;
pub use shared::{
    CodeOrder, SharedObject, SharedObjects, array_alignment, first_value, has_groups,
    is_declared_array, is_dynamic, is_orphan, shared_users, unplaced_value,
};

use crate::collections::{Map, Set};
use crate::context::Analysis;
use crate::ids::{FunctionId, ObjectId, SymbolId, SymbolRefId};
use crate::object::MergeClass;
use crate::resolve::Role;
use rayon::prelude::*;

/// Which functions refer to which shared symbols and image references.
#[derive(Debug, Default)]
pub struct Usage {
    /// Live functions, by symbol.
    pub by_symbol: Map<SymbolId, Vec<FunctionId>>,
    /// Symbols that any text relocation of any input refers to, including dead code but not
    /// discarded definitions.
    pub mentioned: Set<SymbolId>,
    /// The first dynamic array that the code of a live function refers to, with a number that
    /// tells which function comes first.
    pub first_array: Map<FunctionId, (u32, SymbolId)>,
}

impl Usage {
    /// The live functions that refer to a symbol.
    pub fn functions(&self, symbol: SymbolId) -> &[FunctionId] {
        self.by_symbol.get(&symbol).map_or(&[], |functions| functions)
    }

    /// Whether any code refers to textures, samplers or surfaces.
    pub fn mentions_images(&self, cx: Analysis<'_, '_>) -> bool {
        let first = |id: &SymbolId| cx.input_symbol(cx.resolution.get(*id).first);
        self.mentioned.iter().filter_map(first).any(|symbol| symbol.is_image())
    }
}

/// Scans the text relocations of all inputs for shared and image symbols.
pub fn collect(cx: Analysis<'_, '_>) -> Usage {
    let objects = (0..cx.objects.len()).into_par_iter().map(ObjectId::new);
    let per_object: Vec<Vec<(SymbolId, Option<FunctionId>)>> =
        objects.map(|object| scan(cx, object)).collect();
    let mut out = Usage::default();
    for (symbol, function) in per_object.into_iter().flatten() {
        out.mentioned.insert(symbol);
        if let Some(function) = function {
            out.by_symbol.entry(symbol).or_default().push(function);
            let number = out.first_array.len() as u32;
            if !out.first_array.contains_key(&function) && is_dynamic(cx, symbol) {
                out.first_array.insert(function, (number, symbol));
            }
        }
    }
    for functions in out.by_symbol.values_mut() {
        functions.sort_unstable();
        functions.dedup();
    }
    out
}

/// The shared and image symbols that the code of an input refers to, each with the function that
/// does so if it is live.
fn scan(cx: Analysis<'_, '_>, object: ObjectId) -> Vec<(SymbolId, Option<FunctionId>)> {
    let input = &cx.objects[object];
    let mut found = Vec::new();
    if !input.has_shared_or_images {
        return found;
    }
    let shared: Vec<bool> = input.cubin.symbols().map(|s| s.is_shared() || s.is_image()).collect();
    for (section, class) in input.of_class(|c| matches!(c, MergeClass::Reloc(_))) {
        let MergeClass::Reloc(target) = class else { continue };
        let MergeClass::Text(owner) = input.classes[target as usize] else { continue };
        let at = SymbolRefId { object, symbol: owner };
        let id = cx.resolution.id(object, owner);
        if id.is_some_and(|id| cx.resolution.role(id, at, true) != Role::Selected) {
            continue;
        }
        let function = id.and_then(|id| {
            let selected = cx.resolution.get(id).definition == Some(at);
            cx.graph.function(id).filter(|&f| selected && cx.reach.is_live(f))
        });
        let relocs = input.cubin.reloc_table(&section);
        for reloc in relocs.into_iter().flat_map(|relocs| relocs.iter()) {
            if shared.get(reloc.symbol.0 as usize) == Some(&true)
                && let Some(id) = cx.resolution.id(object, reloc.symbol.0)
                && found.last() != Some(&(id, function))
            {
                found.push((id, function));
            }
        }
    }
    found
}
