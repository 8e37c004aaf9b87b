//! Memory that packed images are unpacked into. The caller may bring its own, with pages
//! that the system provides in advance; by default it comes from the heap.

use std::fmt;
use std::sync::OnceLock;

/// Blocks are filled to about this many bytes.
pub const STEP: usize = 1 << 20;

/// A block of zeroed memory that images are unpacked into.
pub trait Block: Send + Sync {
    /// Its bytes.
    fn bytes(&self) -> &[u8];
    /// Its bytes, to be filled.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// `size` bytes from `start` on are about to be filled: a good time to provide pages.
    fn prepare(&self, start: usize, size: usize) {
        let _ = (start, size);
    }
}

impl Block for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Makes a block of so many zeroed bytes; nothing if there is no memory.
pub type Allocate = fn(usize) -> Option<Box<dyn Block>>;

/// Owns the unpacked images of a link.
pub struct Store {
    blocks: OnceLock<Vec<Box<dyn Block>>>,
    allocate: Allocate,
}

impl Store {
    /// A store whose blocks `allocate` makes.
    pub fn new(allocate: Allocate) -> Self {
        Self { blocks: OnceLock::new(), allocate }
    }

    pub(super) fn allocate(&self, size: usize) -> Option<Box<dyn Block>> {
        (self.allocate)(size)
    }

    /// Keeps these blocks; nothing if the store has been filled before.
    pub(super) fn keep(&self, blocks: Vec<Box<dyn Block>>) -> Option<&[Box<dyn Block>]> {
        self.blocks.set(blocks).ok()?;
        self.blocks.get().map(Vec::as_slice)
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::new(|size| Some(Box::new(vec![0; size])))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let blocks = self.blocks.get().map_or(0, Vec::len);
        f.debug_struct("Store").field("blocks", &blocks).finish()
    }
}
