//! Looks for NVIDIA's library.

use super::functions::{Library, OpenError, this_file};
use std::path::PathBuf;
use warpld_compilers::toolkit::Search;

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
#[error("no libnvJitLink of NVIDIA's was found (looked in {})", looked_in.join(", "))]
pub struct FindError {
    /// All places.
    pub looked_in: Vec<String>,
    /// Files that are none, with the reason.
    pub refused: Vec<(PathBuf, OpenError)>,
}

/// Loads the first library of these major releases; the order of places is that of
/// [`Search::nvjitlink_files`]. It stays loaded until the process ends.
pub fn find(search: &Search, majors: &[u32]) -> Result<Library, FindError> {
    let this = this_file();
    let found = search.nvjitlink_files(majors, this.as_deref());
    let mut refused = Vec::new();
    for path in found.files {
        match Library::open(&path) {
            Ok(library) => return Ok(library),
            Err(error) => refused.push((path, error)),
        }
    }
    Err(FindError { looked_in: found.looked_in, refused })
}
