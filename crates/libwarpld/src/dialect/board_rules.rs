//! How compilers and their finalizers choose scoreboards, where releases differ.

/// The rules of one release. The compiler of a release and its finalizer have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoardRules {
    /// Only before a loop, the end of a block waits for what is over by then, whatever block it comes
    /// from. Otherwise every block waits for its own events that are over.
    pub ends_blocks_before_loops: bool,
    /// What comes over a back edge is all that leaves the block before it if nothing waits for events that come
    /// back, operands from before the loop included. Otherwise only what is new in the loop counts.
    pub ends_all_that_comes_back: bool,
    /// Whether the next block needs an event counts where boards are shared.
    pub looks_at_next_blocks: bool,
}

impl BoardRules {
    /// CUDA 13.0 and before.
    pub const CUDA_13_0: Self = Self {
        ends_blocks_before_loops: false,
        ends_all_that_comes_back: false,
        looks_at_next_blocks: false,
    };

    /// CUDA 13.1 and later.
    pub const CUDA_13_1: Self = Self {
        ends_blocks_before_loops: true,
        ends_all_that_comes_back: true,
        looks_at_next_blocks: true,
    };
}
