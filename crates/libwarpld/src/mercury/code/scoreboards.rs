//! Reallocates scoreboards in kernels that call nothing (`--rescoreboard`).
//!
//! A compiler that does not see the whole program keeps a board for the load of the stack pointer,
//! R1. If nothing is called and R1 is not used, nvlink drops it and reallocates all other boards as
//! if it had never been there. The input's control bits say who sets a board and who waits for it;
//! those pairs are preserved under any numbering, so the result is safe even if it differs from
//! nvlink's. The new numbers follow from the input's: an instruction that took the lowest free
//! board takes the lowest one that is free now. If the input's choice cannot be explained that way,
//! nothing is changed.

use super::bit_set::BitSet;
use super::instruction::{Flow, Instruction};

/// Number of boards.
const BOARDS: u8 = 6;
/// A wait for all of them.
const ALL: u8 = 0x3f;
/// Limit for a kernel: instructions times set boards, in bits.
const LARGEST: usize = 1 << 28;

/// A board set by an instruction.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: usize,
    board: u8,
    /// Set with the result, not once the operands have been read.
    writes: bool,
}

/// The kernel with new boards; `None` if they stay, or if changing them may not be safe.
pub fn rescoreboard(code: &[u8]) -> Option<Vec<u8>> {
    let code = Instruction::all(code)?;
    let end = code.iter().rposition(|i| i.essence() != Instruction::NOP.essence())? + 1;
    let body = code.get(..end)?;
    if !loads_unused_stack_pointer(body) {
        return None;
    }
    let kernel = Kernel::read(body)?;
    let boards = kernel.allocate()?;
    let mut out = code.clone();
    for (i, instruction) in out.iter_mut().enumerate().take(end) {
        *instruction = instruction.waiting(kernel.waits(i, &boards)?);
    }
    for (event, board) in kernel.events.iter().zip(&boards) {
        let instruction = out.get_mut(event.at)?;
        *instruction = match (event.writes, board) {
            (true, board) => instruction.writing(*board),
            (false, Some(board)) => instruction.reading(*board),
            (false, None) => return None,
        };
    }
    (out != code).then(|| out.iter().flat_map(|i| i.0.to_le_bytes()).collect())
}

/// Whether the kernel starts with a load of R1 that sets a board and that nothing reads.
/// (Unoptimized code waits everywhere and is left alone.)
fn loads_unused_stack_pointer(body: &[Instruction]) -> bool {
    const LOAD: u128 = 0xb82;
    const COUNTED_WAIT: u16 = 0x11a;
    let Some((first, rest)) = body.split_first() else { return false };
    let loads = first.0 & 0xfff == LOAD && first.0 >> 16 & 0xff == 1;
    let sets = first.write_board().is_some() && first.read_board().is_none();
    let sure = |i: &Instruction| !may_read_r1(*i) && i.operation() != COUNTED_WAIT;
    loads && sets && first.waits() == 0 && rest.iter().all(sure)
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
    /// Instructions before which each event is pending and will be waited for.
    live: Vec<BitSet>,
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
        let mut kernel = Self { body, events, pending: Vec::new(), of_board, live: Vec::new() };
        kernel.pending = kernel.flow_forward(&next)?;
        kernel.live = kernel.flow_back(&next);
        Some(kernel)
    }

    /// Events that end before an instruction.
    fn awaited(&self, i: usize) -> BitSet {
        let waits = self.body.get(i).map_or(0, |x| x.waits());
        let mut out = BitSet::none(self.events.len());
        for (board, events) in self.of_board.iter().enumerate() {
            if waits >> board & 1 == 1 {
                out.merge(events);
            }
        }
        out
    }

    fn flow_forward(&self, next: &[Vec<usize>]) -> Option<Vec<BitSet>> {
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
            for &j in next.get(i)? {
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

    fn flow_back(&self, next: &[Vec<usize>]) -> Vec<BitSet> {
        let count = self.body.len();
        let awaited: Vec<BitSet> = (0..count).map(|i| self.awaited(i)).collect();
        let mut needed: Vec<BitSet> =
            self.pending.iter().zip(&awaited).map(|(p, a)| p.and(a)).collect();
        let mut previous = vec![Vec::new(); count];
        for (i, list) in next.iter().enumerate() {
            for &j in list {
                previous[j].push(i);
            }
        }
        let mut work: Vec<usize> = (0..count).collect();
        while let Some(j) = work.pop() {
            for &i in &previous[j] {
                let more = needed[j].and(&self.pending[i]).without(&awaited[i]);
                if needed[i].merge(&more) {
                    work.push(i);
                }
            }
        }
        let mut live = vec![BitSet::none(count); self.events.len()];
        for (i, events) in needed.iter().enumerate() {
            for event in events.iter() {
                live[event].add(i);
            }
        }
        live
    }

    /// The boards that an instruction waits for when events have these boards.
    fn waits(&self, i: usize, boards: &[Option<u8>]) -> Option<u8> {
        let old = self.body.get(i)?.waits();
        if old == ALL {
            return Some(ALL);
        }
        let mut out = 0;
        for board in (0..BOARDS).filter(|b| old >> b & 1 == 1) {
            let events = self.pending.get(i)?.and(self.of_board.get(usize::from(board))?);
            let mut events = events.iter().peekable();
            // A wait for nothing has an unknown reason.
            events.peek()?;
            for event in events {
                if let Some(board) = boards.get(event)? {
                    out |= 1 << board;
                }
            }
        }
        Some(out)
    }

    /// The new board of each event; none for the stack pointer, the first.
    fn allocate(&self) -> Option<Vec<Option<u8>>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of: Vec<usize> = Vec::new();
        for (number, event) in self.events.iter().enumerate() {
            let live = self.live.get(number)?;
            let here = self.pending.get(event.at)?.without(&self.awaited(event.at));
            let mut under_way = BitSet::none(self.events.len());
            for (earlier, &group) in group_of.iter().enumerate() {
                if here.has(earlier) || self.events[earlier].at == event.at {
                    under_way.add(group);
                }
            }
            let rivals: Vec<usize> = (0..groups.len())
                .filter(|&g| under_way.has(g) || groups[g].live.meets(live))
                .collect();
            let mates: Vec<usize> = rivals
                .iter()
                .copied()
                .filter(|&g| g != STACK_POINTER && groups[g].old == event.board)
                .collect();
            if number != STACK_POINTER
                && let Some((&first, others)) = mates.split_first()
            {
                if others.iter().any(|&g| groups[g].new != groups[first].new) {
                    return None;
                }
                for &g in others {
                    let more = groups[g].live.clone();
                    groups[first].live.merge(&more);
                }
                groups[first].live.merge(live);
                group_of.push(first);
                continue;
            }
            let new = match number {
                STACK_POINTER => None,
                _ => Some(self.choose(event, &rivals, &groups)?),
            };
            group_of.push(groups.len());
            groups.push(Group { old: event.board, new, live: live.clone() });
        }
        Some(group_of.iter().map(|&g| groups[g].new).collect())
    }

    /// The board of an event that shares none, chosen by the rank of its old board among those free
    /// then. Loads from memory leave two boards to faster instructions, and those that may not
    /// happen take the last.
    fn choose(&self, event: &Event, rivals: &[usize], groups: &[Group]) -> Option<u8> {
        const LAST: u8 = BOARDS - 1;
        let slow = event.writes && is_slow(*self.body.get(event.at)?);
        let (mut taken, mut taken_now) = (0_u8, 0_u8);
        for &g in rivals {
            taken |= 1 << groups[g].old;
            taken_now |= groups[g].new.map_or(0, |b| 1 << b);
        }
        let lowest = |taken: u8, from: u8| (from..BOARDS).find(|b| taken >> b & 1 == 0);
        let quick_choice = lowest(taken_now, 0);
        let slow_choice = lowest(taken_now, 2);
        let old = Some(event.board);
        if taken >> event.board & 1 == 1 {
            // It shared the stack pointer's.
            return if slow { slow_choice } else { quick_choice };
        }
        if slow && event.board == LAST && taken_now >> LAST & 1 == 0 {
            Some(LAST)
        } else if slow && old == lowest(taken, 2) && slow_choice.is_some() {
            slow_choice
        } else if !slow && old == lowest(taken, 0) {
            quick_choice
        } else if taken == taken_now {
            old
        } else if old == lowest(taken, 2) && slow_choice.is_some() {
            slow_choice
        } else if old == lowest(taken, 0) {
            quick_choice
        } else {
            None
        }
    }
}

/// Index of the first event, and of its group.
const STACK_POINTER: usize = 0;

/// Events on one board at the same time.
struct Group {
    old: u8,
    new: Option<u8>,
    live: BitSet,
}

/// LD, LDG, atomics, texture and surface accesses.
fn is_slow(instruction: Instruction) -> bool {
    matches!(instruction.operation(), 0x181 | 0x180 | 0x1a8 | 0x1a9 | 0x18a | 0x160 | 0x161 | 0x166)
}

/// Where control may go from an instruction; `None` if unknown.
fn successors(body: &[Instruction], i: usize) -> Option<Vec<usize>> {
    const EXIT: u16 = 0x14d;
    const BRANCH: u16 = 0x147;
    const MEET: u16 = 0x148;
    let instruction = *body.get(i)?;
    let at = (i * Instruction::SIZE) as i64;
    let next = Some(i + 1).filter(|&n| n < body.len());
    let mut out = Vec::new();
    match (instruction.operation(), instruction.flow(at)) {
        (_, Flow::Call | Flow::Unknown) | (0x149 | 0x158, _) => return None,
        (BRANCH | MEET, Flow::To(target)) => {
            let target = usize::try_from(target).ok()? / Instruction::SIZE;
            out.extend(Some(target).filter(|&t| t < body.len()));
            if instruction.operation() == MEET || !instruction.always_branches() {
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
        let mut waits_for_nothing = KERNEL;
        waits_for_nothing[7] |= 1 << (105 + 11 + 4);
        assert_eq!(changed(&waits_for_nothing), None);
        assert_eq!(changed(&changed(&KERNEL).unwrap()), None, "there is nothing more to do");
    }
}
