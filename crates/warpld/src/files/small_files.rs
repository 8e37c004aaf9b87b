//! Buffers that small files are read into, one after the other.

use memmap2::MmapMut;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Assumed size of a file of unknown size.
const LIKELY_SIZE: usize = 4 << 10;

/// Number of bytes whose pages are faulted in at a time.
pub(crate) const STEP: usize = 1 << 20;

/// Faults in the pages of a part of `memory` with one call, which takes two thirds of the time of
/// single page faults. Failure does not matter. (Huge pages would be faster still on bare metal. A
/// virtual machine waits for its host for most of them: reading 10,000 files took 74 ms instead of
/// 42.)
pub(crate) fn provide(memory: &MmapMut, start: usize, size: usize) {
    #[cfg(target_os = "linux")]
    let _ = memory.advise_range(memmap2::Advice::PopulateWrite, start, size);
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, start, size);
}

/// Maximum size of a buffer for several files.
const MAX_BUFFER: usize = 64 << 20;

/// Small files of one thread. Memory comes from the system in large buffers.
pub(super) struct SmallFiles {
    buffers: Vec<MmapMut>,
    /// Files smaller than this fit.
    max_size: usize,
    /// The buffer being filled, and its free part.
    current: usize,
    free: Range<usize>,
    /// End of the pages that have been faulted in.
    provided: usize,
    files: usize,
    bytes: usize,
    /// The previous file was a small one.
    pub(super) expects_small: bool,
}

/// Where a file is: which buffer, and the range in it.
pub(super) type Spot = (usize, Range<usize>);

impl SmallFiles {
    /// For files of fewer than `max_size` bytes.
    pub(super) fn new(max_size: usize) -> Self {
        Self {
            buffers: Vec::new(),
            max_size,
            current: 0,
            free: 0..0,
            provided: 0,
            files: 0,
            bytes: 0,
            expects_small: true,
        }
    }

    /// A buffer for the next file; about `left` files follow, including this one.
    pub(super) fn next_buffer(&mut self, left: usize) -> io::Result<&mut [u8]> {
        let mean = self.bytes.checked_div(self.files).unwrap_or(LIKELY_SIZE);
        let to_come = left.saturating_mul(mean);
        if self.free.len() < self.max_size {
            // Reserve for the longest files: unused memory costs nothing.
            self.add_buffer(left.saturating_mul(self.max_size).clamp(self.max_size, MAX_BUFFER))?;
        }
        let end = self.free.start + self.max_size;
        if end > self.provided {
            // Not more than the remaining files need.
            let size = to_come.min(STEP);
            provide(
                &self.buffers[self.current],
                self.provided,
                size.min(self.free.end - self.provided),
            );
            self.provided = self.provided.saturating_add(STEP).min(self.free.end);
        }
        Ok(&mut self.buffers[self.current][self.free.start..end])
    }

    /// Keeps the first `count` bytes of the buffer returned last.
    pub(super) fn keep(&mut self, count: usize) -> Spot {
        let start = self.free.start;
        self.free.start += count;
        self.files += 1;
        self.bytes += count;
        (self.current, start..self.free.start)
    }

    /// Reads a file of `size` bytes; a large one gets a separate buffer.
    pub(super) fn read(&mut self, mut file: &File, size: usize) -> io::Result<Spot> {
        let changed = |_| io::Error::other("the file changed while it was read");
        if size < self.max_size {
            file.read_exact(&mut self.next_buffer(1)?[..size]).map_err(changed)?;
            return Ok(self.keep(size));
        }
        let mut buffer = MmapMut::map_anon(size)?;
        file.read_exact(&mut buffer).map_err(changed)?;
        self.buffers.push(buffer);
        Ok((self.buffers.len() - 1, 0..size))
    }

    /// Ends reading and returns the buffers.
    pub(super) fn close(self) -> Vec<Arc<MmapMut>> {
        self.buffers.into_iter().map(Arc::new).collect()
    }

    fn add_buffer(&mut self, size: usize) -> io::Result<()> {
        let buffer = MmapMut::map_anon(size)?;
        (self.free, self.provided) = (0..buffer.len(), 0);
        self.current = self.buffers.len();
        self.buffers.push(buffer);
        Ok(())
    }
}
