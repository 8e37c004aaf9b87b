//! Which images may be used for which target. The rules were read off full
//! matrices of nvlink runs: each of the 23 architectures as the only image,
//! for each of the 23 as the target (tests/inputs/matrix.txt holds the
//! answers).

use cubin::compat::Compat;
use cubin::info::records;
use cubin::{Arch, Variant};
use fatbin::Entry;

/// Numbers whose machine code also runs on a later number, with the later
/// ones.
const CARRIES_OVER: [(u16, &[u16]); 4] =
    [(80, &[86, 89]), (86, &[89]), (100, &[103]), (120, &[121])];

/// Whether machine code for the architecture `number` can be linked for
/// `target`. The letter of the target never matters; code that was compiled
/// for an `a` architecture stays with its number.
pub fn machine_code_fits(number: u16, accelerated: bool, target: Arch) -> bool {
    number == target.number
        || !accelerated
            && CARRIES_OVER.iter().any(|(from, to)| *from == number && to.contains(&target.number))
}

/// Whether the machine code of an entry can be linked for `target`. From
/// sm_100 on it is the `.nv.compat` in the entry that tells whether the code
/// is bound to its number, not the letter in the flags (found by patching
/// either); an entry without that is bound.
pub fn entry_fits(entry: &Entry<'_>, target: Arch) -> bool {
    let arch = entry.arch();
    let accelerated = arch.is_mercury() && entry.compat().is_none_or(is_accelerated);
    machine_code_fits(arch.number, accelerated, target)
}

/// Whether the records of a `.nv.compat` bind the code to its number.
pub fn is_accelerated(compat: &[u8]) -> bool {
    records(compat)
        .map_while(Result::ok)
        .any(|record| record.code == Compat::CUDA_ACCELERATOR_TARGET.0 && record.value & 0xFF != 0)
}

/// Whether PTX (or LTO-IR) for `image` can be compiled for `target`.
pub fn ptx_fits(image: Arch, target: Arch) -> bool {
    let not_newer = image.number <= target.number;
    match image.variant {
        Variant::Plain => not_newer,
        Variant::Family => not_newer && image.number / 10 == target.number / 10,
        Variant::Accelerated => image == target,
    }
}
