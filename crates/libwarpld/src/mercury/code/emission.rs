//! The file written anew from what was read.

use super::validate::Input;
use super::{BinaryKind, FinalizerConfig, FinalizerError};
use cubin::model::Image;

/// Writes the file anew. Machine code alone cannot be made of a linked file:
/// that is a matter of the link (`--binary-kind=sass`).
pub fn emit(input: &Input<'_>, config: &FinalizerConfig) -> Result<Vec<u8>, FinalizerError> {
    if config.binary_kind == BinaryKind::Sass {
        return Err(FinalizerError::NotEligible);
    }
    let damaged = |what: &dyn std::fmt::Display| FinalizerError::Damaged(what.to_string());
    let image = Image::from_cubin(&input.cubin).map_err(|e| damaged(&e))?;
    image.to_bytes().map_err(|e| damaged(&e))
}
