//! Which board each event gets, with and without the load of the stack pointer.
//!
//! The compiler's allocator and nvlink's are the same, so its rule is run twice at once: over the
//! input's boards, which are known, and over the new ones. Where the rule explains the input's
//! choice, its second answer is taken; elsewhere the new board follows from the input's.

use super::blocks::Blocks;
use super::board_times::{Clock, Times};
use super::dependences::{Dependences, Users};
use super::event::{BOARDS, Event, NEVER, NEXT};
use super::event_set::EventSet;
use super::instruction::Instruction;
use super::kernel::Kernel;
use super::registers::{RegisterSet, Registers};
use super::units::{is_slow, is_texture};
use crate::dialect::BoardRules;
use std::collections::BTreeMap;

/// The board of results that leave their block and take long.
const LAST: u8 = BOARDS - 1;
/// How many events may be pending where boards are chosen, in all, per instruction. Compiled code has far
/// fewer; other code is left alone, as its allocation would take too long.
const PENDING: usize = 150;
/// The first board of results that take long.
const FIRST_SLOW: u8 = 2;
/// Events that are pending, by board.
pub type Boards = Vec<EventSet>;

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
    pub(super) waiter: Vec<usize>,
    /// Where each block uses registers, if these are known.
    users: Vec<Users>,
    /// What the blocks that follow each block read and write.
    used_next: Vec<Registers>,
    /// Whether the kernel has any slow instruction with a result.
    any_slow: bool,
    /// The board of slow results that leave their block: textures have the last one for themselves.
    last_slow: u8,
    /// The first board that events leave to slow ones if they leave their block.
    first_leaving: u8,
    /// The first board that is for textures alone, in all blocks of a kernel that has any.
    first_texture: u8,
    /// Boards whose events DEPBAR counts, one bit each.
    pub(super) counted: u8,
    /// Rules of the input's compiler and of the linker.
    pub(super) rules: [BoardRules; 2],
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
    /// Registers with events under way, by board, when the last instruction of each block has waited, as
    /// far as is known without back edges.
    pub known: BTreeMap<usize, Known>,
    /// The same in the input.
    pub known_before: BTreeMap<usize, Known>,
    /// Events that leave each block, as far as is known without back edges.
    pub leaving: Vec<EventSet>,
    /// Events that each instruction of the input waits for without a reason that is known.
    pub copied: Vec<EventSet>,
    /// Events whose boards in the input the rule does not explain.
    pub unexplained: Vec<usize>,
}

/// What is pending in a block, in one of the two allocations.
pub struct Pending {
    pub boards: Boards,
    /// When all that was set on each board is over, whoever waited for it.
    pub ready: Ready,
    pub clock: Clock,
    /// Whether slow results of other blocks were pending where the block starts.
    slow_enters: bool,
}

/// Boards at the ends of blocks, in one of the two allocations.
struct Side {
    out: Vec<Option<Boards>>,
    /// Cycles until the events of each board are over.
    left: Vec<Ready>,
    times: Times,
}

/// Registers with events under way, by board.
pub type Known = [RegisterSet; BOARDS as usize];
/// When the events of each board are over.
pub type Ready = [i64; BOARDS as usize];

/// What a choice in a block depends on.
struct View<'v> {
    block: usize,
    pending: &'v Pending,
    side: &'v Side,
    users: Option<&'v Users>,
    rules: BoardRules,
}

impl Side {
    /// What a block leaves to others.
    fn leave(&mut self, block: usize, pending: Pending) {
        let end = pending.clock.end;
        self.left[block] = pending.ready.map(|time| (time - end).max(0));
        self.out[block] = Some(pending.boards);
    }
}

impl Pending {
    /// Puts an event on a board.
    fn set(&mut self, board: u8, event: usize, done: i64) {
        let board = usize::from(board);
        self.boards[board].add(event);
        self.ready[board] = done.max(self.ready[board]);
    }
}

impl<'k> Allocator<'k> {
    /// Collects it.
    pub fn new(kernel: &'k Kernel<'k>, rules: [BoardRules; 2]) -> Self {
        let Kernel { body, blocks, events, .. } = kernel;
        let mut at = vec![Vec::new(); body.len()];
        for (number, event) in events.iter().enumerate() {
            at[event.at].push(number);
        }
        let is_slow = |i: usize| is_slow(body[i]) && kernel.has_result(i);
        let any_slow = (0..body.len()).any(is_slow);
        let any_texture = body.iter().any(|&i| is_texture(i));
        let only_textures = !(0..body.len()).any(|i| is_slow(i) && !is_texture(body[i]));
        let last_slow = if any_texture { LAST - 1 } else { LAST };
        let counted = body.iter().filter_map(|i| i.counted_board()).fold(0, |c, b| c | 1 << b);
        let ranges = (0..blocks.count()).map(|block| blocks.range(block));
        let users = kernel.dependences.as_ref();
        let users = users.map_or_else(Vec::new, |d| ranges.map(|range| d.users(range)).collect());
        let mut out = Self {
            kernel,
            body,
            blocks,
            events,
            next_waits: next_waits(body, blocks),
            at,
            waiter: Vec::new(),
            users,
            used_next: Vec::new(),
            any_slow,
            last_slow,
            first_leaving: match (any_slow, only_textures) {
                (false, _) => BOARDS,
                (true, true) => LAST,
                (true, false) => last_slow,
            },
            first_texture: if any_texture { LAST } else { BOARDS },
            counted,
            rules,
        };
        out.waiter = out.waiters();
        out.used_next = out.used_next();
        out
    }

    /// What the blocks that follow each block read and write.
    fn used_next(&self) -> Vec<Registers> {
        let Some(dependences) = &self.kernel.dependences else { return Vec::new() };
        let ranges = (0..self.blocks.count()).map(|block| self.blocks.range(block));
        let used: Vec<_> = ranges.map(|range| dependences.summary(range)).collect();
        let next = |block: usize| {
            let mut out = Registers::default();
            self.blocks.successors(block).iter().for_each(|&s| out.merge(&used[s]));
            out
        };
        (0..self.blocks.count()).map(next).collect()
    }

    /// The instruction of its block that waits for each event.
    fn waiters(&self) -> Vec<usize> {
        let mut out = Vec::with_capacity(self.events.len());
        for (number, event) in self.events.iter().enumerate() {
            let users = self.users.get(self.blocks.of(event.at));
            let known = self.kernel.dependences.as_ref().zip(users);
            let known = known.map(|(d, users)| d.first_user(event, event.at, users, true));
            let is_silent = |d: &Dependences<'_>| d.is_silent(event);
            let known = known.filter(|_| !self.kernel.dependences.as_ref().is_some_and(is_silent));
            out.push(self.waiter_of(number, known));
        }
        out
    }

    /// The same for one event, given the first instruction that needs it, where that is known. What the
    /// end of a block waits for leaves.
    fn waiter_of(&self, number: usize, known: Option<usize>) -> usize {
        const BRANCHES: [u16; 5] = [Instruction::BSYNC, 0x147, 0x14d, 0x148, 0x11b];
        if self.kernel.drops(number) {
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

    /// Whether an event is a slow result that leaves its block, and no texture.
    fn takes_last_slow(&self, number: usize) -> bool {
        self.takes_last(number) && !is_texture(self.body[self.events[number].at])
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
        let empty = |stalls| Side {
            out: vec![None; self.blocks.count()],
            left: vec![[0; BOARDS as usize]; self.blocks.count()],
            times: Times::new(stalls, self.events.len()),
        };
        let mut old = empty(self.kernel.stalls_before.iter().map(|s| s.unwrap_or(0)).collect());
        let mut new = empty(self.body.iter().map(|i| i.stall()).collect());
        let mut allocation = Allocation {
            boards: vec![None; self.events.len()],
            early: vec![0; self.body.len()],
            known: BTreeMap::new(),
            known_before: BTreeMap::new(),
            leaving: vec![EventSet::default(); self.blocks.count()],
            copied: vec![EventSet::default(); self.body.len()],
            unexplained: Vec::new(),
        };
        let mut patience = PENDING * (self.body.len() + 100);
        for &block in self.blocks.order() {
            let mut was = self.enter(block, &mut old);
            let mut now = self.enter(block, &mut new);
            patience = patience.checked_sub(was.boards.iter().map(EventSet::len).sum())?;
            let (start, end) = self.blocks.range(block);
            let users = self.users.get(block);
            for i in start..=end {
                let unneeded = self.wait(i, &mut was.boards, &mut now.boards, &mut allocation)?;
                if let Some(dependences) = self.kernel.dependences.as_ref().filter(|_| i == end) {
                    let [before, known] =
                        [&was, &now].map(|p| self.subjects(dependences, &p.boards));
                    allocation.known_before.insert(i, before);
                    allocation.known.insert(i, known);
                }
                for &number in &self.at[i] {
                    let pending = was.boards.iter().map(EventSet::len).sum();
                    patience = patience.checked_sub(pending)?;
                    let event = &self.events[number];
                    if self.kernel.drops(number) {
                        was.set(event.board, number, old.times.done[number]);
                        continue;
                    }
                    let view = |pending, side, rules| View { block, pending, side, users, rules };
                    let explained =
                        self.choose(number, &view(&was, &old, self.rules[0])) == event.board;
                    if !explained {
                        allocation.unexplained.push(number);
                    }
                    let board = match explained {
                        true => self.choose(number, &view(&now, &new, self.rules[1])),
                        false => self.follow(number, &was.boards, &now.boards, &allocation.boards),
                    };
                    let fresh = now.boards[usize::from(board)].is_empty();
                    allocation.boards[number] = Some(Choice { board, fresh });
                    was.set(event.board, number, old.times.done[number]);
                    now.set(board, number, new.times.done[number]);
                }
                if self.kernel.dependences.is_some() && self.kernel.ends_block(i) {
                    self.end_block(i, unneeded, [&mut was, &mut now], &mut allocation);
                }
            }
            now.boards.iter().for_each(|events| _ = allocation.leaving[block].merge(events));
            old.leave(block, was);
            new.leave(block, now);
        }
        Some(allocation)
    }

    /// The registers that the events of each board are about.
    fn subjects(&self, dependences: &Dependences<'_>, boards: &Boards) -> Known {
        let mut out = [RegisterSet::default(); BOARDS as usize];
        for (set, events) in out.iter_mut().zip(boards) {
            let subjects = events.iter().map(|e| dependences.subject(&self.events[e]));
            subjects.for_each(|subject| set.merge(&subject));
        }
        out
    }

    /// What is pending at the start of a block, from blocks that have had their turn.
    fn enter(&self, block: usize, side: &mut Side) -> Pending {
        let clock = self.clock(block, &mut side.times);
        let mut boards = vec![EventSet::default(); BOARDS.into()];
        let mut ready = [0; BOARDS as usize];
        for &p in self.blocks.predecessors(block) {
            let Some(out) = &side.out[p] else { continue };
            for (all, more) in boards.iter_mut().zip(out) {
                all.merge(more);
            }
            for (time, &left) in ready.iter_mut().zip(&side.left[p]) {
                *time = left.max(*time);
            }
        }
        let slow = |events: &EventSet| events.iter().any(|e| self.takes_last_slow(e));
        let slow_enters = boards.iter().any(slow);
        Pending { boards, ready, clock, slow_enters }
    }

    /// Who waits for a pending event first after an instruction, in the block.
    fn waiter_after(&self, e: usize, i: usize, view: &View<'_>) -> usize {
        let event = &self.events[e];
        if self.blocks.of(event.at) == view.block {
            return self.waiter[e];
        }
        if self.kernel.drops(e) {
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

    /// The first board that an event leaves to others: to textures, and to slow results that leave this
    /// block or enter it. Textures of other blocks count, too (`march` of tests/differential/kernels), but
    /// do not make others take board 4, unlike a load that leaves (an LDG elsewhere in the kernel, k59 of
    /// 60 random kernels with textures).
    fn top(&self, number: usize, view: &View<'_>) -> u8 {
        if self.leaves(number) {
            return self.first_leaving;
        }
        let (start, end) = self.blocks.range(view.block);
        let mut set = self.at[start..=end].iter().flatten();
        match view.pending.slow_enters || set.any(|&e| self.takes_last_slow(e)) {
            true => self.last_slow,
            false => self.first_texture,
        }
    }

    /// The board that the rule gives to an event.
    fn choose(&self, number: usize, view: &View<'_>) -> u8 {
        let View { block, pending, side, .. } = *view;
        let (clock, done) = (&pending.clock, &side.times.done);
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
        let top = self.top(number, view);
        let waiter = self.waiter[number];
        let on = |board: u8| &pending.boards[usize::from(board)];
        let first = |board: u8| {
            let waiters = on(board).iter().map(|e| (e, self.waiter_after(e, event.at, view)));
            waiters.map(|(e, waiter)| self.or_next(waiter, e, view)).min().unwrap_or(NEVER)
        };
        // Events with one waiter share a board, and so do operands that leave the block.
        let shared = match waiter {
            NEVER if event.writes => None,
            NEVER => (0..BOARDS).find(|&b| self.has_leaving_operands(on(b), view)),
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
        let until = self.or_next(waiter, number, view);
        let cost = |board: u8| {
            if is_counted(board)
                || on(board).is_empty()
                || on(board).iter().any(|e| self.takes_last(e))
            {
                return i64::MAX;
            }
            let first = first(board);
            let cost = match first < until {
                true => done[number] - clock.at(first),
                false => pending.ready[usize::from(board)] - clock.at(until),
            };
            match (until, first) {
                (NEVER, NEVER) => 0,
                (NEVER, _) => cost.max(0),
                _ => cost,
            }
        };
        (low..self.first_texture).min_by_key(|&b| (cost(b), b)).unwrap_or(LAST)
    }

    /// Who waits for an event: the next block if nothing in this one does, but something there.
    fn or_next(&self, waiter: usize, number: usize, view: &View<'_>) -> usize {
        if waiter == NEVER && self.is_needed_next(number, view) { NEXT } else { waiter }
    }

    /// Whether a next block needs an event, for releases that look there.
    fn is_needed_next(&self, number: usize, view: &View<'_>) -> bool {
        let Some(dependences) = &self.kernel.dependences else { return false };
        view.rules.looks_at_next_blocks
            && !self.kernel.drops(number)
            && dependences.is_needed_by(&self.events[number], &self.used_next[view.block])
    }

    /// Whether events are all operands, and some of them leave this block.
    fn has_leaving_operands(&self, events: &EventSet, view: &View<'_>) -> bool {
        let own = |e: usize| self.blocks.of(self.events[e].at) == view.block;
        events.iter().all(|e| !self.events[e].writes && !self.is_needed_next(e, view))
            && events.iter().any(|e| self.leaves(e) && own(e))
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
