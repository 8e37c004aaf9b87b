//! References that nothing defines.

use crate::builtins::is_builtin_function;
use crate::diag::{Diagnostic, Diagnostics};
use crate::merge::{Context, List, Meaning, Merged};
use crate::object::{is_dynamic_array, is_image, is_internal, is_shared, is_system_name};
use crate::resolve::{Symbol, SymbolId, text};
use cubin::consts::sto;

/// Reports undefined symbols in output order.
pub fn check(cx: Context<'_, '_>, merged: &Merged, diags: &mut Diagnostics) {
    if cx.config.relocatable {
        return;
    }
    let emitted = merged.symbols.iter().filter(|s| s.list() == List::Global);
    let emitted = emitted.filter_map(|symbol| match symbol.meaning() {
        Meaning::Symbol(id) => Some(id),
        _ => None,
    });
    let is_missing = |id: &SymbolId| {
        let symbol = cx.resolution.get(*id);
        symbol.definition.is_none() && symbol.common.is_none()
    };
    // Executables do not show shared memory, but somebody must define it.
    let shared = (0..cx.resolution.symbols.len() as u32).map(SymbolId);
    let shared = shared.filter(is_missing).filter(|&id| {
        let first = cx.input_symbol(cx.resolution.get(id).first);
        first.is_some_and(|s| is_shared(&s))
    });
    let mut ids: Vec<SymbolId> = emitted.filter(is_missing).chain(shared).collect();
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        let symbol = cx.resolution.get(id);
        if !may_stay(cx, symbol) {
            let file = cx.objects[symbol.first.object.0 as usize].name;
            let name = text(symbol.name);
            let message = format!("Undefined reference to '{name}' in '{file}'");
            diags.push(Diagnostic::error("undefined-symbol", message).about(name));
        }
    }
}

/// Names that the driver, or nobody, needs to define.
fn may_stay(cx: Context<'_, '_>, symbol: &Symbol<'_>) -> bool {
    if symbol.function {
        return is_builtin_function(symbol.name);
    }
    let Some(input) = cx.input_symbol(symbol.first) else { return false };
    let global = input.other & sto::SPACE == sto::GLOBAL;
    is_image(&input)
        || is_dynamic_array(&input)
        || is_shared(&input) && is_internal(&input)
        || symbol.name.starts_with(b"__UFT")
        || symbol.name.starts_with(b"__UDT")
        || is_system_name(symbol.name)
        || (global && cx.config.allow_undefined_globals)
}
