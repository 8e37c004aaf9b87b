//! Buffers that small files are read into, one after the other.

use memmap2::MmapMut;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Assumed size of a file of unknown size.
const LIKELY_SIZE: usize = 4 << 10;

/// Pages are provided for this many bytes at a time.
pub(crate) const STEP: usize = 1 << 20;

/// Has the system provide the pages of a part of `memory` before they are used, all at once: that
/// takes two thirds of the time. Everything works without it, too. (Huge pages would be better
/// still on bare metal. A virtual machine waits for its host for most of them: reading 10,000 files
/// took 74 ms instead of 42.)
pub(crate) fn provide(memory: &MmapMut, start: usize, size: usize) {
    #[cfg(target_os = "linux")]
    let _ = memory.advise_range(memmap2::Advice::PopulateWrite, start, size);
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, start, size);
}

/// Maximum size of a buffer for several files.
const BOARD_AT_MOST: usize = 64 << 20;

/// Small files of one thread. Memory comes from the system in large buffers.
pub(super) struct SmallFiles {
    boards: Vec<MmapMut>,
    /// Files smaller than this fit.
    place: usize,
    /// The buffer being filled, and its free part.
    board: usize,
    free: Range<usize>,
    /// How far the buffer's pages have been provided.
    provided: usize,
    files: usize,
    bytes: usize,
    /// The previous file was a small one.
    pub(super) expects_small: bool,
}

/// Where a file is: which buffer, and the range in it.
pub(super) type Spot = (usize, Range<usize>);

impl SmallFiles {
    /// For files of fewer than `place` bytes.
    pub(super) fn new(place: usize) -> Self {
        Self {
            boards: Vec::new(),
            place,
            board: 0,
            free: 0..0,
            provided: 0,
            files: 0,
            bytes: 0,
            expects_small: true,
        }
    }

    /// Room for the next file; about `left` are to come, including this one.
    pub(super) fn place(&mut self, left: usize) -> io::Result<&mut [u8]> {
        let mean = self.bytes.checked_div(self.files).unwrap_or(LIKELY_SIZE);
        let to_come = left.saturating_mul(mean);
        if self.free.len() < self.place {
            // Reserve for the longest files: unused memory costs nothing.
            self.put_up(left.saturating_mul(self.place).clamp(self.place, BOARD_AT_MOST))?;
        }
        let end = self.free.start + self.place;
        if end > self.provided {
            // No more than the files will fill.
            let size = to_come.min(STEP);
            provide(
                &self.boards[self.board],
                self.provided,
                size.min(self.free.end - self.provided),
            );
            self.provided = self.provided.saturating_add(STEP).min(self.free.end);
        }
        Ok(&mut self.boards[self.board][self.free.start..end])
    }

    /// Keeps the first `count` bytes of the room returned last.
    pub(super) fn keep(&mut self, count: usize) -> Spot {
        let start = self.free.start;
        self.free.start += count;
        self.files += 1;
        self.bytes += count;
        (self.board, start..self.free.start)
    }

    /// Reads a file of `size` bytes; a large one gets a separate buffer.
    pub(super) fn read(&mut self, mut file: &File, size: usize) -> io::Result<Spot> {
        let changed = |_| io::Error::other("the file changed while it was read");
        if size < self.place {
            file.read_exact(&mut self.place(1)?[..size]).map_err(changed)?;
            return Ok(self.keep(size));
        }
        let mut board = MmapMut::map_anon(size)?;
        file.read_exact(&mut board).map_err(changed)?;
        self.boards.push(board);
        Ok((self.boards.len() - 1, 0..size))
    }

    /// Ends reading and returns the buffers.
    pub(super) fn close(self) -> Vec<Arc<MmapMut>> {
        self.boards.into_iter().map(Arc::new).collect()
    }

    fn put_up(&mut self, size: usize) -> io::Result<()> {
        let board = MmapMut::map_anon(size)?;
        (self.free, self.provided) = (0..board.len(), 0);
        self.board = self.boards.len();
        self.boards.push(board);
        Ok(())
    }
}
