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
    /// Where a loop starts, only results that are under way are remembered, those that nothing gets included. Otherwise
    /// so are operands.
    pub remembers_results: bool,
    /// Whether the next block needs an event counts where boards are shared, but not at the end of a block with a jump
    /// table. (Kernels with two of these: of 53 choices that this decides, 52 are as if no block followed.)
    pub looks_at_next_blocks: bool,
    /// EXIT and its kin, which wait for all results in uniform registers, need them like any other instruction of
    /// their block. Otherwise the results leave the block. (`S2UR; ATOMS; S2UR; @P0 EXIT`: one scoreboard, not two.)
    pub needs_uniform_at_ends: bool,
    /// Where no scoreboard is free, time that is left over when an event is over counts, too. Otherwise all scoreboards on
    /// which nothing has to wait longer cost the same, and the lowest is taken.
    pub counts_spare_time: bool,
    /// What code of split warps waits for at its start is over then. Otherwise it counts as pending up to its end, which
    /// waits for all again.
    pub ends_at_collectives: bool,
    /// An event shares the scoreboard of another that the same instruction waits for, whatever block that comes from.
    /// Otherwise only of one of its own block.
    pub shares_with_other_blocks: bool,
    /// A slow result does not share a scoreboard with quick events: its instruction waits for these.
    pub clears_for_slow: bool,
    /// RET, which waits for all, is the waiter of events that nothing else in its block needs, of operands and of
    /// events from other blocks, too. Otherwise only of results of its block.
    pub returns_need_all: bool,
    /// Conversions of doubles count as one cycle, as arithmetic in double precision does, and DMMA takes long. Otherwise
    /// conversions are all alike, and DMMA is as fast.
    pub has_few_double_units: bool,
    /// Operands of tensor cores in double precision have a scoreboard for themselves, like their results.
    pub reserves_matrix_operands: bool,
}

impl BoardRules {
    /// CUDA 12.
    pub const CUDA_12: Self = Self {
        counts_spare_time: false,
        ends_at_collectives: true,
        shares_with_other_blocks: false,
        clears_for_slow: true,
        returns_need_all: false,
        ..Self::CUDA_13_0
    };

    /// CUDA 13.0.
    pub const CUDA_13_0: Self = Self {
        ends_blocks_before_loops: false,
        ends_all_that_comes_back: false,
        remembers_results: false,
        looks_at_next_blocks: false,
        needs_uniform_at_ends: false,
        counts_spare_time: true,
        ends_at_collectives: false,
        shares_with_other_blocks: true,
        clears_for_slow: false,
        returns_need_all: true,
        has_few_double_units: false,
        reserves_matrix_operands: false,
    };

    /// CUDA 13.1 and later.
    pub const CUDA_13_1: Self = Self {
        ends_blocks_before_loops: true,
        ends_all_that_comes_back: true,
        remembers_results: true,
        looks_at_next_blocks: true,
        needs_uniform_at_ends: true,
        counts_spare_time: true,
        ends_at_collectives: false,
        shares_with_other_blocks: true,
        clears_for_slow: false,
        returns_need_all: true,
        has_few_double_units: false,
        reserves_matrix_operands: false,
    };
}
