//! What is said about `-dlto` once machine code was found for all inputs.
//!
//! nvlink remarks on every input without LTO-IR, and ignores the option if there
//! is none with it (asked with objects, cubins, members of archives and host
//! objects).

use crate::diag::{Diagnostic, Diagnostics};
use crate::load::{Body, Loaded, Source, Step};
use crate::select::Selected;
use fatbin::Kind;
use std::collections::HashSet;

/// Adds the remarks.
pub fn remark(loaded: &Loaded<'_>, selected: &Selected<'_>, diagnostics: &mut Diagnostics) {
    let with_lto_ir: HashSet<&str> = loaded
        .steps()
        .iter()
        .filter_map(|step| match step {
            Step::Source(source) if has_lto_ir(source) => Some(source.name.as_str()),
            _ => None,
        })
        .collect();
    for input in &selected.inputs.images {
        if !input.system_library && !with_lto_ir.contains(input.name.as_str()) {
            diagnostics.push(Diagnostic::info(
                "not-lto",
                format_args!(
                    "requested LTO but '{}' not built for LTO so doing partial LTO",
                    input.name
                ),
            ));
        }
    }
    diagnostics.push(match with_lto_ir.is_empty() {
        true => Diagnostic::warning(
            "option-ignored",
            "Ignoring -dlto option because no LTO objects found",
        ),
        false => Diagnostic::warning("lto-unsupported", "linking machine code in place of LTO-IR")
            .note("warpld has no compiler; code is not optimised across files"),
    });
}

fn has_lto_ir(source: &Source<'_>) -> bool {
    let Body::Fatbins(containers) = &source.body else { return false };
    let entries = containers.iter().flat_map(|c| c.flat_entries().unwrap_or_default());
    entries.into_iter().any(|entry| entry.kind() == Kind::LTO_IR)
}
