//! References that nothing defines.

use crate::builtins::is_builtin_function;
use crate::context::Analysis;
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ids::SymbolId;
use crate::merge::{List, Merged};
use crate::object::is_dynamic_array;
use crate::resolve::Symbol;
use cubin::consts::sto;
use cubin::names;
use rayon::prelude::*;

/// Reports undefined symbols in output order.
/// [`undefined`, `undefined-in-dead-code`, `undefined-globals-of-dead-code`]
pub fn check(cx: Analysis<'_, '_>, merged: &Merged, diags: &mut Diagnostics) {
    if cx.config.relocatable {
        return;
    }
    let is_emitted = |id: SymbolId| {
        let symbol = merged.symbol_of[id].get();
        symbol.is_some_and(|symbol| merged.symbols[symbol].list() == List::Global)
    };
    // Executables do not show shared memory, but somebody must define it.
    let is_in_shared =
        |symbol: &Symbol<'_>| cx.unnamed_symbol(symbol.first).is_some_and(|s| s.is_shared());
    let symbols = cx.resolution.symbols.par_iter().with_min_len(SYMBOLS_AT_ONCE).enumerate();
    let missing = symbols.filter(|(_, s)| s.definition.is_none() && s.common.is_none());
    let missing = missing.map(|(i, symbol)| (SymbolId::new(i), symbol));
    let missing = missing.filter(|&(id, symbol)| is_emitted(id) || is_in_shared(symbol));
    for (_, symbol) in missing.collect::<Vec<_>>() {
        if !may_stay(cx, symbol) {
            let file = cx.objects[symbol.first.object].name;
            let name = text(symbol.name);
            let message = format!("Undefined reference to '{name}' in '{file}'");
            diags.push(Diagnostic::error(Code::UndefinedSymbol, message).about(name));
        }
    }
}

/// Fewer are not worth another thread.
const SYMBOLS_AT_ONCE: usize = 1 << 12;

/// Names that the driver, or nobody, needs to define.
/// [`reserved-shared`, `texture-handles-filled`, `undefined-globals-allowed`]
fn may_stay(cx: Analysis<'_, '_>, symbol: &Symbol<'_>) -> bool {
    if symbol.function {
        return is_builtin_function(symbol.name);
    }
    let Some(input) = cx.input_symbol(symbol.first) else { return false };
    let global = input.other & sto::SPACE == sto::GLOBAL;
    input.is_image()
        || is_dynamic_array(&input)
        || input.is_shared() && input.is_internal()
        || names::symbol::is_of_unified_table(symbol.name)
        || names::symbol::is_system(symbol.name)
        || (global && cx.config.allow_undefined_globals)
}
