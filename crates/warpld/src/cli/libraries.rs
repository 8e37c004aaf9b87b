//! What is said about libraries that a link goes without. nvlink says nothing: libraries of the host
//! are passed to it, too.

use crate::files::Skipped;
use libwarpld::driver::{Diagnostics, shown};
use libwarpld::{Code, Diagnostic};

/// Lines of `--trace`.
pub(super) fn trace(skipped: &[Skipped]) -> String {
    skipped.iter().map(|library| format!("trace: {}\n", shown(&said(library)))).collect()
}

/// Adds notes to the first undefined symbol: what is missing may be in one of the libraries.
pub(super) fn explain(skipped: &[Skipped], diagnostics: &mut Diagnostics) {
    let is_undefined = |d: &&mut Diagnostic| d.code == Code::UndefinedSymbol;
    let mut list = diagnostics.as_mut_slice().iter_mut();
    if let Some(first) = list.find(is_undefined) {
        first.notes.extend(skipped.iter().map(said));
    }
}

fn said(skipped: &Skipped) -> String {
    let name = &skipped.library;
    match &skipped.hidden {
        None => format!("-l{name}: lib{name}.a was not found"),
        Some((shared, archive)) => format!(
            "-l{name}: '{}' was not linked because of '{}'",
            archive.display(),
            shared.display()
        ),
    }
}
