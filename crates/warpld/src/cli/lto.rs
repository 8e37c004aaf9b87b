//! `-dlto`: remarks once all inputs were chosen, and outputs that need no link.
//!
//! nvlink ignores the option if no input has LTO-IR (tested with objects, cubins, archive members
//! and host objects). If that warning counts as an error, nvlink stops at once, unlike for any
//! warning before it: the exit status is that of a fatal error, unless there were errors already.
//! [`-lto -Werror`, with and without an input for another target]

use super::output;
use crate::options::LinkSettings;
use crate::render::Renderer;
use fatbin::Kind;
use libwarpld::Code;
use libwarpld::compile::Compiler;
use libwarpld::driver::{Body, Diagnostics, Loaded, Selected, Source, Step};
use libwarpld::{Diagnostic, Error, Severity};
use warpld_compilers::ToolkitCompiler;

/// Adds the remarks; fails if they end the link.
pub fn remark(
    loaded: &Loaded<'_>,
    selected: &Selected<'_>,
    compiler: &ToolkitCompiler,
    renderer: &Renderer,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    if selected.lto {
        return Ok(());
    }
    let is_error = |d: &Diagnostic| renderer.severity(d) >= Severity::Error;
    let had_errors = diagnostics.as_slice().iter().any(is_error);
    let mut sources = loaded.steps().filter_map(|step| match step {
        Step::Source(source) => Some(source),
        _ => None,
    });
    if sources.any(has_lto_ir) && !compiler.compiles_lto() {
        let message = "linking machine code in place of LTO-IR";
        let note = "no compiler for it was found; code is not optimised across files";
        diagnostics.push(Diagnostic::warning(Code::LtoUnsupported, message).note(note));
        return Ok(());
    }
    let message = "Ignoring -dlto option because no LTO objects found";
    let ignored = Diagnostic::warning(Code::OptionIgnored, message);
    let stops = is_error(&ignored) && !had_errors;
    diagnostics.push(ignored);
    if stops { Err(diagnostics.fail(Diagnostic::merge_failed())) } else { Ok(()) }
}

/// Writes what link-time optimization came to.
pub fn write(settings: &LinkSettings, bytes: &[u8]) -> Result<(), Diagnostic> {
    match &settings.output {
        Some(path) => Ok(output::write_atomically(path, bytes)?),
        None => Ok(()),
    }
}

/// nvlink says so of a whole program after it has written it (`lto-no-device-runtime`).
pub fn no_system_library() -> Diagnostic {
    Diagnostic::fatal(Code::LtoFailed, "expected libcudadevrt object").note(
        "nvlink wants -lcudadevrt after all inputs that are optimized; the output is complete",
    )
}

fn has_lto_ir(source: &Source<'_>) -> bool {
    let Body::Fatbins(containers) = &source.body else { return false };
    let entries = containers.iter().flat_map(|c| c.flat_entries().unwrap_or_default());
    entries.into_iter().any(|entry| entry.kind() == Kind::LTO_IR)
}
