//! Outputs that would replace an input or one another. Not looked for under nvlink's name: nvlink
//! replaces its inputs when told so.

use crate::files::{FileKey, Files};
use crate::options::{LinkSettings, Place};
use libwarpld::{Code, Diagnostic};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// With more inputs than this, only those that have the name of an output are looked at: a link of
/// ten thousand objects is not to ask for the state of each.
const FEW_INPUTS: usize = 64;

/// Fails if an output is an input or another output.
pub(super) fn check(settings: &LinkSettings) -> Result<(), Diagnostic> {
    let outputs = outputs(settings);
    for (at, output) in outputs.iter().enumerate() {
        if outputs.iter().take(at).any(|other| is_same_place(other, output)) {
            return Err(conflict(output, "another output of this link"));
        }
        let named = settings.option_files.iter().chain(&settings.uidx).chain(&settings.nv_host);
        let files = settings.inputs.iter().chain(named).map(PathBuf::as_path);
        check_against(output, files, settings.inputs.len())?;
    }
    Ok(())
}

/// Fails if an output is a library that `-l` found or a member of a thin archive, which are known once the
/// files are open.
pub(super) fn check_found(settings: &LinkSettings, files: &Files) -> Result<(), Diagnostic> {
    for output in outputs(settings) {
        check_against(output, files.found().map(Path::new), files.found().count())?;
    }
    Ok(())
}

fn outputs(settings: &LinkSettings) -> Vec<&Path> {
    let hash = match &settings.input_hash {
        Some(Place::File(path)) => Some(path.as_path()),
        _ => None,
    };
    settings.output.as_deref().into_iter().chain(settings.side.files()).chain(hash).collect()
}

/// Fails if the output is one of `count` files.
fn check_against<'f>(
    output: &Path,
    mut files: impl Iterator<Item = &'f Path>,
    count: usize,
) -> Result<(), Diagnostic> {
    // Nothing that does not exist is an input, and devices are not replaced.
    let Some(metadata) = fs::metadata(output).ok().filter(Metadata::is_file) else { return Ok(()) };
    let all = count <= FEW_INPUTS || has_other_names(output, &metadata);
    let key = FileKey::of(output);
    let name = output.file_name().unwrap_or_default().as_encoded_bytes();
    // Taking every path apart would be slow.
    let may_be_output = |file: &Path| all || file.as_os_str().as_encoded_bytes().ends_with(name);
    let is_output = |file: &Path| may_be_output(file) && key.is_some() && FileKey::of(file) == key;
    match files.any(is_output) {
        true => Err(conflict(output, "an input of this link")),
        false => Ok(()),
    }
}

fn conflict(output: &Path, what: &str) -> Diagnostic {
    let message = format!("Output file '{}' is also {what}", output.display());
    Diagnostic::fatal(Code::OutputConflict, message).note("give the output another name")
}

/// Whether two names are of one file, which need not exist yet.
fn is_same_place(a: &Path, b: &Path) -> bool {
    if a == Path::new("-") || b == Path::new("-") {
        return false;
    }
    match (FileKey::of(a), FileKey::of(b)) {
        (Some(key), Some(other)) => key == other && a.is_file(),
        (None, None) => place(a) == place(b),
        _ => false,
    }
}

/// The folder, as the system names it, and the name in it.
fn place(path: &Path) -> (Option<PathBuf>, Option<&std::ffi::OsStr>) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    (fs::canonicalize(folder.unwrap_or(Path::new("."))).ok(), path.file_name())
}

/// Whether a file may be an input under another name.
#[cfg(unix)]
fn has_other_names(output: &Path, metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink() > 1 || fs::symlink_metadata(output).is_ok_and(|meta| meta.is_symlink())
}

#[cfg(not(unix))]
fn has_other_names(output: &Path, _: &Metadata) -> bool {
    fs::symlink_metadata(output).is_ok_and(|meta| meta.is_symlink())
}
