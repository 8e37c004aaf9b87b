//! String tables.

use crate::error::ReadError;

/// The string that starts at `offset`; `None` if it has no end in the table.
#[inline]
pub fn string_at(table: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = table.get(offset as usize..)?;
    let end = length(rest)?;
    rest.get(..end)
}

/// Offset of the first NUL. Most names end within a few words, which takes less time than a call of
/// `memchr`.
#[inline]
fn length(string: &[u8]) -> Option<usize> {
    const SHORT: usize = 32;
    let mut at = 0;
    while at < SHORT {
        let Some(word) = string.get(at..).and_then(<[u8]>::first_chunk) else { break };
        let zeros = zero_bytes(u64::from_le_bytes(*word));
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    long_length(string, at)
}

/// The same, starting at `at`.
#[cold]
fn long_length(string: &[u8], at: usize) -> Option<usize> {
    Some(at + memchr::memchr(0, string.get(at..)?)?)
}

/// The lowest set bit of the result is the highest bit of the first zero byte.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    word.wrapping_sub(EACH) & !word & (EACH << 7)
}

/// A string table up to its last NUL: each offset in it is the start of a string.
pub(crate) fn terminated(table: &[u8]) -> &[u8] {
    // Usually it ends with one.
    if let [.., 0] = table {
        return table;
    }
    let end = memchr::memrchr(0, table).map_or(0, |last| last + 1);
    &table[..end]
}

/// Bounds the time spent on names: without it, each entry of a section could scan a string as long
/// as the file. Long mangled names shared by all entries of a large file still pass.
#[inline]
pub(crate) fn check_name_lengths(
    file_size: usize,
    section: u32,
    names: &[u8],
    offsets: impl ExactSizeIterator<Item = u32>,
) -> Result<(), ReadError> {
    if are_names_short(file_size, names.len(), offsets.len()) {
        return Ok(());
    }
    let limit = max_name_bytes(file_size, offsets.len());
    let mut left = limit;
    for name in offsets.filter_map(|offset| string_at(names, offset)) {
        let rest = left.checked_sub(name.len() as u64);
        left = rest.ok_or(ReadError::Names { section, limit })?;
    }
    Ok(())
}

/// Whether this many entries pass even if all have the longest possible name, as is usual.
#[inline]
pub(crate) fn are_names_short(file_size: usize, names: usize, entries: usize) -> bool {
    (names as u64).saturating_mul(entries as u64) <= max_name_bytes(file_size, entries)
}

/// Limit for the total length of the names of this many entries.
#[inline]
fn max_name_bytes(file_size: usize, entries: usize) -> u64 {
    16 * file_size as u64 + 4096 * entries as u64
}
