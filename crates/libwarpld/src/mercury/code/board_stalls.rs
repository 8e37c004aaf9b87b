//! Stall counts that change because other instructions wait for boards than in the input.

use super::board_choice::Allocation;
use super::event::NEVER;
use super::instruction::Instruction;
use super::kernel::Kernel;
use super::registers::{RegisterSet, Registers};
use super::units::{Unit, has_fixed_latency, is_fixed_latency};

/// The fewest cycles between setting a board and waiting for it.
const UNTIL_WAIT: u8 = 2;

/// The largest stall count.
const MOST: i64 = 15;

/// No result of fixed latency takes longer, but for double precision and tensor cores.
const LONGEST: i64 = 14;

/// Instructions with a board that the next one waits for.
pub fn set_before_waits<'a>(
    kernel: &'a Kernel<'_>,
    allocation: &'a Allocation,
    waits: &'a [u8],
) -> impl Iterator<Item = usize> + 'a {
    kernel.events.iter().zip(&allocation.boards).filter_map(|(event, choice)| {
        let board = (*choice)?.board;
        let is_waited_for = kernel.next[event.at].iter().any(|&j| waits[j] >> board & 1 == 1);
        is_waited_for.then_some(event.at)
    })
}

/// Stall counts with the new boards. An instruction takes two cycles if the next one waits for a board that it sets (8 of 8
/// kernels). Where that is no longer so and both are in one block, one cycle is enough (15 of 15; at the end of a block two
/// stay, 30 of 30).
pub fn stalls(kernel: &Kernel<'_>, allocation: &Allocation, waits: &[u8]) -> Vec<u8> {
    let before: Vec<u8> = kernel.body.iter().map(|i| i.stall()).collect();
    let mut waited_for = vec![false; before.len()];
    set_before_waits(kernel, allocation, waits).for_each(|at| waited_for[at] = true);
    let mut least = before.clone();
    for (at, stall) in least.iter_mut().enumerate() {
        let was_waited_for = is_waited_for_too_soon(kernel, at);
        match (was_waited_for, waited_for[at]) {
            (false, true) if *stall < UNTIL_WAIT && *stall > 0 => *stall = UNTIL_WAIT,
            (true, false) if *stall == UNTIL_WAIT && !kernel.ends_block(at) => *stall = 1,
            _ => {}
        }
    }
    if least == before {
        return before;
    }
    let mut out = before;
    for block in 0..kernel.blocks.count() {
        let (start, end) = kernel.blocks.range(block);
        if out[start..=end] != least[start..=end] {
            let moved = moved_in(kernel, (start, end), &least, &waited_for);
            out[start..=end].copy_from_slice(&moved);
        }
    }
    out
}

/// Which instructions let other warps go first, as far as that changes with the stall counts: `None` where it does not.
pub fn yields(kernel: &Kernel<'_>, stalls: &[u8]) -> Vec<Option<bool>> {
    let before: Vec<u8> = kernel.body.iter().map(|i| i.stall()).collect();
    let mut out = vec![None; before.len()];
    for block in 0..kernel.blocks.count() {
        let (start, end) = kernel.blocks.range(block);
        if before[start..=end] == stalls[start..=end] {
            continue;
        }
        let [old, new] =
            [&before, stalls].map(|stalls| yields_in(kernel.body, start, &stalls[start..=end]));
        for (i, (old, new)) in (start..=end).zip(old.into_iter().zip(new)) {
            out[i] = (old != new).then_some(new);
        }
    }
    out
}

/// The same for a block. An instruction of fixed latency yields if it stalls for three cycles, or for two and nothing in
/// the block has yielded for twelve (98 % of 98,000 stall counts of two).
fn yields_in(body: &[Instruction], start: usize, stalls: &[u8]) -> Vec<bool> {
    const PATIENCE: u32 = 12;
    let mut cycles = 0;
    let yields = |(instruction, &stall): (&Instruction, &u8)| {
        cycles += u32::from(stall);
        let yields = match stall {
            _ if !has_fixed_latency(*instruction) => instruction.yields(),
            0 | 1 => false,
            2 => cycles >= PATIENCE,
            _ => true,
        };
        if yields {
            cycles = 0;
        }
        yields
    };
    body[start..].iter().zip(stalls).map(yields).collect()
}

/// Whether the next instruction waits for a board of this one in the input. At the end of the code nobody knows.
fn is_waited_for_too_soon(kernel: &Kernel<'_>, at: usize) -> bool {
    let Some(instruction) = kernel.body.get(at) else { return true };
    let boards = [instruction.read_board(), instruction.write_board()];
    let mut next = kernel.next[at].iter().filter_map(|&j| kernel.body.get(j));
    next.any(|next| boards.iter().flatten().any(|&board| next.waits() >> board & 1 == 1))
}

/// Stall counts of a block some of whose instructions need fewer or more cycles. Those behind come sooner or later, but keep
/// the distances to instructions of fixed latency whose results they read as soon as they may (`IADD3 R11; LDCU;
/// IABS; IMAD .., R11` with stall counts 1, 2, 2: LDCU takes 1 now, and IABS 3).
fn moved_in(
    kernel: &Kernel<'_>,
    (start, end): (usize, usize),
    least: &[u8],
    waited_for: &[bool],
) -> Vec<u8> {
    let before = |i: usize| kernel.body[i].stall();
    let longer = || (start..=end).map(|i| least[i].max(before(i))).collect();
    let Some(dependences) = &kernel.dependences else { return longer() };
    let mut writers = vec![NEVER; RegisterSet::BOUND];
    let mut times = Times { start, old: vec![0], new: vec![0] };
    for i in start..=end {
        let registers = dependences.registers(i);
        if i > start {
            let kept = times.kept(kernel.body, i, &writers, registers);
            let step = match kept {
                Some(_) if waited_for[i - 1] => UNTIL_WAIT.min(least[i - 1]),
                Some(_) => least[i - 1].min(1),
                None => least[i - 1],
            };
            times.add(i64::from(before(i - 1)), i64::from(step), kept);
        }
        registers.writes.iter().for_each(|register| writers[register] = i);
    }
    match times.may_end(kernel.body, end).then(|| times.stalls()).flatten() {
        Some(stalls) => stalls.chain([least[end].max(before(end))]).collect(),
        None => longer(),
    }
}

/// When the instructions of a block issue by stall counts, in the input and in the output.
struct Times {
    start: usize,
    old: Vec<i64>,
    new: Vec<i64>,
}

impl Times {
    /// The earliest time of the next instruction that keeps the distances, but for that to the one before.
    fn kept(
        &self,
        body: &[Instruction],
        i: usize,
        writers: &[usize],
        registers: &Registers,
    ) -> Option<i64> {
        let now = self.old.last()? + i64::from(body[i - 1].stall());
        let kept = registers.reads.iter().filter_map(|register| {
            let p = writers[register];
            let k = p
                .checked_sub(self.start)
                .filter(|_| p.saturating_add(1) < i && has_fixed_latency(body[p]))?;
            let distance = now - self.old[k];
            let is_kept = is_fixed_latency(body[p], body[i], register, distance);
            is_kept.then(|| self.new[k] + distance)
        });
        kept.max().max(self.kept_by_unit(body, i, now))
    }

    /// The same for the unit of transcendental functions and conversions, which takes one instruction in eight cycles.
    fn kept_by_unit(&self, body: &[Instruction], i: usize, now: i64) -> Option<i64> {
        const APART: i64 = 8;
        let has_part =
            |i: usize| matches!(Unit::of(body[i]), Some(Unit::Function | Unit::Conversion));
        let before = (self.start..i.saturating_sub(1)).rev().find(|&p| has_part(p));
        let k = before.filter(|_| has_part(i))? - self.start;
        (now - self.old[k] == APART).then(|| self.new[k] + APART)
    }

    /// Adds an instruction, so many cycles behind the one before in the input, and at least so many in the output.
    fn add(&mut self, old: i64, least: i64, kept: Option<i64>) {
        let (Some(&was), Some(&is)) = (self.old.last(), self.new.last()) else { return };
        self.old.push(was + old);
        self.new.push((is + least).max(kept.unwrap_or(is + least)));
    }

    /// Whether results of fixed latency that may not be there yet at the end have as many cycles as in the input.
    fn may_end(&self, body: &[Instruction], end: usize) -> bool {
        let Some((old_end, new_end)) = self.old.last().zip(self.new.last()) else { return false };
        let mut times = (self.start..=end).zip(self.old.iter().zip(&self.new));
        times.all(|(i, (old, new))| {
            let is_there = old_end - old >= LONGEST || !has_fixed_latency(body[i]);
            is_there || new_end - new >= old_end - old
        })
    }

    /// The stall counts of all instructions but the last; `None` if one is too long.
    fn stalls(&self) -> Option<impl Iterator<Item = u8>> {
        let steps = self.new.windows(2).map(|pair| pair[1] - pair[0]);
        let may_be = |&step: &i64| (0..=MOST).contains(&step);
        steps.clone().all(|step| may_be(&step)).then(|| steps.map(|step| step as u8))
    }
}
