//! Estimated times of instructions and events (`super::board_clock` estimates them).

use super::event::NEVER;
use super::registers::RegisterSet;

/// Estimated times in a block.
pub struct Clock {
    pub start: usize,
    pub issue: Vec<i64>,
    pub end: i64,
}

/// What estimates depend on, in one of the two allocations, and when events are over.
pub struct Times {
    /// Stall counts of all instructions.
    pub stalls: Vec<u8>,
    /// When each event of the current block is over.
    pub done: Vec<i64>,
    /// Who wrote each register last. Those of other blocks are not cleared.
    pub writers: Vec<usize>,
}

impl Times {
    pub fn new(stalls: Vec<u8>, events: usize) -> Self {
        Self { stalls, done: vec![0; events], writers: vec![NEVER; RegisterSet::BOUND] }
    }
}

impl Clock {
    /// When an instruction issues; the end of the block if it is not in it.
    pub fn at(&self, i: usize) -> i64 {
        i.checked_sub(self.start).and_then(|k| self.issue.get(k)).copied().unwrap_or(self.end)
    }
}
