//! Facts about targets, by the number of the architecture.

use cubin::{Arch, Variant};

/// The address space of constants, on every target.
pub const MAX_CONSTANT: u64 = 0x10000;

/// Shared memory of a block, in bytes.
pub(super) fn shared_memory(number: u16) -> u64 {
    match number {
        75 => 0x10000,
        80 | 87 => 0x28c00,
        86 | 88 | 89 | 120 | 121 => 0x18c00,
        107 => 0x51c00,
        _ => 0x38c00,
    }
}

/// What kernels for an `a` target may have of it without asking for more.
pub(super) fn accelerated_shared_memory(number: u16) -> u64 {
    shared_memory(number).min(0x38c00)
}

/// The targets of CUDA 13.0.
pub(super) const CUDA_13_0: &[u16] = &[75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];

/// The targets of CUDA 13.4.
pub(super) const CUDA_13_4: &[u16] = &[75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121];

/// Numbers whose machine code is linked for later numbers, with those.
pub(super) type CarriesOver = &'static [(u16, &'static [u16])];

pub(super) const CARRIES_OVER_13_0: CarriesOver =
    &[(80, &[86, 89]), (86, &[89]), (100, &[103]), (120, &[121])];

pub(super) const CARRIES_OVER_13_2: CarriesOver = &[
    (80, &[86, 87, 88, 89]),
    (86, &[87, 88, 89]),
    (87, &[88, 89]),
    (88, &[89]),
    (100, &[103]),
    (120, &[121]),
];

pub(super) const CARRIES_OVER_13_4: CarriesOver = &[
    (80, &[86, 87, 88, 89]),
    (86, &[87, 88, 89]),
    (87, &[88, 89]),
    (88, &[89]),
    (100, &[103, 107]),
    (103, &[107]),
    (120, &[121]),
];

/// Whether there is a target of this number with this letter: `a` since sm_90, `f` since sm_100.
pub(super) fn has_variant(arch: Arch) -> bool {
    match arch.variant {
        Variant::Plain => true,
        Variant::Accelerated => has_accelerated(arch.number),
        Variant::Family => arch.number >= 100,
    }
}

/// Whether a number has an `a` target beside the plain one.
pub fn has_accelerated(number: u16) -> bool {
    number >= 90
}

/// Whether PTX or LTO-IR for `image` can be compiled for `target`.
pub fn ptx_fits(image: Arch, target: Arch) -> bool {
    let not_newer = image.number <= target.number;
    match image.variant {
        Variant::Plain => not_newer,
        Variant::Family => not_newer && image.number / 10 == target.number / 10,
        Variant::Accelerated => image == target,
    }
}

/// Whether objects for the target hold Mercury code, so that its links work on that half.
pub fn has_mercury(arch: Arch) -> bool {
    arch.is_mercury()
}

/// Whether objects must come from a toolkit that the release still links. Up to sm_89 nvlink
/// links files of CUDA 11.8, whatever version they name (`oldest-objects`).
pub fn asks_for_oldest_toolkit(arch: Arch) -> bool {
    arch.number >= 90
}

/// Whether `--preserve-relocs` comes with the warning that it is not complete.
pub fn warns_of_preserved_relocations(arch: Arch) -> bool {
    arch.number >= 90
}

/// Whether code for the architecture may name others of its family that it runs on.
pub(super) fn is_first_of_family(number: u16) -> bool {
    matches!(number, 100 | 120)
}

/// Whether compilers reserve a scoreboard for operands of tensor cores in double precision.
/// [all 3,735 DMMA of CUTLASS that set one: the fourth on sm_120 and sm_121, any on sm_100 and sm_103]
pub(super) fn reserves_matrix_operands(number: u16) -> bool {
    matches!(number, 120 | 121)
}

/// Whether double precision has few units: where scoreboards are chosen, its conversions (F2F, F2I) count as one cycle and not
/// as 17 or 18, results of DMMA as 64 and not as 15. [1,200 random kernels of 13.4 with jump tables: for sm_120 this
/// leaves 9 choices unexplained, otherwise 45; for sm_100 30, otherwise 13. With DMMA, 1,000 kernels: 64 cycles or 15 leave
/// 17 and 22, for sm_100 37 and 29]
pub(super) fn has_few_double_units(number: u16) -> bool {
    matches!(number, 120 | 121)
}

/// Whether fences take a fixed time. [`fences-call-free`: nobody waits for a MEMBAR on sm_120 and sm_121]
pub(super) fn has_timed_fences(number: u16) -> bool {
    matches!(number, 120 | 121)
}

/// Whether executables have the attribute 0x67.
pub(super) fn has_attribute_67(number: u16) -> bool {
    number == 107
}

/// The bits of CAN_FASTPATH_FINALIZE of all members of the family whose first this is.
pub(super) fn family(number: u16) -> u64 {
    match number {
        100 => 0x09,
        120 => 0x50,
        _ => 0,
    }
}

/// The bits of CAN_FASTPATH_FINALIZE that code without the attribute stands for.
pub(super) fn undeclared_targets(number: u16) -> u64 {
    match number {
        100 => 0x01,
        120 => 0x50,
        _ => 0,
    }
}

/// Whether Mercury code for one number can be linked for another as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MercuryFit {
    /// Never.
    Never,
    /// If it declares itself fit: what has double precision must be scheduled anew for sm_103.
    IfDeclared,
    /// All of it can.
    Always,
}

/// Whether Mercury code for the number `from` can be linked for `to`.
/// [a full matrix of links: docs/mercury.md]
pub fn mercury_fits(from: u16, to: u16) -> MercuryFit {
    match (remapped(from), remapped(to)) {
        (from, to) if from == to => MercuryFit::Always,
        (120, 121) => MercuryFit::Always,
        (100, 103) => MercuryFit::IfDeclared,
        _ => MercuryFit::Never,
    }
}

/// Numbers that stand for another. None is a target of nvlink 13.0, so the
/// remaps cannot be seen from outside; they are kept for objects of other tools.
fn remapped(number: u16) -> u16 {
    match number {
        101 => 110,
        104 => 120,
        130 => 107,
        _ => number,
    }
}

/// The bit of a target in CAN_FASTPATH_FINALIZE.
pub fn capability_bit(number: u16) -> Option<u64> {
    match remapped(number) {
        100 => Some(0x01),
        110 => Some(0x02),
        103 => Some(0x08),
        120 => Some(0x10),
        121 => Some(0x40),
        _ => None,
    }
}
