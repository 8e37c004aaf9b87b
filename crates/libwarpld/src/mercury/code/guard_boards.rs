//! Which of the boards that an instruction waits for its guard depends on.

use super::blocks::block_starts;
use super::event::BOARDS;
use super::instruction::{Instruction, NO_GUARD};
use super::registers::Registers;
use std::cell::OnceCell;

/// Finds that for instructions in the order of the code. Each part of it is looked at once, as looking back from every EXIT
/// would take too long in large code.
pub struct GuardBoards<'c> {
    code: &'c [Instruction],
    whole: OnceCell<Whole>,
    /// The instruction that is next, and what those before it set.
    next: usize,
    since: Setters,
}

/// What is known of all code.
struct Whole {
    /// Where blocks start.
    starts: Vec<bool>,
    jumps: bool,
    all: Setters,
}

/// Predicates that instructions set with a board, one bit each, and whether they wait for it or set it at all.
#[derive(Clone, Copy, Debug, Default)]
struct Setters {
    predicates: [u8; BOARDS as usize],
    waited: u8,
    set: u8,
}

impl Setters {
    /// Goes on behind an instruction.
    fn pass(&mut self, instruction: Instruction) {
        for board in [instruction.read_board(), instruction.write_board()].into_iter().flatten() {
            self.set |= 1 << board;
        }
        let board = instruction.predicate_board().map(usize::from);
        if let Some(predicates) = board.and_then(|board| self.predicates.get_mut(board)) {
            *predicates |= may_set(instruction);
        }
    }

    /// The same, with what nobody has waited for since.
    fn pass_since(&mut self, instruction: Instruction) {
        self.waited |= instruction.waits();
        for (board, predicates) in self.predicates.iter_mut().enumerate() {
            if instruction.waits() >> board & 1 == 1 {
                *predicates = 0;
            }
        }
        self.pass(instruction);
    }
}

impl<'c> GuardBoards<'c> {
    /// Starts before the first instruction.
    pub fn new(code: &'c [Instruction]) -> Self {
        Self { code, whole: OnceCell::new(), next: 0, since: Setters::default() }
    }

    fn whole(&self) -> &Whole {
        self.whole.get_or_init(|| {
            let mut all = Setters::default();
            self.code.iter().for_each(|&instruction| all.pass(instruction));
            let jumps = self.code.iter().any(|i| i.is_indirect());
            Whole { starts: block_starts(self.code), jumps, all }
        })
    }

    /// The boards among those that an instruction waits for that its guard may depend on: that of the last writer in the
    /// block; else those that any instruction sets with the predicate that nobody has waited for yet, in the order of the
    /// code, or by way of a loop; and those that nothing is known of. It must not come before one that was asked about.
    pub fn of(&mut self, at: usize) -> u8 {
        let Some(instruction) = self.code.get(at) else { return 0 };
        let (guard, boards) = (instruction.guard(), instruction.waits());
        if guard == NO_GUARD || boards == 0 {
            return 0;
        }
        let predicate = 1 << (guard & 7);
        if let Some(writer) = self.last_writer(at, predicate) {
            return writer.predicate_board().map_or(0, |board| boards & 1 << board);
        }
        let passed = self.code.get(self.next..at).unwrap_or_default();
        passed.iter().for_each(|&instruction| self.since.pass_since(instruction));
        self.next = at;
        let all = &self.whole().all;
        let mut out = 0;
        for board in (0..BOARDS).filter(|b| boards >> b & 1 == 1) {
            let bit = 1 << board;
            let setters = if self.since.waited & bit == 0 { all } else { &self.since };
            let guards = setters.predicates[usize::from(board)] & predicate != 0;
            out |= if all.set & bit == 0 || guards { bit } else { 0 };
        }
        out
    }

    /// The instruction of the same block that the value of a predicate is from, if it is sure to be.
    fn last_writer(&self, at: usize, predicate: u8) -> Option<Instruction> {
        let Whole { starts, jumps, .. } = self.whole();
        let mut i = at;
        while i > 0 && !*starts.get(i)? {
            i -= 1;
            let instruction = *self.code.get(i)?;
            if may_set(instruction) & predicate != 0 {
                let known = Registers::of(instruction.0).is_some()
                    && !instruction.leaves_function()
                    && instruction.guard() == NO_GUARD;
                // Jumps lead to blocks that the code alone does not show.
                return Some(instruction).filter(|_| known && !jumps);
            }
        }
        None
    }
}

/// The predicates that an instruction writes, or may write because it is not known, one bit each.
fn may_set(instruction: Instruction) -> u8 {
    // What a callee writes is not known.
    match Registers::of(instruction.0).filter(|_| !instruction.leaves_function()) {
        Some(registers) => registers.writes.predicate_bits(),
        None => 1 << ((instruction.0 >> 81) as u8 & 7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `MUFU.EX2 R5` on board 0, `ISETP P0`, `@P0 EXIT` that waits for board 0.
    const MUFU: u128 = 0x000e_2400_0000_0800_0000_0005_0005_7308;
    const ISETP: u128 = 0x000f_da00_03f0_5070_0000_0007_0000_780c;
    const EXIT: u128 = 0x001f_ea00_0380_0000_0000_0000_0000_094d;
    /// FCHK P0 on board 0
    const FCHK: u128 = 0x000e_2400_0000_0000_0000_0005_0400_7302;

    fn boards(code: &[u128]) -> u8 {
        let code: Vec<_> = code.iter().map(|&w| Instruction(w)).collect();
        GuardBoards::new(&code).of(code.len() - 1)
    }

    #[test]
    fn a_guard_depends_on_who_writes_it() {
        assert_eq!(boards(&[MUFU, EXIT]), 0, "not a predicate");
        assert_eq!(boards(&[FCHK, EXIT]), 1);
        assert_eq!(boards(&[FCHK, ISETP, EXIT]), 0, "written again");
        assert_eq!(boards(&[FCHK, EXIT, EXIT]), 0, "waited for");
        assert_eq!(boards(&[FCHK, ISETP & !0xf000, EXIT]), 1, "perhaps written again");
        assert_eq!(boards(&[FCHK, EXIT & !(0x3f << 116), EXIT]), 1, "in another block");
    }

    /// `ATOM P0, RZ` with board 2 for its operands: P0 comes with them. [`halves` of the CUDA C++ programs]
    #[test]
    fn predicates_of_generic_atomics_come_with_operands() {
        const ATOM: u128 = 0x0005_e400_0c10_e704_8000_0005_02ff_79a2;
        let exit = Instruction(EXIT).waiting(7).0;
        assert_eq!(boards(&[ATOM, exit]), 4);
        assert_eq!(boards(&[ATOM, exit & !(0x3f << 116), exit]) & 4, 4, "in another block");
    }

    /// Looking back from each would take hours.
    #[test]
    fn many_guards_take_no_longer_than_few() {
        let code: Vec<_> = [FCHK, EXIT].repeat(100_000).into_iter().map(Instruction).collect();
        let mut guards = GuardBoards::new(&code);
        assert!((1..code.len()).step_by(2).all(|at| guards.of(at) == 1));
        let code = vec![Instruction(EXIT); 200_000];
        let mut guards = GuardBoards::new(&code);
        assert!((0..code.len()).all(|at| guards.of(at) == 1), "nobody sets the board");
    }
}
