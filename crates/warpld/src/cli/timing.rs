//! `--time`: a table of comma-separated values.

use std::fs::OpenOptions;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

const HEADER: &str = "source file name , phase name , phase input files , phase output file , \
                      arch , tool, metric , unit\n";

/// Opens the table before the link, as nvlink does. A new or empty file and
/// standard output get the header. Only phases that run a compiler have rows,
/// and a plain link has none.
pub fn begin(path: &Path) -> io::Result<()> {
    if path.as_os_str() == "-" {
        return io::stdout().lock().write_all(HEADER.as_bytes());
    }
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    if file.seek(SeekFrom::End(0))? == 0 {
        file.write_all(HEADER.as_bytes())?;
    }
    Ok(())
}
