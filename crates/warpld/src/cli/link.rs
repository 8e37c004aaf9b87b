//! The link command: load, select, link, write.

use super::{Console, output, timing};
use crate::diag::{Diagnostic, Diagnostics};
use crate::options::LinkSettings;
use std::path::Path;

/// Carries out a link; returns the exit status.
pub fn link(settings: &LinkSettings, console: &mut Console) -> i32 {
    if let Err(stop) = run(settings, console) {
        console.print(&stop);
    }
    console.status()
}

fn run(settings: &LinkSettings, console: &mut Console) -> Result<(), Diagnostic> {
    prepare(settings)?;
    let _diagnostics = Diagnostics::default();
    let _ = (console, write_file as fn(&Path, &[u8]) -> _);
    Err(Diagnostic::fatal("internal", "the linker core is not connected yet"))
}

/// What nvlink checks before it looks at the inputs.
fn prepare(settings: &LinkSettings) -> Result<(), Diagnostic> {
    if let Some(path) = &settings.side.time {
        timing::begin(path).map_err(|error| {
            Diagnostic::fatal(
                "cannot-open-output",
                format_args!("Cannot open file '{}'", path.display()),
            )
            .note(error)
        })?;
    }
    if let Some(nvvm) = &settings.lto
        && !nvvm.join("lib64/libnvvm.so").exists()
    {
        return Err(Diagnostic::fatal("no-libnvvm", "elfLink linker library load error")
            .note(format_args!("'{}' does not exist", nvvm.join("lib64/libnvvm.so").display())));
    }
    for path in settings.nv_host.iter().chain(&settings.uidx) {
        if let Err(error) = std::fs::metadata(path) {
            let message = format!("Could not open input file '{}'", path.display());
            return Err(Diagnostic::fatal("cannot-open-input", message).note(error));
        }
    }
    if settings.uidx.is_some() {
        return Err(Diagnostic::fatal("bad-uidx", "Internal error: not uidx input"));
    }
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    output::write_atomically(path, bytes)
        .map_err(|error| Diagnostic::fatal(error.code(), &error).note(error.reason()))
}
