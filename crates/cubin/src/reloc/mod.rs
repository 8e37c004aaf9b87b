//! Relocation kinds: names, who resolves them, and the bit fields they change.

mod kind;
mod table;

pub use table::RelocKind;

/// First number of the Mercury kinds.
pub const MERCURY_BASE: u32 = 0x10000;

/// How many `R_CUDA` kinds there are.
pub const CUDA_KINDS: usize = table::CUDA.len();

/// How many `R_MERCURY` kinds there are.
pub const MERCURY_KINDS: usize = table::MERCURY.len();

/// Bits 0-8 of the NOP of sm_70 and later (opcode 0x918), which the YIELD
/// kinds write over an opcode.
const NOP_OPCODE9: u64 = 0x118;

/// Who resolves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handler {
    /// Nothing to resolve.
    Nobody,
    /// Always the linker.
    Linker,
    /// Always the driver, at load time.
    Driver,
    /// The linker if it knows the value, otherwise the driver.
    Either,
    /// The finalizer of Mercury code.
    Finalizer,
}

/// What is inserted into a field, before the shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Symbol plus addend.
    Address,
    /// Its generic (window-based) address.
    Generic,
    /// Index of a texture, sampler or surface header.
    Header,
    HardwareDescriptor,
    HardwareSoftwareDescriptor,
    /// Texture, sampler or surface slot.
    Slot,
    /// Number of the symbol's constant bank.
    Bank,
    Function,
    FunctionAddress,
    /// Symbol plus addend minus the relocation's address.
    PcRelative,
    /// A whole instruction.
    Instruction,
    /// The opcode of a NOP.
    Opcode,
    Zero,
    /// Address through the unified tables.
    Unified,
}

/// A bit field: `width` bits starting at bit `start` of the relocated bytes receive the value
/// shifted right by `shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    pub start: u8,
    pub width: u8,
    pub value: Value,
    pub shift: u8,
}

/// The properties of a relocation kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelocInfo {
    /// Full name, `R_CUDA_ABS32_LO_32`.
    pub name: &'static str,
    pub handler: Handler,
    /// The fields it patches, counted from bit 0 of the byte at `r_offset`.
    pub fields: &'static [Field],
}

impl RelocInfo {
    /// Number of bytes that the fields extend over.
    pub const fn span(&self) -> usize {
        span(self.fields)
    }
}

/// The properties of an `R_CUDA` kind.
#[inline]
pub const fn cuda(kind: RelocKind) -> Option<&'static RelocInfo> {
    row(&table::CUDA, kind, 0)
}

/// The properties of an `R_MERCURY` kind.
#[inline]
pub const fn mercury(kind: RelocKind) -> Option<&'static RelocInfo> {
    row(&table::MERCURY, kind, MERCURY_BASE)
}

/// The row of a kind in a table whose first kind is `first`.
#[inline]
const fn row(table: &[RelocInfo], kind: RelocKind, first: u32) -> Option<&RelocInfo> {
    let index = kind.0.wrapping_sub(first) as usize;
    if index < table.len() { Some(&table[index]) } else { None }
}

/// Why bytes were not patched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The fields extend past the end of the section.
    #[error("relocation reaches {needed} bytes into a place of {available}")]
    PastEnd { needed: usize, available: usize },
    /// Only the driver can know what to insert.
    #[error("relocation replaces a whole instruction")]
    Instruction,
}

/// Number of bytes that `fields` extend over.
pub const fn span(fields: &[Field]) -> usize {
    let (mut bytes, mut rest) = (0, fields);
    while let [first, others @ ..] = rest {
        let end = (first.start as usize + first.width as usize).div_ceil(8);
        bytes = if end > bytes { end } else { bytes };
        rest = others;
    }
    bytes
}

/// Inserts `value` (and `bank`) into the bit fields of `bytes`, which start at the relocation's
/// offset. Bits outside the fields do not change; nothing changes on error. Values are truncated to
/// the field, as in nvlink.
pub fn patch(fields: &[Field], bytes: &mut [u8], value: u64, bank: u32) -> Result<(), PatchError> {
    write(fields, bytes, value, bank, false)
}

/// The same for an entry without an addend (REL): the value, or the bank, is added to the contents
/// of each field, modulo its width.
pub fn patch_adding(
    fields: &[Field],
    bytes: &mut [u8],
    value: u64,
    bank: u32,
) -> Result<(), PatchError> {
    write(fields, bytes, value, bank, true)
}

fn write(
    fields: &[Field],
    bytes: &mut [u8],
    value: u64,
    bank: u32,
    add: bool,
) -> Result<(), PatchError> {
    if !add && write_word(fields, bytes, value) {
        return Ok(());
    }
    let mut word = load(fields, bytes)?;
    if fields.iter().any(|f| f.value == Value::Instruction) {
        return Err(PatchError::Instruction);
    }
    for f in fields {
        let held = (word >> f.start) & mask(f.width);
        let (number, held) = match f.value {
            Value::Bank => (bank.into(), held),
            Value::Zero => (0, 0),
            Value::Opcode => (NOP_OPCODE9, 0),
            _ => (value, held),
        };
        let base = if add { held } else { 0 };
        let mask = mask(f.width) << f.start;
        let number = u128::from(number.checked_shr(f.shift.into()).unwrap_or(0));
        word = (word & !mask) | (number.wrapping_add(base) << f.start & mask);
    }
    let size = span(fields);
    bytes[..size].copy_from_slice(&word.to_le_bytes()[..size]);
    Ok(())
}

/// Writes a value that takes a whole word, as in nearly all debug data; returns `false` for other
/// fields.
#[inline]
fn write_word(fields: &[Field], bytes: &mut [u8], value: u64) -> bool {
    let &[Field { start: 0, width, value: what, shift: 0 }] = fields else { return false };
    let value = match what {
        Value::Address => value,
        Value::Zero => 0,
        _ => return false,
    };
    match width {
        32 => bytes.first_chunk_mut().map(|word| *word = (value as u32).to_le_bytes()).is_some(),
        64 => bytes.first_chunk_mut().map(|word| *word = value.to_le_bytes()).is_some(),
        _ => false,
    }
}

/// The contents of the first field. nvlink uses it as the addend when it converts a REL entry to
/// RELA.
pub fn held(fields: &[Field], bytes: &[u8]) -> Result<u64, PatchError> {
    let word = load(fields, bytes)?;
    Ok(fields.first().map_or(0, |f| ((word >> f.start) & mask(f.width)) as u64))
}

/// The value in the fields (the implicit addend of a REL entry): each field shifted back to its
/// position in the value. Bank and constant fields hold no address and are skipped.
pub fn extract(fields: &[Field], bytes: &[u8]) -> Result<u64, PatchError> {
    let word = load(fields, bytes)?;
    let mut value = 0;
    for f in fields {
        if !matches!(f.value, Value::Bank | Value::Zero | Value::Opcode | Value::Instruction) {
            let bits = ((word >> f.start) & mask(f.width)) as u64;
            value |= bits.checked_shl(f.shift.into()).unwrap_or(0);
        }
    }
    Ok(value)
}

/// The bytes that the fields extend over, at most 16, as a little-endian number.
fn load(fields: &[Field], bytes: &[u8]) -> Result<u128, PatchError> {
    let needed = span(fields);
    let mut buffer = [0; 16];
    match (bytes.get(..needed), buffer.get_mut(..needed)) {
        (Some(from), Some(to)) => to.copy_from_slice(from),
        _ => return Err(PatchError::PastEnd { needed, available: bytes.len().min(16) }),
    }
    Ok(u128::from_le_bytes(buffer))
}

fn mask(width: u8) -> u128 {
    1_u128.checked_shl(width.into()).map_or(u128::MAX, |bit| bit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_fits_an_instruction() {
        for n in (0..117).chain(MERCURY_BASE..MERCURY_BASE + 64) {
            let t = RelocKind(n).info().unwrap();
            assert!(t.span() <= 16, "{}", t.name);
            for (i, a) in t.fields.iter().enumerate() {
                for b in &t.fields[i + 1..] {
                    assert!(a.start + a.width <= b.start || b.start + b.width <= a.start);
                }
            }
        }
        assert_eq!(cuda(RelocKind(117)), None);
        assert_eq!(mercury(RelocKind(116)), None);
    }

    #[test]
    fn constant_field_holds_offset_and_bank() {
        let mut bytes = [0xff; 16];
        patch(cuda(RelocKind::CUDA_CONST_FIELD19_40).unwrap().fields, &mut bytes, 0x128, 3)
            .unwrap();
        let word = u128::from_le_bytes(bytes);
        assert_eq!((word >> 40) & 0x7ffff, (0x128 >> 2) | (3 << 14));
        assert_eq!(word | (0x7ffff << 40), u128::MAX);
        assert_eq!(
            extract(cuda(RelocKind::CUDA_CONST_FIELD19_40).unwrap().fields, &bytes),
            Ok(0x128)
        );
    }

    #[test]
    fn split_call_target() {
        let target = 0x0123_4567_89ab_cdec_u64 & ((1 << 57) - 1) & !3;
        let mut bytes = [0; 16];
        patch(cuda(RelocKind::CUDA_ABS55_16_34).unwrap().fields, &mut bytes, target, 0).unwrap();
        assert_eq!(extract(cuda(RelocKind::CUDA_ABS55_16_34).unwrap().fields, &bytes), Ok(target));
        let word = u128::from_le_bytes(bytes);
        assert_eq!((word >> 16) & 0xff, u128::from((target >> 2) & 0xff));
    }

    #[test]
    fn whole_words_are_written_and_nothing_beside_them() {
        let value = 0x0123_4567_89ab_cdef_u64;
        for (kind, expected) in [
            (RelocKind::CUDA_32, 0x89ab_cdef_u64),
            (RelocKind::CUDA_64, value),
            (RelocKind::CUDA_UNUSED_CLEAR32, 0),
            (RelocKind::CUDA_UNUSED_CLEAR64, 0),
        ] {
            let size = cuda(kind).unwrap().span();
            let mut bytes = [0xff; 16];
            patch(cuda(kind).unwrap().fields, &mut bytes, value, 3).unwrap();
            assert_eq!(bytes[..size], expected.to_le_bytes()[..size]);
            assert!(bytes[size..].iter().all(|byte| *byte == 0xff));
        }
    }

    #[test]
    fn short_places_are_refused_and_left_alone() {
        let mut bytes = [7; 7];
        let error = patch(cuda(RelocKind::CUDA_64).unwrap().fields, &mut bytes, 1, 0).unwrap_err();
        assert_eq!(error, PatchError::PastEnd { needed: 8, available: 7 });
        assert_eq!(bytes, [7; 7]);
        assert_eq!(
            patch(cuda(RelocKind::CUDA_INSTRUCTION128).unwrap().fields, &mut [0; 16], 1, 0),
            Err(PatchError::Instruction)
        );
    }
}
