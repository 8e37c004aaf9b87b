//! Mapping files. The one place of the linker that needs `unsafe`.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// A file's bytes.
#[derive(Debug)]
pub(crate) struct Mapped {
    bytes: Bytes,
    key: FileKey,
}

#[derive(Debug)]
enum Bytes {
    Map(memmap2::Mmap),
    Empty,
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
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file").into());
        }
        let key = FileKey::of(path, &metadata);
        // An empty file cannot be mapped.
        let bytes = if metadata.len() == 0 { Bytes::Empty } else { Bytes::Map(map(&file)?) };
        Ok(Self { bytes, key })
    }
    pub(crate) fn key(&self) -> &FileKey {
        &self.key
    }
}

/// Maps `file` privately.
#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the map is read-only and private. Like every linker we rely on
    // nobody truncating or rewriting an input while it is being linked; all
    // readers above check each offset against the slice they are given and
    // never trust a value read twice.
    unsafe { memmap2::Mmap::map(file) }
}

impl Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Map(map) => map,
            Bytes::Empty => &[],
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
