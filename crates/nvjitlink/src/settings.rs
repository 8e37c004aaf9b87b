//! What the environment sets.

use libwarpld::Release;
use std::env;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;

/// Whether second definitions make a link fail.
pub(crate) fn is_strict() -> bool {
    is_on("WARPLD_NVJITLINK_STRICT")
}

/// Whether messages have notes under them.
pub(crate) fn wants_notes() -> bool {
    is_on("WARPLD_NVJITLINK_NOTES")
}

/// The release that all links stand for, and that `nvJitLinkVersion` names. One that is not known is no
/// setting.
pub(crate) fn release() -> Option<&'static Release> {
    Release::named(env::var("WARPLD_NVJITLINK_RELEASE").ok()?.as_str())
}

fn is_on(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Writes a line where `WARPLD_TRACE` says: a file to append to, or standard error for `1`.
pub(crate) fn trace(line: impl FnOnce() -> String) {
    let Some(place) = env::var_os("WARPLD_TRACE").filter(|place| !place.is_empty()) else { return };
    let line = format!("warpld nvJitLink: {}\n", line());
    // There is no one to tell that the trace cannot be written.
    let _ = match place.as_os_str() {
        off if off == OsStr::new("0") => Ok(()),
        stderr if stderr == OsStr::new("1") => std::io::stderr().write_all(line.as_bytes()),
        path => OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes())),
    };
}
