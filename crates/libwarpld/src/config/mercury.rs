//! What is asked of links from sm_100 on, whose inputs have Mercury code.

/// What the output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BinaryKind {
    /// Machine code and Mercury capsules.
    #[default]
    CapsuleMercury,
    /// Machine code alone.
    Sass,
}

/// Whether code for another target of its family is linked as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fastpath {
    /// Where it declares itself fit for the target.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Settings for links from sm_100 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MercuryConfig {
    /// What the output holds.
    pub binary_kind: BinaryKind,
    /// Code for other targets.
    pub fastpath: Fastpath,
    /// Check that the output, read and written again, is the same.
    pub self_check: bool,
    /// Keep the compiler's scoreboards in kernels without calls, too.
    pub keep_scoreboards: bool,
    /// Say what is done.
    pub trace: bool,
    /// Say how compatibility is decided (`CAN_FINALIZE_DEBUG`).
    pub trace_compatibility: bool,
}
