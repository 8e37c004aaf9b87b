//! Reallocates scoreboards in kernels that call nothing (`--rescoreboard`).
//!
//! A compiler that does not see the whole program keeps a board for the load of the stack pointer,
//! R1. If nothing is called and R1 is not used, nvlink drops it and reallocates all other boards as
//! if it had never been there. The input's control bits say who sets a board and who waits for it;
//! those pairs are preserved under any numbering, so the result is safe even if it differs from
//! nvlink's. The new numbers follow from the allocator's rule ([`super::board_choice`]).

use super::bit_set::BitSet;
use super::blocks::Blocks;
use super::board_choice::{Allocator, BOARDS, Choice, Event, STACK_POINTER};
use super::instruction::{Flow, Instruction};

/// A wait for all of them.
const ALL: u8 = 0x3f;
/// Limit for a kernel: instructions times set boards, in bits.
const LARGEST: usize = 1 << 28;

/// How often waits are computed anew because of loops.
const ROUNDS: usize = 40;

/// The kernel with new boards; `None` if they stay, or if changing them may not be safe.
pub fn rescoreboard(code: &[u8]) -> Option<Vec<u8>> {
    let code = Instruction::all(code)?;
    let end = code.iter().rposition(|i| i.essence() != Instruction::NOP.essence())? + 1;
    let body = code.get(..end)?;
    if !loads_unused_stack_pointer(body) {
        return None;
    }
    let kernel = Kernel::read(body)?;
    let allocator = Allocator::new(body, &kernel.next, &kernel.blocks, &kernel.events);
    let boards = allocator.run();
    if !allocator.keeps_counted(&boards) {
        return None;
    }
    let waits = kernel.waits(&allocator, &boards)?;
    let mut out = code.clone();
    for (instruction, waits) in out.iter_mut().zip(waits) {
        *instruction = instruction.waiting(waits);
    }
    for (event, choice) in kernel.events.iter().zip(&boards) {
        let instruction = out.get_mut(event.at)?;
        *instruction = match (event.writes, choice) {
            (true, choice) => instruction.writing(choice.map(|c| c.board)),
            (false, Some(choice)) => instruction.reading(choice.board),
            (false, None) => return None,
        };
    }
    (out != code).then(|| out.iter().flat_map(|i| i.0.to_le_bytes()).collect())
}

/// Whether the kernel starts with a load of R1 that sets a board and that nothing reads.
/// (Unoptimized code waits everywhere and is left alone.)
fn loads_unused_stack_pointer(body: &[Instruction]) -> bool {
    const LOAD: u128 = 0xb82;
    let Some((first, rest)) = body.split_first() else { return false };
    let loads = first.0 & 0xfff == LOAD && first.0 >> 16 & 0xff == 1;
    let sets = first.write_board().is_some() && first.read_board().is_none();
    loads && sets && first.waits() == 0 && !rest.iter().any(|i| may_read_r1(*i))
}

/// Whether a field that may be a source register is R1.
fn may_read_r1(instruction: Instruction) -> bool {
    let field = |bit: u32| instruction.0 >> bit & 0xff == 1;
    let operation = instruction.operation();
    // Loads, stores and the like have a register where others may have an immediate.
    let second = operation & 0x100 != 0 || instruction.0 >> 9 & 7 == 1;
    !(0x140..0x160).contains(&operation) && (field(24) || field(64) || field(32) && second)
}

/// Who sets which board and who waits for it.
struct Kernel<'c> {
    body: &'c [Instruction],
    events: Vec<Event>,
    /// Events that may be pending before each instruction.
    pending: Vec<BitSet>,
    /// Events, by board.
    of_board: Vec<BitSet>,
    /// Where control may go from each instruction.
    next: Vec<Vec<usize>>,
    blocks: Blocks,
}

impl<'c> Kernel<'c> {
    fn read(body: &'c [Instruction]) -> Option<Self> {
        let next: Vec<Vec<usize>> =
            (0..body.len()).map(|i| successors(body, i)).collect::<Option<_>>()?;
        let mut events = Vec::new();
        for (at, instruction) in body.iter().enumerate() {
            let event = |board, writes| Event { at, board, writes };
            events.extend(instruction.read_board().map(|b| event(b, false)));
            events.extend(instruction.write_board().map(|b| event(b, true)));
        }
        if events.len().checked_mul(body.len())? > LARGEST {
            return None;
        }
        let mut of_board = vec![BitSet::none(events.len()); BOARDS.into()];
        for (number, event) in events.iter().enumerate() {
            of_board.get_mut(usize::from(event.board))?.add(number);
        }
        let blocks = Blocks::new(body, &next)?;
        let mut kernel = Self { body, events, pending: Vec::new(), of_board, next, blocks };
        kernel.pending = kernel.flow_forward()?;
        Some(kernel)
    }

    /// Events that end before an instruction.
    fn awaited(&self, i: usize) -> BitSet {
        // Code of split warps waits for everything, and again afterwards.
        let waits = match self.body.get(i) {
            Some(x) if !x.is_collective() => x.waits(),
            _ => 0,
        };
        let mut out = BitSet::none(self.events.len());
        for (board, events) in self.of_board.iter().enumerate() {
            if waits >> board & 1 == 1 {
                out.merge(events);
            }
        }
        out
    }

    fn flow_forward(&self) -> Option<Vec<BitSet>> {
        let none = BitSet::none(self.events.len());
        let mut set = vec![none.clone(); self.body.len()];
        for (number, event) in self.events.iter().enumerate() {
            set.get_mut(event.at)?.add(number);
        }
        let mut before: Vec<Option<BitSet>> = vec![None; self.body.len()];
        *before.first_mut()? = Some(none.clone());
        let mut work = vec![0];
        while let Some(i) = work.pop() {
            let mut after = before.get(i)?.as_ref()?.without(&self.awaited(i));
            after.merge(set.get(i)?);
            for &j in self.next.get(i)? {
                match before.get_mut(j)? {
                    Some(known) => {
                        if known.merge(&after) {
                            work.push(j);
                        }
                    }
                    unknown => {
                        *unknown = Some(after.clone());
                        work.push(j);
                    }
                }
            }
        }
        let uses_boards = |i: usize| {
            self.body.get(i).is_some_and(|x| {
                x.waits() != 0 || x.read_board().is_some() || x.write_board().is_some()
            })
        };
        // Code that is not known to be reachable must not depend on boards.
        let known = |(i, bits): (usize, Option<BitSet>)| match bits {
            None if uses_boards(i) => None,
            bits => Some(bits.unwrap_or_else(|| none.clone())),
        };
        before.into_iter().enumerate().map(known).collect()
    }

    /// The boards that each instruction waits for when events have these boards: those of the
    /// events that it waits for in the input, if they are still pending, and those that it sets
    /// while they are pending. `None` if a wait has an unknown reason.
    fn waits(&self, allocator: &Allocator<'_>, boards: &[Option<Choice>]) -> Option<Vec<u8>> {
        let mut previous = vec![Vec::new(); self.body.len()];
        for (i, list) in self.next.iter().enumerate() {
            for &j in list {
                previous.get_mut(j)?.push(i);
            }
        }
        let mut set = vec![Vec::new(); self.body.len()];
        for (number, event) in self.events.iter().enumerate().skip(STACK_POINTER + 1) {
            set.get_mut(event.at)?.push((number, (*boards.get(number)?)?));
        }
        let awaited = self.all_awaited()?;
        let mut after: Vec<Option<(BitSet, BitSet)>> = vec![None; self.body.len()];
        let mut out = vec![0; self.body.len()];
        for _ in 0..ROUNDS {
            let mut changed = false;
            for i in 0..self.body.len() {
                let (mut pending, mut back) = self.arriving(i, &previous[i], &after);
                let on = |events: &BitSet, board: u8| {
                    events.iter().any(|e| boards[e].is_some_and(|c| c.board == board))
                };
                let ended = awaited[i].and(&pending);
                let mut waits = (0..BOARDS).filter(|&b| on(&ended, b)).fold(0, |w, b| w | 1 << b);
                for &(number, choice) in &set[i] {
                    let again = !allocator.takes_last(number) && on(&back, choice.board);
                    if again || choice.fresh && on(&pending, choice.board) {
                        waits |= 1 << choice.board;
                    }
                }
                for e in pending.clone().iter() {
                    if boards[e].is_some_and(|c| waits >> c.board & 1 == 1) {
                        pending.remove(e);
                        back.remove(e);
                    }
                }
                set[i].iter().for_each(|&(number, _)| pending.add(number));
                out[i] = match self.body[i].waits() {
                    ALL => ALL,
                    _ if self.body[i].is_collective() => {
                        (0..BOARDS).filter(|&b| on(&pending, b)).fold(waits, |w, b| w | 1 << b)
                    }
                    _ => waits,
                };
                let now = Some((pending, back));
                if after[i] != now {
                    after[i] = now;
                    changed = true;
                }
            }
            if !changed {
                return Some(out);
            }
        }
        None
    }

    /// The events that each instruction waits for in the input.
    fn all_awaited(&self) -> Option<Vec<BitSet>> {
        let mut out = Vec::new();
        for (i, instruction) in self.body.iter().enumerate() {
            let pending = self.pending.get(i)?;
            let waits = instruction.waits();
            for (board, events) in self.of_board.iter().enumerate() {
                // A wait for nothing has an unknown reason.
                if waits != ALL && waits >> board & 1 == 1 && !pending.meets(events) {
                    return None;
                }
            }
            out.push(pending.and(&self.awaited(i)));
        }
        Some(out)
    }

    /// Events pending before an instruction, and those that came over a back edge into its block.
    fn arriving(
        &self,
        i: usize,
        previous: &[usize],
        after: &[Option<(BitSet, BitSet)>],
    ) -> (BitSet, BitSet) {
        let none = BitSet::none(self.events.len());
        let (mut pending, mut back) = (none.clone(), none);
        let starts = self.blocks.range(self.blocks.of(i)).0 == i;
        let place = self.blocks.place(i);
        for &p in previous {
            let Some((events, old)) = &after[p] else { continue };
            pending.merge(events);
            if !starts {
                back.merge(old);
            } else if self.blocks.place(p) >= place {
                let late = |&e: &usize| self.blocks.place(self.events[e].at) >= place;
                events.iter().filter(late).for_each(|e| back.add(e));
            }
        }
        (pending, back)
    }
}

/// Where control may go from an instruction; `None` if unknown.
fn successors(body: &[Instruction], i: usize) -> Option<Vec<usize>> {
    const EXIT: u16 = 0x14d;
    const BRANCH: u16 = 0x147;
    let instruction = *body.get(i)?;
    let at = (i * Instruction::SIZE) as i64;
    let next = Some(i + 1).filter(|&n| n < body.len());
    let mut out = Vec::new();
    match (instruction.operation(), instruction.flow(at)) {
        (_, Flow::Call | Flow::Unknown) | (0x149 | 0x158, _) => return None,
        (BRANCH, Flow::To(target)) => {
            let target = usize::try_from(target).ok()? / Instruction::SIZE;
            out.extend(Some(target).filter(|&t| t < body.len()));
            if !instruction.always_branches() {
                out.extend(next);
            }
        }
        (EXIT, _) if instruction.always_exits() => {}
        _ => out.extend(next),
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load, a comparison and a branch over a store.
    const KERNEL: [u128; 8] = [
        0x000e_3000_0000_0800_0000_df00_ff01_7b82,
        0x000e_6200_0000_0a00_0000_e000_ff02_7b82,
        0x000e_6400_0800_0a00_0000_6b00_ff04_77ac,
        0x002e_a200_0c1e_1900_0000_0004_0200_7981,
        0x004f_da00_03f0_5070_0000_0007_0000_780c,
        0x001f_ea00_0380_0000_0000_0000_0004_8947,
        0x000f_e200_0c10_1904_0000_0405_0200_7986,
        0x000f_ea00_0380_0000_0000_0000_0000_794d,
    ];

    fn changed(code: &[u128]) -> Option<Vec<u128>> {
        let bytes: Vec<u8> = code.iter().flat_map(|i| i.to_le_bytes()).collect();
        let out = rescoreboard(&bytes)?;
        Some(Instruction::all(&out).unwrap().iter().map(|i| i.0).collect())
    }

    #[test]
    fn boards_are_those_of_a_kernel_that_does_not_load_the_stack_pointer() {
        let out = changed(&KERNEL).unwrap();
        assert_eq!(out[0], 0x000f_f000_0000_0800_0000_df00_ff01_7b82, "no board");
        assert_eq!(out[1], 0x000e_2200_0000_0a00_0000_e000_ff02_7b82, "board 0 in place of 1");
        assert_eq!(out[2], 0x000e_2400_0800_0a00_0000_6b00_ff04_77ac, "shared as before");
        assert_eq!(out[3], 0x001e_a200_0c1e_1900_0000_0004_0200_7981, "a load keeps board 2");
        assert_eq!(out[4], KERNEL[4]);
        assert_eq!(Instruction(out[5]).waits(), 0, "nothing waits for the stack pointer");
        assert_eq!(out[6..], KERNEL[6..]);
    }

    #[test]
    fn what_is_not_certain_stays() {
        let mut uses_r1 = KERNEL;
        uses_r1[6] = 0x000f_e200_0c10_1904_0000_0401_0200_7986;
        assert_eq!(changed(&uses_r1), None, "R1 is stored");
        let mut calls = KERNEL;
        calls[6] = 0x000f_e200_0000_0000_0000_0000_0000_7943;
        assert_eq!(changed(&calls), None);
        let mut counts = KERNEL;
        counts[6] = 0x000f_c800_0000_0000_0000_8040_0000_791a;
        assert_eq!(changed(&counts), None, "DEPBAR counts events of the stack pointer's board");
        let mut waits_for_nothing = KERNEL;
        waits_for_nothing[7] |= 1 << (105 + 11 + 4);
        assert_eq!(changed(&waits_for_nothing), None);
        assert_eq!(changed(&changed(&KERNEL).unwrap()), None, "there is nothing more to do");
    }
}
