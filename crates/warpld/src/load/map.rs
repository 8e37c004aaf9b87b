//! Reading files, mapping large ones. With the guard of the maps, the one place
//! of the linker that needs `unsafe`.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file's bytes.
#[derive(Debug)]
pub(crate) struct Mapped {
    bytes: Bytes,
    key: FileKey,
}

#[derive(Debug)]
enum Bytes {
    Map(Box<Map>),
    /// A part of what was read of several files.
    Read(Arc<Vec<u8>>, Range<usize>),
}

/// A map, with what says whether the file has changed since.
#[derive(Debug)]
struct Map {
    map: memmap2::Mmap,
    path: PathBuf,
    stamp: Stamp,
}

/// Files of up to this many bytes are read: that is faster than a map of their
/// own, and nobody can change what was read.
const READ_AT_MOST: u64 = 16 << 10;

/// After this many maps files are read, as the system limits their number
/// (to 65,530 where nobody changed that).
const MAPS_AT_MOST: u32 = 16 << 10;

/// Size and time of change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(u64, Option<std::time::SystemTime>);

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), metadata.modified().ok())
    }
}

/// What tells whether two names are one file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FileKey {
    #[cfg(unix)]
    Inode { device: u64, inode: u64 },
    #[cfg(not(unix))]
    Path(std::path::PathBuf),
}

/// Why a file could not be mapped.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct OpenError(#[from] pub(crate) io::Error);

impl Mapped {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_all(&[path]).pop().unwrap_or_else(|| Err(io::Error::other("no file").into()))
    }

    /// Opens several files. The small ones lie one after the other in memory that
    /// is taken once: heaps of threads grow page by page.
    pub(crate) fn open_all<P: AsRef<Path>>(paths: &[P]) -> Vec<Result<Self, OpenError>> {
        let mut block = Vec::new();
        let left = (1..=paths.len()).rev();
        let opened: Vec<_> = (paths.iter().zip(left))
            .map(|(path, left)| open_into(path.as_ref(), left, &mut block))
            .collect();
        block.shrink_to_fit();
        let block = Arc::new(block);
        let bytes = |place| match place {
            Place::Map(map) => Bytes::Map(map),
            Place::Block(range) => Bytes::Read(block.clone(), range),
        };
        let mapped = |(place, key)| Self { bytes: bytes(place), key };
        opened.into_iter().map(|opened| Ok(opened.map(mapped)?)).collect()
    }

    /// Whether the file is still the one that was mapped.
    pub(crate) fn is_unchanged(&self) -> bool {
        match &self.bytes {
            Bytes::Map(map) => {
                std::fs::metadata(&map.path).is_ok_and(|now| Stamp::of(&now) == map.stamp)
            }
            Bytes::Read(..) => true,
        }
    }
    /// Where the file lies in memory, if it is mapped.
    pub(crate) fn mapped_at(&self) -> Option<std::ops::Range<usize>> {
        let Bytes::Map(map) = &self.bytes else { return None };
        let addresses = map.map.as_ptr_range();
        Some(addresses.start as usize..addresses.end as usize)
    }
    pub(crate) fn key(&self) -> &FileKey {
        &self.key
    }
}

/// Where the bytes of a file are.
enum Place {
    Map(Box<Map>),
    /// In the block of several files.
    Block(Range<usize>),
}

/// Maps a file, or reads it to the end of `block`, where `left` files may go.
fn open_into(path: &Path, left: usize, block: &mut Vec<u8>) -> io::Result<(Place, FileKey)> {
    static MAPS: AtomicU32 = AtomicU32::new(0);
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is neither a file nor a link to one"));
    }
    let (key, stamp) = (FileKey::of(path, &metadata), Stamp::of(&metadata));
    let size = metadata.len();
    if size > READ_AT_MOST && MAPS.fetch_add(1, Ordering::Relaxed) < MAPS_AT_MOST {
        let map = Map { map: map(&file)?, path: path.to_owned(), stamp };
        return Ok((Place::Map(Box::new(map)), key));
    }
    if block.is_empty() && size <= READ_AT_MOST {
        // The others are likely to be like it.
        block.reserve(size as usize * left);
    }
    let start = block.len();
    read(&file, size, block)?;
    Ok((Place::Block(start..block.len()), key))
}

/// Appends what is in `file`, which had `size` bytes when it was opened.
fn read(mut file: &File, size: u64, block: &mut Vec<u8>) -> io::Result<()> {
    block.reserve(size as usize);
    match file.by_ref().take(size).read_to_end(block)? as u64 == size {
        true => Ok(()),
        false => Err(io::Error::other("the file changed while it was read")),
    }
}

/// Maps `file` privately, with all pages that are in memory already.
#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the map is read-only and private. Whoever rewrites an input while
    // it is being linked is found out by its time of change, whoever truncates it by
    // [`super::guard`]; all readers above check each offset against the slice
    // they are given and never trust a value read twice.
    unsafe { memmap2::MmapOptions::new().populate().map(file) }
}

impl Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Map(map) => &map.map,
            Bytes::Read(block, range) => &block[range.clone()],
        }
    }
}

impl FileKey {
    #[cfg(unix)]
    fn of(_: &Path, metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self::Inode { device: metadata.dev(), inode: metadata.ino() }
    }
    #[cfg(not(unix))]
    fn of(path: &Path, _: &std::fs::Metadata) -> Self {
        Self::Path(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
    }
}
