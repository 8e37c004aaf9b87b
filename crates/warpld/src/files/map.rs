//! Reading files, mapping large ones.

use super::small_files::{SmallFiles, Spot};
use super::whole;
use memmap2::MmapMut;
use rayon::prelude::*;
use std::fs::{File, Metadata};
use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A file's bytes.
#[derive(Debug)]
pub(crate) struct Mapped(Bytes);

#[derive(Debug)]
enum Bytes {
    Map(Box<Map>),
    /// A range of a buffer that several files were read into.
    Read(Arc<MmapMut>, Range<usize>),
}

/// A map, with the stamp that shows whether the file has changed since.
#[derive(Debug)]
struct Map {
    map: memmap2::Mmap,
    path: PathBuf,
    stamp: Stamp,
}

/// Files up to this size are read: that is faster than a separate map, and nobody can change what
/// was read.
const READ_AT_MOST: u64 = 16 << 10;

/// Buffer size for a file that is read: one more byte, to detect a longer file.
const MAX_READ: usize = READ_AT_MOST as usize + 1;

/// After this many maps, files are read, because the system limits the number of maps (65,530 by
/// default).
const MAPS_AT_MOST: u32 = 16 << 10;

/// Size and modification time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(u64, Option<std::time::SystemTime>);

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), metadata.modified().ok())
    }
}

/// Identifies a file, whatever its name.
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
        let mut small_files = SmallFiles::new(MAX_READ);
        let place = open_onto(&mut small_files, 0, path, 1)?;
        Ok(Self::at(place, &[small_files.close()]))
    }

    /// A file whose reader has closed its buffers.
    fn at(place: Storage, buffers: &[Vec<Arc<MmapMut>>]) -> Self {
        Self(match place {
            Storage::Map(map) => Bytes::Map(map),
            Storage::Read(reader, (buffer, range)) => {
                Bytes::Read(buffers[usize::from(reader)][buffer].clone(), range)
            }
        })
    }

    /// Opens several files in parallel and converts each, keeping their order.
    pub(crate) fn open_all<P: AsRef<Path> + Sync, T: Send>(
        paths: &[P],
        make: impl Fn(&P, Result<Self, OpenError>) -> T + Sync,
    ) -> Vec<T> {
        let mut places: Vec<_> = paths.iter().map(|_| Err(NOT_OPENED.into())).collect();
        let buffers = read_all(paths, &mut places);
        let files = paths.par_iter().zip(places).map(|(path, place)| {
            make(path, place.map(|place| Self::at(place, &buffers)).map_err(OpenError))
        });
        files.collect()
    }

    /// Whether the file is still the one that was mapped.
    pub(crate) fn is_unchanged(&self) -> bool {
        match &self.0 {
            Bytes::Map(map) => {
                std::fs::metadata(&map.path).is_ok_and(|now| Stamp::of(&now) == map.stamp)
            }
            Bytes::Read(..) => true,
        }
    }
    /// Identifies the file; `name` is the one it was opened under.
    pub(crate) fn key(&self, name: &str) -> Option<FileKey> {
        match &self.0 {
            Bytes::Map(map) => FileKey::of(&map.path),
            Bytes::Read(..) => FileKey::of(Path::new(name)),
        }
    }
    /// The address range of the file, if it is mapped.
    pub(crate) fn mapped_at(&self) -> Option<std::ops::Range<usize>> {
        let Bytes::Map(map) = &self.0 else { return None };
        let addresses = map.map.as_ptr_range();
        Some(addresses.start as usize..addresses.end as usize)
    }
}

/// Where the bytes of a file are.
enum Storage {
    Map(Box<Map>),
    /// Read by this reader, into a buffer shared with other files.
    Read(u16, Spot),
}

/// The error of files that were not opened.
const NOT_OPENED: io::ErrorKind = io::ErrorKind::Other;

/// Reads or maps all files; returns the buffers of each reader.
fn read_all<P: AsRef<Path> + Sync>(
    paths: &[P],
    places: &mut [io::Result<Storage>],
) -> Vec<Vec<Arc<MmapMut>>> {
    // Small enough batches that every thread has work.
    let threads = rayon::current_num_threads();
    let together = (paths.len() / (4 * threads)).clamp(1, 64);
    let batches = paths.len().div_ceil(together);
    let readers = u16::try_from(threads.min(batches)).unwrap_or(u16::MAX);
    let parts = paths.chunks(together).zip(places.chunks_mut(together));
    let parts = Mutex::new((0..batches).rev().zip(parts));
    let next = || parts.lock().ok()?.next();
    let read = |reader| {
        let mut small_files = SmallFiles::new(MAX_READ);
        while let Some((after, (paths, places))) = next() {
            let left = (after + 1) * together / usize::from(readers);
            for (path, place) in paths.iter().zip(places) {
                *place = open_onto(&mut small_files, reader, path.as_ref(), left);
            }
        }
        small_files.close()
    };
    (0..readers).into_par_iter().with_max_len(1).map(read).collect()
}

/// Maps a file, or reads it next to the other small files; about `left` files are to come.
fn open_onto(
    small_files: &mut SmallFiles,
    reader: u16,
    path: &Path,
    left: usize,
) -> io::Result<Storage> {
    static MAPS: AtomicU32 = AtomicU32::new(0);
    let file = whole::open(path)?;
    // Small files usually follow small ones. A file that fits needs no stat: reading from an offset
    // fails for directories and pipes.
    if small_files.expects_small {
        let place = small_files.next_buffer(left)?;
        let count = read_at_start(&file, place).unwrap_or(0);
        if (1..place.len()).contains(&count) {
            return Ok(Storage::Read(reader, small_files.keep(count)));
        }
    }
    let metadata = file.metadata()?;
    small_files.expects_small = metadata.len() <= READ_AT_MOST;
    if metadata.is_dir() {
        return Err(whole::is_a_folder());
    }
    if !metadata.is_file() {
        return Err(whole::not_a_file());
    }
    let size = metadata.len();
    if size > READ_AT_MOST && MAPS.fetch_add(1, Ordering::Relaxed) < MAPS_AT_MOST {
        let (path, stamp) = (path.to_owned(), Stamp::of(&metadata));
        return Ok(Storage::Map(Box::new(Map { map: map(&file, size)?, path, stamp })));
    }
    let size = usize::try_from(size).map_err(io::Error::other)?;
    Ok(Storage::Read(reader, small_files.read(&file, size)?))
}

#[cfg(unix)]
fn read_at_start(file: &File, place: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, place, 0)
}

/// Stats the file first.
#[cfg(not(unix))]
fn read_at_start(_: &File, _: &mut [u8]) -> io::Result<usize> {
    Ok(0)
}

/// Maps `file`, which has `size` bytes, privately. Pages are faulted in on access, 16 at a time:
/// populating them all at once would block other threads from mapping theirs.
#[allow(unsafe_code)]
fn map(file: &File, size: u64) -> io::Result<memmap2::Mmap> {
    let size = usize::try_from(size).map_err(io::Error::other)?;
    // SAFETY: the map is read-only and private. An input that is rewritten during the link is
    // detected by its modification time, one that is truncated by [`super::guard`]. All readers
    // check each offset against the slice they are given and never rely on reading the same value
    // twice.
    unsafe { memmap2::MmapOptions::new().len(size).map(file) }
}

impl Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Map(map) => &map.map,
            Bytes::Read(buffer, range) => &buffer[range.clone()],
        }
    }
}

impl FileKey {
    /// Identifies the file at `path`, if it exists.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let metadata = std::fs::metadata(path).ok()?;
            Some(Self::Inode { device: metadata.dev(), inode: metadata.ino() })
        }
        #[cfg(not(unix))]
        path.canonicalize().ok().map(Self::Path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files around the size limit for mapping, in every order, next to files that cannot be
    /// opened.
    #[test]
    fn all_files_are_opened_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let content =
            |n: usize| vec![n as u8; [5_000, 0, 16_384, 16_385, 70_000, 1][n * n % 7 % 6]];
        let paths: Vec<PathBuf> = (0..500).map(|n| folder.path().join(n.to_string())).collect();
        for (n, path) in paths.iter().enumerate().filter(|(n, _)| n % 11 > 0) {
            std::fs::write(path, content(n)).unwrap();
        }
        std::fs::create_dir(&paths[0]).unwrap();
        let opened = Mapped::open_all(&paths, |path, data| (path.clone(), data));
        assert_eq!(opened.len(), paths.len());
        for (n, (path, data)) in opened.iter().enumerate() {
            assert_eq!(path, &paths[n]);
            match n % 11 {
                0 => assert!(data.is_err()),
                _ => assert!(data.as_ref().unwrap()[..] == content(n), "file {n}"),
            }
        }
        assert!(opened[0].1.as_ref().unwrap_err().to_string().contains("Is a directory"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn devices_and_pipes_are_refused() {
        let (pipe, _write) = io::pipe().unwrap();
        let pipe = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&pipe));
        for path in ["/dev/null", "/dev/zero", &pipe] {
            let error = Mapped::open(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains("Not a regular file"), "{path}: {error}");
        }
    }
}
