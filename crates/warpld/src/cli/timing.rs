//! `--time`: a table of comma-separated values.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

const HEADER: &str = "source file name , phase name , phase input files , phase output file , \
                      arch , tool, metric , unit\n";

/// Opens the table before the link, as nvlink does. A new file and standard
/// output get the header; one that exists does not, even if it is empty. Only
/// phases that run a compiler have rows, and a plain link has none.
pub fn begin(path: &Path) -> io::Result<()> {
    if path.as_os_str() == "-" {
        return io::stdout().lock().write_all(HEADER.as_bytes());
    }
    let is_new = !path.exists();
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if is_new {
        file.write_all(HEADER.as_bytes())?;
    }
    Ok(())
}
