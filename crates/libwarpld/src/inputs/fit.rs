//! Which images may be used for which target. The rules were read off full
//! matrices of nvlink runs: each architecture as the only image, for each as
//! the target, with each release (tests/inputs/matrix-*.txt hold the answers).

use crate::dialect::Release;
use cubin::Arch;
use cubin::compat::Compat;
use cubin::info::records;
use fatbin::Entry;

/// Whether the machine code of an entry can be linked for a target. An entry of CUDA 13.0 for
/// sm_100 and later that has no `.nv.compat` is bound to its number. Where a release refuses code
/// for an `a` target it does not choose it either. (`fatbin-inputs`)
pub fn entry_fits(entry: &Entry<'_>, target: Arch, release: &Release) -> bool {
    let arch = entry.arch();
    let by_compat = || entry.compat().is_none_or(is_accelerated);
    let bound = release.binds_entry(arch, by_compat);
    release.links_machine_code(arch.number, bound, target)
        && !(bound && release.refuses_accelerated_for(target))
}

/// Whether the records of a `.nv.compat` bind the code to its number.
pub fn is_accelerated(compat: &[u8]) -> bool {
    records(compat)
        .map_while(Result::ok)
        .any(|record| record.code == Compat::CUDA_ACCELERATOR_TARGET.0 && record.value & 0xFF != 0)
}
