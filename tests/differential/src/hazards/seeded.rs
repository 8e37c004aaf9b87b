//! Faults put into code on purpose.
//!
//! Each is checked by construction, without the data flow of the proof: there is a path from the
//! producer to an instruction that depends on it, no instruction on the path waits for a scoreboard
//! that the producer sets, and none belongs to the producer's unit, whose order could help.

use super::flow::Flow;
use super::listing::{BOARDS, Function, Instruction};
use super::operations::{self, Timing, group};
use super::pairs;
use super::proof::{Count, Event, Kind, Proof};
use super::registers::File;
use super::stalls;
use crate::rng::Rng;
use std::collections::{BTreeMap, VecDeque};

/// How often a fault is tried for each that is wanted.
const TRIES: usize = 20;
/// At most, where many are wanted and places are few.
const MOST_TRIES: usize = 160;
/// Instructions of a way that is taken by chance.
const LONGEST_WAY: usize = 400;

/// A change to a function.
pub struct Sown {
    /// What sort of change.
    pub kind: &'static str,
    /// The code with it.
    pub code: Vec<Instruction>,
    /// Where.
    pub what: String,
}

/// A source of faults.
pub struct Seeds(Rng);

/// A result or operand reads, what depends on them, and instructions on the way that wait for them.
struct Place<'a> {
    event: &'a Event,
    waiters: Vec<usize>,
    /// Later instructions of the unit on the way whose scoreboards prove the event over, too.
    covers: Vec<usize>,
    /// On the way, the producer excluded.
    path: Vec<usize>,
}

type Change = fn(&mut Rng, &mut [Instruction], &Place<'_>) -> Option<()>;

/// Changes with their names for results and for operands.
const CHANGES: [(&str, &str, Change); 10] = [
    ("wait for a result dropped", "wait for operands dropped", drop_wait),
    (ON_PATH, ON_PATH, drop_on_path),
    (AROUND, AROUND, drop_around),
    ("result: wait for another", "operands: wait for another", wait_for_another),
    ("result: wait too late", "operands: wait too late", wait_late),
    ("result: board moved", "operands: board moved", move_board),
    ("result: board removed", "operands: board removed", remove_board),
    (COVER, COVER, remove_cover),
    ("wait too soon", "wait too soon", wait_soon),
    ("result: board of operands", "", release_early),
];
const ON_PATH: &str = "wait on one path dropped";
const AROUND: &str = "wait over an edge back dropped";
const COVER: &str = "later one's board removed";
const SHORTENED: &str = "stall shortened";
const NOT_COUNTED: &str = "group not counted";
const KEPT: &str = "operand kept";

/// All kinds of faults.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    let changes = CHANGES.iter().flat_map(|(result, operands, _)| {
        [Some(*result), Some(*operands).filter(|operands| operands != result)]
    });
    let others = [SHORTENED, NOT_COUNTED, KEPT].map(Some);
    changes.chain(others).flatten().filter(|name| !name.is_empty())
}

/// How many faults of a kind one function gets at most: more of those that few functions can have.
pub fn most(kind: &str) -> usize {
    if [ON_PATH, AROUND, COVER, NOT_COUNTED].contains(&kind) { 40 } else { 8 }
}

/// How many faults of each kind are wanted in a function.
pub type Wanted = BTreeMap<&'static str, usize>;

impl Seeds {
    /// The same seed gives the same faults.
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed, 0xfa))
    }

    /// Up to `wanted` faults of each kind, no two of them equal.
    pub fn sow(&mut self, function: &Function, sm: u16, wanted: &Wanted) -> Vec<Sown> {
        let flow = Flow::of(function);
        let proof = Proof::new(function, &flow, sm);
        let pairs = pairs::pairs(&function.code, &flow, &proof);
        let mut sown = Vec::new();
        for (result, operands, change) in CHANGES {
            for (name, kind) in [(result, Kind::Write), (operands, Kind::Read)] {
                let count = wanted.get(name).copied().unwrap_or(0);
                let fitting: Vec<_> = pairs
                    .iter()
                    .copied()
                    .filter(|(event, _)| proof.events[*event].kind == kind)
                    .collect();
                let mut part = Vec::new();
                for _ in 0..(TRIES * count).min(MOST_TRIES) {
                    if part.len() == count || fitting.is_empty() {
                        break;
                    }
                    let (event, consumer) = *self.0.pick(&fitting);
                    let place = self.place(function, &flow, &proof, (event, consumer));
                    let Some(place) = place else { continue };
                    let mut code = function.code.clone();
                    if change(&mut self.0, &mut code, &place).is_some()
                        && is_exposed(&code, &proof, &place, sm)
                    {
                        let (from, to) = (text(function, place.event.at), text(function, consumer));
                        let what = format!("{} {from} -> {to}", function.name);
                        push(&mut part, Sown { kind: name, code, what });
                    }
                }
                sown.extend(part);
            }
        }
        let count = |kind| wanted.get(kind).copied().unwrap_or(0);
        sown.extend(self.shorten(function, &flow, sm, count(SHORTENED)));
        sown.extend(self.lose_group(function, count(NOT_COUNTED)));
        sown.extend(self.keep_operand(function, count(KEPT)));
        sown
    }

    /// The way of an event to what depends on it: any, or one of the shortest.
    fn place<'a>(
        &mut self,
        function: &Function,
        flow: &Flow,
        proof: &'a Proof<'_>,
        (event, consumer): (usize, usize),
    ) -> Option<Place<'a>> {
        let event = &proof.events[event];
        let path = match self.0.below(2) {
            0 => shortest(flow, event.at, consumer),
            _ => self.stroll(flow, event.at, consumer),
        }?;
        let waits = |at: &usize| function.code[*at].waits() & event.boards != 0;
        let waiters = path.iter().copied().filter(waits).collect();
        let covers = |at: &usize| proof.covered(event, *at) != 0;
        let covers = path.iter().copied().filter(covers).collect();
        Some(Place { event, waiters, covers, path })
    }

    /// Any way, with turns taken by chance.
    fn stroll(&mut self, flow: &Flow, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut path = Vec::new();
        let mut at = from;
        while path.len() < LONGEST_WAY {
            at = self.0.choose(&flow.next[at])?;
            path.push(at);
            if at == to {
                return Some(path);
            }
        }
        None
    }

    /// An operand stays for the next instruction although the compiler did not say so.
    fn keep_operand(&mut self, function: &Function, count: usize) -> Vec<Sown> {
        let mut sown = Vec::new();
        for _ in 0..(TRIES * count).min(MOST_TRIES) {
            if sown.len() == count {
                break;
            }
            let at = self.0.below(function.code.len());
            let slot = 1 << self.0.below(3);
            let mut code = function.code.clone();
            if code[at].reads.of(File::General).is_empty() || code[at].kept() & slot != 0 {
                continue;
            }
            let kept = code[at].kept();
            code[at].set_kept(kept | slot);
            let what = format!("{} {}", function.name, text(function, at));
            push(&mut sown, Sown { kind: KEPT, code, what });
        }
        sown
    }

    /// A group of copies goes to a scoreboard that DEPBAR does not count.
    fn lose_group(&mut self, function: &Function, count: usize) -> Vec<Sown> {
        let code = &function.code;
        let counts = |board| code.iter().filter_map(Count::of).any(|count| count.board == board);
        let groups: Vec<usize> = (0..code.len())
            .filter(|&at| group::is_end(&code[at]))
            .filter(|&at| group::board(&code[at]).is_some_and(counts))
            .collect();
        let mut sown = Vec::new();
        for _ in 0..(TRIES * count).min(MOST_TRIES) {
            let Some(at) = self.0.choose(&groups) else { break };
            let mut code = code.clone();
            let others = (0..BOARDS as u8).filter(|board| !counts(*board)).map(Some);
            let others: Vec<Option<u8>> = others.chain([None]).collect();
            let other = *self.0.pick(&others);
            match code[at].operation() {
                "LDGDEPBAR" => code[at].set_write_board(other),
                _ => code[at].set_read_board(other),
            }
            let what = format!("{} {}", function.name, text(function, at));
            push(&mut sown, Sown { kind: NOT_COUNTED, code, what });
            if sown.len() == count {
                break;
            }
        }
        sown
    }

    /// Stall counts between two instructions of a block become less than the result needs.
    fn shorten(&mut self, function: &Function, flow: &Flow, sm: u16, count: usize) -> Vec<Sown> {
        let distances = stalls::distances(function, flow, sm);
        let inside = |pair: &&(usize, usize)| {
            pair.0 < pair.1 && flow.block_of(pair.0) == flow.block_of(pair.1)
        };
        let pairs: Vec<(usize, usize)> = distances.keys().filter(inside).copied().collect();
        let mut sown = Vec::new();
        for _ in 0..(TRIES * count).min(MOST_TRIES) {
            let Some((from, to)) = self.0.choose(&pairs) else { break };
            let before = distances[&(from, to)];
            let at = from + self.0.below(to - from);
            let stall = function.code[at].stall();
            if sown.len() == count || stall < 2 {
                continue;
            }
            let new = 1 + self.0.below(usize::from(stall) - 1) as u8;
            let enough = stalls::enough(&function.code[from], &function.code[to]);
            if before - u32::from(stall - new) >= enough {
                continue;
            }
            let mut code = function.code.clone();
            code[at].set_stall(new);
            let what = format!("{} {}", function.name, text(function, at));
            push(&mut sown, Sown { kind: SHORTENED, code, what });
        }
        sown
    }
}

fn text(function: &Function, at: usize) -> String {
    let instruction = &function.code[at];
    format!("{:04x} {}", instruction.offset, instruction.full_text())
}

fn push(sown: &mut Vec<Sown>, new: Sown) {
    let same = |old: &Sown| old.code.iter().zip(&new.code).all(|(a, b)| a.bits == b.bits);
    if !sown.iter().any(same) {
        sown.push(new);
    }
}

/// A shortest way, without its start.
fn shortest(flow: &Flow, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut parents: Vec<Option<usize>> = vec![None; flow.next.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for &next in &flow.next[at] {
            if parents[next].is_none() {
                parents[next] = Some(at);
                queue.push_back(next);
            }
        }
        if parents[to].is_some() {
            break;
        }
    }
    let mut path = vec![to];
    while let Some(parent) = parents[*path.last()?]
        && parent != from
    {
        path.push(parent);
    }
    parents[to]?;
    path.reverse();
    Some(path)
}

/// Whether the event reaches the end of the way in the changed code without a wait that could help: for a
/// scoreboard that the producer sets, or a later instruction of its unit on the way.
fn is_exposed(code: &[Instruction], proof: &Proof<'_>, place: &Place<'_>, sm: u16) -> bool {
    let event = place.event;
    let producer = &code[event.at];
    let bit = |board: Option<u8>| board.map_or(0, |board| 1_u8 << board);
    let both = |i: &Instruction| bit(i.write_board()) | bit(i.read_board());
    // Scoreboards that count, and those that do not yet.
    let own = match event.kind {
        Kind::Write => bit(producer.write_board()),
        Kind::Read => both(producer),
    };
    // A generic atomic's predicate has other rules.
    if producer.operation() == "ATOM" || event.doubtful {
        return false;
    }
    let unit = operations::timing(producer, sm);
    let ordered = unit != Timing::Variable(None);
    let mut later = 0;
    let mut cycles = u32::from(producer.stall());
    let Some((&consumer, between)) = place.path.split_last() else { return false };
    let helps = |at: usize, cycles: u32, later: u8| {
        let boards = later | if cycles >= 2 { own } else { 0 };
        let counted = Count::of(&code[at]).is_some_and(|count| count.any() & (own | later) != 0);
        counted || code[at].waits() & boards != 0
    };
    for &at in between {
        if at == event.at || helps(at, cycles, later) {
            return false;
        }
        cycles += u32::from(code[at].stall());
        if ordered && operations::timing(&code[at], sm) == unit {
            later |= both(&code[at]);
        }
    }
    let guarded = producer.is_guarded() && code[consumer].is_guarded();
    !helps(consumer, cycles, later) && !guarded && !proof.conflict(event, consumer).is_empty()
}

/// A bit of the waits that end the event; only if one instruction waits for it.
fn only_waiter(code: &[Instruction], place: &Place<'_>) -> Option<(usize, u8)> {
    let [at] = place.waiters[..] else { return None };
    Some((at, code[at].waits() & place.event.boards))
}

/// The way is one of several, of which others have waits of their own.
fn drop_on_path(_: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let (at, bits) = only_waiter(code, place)?;
    let elsewhere =
        |&other: &usize| !place.path.contains(&other) && code[other].waits() & bits != 0;
    (0..code.len()).find(elsewhere)?;
    let splits = place.path.windows(2).any(|step| step[1] != step[0] + 1);
    splits.then(|| code[at].set_waits(code[at].waits() & !bits))
}

/// The way goes back.
fn drop_around(_: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let (at, bits) = only_waiter(code, place)?;
    let back = *place.path.last()? <= place.event.at;
    back.then(|| code[at].set_waits(code[at].waits() & !bits))
}

/// The later instruction of the unit that is waited for in the event's stead has no scoreboard.
fn remove_cover(_: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let [cover] = place.covers[..] else { return None };
    if !place.waiters.is_empty() {
        return None;
    }
    code[cover].set_write_board(None);
    code[cover].set_read_board(None);
    Some(())
}

fn drop_wait(_: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let (at, bits) = only_waiter(code, place)?;
    let waits = code[at].waits();
    code[at].set_waits(waits & !bits);
    Some(())
}

fn wait_for_another(random: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let (at, bits) = only_waiter(code, place)?;
    let others: Vec<u8> =
        (0..BOARDS as u8).filter(|board| place.event.boards >> board & 1 == 0).collect();
    let waits = code[at].waits();
    code[at].set_waits(waits & !bits | 1 << random.pick(&others));
    Some(())
}

/// The instruction behind the one that depends on it waits.
fn wait_late(_: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let (at, bits) = only_waiter(code, place)?;
    let waits = code[at].waits();
    code[at].set_waits(waits & !bits);
    let behind = code.get_mut(*place.path.last()? + 1)?;
    let waits = behind.waits();
    behind.set_waits(waits | bits);
    Some(())
}

fn move_board(random: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let event = place.event;
    let old = match event.kind {
        Kind::Write => code[event.at].write_board()?,
        Kind::Read => code[event.at].read_board()?,
    };
    let new = (old + 1 + random.below(BOARDS as usize - 1) as u8) % BOARDS as u8;
    match event.kind {
        Kind::Write => code[event.at].set_write_board(Some(new)),
        Kind::Read => code[event.at].set_read_board(Some(new)),
    }
    Some(())
}

fn remove_board(_: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let event = place.event;
    match event.kind {
        Kind::Write => {
            code[event.at].write_board()?;
            code[event.at].set_write_board(None);
        }
        Kind::Read => {
            code[event.at].read_board()?;
            code[event.at].set_read_board(None);
        }
    }
    Some(())
}

/// The result's scoreboard is released when the operands have been read.
fn release_early(_: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let producer = &mut code[place.event.at];
    if place.event.kind != Kind::Write || producer.read_board().is_some() {
        return None;
    }
    let board = producer.write_board()?;
    producer.set_write_board(None);
    producer.set_read_board(Some(board));
    Some(())
}

/// The next instruction waits before the scoreboard counts.
fn wait_soon(_: &mut Rng, code: &mut [Instruction], place: &Place<'_>) -> Option<()> {
    let (at, _) = only_waiter(code, place)?;
    if place.path[..] != [at] || code[place.event.at].stall() < 2 {
        return None;
    }
    code[place.event.at].set_stall(1);
    Some(())
}
