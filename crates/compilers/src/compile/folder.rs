//! A temporary folder for one run of a tool.

use crate::host::{Deferral, Host};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io, process};

/// An empty folder that only this user can read. It vanishes when dropped, and an interruption of
/// the process waits until then.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Dropped after the folder is gone.
    _deferral: Deferral,
}

impl Folder {
    /// Makes one.
    pub fn new(host: &Host) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let deferral = host.interruptions.defer();
        let parent = std::path::absolute(&host.temporary)?;
        loop {
            // Ids of processes are used again, and not every process gets to remove its folders.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("warpld-{}-{number}-{:08x}", process::id(), now.subsec_nanos());
            let path = parent.join(name);
            match create(&path) {
                Ok(()) => return Ok(Self { path, _deferral: deferral }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files left in the temporary directory do no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(unix)]
fn create(path: &Path) -> io::Result<()> {
    std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(path)
}

#[cfg(not(unix))]
fn create(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}
