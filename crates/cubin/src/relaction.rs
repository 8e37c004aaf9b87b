//! `.nv.rel.action`: recipes for relocation types that the driver may not know. The 64-bit number
//! of the first type, then one 8-byte recipe for each consecutive type.

use crate::reloc::{Field, RelocKind, Value};
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// One recipe: up to two bit fields.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct Action {
    /// 0 address, 1 generic address, 2 function descriptor.
    pub space: u8,
    /// 2 for the split 55-bit type, otherwise 0.
    pub pre_shift: u8,
    pub shift: u8,
    pub width: u8,
    pub start: u8,
    pub second_shift: u8,
    pub second_width: u8,
    pub second_start: u8,
}

/// The whole section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelActions<'a> {
    /// Number of the first type described.
    pub first: u64,
    /// Recipes of the types from `first` on.
    pub actions: &'a [Action],
}

/// The section's size is not that of a header and complete recipes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("relocation action section has {size} bytes, not a multiple of 8")]
pub struct BadSize {
    pub size: usize,
}

impl<'a> RelActions<'a> {
    /// Reads the section.
    pub fn parse(data: &'a [u8]) -> Result<Self, BadSize> {
        let bad = || BadSize { size: data.len() };
        let (first, rest) = U64::read_from_prefix(data).map_err(|_| bad())?;
        let actions = <[Action]>::ref_from_bytes(rest).map_err(|_| bad())?;
        Ok(Self { first: first.get(), actions })
    }

    /// The section's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.first.to_le_bytes().to_vec();
        out.extend_from_slice(self.actions.as_bytes());
        out
    }
}

/// The section that nvlink V13.0.88 writes: one recipe, for `CONST_FIELD22_37`. Drivers know all
/// other types.
pub fn linker_section() -> Vec<u8> {
    let first = RelocKind::CUDA_CONST_FIELD22_37;
    let action = first.info().map(|known| recipe(known.fields)).unwrap_or_default();
    RelActions { first: first.0.into(), actions: &[action] }.to_bytes()
}

/// The recipe for one type's fields.
fn recipe(fields: &[Field]) -> Action {
    let mut action = Action::default();
    if let Some(f) = fields.first() {
        action.space = match f.value {
            Value::Generic => 1,
            Value::Function | Value::FunctionAddress => 2,
            _ => 0,
        };
        (action.shift, action.width, action.start) = (f.shift, f.width, f.start);
    }
    if let Some(f) = fields.get(1) {
        (action.second_shift, action.second_width, action.second_start) =
            (f.shift, f.width, f.start);
    }
    action
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linker_section_as_seen_in_nvlink_outputs() {
        let bytes = linker_section();
        assert_eq!(bytes, [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 5, 0x36]);
        let parsed = RelActions::parse(&bytes).unwrap();
        assert_eq!(parsed.first, 115);
        assert_eq!(parsed.to_bytes(), bytes);
        assert!(RelActions::parse(&bytes[..12]).is_err());
        assert!(RelActions::parse(&[]).is_err());
    }
}
