//! The dialects of the device ELF, as data that the phases consult.

use crate::object::Side;
use cubin::Arch;

/// Facts that differ between targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    arch: Arch,
    side: Side,
}

impl Dialect {
    /// The dialect of a target.
    pub fn of(arch: Arch, side: Side) -> Self {
        Self { arch, side }
    }

    /// Whether the link works on the Mercury side of its inputs.
    pub fn is_mercury(self) -> bool {
        self.side == Side::Mercury
    }

    /// Name of a function's own bank 2, without the function.
    pub fn bank2_prefix(self) -> &'static [u8] {
        if self.is_mercury() { b".nv.constant.optimizer." } else { b".nv.constant2." }
    }

    /// sm_90 on: `.nv.compat`, RELA only, no register count in `sh_info`.
    fn since_sm_90(self) -> bool {
        self.arch.number >= 90
    }

    /// Whether files carry `.nv.compat`.
    pub fn has_compat(self) -> bool {
        self.since_sm_90()
    }

    /// Whether the high byte of a text section's `sh_info` is the register
    /// count of the function.
    pub fn registers_in_text_info(self) -> bool {
        !self.since_sm_90()
    }

    /// Shared memory that the system keeps at the start of each kernel's.
    pub fn reserved_shared(self) -> u64 {
        if self.since_sm_90() { 0x400 } else { 0 }
    }

    /// Whether a reached function without SPARSE_MMA_MASK counts as 0x8000.
    pub fn missing_sparse_mask_counts(self) -> bool {
        self.since_sm_90()
    }
}
