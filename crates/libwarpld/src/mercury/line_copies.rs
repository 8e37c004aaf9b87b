//! Line tables of replaced copies of a function, and of functions whose code has another name.
//!
//! The finalizer derives machine-code rows from Mercury's: at each instruction of the selected copy
//! a row begins if the Mercury table has one there or since the previous instruction; of several
//! only the last one is kept, with the rows that say where that instruction was inlined. If it has the
//! line that is in effect, it is dropped, but for the first rows of a function (`repeated`). Rows after
//! the last instruction are dropped, too, and the sequence ends with the selected copy's code. The
//! offsets of a function with an alias before it in the symbol table match no code: they stay
//! Mercury's, and the sequence ends at its last row. [weak kernels of long and short instructions
//! in both orders; `capsule-lines-of-copies`]

use super::debug_blocks::{EntryHalves, Name};
use super::line_units::{self, END_OF_SEQUENCE, Effect, Unit};
use super::replaced_copies::SelectedCode;
use crate::collections::Map;
use crate::dialect::Half;
use crate::mercury::code::line_rows::{self, Advance, RowCoding};

/// Sequences that are not copied from the input.
#[derive(Debug, Default)]
pub struct Translated<'a> {
    /// The bytes after the function's address.
    rows: Map<(u32, u64), Vec<u8>>,
    /// The input tables looked up so far.
    tables: Map<(u32, Half), Table<'a>>,
}

impl<'a> Translated<'a> {
    /// The bytes to write after the function's address at this offset of an input's table, if they
    /// differ from the input's.
    pub fn rows(&self, object: u32, address: usize) -> Option<&[u8]> {
        self.rows.get(&(object, address as u64)).map(Vec::as_slice)
    }

    /// Translates the sequences of one function that do not describe the selected copy.
    pub fn add(
        &mut self,
        entries: &[EntryHalves<'a>],
        selected: &SelectedCode<'_, '_>,
        name: Name,
    ) {
        for entry in entries {
            let is_own = entry.object == selected.from.object.as_u32();
            let as_it_is = match name {
                Name::Later => false,
                Name::Only => is_own,
                Name::First => is_own && self.is_whole(entry, selected),
            };
            if as_it_is {
                continue;
            }
            let table = self.table(entry, Half::Mercury);
            let Some(mercury) = table.sequence(entry.mercury_address) else { continue };
            let bytes = match name {
                Name::Later => write(&mercury, Some, None),
                _ => write(&mercury, |at| selected.place_from(at), Some(selected.size)),
            };
            self.rows.insert((entry.object, entry.address), bytes);
        }
    }

    /// Whether a sequence describes machine code. In the output of `-r` it may still have Mercury's
    /// offsets, if its function had an alias before it. These may end with the machine code by chance.
    /// [`alias-lines-of-one-size`]
    fn is_whole(&mut self, entry: &EntryHalves<'a>, selected: &SelectedCode<'_, '_>) -> bool {
        let sequence = self.table(entry, Half::Machine).sequence(entry.address);
        sequence.is_none_or(|s| s.end == selected.input_size()) && !self.has_mercury_rows(entry)
    }

    /// Whether a sequence is what a link wrote that left it Mercury's offsets.
    fn has_mercury_rows(&mut self, entry: &EntryHalves<'a>) -> bool {
        let table = self.table(entry, Half::Mercury);
        let rows = table.sequence(entry.mercury_address).map(|s| write(&s, Some, None));
        let start = usize::try_from(entry.address.saturating_add(line_units::ADDRESS as u64));
        let own = start.ok().and_then(|start| entry.machine.get(start..));
        rows.zip(own).is_some_and(|(rows, own)| own.starts_with(&rows))
    }

    fn table(&mut self, entry: &EntryHalves<'a>, half: Half) -> &Table<'a> {
        let data = match half {
            Half::Mercury => entry.mercury,
            Half::Machine => entry.machine,
        };
        self.tables.entry((entry.object, half)).or_insert_with(|| Table::read(data))
    }
}

/// Translates the sequence of a line table whose function address is at `address`: `place` maps the
/// rows, and the sequence ends at `size` or at its last row.
pub fn translate_sequence(
    table: &[u8],
    address: u64,
    place: impl Fn(u64) -> Option<u64>,
    size: Option<u64>,
) -> Option<Vec<u8>> {
    Table::read(table).sequence(address).map(|sequence| write(&sequence, place, size))
}

/// A line table of an input; its units are located once.
#[derive(Debug)]
struct Table<'a> {
    data: &'a [u8],
    units: Vec<Unit<'a>>,
}

impl<'a> Table<'a> {
    fn read(data: &'a [u8]) -> Self {
        let mut units: Vec<Unit<'_>> = Vec::new();
        while let Some(unit) = line_units::unit(data, units.last().map_or(0, |unit| unit.end)) {
            units.push(unit);
        }
        Self { data, units }
    }

    /// The sequence whose function address is at `address`.
    fn sequence(&self, address: u64) -> Option<Sequence<'a>> {
        let address = usize::try_from(address).ok()?;
        let unit = self.units.get(self.units.partition_point(|unit| unit.end <= address))?;
        Some(Sequence::read(self.data, unit, address))
    }
}

/// A sequence of rows.
struct Sequence<'a> {
    rows: Vec<Row<'a>>,
    /// Instructions that set file, context and the like, in order. Rows store how many of them
    /// precede: with a list per row, a damaged table that sets hundreds of registers would take
    /// memory out of proportion.
    settings: Vec<(Setting, &'a [u8])>,
    end: u64,
    coding: RowCoding,
}

/// A row of a table.
#[derive(Clone, Copy)]
struct Row<'a> {
    address: u64,
    line: i64,
    /// The row stands for the whole function, not for an instruction.
    is_head: bool,
    /// The row is among the first ones: `is_head` stays in effect until a row that `DW_LNS_copy` writes behind its end.
    is_first: bool,
    /// Number of settings before it.
    settings: usize,
    /// The instruction that says where its function was inlined.
    context: Option<&'a [u8]>,
}

/// What an instruction sets: its opcode, and the kind of an extended one.
type Setting = (u8, u8);

/// The extended instruction for inlined functions.
const CONTEXT: u8 = 0x90;
/// An extended instruction that only Mercury tables have: whether the following rows stand for the
/// whole function.
const IS_HEAD: u8 = 0x92;

impl<'a> Sequence<'a> {
    fn read(table: &'a [u8], unit: &Unit<'_>, address: usize) -> Self {
        let coding = unit.coding.clone();
        let mut out = Self { rows: Vec::new(), settings: Vec::new(), end: 0, coding };
        let (is_head, is_first) = (false, false);
        let mut row = Row { address: 0, line: 1, is_head, is_first, settings: 0, context: None };
        // Not from the unit's start: a file may have thousands of sequences.
        let mut at = address.saturating_add(line_units::ADDRESS);
        while let Some(step) = line_units::step(table, at, unit) {
            let instruction = table.get(at..step.end).unwrap_or_default();
            at = step.end;
            match step.effect {
                Effect::SetAddress(_) => {}
                Effect::EndSequence => break,
                Effect::Advance { bytes, lines, row: ends_row } => {
                    row.address = row.address.saturating_add(bytes);
                    row.line = row.line.saturating_add(lines);
                    if ends_row {
                        out.rows.push(row);
                        row.is_first &= row.is_head || instruction != [line_rows::COPY];
                    }
                }
                Effect::Other => match setting(instruction) {
                    Some((0, IS_HEAD)) => {
                        row.is_head = instruction.last() != Some(&0);
                        row.is_first |= row.is_head;
                    }
                    Some(what) => {
                        out.settings.push((what, instruction));
                        row.settings = out.settings.len();
                        let is_context = what == (0, CONTEXT);
                        row.context = if is_context { Some(instruction) } else { row.context };
                    }
                    None => {}
                },
            }
        }
        out.end = row.address;
        out
    }
}

fn setting(instruction: &[u8]) -> Option<Setting> {
    match *instruction.first()? {
        0 => Some((0, *instruction.get(2)?)),
        opcode => Some((opcode, 0)),
    }
}

/// What is set so far in the sequence being written.
#[derive(Default)]
struct Settings<'a> {
    /// Number of settings processed.
    count: usize,
    current: Map<Setting, &'a [u8]>,
}

impl<'a> Settings<'a> {
    /// Emits the settings that a row needs and that are not in effect yet: the last one of each
    /// kind before it.
    fn advance(&mut self, sequence: &Sequence<'a>, count: usize, out: &mut Vec<u8>) {
        let new = sequence.settings.get(self.count..count).unwrap_or_default();
        let last: Map<Setting, usize> =
            new.iter().enumerate().map(|(i, (what, _))| (*what, i)).collect();
        for (i, (what, bytes)) in new.iter().enumerate() {
            if last.get(what) == Some(&i) && self.current.insert(*what, bytes) != Some(bytes) {
                out.extend_from_slice(bytes);
            }
        }
        self.count = self.count.max(count);
    }
}

/// Writes rows at their new offsets, and the end of the sequence at `size` or at the last row.
fn write(
    sequence: &Sequence<'_>,
    place: impl Fn(u64) -> Option<u64>,
    size: Option<u64>,
) -> Vec<u8> {
    let Sequence { rows, coding, .. } = sequence;
    // The whole function has the line of its first instruction, if there is a row for it, which comes
    // twice then. Rows that stay Mercury's do not (`alias-lines`).
    let mut placed: Vec<(u64, &Row<'_>)> = rows.first().map(|row| (0, row)).into_iter().collect();
    for row in rows.iter().filter(|row| !row.is_head) {
        let Some(to) = place(row.address) else { break };
        placed.truncate(kept_rows(&placed, to, row));
        placed.push((to, row));
    }
    if let [head, (0, row), ..] = placed.as_mut_slice() {
        head.1 = row;
        if size.is_none() {
            placed.remove(0);
        }
    }
    let mut out = Vec::new();
    let (mut address, mut line, mut after_first) = (0_u64, 1_i64, false);
    let mut settings = Settings::default();
    for (to, row) in &placed {
        let before = out.len();
        settings.advance(sequence, row.settings, &mut out);
        let says_nothing = *to > 0 && row.line == line && out.len() == before;
        match repeated(row.is_first, std::mem::replace(&mut after_first, row.is_first)) {
            Repeated::Row => {}
            _ if !says_nothing => {}
            Repeated::Address => {
                line_rows::advance_address(coding, to.saturating_sub(address), &mut out);
                address = *to;
                continue;
            }
            Repeated::Nothing => continue,
        }
        let advance = Advance {
            address: to.saturating_sub(address),
            line: row.line.saturating_sub(line),
            explicit_line: *to == 0,
        };
        line_rows::row(coding, advance, &mut out);
        (address, line) = (*to, row.line);
    }
    let end = size.map_or(0, |size| size.saturating_sub(address));
    line_rows::advance_address(coding, end, &mut out);
    out.extend_from_slice(&END_OF_SEQUENCE);
    out
}

/// What is written for a row with the line that is in effect.
enum Repeated {
    /// The row.
    Row,
    /// Where it is: the next row advances from there.
    Address,
    Nothing,
}

/// nvlink writes a row if the line changes or the row is no longer among the first ones; of these it writes
/// the address at least. [`capsule-lines-that-alternate`; 60 tables with crafted rows]
fn repeated(is_first: bool, after_first: bool) -> Repeated {
    match (is_first, after_first) {
        (true, _) => Repeated::Address,
        (false, true) => Repeated::Row,
        (false, false) => Repeated::Nothing,
    }
}

/// How many of the placed rows to keep when another one is placed at `to`: of those at `to`, only
/// the ones that say where the same instruction was inlined. The very first row stands for the
/// whole function.
fn kept_rows(placed: &[(u64, &Row<'_>)], to: u64, new: &Row<'_>) -> usize {
    let is_replaced = |(place, row): &&(u64, &Row<'_>)| {
        *place == to && (row.address != new.address || row.context == new.context)
    };
    placed.len() - placed.iter().skip(1).rev().take_while(is_replaced).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with one sequence, and where its function's address is.
    fn table(instructions: &[u8]) -> (Vec<u8>, u64) {
        const HEADER: [u8; 16] = [1, 1, 251, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0];
        let address = [0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        let size = (HEADER.len() as u32).to_le_bytes();
        let unit = [&[2, 0], &size[..], &HEADER, &address, instructions, &END_OF_SEQUENCE].concat();
        let out = [&(unit.len() as u32).to_le_bytes()[..], &unit].concat();
        let at = out.len() - END_OF_SEQUENCE.len() - instructions.len() - line_units::ADDRESS;
        (out, at as u64)
    }

    /// The rows for code whose Mercury instructions have 16 bytes up to 0x20, then 32.
    fn translated(instructions: &[&[u8]]) -> Vec<u8> {
        let (table, address) = table(&instructions.concat());
        let place =
            |at: u64| Some(if at <= 0x30 { at } else { 0x20 + (at - 0x20).div_ceil(0x20) * 0x10 });
        let out = translate_sequence(&table, address, place, Some(0x80)).unwrap();
        out.strip_suffix(&END_OF_SEQUENCE).unwrap().to_vec()
    }

    const FIRST: &[u8] = &[3, 9, 1];
    const HEAD: &[u8] = &[0, 2, IS_HEAD, 1, 3, 9, 1, 0, 2, IS_HEAD, 0];
    /// Special opcodes that advance 16 bytes and a line up or down.
    const UP: &[u8] = &[240];
    const DOWN: &[u8] = &[238];

    #[test]
    fn rows_that_repeat_the_line_are_dropped() {
        let out = translated(&[FIRST, UP, UP, DOWN, UP]);
        assert_eq!(out, [FIRST, &[3, 0, 1], UP, UP, &[2, 0xe0, 0]].concat());
    }

    #[test]
    fn first_rows_that_repeat_the_line_say_where_they_are() {
        // 11 at 0x30 and 10 at 0x40 have one place.
        let out = translated(&[HEAD, &[2, 0x20], UP, DOWN, UP]);
        assert_eq!(out, [FIRST, &[2, 0x30], UP, &[2, 0xc0, 0]].concat());
        let out = translated(&[HEAD, &[2, 0x20, 1, 2, 0x20, 1, 2, 0x20, 1]]);
        assert_eq!(
            out,
            [FIRST, &[2, 0x20, 2, 0x10, 1, 2, 0xd0, 0]].concat(),
            "the second is no first one"
        );
        let out = translated(&[HEAD, UP, &[2, 0x10, 1, 2, 0x10, 1, 2, 0x10, 1]]);
        assert_eq!(
            out,
            [FIRST, UP, &[2, 0x10, 2, 0x10, 1, 2, 0xd0, 0]].concat(),
            "special opcodes end nothing"
        );
    }
}
