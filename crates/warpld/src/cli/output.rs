//! Output files, which appear completely or not at all.

use crate::files::guard;
use crate::files::map::Mapped;
use libwarpld::Code;
use libwarpld::Diagnostic;
use libwarpld::driver::{BUFFER_SIZE, Blocks, Destination};
use memmap2::MmapMut;
use rayon::prelude::*;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// A file that could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// No such directory, a directory itself, no permission.
    #[error("Could not open output file '{}'", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A full disk, for example.
    #[error("Could not write output file '{}'", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl WriteError {
    /// The stable code of the message.
    pub fn code(&self) -> Code {
        match self {
            Self::Open { .. } => Code::CannotOpenOutput,
            Self::Write { .. } => Code::WriteFailed,
        }
    }
    /// What the system said.
    pub fn reason(&self) -> String {
        match self {
            Self::Open { path, .. } if path.as_os_str().is_empty() => {
                "the name after -o is empty".into()
            }
            Self::Open { source, .. } => source.to_string(),
            Self::Write { source, .. } => source.to_string(),
        }
    }
}

/// Writes `bytes` to `path` so that others see either the old file or the complete new one. Devices
/// and pipes are written directly, and so is a file in a directory that allows no new files.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut pending = PendingFile::new(Some(path));
    pending.open()?;
    match &mut pending.state {
        State::File { file, .. } => {
            file.write_all(bytes).map_err(|source| pending.write_error(source))?
        }
        _ => pending.state = State::Memory(bytes.to_vec()),
    }
    pending.publish()
}

/// Writes what `fill` writes, as [`write_atomically`] does, without keeping it in memory.
pub fn write_atomically_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let mut pending = PendingFile::new(Some(path));
    pending.open()?;
    let written = match &mut pending.state {
        State::File { file, .. } => fill(&mut io::BufWriter::new(file)),
        State::Memory(bytes) => fill(bytes),
        State::None => Ok(()),
    };
    written.map_err(|source| pending.write_error(source))?;
    pending.publish()
}

/// A file being written. It appears when it is published; otherwise nothing is left behind.
#[derive(Debug)]
pub struct PendingFile {
    path: Option<PathBuf>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing yet.
    None,
    /// A temporary file next to the one it will replace.
    File { file: File, temporary: PathBuf, real: PathBuf, replaced: Option<Replaced> },
    /// For directories that allow no new files.
    Memory(Vec<u8>),
}

/// A file to be replaced.
#[derive(Debug)]
struct Replaced {
    permissions: Permissions,
    /// Where an open file can be replaced.
    file: Option<File>,
}

impl PendingFile {
    /// A file to publish at `path`, or nowhere.
    pub fn new(path: Option<&Path>) -> Self {
        Self { path: path.map(Path::to_owned), state: State::None }
    }

    fn open_error(&self, source: io::Error) -> WriteError {
        WriteError::Open { path: self.path.clone().unwrap_or_default(), source }
    }

    fn write_error(&self, source: io::Error) -> WriteError {
        WriteError::Write { path: self.path.clone().unwrap_or_default(), source }
    }

    /// Determines how the file can be written.
    fn open(&mut self) -> Result<(), WriteError> {
        let Some(path) = &self.path else {
            self.state = State::Memory(Vec::new());
            return Ok(());
        };
        // A symbolic link is kept; its target is replaced.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let writable = || OpenOptions::new().write(true).open(&real);
        let replaced = match fs::metadata(&real) {
            Ok(meta) => {
                let old = writable().map_err(|source| self.open_error(source))?;
                if !meta.is_file() {
                    self.state = State::Memory(Vec::new());
                    return Ok(());
                }
                let file = cfg!(target_os = "linux").then_some(old);
                Some(Replaced { permissions: meta.permissions(), file })
            }
            Err(_) => None,
        };
        self.state = match create_beside(&real) {
            Ok((temporary, file)) => State::File { file, temporary, real, replaced },
            Err(_) if replaced.is_some() => State::Memory(Vec::new()),
            Err(error) => return Err(self.open_error(error)),
        };
        Ok(())
    }

    /// The bytes written so far.
    pub(super) fn contents(&self) -> io::Result<Contents<'_>> {
        match &self.state {
            State::None => Ok(Contents::Memory(&[])),
            State::Memory(bytes) => Ok(Contents::Memory(bytes)),
            State::File { temporary, .. } => {
                Mapped::open(temporary).map(Contents::File).map_err(|error| error.0)
            }
        }
    }

    /// Publishes the file.
    pub fn publish(mut self) -> Result<(), WriteError> {
        let Some(path) = &self.path else { return Ok(()) };
        let published = match &self.state {
            State::None => Ok(()),
            State::Memory(bytes) => {
                let opened = OpenOptions::new().write(true).open(path);
                let mut file = opened.map_err(|source| self.open_error(source))?;
                let regular = file.metadata().is_ok_and(|meta| meta.is_file());
                let emptied = if regular { file.set_len(0) } else { Ok(()) };
                emptied.and_then(|()| file.write_all(bytes))
            }
            State::File { file, temporary, real, replaced } => replaced
                .as_ref()
                .map_or(Ok(()), |old| file.set_permissions(old.permissions.clone()))
                .and_then(|()| fs::rename(temporary, real)),
        };
        published.map_err(|source| self.write_error(source))?;
        if let State::File { replaced: Some(Replaced { file: Some(old), .. }), .. } =
            std::mem::replace(&mut self.state, State::None)
        {
            leave_to_exit(old);
        }
        Ok(())
    }
}

/// Keeps a replaced file open until the process exits: the last one to close it frees its blocks and cached pages, which
/// takes 10 ms for 105 MB. With [`crate::exit`] that is a process that nobody waits for.
fn leave_to_exit(file: File) {
    static LAST: Mutex<Option<File>> = Mutex::new(None);
    if file.metadata().is_ok_and(|meta| meta.len() >= LARGE) {
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }
}

/// Files of which it matters who frees them.
const LARGE: u64 = 1 << 20;

impl Drop for PendingFile {
    fn drop(&mut self) {
        if let State::File { temporary, .. } = &self.state {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// The contents of a pending file.
#[derive(Debug)]
pub(super) enum Contents<'d> {
    /// In memory.
    Memory(&'d [u8]),
    /// In a file.
    File(Mapped),
}

impl std::ops::Deref for Contents<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::File(file) => file,
        }
    }
}

impl Destination for PendingFile {
    fn take(&mut self, blocks: &Blocks<'_>) -> Result<(), Diagnostic> {
        self.open()?;
        if let State::Memory(bytes) = &mut self.state {
            return bytes.take(blocks);
        }
        let State::File { file, .. } = &self.state else { return Ok(()) };
        reserve(file, blocks.size()).map_err(|source| self.write_error(source))?;
        let write_error = |source| Diagnostic::from(self.write_error(source));
        let writer = Writer::new(file);
        if blocks.size() <= BUFFER_SIZE as u64 {
            // One call for a small file.
            let size = blocks.size() as usize;
            let mut buffer = writer.buffer(size).map_err(write_error)?;
            blocks.fill_all(&mut buffer[..size])?;
            return writer.write(Full { offset: 0, size, buffer }).map_err(write_error);
        }
        (0..blocks.len()).into_par_iter().try_for_each(|block| {
            let range = blocks.range(block);
            let size = (range.end - range.start) as usize;
            let mut buffer = writer.buffer(size).map_err(write_error)?;
            blocks.fill(block, &mut buffer[..size])?;
            writer.write(Full { offset: range.start, size, buffer }).map_err(write_error)
        })
    }
}

/// Writes blocks one at a time, as file systems do anyway: a thread that comes while another one
/// writes leaves its block to that one instead of waiting.
struct Writer<'f> {
    file: &'f File,
    state: Mutex<Writing>,
}

#[derive(Default)]
struct Writing {
    /// Unused buffers. Their pages are there already; new ones would have to be faulted in for
    /// every block.
    free: Vec<MmapMut>,
    /// Blocks for the active thread to write.
    waiting: Vec<Full>,
    /// Whether a thread is writing.
    active: bool,
}

/// A block to write.
struct Full {
    offset: u64,
    size: usize,
    buffer: MmapMut,
}

impl Full {
    /// Whether its buffer is too large to exist more often than once per thread.
    fn is_large(&self) -> bool {
        self.buffer.len() > KEPT
    }
}

/// How many blocks may be left to another thread. This many buffers are needed in addition to one
/// per thread.
const WAITING: usize = 2;

/// Larger buffers are freed as soon as they are written.
const KEPT: usize = 16 * BUFFER_SIZE;

impl<'f> Writer<'f> {
    fn new(file: &'f File) -> Self {
        Self { file, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, Writing> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer for a block; each thread has at most one.
    fn buffer(&self, size: usize) -> io::Result<MmapMut> {
        let mut state = self.state();
        if let Some(fits) = state.free.iter().rposition(|buffer| buffer.len() >= size) {
            return Ok(state.free.swap_remove(fits));
        }
        // A larger one takes the place of one that is too small.
        let small = state.free.pop();
        drop(state);
        drop(small);
        buffer_of(size.next_multiple_of(BUFFER_SIZE))
    }

    /// Writes a block, and those that others leave meanwhile.
    fn write(&self, block: Full) -> io::Result<()> {
        let mut state = self.state();
        if state.active && state.waiting.len() < WAITING && !block.is_large() {
            state.waiting.push(block);
            return Ok(());
        }
        let leads = !state.active;
        state.active = true;
        let mut next = Some(block);
        while let Some(full) = next {
            drop(state);
            let written = write_at(self.file, full.offset, &full.buffer[..full.size]);
            let kept = (!full.is_large()).then_some(full.buffer);
            state = self.state();
            state.free.extend(kept);
            written?;
            next = if leads { state.waiting.pop() } else { None };
        }
        if leads {
            state.active = false;
        }
        Ok(())
    }
}

impl From<WriteError> for Diagnostic {
    fn from(error: WriteError) -> Self {
        Diagnostic::fatal(error.code(), &error).note(error.reason())
    }
}

/// Memory for blocks of the file.
fn buffer_of(size: usize) -> io::Result<MmapMut> {
    MmapMut::map_anon(size.max(1))
}

/// Allocates disk space for the file, if the file system can do that: a full disk is detected
/// before anything is written, and ext4 has nothing left to do when the file replaces another
/// (otherwise it allocates all delayed blocks then and starts writeback: 22 ms for 30 MB).
#[cfg(target_os = "linux")]
fn reserve(file: &File, size: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> io::Result<()> {
    Ok(())
}

/// The most that is written with one call. Linux gets memory for all of it in one piece, if there is one. In a virtual machine
/// that returns free memory to its host, large pieces are those that it has returned: 100 MB took 40 to 118 ms in
/// calls of 256 KiB and more, and 11 ms in calls of 128 KiB (9 ms at best in larger ones).
#[cfg(unix)]
const PIECE: usize = 128 << 10;

#[cfg(unix)]
fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut at = offset;
    bytes.chunks(PIECE).try_for_each(|piece| {
        std::os::unix::fs::FileExt::write_all_at(file, piece, at)?;
        at += piece.len() as u64;
        Ok(())
    })
}

#[cfg(not(unix))]
fn write_at(mut file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    io::Seek::seek(&mut file, io::SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

/// A new file with a unique name in the directory of `path`.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".{}.{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        if temporary.symlink_metadata().is_ok() {
            continue;
        }
        // Register it before creating it: a signal may come right after.
        guard::remove_if_interrupted(&temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            result => return result.map(|file| (temporary, file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("o");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn keeps_links_and_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        write_atomically(&file, b"one").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        write_atomically(&link, b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o750);
    }

    #[test]
    fn says_what_cannot_be_opened() {
        let dir = tempfile::tempdir().unwrap();
        for path in [dir.path().to_owned(), dir.path().join("missing/o"), PathBuf::new()] {
            let error = write_atomically(&path, b"x").unwrap_err();
            assert_eq!(error.code(), Code::CannotOpenOutput, "{}", path.display());
            assert_eq!(
                error.to_string(),
                format!("Could not open output file '{}'", path.display())
            );
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_a_write_error() {
        let error = write_atomically(Path::new("/dev/full"), b"x").unwrap_err();
        assert_eq!(error.to_string(), "Could not write output file '/dev/full'");
        assert_eq!(error.code(), Code::WriteFailed);
    }
}
