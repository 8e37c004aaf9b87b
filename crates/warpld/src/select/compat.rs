//! Which images may be used for which target. Both rules were read off full
//! matrices of nvlink runs: each of the 23 architectures as the only image,
//! for each of the 23 as the target (tests/select holds the answers).

use cubin::{Arch, Variant};

/// Numbers whose machine code also runs on a later number, with the later
/// ones. Code with the letter `a` never does.
const CARRIES_OVER: [(u16, &[u16]); 4] =
    [(80, &[86, 89]), (86, &[89]), (100, &[103]), (120, &[121])];

/// Whether machine code for `image` can be linked for `target`. The letter of
/// the target never matters.
pub fn machine_code_fits(image: Arch, target: Arch) -> bool {
    if image.number == target.number {
        return true;
    }
    image.variant != Variant::Accelerated
        && CARRIES_OVER
            .iter()
            .any(|(from, to)| *from == image.number && to.contains(&target.number))
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
