//! Conditions that only the finished call graph can decide.

use crate::callgraph::FunctionId;
use crate::diag::{Diagnostic, Diagnostics};
use crate::merge::Context;
use crate::resolve::text;

/// `--extra-warnings`: functions whose address is taken though no indirect
/// call has their prototype.
pub fn uncalled(cx: Context<'_, '_>, diags: &mut Diagnostics) {
    let config = cx.config;
    if !config.extra_warnings || config.relocatable || config.debug {
        return;
    }
    let mut called = vec![false; cx.graph.prototypes.len()];
    for (_, prototype) in &cx.graph.indirect {
        if let Some(slot) = called.get_mut(prototype.0 as usize) {
            *slot = true;
        }
    }
    for (index, prototype) in cx.graph.address_taken.iter().enumerate() {
        let Some(prototype) = prototype else { continue };
        let symbol = cx.resolution.get(cx.graph.symbol(FunctionId(index as u32)));
        if symbol.entry || called.get(prototype.0 as usize) == Some(&true) {
            continue;
        }
        let name = text(symbol.name);
        diags.push(
            Diagnostic::warning(
                "never-called",
                format_args!("Function '{name}' has address taken but no calls to it found"),
            )
            .about(name.clone()),
        );
    }
}
