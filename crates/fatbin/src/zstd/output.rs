//! The output so far, which later bytes are copied from.

use super::{Damage, Literals};

/// Short copies are made this many bytes at a time, if the buffer is long enough.
const PIECE: usize = 16;

/// Short sequences copy at most this much.
const SHORT: usize = 2 * PIECE;

/// Room for a short sequence.
#[inline(always)]
fn room(window: &mut [u8], at: usize) -> Option<&mut [u8; PIECE + SHORT]> {
    window.get_mut(at..)?.first_chunk_mut()
}

/// Copies a piece of `window` to `to` bytes after `at`.
#[inline(always)]
fn copy_piece(window: &mut [u8], from: usize, at: usize, to: usize) -> Option<()> {
    let piece = *window.get(from..)?.first_chunk::<PIECE>()?;
    room(window, at)?[to..to + PIECE].copy_from_slice(&piece);
    Some(())
}

/// One sequence.
#[derive(Clone, Copy, Default)]
pub(super) struct Sequence {
    /// The number of literals to append.
    pub(super) before: u32,
    /// Then so many bytes are appended …
    pub(super) length: u32,
    /// … from this many bytes back.
    pub(super) offset: usize,
}

/// The output buffer.
pub(super) struct Output<'a> {
    buffer: &'a mut [u8],
    at: usize,
    /// Start of the frame, which cannot refer to anything before it.
    start: usize,
}

impl<'a> Output<'a> {
    pub(super) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, at: 0, start: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.at
    }

    pub(super) fn space_left(&self) -> usize {
        self.buffer.len() - self.at
    }

    pub(super) fn begin_frame(&mut self) {
        self.start = self.at;
    }

    pub(super) fn fill(&mut self, byte: u8, count: usize) -> Result<(), Damage> {
        let end = self.end(count)?;
        self.buffer[self.at..end].fill(byte);
        self.at = end;
        Ok(())
    }

    /// Appends the first `count` bytes of `data`, which is longer if possible.
    #[inline(always)]
    pub(super) fn append(&mut self, data: &[u8], count: usize) -> Result<(), Damage> {
        if count <= PIECE
            && let Some(piece) = data.first_chunk::<PIECE>()
            && let Some(buffer) = self.buffer.get_mut(self.at..self.at + PIECE)
        {
            buffer.copy_from_slice(piece);
            self.at += count;
            return Ok(());
        }
        let end = self.end(count)?;
        self.buffer[self.at..end].copy_from_slice(data.get(..count).ok_or(Damage::BadLiterals)?);
        self.at = end;
        Ok(())
    }

    fn end(&self, count: usize) -> Result<usize, Damage> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.buffer.len());
        end.ok_or(Damage::TooMuch)
    }

    /// Executes sequences on the literals of a block.
    #[inline(never)]
    pub(super) fn follow(
        &mut self,
        sequences: &[Sequence],
        literals: &mut Literals<'_>,
    ) -> Result<(), Damage> {
        let mut rest = sequences;
        loop {
            rest = self.follow_short(rest, literals)?;
            let Some((long, after)) = rest.split_first() else { return Ok(()) };
            literals.write(long.before as usize, self)?;
            self.repeat(long.offset, long.length as usize)?;
            rest = after;
        }
    }

    /// Executes short sequences by copying whole pieces, while there is room, and returns the rest: the next bytes
    /// overwrite what was too much. What changes is in local variables: for all the compiler knows, copied bytes may
    /// overwrite what references refer to.
    #[inline(always)]
    fn follow_short<'s>(
        &mut self,
        sequences: &'s [Sequence],
        literals: &mut Literals<'_>,
    ) -> Result<&'s [Sequence], Damage> {
        let Some(window) = self.buffer.get_mut(self.start..) else { return Ok(sequences) };
        let (mut at, mut data) = (self.at - self.start, literals.data);
        let mut done = 0;
        for &Sequence { before, length, offset } in sequences {
            let (before, length) = (before as usize, length as usize);
            if before > PIECE || length > SHORT || offset < PIECE {
                break;
            }
            let (Some(piece), Some(room)) = (data.first_chunk::<PIECE>(), room(window, at)) else {
                break;
            };
            room[..PIECE].copy_from_slice(piece);
            // An offset that is too large gives a number that is too large.
            let from = (at + before).wrapping_sub(offset);
            if copy_piece(window, from, at, before).is_none() {
                break;
            }
            // The second piece may begin in the first.
            if copy_piece(window, from + PIECE, at, before + PIECE).is_none() {
                break;
            }
            at += before + length;
            data = &data[before..];
            done += 1;
        }
        self.at = self.start + at;
        literals.data = data;
        // Some of the margin has been copied.
        if data.len() < literals.margin {
            return Err(Damage::BadLiterals);
        }
        Ok(&sequences[done..])
    }

    /// Appends `count` bytes from `offset` bytes back; the ranges may overlap.
    fn repeat(&mut self, offset: usize, count: usize) -> Result<(), Damage> {
        // An offset of 0 is as wrong as one too large.
        if offset.wrapping_sub(1) >= self.at - self.start {
            return Err(Damage::BadOffset);
        }
        let from = self.at - offset;
        // Copying whole pieces may write up to one past the end; the next bytes overwrite it.
        if offset >= PIECE && count <= 4 * PIECE && self.at + 5 * PIECE <= self.buffer.len() {
            for done in (0..count).step_by(PIECE) {
                self.buffer.copy_within(from + done..from + done + PIECE, self.at + done);
            }
            self.at += count;
            return Ok(());
        }
        let end = self.end(count)?;
        repeat_slowly(&mut self.buffer[from..end], offset);
        self.at = end;
        Ok(())
    }
}

/// Fills `buffer` by repeating its first `offset` bytes, doubling the filled part each time.
#[inline(never)]
fn repeat_slowly(buffer: &mut [u8], offset: usize) {
    if offset == 1 {
        let byte = buffer[0];
        buffer.fill(byte);
        return;
    }
    let mut done = offset;
    while done < buffer.len() {
        let size = done.min(buffer.len() - done);
        buffer.copy_within(..size, done);
        done += size;
    }
}
