//! Links of capsule files (sm_100 on): the file with two halves.

mod side;

pub use side::side;

use crate::diag::Diagnostic;
use crate::finalize::Parts;

/// Writes both halves.
pub fn write(_parts: Parts<'_, '_>) -> Result<Vec<u8>, Diagnostic> {
    Err(Diagnostic::fatal("unsupported-target", "Mercury code cannot be linked yet"))
}
