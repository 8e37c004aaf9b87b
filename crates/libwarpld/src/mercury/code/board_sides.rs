//! What is pending in blocks and between them, in each of the two allocations.

use super::blocks::Blocks;
use super::board_times::{Clock, Times};
use super::event::BOARDS;
use super::event_set::EventSet;
use super::registers::RegisterSet;
use std::mem;
use std::rc::Rc;

/// Events that are pending, by board.
pub type Boards = [EventSet; BOARDS as usize];

/// What is pending in a block, in one of the two allocations.
pub struct Pending {
    pub boards: Boards,
    /// The registers that these events are about, and perhaps more.
    pub subjects: RegisterSet,
    /// When all that was set on each board is over, whoever waited for it.
    pub ready: Ready,
    pub clock: Rc<Clock>,
    /// Whether slow results of other blocks were pending where the block starts.
    pub slow_enters: bool,
}

/// When the events of each board are over.
pub type Ready = [i64; BOARDS as usize];

/// Boards at the ends of blocks, in one of the two allocations.
pub struct Side {
    /// What each block leaves, once it had its turn.
    pub out: Vec<Option<Boards>>,
    /// The boards on which blocks that had their turn leave events to each block, one bit each.
    pub entered: Vec<u8>,
    /// Cycles until each of these events is over.
    pub left: Vec<Vec<(usize, i64)>>,
    /// The block for which `times` was last told when each event is over.
    pub told: Vec<usize>,
    pub times: Times,
}

impl Side {
    /// Tells `times` how many cycles are left until the events that enter a block are over: the most of all predecessors.
    /// (Behind 2,400 jump tables of 13.4 the most leaves 75 of 3,700 choices unexplained, the mean 100, the least 196. Functions
    /// with jump tables of 12.9 and 13.0 need the most, too.)
    pub fn enter(&mut self, block: usize, blocks: &Blocks) {
        let predecessors = blocks.predecessors(block);
        let done = &mut self.times.done;
        for &(e, left) in predecessors.iter().flat_map(|&p| &self.left[p]) {
            let is_first = mem::replace(&mut self.told[e], block) != block;
            done[e] = if is_first { left } else { left.max(done[e]) };
        }
    }

    /// What a block leaves to others.
    pub fn leave(&mut self, block: usize, blocks: &Blocks, pending: Pending) {
        let end = pending.clock.end;
        let mut left = Vec::with_capacity(pending.boards.iter().map(EventSet::len).sum());
        for e in pending.boards.iter().flat_map(EventSet::iter) {
            left.push((e, (self.times.done[e] - end).max(0)));
        }
        let used = boards_in_use(&pending.boards);
        blocks.successors(block).iter().for_each(|&next| self.entered[next] |= used);
        self.left[block] = left;
        self.out[block] = Some(pending.boards);
    }

    /// The boards on which other blocks leave events to one of these.
    pub fn entered(&self, blocks: &[usize]) -> u8 {
        blocks.iter().fold(0, |boards, &block| boards | self.entered[block])
    }
}

impl Pending {
    /// Puts an event on a board.
    pub fn set(&mut self, board: u8, event: usize, subject: Option<&RegisterSet>, done: i64) {
        let board = usize::from(board);
        subject.into_iter().for_each(|subject| self.subjects.merge(subject));
        self.boards[board].add(event);
        self.ready[board] = done.max(self.ready[board]);
    }
}

/// Boards with events, one bit each.
pub fn boards_in_use(boards: &Boards) -> u8 {
    let used = boards.iter().enumerate().filter(|(_, events)| !events.is_empty());
    used.fold(0, |mask, (board, _)| mask | 1 << board)
}
