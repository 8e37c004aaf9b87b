//! Small files that are read as a whole: options files, lists, indices. Never a pipe without a
//! writer, a device or a file without end.

use fatbin::Content;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No options file, index or list is larger.
const MOST: u64 = 1 << 30;

/// So much of a stream tells what it is.
const HEAD: u64 = 64 << 10;

/// Opens a file to read without waiting for anybody: a FIFO without a writer would never open. A
/// terminal does not become the one of this process.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
    }
    #[cfg(not(unix))]
    File::open(path)
}

/// Why something that is neither a file nor a link to one is refused.
pub(crate) fn not_a_file() -> io::Error {
    io::Error::other("Not a regular file")
}

/// Why a folder is refused, in the words that the system has for it.
pub(crate) fn is_a_folder() -> io::Error {
    io::Error::other("Is a directory")
}

/// Reads a file as a whole. A pipe that the shell has opened (`<(command)`) is read to its end.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MOST)
}

fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = if is_descriptor(path) { File::open(path)? } else { open(path)? };
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(is_a_folder());
    }
    let is_open_pipe = is_descriptor(path) && is_pipe(&metadata);
    if !metadata.is_file() && !is_open_pipe {
        return Err(not_a_file());
    }
    match metadata.len() > most {
        true => Err(too_large(most)),
        false => to_end(file, most),
    }
}

/// Reads a file, or a pipe that somebody writes to, as a whole.
pub(crate) fn read_or_wait(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() || is_pipe(&metadata) {
        true => to_end(file, MOST),
        false => Err(not_a_file()),
    }
}

/// Reads a stream that is expected to end. If it does not begin like device code, or a container of
/// it, only the beginning is read.
pub(crate) fn read_to_end(mut stream: impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    stream.by_ref().take(HEAD).read_to_end(&mut head)?;
    if Content::of(&head) == Content::Unknown {
        return Ok(head);
    }
    to_end(head.as_slice().chain(stream), MOST)
}

fn to_end(stream: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn too_large(most: u64) -> io::Error {
    io::Error::other(format!("it has more than {most} bytes"))
}

/// Whether a name stands for a file that the process was given open.
fn is_descriptor(path: &Path) -> bool {
    path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
        || path == Path::new("/dev/stdin")
}

#[cfg(unix)]
fn is_pipe(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    metadata.file_type().is_fifo()
}

#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn devices_folders_and_large_files_are_refused() {
        for path in ["/dev/zero", "/dev/null", "/"] {
            assert!(read(Path::new(path)).is_err(), "{path}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        let error = read_at_most(&path, 4).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 4 bytes");
    }
}
