//! Relocation types that are known by number.

#![allow(missing_docs)]

use crate::config::Config;
use crate::dialect::Half;
use cubin::reloc::{self, Handler, RelocType};

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

/// What is asked about the types of relocations, again and again.
pub(super) struct Kinds {
    /// The number of the first type.
    first: u32,
    facts: Vec<Facts>,
}

/// What is asked about one type.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    /// Whether the linker applies it.
    pub ours: bool,
    pub clears: bool,
    pub yields: bool,
    /// Bytes from the place that are changed.
    pub span: u8,
    /// The type of a relocation that stays.
    pub kept: u32,
}

impl Kinds {
    /// The types of one half of the inputs.
    pub fn new(config: &Config, half: Half) -> Self {
        let (first, table): (u32, fn(u32) -> Option<&'static RelocType>) = match half {
            Half::Mercury => (reloc::MERCURY_BASE, reloc::mercury),
            Half::Machine => (0, reloc::cuda),
        };
        let facts = |number| {
            let known = table(number)?;
            Some(Facts {
                ours: matches!(known.handler, Handler::Linker | Handler::Either),
                clears: clears(number),
                yields: yields(number),
                span: known.span() as u8,
                kept: final_kind(config, number),
            })
        };
        Self { first, facts: (first..).map_while(facts).collect() }
    }

    /// What is known of a type, if that half can have it.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Facts> {
        self.facts.get(number.checked_sub(self.first)? as usize)
    }
}

/// Unified-table types become their plain counterparts in an executable without an
/// index of unified symbols.
pub fn final_kind(config: &Config, number: u32) -> u32 {
    if config.relocatable || config.uidx.is_some() {
        return number;
    }
    match number {
        UNIFIED => R64,
        UNIFIED_32 => R32,
        UNIFIED_8_0..=UNIFIED_8_56 => number - UNIFIED_8_0 + R8_0,
        UNIFIED32_LO_32 => ABS32_LO_32,
        UNIFIED32_HI_32 => ABS32_HI_32,
        MERCURY_UNIFIED => MERCURY_ABS64,
        MERCURY_UNIFIED_32 => MERCURY_ABS32,
        MERCURY_UNIFIED_8_0..=MERCURY_UNIFIED_8_56 => number - MERCURY_UNIFIED_8_0 + MERCURY_8_0,
        MERCURY_UNIFIED32_LO => MERCURY_ABS32_LO,
        MERCURY_UNIFIED32_HI => MERCURY_ABS32_HI,
        _ => number,
    }
}
