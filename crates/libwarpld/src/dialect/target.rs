//! Facts about targets, by the number of the architecture.

use cubin::{Arch, Variant};

/// Shared memory of a block, in bytes.
pub(super) fn shared_memory(number: u16) -> u64 {
    match number {
        75 => 0x10000,
        80 | 87 => 0x28c00,
        86 | 88 | 89 | 120 | 121 => 0x18c00,
        _ => 0x38c00,
    }
}

/// Numbers whose machine code also runs on later numbers, with those.
const CARRIES_OVER: [(u16, &[u16]); 4] =
    [(80, &[86, 89]), (86, &[89]), (100, &[103]), (120, &[121])];

/// Whether machine code for the architecture `number` can be linked for `target`. The letter of
/// the target never matters; code that was compiled for an `a` architecture stays with its
/// number. [each of the 23 architectures for each of the 23 as the target: `matrix.txt`]
pub fn machine_code_fits(number: u16, accelerated: bool, target: Arch) -> bool {
    number == target.number
        || !accelerated
            && CARRIES_OVER.iter().any(|(from, to)| *from == number && to.contains(&target.number))
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

/// Whether `.nv.compat` tells if code is bound to its number, and not the letter in the flags.
/// [either was patched]
pub fn is_bound_by_compat(arch: Arch) -> bool {
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

/// The bits of CAN_FASTPATH_FINALIZE that code without the attribute stands for.
pub(super) fn undeclared_targets(number: u16) -> u64 {
    match number {
        100 => 0x01,
        120 => 0x50,
        _ => 0,
    }
}
