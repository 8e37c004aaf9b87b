//! A table of strings in pieces. Most of `.strtab` is in `.shstrtab` as well, and in the same
//! order: those bytes are there once.

use std::ops::Range;

/// A table that has most of its bytes in another one, which the functions below are given.
#[derive(Debug)]
pub(super) struct SharedStrings {
    /// In order; the first one starts at 0.
    pieces: Vec<Piece>,
    /// The bytes that the other table does not have. The last list grows.
    own: Vec<Vec<u8>>,
    size: usize,
}

/// Whole strings that follow each other, here and where their bytes are.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where they start in this table.
    start: u32,
    /// Where their bytes are: 0 for the other table, or one more than the place in `own`.
    list: u32,
    /// Where they start there.
    at: u32,
}

const OTHER: u32 = 0;

impl SharedStrings {
    /// A table of these bytes.
    pub(super) fn of(bytes: Vec<u8>) -> Self {
        let size = bytes.len();
        Self { pieces: vec![Piece { start: 0, list: 1, at: 0 }], own: vec![bytes], size }
    }

    pub(super) fn len(&self) -> usize {
        self.size
    }

    /// Appends a string that the other table has; where it is in this one.
    #[inline]
    pub(super) fn add_shared(&mut self, at: u32, size: usize) -> u32 {
        self.add(OTHER, at, size)
    }

    /// Appends a string, given in parts; where it is.
    pub(super) fn add_own(&mut self, parts: &[&[u8]]) -> u32 {
        let list = self.own.len();
        let own = &mut self.own[list - 1];
        let at = own.len();
        parts.iter().for_each(|part| own.extend_from_slice(part));
        let size = own.len() - at;
        self.add(list as u32, at as u32, size)
    }

    /// Appends strings; where the first one is.
    pub(super) fn add_list(&mut self, strings: Vec<u8>) -> u32 {
        let size = strings.len();
        self.own.push(strings);
        self.add(self.own.len() as u32, 0, size)
    }

    #[inline]
    fn add(&mut self, list: u32, at: u32, size: usize) -> u32 {
        let start = self.size as u32;
        let last = self.pieces.last();
        if !last.is_some_and(|last| {
            last.list == list && last.at.wrapping_add(start.wrapping_sub(last.start)) == at
        }) {
            self.pieces.push(Piece { start, list, at });
        }
        self.size += size;
        start
    }

    /// The bytes of a piece from its start on, and what follows them where they are.
    fn bytes<'t>(&'t self, other: &'t [u8], piece: Piece) -> &'t [u8] {
        let list = match piece.list {
            OTHER => other,
            own => &self.own[own as usize - 1],
        };
        &list[piece.at as usize..]
    }

    /// The number of the piece that has a place of this table.
    fn piece_of(&self, at: usize) -> usize {
        self.pieces.partition_point(|piece| piece.start as usize <= at) - 1
    }

    /// The string at a place of this table and what follows it where its bytes are.
    pub(super) fn from<'t>(&'t self, other: &'t [u8], at: u32) -> &'t [u8] {
        let piece = self.pieces[self.piece_of(at as usize)];
        &self.bytes(other, piece)[(at - piece.start) as usize..]
    }

    /// Writes a part of the table.
    pub(super) fn write(&self, other: &[u8], part: Range<usize>, out: &mut [u8]) {
        let (mut at, mut out) = (part.start, out);
        for i in self.piece_of(at)..self.pieces.len() {
            let end = self.pieces.get(i + 1).map_or(self.size, |next| next.start as usize);
            let end = end.min(part.end);
            let piece = self.pieces[i];
            let start = at - piece.start as usize;
            let (place, rest) = std::mem::take(&mut out).split_at_mut(end - at);
            place.copy_from_slice(&self.bytes(other, piece)[start..start + place.len()]);
            (at, out) = (end, rest);
            if out.is_empty() {
                break;
            }
        }
    }

    /// The whole table.
    pub(super) fn to_vec(&self, other: &[u8]) -> Vec<u8> {
        let mut out = vec![0; self.size];
        self.write(other, 0..self.size, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other() {
        let other = b"\0aa\0bbb\0c\0";
        let mut table = SharedStrings::of(vec![0]);
        assert_eq!(table.add_own(&[b"x", b"y", b"\0"]), 1);
        assert_eq!(table.add_shared(1, 3), 4);
        assert_eq!(table.add_shared(4, 4), 7);
        assert_eq!(table.add_list(b"one\0two\0".to_vec()), 11);
        assert_eq!(table.add_own(&[b"z\0"]), 19);
        assert_eq!(table.add_shared(8, 2), 21);
        let whole = b"\0xy\0aa\0bbb\0one\0two\0z\0c\0";
        assert_eq!(table.to_vec(other), whole);
        assert_eq!((table.len(), table.pieces.len()), (whole.len(), 4));
        for start in 0..whole.len() {
            for end in start..=whole.len() {
                let mut out = vec![1; end - start];
                table.write(other, start..end, &mut out);
                assert_eq!(out, whole[start..end]);
            }
        }
        assert!(table.from(other, 7).starts_with(b"bbb\0"));
        assert!(table.from(other, 8).starts_with(b"bb\0"));
        assert!(table.from(other, 15).starts_with(b"two\0"));
    }
}
