//! What a relocation kind does.

use super::table::{self, RelocKind};
use super::{Handler, MERCURY_BASE, RelocInfo, cuda, mercury};
use std::fmt;

// The kinds for one byte of an address through the unified tables.
const CUDA_FIRST_BYTE: u32 = RelocKind::CUDA_UNIFIED_8_0.0;
const CUDA_LAST_BYTE: u32 = RelocKind::CUDA_UNIFIED_8_56.0;
const MERCURY_FIRST_BYTE: u32 = RelocKind::MERCURY_UNIFIED_8_0.0;
const MERCURY_LAST_BYTE: u32 = RelocKind::MERCURY_UNIFIED_8_56.0;

impl RelocKind {
    /// Its row in either table.
    #[inline]
    pub const fn info(self) -> Option<&'static RelocInfo> {
        if self.is_mercury() { mercury(self) } else { cuda(self) }
    }

    /// Its full name, `R_CUDA_ABS32_LO_32`.
    pub fn name(self) -> Option<&'static str> {
        Some(self.info()?.name)
    }

    /// The kind with this full name.
    pub fn from_name(name: &str) -> Option<Self> {
        let position = |table: &[RelocInfo]| table.iter().position(|known| known.name == name);
        let cuda = position(&table::CUDA).map(|n| n as u32);
        cuda.or_else(|| Some(MERCURY_BASE + position(&table::MERCURY)? as u32)).map(Self)
    }

    /// Whether Mercury code has it.
    #[inline]
    pub const fn is_mercury(self) -> bool {
        self.0 >= MERCURY_BASE
    }

    /// Whether a linker applies it if the value is known.
    pub const fn linker_applies(self) -> bool {
        match self.info() {
            Some(known) => matches!(known.handler, Handler::Linker | Handler::Either),
            None => false,
        }
    }

    /// Whether it clears its field if the code it refers to was removed.
    #[inline]
    pub const fn clears_unused(self) -> bool {
        matches!(
            self,
            Self::CUDA_UNUSED_CLEAR32 | Self::CUDA_UNUSED_CLEAR64 | Self::MERCURY_UNUSED_CLEAR64
        )
    }

    /// Whether it replaces a yielding instruction with a NOP.
    #[inline]
    pub const fn removes_yield(self) -> bool {
        matches!(self, Self::CUDA_YIELD_OPCODE9_0 | Self::CUDA_YIELD_CLEAR_PRED4_87)
    }

    /// The kind that inserts an ordinary address where this one inserts an address through the
    /// unified tables; for all other kinds, the kind itself.
    pub const fn without_unified_table(self) -> Self {
        match self {
            Self::CUDA_UNIFIED => Self::CUDA_64,
            Self::CUDA_UNIFIED_32 => Self::CUDA_32,
            Self::CUDA_UNIFIED32_LO_32 => Self::CUDA_ABS32_LO_32,
            Self::CUDA_UNIFIED32_HI_32 => Self::CUDA_ABS32_HI_32,
            Self::MERCURY_UNIFIED => Self::MERCURY_ABS64,
            Self::MERCURY_UNIFIED_32 => Self::MERCURY_ABS32,
            Self::MERCURY_UNIFIED32_LO => Self::MERCURY_ABS32_LO,
            Self::MERCURY_UNIFIED32_HI => Self::MERCURY_ABS32_HI,
            Self(CUDA_FIRST_BYTE..=CUDA_LAST_BYTE) => {
                Self(self.0 - CUDA_FIRST_BYTE + Self::CUDA_8_0.0)
            }
            Self(MERCURY_FIRST_BYTE..=MERCURY_LAST_BYTE) => {
                Self(self.0 - MERCURY_FIRST_BYTE + Self::MERCURY_8_0.0)
            }
            _ => self,
        }
    }
}

impl fmt::Debug for RelocKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "RelocKind({:#x})", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;

    fn all() -> impl Iterator<Item = RelocKind> {
        let numbers = 0..table::CUDA.len() as u32;
        numbers.chain((MERCURY_BASE..).take(table::MERCURY.len())).map(RelocKind)
    }

    #[test]
    fn constants_numbers_and_names_are_one() {
        assert_eq!(RelocKind::CUDA_ABS32_LO_32, RelocKind(56));
        assert_eq!(RelocKind::CUDA_ABS32_LO_32.name(), Some("R_CUDA_ABS32_LO_32"));
        assert_eq!(RelocKind(75).name(), Some("R_CUDA_ABS55_16_34"));
        assert_eq!(RelocKind(107).name(), Some("R_CUDA_UNIFIED_8_24"));
        assert_eq!(RelocKind(115).name(), Some("R_CUDA_CONST_FIELD22_37"));
        assert_eq!(RelocKind::MERCURY_ABS_PROG_REL64, RelocKind(0x1003d));
        for kind in all() {
            assert_eq!(kind.name().and_then(RelocKind::from_name), Some(kind));
        }
        assert_eq!(all().count(), 117 + 64);
        assert_eq!(format!("{:?}", RelocKind(117)), "RelocKind(0x75)");
        assert_eq!(RelocKind::from_name("R_CUDA_UNIFIED_16"), None);
    }

    #[test]
    fn kinds_through_the_unified_tables_have_a_plain_counterpart() {
        for kind in all() {
            let (known, plain) = (kind.info().unwrap(), kind.without_unified_table());
            let unified = known.fields.iter().any(|field| field.value == Value::Unified);
            assert_eq!(plain != kind, unified, "{kind:?}");
            // Both change the same bits, one with an ordinary address.
            let fields = plain.info().unwrap().fields.iter().zip(known.fields);
            for (plain, field) in fields.filter(|_| unified) {
                assert_eq!(plain.value, Value::Address, "{kind:?}");
                assert_eq!((plain.start, plain.width), (field.start, field.width), "{kind:?}");
                assert_eq!(plain.shift, field.shift, "{kind:?}");
            }
        }
    }

    #[test]
    fn kinds_that_clear_write_zeros() {
        for kind in all().filter(|kind| kind.clears_unused()) {
            assert!(kind.info().unwrap().fields.iter().all(|field| field.value == Value::Zero));
        }
        assert_eq!(all().filter(|kind| kind.clears_unused()).count(), 3);
        assert_eq!(all().filter(|kind| kind.removes_yield()).count(), 2);
    }
}
