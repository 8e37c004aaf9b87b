//! What a target has for one kernel, beside which the needs of kernels can be read.

use crate::dialect::{Dialect, Half, Release};
use cubin::Arch;

/// What a target has for one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TargetLimits {
    /// Registers of a thread.
    pub registers: u32,
    /// Named barriers of a block.
    pub barriers: u32,
    /// Bytes of shared memory that a kernel may declare.
    pub static_shared: u64,
    /// The same with `--enable-extended-smem`.
    pub extended_shared: u64,
    /// Bytes of shared memory that the system keeps at the start of each kernel's.
    pub reserved_shared: u64,
}

/// The limits of a target. Those on registers and barriers are the same for all targets since sm_75.
pub fn limits(arch: Arch) -> TargetLimits {
    let release = Release::first_with(arch).unwrap_or(Release::NEWEST);
    let dialect = Dialect::new(release, arch, Half::Machine);
    TargetLimits {
        registers: 255,
        barriers: 16,
        static_shared: dialect.max_static_shared(false),
        extended_shared: dialect.max_static_shared(true),
        reserved_shared: dialect.reserved_shared(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_by_target() {
        let of = |name: &str| name.parse().map(limits).ok();
        let shared = |name| of(name).map(|limits| (limits.static_shared, limits.reserved_shared));
        assert_eq!(shared("sm_80"), Some((0xc000, 0)));
        assert_eq!(shared("sm_90"), Some((0xc000, 0x400)));
        assert!(shared("sm_90a") > Some((0xc000, 0x400)));
    }
}
