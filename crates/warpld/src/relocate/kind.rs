//! Relocation types that are known by number.

#![allow(missing_docs)]

pub const R32: u32 = 1;
pub const R64: u32 = 2;
pub const TEX_HEADER_INDEX: u32 = 6;
pub const SAMP_HEADER_INDEX: u32 = 7;
pub const SURF_HEADER_INDEX: u32 = 52;
pub const ABS32_32: u32 = 55;
pub const ABS32_LO_32: u32 = 56;
pub const ABS32_HI_32: u32 = 57;
pub const YIELD_OPCODE9_0: u32 = 68;
pub const YIELD_CLEAR_PRED4_87: u32 = 69;
pub const UNUSED_CLEAR32: u32 = 72;
pub const ABS24_40: u32 = 74;
pub const UNUSED_CLEAR64: u32 = 73;
pub const R8_0: u32 = 76;
pub const R8_32: u32 = 80;
pub const SAMP_HEADER_INDEX_0: u32 = 101;
pub const UNIFIED: u32 = 102;
pub const UNIFIED_32: u32 = 103;
pub const UNIFIED_8_0: u32 = 104;
pub const UNIFIED_8_56: u32 = 111;
pub const UNIFIED32_LO_32: u32 = 112;
pub const UNIFIED32_HI_32: u32 = 113;
pub const MERCURY_ABS64: u32 = 0x10002;
pub const MERCURY_ABS32: u32 = 0x10003;
pub const MERCURY_ABS32_LO: u32 = 0x10005;
pub const MERCURY_ABS32_HI: u32 = 0x10006;
pub const MERCURY_TEX_HEADER_INDEX: u32 = 0x1000b;
pub const MERCURY_SAMP_HEADER_INDEX: u32 = 0x1000c;
pub const MERCURY_SURF_HEADER_INDEX: u32 = 0x1000d;
pub const MERCURY_UNUSED_CLEAR64: u32 = 0x1000e;
pub const MERCURY_8_0: u32 = 0x10010;
pub const MERCURY_UNIFIED: u32 = 0x10032;
pub const MERCURY_UNIFIED_32: u32 = 0x10033;
pub const MERCURY_UNIFIED_8_0: u32 = 0x10034;
pub const MERCURY_UNIFIED_8_56: u32 = 0x1003b;
pub const MERCURY_UNIFIED32_LO: u32 = 0x1003e;
pub const MERCURY_UNIFIED32_HI: u32 = 0x1003f;

/// Whether the type clears its place if the code it names is gone.
pub fn clears(kind: u32) -> bool {
    matches!(kind, UNUSED_CLEAR32 | UNUSED_CLEAR64 | MERCURY_UNUSED_CLEAR64)
}

/// Whether the type changes instructions that yield, which no tool does any more.
pub fn yields(kind: u32) -> bool {
    matches!(kind, YIELD_OPCODE9_0 | YIELD_CLEAR_PRED4_87)
}
