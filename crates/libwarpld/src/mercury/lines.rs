//! Line tables of the machine-code half: each unit has the sequences of functions that the output
//! has, in symbol order.

use super::debug_blocks::{Alive, DebugTable, Function, Input};
use super::line_copies::Translated;
use super::line_units::{ADDRESS, END_OF_SEQUENCE, Effect, LENGTH, Unit, step, unit};
use crate::dialect::Dialect;
use crate::mercury::code::Moves;
use crate::mercury::code::line_rows::{self, Advance};

/// Appends the units of one input.
pub fn add(
    out: &mut DebugTable,
    input: &Input<'_>,
    alive: &Alive<'_>,
    translated: &Translated<'_>,
    dialect: Dialect,
) {
    let mut start = 0;
    while let Some(unit) = unit(input.data, start) {
        let to = out.copy(input, start, unit.program);
        let mut sequences = sequences(input.data, &unit, input.object, alive);
        sequences.sort_by_key(|s| s.function.symbol);
        if sequences.is_empty() && dialect.ends_empty_lines() {
            out.bytes.extend_from_slice(&END_OF_SEQUENCE);
        }
        for sequence in sequences {
            let other = translated.rows(input.object, sequence.address);
            match (other, sequence.function.moves) {
                (Some(rows), _) => {
                    out.copy(input, sequence.start, sequence.address + ADDRESS);
                    out.bytes.extend_from_slice(rows);
                }
                (None, None) => drop(out.copy(input, sequence.start, sequence.end)),
                (None, Some(moves)) => add_moved(out, input, &unit, &sequence, moves),
            }
        }
        let length = (out.bytes.len() - to - LENGTH) as u32;
        out.put(to, &length.to_le_bytes());
        start = unit.end;
    }
}

struct Sequence<'e> {
    start: usize,
    end: usize,
    /// Offset of its function's address.
    address: usize,
    function: Function<'e>,
}

/// The sequences of functions that the output has.
fn sequences<'e>(
    data: &[u8],
    unit: &Unit<'_>,
    object: u32,
    alive: &Alive<'e>,
) -> Vec<Sequence<'e>> {
    let mut out = Vec::new();
    let mut start = unit.program;
    let mut at = start;
    let mut function = None;
    while let Some(step) = step(data, at, unit) {
        if let Effect::SetAddress(address) = step.effect {
            function = function.or_else(|| {
                let found = alive.get(&(object, address as u64)).copied();
                found.map(|function| (address, function))
            });
        }
        at = step.end;
        if step.effect == Effect::EndSequence {
            if let Some((address, function)) = function.take() {
                out.push(Sequence { start, end: at, address, function });
            }
            start = at;
        }
    }
    out
}

/// A sequence whose function moved: rows whose distance to the previous row is unchanged are
/// copied, the others are encoded again. [`capsule-lines-of-copies`]
fn add_moved(
    out: &mut DebugTable,
    input: &Input<'_>,
    unit: &Unit<'_>,
    sequence: &Sequence<'_>,
    moves: &Moves,
) {
    let (mut start, mut at) = (sequence.start, sequence.start);
    let (mut address, mut row) = (0_u64, 0_u64);
    let mut advance = Advance::default();
    let mut others: Vec<(usize, usize)> = Vec::new();
    while let Some(step) = step(input.data, at, unit).filter(|_| at < sequence.end) {
        let mut ends_row = false;
        match step.effect {
            Effect::SetAddress(_) => address = 0,
            Effect::Advance { bytes, lines, row } => {
                advance.explicit_line |= bytes == 0 && !row;
                advance.line = advance.line.saturating_add(lines);
                address = address.saturating_add(bytes);
                ends_row = row;
            }
            Effect::EndSequence => ends_row = true,
            Effect::Other => {}
        }
        if !matches!(step.effect, Effect::Advance { .. } | Effect::EndSequence) {
            others.push((at, step.end));
        }
        at = step.end;
        if !ends_row {
            continue;
        }
        advance.address = moves.target(address).saturating_sub(moves.target(row));
        if advance.address == address.saturating_sub(row) {
            out.copy(input, start, at);
        } else {
            for (from, to) in others.drain(..) {
                out.copy(input, from, to);
            }
            if step.effect == Effect::EndSequence {
                line_rows::advance_address(&unit.coding, advance.address, &mut out.bytes);
                out.bytes.extend_from_slice(&END_OF_SEQUENCE);
            } else {
                line_rows::row(&unit.coding, advance, &mut out.bytes);
            }
        }
        others.clear();
        (start, row, advance) = (at, address, Advance::default());
    }
}
