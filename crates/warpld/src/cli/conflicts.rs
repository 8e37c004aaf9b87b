//! Outputs that would replace an input or one another. Not looked for under nvlink's name: nvlink
//! replaces its inputs when told so.

use crate::options::{LinkSettings, Place};
use libwarpld::{Code, Diagnostic};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// With more inputs than this, only those that have the name of an output are looked at: a link of
/// ten thousand objects is not to ask for the state of each.
const FEW_INPUTS: usize = 64;

/// Fails if an output is an input or another output.
pub(super) fn check(settings: &LinkSettings) -> Result<(), Diagnostic> {
    let output = settings.output.as_deref();
    let hash = match &settings.input_hash {
        Some(Place::File(path)) => Some(path.as_path()),
        _ => None,
    };
    let outputs = output.into_iter().chain(settings.side.files()).chain(hash);
    let outputs: Vec<&Path> = outputs.collect();
    for (at, output) in outputs.iter().enumerate() {
        if outputs.iter().take(at).any(|other| is_same_place(other, output)) {
            return Err(conflict(output, "another output of this link"));
        }
        // Nothing that does not exist is an input, and devices are not replaced.
        let Ok(found) = fs::metadata(output) else { continue };
        if found.is_file() && is_input(output, &found, settings) {
            return Err(conflict(output, "an input of this link"));
        }
    }
    Ok(())
}

fn conflict(output: &Path, what: &str) -> Diagnostic {
    let message = format!("Output file '{}' is also {what}", output.display());
    Diagnostic::fatal(Code::OutputConflict, message).note("give the output another name")
}

fn is_input(output: &Path, found: &Metadata, settings: &LinkSettings) -> bool {
    let all = settings.inputs.len() <= FEW_INPUTS || has_other_names(output, found);
    let files = settings.inputs.iter().chain(&settings.uidx).chain(&settings.nv_host);
    let mut likely = files.filter(|input| all || input.file_name() == output.file_name());
    likely.any(|input| fs::metadata(input).is_ok_and(|input| is_same_file(&input, found)))
}

/// Whether two names are of one file, which need not exist yet.
fn is_same_place(a: &Path, b: &Path) -> bool {
    if a == Path::new("-") || b == Path::new("-") {
        return false;
    }
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.is_file() && is_same_file(&a, &b),
        (Err(_), Err(_)) => place(a) == place(b),
        _ => false,
    }
}

/// The folder, as the system names it, and the name in it.
fn place(path: &Path) -> (Option<PathBuf>, Option<&std::ffi::OsStr>) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    (fs::canonicalize(folder.unwrap_or(Path::new("."))).ok(), path.file_name())
}

#[cfg(unix)]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Whether a file may be an input under another name.
#[cfg(unix)]
fn has_other_names(output: &Path, found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    found.nlink() > 1 || fs::symlink_metadata(output).is_ok_and(|meta| meta.is_symlink())
}

/// Elsewhere files are told apart by size and time.
#[cfg(not(unix))]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len() && a.modified().ok() == b.modified().ok()
}

#[cfg(not(unix))]
fn has_other_names(_: &Path, _: &Metadata) -> bool {
    false
}
