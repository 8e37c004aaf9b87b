//! Relocations of and against discarded definitions.

use super::{Resolution, Role};
use crate::ids::{ObjectId, SymbolId, SymbolRefId};
use crate::object::Object;
use cubin::consts::sto;
use cubin::names;
use cubin::{Binding, SymbolRef, SymbolType};

/// Whether constants drop their relocations against the symbol: if it is a discarded definition,
/// and, in all inputs before that of the better one, if it is a variable in global memory whose
/// weak definition is replaced.
/// [`constant-names-loser`, `tables-of-losers`, `constant-names-replaced`]
pub fn names_discarded_copy(
    resolution: &Resolution<'_>,
    object: ObjectId,
    symbol: &SymbolRef<'_>,
    id: SymbolId,
) -> bool {
    let at = SymbolRefId { object, symbol: symbol.index.0 };
    let defined = !symbol.is_undefined() && !symbol.is_common();
    match resolution.role(id, at, defined) {
        Role::Discarded => true,
        Role::Replaced | Role::Reference => {
            is_global(symbol) && is_replaced_after(resolution, id, object)
        }
        Role::Selected => false,
    }
}

/// Whether the symbol is a variable in global memory.
fn is_global(symbol: &SymbolRef<'_>) -> bool {
    symbol.kind() != SymbolType::FUNC && symbol.other & sto::SPACE == sto::GLOBAL
}

/// Whether an input after this one has a better definition.
fn is_replaced_after(resolution: &Resolution<'_>, id: SymbolId, object: ObjectId) -> bool {
    let definition = resolution.get(id).definition;
    resolution.replaced.contains_key(&id) && definition.is_some_and(|at| at.object > object)
}

/// Debug sections in which relocations against a discarded weak copy are dropped.
/// [`weak-lines`, `weak-debug`]
pub fn is_weak_sensitive_debug(target: &[u8]) -> bool {
    matches!(target, names::DEBUG_FRAME | names::DEBUG_LINE | names::NV_DEBUG_LINE_SASS)
}

/// Extents of weak variables that were discarded for another weak one: nvlink leaves their bytes in
/// `.nv.global.init` but drops their relocations. [`weak-table-loser`, `tables-of-losers`]
pub fn discarded_data(
    resolution: &Resolution<'_>,
    object: ObjectId,
    input: &Object<'_>,
    target: &[u8],
    section: u32,
) -> Vec<std::ops::Range<u64>> {
    if target != names::GLOBAL_INIT {
        return Vec::new();
    }
    let is_discarded = |symbol: &SymbolRef<'_>| {
        let at = SymbolRefId { object, symbol: symbol.index.0 };
        resolution.id(object, symbol.index.0).is_some_and(|id| {
            resolution.role(id, at, true) == Role::Discarded
                && resolution.get(id).binding == Binding::WEAK
        })
    };
    input
        .cubin
        .symbols()
        .filter(|s| s.shndx == section && !s.reserved && s.binding() == Binding::WEAK)
        .filter(is_discarded)
        .map(|s| s.value..s.value.saturating_add(s.size))
        .collect()
}
