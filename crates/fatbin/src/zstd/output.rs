//! The output so far, which later bytes are copied from.

use super::Damage;

/// Short copies are made this many bytes at a time, if the buffer is long enough.
const PIECE: usize = 16;

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

    /// Appends `count` bytes from `offset` bytes back; the ranges may overlap.
    #[inline(always)]
    pub(super) fn repeat(&mut self, offset: usize, count: usize) -> Result<(), Damage> {
        // An offset of 0 is as wrong as one too large.
        if offset.wrapping_sub(1) >= self.at - self.start {
            return Err(Damage::BadOffset);
        }
        let from = self.at - offset;
        // Copying whole blocks may write up to one block past the end; the next bytes overwrite it.
        if offset >= PIECE && count <= 4 * PIECE && self.at + 5 * PIECE <= self.buffer.len() {
            let mut done = 0;
            while done < count {
                self.piece(from + done, self.at + done);
                done += PIECE;
            }
            self.at += count;
            return Ok(());
        }
        let end = self.end(count)?;
        repeat_slowly(&mut self.buffer[from..end], offset);
        self.at = end;
        Ok(())
    }

    #[inline(always)]
    fn piece(&mut self, from: usize, to: usize) {
        self.buffer.copy_within(from..from + PIECE, to);
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
