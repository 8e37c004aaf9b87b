//! Line tables of copies of a function that the output does not have, and of functions
//! whose code goes by another name.
//!
//! The finalizer makes rows of machine code from those of Mercury: at each instruction of
//! the kept copy a row begins if the Mercury table has one there or since the instruction
//! before; of several only the last one is left, with those that say
//! where that instruction was inlined. Rows behind the last instruction are lost,
//! and the sequence ends with the kept copy's code. The offsets of a function that has an alias
//! before it in the symbol table find no code: they stay Mercury's, and the sequence ends at
//! its last row. [weak kernels of long and short instructions in both orders;
//! `capsule-lines-of-copies`]

use super::copies::Kept;
use super::frames::Sides;
use super::lines::{self, END_OF_SEQUENCE, Effect, Unit};
use super::rebuilt::{Map, Name};
use crate::finalizer::line_rows::{self, Advance, RowCoding};

/// Sequences that are not copied from the input: what comes after the function's address.
pub type Translated = Map<(u32, u64), Vec<u8>>;

/// Translates the sequences of one function where they are not about its code.
pub fn translate(out: &mut Translated, entries: &[Sides<'_>], kept: &Kept<'_, '_>, name: Name) {
    for entry in entries {
        let is_own = entry.object == kept.from.object.0;
        let as_it_is = match name {
            Name::Later => false,
            Name::Only => is_own,
            Name::First => is_own && is_whole(entry, kept),
        };
        if as_it_is {
            continue;
        }
        let Some(mercury) = sequence(entry.mercury, entry.mercury_address) else { continue };
        let bytes = match name {
            Name::Later => write(&mercury, Some, None),
            _ => write(&mercury, |at| kept.place_from(at), Some(kept.size)),
        };
        out.insert((entry.object, entry.address), bytes);
    }
}

/// Whether a sequence is about machine code. In what `-r` wrote it may be left with Mercury's
/// offsets, if its function had an alias before it then.
fn is_whole(entry: &Sides<'_>, kept: &Kept<'_, '_>) -> bool {
    sequence(entry.machine, entry.address).is_none_or(|s| s.end == kept.input_size())
}

/// A sequence of rows.
struct Sequence<'a> {
    rows: Vec<Row<'a>>,
    end: u64,
    coding: RowCoding,
}

/// A row of a table.
struct Row<'a> {
    address: u64,
    line: i64,
    /// The row stands for the function as a whole, not for an instruction.
    is_head: bool,
    /// Instructions that set file, context and the like, by what they set.
    settings: Vec<(Setting, &'a [u8])>,
}

impl<'a> Row<'a> {
    /// The instruction that says where its function was inlined.
    fn context(&self) -> Option<&'a [u8]> {
        self.settings.iter().find(|(what, _)| *what == (0, CONTEXT)).map(|(_, bytes)| *bytes)
    }
}

/// What an instruction sets: its opcode, and the kind of an extended one.
type Setting = (u8, u8);

/// The extended instruction of inlined functions.
const CONTEXT: u8 = 0x90;
/// An extended instruction that only Mercury tables have: whether the rows that follow stand
/// for the function as a whole.
const IS_HEAD: u8 = 0x92;

/// The sequence whose function's address is at `address`.
fn sequence(table: &[u8], address: u64) -> Option<Sequence<'_>> {
    let mut start = 0;
    loop {
        let unit = lines::unit(table, start)?;
        if address < unit.end as u64 {
            let (rows, end) = rows(table, &unit, usize::try_from(address).ok()?);
            return Some(Sequence { rows, end, coding: unit.coding });
        }
        start = unit.end;
    }
}

/// Compilers set half a dozen things; every row has a list of them, so that damaged tables
/// that set hundreds would take memory out of proportion.
const MOST_SETTINGS: usize = 32;

/// The rows of a unit's sequence and where it ends.
fn rows<'a>(table: &'a [u8], unit: &Unit, address: usize) -> (Vec<Row<'a>>, u64) {
    let mut rows = Vec::new();
    let mut row = Row { address: 0, line: 1, is_head: false, settings: Vec::new() };
    // Not from the unit's start: a file may have thousands of sequences.
    let mut at = address.saturating_add(lines::ADDRESS);
    while let Some(step) = lines::step(table, at, unit) {
        let bytes = table.get(at..step.end).unwrap_or_default();
        at = step.end;
        match step.effect {
            Effect::SetAddress(_) => {}
            Effect::EndSequence => break,
            Effect::Advance { bytes, lines, row: ends_row } => {
                row.address = row.address.saturating_add(bytes);
                row.line = row.line.saturating_add(lines);
                if ends_row {
                    rows.push(Row { settings: row.settings.clone(), ..row });
                }
            }
            Effect::Other => match setting(bytes) {
                Some((0, IS_HEAD)) => row.is_head = bytes.last() != Some(&0),
                Some(what) => {
                    row.settings.retain(|(other, _)| *other != what);
                    if row.settings.len() < MOST_SETTINGS {
                        row.settings.push((what, bytes));
                    }
                }
                None => {}
            },
        }
    }
    (rows, row.address)
}

fn setting(instruction: &[u8]) -> Option<Setting> {
    match *instruction.first()? {
        0 => Some((0, *instruction.get(2)?)),
        opcode => Some((opcode, 0)),
    }
}

/// Writes rows at new places, and the end of the sequence: at `size`, or at the last row.
fn write(
    Sequence { rows, coding, .. }: &Sequence<'_>,
    place: impl Fn(u64) -> Option<u64>,
    size: Option<u64>,
) -> Vec<u8> {
    // The function as a whole has the line of its first instruction, if there is a row for it.
    let mut placed: Vec<(u64, &Row<'_>)> = rows.first().map(|row| (0, row)).into_iter().collect();
    for row in rows.iter().filter(|row| !row.is_head) {
        let Some(to) = place(row.address) else { break };
        placed.truncate(kept_rows(&placed, to, row));
        placed.push((to, row));
    }
    if let [head, (0, row), ..] = placed.as_mut_slice() {
        head.1 = row;
    }
    let mut out = Vec::new();
    let (mut address, mut line) = (0_u64, 1_i64);
    let mut settings: &[(Setting, &[u8])] = &[];
    for (to, row) in &placed {
        for (_, bytes) in row.settings.iter().filter(|setting| !settings.contains(setting)) {
            out.extend_from_slice(bytes);
        }
        let advance = Advance {
            address: to.saturating_sub(address),
            line: row.line.saturating_sub(line),
            explicit_line: *to == 0,
        };
        line_rows::row(coding, advance, &mut out);
        (address, line, settings) = (*to, row.line, row.settings.as_slice());
    }
    let end = size.map_or(0, |size| size.saturating_sub(address));
    line_rows::advance_address(coding, end, &mut out);
    out.extend_from_slice(&END_OF_SEQUENCE);
    out
}

/// How many of the placed rows stay when another one comes to `to`: of those there only
/// the ones that say where the same instruction was inlined. The first row of all is that of
/// the function as a whole.
fn kept_rows(placed: &[(u64, &Row<'_>)], to: u64, new: &Row<'_>) -> usize {
    let is_replaced = |(place, row): &&(u64, &Row<'_>)| {
        *place == to && (row.address != new.address || row.context() == new.context())
    };
    placed.len() - placed.iter().skip(1).rev().take_while(is_replaced).count()
}
