//! Which board each event gets, with and without the load of the stack pointer.
//!
//! The compiler's allocator and nvlink's are the same, so its rule is run twice at once: over the
//! input's boards, which are known, and over the new ones. Where the rule explains the input's
//! choice, its second answer is taken; elsewhere the new board follows from the input's.

use super::bit_set::BitSet;
use super::blocks::Blocks;
use super::dependences::{Dependences, Users};
use super::event::{BOARDS, Event, NEVER, STACK_POINTER};
use super::instruction::Instruction;
use super::kernel::Kernel;
use super::units::{is_slow, is_texture, latency};
use std::collections::BTreeMap;

/// The board of results that leave their block and take long.
const LAST: u8 = BOARDS - 1;
/// How many events may be pending where boards are chosen, in all, per instruction. Compiled code has far
/// fewer; other code is left alone, as its allocation would take too long.
const PENDING: usize = 150;
/// The first board of results that take long.
const FIRST_SLOW: u8 = 2;
/// Events that are pending, by board.
pub type Boards = Vec<BitSet>;

/// What the rule needs to know of a kernel.
pub struct Allocator<'k> {
    pub(super) kernel: &'k Kernel<'k>,
    pub(super) body: &'k [Instruction],
    pub(super) blocks: &'k Blocks,
    pub(super) events: &'k [Event],
    /// The next instruction of its block that waits for each board, at or after each instruction.
    next_waits: Vec<[usize; BOARDS as usize]>,
    /// Events of each instruction.
    pub(super) at: Vec<Vec<usize>>,
    /// Who waits for each event within its block; `NEVER` if it leaves the block.
    waiter: Vec<usize>,
    /// Instructions before which a slow event that leaves its block is pending.
    slow_leaving: BitSet,
    /// Whether the kernel has any slow instruction with a result.
    any_slow: bool,
    /// The board of slow results that leave their block: textures have the last one for themselves.
    last_slow: u8,
    /// Boards whose events DEPBAR counts, one bit each.
    counted: u8,
}

/// The new board of an event.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub board: u8,
    /// The board was free, as far as was known.
    pub fresh: bool,
}

/// The new boards.
pub struct Allocation {
    /// Of each event but the stack pointer's.
    pub boards: Vec<Option<Choice>>,
    /// What each instruction waits for as far as is known without back edges.
    pub early: Vec<u8>,
    /// Events that each instruction of the input waits for without a reason that is known.
    pub copied: Vec<BitSet>,
    /// Events whose boards in the input the rule does not explain.
    pub unexplained: Vec<usize>,
}

/// Boards that the end of a block waits for without need: its own board is chosen before that.
#[derive(Default)]
pub struct Late {
    pub was: u8,
    pub now: u8,
}

/// Times in a block.
pub struct Times<'v> {
    pub clock: &'v Clock,
    pub done: &'v [i64],
}

/// Boards at the ends of blocks, in one of the two allocations.
struct Side {
    out: Vec<Option<Boards>>,
    /// Cycles until the events pending there are over.
    left: Vec<BTreeMap<usize, i64>>,
}

/// What a choice in a block depends on.
struct View<'v> {
    block: usize,
    pending: &'v Boards,
    left: &'v BTreeMap<usize, i64>,
    side: &'v Side,
    clock: &'v Clock,
    done: &'v [i64],
    users: Option<&'v Users>,
}

/// Estimated times in a block.
pub struct Clock {
    start: usize,
    issue: Vec<i64>,
    end: i64,
}

impl Clock {
    /// When an instruction issues; the end of the block if it is not in it.
    pub fn at(&self, i: usize) -> i64 {
        i.checked_sub(self.start).and_then(|k| self.issue.get(k)).copied().unwrap_or(self.end)
    }
}

impl<'k> Allocator<'k> {
    /// Collects it.
    pub fn new(kernel: &'k Kernel<'k>) -> Self {
        let Kernel { body, blocks, events, .. } = kernel;
        let mut at = vec![Vec::new(); body.len()];
        for (number, event) in events.iter().enumerate() {
            at[event.at].push(number);
        }
        let is_slow = |i: usize| is_slow(body[i]) && kernel.has_result(i);
        let any_slow = (0..body.len()).any(is_slow);
        let any_texture = body.iter().any(|&i| is_texture(i));
        let counted = body.iter().filter_map(|i| i.counted_board()).fold(0, |c, b| c | 1 << b);
        let mut out = Self {
            kernel,
            body,
            blocks,
            events,
            next_waits: next_waits(body, blocks),
            at,
            waiter: Vec::new(),
            slow_leaving: BitSet::none(body.len()),
            any_slow,
            last_slow: if any_texture { LAST - 1 } else { LAST },
            counted,
        };
        out.waiter = out.waiters();
        let mut slow_leaving = BitSet::none(events.len());
        (0..events.len()).filter(|&e| out.takes_last(e)).for_each(|e| slow_leaving.add(e));
        out.slow_leaving = kernel.until_needed(&slow_leaving);
        out
    }

    /// The instruction of its block that waits for each event.
    fn waiters(&self) -> Vec<usize> {
        let mut users: Option<(usize, Users)> = None;
        let mut out = Vec::with_capacity(self.events.len());
        for (number, event) in self.events.iter().enumerate() {
            let block = self.blocks.of(event.at);
            let known = self.kernel.dependences.as_ref().map(|dependences| {
                let fresh = || (block, dependences.users(self.blocks.range(block)));
                let listed = match users.take() {
                    Some(listed) if listed.0 == block => listed,
                    _ => fresh(),
                };
                let (_, users) = users.insert(listed);
                dependences.first_user(event, event.at, users, true)
            });
            // Fences have no operands.
            let is_fence = |d: &Dependences<'_>| !event.writes && d.subject(event).is_empty();
            let known = known.filter(|_| !self.kernel.dependences.as_ref().is_some_and(is_fence));
            out.push(self.waiter_of(number, known));
        }
        out
    }

    /// The same for one event, given the first instruction that needs it, where that is known. What the
    /// end of a block waits for leaves.
    fn waiter_of(&self, number: usize, known: Option<usize>) -> usize {
        const BRANCHES: [u16; 5] = [Instruction::BSYNC, 0x147, 0x14d, 0x148, 0x11b];
        if number == STACK_POINTER {
            return NEVER;
        }
        let event = &self.events[number];
        let block = self.blocks.of(event.at);
        let (_, end) = self.blocks.range(block);
        let found = match event.at < end {
            true => self.next_waits[event.at + 1][usize::from(event.board)],
            false => NEVER,
        };
        if let Some(known) = known.filter(|&i| i != NEVER && found <= i) {
            return known;
        }
        let is_end = found == end
            && (known.is_some() || BRANCHES.contains(&self.body[end].operation()))
            && self.blocks.goes_on(block);
        // With registers, another event on its board is the reason.
        let own = found != NEVER && known != Some(NEVER);
        if own && !is_end { found } else { NEVER }
    }

    /// Whether an event is a slow result that leaves its block, or a texture.
    pub fn takes_last(&self, number: usize) -> bool {
        let event = &self.events[number];
        let instruction = self.body[event.at];
        let slow = event.writes && is_slow(instruction);
        slow && (self.leaves(number) && self.any_slow || is_texture(instruction))
    }

    /// Whether the boards whose events are counted have the same events as before.
    pub fn keeps_counted(&self, boards: &[Option<Choice>]) -> bool {
        self.events.iter().zip(boards).all(|(event, choice)| {
            let new = choice.map(|c| c.board);
            let counts = |board: u8| self.counted >> board & 1 == 1;
            new == Some(event.board) || !counts(event.board) && !new.is_some_and(counts)
        })
    }

    /// Whether nothing in its block waits for an event.
    pub fn leaves(&self, number: usize) -> bool {
        self.waiter[number] == NEVER
    }

    /// The new board of each event but the stack pointer's.
    pub fn run(&self) -> Option<Allocation> {
        let empty = || Side {
            out: vec![None; self.blocks.count()],
            left: vec![BTreeMap::new(); self.blocks.count()],
        };
        let (mut old, mut new) = (empty(), empty());
        let mut allocation = Allocation {
            boards: vec![None; self.events.len()],
            early: vec![0; self.body.len()],
            copied: vec![BitSet::none(self.events.len()); self.body.len()],
            unexplained: Vec::new(),
        };
        let mut done = vec![0; self.events.len()];
        let mut patience = PENDING * (self.body.len() + 100);
        for &block in self.blocks.order() {
            let clock = self.clock(block, &mut done);
            let (mut was, was_left) = self.enter(block, &old);
            let (mut now, now_left) = self.enter(block, &new);
            patience = patience.checked_sub(was_left.len())?;
            let (start, end) = self.blocks.range(block);
            let users = self.kernel.dependences.as_ref().map(|d| d.users((start, end)));
            for i in start..=end {
                let times = Times { clock: &clock, done: &done };
                let late = self.wait(i, &times, &mut was, &mut now, &mut allocation)?;
                for &number in &self.at[i] {
                    let pending = was.iter().map(BitSet::len).sum();
                    patience = patience.checked_sub(pending)?;
                    let event = &self.events[number];
                    if number == STACK_POINTER {
                        was[usize::from(event.board)].add(number);
                        continue;
                    }
                    let view = |pending, left, side| View {
                        block,
                        pending,
                        left,
                        side,
                        clock: &clock,
                        done: &done,
                        users: users.as_ref(),
                    };
                    let explained =
                        self.choose(number, &view(&was, &was_left, &old)) == event.board;
                    if !explained {
                        allocation.unexplained.push(number);
                    }
                    let board = match explained {
                        true => self.choose(number, &view(&now, &now_left, &new)),
                        false => self.follow(number, &was, &now, &allocation.boards),
                    };
                    let fresh = now[usize::from(board)].is_empty();
                    allocation.boards[number] = Some(Choice { board, fresh });
                    was[usize::from(event.board)].add(number);
                    now[usize::from(board)].add(number);
                }
                for (boards, late) in [(&mut was, late.was), (&mut now, late.now)] {
                    for (board, events) in boards.iter_mut().enumerate() {
                        if late >> board & 1 == 1 {
                            *events = self.only(&self.at[i], events);
                        }
                    }
                }
            }
            old.left[block] = self.remaining(&was, &was_left, &done, block, clock.end);
            new.left[block] = self.remaining(&now, &now_left, &done, block, clock.end);
            old.out[block] = Some(was);
            new.out[block] = Some(now);
        }
        Some(allocation)
    }

    /// What is pending at the start of a block, from blocks that have had their turn.
    fn enter(&self, block: usize, side: &Side) -> (Boards, BTreeMap<usize, i64>) {
        let mut pending = vec![BitSet::none(self.events.len()); BOARDS.into()];
        let mut left = BTreeMap::new();
        for &p in self.blocks.predecessors(block) {
            let Some(out) = &side.out[p] else { continue };
            for (all, more) in pending.iter_mut().zip(out) {
                all.merge(more);
            }
            for (&event, &cycles) in &side.left[p] {
                let known = left.entry(event).or_insert(cycles);
                *known = cycles.max(*known);
            }
        }
        (pending, left)
    }

    fn remaining(
        &self,
        pending: &Boards,
        left: &BTreeMap<usize, i64>,
        done: &[i64],
        block: usize,
        end: i64,
    ) -> BTreeMap<usize, i64> {
        let cycles = |e: usize| self.over(e, block, left, done) - end;
        pending.iter().flat_map(BitSet::iter).map(|e| (e, cycles(e).max(0))).collect()
    }

    /// When an event is over, by the clock of this block.
    fn over(&self, e: usize, block: usize, left: &BTreeMap<usize, i64>, done: &[i64]) -> i64 {
        match self.blocks.of(self.events[e].at) == block {
            true => done[e],
            false => left.get(&e).copied().unwrap_or(0),
        }
    }

    fn only(&self, these: &[usize], events: &BitSet) -> BitSet {
        let mut out = BitSet::none(self.events.len());
        these.iter().filter(|&&e| events.has(e)).for_each(|&e| out.add(e));
        out
    }

    /// When instructions issue, from stall counts and waits, and when events are over.
    fn clock(&self, block: usize, done: &mut [i64]) -> Clock {
        let (start, end) = self.blocks.range(block);
        let mut issue = Vec::new();
        let mut ready = BTreeMap::new();
        let mut now = 0;
        for i in start..=end {
            now = ready.get(&i).copied().unwrap_or(0).max(now);
            issue.push(now);
            for &e in &self.at[i] {
                done[e] = now + latency(self.body[i], self.events[e].writes);
                let until = ready.entry(self.waiter[e]).or_insert(0);
                *until = done[e].max(*until);
            }
            now += i64::from(self.body[i].stall());
        }
        Clock { start, issue, end: now }
    }

    /// Who waits for a pending event first after an instruction, in the block.
    fn waiter_after(&self, e: usize, i: usize, view: &View<'_>) -> usize {
        let event = &self.events[e];
        if self.blocks.of(event.at) == view.block {
            return self.waiter[e];
        }
        if e == STACK_POINTER {
            return NEVER;
        }
        if let (Some(dependences), Some(users)) = (&self.kernel.dependences, view.users) {
            return dependences.first_user(event, i, users, false);
        }
        let (_, end) = self.blocks.range(view.block);
        match i < end {
            true => self.next_waits[i + 1][usize::from(event.board)],
            false => NEVER,
        }
    }

    /// Whether an event leaves the last board to slow ones.
    fn avoids_last(&self, number: usize, block: usize) -> bool {
        let waiter = self.waiter[number];
        if waiter == NEVER {
            return self.any_slow;
        }
        let (start, end) = self.blocks.range(block);
        let mut here = self.at[start..=end].iter().flatten();
        here.any(|&e| self.takes_last(e))
            || (self.events[number].at + 1..=waiter).any(|i| self.slow_leaving.has(i))
    }

    /// The board that the rule gives to an event.
    fn choose(&self, number: usize, view: &View<'_>) -> u8 {
        let View { block, pending, left, side, clock, done, .. } = *view;
        let event = &self.events[number];
        let is_counted = |board: u8| self.counted >> board & 1 == 1;
        if is_counted(event.board) {
            return event.board;
        }
        if self.takes_last(number) {
            return if is_texture(self.body[event.at]) { LAST } else { self.last_slow };
        }
        let slow = event.writes && is_slow(self.body[event.at]);
        let low = if slow { FIRST_SLOW } else { 0 };
        let top = if self.avoids_last(number, block) { self.last_slow } else { BOARDS };
        let waiter = self.waiter[number];
        let on = |board: u8| &pending[usize::from(board)];
        let first = |board: u8| {
            let waiters = on(board).iter().map(|e| self.waiter_after(e, event.at, view));
            waiters.min().unwrap_or(NEVER)
        };
        // Events with one waiter share a board, and so do operands that leave the block.
        let leaving_operands = |e: usize| {
            !self.events[e].writes && self.leaves(e) && self.blocks.of(self.events[e].at) == block
        };
        let shared = match waiter {
            NEVER if event.writes => None,
            NEVER => (0..BOARDS).find(|&b| !on(b).is_empty() && on(b).iter().all(leaving_operands)),
            _ => (0..top).find(|&b| first(b) == waiter),
        };
        if let Some(board) = shared {
            return board;
        }
        let met = |board: u8| {
            let mut outs = self.blocks.rivals(block).filter_map(|p| side.out[p].as_ref());
            waiter == NEVER && outs.any(|out| !out[usize::from(board)].is_empty())
        };
        if let Some(board) = (low..top).find(|&b| on(b).is_empty() && !is_counted(b) && !met(b)) {
            return board;
        }
        if let Some(board) = (low..top).find(|&b| on(b).is_empty() && !is_counted(b)) {
            return board;
        }
        // None is free: the one on which waiting for all costs least.
        let cost = |board: u8| {
            if is_counted(board)
                || on(board).is_empty()
                || on(board).iter().any(|e| self.takes_last(e))
            {
                return i64::MAX;
            }
            let first = first(board);
            let others = on(board).iter().map(|e| self.over(e, block, left, done)).max();
            let cost = match first < waiter {
                true => done[number] - clock.at(first),
                false => others.unwrap_or(0) - clock.at(waiter),
            };
            match (waiter, first) {
                (NEVER, NEVER) => 0,
                (NEVER, _) => cost.max(0),
                _ => cost,
            }
        };
        (low..BOARDS).min_by_key(|&b| (cost(b), b)).unwrap_or(LAST)
    }

    /// The board of an event whose old one the rule does not explain.
    fn follow(&self, number: usize, was: &Boards, now: &Boards, boards: &[Option<Choice>]) -> u8 {
        let event = &self.events[number];
        let new_board = |e: usize| boards[e].map(|c| c.board);
        let mates = was[usize::from(event.board)].iter().filter_map(|e| Some((e, new_board(e)?)));
        let mates = mates.filter(|&(e, board)| now[usize::from(board)].has(e));
        if let Some(board) = mates.map(|(_, board)| board).min() {
            return board;
        }
        let slow = event.writes && is_slow(self.body[event.at]);
        let low = if slow { FIRST_SLOW } else { 0 };
        let lowest = |boards: &Boards| (low..BOARDS).find(|&b| boards[usize::from(b)].is_empty());
        match lowest(was) == Some(event.board) {
            true => lowest(now).unwrap_or(event.board),
            false => event.board,
        }
    }
}

/// The next instruction of its block that waits for each board, at or after each instruction.
fn next_waits(body: &[Instruction], blocks: &Blocks) -> Vec<[usize; BOARDS as usize]> {
    let mut out = vec![[NEVER; BOARDS as usize]; body.len()];
    for (i, instruction) in body.iter().enumerate().rev() {
        let same = i + 1 < body.len() && blocks.of(i + 1) == blocks.of(i);
        let mut next = if same { out[i + 1] } else { [NEVER; BOARDS as usize] };
        for (board, at) in next.iter_mut().enumerate() {
            if instruction.waits() >> board & 1 == 1 {
                *at = i;
            }
        }
        out[i] = next;
    }
    out
}
