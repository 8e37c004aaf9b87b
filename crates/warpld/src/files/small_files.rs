//! Memory for small files, which are read into it one after the other.

use memmap2::MmapMut;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// What a file of unknown size is taken to have.
const LIKELY_SIZE: usize = 4 << 10;

/// Pages are provided for so many bytes at a time.
pub(crate) const STEP: usize = 1 << 20;

/// Has the system provide the pages of a part of `memory` before they are used, all at once:
/// that takes two thirds of the time. Without it everything works as well. (Huge pages would be
/// better yet on machines that have their memory to themselves. A guest of a hypervisor waits
/// for its host with most of them: 10,000 files took 74 ms to read instead of 42.)
pub(crate) fn provide(memory: &MmapMut, start: usize, size: usize) {
    #[cfg(target_os = "linux")]
    let _ = memory.advise_range(memmap2::Advice::PopulateWrite, start, size);
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, start, size);
}

/// Boards for several files are no longer than this.
const BOARD_AT_MOST: usize = 64 << 20;

/// Small files of one thread. Memory comes from the system in long boards.
pub(super) struct SmallFiles {
    boards: Vec<MmapMut>,
    /// Files of fewer bytes than this find a place.
    place: usize,
    /// The board that files are put on, and the part of it that is free.
    board: usize,
    free: Range<usize>,
    /// Up to where on the board there are pages.
    provided: usize,
    files: usize,
    bytes: usize,
    /// The file before was a small one.
    pub(super) expects_small: bool,
}

/// Where a file is: which board, and where on it.
pub(super) type Spot = (usize, Range<usize>);

impl SmallFiles {
    /// Room for files of fewer than `place` bytes.
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

    /// A place for the next file; about `left` are to come, this one included.
    pub(super) fn place(&mut self, left: usize) -> io::Result<&mut [u8]> {
        let mean = self.bytes.checked_div(self.files).unwrap_or(LIKELY_SIZE);
        let to_come = left.saturating_mul(mean);
        if self.free.len() < self.place {
            // However long they are, they find room: what is not used of it costs nothing.
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

    /// Keeps the first `count` bytes of the place that was given last.
    pub(super) fn keep(&mut self, count: usize) -> Spot {
        let start = self.free.start;
        self.free.start += count;
        self.files += 1;
        self.bytes += count;
        (self.board, start..self.free.start)
    }

    /// Reads a file of `size` bytes, a large one onto a board of its own.
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

    /// No more files come: the boards with what is on them.
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
