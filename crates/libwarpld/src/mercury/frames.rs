//! `.debug_frame` of the machine-code half: the frames of functions that the output has, each
//! preceded by its CIE.
//!
//! The finalizer knows one frame per function. If several copies of a function were linked, all
//! their Mercury entries describe the selected copy: their rows are merged by offset, later rows
//! replacing earlier ones; rows at offsets where no instruction of the selected copy starts are
//! dropped. The first entry gets all rows. The others keep only their Mercury range, with a code
//! alignment factor of 1. The same goes for the entry of a function with an alias before it in the
//! symbol table, because the code has the alias's name. [weak copies in two and three files;
//! `alias-relinked`]

use super::debug_blocks::{Alive, DebugTable, EntryHalves, Input};
use super::replaced_copies::SelectedCode;
use crate::collections::Map;
use crate::dialect::Half;
use crate::mercury::code::frame_moves::{FrameError, code_unit, code_unit_at, move_frame};
use crate::mercury::code::frame_rows::{self, Rows};

/// Entries that are not copied from the input.
#[derive(Debug, Default)]
pub struct Joined<'a> {
    entries: Map<(u32, u64), Entry>,
    /// The input tables looked up so far.
    tables: Map<(u32, Half), Table<'a>>,
}

/// A rebuilt entry.
#[derive(Clone, Debug)]
pub enum Entry {
    /// All rows of a function.
    Rows {
        /// Size of the function.
        range: u64,
        /// Its rows.
        rows: Rows,
    },
    /// A further entry, left without rows.
    Spare {
        /// Size of the Mercury code it described.
        range: u64,
    },
}

impl<'a> Joined<'a> {
    /// Merges the entries of one function, given in output order, if some describe replaced copies.
    /// If the code has another name (`is_alias_first`), all of them are left without rows.
    /// [`capsule-frames-of-copies`]
    pub fn add(
        &mut self,
        entries: &[EntryHalves<'a>],
        selected: &SelectedCode<'_, '_>,
        is_alias_first: bool,
    ) {
        let is_own = |e: &EntryHalves<'_>| e.object == selected.from.object.as_u32();
        let whole: Vec<bool> = entries.iter().map(|e| self.is_whole(e)).collect();
        let as_it_is = entries.iter().all(is_own) && whole.first().is_none_or(|whole| *whole);
        if as_it_is && !is_alias_first {
            return;
        }
        let mut rows = Rows::new();
        let mut own = false;
        for (entry, is_whole) in entries.iter().zip(whole) {
            if !is_own(entry) || !is_whole {
                let found = self.table(entry, Half::Mercury).rows(entry.mercury_address);
                for (place, row) in found.unwrap_or_default() {
                    if let Some(place) = selected.row(place) {
                        rows.insert(place, row);
                    }
                }
            } else if !std::mem::replace(&mut own, true) {
                let found = self.table(entry, Half::Machine).rows(entry.address);
                let moved = |(place, row)| (selected.moved(place), row);
                rows.extend(found.into_iter().flatten().map(moved));
            }
        }
        let mut all = (!is_alias_first).then_some(Entry::Rows { range: selected.size, rows });
        for entry in entries {
            let spare = || Entry::Spare { range: range(entry.mercury, entry.mercury_address) };
            let new = all.take().unwrap_or_else(spare);
            self.entries.insert((entry.object, entry.address), new);
        }
    }

    fn is_whole(&mut self, entry: &EntryHalves<'a>) -> bool {
        self.table(entry, Half::Machine).unit(entry.address) != Some(SPARE_UNIT)
    }

    fn table(&mut self, entry: &EntryHalves<'a>, half: Half) -> &Table<'a> {
        let data = match half {
            Half::Mercury => entry.mercury,
            Half::Machine => entry.machine,
        };
        self.tables.entry((entry.object, half)).or_insert_with(|| Table::read(data, half))
    }
}

/// A frame table of an input, parsed once: a table with thousands of functions is queried for each
/// of them.
#[derive(Debug)]
struct Table<'a> {
    data: &'a [u8],
    half: Half,
    /// The FDEs in order, with their code alignment factors.
    entries: Vec<(EntryRange, Option<u64>)>,
}

impl<'a> Table<'a> {
    fn read(data: &'a [u8], half: Half) -> Self {
        let mut unit = None;
        let mut functions = Vec::new();
        for entry in entries(data) {
            match entry.is_common {
                true => unit = data.get(entry.start..entry.end).and_then(code_unit),
                false => functions.push((entry, unit)),
            }
        }
        Self { data, half, entries: functions }
    }

    /// The entry whose function address is at `address`.
    fn find(&self, address: u64) -> Option<&(EntryRange, Option<u64>)> {
        let found = self.entries.binary_search_by_key(&address, |(entry, _)| entry.address());
        self.entries.get(found.ok()?)
    }

    /// The code alignment factor of that entry.
    fn unit(&self, address: u64) -> Option<u64> {
        self.find(address)?.1
    }

    /// The rows of that entry.
    fn rows(&self, address: u64) -> Option<Vec<(u64, Vec<u8>)>> {
        let (entry, unit) = self.find(address)?;
        let bytes = self.data.get(entry.start + INSTRUCTIONS..entry.end)?;
        frame_rows::parse(bytes, unit.unwrap_or(1), self.half)
    }
}

/// The range of the entry whose function address is at `address`.
fn range(table: &[u8], address: u64) -> u64 {
    let start = usize::try_from(address).unwrap_or(usize::MAX).saturating_add(8);
    let bytes = table.get(start..start.saturating_add(8)).and_then(|b| b.try_into().ok());
    bytes.map_or(0, u64::from_le_bytes)
}

/// Appends the frames of one input. [`capsule-frames-of-copies`]
pub fn add(
    out: &mut DebugTable,
    input: &Input<'_>,
    alive: &Alive<'_>,
    joined: &Joined<'_>,
) -> Result<(), FrameError> {
    let mut common: Option<(EntryRange, Option<usize>)> = None;
    for entry in entries(input.data) {
        if entry.is_common {
            common = Some((entry, None));
            continue;
        }
        let key = (input.object, entry.address());
        let Some(function) = alive.get(&key) else { continue };
        let unit = common.as_ref().and_then(|(c, _)| code_unit(input.data.get(c.start..c.end)?));
        let at = match &mut common {
            Some((_, Some(at))) => *at,
            Some((entry, at)) => *at.insert(out.copy(input, entry.start, entry.end)),
            None => 0,
        };
        let to = match joined.entries.get(&key) {
            Some(new) => write(out, input, (at, unit.unwrap_or(1)), &entry, new),
            None => out.copy(input, entry.start, entry.end),
        };
        out.put(to + HEADER, &(at as u64).to_le_bytes());
        // Spare entries describe Mercury code, which does not move.
        let is_spare = unit == Some(SPARE_UNIT);
        let moves = function.moves.filter(|_| !joined.entries.contains_key(&key) && !is_spare);
        if let (Some(moves), Some(entry)) = (moves, out.bytes.get_mut(to..)) {
            move_frame(entry, unit.unwrap_or(1), moves)?;
        }
    }
    Ok(())
}

/// Writes a rebuilt entry whose CIE is at `common`, and returns its offset.
fn write(
    out: &mut DebugTable,
    input: &Input<'_>,
    (common, unit): (usize, u64),
    entry: &EntryRange,
    new: &Entry,
) -> usize {
    let head = (entry.start + INSTRUCTIONS).min(entry.end);
    let to = out.copy(input, entry.start, head);
    let (range, instructions) = match new {
        Entry::Rows { range, rows } => {
            // When linking again, the entry may already be spare.
            let unit = if unit == SPARE_UNIT { MACHINE_UNIT } else { unit };
            if let Some(at) = out.bytes.get(common..to).and_then(code_unit_at) {
                out.put(common + at, &[unit as u8]);
            }
            (*range, frame_rows::write(rows, unit))
        }
        Entry::Spare { range } => {
            if let Some(at) = out.bytes.get(common..to).and_then(code_unit_at) {
                out.put(common + at, &[SPARE_UNIT as u8]);
            }
            (*range, frame_rows::write(&Rows::new(), SPARE_UNIT))
        }
    };
    out.bytes.extend_from_slice(&instructions);
    let length = (INSTRUCTIONS - HEADER + instructions.len()) as u64;
    out.put(to + LENGTH, &length.to_le_bytes());
    out.put(to + RANGE, &range.to_le_bytes());
    to
}

/// Code alignment factor of machine code, and of entries left without rows.
const MACHINE_UNIT: u64 = 4;
const SPARE_UNIT: u64 = 1;

/// Size of the 64-bit escape, before the length.
const LENGTH: usize = 4;
/// Size of escape and length, before the CIE pointer.
const HEADER: usize = 12;
/// Size of the CIE pointer, before the function's address.
const LINK: usize = 8;
/// Offset of the function's range.
const RANGE: usize = 28;
/// Offset of the instructions.
const INSTRUCTIONS: usize = 36;

#[derive(Clone, Copy, Debug)]
struct EntryRange {
    start: usize,
    end: usize,
    is_common: bool,
}

impl EntryRange {
    /// Offset of the function's address.
    fn address(&self) -> u64 {
        (self.start + HEADER + LINK) as u64
    }
}

/// The entries of a frame table in 64-bit DWARF.
fn entries(data: &[u8]) -> impl Iterator<Item = EntryRange> + '_ {
    const LONG_FORM: u64 = 0xffff_ffff;
    let number = |at: usize| -> Option<u64> {
        let bytes = data.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut start = 0;
    std::iter::from_fn(move || {
        if number(start)? & LONG_FORM != LONG_FORM {
            return None;
        }
        let length = usize::try_from(number(start + LENGTH)?).ok()?;
        let end = (start + HEADER).checked_add(length).filter(|&end| end <= data.len())?;
        let entry = EntryRange { start, end, is_common: number(start + HEADER)? == u64::MAX };
        start = end;
        Some(entry)
    })
}
