//! Proves by data flow that every instruction waits for what it depends on.
//!
//! An *event* is a result that is under way (W) or operands that are still to be read (R). The state
//! at an instruction holds every event that may be under way there, with the scoreboards of which
//! each one alone would prove it over, on every path. Where paths meet, events are united and their
//! scoreboards intersected.

use super::flow::Flow;
use super::listing::{Function, Instruction};
use super::operations::{self, Timing, Unit};
use super::registers::{File, Registers};

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Operands.
    Read,
    /// A result.
    Write,
}

/// A result or operands under way.
#[derive(Clone, Debug)]
pub struct Event {
    /// The instruction.
    pub at: usize,
    /// What of it.
    pub kind: Kind,
    /// Registers that must not be written (R), or neither read nor written (W).
    pub registers: Registers,
    /// What does it in order.
    pub unit: Option<Unit>,
    /// Scoreboards released not before it is over, a bit each.
    pub boards: u8,
    /// Whether it is not known that the event takes a variable time.
    pub doubtful: bool,
}

/// In a state: that the event's guard has not been written since.
const SAME_GUARD: u8 = 1 << 7;

/// An event that may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    /// Its number.
    event: u32,
    /// Scoreboards each of which proves it over, on every path; and [`SAME_GUARD`].
    boards: u8,
    /// The scoreboard of its result, or of a later one of its unit; none where paths differ.
    counted: Option<u8>,
    /// How many later results of its unit are on that scoreboard, at least.
    later: u8,
    /// Scoreboards that count only after one cycle more, or two: a wait before is no proof.
    unseen: [u8; 2],
}

impl Pending {
    fn unite(self, other: Self) -> Self {
        let boards = self.boards & other.boards;
        let counted = self.counted.filter(|_| self.counted == other.counted);
        let later = if counted.is_some() { self.later.min(other.later) } else { 0 };
        let unseen = [0, 1].map(|at| self.unseen[at] | other.unseen[at]);
        Self { boards, counted, later, unseen, ..self }
    }

    /// The scoreboards by which a wait here proves it over.
    fn seen(&self) -> u8 {
        self.boards & !SAME_GUARD & !self.unseen[0] & !self.unseen[1]
    }

    /// Time passes.
    fn stall(&mut self, cycles: u8) {
        self.unseen = match cycles {
            0 => self.unseen,
            1 => [self.unseen[1], 0],
            _ => [0, 0],
        };
    }
}

/// Events that may be under way, by number.
type State = Vec<Pending>;

/// Unites two states; true if the first has changed.
fn unite(into: &mut State, other: &State) -> bool {
    let mut out = Vec::with_capacity(into.len().max(other.len()));
    let (mut a, mut b) = (into.iter().peekable(), other.iter().peekable());
    loop {
        match (a.peek(), b.peek()) {
            (Some(&&x), Some(&&y)) if x.event == y.event => {
                out.push(x.unite(y));
                a.next();
                b.next();
            }
            (Some(&&x), y) if y.is_none_or(|y| x.event < y.event) => {
                out.push(x);
                a.next();
            }
            (_, Some(&&y)) => {
                out.push(y);
                b.next();
            }
            _ => break,
        }
    }
    let changed = out != *into;
    *into = out;
    changed
}

/// A dependence that is not waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The instruction whose event it is.
    pub producer: usize,
    /// What is under way.
    pub kind: Kind,
    /// The instruction that does not wait.
    pub consumer: usize,
    /// Registers concerned.
    pub registers: Registers,
    /// Whether an unknown operation takes part.
    pub doubtful: bool,
}

/// The analysis of one function.
pub struct Proof<'a> {
    code: &'a [Instruction],
    flow: &'a Flow,
    /// All events, by instruction.
    pub events: Vec<Event>,
    first_event: Vec<u32>,
    timings: Vec<Timing>,
    fixed: Vec<Registers>,
}

impl<'a> Proof<'a> {
    /// Finds the events of a function.
    pub fn new(function: &'a Function, flow: &'a Flow, sm: u16) -> Self {
        let code = &function.code[..];
        let timings: Vec<Timing> = code.iter().map(|i| operations::timing(i, sm)).collect();
        let fixed = code.iter().map(|i| operations::fixed_results(i, sm)).collect();
        let (events, first_event) = (Vec::new(), Vec::new());
        let mut proof = Self { code, flow, events, first_event, timings, fixed };
        for at in 0..code.len() {
            proof.first_event.push(proof.events.len() as u32);
            proof.add_events(at);
        }
        proof.first_event.push(proof.events.len() as u32);
        proof
    }

    fn add_events(&mut self, at: usize) {
        let instruction = &self.code[at];
        if instruction.guard.is_some_and(|guard| guard.is_never()) {
            return;
        }
        let bit = |board: Option<u8>| board.map_or(0, |board| 1_u8 << board);
        let (write, read) = (bit(instruction.write_board()), bit(instruction.read_board()));
        let (unit, doubtful) = match self.timings[at] {
            Timing::Variable(unit) => (unit, false),
            Timing::Fixed => return,
            Timing::Unknown => (None, true),
        };
        let late = operations::late_reads(instruction);
        if !late.is_empty() && (!doubtful || read != 0) {
            let event = Event {
                at,
                kind: Kind::Read,
                registers: late,
                unit,
                boards: read | write,
                doubtful,
            };
            self.events.push(event);
        }
        // A generic atomic tells by a predicate what memory it is, once it has its address.
        let early = match instruction.operation() {
            "ATOM" => instruction.writes.of(File::Predicate),
            _ => Registers::NONE,
        };
        let others = instruction.writes.without(&early).without(&self.fixed[at]);
        let results = [(early, read | write), (others, write)];
        for (registers, boards) in results {
            if !registers.is_empty() && (!doubtful || write != 0) {
                let event = Event { at, kind: Kind::Write, registers, unit, boards, doubtful };
                self.events.push(event);
            }
        }
    }

    /// Numbers of the events of an instruction.
    pub fn events_of(&self, at: usize) -> std::ops::Range<usize> {
        self.first_event[at] as usize..self.first_event[at + 1] as usize
    }

    /// The operations that are not known, by index.
    pub fn unknown(&self) -> impl Iterator<Item = &'a Instruction> + '_ {
        let unknown = self.timings.iter().zip(self.code).filter(|(t, _)| **t == Timing::Unknown);
        unknown.map(|(_, instruction)| instruction)
    }

    /// Whether `at` must not issue while the event is under way, which is not the case if the
    /// event's unit does both in order.
    pub fn conflict(&self, event: &Event, at: usize) -> Registers {
        let later = &self.code[at];
        let reads = match later.guard.filter(|_| self.is_fence_for_errors(at)) {
            Some(guard) => later.reads.without(&guard.predicate),
            None => later.reads,
        };
        if self.leaves(at) {
            return event.registers;
        }
        let same_unit = event.unit.is_some() && self.timings[at] == Timing::Variable(event.unit);
        match event.kind {
            Kind::Read if same_unit => Registers::NONE,
            Kind::Read => event.registers & later.writes,
            Kind::Write if same_unit && event.unit.is_some_and(Unit::orders_results) => {
                event.registers & reads
            }
            Kind::Write => event.registers & (reads | later.writes),
        }
    }

    /// Whether an instruction is the fence before an ERRBAR, which links with `-g` insert before a guarded EXIT: nvlink lets
    /// the ERRBAR wait for the guard, and a fence more or less changes no result.
    fn is_fence_for_errors(&self, at: usize) -> bool {
        let is_errbar = |next: &Instruction| next.operation() == "ERRBAR";
        self.code[at].name() == "MEMBAR.SC.VC" && self.code.get(at + 1).is_some_and(is_errbar)
    }

    /// Whether control goes to code that is not in this section, which may use any register.
    fn leaves(&self, at: usize) -> bool {
        match self.code[at].operation() {
            "RET" => true,
            "CALL" => self.flow.next[at].iter().all(|&next| next == at + 1),
            _ => false,
        }
    }

    /// Whether two instructions are never executed by the same thread, given that the guard still
    /// has its value.
    pub fn excludes(&self, a: usize, b: usize) -> bool {
        match (self.code[a].guard, self.code[b].guard) {
            (Some(a), Some(b)) => {
                a.predicate == b.predicate && !a.predicate.is_empty() && a.negated != b.negated
            }
            _ => false,
        }
    }

    /// Proves all; what cannot be proved.
    pub fn faults(&self) -> Vec<Fault> {
        let mut states: Vec<Option<State>> = vec![None; self.flow.blocks.len()];
        // Code that nothing leads to is analysed, too: it may be the target of a jump that is
        // not understood, or another function.
        let mut work: std::collections::BTreeSet<usize> = (0..states.len()).collect();
        states.iter_mut().for_each(|state| *state = Some(State::new()));
        while let Some(block) = work.pop_first() {
            let mut state = states[block].clone().unwrap_or_default();
            let end = self.flow.end(block);
            for at in self.flow.blocks[block]..end {
                self.pass(at, &mut state, &mut |_, _| ());
            }
            for &to in &self.flow.next[end - 1] {
                let to = self.flow.block_of(to);
                if let Some(old) = &mut states[to]
                    && unite(old, &state)
                {
                    work.insert(to);
                }
            }
        }
        let mut faults = Vec::new();
        for (block, state) in states.into_iter().enumerate() {
            let mut state = state.unwrap_or_default();
            for at in self.flow.blocks[block]..self.flow.end(block) {
                self.pass(at, &mut state, &mut |event, registers| {
                    faults.push(Fault {
                        producer: event.at,
                        kind: event.kind,
                        consumer: at,
                        registers,
                        doubtful: event.doubtful,
                    });
                });
            }
        }
        faults
    }

    /// Issues one instruction.
    fn pass(&self, at: usize, state: &mut State, fault: &mut impl FnMut(&Event, Registers)) {
        let instruction = &self.code[at];
        let waits = instruction.waits();
        state.retain(|pending| pending.seen() & waits == 0);
        if let Some(count) = Count::of(instruction) {
            state.retain(|pending| !count.proves(pending));
        }
        for pending in state.iter() {
            let event = &self.events[pending.event as usize];
            let registers = self.conflict(event, at);
            let excluded = pending.boards & SAME_GUARD != 0 && self.excludes(event.at, at);
            if !registers.is_empty() && !excluded {
                fault(event, registers);
            }
        }
        for pending in state.iter_mut() {
            let event = &self.events[pending.event as usize];
            let boards = self.covered(event, at);
            // A scoreboard that proved it already still does.
            pending.unseen[1] |= boards & !pending.boards;
            pending.boards |= boards;
            let result = instruction.write_board().filter(|board| boards >> board & 1 != 0);
            if result.is_some() && pending.counted == result {
                pending.later = pending.later.saturating_add(1);
            } else if pending.counted.is_none() {
                pending.counted = result;
            }
            let guard = self.code[event.at].guard;
            if guard.is_some_and(|guard| guard.predicate.meets(&instruction.writes)) {
                pending.boards &= !SAME_GUARD;
            }
        }
        let own = self.first_event[at]..self.first_event[at + 1];
        state.retain(|pending| !own.contains(&pending.event));
        for event in own {
            let boards = self.events[event as usize].boards;
            let place = state.partition_point(|pending| pending.event < event);
            let unseen = [0, boards];
            state.insert(
                place,
                Pending {
                    event,
                    boards: boards | SAME_GUARD,
                    counted: instruction.write_board(),
                    later: 0,
                    unseen,
                },
            );
        }
        state.iter_mut().for_each(|pending| pending.stall(instruction.stall()));
    }

    /// The scoreboards of a later instruction of the same unit that prove `event` over, too. (An
    /// instruction whose guard is false passes the unit in order as well.)
    pub fn covered(&self, event: &Event, at: usize) -> u8 {
        if event.unit.is_none() || self.timings[at] != Timing::Variable(event.unit) {
            return 0;
        }
        let results = event.unit.is_some_and(Unit::orders_results);
        let covers =
            |other: &&Event| event.kind == Kind::Read || results && other.kind == Kind::Write;
        let own = &self.events[self.events_of(at)];
        own.iter().filter(covers).fold(0, |boards, other| boards | other.boards)
    }
}

/// `DEPBAR.LE SB5, 0x1, {3}`: waits until at most one event is under way on 5, and none on 3. It counts
/// what the instruction right before it has put there.
pub struct Count {
    /// The scoreboard that it counts.
    pub board: u8,
    left: u8,
    all: u8,
}

impl Count {
    /// What a DEPBAR says.
    pub fn of(instruction: &Instruction) -> Option<Self> {
        if instruction.operation() != "DEPBAR" {
            return None;
        }
        let mut words = instruction.operands().split([',', '{', '}']).map(str::trim);
        let board = words.next()?.strip_prefix("SB")?.parse().ok().filter(|&b: &u8| b < 6)?;
        let left = u8::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        let others = words.filter_map(|word| word.parse::<u8>().ok()).filter(|&b| b < 6);
        Some(Self { board, left, all: others.fold(0, |all, board| all | 1 << board) })
    }

    /// Scoreboards that it waits for in any way.
    pub fn any(&self) -> u8 {
        self.all | 1 << self.board
    }

    /// If an event were under way, so would be the later ones of its unit on its scoreboard.
    fn proves(&self, pending: &Pending) -> bool {
        let own = pending.counted == Some(self.board) && pending.later >= self.left;
        let all = self.all | if self.left == 0 { 1 << self.board } else { 0 };
        own || pending.seen() & all != 0
    }
}
