//! Signals that end a link early. Accessing a mapped input that was truncated raises SIGBUS: the
//! link ends with the message prepared for the file. Neither that nor an interrupted link leaves a
//! temporary file or a compiler behind. Only the command installs the handlers; a library must not change its
//! process's signals.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use warpld_compilers::{Host, Interruptions};

/// A map, and the name to print if it breaks. Only signals tell that one does.
#[derive(Debug)]
#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) struct Watched {
    pub(crate) addresses: Range<usize>,
    pub(crate) name: Arc<str>,
}

/// Maps, with the text before and after the name of one that breaks. A link has thousands of them,
/// so the messages themselves are not prepared.
#[derive(Debug)]
#[cfg_attr(not(unix), allow(dead_code))]
struct Watch {
    maps: Vec<Watched>,
    before: String,
    after: String,
}

/// Watches these maps for the rest of the process; `message` is the one for a file named [`NAME`].
/// Only the first call has an effect.
pub(crate) fn watch(maps: Vec<Watched>, message: &str) {
    let (before, after) = message.split_once(NAME).unwrap_or((message, ""));
    let watch = Watch { maps, before: before.to_owned(), after: after.to_owned() };
    if WATCHED.set(watch).is_ok() {
        signals::handle(&[signals::BUS_ERROR]);
    }
}

/// Removes this file if a signal ends the process. Only the first call has an effect: the output is
/// the first file created, and the only large one.
pub(crate) fn remove_if_interrupted(temporary: &Path) {
    if signals::remember(temporary) {
        signals::handle(&signals::INTERRUPTIONS);
    }
}

/// While one exists, an interruption is only remembered: who runs other programs ends them first,
/// and removes their files. The last one that is dropped lets the interruption through. A second
/// interruption is never held up.
#[derive(Debug)]
struct Deferral(());

impl Deferral {
    fn new() -> Self {
        DEFERRALS.fetch_add(1, Ordering::SeqCst);
        signals::handle(&signals::INTERRUPTIONS);
        Self(())
    }
}

impl Drop for Deferral {
    fn drop(&mut self) {
        if DEFERRALS.fetch_sub(1, Ordering::SeqCst) == 1 && is_interrupted() {
            signals::raise(PENDING.load(Ordering::SeqCst));
        }
    }
}

/// Whether a signal that is to end the process is waiting.
fn is_interrupted() -> bool {
    PENDING.load(Ordering::SeqCst) != 0
}

/// This process, for those who run compilers: their folders and they themselves are gone before it
/// is.
pub(crate) fn host() -> Host {
    Host { interruptions: &Signals, ..Host::default() }
}

#[derive(Debug)]
struct Signals;

impl Interruptions for Signals {
    fn defer(&self) -> warpld_compilers::Deferral {
        Box::new(Deferral::new())
    }

    fn is_interrupted(&self) -> bool {
        is_interrupted()
    }
}

/// How many want interruptions deferred.
static DEFERRALS: AtomicUsize = AtomicUsize::new(0);

/// The signal that was deferred, or 0.
static PENDING: AtomicI32 = AtomicI32::new(0);

/// Placeholder for a file's name in a message.
pub(crate) const NAME: &str = "{name}";

static WATCHED: OnceLock<Watch> = OnceLock::new();

#[cfg(unix)]
#[allow(unsafe_code)]
mod signals {
    use super::{DEFERRALS, PENDING, WATCHED, Watched};
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::sync::OnceLock;
    use std::sync::atomic::Ordering;

    pub(super) const BUS_ERROR: i32 = libc::SIGBUS;
    /// SIGABRT is how a process ends that has no memory left, and a released one that panics.
    pub(super) const INTERRUPTIONS: [i32; 5] =
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ, libc::SIGABRT];

    /// The exit status of a link that could not be carried out.
    const FATAL_STATUS: i32 = 1;

    static TEMPORARY: OnceLock<CString> = OnceLock::new();

    pub(super) fn remember(temporary: &Path) -> bool {
        let name = CString::new(temporary.as_os_str().as_bytes());
        name.is_ok_and(|name| TEMPORARY.set(name).is_ok())
    }

    /// Installs the handler for these signals, unless they are ignored.
    pub(super) fn handle(signals: &[i32]) {
        for &signal in signals {
            // SAFETY: all fields of a sigaction may be zero, and the structures
            // outlive the calls. The handler makes only calls that are allowed
            // in handlers, and reads only what was set before it was installed.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let known = libc::sigaction(signal, std::ptr::null(), &mut action) == 0;
                if known && action.sa_sigaction != libc::SIG_IGN {
                    action.sa_sigaction = on_signal as *const () as usize;
                    action.sa_flags = libc::SA_SIGINFO;
                    libc::sigaction(signal, &action, std::ptr::null_mut());
                }
            }
        }
    }

    /// Sends a signal to this thread.
    pub(super) fn raise(signal: i32) {
        // SAFETY: takes any number.
        unsafe {
            libc::raise(signal);
        }
    }

    extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // The call that would exceed the limit fails after this, and says so.
        if signal == libc::SIGXFSZ {
            return;
        }
        let must_end = matches!(signal, BUS_ERROR | libc::SIGABRT);
        let may_wait = !must_end && DEFERRALS.load(Ordering::SeqCst) > 0;
        if may_wait && PENDING.swap(signal, Ordering::SeqCst) == 0 {
            return;
        }
        // SAFETY: with SA_SIGINFO the system passes a valid siginfo. All calls
        // are allowed in handlers; name and message outlive the process.
        unsafe {
            if let Some(temporary) = TEMPORARY.get() {
                libc::unlink(temporary.as_ptr());
            }
            let at = (*info).si_addr() as usize;
            let is_there = |map: &&Watched| map.addresses.contains(&at);
            if let Some(watch) = WATCHED.get().filter(|_| signal == BUS_ERROR)
                && let Some(map) = watch.maps.iter().find(is_there)
            {
                for text in [&*watch.before, &*map.name, &*watch.after] {
                    libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
                }
                libc::_exit(FATAL_STATUS);
            }
            // Continue as if there were no handler.
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

#[cfg(not(unix))]
mod signals {
    pub(super) const BUS_ERROR: i32 = 0;
    pub(super) const INTERRUPTIONS: [i32; 0] = [];
    pub(super) fn remember(_: &std::path::Path) -> bool {
        false
    }
    pub(super) fn handle(_: &[i32]) {}
    pub(super) fn raise(_: i32) {}
}
