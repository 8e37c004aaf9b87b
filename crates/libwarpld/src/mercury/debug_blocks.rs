//! A debug table that is put together from blocks of the inputs' tables.

use super::code::Moves;
use crate::collections::Map;

/// A rebuilt table.
#[derive(Debug, Default)]
pub struct DebugTable {
    /// Contents.
    pub bytes: Vec<u8>,
    /// By input and section in the Mercury half: blocks of the machine-code half and their new
    /// offsets.
    moved: Map<(u32, u32), Vec<Moved>>,
    /// Its relocations are sorted by offset.
    pub sorted: bool,
}

/// A block of an input's table.
#[derive(Clone, Copy, Debug)]
struct Moved {
    start: u64,
    end: u64,
    to: u64,
}

/// Functions of the output, by input and by the offset of their address in the machine-code half.
pub type Alive<'e> = Map<(u32, u64), Function<'e>>;

/// A function of the output.
#[derive(Clone, Copy, Debug)]
pub struct Function<'e> {
    /// Index of its symbol in the output.
    pub symbol: u32,
    /// Its symbol in the input.
    pub input_symbol: u32,
    /// Offset of its address in the Mercury half.
    pub mercury: u64,
    /// How its code moved, if it did.
    pub moves: Option<&'e Moves>,
}

impl DebugTable {
    /// An empty table, whose relocations are sorted or not.
    pub fn new(sorted: bool) -> Self {
        Self { sorted, ..Self::default() }
    }

    /// Maps an offset of an input's table to the output; `None` if it was dropped.
    pub fn offset(&self, object: u32, section: u32, offset: u64) -> Option<u64> {
        let list = self.moved.get(&(object, section))?;
        let behind = list.partition_point(|m| m.start <= offset);
        let moved = list.get(behind.checked_sub(1)?).filter(|m| offset < m.end)?;
        Some(moved.to + (offset - moved.start))
    }

    /// Sorts the blocks so that offsets can be looked up. Call it once all blocks are there.
    pub fn finish(&mut self) {
        self.moved.values_mut().for_each(|list| list.sort_by_key(|m| m.start));
    }

    /// Appends a block of an input's table and returns its new offset.
    pub fn copy(&mut self, input: &Input<'_>, start: usize, end: usize) -> usize {
        let to = self.bytes.len();
        self.bytes.extend_from_slice(input.data.get(start..end).unwrap_or_default());
        let moved = Moved { start: start as u64, end: end as u64, to: to as u64 };
        self.moved.entry((input.object, input.section)).or_default().push(moved);
        to
    }

    /// Overwrites bytes.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at.saturating_add(bytes.len())) {
            place.copy_from_slice(bytes);
        }
    }
}

/// One input's table in the machine-code half.
pub struct Input<'a> {
    /// The input.
    pub object: u32,
    /// Section in the Mercury half.
    pub section: u32,
    /// Contents.
    pub data: &'a [u8],
}

/// The offsets of an entry in both halves of an input.
pub struct EntryHalves<'a> {
    /// The input.
    pub object: u32,
    /// Offset of the function's address in the machine-code table.
    pub address: u64,
    /// The machine-code table.
    pub machine: &'a [u8],
    /// Offset of the function's address in the Mercury table.
    pub mercury_address: u64,
    /// The Mercury table.
    pub mercury: &'a [u8],
}

/// Which of the names of its code a function's name is, in symbol order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// The only one.
    Only,
    /// The first; aliases follow.
    First,
    /// A later one: an alias comes first.
    Later,
}
