//! Which images may be used for which target. The rules were read off full
//! matrices of nvlink runs: each of the 23 architectures as the only image,
//! for each of the 23 as the target (tests/inputs/matrix.txt holds the
//! answers).

use crate::dialect::target;
use cubin::Arch;
use cubin::compat::Compat;
use cubin::info::records;
use fatbin::Entry;

/// Whether the machine code of an entry can be linked for a target. From
/// sm_100 on it is the `.nv.compat` in the entry that tells whether the code
/// is bound to its number, not the letter in the flags (found by patching
/// either); an entry without that is bound.
pub fn entry_fits(entry: &Entry<'_>, link_target: Arch) -> bool {
    let arch = entry.arch();
    let accelerated = target::is_bound_by_compat(arch) && entry.compat().is_none_or(is_accelerated);
    target::machine_code_fits(arch.number, accelerated, link_target)
}

/// Whether the records of a `.nv.compat` bind the code to its number.
pub fn is_accelerated(compat: &[u8]) -> bool {
    records(compat)
        .map_while(Result::ok)
        .any(|record| record.code == Compat::CUDA_ACCELERATOR_TARGET.0 && record.value & 0xFF != 0)
}
