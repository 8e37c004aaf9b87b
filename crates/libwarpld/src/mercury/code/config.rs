//! What a finalizer run is asked to do.

use super::Mode;

/// What the output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BinaryKind {
    /// Machine code and Mercury capsules.
    #[default]
    CapsuleMercury,
    /// Machine code alone.
    Sass,
}

/// When a file may be copied instead of written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fastpath {
    /// Where the file declares itself fit for the target.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Settings of one run; the record that NVIDIA's dispatcher fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FinalizerConfig {
    /// Before or after the link.
    pub mode: Mode,
    /// What the output holds.
    pub binary_kind: BinaryKind,
    /// Copying.
    pub fastpath: Fastpath,
    /// Finalize the result again and compare.
    pub self_check: bool,
    /// Allocate scoreboards anew in kernels without calls.
    pub rescoreboard: bool,
    /// Say what is done.
    pub trace: bool,
    /// Say how compatibility is decided (`CAN_FINALIZE_DEBUG`).
    pub trace_compatibility: bool,
}

impl FinalizerConfig {
    /// First of the two flags in the trace.
    pub fn is_capsule(&self) -> bool {
        self.binary_kind == BinaryKind::CapsuleMercury
    }

    /// Second of the two flags in the trace.
    pub fn is_machine_code(&self) -> bool {
        self.binary_kind == BinaryKind::Sass
    }
}
