//! Which board each event gets, with and without the load of the stack pointer.
//!
//! The compiler's allocator and nvlink's are the same, so its rule is run twice at once: over the
//! input's boards, which are known, and over the new ones. Where the rule explains the input's
//! choice, its second answer is taken; elsewhere the new board follows from the input's.

use super::blocks::Blocks;
use super::board_reserved::{LAST, Reserved};
use super::board_sides::{Boards, Pending, Side};
use super::board_times::{Clock, Times};
use super::dependences::{Dependences, Users};
use super::event::{BOARDS, Event, NEVER, NEXT};
use super::event_flow::next_waits;
use super::event_set::EventSet;
use super::instruction::Instruction;
use super::kernel::Kernel;
use super::registers::{RegisterSet, Registers};
use super::units::is_slow;
use crate::dialect::BoardRules;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// How many events may be pending where boards are chosen, in all, per instruction. Compiled code has far
/// fewer; other code is left alone, as its allocation would take too long.
const PENDING: usize = 150;
/// The first board of results that take long.
const FIRST_SLOW: u8 = 2;
const RETURN: u16 = 0x150;
/// CCTL.IVALL.
const INVALIDATE: u16 = 0x18f;

/// What the rule needs to know of a kernel.
pub struct Allocator<'k> {
    pub(super) kernel: &'k Kernel<'k>,
    pub(super) body: &'k [Instruction],
    pub(super) blocks: &'k Blocks,
    pub(super) events: &'k [Event],
    /// The next instruction of its block that waits for each board, at or after each instruction.
    next_waits: Vec<[usize; BOARDS as usize]>,
    /// Who waits for each event within its block; `NEVER` if it leaves the block.
    pub(super) waiter: Vec<usize>,
    /// The same by the rules of the input's compiler.
    waiter_before: Vec<usize>,
    /// Who uses each register, if registers are known.
    pub(super) users: Option<Users>,
    /// What the blocks that follow each block read and write.
    used_next: Vec<Registers>,
    /// Who needs each event of another block next, as far as was asked: the block and the instruction.
    next_users: Vec<Cell<(usize, usize)>>,
    /// Whether each event is a slow result that leaves its block, or a texture; and whether it is no texture.
    takes_last: Vec<[bool; 2]>,
    /// Whether an instruction of each block sets a slow result that leaves it and is no texture.
    sets_last_slow: Vec<bool>,
    /// Whether the kernel has any slow instruction with a result.
    any_slow: bool,
    /// The board of slow results that leave their block: textures have the last one for themselves.
    last_slow: u8,
    /// The first board of slow results that their block needs. (Where groups of copies have 0 and DMMA has two boards: 1.)
    first_slow: u8,
    /// The first board that events leave to slow ones if they leave their block.
    first_leaving: u8,
    /// Boards that textures and DMMA have for themselves.
    reserved: Reserved,
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
    /// Registers with events under way, by board, when the last instruction of each block that is entered again
    /// has waited, as far as is known without back edges.
    pub known: BTreeMap<usize, Known>,
    /// The same in the input.
    pub known_before: BTreeMap<usize, Known>,
    /// Events that leave each block that goes back, as far as is known without back edges.
    pub leaving: Vec<EventSet>,
    /// Events that each instruction of the input waits for without a reason that is known.
    pub copied: Vec<EventSet>,
    /// Events whose instruction in the input waits for their board although nothing is pending on it. (Loops of tensor cores,
    /// compiled by 13.0: `HMMA R4, R132, R136, R4 (waits for 1); LDCU UR36 (waits for 1 and sets it)`; not understood.)
    pub repeated: EventSet,
    /// Events whose boards in the input the rule does not explain.
    pub unexplained: Vec<usize>,
}

/// Registers with events under way, by board.
pub type Known = [RegisterSet; BOARDS as usize];

/// What a choice in a block depends on.
struct View<'v> {
    block: usize,
    pending: &'v Pending,
    side: &'v Side,
    rules: BoardRules,
    /// Who waits for each event within its block.
    waiter: &'v [usize],
}

/// Boards whose events are counted or listed, and that of groups of copies: it is kept for them even if the group is on
/// another (fence.proxy.tensormap of 13.4: `UTMACCTL; UTMACMDFLUSH` on 1 and 2). Where the load of the stack pointer,
/// which goes, is the only event there is nothing to count.
fn counted(kernel: &Kernel<'_>) -> u8 {
    const ALL: u8 = 0x3f;
    const GROUPS: u8 = 0;
    let has_events = |board: u8| {
        let on = |(e, event): (usize, &Event)| event.board == board && !kernel.drops(e);
        kernel.events.iter().enumerate().any(on)
    };
    let mut out = 0;
    for (i, instruction) in kernel.body.iter().enumerate() {
        let counted = instruction.counted_board().filter(|_| kernel.named_by(i).is_none());
        let closed = instruction.closes_group().then_some(GROUPS);
        let boards = counted.into_iter().filter(|&board| has_events(board)).chain(closed);
        out = boards.fold(out, |out, board| out | 1 << board);
        let listed = instruction.listed_boards();
        out |= if listed == ALL { 0 } else { listed };
    }
    out & ALL
}

impl<'k> Allocator<'k> {
    /// Collects it.
    pub fn new(kernel: &'k Kernel<'k>, rules: [BoardRules; 2]) -> Self {
        let Kernel { body, blocks, events, .. } = kernel;
        let reserved = Reserved::of(kernel, rules[1]);
        let is_slow = |i: usize| reserved.is_slow(body[i]) && kernel.has_result(i);
        let any_slow = (0..body.len()).any(is_slow);
        let only_reserved = !(0..body.len()).any(|i| is_slow(i) && !reserved.is_for(body[i]));
        let last_slow = reserved.first() - 1;
        let counted = counted(kernel);
        let users = kernel.dependences.as_ref().map(|_| Users::new(&kernel.touched));
        let mut out = Self {
            kernel,
            body,
            blocks,
            events,
            next_waits: next_waits(body, blocks),
            waiter: Vec::new(),
            waiter_before: Vec::new(),
            users,
            used_next: Vec::new(),
            next_users: vec![Cell::new((NEVER, NEVER)); events.len()],
            takes_last: Vec::new(),
            sets_last_slow: vec![false; blocks.count()],
            any_slow,
            last_slow,
            first_slow: if counted & 1 == 1 { last_slow / 2 } else { FIRST_SLOW },
            first_leaving: match (any_slow, only_reserved) {
                (false, _) => BOARDS,
                (true, true) => reserved.first(),
                (true, false) => last_slow,
            },
            reserved,
            counted,
            rules,
        };
        out.waiter_before = out.waiters(rules[0]);
        out.waiter = match rules[0] == rules[1] {
            true => out.waiter_before.clone(),
            false => out.waiters(rules[1]),
        };
        out.takes_last = (0..events.len()).map(|e| out.is_last(e)).collect();
        for (event, &[_, slow]) in events.iter().zip(&out.takes_last) {
            out.sets_last_slow[blocks.of(event.at)] |= slow;
        }
        if rules.iter().any(|rules| rules.looks_at_next_blocks) {
            out.used_next = out.used_next();
        }
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
    fn waiters(&self, rules: BoardRules) -> Vec<usize> {
        let mut out = Vec::with_capacity(self.events.len());
        for (number, event) in self.events.iter().enumerate() {
            let known = self.kernel.dependences.as_ref().and_then(|d| {
                let subject = &self.kernel.subjects[number];
                let first = || self.first_user(number, event.at, self.blocks.of(event.at));
                (!d.is_silent(event, subject)).then(first)?
            });
            let known = known.map(|user| user.min(self.uniform_end(number, event.at, rules)));
            out.push(self.waiter_of(number, known, rules));
        }
        out
    }

    /// The first instruction of a block after another that needs an event, if registers are known.
    fn first_user(&self, e: usize, after: usize, block: usize) -> Option<usize> {
        let (dependences, users) = (self.kernel.dependences.as_ref()?, self.users.as_ref()?);
        let (event, subject) = (self.events.get(e)?, self.kernel.subjects.get(e)?);
        let local = self.blocks.of(event.at) == block;
        let (_, end) = self.blocks.range(block);
        Some(dependences.first_user(event, subject, after + 1..=end, users, local))
    }

    /// The end of an instruction's block if it waits for an event because that is about uniform registers, or for all.
    fn uniform_end(&self, number: usize, i: usize, rules: BoardRules) -> usize {
        let (_, end) = self.blocks.range(self.blocks.of(i));
        if rules.returns_need_all && self.body[end].operation() == RETURN {
            return end;
        }
        let event = &self.events[number];
        let waits = |d: &Dependences<'_>| d.parts(end) && d.is_uniform(event);
        let waits = self.kernel.dependences.as_ref().is_some_and(waits);
        if rules.needs_uniform_at_ends && waits && self.kernel.ends_block(end) {
            end
        } else {
            NEVER
        }
    }

    /// The same for one event, given the first instruction that needs it, where that is known. What the
    /// end of a block waits for leaves.
    fn waiter_of(&self, number: usize, known: Option<usize>, rules: BoardRules) -> usize {
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
        // CCTL waits for what a strong load or an atomic before it answers.
        if found != NEVER && event.writes && self.body[found].operation() == INVALIDATE {
            return found;
        }
        if let Some(known) = known.filter(|&i| i != NEVER && found <= i) {
            return known;
        }
        let is_end = found == end
            && (known.is_some() || BRANCHES.contains(&self.body[end].operation()))
            && self.blocks.goes_on(block);
        // RET waits for results that are left, or for all that is, so these share a board.
        let is_for_caller = event.writes || rules.returns_need_all;
        if is_for_caller && self.body[end].operation() == RETURN && known.is_some() {
            return end;
        }
        // With registers, another event on its board is the reason.
        let own = found != NEVER && known != Some(NEVER);
        if own && !is_end { found } else { NEVER }
    }

    /// Whether an event is a slow result that leaves its block, or a texture; and whether it is no texture.
    fn is_last(&self, number: usize) -> [bool; 2] {
        let event = &self.events[number];
        let instruction = self.body[event.at];
        if self.reserved.board(event, instruction).is_some() {
            return [true, false];
        }
        let slow = event.writes && is_slow(instruction);
        [slow && self.leaves(number) && self.any_slow; 2]
    }

    /// Whether an event is a slow result that leaves its block, or a texture.
    pub fn takes_last(&self, number: usize) -> bool {
        self.takes_last[number][0]
    }

    /// Whether an event is a slow result that leaves its block, and no texture.
    fn takes_last_slow(&self, number: usize) -> bool {
        self.takes_last[number][1]
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
        let [mut old, mut new] = self.sides();
        let mut allocation = Allocation {
            boards: vec![None; self.events.len()],
            early: vec![0; self.body.len()],
            known: BTreeMap::new(),
            known_before: BTreeMap::new(),
            leaving: vec![EventSet::default(); self.blocks.count()],
            copied: vec![EventSet::default(); self.body.len()],
            repeated: EventSet::default(),
            unexplained: Vec::new(),
        };
        let mut patience = PENDING * (self.body.len() + 100);
        for &block in self.blocks.order() {
            let [clock, new_clock] = self.clocks(block, [&mut old.times, &mut new.times]);
            let mut was = self.enter(block, clock, &mut old);
            let mut now = self.enter(block, new_clock, &mut new);
            patience = patience.checked_sub(was.boards.iter().map(EventSet::len).sum())?;
            let (start, end) = self.blocks.range(block);
            for i in start..=end {
                let unneeded = self.wait(i, &mut was.boards, &mut now, &mut allocation)?;
                if i == end
                    && self.blocks.is_reentered(block)
                    && let Some(dependences) = &self.kernel.dependences
                {
                    let [old_rules, new_rules] = self.rules;
                    let before = self.subjects(dependences, &was.boards, old_rules);
                    let known = self.subjects(dependences, &now.boards, new_rules);
                    allocation.known_before.insert(i, before);
                    allocation.known.insert(i, known);
                }
                for number in self.kernel.set_by(i) {
                    let pending = was.boards.iter().map(EventSet::len).sum();
                    patience = patience.checked_sub(pending)?;
                    let event = &self.events[number];
                    let subject = self.kernel.subjects.get(number);
                    if self.kernel.drops(number) {
                        was.set(event.board, number, subject, old.times.done[number]);
                        continue;
                    }
                    let view =
                        |pending, side, rules, waiter| View { block, pending, side, rules, waiter };
                    let before = view(&was, &old, self.rules[0], &self.waiter_before);
                    let explained =
                        self.is_added_fence(number) || self.choose(number, &before) == event.board;
                    if !explained {
                        allocation.unexplained.push(number);
                    }
                    let board = match explained {
                        true => self.choose(number, &view(&now, &new, self.rules[1], &self.waiter)),
                        false if self.is_with_dropped(number, &was.boards) => {
                            self.choose(number, &view(&now, &new, self.rules[1], &self.waiter))
                        }
                        false => self.follow(number, &was.boards, &now.boards, &allocation.boards),
                    };
                    let fresh = now.boards[usize::from(board)].is_empty();
                    allocation.boards[number] = Some(Choice { board, fresh });
                    was.set(event.board, number, subject, old.times.done[number]);
                    now.set(board, number, subject, new.times.done[number]);
                }
                if self.kernel.dependences.is_some() && self.kernel.ends_block(i) {
                    self.end_block(i, unneeded, [&mut was, &mut now], &mut allocation);
                }
            }
            if self.blocks.goes_back(block) {
                let leaving = &mut allocation.leaving[block];
                now.boards.iter().for_each(|events| _ = leaving.merge(events));
            }
            if self.rules[0].ends_at_collectives && self.body[end].is_collective() {
                was.boards.iter_mut().for_each(EventSet::clear);
            }
            old.leave(block, self.blocks, was);
            new.leave(block, self.blocks, now);
        }
        Some(allocation)
    }

    /// The registers by which the events of each board are remembered.
    fn subjects(&self, dependences: &Dependences<'_>, boards: &Boards, rules: BoardRules) -> Known {
        let mut out = [RegisterSet::default(); BOARDS as usize];
        for (set, events) in out.iter_mut().zip(boards) {
            let events = events.iter().map(|e| &self.events[e]);
            let events = events.filter(|event| event.writes || !rules.remembers_results);
            let subjects = events.map(|event| dependences.remembered(event, rules));
            subjects.for_each(|subject| set.merge(&subject));
        }
        out
    }

    /// The input's allocation and the new one, before the first block.
    fn sides(&self) -> [Side; 2] {
        let before = self.kernel.stalls_before.iter().map(|stall| stall.unwrap_or(0));
        let now = self.body.iter().map(|i| i.stall());
        [before.collect(), now.collect()].map(|stalls| Side {
            out: vec![None; self.blocks.count()],
            entered: vec![0; self.blocks.count()],
            left: vec![Vec::new(); self.blocks.count()],
            told: vec![NEVER; self.events.len()],
            times: Times::new(stalls, self.events.len()),
        })
    }

    /// What is pending at the start of a block, from blocks that have had their turn.
    fn enter(&self, block: usize, clock: Rc<Clock>, side: &mut Side) -> Pending {
        let mut boards = Boards::default();
        for &p in self.blocks.predecessors(block) {
            let Some(out) = &side.out[p] else { continue };
            for (all, more) in boards.iter_mut().zip(out) {
                all.merge(more);
            }
        }
        side.enter(block, self.blocks);
        let done = &side.times.done;
        let mut ready = [0; BOARDS as usize];
        for (time, events) in ready.iter_mut().zip(&boards) {
            *time = events.iter().map(|e| done[e]).max().unwrap_or(0);
        }
        let slow = |events: &EventSet| events.iter().any(|e| self.takes_last_slow(e));
        let slow_enters = boards.iter().any(slow);
        let subjects = self.kernel.subjects_of(&boards);
        Pending { boards, subjects, ready, clock, slow_enters }
    }

    /// Who waits for a pending event first after an instruction, in the block.
    fn waiter_after(&self, e: usize, i: usize, view: &View<'_>) -> usize {
        let event = &self.events[e];
        if self.blocks.of(event.at) == view.block {
            return view.waiter[e];
        }
        if self.kernel.drops(e) {
            return NEVER;
        }
        if self.users.is_some() {
            let (block, known) = self.next_users[e].get();
            let user = match block == view.block && known > i {
                true => known,
                false => self.first_user(e, i, view.block).unwrap_or(NEVER),
            };
            self.next_users[e].set((view.block, user));
            return user.min(self.uniform_end(e, i, view.rules));
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
        if view.waiter[number] == NEVER {
            return self.first_leaving;
        }
        match view.pending.slow_enters || self.sets_last_slow[view.block] {
            true => self.last_slow,
            false => self.reserved.first(),
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
            return self.reserved.board(event, self.body[event.at]).unwrap_or(self.last_slow);
        }
        let slow = event.writes && is_slow(self.body[event.at]);
        let low = if slow { self.first_slow } else { 0 };
        let top = self.top(number, view);
        let waiter = view.waiter[number];
        let on = |board: u8| &pending.boards[usize::from(board)];
        let mut known = [None; BOARDS as usize];
        let mut first = |board: u8| {
            *known[usize::from(board)].get_or_insert_with(|| {
                let waiters = on(board).iter().map(|e| (e, self.waiter_after(e, event.at, view)));
                waiters.map(|(e, waiter)| self.or_next(waiter, e, view)).min().unwrap_or(NEVER)
            })
        };
        // Events with one waiter share a board, and so do operands that leave the block.
        let shared = match waiter {
            NEVER if event.writes => None,
            NEVER => (0..BOARDS).find(|&b| self.has_leaving_operands(on(b), event.at, view)),
            _ => (0..top).find(|&b| first(b) == waiter && self.may_share(on(b), waiter, view)),
        };
        if let Some(board) = shared {
            return board;
        }
        let rivals = if waiter == NEVER { side.entered(self.blocks.successors(block)) } else { 0 };
        let met = |board: u8| rivals >> board & 1 == 1;
        if let Some(board) = (low..top).find(|&b| on(b).is_empty() && !is_counted(b) && !met(b)) {
            return board;
        }
        if let Some(board) = (low..top).find(|&b| on(b).is_empty() && !is_counted(b)) {
            return board;
        }
        // None is free: the one on which waiting for all costs least.
        let until = self.or_next(waiter, number, view);
        let is_last = self.blocks.successors(block).is_empty();
        let mut cost = |board: u8| {
            if is_counted(board)
                || on(board).is_empty()
                || on(board).iter().any(|e| self.takes_last(e))
            {
                return i64::MAX;
            }
            let first = first(board);
            let cost = match first < until {
                true => done[number] - clock.at(first),
                // Nothing waits any more for events from before. (Decides 73 choices behind 2,400 jump tables, all so.)
                false if is_last && first == NEVER => {
                    let own =
                        on(board).iter().filter(|&e| self.blocks.of(self.events[e].at) == block);
                    own.map(|e| done[e]).max().unwrap_or(0) - clock.at(until)
                }
                false => pending.ready[usize::from(board)] - clock.at(until),
            };
            match (until, first) {
                (NEVER, NEVER) => 0,
                (NEVER, _) => cost.max(0),
                _ if !view.rules.counts_spare_time => cost.max(0),
                _ => cost,
            }
        };
        (low..self.reserved.first()).min_by_key(|&b| (cost(b), b)).unwrap_or(LAST)
    }

    /// Whether an event may get the board of these, as they have its waiter.
    fn may_share(&self, events: &EventSet, waiter: usize, view: &View<'_>) -> bool {
        let own = |e: usize| self.blocks.of(self.events[e].at) == view.block;
        view.rules.shares_with_other_blocks
            || events.iter().any(|e| own(e) && view.waiter[e] == waiter)
    }

    /// Who waits for an event: the next block if nothing in this one does, but something there.
    fn or_next(&self, waiter: usize, number: usize, view: &View<'_>) -> usize {
        if waiter == NEVER && self.is_needed_next(number, view) { NEXT } else { waiter }
    }

    /// Whether a next block needs an event, for releases that look there.
    fn is_needed_next(&self, number: usize, view: &View<'_>) -> bool {
        const BRANCH: usize = 2;
        let (event, subject) = (&self.events[number], self.kernel.subjects.get(number));
        view.rules.looks_at_next_blocks
            && self.blocks.successors(view.block).len() <= BRANCH
            && !self.kernel.drops(number)
            && subject
                .is_some_and(|s| Dependences::is_needed_by(event, s, &self.used_next[view.block]))
    }

    /// Whether events are all operands for which nothing waits, and some of them leave this block.
    fn has_leaving_operands(&self, events: &EventSet, at: usize, view: &View<'_>) -> bool {
        let own = |e: usize| self.blocks.of(self.events[e].at) == view.block;
        let waits = |e: usize| self.or_next(self.waiter_after(e, at, view), e, view) != NEVER;
        events.iter().all(|e| !self.events[e].writes && !waits(e))
            && events.iter().any(|e| self.leaves(e) && own(e))
    }

    /// Whether an event was given the board of the stack pointer, which had no other event. Without the
    /// stack pointer that choice says nothing. [`boards-beside-stack-pointer`]
    fn is_with_dropped(&self, number: usize, was: &Boards) -> bool {
        let mates = &was[usize::from(self.events[number].board)];
        !mates.is_empty() && mates.iter().all(|e| self.kernel.drops(e))
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
        let low = if slow { self.first_slow } else { 0 };
        let lowest = |boards: &Boards| (low..BOARDS).find(|&b| boards[usize::from(b)].is_empty());
        match lowest(was) == Some(event.board) {
            true => lowest(now).unwrap_or(event.board),
            false => event.board,
        }
    }
}
