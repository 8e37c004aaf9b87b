//! The output so far, which later bytes are copied from.

use super::{Damage, Literals};

/// Short copies are made this many bytes at a time, if the buffer is long enough.
const PIECE: usize = 16;

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
        for sequence in sequences {
            let (before, length) = (sequence.before as usize, sequence.length as usize);
            if before.max(length) > PIECE
                || !self.follow_short(before, length, sequence.offset, literals)
            {
                literals.write(before, self)?;
                self.repeat(sequence.offset, length)?;
            }
        }
        Ok(())
    }

    /// Executes a short sequence by copying two whole pieces, if there is room: the next bytes
    /// overwrite what was too much.
    #[inline(always)]
    fn follow_short(
        &mut self,
        before: usize,
        length: usize,
        offset: usize,
        literals: &mut Literals<'_>,
    ) -> bool {
        let Some(piece) = literals.data.first_chunk::<PIECE>() else { return false };
        let Some(window) = self.buffer.get_mut(self.start..) else { return false };
        let at = self.at - self.start;
        let Some(room) = window.get_mut(at..).and_then(|room| room.first_chunk_mut()) else {
            return false;
        };
        *room = *piece;
        let Some((done, room)) = window.split_at_mut_checked(at + before) else { return false };
        let from = (at + before).wrapping_sub(offset);
        let (Some(piece), Some(room)) =
            (done.get(from..).and_then(|done| done.first_chunk::<PIECE>()), room.first_chunk_mut())
        else {
            return false;
        };
        *room = *piece;
        let (Some(data), Some(left)) =
            (literals.data.get(before..), literals.left.checked_sub(before))
        else {
            return false;
        };
        (literals.data, literals.left) = (data, left);
        self.at += before + length;
        true
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
