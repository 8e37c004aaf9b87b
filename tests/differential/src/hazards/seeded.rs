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
use super::stalls;
use crate::rng::Rng;

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
    /// On the way, the producer excluded.
    path: Vec<usize>,
}

type Change = fn(&mut Rng, &mut [Instruction], &Place<'_>) -> Option<()>;

const CHANGES: [(&str, Change); 7] = [
    ("wait dropped", drop_wait),
    ("wait for another", wait_for_another),
    ("wait too late", wait_late),
    ("board moved", move_board),
    ("board removed", remove_board),
    ("board of operands", release_early),
    ("wait too soon", wait_soon),
];

impl Seeds {
    /// The same seed gives the same faults.
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed, 0xfa))
    }

    /// Up to `count` faults of each kind.
    pub fn sow(&mut self, function: &Function, sm: u16, count: usize) -> Vec<Sown> {
        let flow = Flow::of(function);
        let proof = Proof::new(function, &flow, sm);
        let pairs = pairs::pairs(&function.code, &flow, &proof);
        let mut sown = Vec::new();
        for (kind, change) in CHANGES {
            let mut tries = 20 * count;
            let mut left = count;
            while left > 0 && tries > 0 && !pairs.is_empty() {
                tries -= 1;
                let &(event, consumer) = self.0.pick(&pairs);
                let event = &proof.events[event];
                let Some(place) = place(&function.code, &flow, event, consumer) else { continue };
                let mut code = function.code.clone();
                if change(&mut self.0, &mut code, &place).is_none()
                    || !is_exposed(&code, &proof, event, &place, sm)
                {
                    continue;
                }
                left -= 1;
                let text = |at: usize| {
                    let instruction = &function.code[at];
                    format!("{:04x} {}", instruction.offset, instruction.full_text())
                };
                let what = format!("{} {} -> {}", function.name, text(event.at), text(consumer));
                sown.push(Sown { kind, code, what });
            }
        }
        sown.extend(self.shorten(function, &flow, sm, count));
        sown.extend(self.lose_group(function, count));
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
        let lose = |at: usize| {
            let mut code = code.clone();
            code[at].set_write_board(None);
            code[at].set_read_board(None);
            let what = format!("{} {:04x}", function.name, code[at].offset);
            Sown { kind: "group not counted", code, what }
        };
        (0..count).filter_map(|_| self.0.choose(&groups)).map(lose).collect()
    }

    /// Stall counts between two instructions of a block become less than the result needs.
    fn shorten(&mut self, function: &Function, flow: &Flow, sm: u16, count: usize) -> Vec<Sown> {
        let distances = stalls::distances(function, flow, sm);
        let inside = |pair: &&(usize, usize)| {
            pair.0 < pair.1 && flow.block_of(pair.0) == flow.block_of(pair.1)
        };
        let pairs: Vec<(usize, usize)> = distances.keys().filter(inside).copied().collect();
        let mut sown = Vec::new();
        for _ in 0..20 * count {
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
            let name = &function.name;
            let what = format!("{name} {:04x}: {}", code[at].offset, code[at].full_text());
            sown.push(Sown { kind: "stall shortened", code, what });
        }
        sown
    }
}

/// A shortest path from the event to the instruction that depends on it.
fn place<'a>(
    code: &[Instruction],
    flow: &Flow,
    event: &'a Event,
    consumer: usize,
) -> Option<Place<'a>> {
    let mut parents: Vec<Option<usize>> = vec![None; code.len()];
    let mut queue = std::collections::VecDeque::from([event.at]);
    let mut found = false;
    while let Some(at) = queue.pop_front() {
        for &next in &flow.next[at] {
            if parents[next].is_none() {
                parents[next] = Some(at);
                queue.push_back(next);
            }
            found |= next == consumer;
        }
        if found {
            break;
        }
    }
    let mut path = vec![consumer];
    while let Some(parent) = parents[*path.last()?]
        && parent != event.at
    {
        path.push(parent);
    }
    if !found {
        return None;
    }
    path.reverse();
    let waits = |at: &usize| code[*at].waits() & event.boards != 0;
    let waiters = path.iter().copied().filter(waits).collect();
    Some(Place { event, waiters, path })
}

/// Whether the event reaches the end of the path in the changed code without a wait that could help.
fn is_exposed(
    code: &[Instruction],
    proof: &Proof<'_>,
    event: &Event,
    place: &Place<'_>,
    sm: u16,
) -> bool {
    let producer = &code[event.at];
    let bit = |board: Option<u8>| board.map_or(0, |board| 1_u8 << board);
    let boards = match event.kind {
        Kind::Write => bit(producer.write_board()),
        Kind::Read => bit(producer.write_board()) | bit(producer.read_board()),
    };
    // A generic atomic's predicate has other rules.
    if producer.operation() == "ATOM" || event.doubtful {
        return false;
    }
    let unit = operations::timing(producer, sm);
    let mut cycles = u32::from(producer.stall());
    let Some((&consumer, between)) = place.path.split_last() else { return false };
    let helps = |at: usize, cycles: u32| {
        code[at].operation() == "DEPBAR"
            || code[at].waits() & boards != 0 && cycles >= 2
            || unit != Timing::Variable(None) && operations::timing(&code[at], sm) == unit
    };
    for &at in between {
        if at == event.at || helps(at, cycles) {
            return false;
        }
        cycles += u32::from(code[at].stall());
    }
    let waits = code[consumer].waits() & boards != 0 && cycles >= 2;
    let guarded = producer.is_guarded() && code[consumer].is_guarded();
    !waits
        && !guarded
        && code[consumer].operation() != "DEPBAR"
        && !proof.conflict(event, consumer).is_empty()
}

/// A bit of the waits that end the event; only if one instruction waits for it.
fn only_waiter(code: &[Instruction], place: &Place<'_>) -> Option<(usize, u8)> {
    let [at] = place.waiters[..] else { return None };
    Some((at, code[at].waits() & place.event.boards))
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
