//! What differs between two device ELF files, in readable terms: header fields, sections, symbols,
//! relocations, attributes, notes, call graphs, and bytes with the function or variable they belong
//! to.
//!
//! References are compared by what they refer to, not by index: an extra section is one difference,
//! not one in every table after it.

mod bytes;
mod compare;
mod entries;
mod file;
mod list;
mod origin;
mod report;
mod tables;

use cubin::{Cubin, ReadError};
pub use origin::Input;
pub use report::{Area, Change, Difference, Report, Side};

/// What to compare.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'o, 'i> {
    /// Ignore the note of the tool that wrote each file, and what follows from its size.
    pub ignore_tool_note: bool,
    /// The inputs both files were linked from, to show where a differing byte comes from.
    pub inputs: &'o [Input<'i>],
}

/// A file that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source}")]
pub struct DiffError {
    /// Which of the two.
    pub side: Side,
    /// What is wrong with it.
    pub source: ReadError,
}

/// Compares two files. Files with equal bytes are the same whatever they are; others must be device
/// ELF files.
pub fn compare(a: &[u8], b: &[u8], options: &Options<'_, '_>) -> Result<Report, DiffError> {
    let mut report = Report { sizes: [a.len(), b.len()], differences: Vec::new() };
    if a == b {
        return Ok(report);
    }
    let parse = |data, side| Cubin::parse(data).map_err(|source| DiffError { side, source });
    let (a, b) = (parse(a, Side::A)?, parse(b, Side::B)?);
    report.differences = compare::Comparison::new(&a, &b, options).run();
    Ok(report)
}
