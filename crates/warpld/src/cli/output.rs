//! Files that appear all at once or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use thiserror::Error;

/// A file that could not be written. The texts are nvlink's.
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
    #[error("Internal error: writing file")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl WriteError {
    /// The stable code of the message.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Open { .. } => "cannot-open-output",
            Self::Write { .. } => "write-failed",
        }
    }
    /// What the system said.
    pub fn reason(&self) -> String {
        match self {
            Self::Open { source, .. } => source.to_string(),
            Self::Write { path, source } => format!("{}: {source}", path.display()),
        }
    }
}

/// Writes `bytes` to `path` so that others see the old file or the whole new
/// one. Devices and pipes are written to directly, and so is a file whose
/// directory allows no new files.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let open = |source| WriteError::Open { path: path.to_owned(), source };
    let write = |source| WriteError::Write { path: path.to_owned(), source };
    // Through a symbolic link the file behind it is replaced, not the link.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let permissions = match fs::metadata(&real) {
        Ok(meta) if !meta.is_file() => {
            let mut file = OpenOptions::new().write(true).open(&real).map_err(open)?;
            return file.write_all(bytes).map_err(write);
        }
        Ok(meta) => {
            OpenOptions::new().write(true).open(&real).map_err(open)?;
            Some(meta.permissions())
        }
        Err(_) => None,
    };
    let (temporary, mut file) = match create_beside(&real) {
        Ok(created) => created,
        Err(_) if permissions.is_some() => return fs::write(&real, bytes).map_err(write),
        Err(error) => return Err(open(error)),
    };
    let written = file
        .write_all(bytes)
        .and_then(|()| permissions.map_or(Ok(()), |p| file.set_permissions(p)))
        .and_then(|()| fs::rename(&temporary, &real));
    written.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        write(source)
    })
}

/// A new file with a name nobody else uses, in the directory of `path`.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".{}.{number}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            result => return result.map(|file| (temporary, file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("warpld-output-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn replaces_and_leaves_nothing_else() {
        let dir = folder("replace");
        let path = dir.join("o");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn keeps_links_and_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let dir = folder("links");
        let (file, link) = (dir.join("file"), dir.join("link"));
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
        let dir = folder("open");
        for path in [dir.clone(), dir.join("missing/o"), PathBuf::new()] {
            let error = write_atomically(&path, b"x").unwrap_err();
            assert_eq!(error.code(), "cannot-open-output", "{}", path.display());
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
        assert_eq!(error.to_string(), "Internal error: writing file");
    }
}
