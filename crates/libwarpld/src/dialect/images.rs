//! Which images a release links for which target.

use super::Release;
use cubin::{Arch, Variant};

impl Release {
    /// Whether machine code for the architecture `number` can be linked for `target`. The letter
    /// of the target does not matter; code that was compiled for an `a` architecture stays with
    /// its number. [each architecture for each as the target, by release: `carried-over`]
    pub(crate) fn links_machine_code(&self, number: u16, accelerated: bool, target: Arch) -> bool {
        let carries_over =
            |(from, to): &(u16, &[u16])| *from == number && to.contains(&target.number);
        number == target.number || !accelerated && self.carries_over.iter().any(carries_over)
    }

    /// Whether code for an `a` architecture is refused for `target`, whatever their numbers.
    pub(crate) fn refuses_accelerated_for(&self, target: Arch) -> bool {
        self.refuses_accelerated && target.variant != Variant::Accelerated
    }

    /// Whether the machine code of a container's entry stays with its number. CUDA 13.0 goes by
    /// the `.nv.compat` in the entry, from sm_100 on, and later releases by the letter in its
    /// flags. [either was patched]
    pub(crate) fn binds_entry(&self, arch: Arch, bound_by_compat: impl Fn() -> bool) -> bool {
        match self.refuses_accelerated {
            true => arch.variant == Variant::Accelerated,
            false => arch.is_mercury() && bound_by_compat(),
        }
    }
}
