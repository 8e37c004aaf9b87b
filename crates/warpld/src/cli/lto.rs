//! Remarks about `-dlto` once machine code was found for all inputs.
//!
//! nvlink remarks on every input without LTO-IR, and ignores the option if no input has it (tested
//! with objects, cubins, archive members and host objects). If that warning counts as an error,
//! nvlink stops at once, unlike for any warning before it: the exit status is that of a fatal
//! error, unless there were errors already. [`-lto -Werror`, with and without an input for another
//! target]

use crate::render::Renderer;
use fatbin::Kind;
use libwarpld::Code;
use libwarpld::driver::{Body, Diagnostics, Loaded, Selected, Source, Step};
use libwarpld::{Diagnostic, Error, Severity};
use std::collections::HashSet;

/// Adds the remarks; fails if they end the link.
pub fn remark(
    loaded: &Loaded<'_>,
    selected: &Selected<'_>,
    renderer: &Renderer,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let is_error = |d: &Diagnostic| renderer.severity(d) >= Severity::Error;
    let had_errors = diagnostics.as_slice().iter().any(is_error);
    let with_lto_ir: HashSet<&str> = loaded
        .steps()
        .filter_map(|step| match step {
            Step::Source(source) if has_lto_ir(source) => Some(&*source.name),
            _ => None,
        })
        .collect();
    for input in &selected.inputs.images {
        if !input.system_library && !with_lto_ir.contains(&*input.name) {
            diagnostics.push(Diagnostic::info(
                Code::NotLto,
                format_args!(
                    "requested LTO but '{}' not built for LTO so doing partial LTO",
                    input.name
                ),
            ));
        }
    }
    if !with_lto_ir.is_empty() {
        let message = "linking machine code in place of LTO-IR";
        let note = "warpld has no compiler; code is not optimised across files";
        diagnostics.push(Diagnostic::warning(Code::LtoUnsupported, message).note(note));
        return Ok(());
    }
    let message = "Ignoring -dlto option because no LTO objects found";
    let ignored = Diagnostic::warning(Code::OptionIgnored, message);
    let stops = is_error(&ignored) && !had_errors;
    diagnostics.push(ignored);
    if stops { Err(diagnostics.fail(Diagnostic::merge_failed())) } else { Ok(()) }
}

fn has_lto_ir(source: &Source<'_>) -> bool {
    let Body::Fatbins(containers) = &source.body else { return false };
    let entries = containers.iter().flat_map(|c| c.flat_entries().unwrap_or_default());
    entries.into_iter().any(|entry| entry.kind() == Kind::LTO_IR)
}
