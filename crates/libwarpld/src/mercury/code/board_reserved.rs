//! Boards that a kernel reserves for some of its instructions.

use super::event::{BOARDS, Event};
use super::instruction::Instruction;
use super::kernel::Kernel;
use super::units::{has_last_board, is_matrix, is_slow};
use crate::dialect::BoardRules;

/// The board of results of textures, and of others that take long and leave their block.
pub const LAST: u8 = BOARDS - 1;

/// The boards that other events do not get.
pub struct Reserved {
    /// Whether results of DMMA have the last board for themselves, but for textures. (All 27,800 in loops of CUTLASS and no
    /// others: compilers do so where they overlap many of them. The input tells.)
    matrices: bool,
    /// Whether their operands have the one before.
    operands: bool,
    /// The first of these boards.
    first: u8,
}

impl Reserved {
    /// Those of a kernel.
    pub fn of(kernel: &Kernel<'_>, rules: BoardRules) -> Self {
        let on = |writes: bool, board: u8| {
            let own = |e: &Event| e.writes == writes && is_matrix(kernel.body[e.at]);
            let may = |e: &Event| writes && e.writes && has_last_board(kernel.body[e.at]);
            let mut events = kernel.events.iter();
            kernel.events.iter().any(own)
                && events.all(|e| own(e) == (e.board == board) || e.board == board && may(e))
        };
        let matrices = on(true, LAST);
        let operands = matrices && rules.reserves_matrix_operands && on(false, LAST - 1);
        let mut out = Self { matrices, operands, first: BOARDS };
        if kernel.body.iter().any(|&instruction| out.is_for(instruction)) {
            out.first = if operands { LAST - 1 } else { LAST };
        }
        out
    }

    /// The first reserved board; `BOARDS` if there is none.
    pub fn first(&self) -> u8 {
        self.first
    }

    /// Whether a board is reserved for an instruction's result.
    pub fn is_for(&self, instruction: Instruction) -> bool {
        has_last_board(instruction) || self.matrices && is_matrix(instruction)
    }

    /// Whether an instruction's result takes long here.
    pub fn is_slow(&self, instruction: Instruction) -> bool {
        is_slow(instruction) || self.matrices && is_matrix(instruction)
    }

    /// The board that is reserved for an event of an instruction.
    pub fn board(&self, event: &Event, instruction: Instruction) -> Option<u8> {
        match event.writes {
            true => self.is_for(instruction).then_some(LAST),
            false => (self.operands && is_matrix(instruction)).then_some(LAST - 1),
        }
    }
}
