//! How many programs run at once: the requested number, what a GNU make jobserver grants, or one
//! per processor.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// How many compilers may run at once. A link of few small files has only one thread, but its
/// compilers still get a processor each.
#[derive(Debug)]
pub struct Slots {
    /// As many run without a token: the link holds tokens for them, or there is no jobserver.
    granted: usize,
    /// The most that run.
    most: usize,
    server: Option<Jobserver>,
}

/// No more compilers run at once, whatever was asked for.
const MOST: usize = 256;

impl Slots {
    /// For a link whose threads have been started.
    pub fn new(asked: usize) -> Self {
        if asked > 0 {
            let asked = asked.min(MOST);
            return Self { granted: asked, most: asked, server: None };
        }
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
        match Jobserver::current() {
            Some(server) => {
                // The link's own threads have nothing to do meanwhile.
                let granted = rayon::current_num_threads().min(processors);
                Self { granted, most: processors, server: Some(server) }
            }
            None => Self { granted: processors, most: processors, server: None },
        }
    }

    /// How many workers to start for `count` tasks.
    pub fn workers(&self, count: usize) -> usize {
        self.most.min(count).max(1)
    }

    /// What a worker holds while it carries out one task, if it may do so now.
    pub fn take(&self, worker: usize) -> Option<Tokens> {
        match &self.server {
            Some(server) if worker >= self.granted => {
                Some(server.take(1)).filter(|tokens| !tokens.held.is_empty())
            }
            _ => Some(Tokens::default()),
        }
    }
}

/// A jobserver as `MAKEFLAGS` names it.
#[derive(Debug, PartialEq, Eq)]
pub struct Jobserver {
    read: PathBuf,
    write: PathBuf,
}

impl Jobserver {
    /// The one of this process.
    pub fn current() -> Option<Self> {
        Self::find(&std::env::var("MAKEFLAGS").ok()?)
    }

    fn find(flags: &str) -> Option<Self> {
        let value = flags.split_ascii_whitespace().rev().find_map(|word| {
            word.strip_prefix("--jobserver-auth=").or(word.strip_prefix("--jobserver-fds="))
        })?;
        if let Some(path) = value.strip_prefix("fifo:") {
            return Some(Self { read: path.into(), write: path.into() });
        }
        let (read, write) = value.split_once(',')?;
        let file = |number: &str| {
            let number: u32 = number.parse().ok()?;
            Some(PathBuf::from(format!("/proc/self/fd/{number}")))
        };
        Some(Self { read: file(read)?, write: file(write)? })
    }

    /// Takes up to `most` tokens, as many as are available now.
    pub fn take(&self, most: usize) -> Tokens {
        let (Some(mut read), Some(write)) = (pipe(&self.read, false), pipe(&self.write, true))
        else {
            return Tokens::default();
        };
        let mut held = Vec::new();
        let mut token = [0];
        while held.len() < most && matches!(read.read(&mut token), Ok(1)) {
            held.push(token[0]);
        }
        Tokens { held, back: Some(write) }
    }
}

/// Reopens a pipe, so that O_NONBLOCK affects only this process. Make closes its descriptors for
/// commands that it does not take for makes, and then the number may refer to any file.
#[cfg(unix)]
fn pipe(path: &Path, write: bool) -> Option<File> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    const O_NONBLOCK: i32 = if cfg!(target_os = "macos") { 4 } else { 0o4000 };
    let is_pipe = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo());
    let mut options = std::fs::OpenOptions::new();
    options.read(!write).write(write).custom_flags(O_NONBLOCK);
    is_pipe.then(|| options.open(path).ok()).flatten()
}

#[cfg(not(unix))]
fn pipe(_: &Path, _: bool) -> Option<File> {
    None
}

/// Tokens of a jobserver, returned when dropped.
#[derive(Debug, Default)]
pub struct Tokens {
    held: Vec<u8>,
    back: Option<File>,
}

impl Tokens {
    /// How many.
    pub fn count(&self) -> usize {
        self.held.len()
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        if let Some(back) = &mut self.back {
            // Nothing can be done if make is gone.
            let _ = back.write_all(&self.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makeflags_name_a_pipe_or_descriptors() {
        let fifo = Jobserver::find(" -j8 --jobserver-auth=fifo:/tmp/x").unwrap();
        assert_eq!(fifo.read, Path::new("/tmp/x"));
        let pair = Jobserver::find("w --jobserver-fds=3,4 -j").unwrap();
        assert_eq!(pair.read, Path::new("/proc/self/fd/3"));
        assert_eq!(pair.write, Path::new("/proc/self/fd/4"));
        for flags in ["", "-j8", "--jobserver-auth=", "--jobserver-auth=-2,-2"] {
            assert_eq!(Jobserver::find(flags), None, "{flags}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_worker_beyond_those_granted_needs_a_token() {
        use std::os::fd::AsRawFd;
        let (read, mut write) = std::io::pipe().unwrap();
        write.write_all(b"a").unwrap();
        let flags = format!("--jobserver-auth={},{}", read.as_raw_fd(), write.as_raw_fd());
        let slots = Slots { granted: 2, most: 4, server: Jobserver::find(&flags) };
        assert_eq!([1, 3, 9].map(|count| slots.workers(count)), [1, 3, 4]);
        assert!(slots.take(0).is_some() && slots.take(1).is_some());
        let token = slots.take(2).unwrap();
        assert_eq!(token.held, b"a");
        assert!(slots.take(3).is_none());
        drop(token);
        assert!(slots.take(3).is_some());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn tokens_are_taken_and_given_back() {
        use std::os::fd::AsRawFd;
        let (mut read, mut write) = std::io::pipe().unwrap();
        write.write_all(b"abc").unwrap();
        let flags = format!("--jobserver-auth={},{}", read.as_raw_fd(), write.as_raw_fd());
        let server = Jobserver::find(&flags).unwrap();
        let (two, rest) = (server.take(2), server.take(9));
        assert_eq!((two.held.len(), rest.held.len()), (2, 1));
        assert_eq!(server.take(1).held.len(), 0);
        drop((two, rest));
        drop(write);
        let mut back = Vec::new();
        read.read_to_end(&mut back).unwrap();
        back.sort_unstable();
        assert_eq!(back, b"abc");
    }
}
