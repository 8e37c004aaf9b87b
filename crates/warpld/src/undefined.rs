//! References that nothing defines.

use crate::builtins::is_builtin_function;
use crate::diag::{Diagnostic, Diagnostics};
use crate::merge::{Context, List, Meaning, Merged};
use crate::object::{is_image, is_shared};
use crate::resolve::{Symbol, text};
use cubin::consts::sto;

/// Reports undefined symbols in output order.
pub fn check(cx: Context<'_, '_>, merged: &Merged, diags: &mut Diagnostics) {
    if cx.config.relocatable {
        return;
    }
    for symbol in merged.symbols.iter().filter(|s| s.list == List::Global) {
        let Meaning::Symbol(id) = symbol.meaning else { continue };
        let symbol = cx.resolution.get(id);
        if symbol.definition.is_none() && symbol.common.is_none() && !may_stay(cx, symbol) {
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
        || is_shared(&input)
        || symbol.name.starts_with(b"__UFT")
        || symbol.name.starts_with(b"__UDT")
        || symbol.name.starts_with(b".nv.reservedSmem")
        || (global && cx.config.allow_undefined_globals)
}
