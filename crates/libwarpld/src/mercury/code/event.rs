//! Boards set by instructions.

/// Number of boards.
pub const BOARDS: u8 = 6;
/// A wait for all of them.
pub const ALL: u8 = 0x3f;
/// No instruction: an event that nothing in its block waits for.
pub const NEVER: usize = usize::MAX;
/// An instruction of a block that follows.
pub const NEXT: usize = NEVER - 1;
/// Index of the load of the stack pointer, in kernels that start with it.
pub const STACK_POINTER: usize = 0;

/// A board set by an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub at: usize,
    pub board: u8,
    /// Set with the result, not once the operands have been read.
    pub writes: bool,
}
