//! Which board each event gets, with and without the load of the stack pointer.
//!
//! The compiler's allocator and nvlink's are the same, so its rule is run twice at once: over the
//! input's boards, which are known, and over the new ones. Where the rule explains the input's
//! choice, its second answer is taken; elsewhere the new board follows from the input's.

use super::bit_set::BitSet;
use super::blocks::Blocks;
use super::instruction::Instruction;
use std::collections::BTreeMap;

/// Number of boards.
pub const BOARDS: u8 = 6;
/// The board of results that leave their block and take long.
const LAST: u8 = BOARDS - 1;
/// The first board of results that take long.
const FIRST_SLOW: u8 = 2;
/// No instruction: an event that nothing in its block waits for.
const NEVER: usize = usize::MAX;
/// Index of the event that is dropped.
pub const STACK_POINTER: usize = 0;

/// A board set by an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub at: usize,
    pub board: u8,
    /// Set with the result, not once the operands have been read.
    pub writes: bool,
}

/// Events that are pending, by board.
type Boards = Vec<BitSet>;

/// What the rule needs to know of a kernel.
pub struct Allocator<'k> {
    pub body: &'k [Instruction],
    pub blocks: &'k Blocks,
    pub events: &'k [Event],
    /// Events of each instruction.
    at: Vec<Vec<usize>>,
    /// Who waits for each event within its block; `NEVER` if it leaves the block.
    waiter: Vec<usize>,
    /// Instructions before which a slow event that leaves its block is pending.
    slow_leaving: BitSet,
    /// Whether the kernel has any slow instruction.
    any_slow: bool,
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
}

/// Estimated times in a block.
struct Clock {
    start: usize,
    issue: Vec<i64>,
    end: i64,
}

impl Clock {
    fn at(&self, i: usize) -> i64 {
        i.checked_sub(self.start).and_then(|k| self.issue.get(k)).copied().unwrap_or(self.end)
    }
}

impl<'k> Allocator<'k> {
    /// Collects it.
    pub fn new(
        body: &'k [Instruction],
        next: &[Vec<usize>],
        blocks: &'k Blocks,
        events: &'k [Event],
    ) -> Self {
        let mut at = vec![Vec::new(); body.len()];
        for (number, event) in events.iter().enumerate() {
            at[event.at].push(number);
        }
        let any_slow = body.iter().any(|&i| is_slow(i));
        let waiter = events.iter().map(|e| waiter(body, blocks, e)).collect();
        let slow_leaving = BitSet::none(body.len());
        let counted = body.iter().filter_map(|i| i.counted_board()).fold(0, |c, b| c | 1 << b);
        let mut out = Self { body, blocks, events, at, waiter, slow_leaving, any_slow, counted };
        for (number, &event) in events.iter().enumerate() {
            if out.takes_last(number) {
                out.reach(event, next);
            }
        }
        out
    }

    /// Adds the instructions up to the first wait for an event on each path.
    fn reach(&mut self, event: Event, next: &[Vec<usize>]) {
        let mut work = vec![event.at + 1];
        let mut seen = BitSet::none(self.body.len());
        while let Some(i) = work.pop() {
            if i >= self.body.len() || seen.has(i) {
                continue;
            }
            seen.add(i);
            if self.body[i].waits() >> event.board & 1 == 0 {
                work.extend(&next[i]);
            }
        }
        self.slow_leaving.merge(&seen);
    }

    /// Whether an event is a slow result that leaves its block, or a texture.
    pub fn takes_last(&self, number: usize) -> bool {
        let event = &self.events[number];
        let instruction = self.body[event.at];
        let slow = event.writes && is_slow(instruction);
        slow && (self.leaves(number) || is_texture(instruction))
    }

    /// Whether the boards whose events are counted have the same events as before.
    pub fn keeps_counted(&self, boards: &[Option<Choice>]) -> bool {
        self.events.iter().zip(boards).all(|(event, choice)| {
            let new = choice.map(|c| c.board);
            let counts = |board: u8| self.counted >> board & 1 == 1;
            new == Some(event.board) || !counts(event.board) && !new.is_some_and(counts)
        })
    }

    fn leaves(&self, number: usize) -> bool {
        self.waiter[number] == NEVER
    }

    /// The new board of each event but the stack pointer's.
    pub fn run(&self) -> Vec<Option<Choice>> {
        let empty = || Side {
            out: vec![None; self.blocks.count()],
            left: vec![BTreeMap::new(); self.blocks.count()],
        };
        let (mut old, mut new) = (empty(), empty());
        let mut boards = vec![None; self.events.len()];
        let mut done = vec![0; self.events.len()];
        for &block in self.blocks.order() {
            let clock = self.clock(block, &mut done);
            let (mut was, was_left) = self.enter(block, &old);
            let (mut now, now_left) = self.enter(block, &new);
            let (start, end) = self.blocks.range(block);
            for i in start..=end {
                let last = i == end && self.blocks.goes_on(block);
                let late = self.wait(i, last, &mut was, &mut now);
                for &number in &self.at[i] {
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
                    };
                    let explained =
                        self.choose(number, &view(&was, &was_left, &old)) == event.board;
                    let board = match explained {
                        true => self.choose(number, &view(&now, &now_left, &new)),
                        false => self.follow(number, &was, &now, &boards),
                    };
                    let fresh = now[usize::from(board)].is_empty();
                    boards[number] = Some(Choice { board, fresh });
                    was[usize::from(event.board)].add(number);
                    now[usize::from(board)].add(number);
                }
                for (board, events) in was.iter_mut().enumerate() {
                    if late >> board & 1 == 1 {
                        *events = self.only(&self.at[i], events);
                    }
                }
            }
            old.left[block] = self.remaining(&was, &was_left, &done, block, clock.end);
            new.left[block] = self.remaining(&now, &now_left, &done, block, clock.end);
            old.out[block] = Some(was);
            new.out[block] = Some(now);
        }
        boards
    }

    /// Ends what an instruction waits for. Returns boards on which only the stack pointer ends: the
    /// end of a block waits for it after its own board has been chosen.
    fn wait(&self, i: usize, last: bool, was: &mut Boards, now: &mut Boards) -> u8 {
        let none = BitSet::none(self.events.len());
        let (mut ended, mut late) = (none.clone(), 0);
        // Code of split warps waits for everything, and again afterwards.
        let waits = if self.body[i].is_collective() { 0 } else { self.body[i].waits() };
        for (board, events) in was.iter_mut().enumerate() {
            if waits >> board & 1 == 0 {
                continue;
            }
            if last && events.iter().all(|e| e == STACK_POINTER) {
                late |= 1 << board;
            } else {
                ended.merge(events);
                *events = none.clone();
            }
        }
        for events in now.iter_mut().filter(|events| events.meets(&ended)) {
            *events = none.clone();
        }
        late
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
    fn waiter_after(&self, e: usize, i: usize, block: usize) -> usize {
        if self.blocks.of(self.events[e].at) == block {
            return self.waiter[e];
        }
        if e == STACK_POINTER {
            return NEVER;
        }
        let (_, end) = self.blocks.range(block);
        let bit = 1 << self.events[e].board;
        (i + 1..=end).find(|&j| self.body[j].waits() & bit != 0).unwrap_or(NEVER)
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
        let View { block, pending, left, side, clock, done } = *view;
        let event = &self.events[number];
        let is_counted = |board: u8| self.counted >> board & 1 == 1;
        if is_counted(event.board) {
            return event.board;
        }
        if self.takes_last(number) {
            return LAST;
        }
        let slow = event.writes && is_slow(self.body[event.at]);
        let low = if slow { FIRST_SLOW } else { 0 };
        let top = if self.avoids_last(number, block) { LAST } else { BOARDS };
        let waiter = self.waiter[number];
        let on = |board: u8| &pending[usize::from(board)];
        let first = |board: u8| {
            let waiters = on(board).iter().map(|e| self.waiter_after(e, event.at, block));
            waiters.min().unwrap_or(NEVER)
        };
        // Events with one waiter share a board, and so do operands that leave the block.
        let leaving_operands = |e: usize| {
            !self.events[e].writes && self.leaves(e) && self.blocks.of(self.events[e].at) == block
        };
        let shared = match waiter {
            NEVER if event.writes => None,
            NEVER => (0..BOARDS).find(|&b| on(b).iter().any(leaving_operands)),
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

/// The instruction of its block that waits for an event; what the end of a block waits for leaves.
fn waiter(body: &[Instruction], blocks: &Blocks, event: &Event) -> usize {
    const BRANCHES: [u16; 5] = [Instruction::BSYNC, 0x147, 0x14d, 0x148, 0x11b];
    let block = blocks.of(event.at);
    let (_, end) = blocks.range(block);
    let found = (event.at + 1..=end).find(|&i| body[i].waits() >> event.board & 1 == 1);
    let is_end =
        |i: usize| i == end && BRANCHES.contains(&body[i].operation()) && blocks.goes_on(block);
    found.filter(|&i| !is_end(i) && event.at != 0).unwrap_or(NEVER)
}

/// LD, LDG, atomics, texture and surface accesses.
fn is_slow(instruction: Instruction) -> bool {
    let slow = [0x180, 0x181, 0x18a, 0x18b, 0x199, 0x1a2, 0x1a3, 0x1a8, 0x1a9];
    slow.contains(&instruction.operation()) || is_texture(instruction)
}

fn is_texture(instruction: Instruction) -> bool {
    (0x160..0x170).contains(&instruction.operation())
}

/// Estimated cycles until a result is there, or operands have been read.
fn latency(instruction: Instruction, writes: bool) -> i64 {
    match (instruction.operation(), writes) {
        _ if writes && is_slow(instruction) => 300,
        (0x182, true) => 48,
        (0x184, true) => 40,
        (0x119, true) => 32,
        (0x1c3 | 0x18c | 0x18d, true) => 27,
        (0x101, true) => 22,
        (0x100, true) => 19,
        (0x1ac | 0x108 | 0x104 | 0x106 | 0x110 | 0x112, true) => 18,
        (0x105 | 0x109 | 0x111, true) => 17,
        (_, true) => 30,
        (0x186 | 0x1a8 | 0x1a9, false) => 12,
        (0x181 | 0x105 | 0x111, false) => 10,
        (0x188 | 0x18c | 0x18d | 0x106 | 0x112, false) => 8,
        (_, false) => 15,
    }
}
