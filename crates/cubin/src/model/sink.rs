//! Destinations of a written file: a file or any stream, a fixed-size buffer, a growing buffer, a
//! counter, or a function.

use std::io;

/// Receives a file's bytes in order.
pub trait Sink {
    /// Takes all of `bytes`, or fails.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Takes `count` zero bytes.
    fn write_zeros(&mut self, mut count: u64) -> io::Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        while count > 0 {
            let step = count.min(ZEROS.len() as u64);
            self.write(&ZEROS[..step as usize])?;
            count -= step;
        }
        Ok(())
    }
}

/// A growing buffer.
impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
    fn write_zeros(&mut self, count: u64) -> io::Result<()> {
        let count = usize::try_from(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let size = self.len().checked_add(count).ok_or(io::ErrorKind::OutOfMemory)?;
        self.resize(size, 0);
        Ok(())
    }
}

/// A file or any other stream.
#[derive(Debug)]
pub struct Stream<W>(pub W);

impl<W: io::Write> Sink for Stream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}

/// A fixed-size buffer; writing past its end fails.
#[derive(Debug)]
pub struct Memory<'b> {
    buffer: &'b mut [u8],
    used: usize,
}

impl<'b> Memory<'b> {
    /// Fills `buffer` from its start.
    pub fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, used: 0 }
    }
    /// Bytes written so far.
    pub fn used(&self) -> usize {
        self.used
    }
}

impl Sink for Memory<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.used.checked_add(bytes.len()).ok_or(io::ErrorKind::WriteZero)?;
        let place = self.buffer.get_mut(self.used..end).ok_or(io::ErrorKind::WriteZero)?;
        place.copy_from_slice(bytes);
        self.used = end;
        Ok(())
    }
}

/// Counts bytes and discards them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter(pub u64);

impl Sink for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0 += bytes.len() as u64;
        Ok(())
    }
    fn write_zeros(&mut self, count: u64) -> io::Result<()> {
        self.0 += count;
        Ok(())
    }
}

/// Passes all bytes to a function.
pub struct Callback<F>(pub F);

impl<F: FnMut(&[u8]) -> io::Result<()>> Sink for Callback<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        (self.0)(bytes)
    }
}
