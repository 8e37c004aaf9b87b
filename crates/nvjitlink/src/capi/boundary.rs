//! The functions of `warpld.h`. All that is unsafe in this interface is here: each pointer is checked, and a panic
//! becomes a result.

use super::session::{Session, Text};
use super::{Refused, Status};
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;

/// The version of the interface. A function that is added does not change it.
const API_VERSION: u32 = 1;

/// Calls `work` with the session; what it says if it fails is kept for `warpld_error`.
///
/// # Safety
/// `session` is NULL or a live session that no other thread uses now.
unsafe fn with(
    session: *mut Session,
    work: impl FnOnce(&mut Session) -> Result<(), Refused>,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(session) = (unsafe { session.as_mut() }) else {
        return Status::InvalidArgument as c_int;
    };
    let result = catch_unwind(AssertUnwindSafe(|| work(session)));
    let (status, message) = match result {
        Ok(Ok(())) => return Status::Success as c_int,
        Ok(Err(refused)) => refused,
        Err(_) => (Status::Internal, "a defect of warpld; please report it with the inputs".into()),
    };
    session.fail(message);
    status as c_int
}

fn invalid(what: &str) -> Refused {
    (Status::InvalidArgument, format!("{what} is NULL"))
}

/// # Safety
/// `text` is NULL or a string with a closing NUL that lives as long as the result is used.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Refused> {
    if text.is_null() {
        return Err(invalid(what));
    }
    // SAFETY: not NULL, and the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| (Status::InvalidArgument, format!("{what} is not UTF-8")))
}

/// # Safety
/// `data` is NULL or has `size` bytes that live as long as the result is used.
unsafe fn bytes<'a>(data: *const c_void, size: usize) -> Result<&'a [u8], Refused> {
    if size == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(invalid("data"));
    }
    if size > isize::MAX as usize {
        return Err((Status::InvalidArgument, "size is out of range".into()));
    }
    // SAFETY: not NULL, not too large, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), size) })
}

/// Puts a text about the last link where `out` points to.
///
/// # Safety
/// As [`with`]; `out` is NULL or can be written to.
unsafe fn give(
    session: *mut Session,
    out: *mut *const c_char,
    make: impl FnOnce(&mut Session) -> Result<&CStr, Refused>,
) -> c_int {
    let give = |session: &mut Session| {
        if out.is_null() {
            return Err(invalid("the place for the text"));
        }
        // SAFETY: not NULL, and the caller's promise.
        unsafe { out.write(ptr::null()) };
        let text = make(session)?.as_ptr();
        // SAFETY: as before.
        unsafe { out.write(text) };
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(session, give) }
}

/// The version of this interface.
#[unsafe(no_mangle)]
pub extern "C" fn warpld_api_version() -> u32 {
    API_VERSION
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn warpld_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a result.
#[unsafe(no_mangle)]
pub extern "C" fn warpld_result_name(result: c_int) -> *const c_char {
    let known = Status::ALL.iter().find(|status| **status as c_int == result);
    known.map_or(c"unknown result", |status| status.name()).as_ptr()
}

/// A new session.
///
/// # Safety
/// `out` is NULL or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_create(out: *mut *mut Session) -> c_int {
    if out.is_null() {
        return Status::InvalidArgument as c_int;
    }
    let session = catch_unwind(|| Box::into_raw(Box::<Session>::default()));
    // SAFETY: not NULL, and the caller's promise.
    unsafe { out.write(session.as_ref().copied().unwrap_or(ptr::null_mut())) };
    if session.is_ok() { Status::Success as c_int } else { Status::Internal as c_int }
}

/// Frees a session and all that it gave out.
///
/// # Safety
/// `session` is NULL or a live session that no thread uses now or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_destroy(session: *mut Session) {
    if session.is_null() {
        return;
    }
    let free = || {
        // SAFETY: `warpld_create` made it, and the caller's promise.
        drop(unsafe { Box::from_raw(session) });
    };
    // Nothing is left to be said to.
    let _ = catch_unwind(AssertUnwindSafe(free));
}

/// What the last failed call says.
///
/// # Safety
/// `session` is NULL or a live session that no other thread uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_error(session: *const Session) -> *const c_char {
    // SAFETY: the caller's promise.
    let session = unsafe { session.as_ref() };
    session.map_or(c"session is NULL", Session::error).as_ptr()
}

/// Changes a setting.
///
/// # Safety
/// As [`with`]; the texts are NULL or have a closing NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_set(
    session: *mut Session,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    let set = |session: &mut Session| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "name") }?;
        let value = match value.is_null() {
            true => None,
            // SAFETY: the caller's promise.
            false => Some(unsafe { text(value, "value") }?),
        };
        session.set(name, value)
    };
    // SAFETY: the caller's promise.
    unsafe { with(session, set) }
}

/// Adds an input.
///
/// # Safety
/// As [`with`]; `name` is NULL or has a closing NUL; `data` has `size` bytes or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_add(
    session: *mut Session,
    name: *const c_char,
    data: *const c_void,
    size: usize,
) -> c_int {
    let add = |session: &mut Session| {
        // SAFETY: the caller's promise.
        let (name, data) = unsafe { (text(name, "name")?, bytes(data, size)?) };
        session.add(name, data.to_vec());
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(session, add) }
}

/// Adds a file.
///
/// # Safety
/// As [`with`]; `path` is NULL or has a closing NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_add_file(session: *mut Session, path: *const c_char) -> c_int {
    let add = |session: &mut Session| {
        if path.is_null() {
            return Err(invalid("path"));
        }
        // SAFETY: not NULL, and the caller's promise. Paths need not be UTF-8.
        let path = unsafe { CStr::from_ptr(path) };
        session.add_file(Path::new(OsStr::from_bytes(path.to_bytes())))
    };
    // SAFETY: the caller's promise.
    unsafe { with(session, add) }
}

/// Forgets inputs and results.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_clear(session: *mut Session) -> c_int {
    let clear = |session: &mut Session| {
        session.clear();
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(session, clear) }
}

/// Links the inputs.
///
/// # Safety
/// As [`with`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_link(session: *mut Session) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { with(session, Session::link) }
}

/// The output of the last link.
///
/// # Safety
/// As [`with`]; `data` and `size` are NULL or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_cubin(
    session: *mut Session,
    data: *mut *const c_void,
    size: *mut usize,
) -> c_int {
    let give = |session: &mut Session| {
        if data.is_null() || size.is_null() {
            return Err(invalid("the place for data or size"));
        }
        // SAFETY: not NULL, and the caller's promise.
        unsafe { (data.write(ptr::null()), size.write(0)) };
        let cubin = session.cubin()?;
        // SAFETY: as before.
        unsafe { (data.write(cubin.as_ptr().cast()), size.write(cubin.len())) };
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { with(session, give) }
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident => $text:expr;)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        /// As [`with`]; `out` is NULL or can be written to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(session: *mut Session, out: *mut *const c_char) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { give(session, out, |session| session.text($text)) }
        })*
    };
}

texts! {
    /// The messages of the last link, as JSON.
    warpld_diagnostics => Text::Diagnostics;
    /// The report of the last link, as JSON.
    warpld_report => Text::Report;
    /// The map of the last link.
    warpld_map => Text::Map;
    /// What the kernels of the last link need.
    warpld_resources => Text::Resources;
}

/// Why a symbol is in the output.
///
/// # Safety
/// As [`with`]; `symbol` is NULL or has a closing NUL; `out` is NULL or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_why_live(
    session: *mut Session,
    symbol: *const c_char,
    out: *mut *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        give(session, out, |session| session.text(Text::WhyLive(text(symbol, "symbol")?.into())))
    }
}

/// Why a symbol is not in the output.
///
/// # Safety
/// As [`with`]; `symbol` is NULL or has a closing NUL; `out` is NULL or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_why_dead(
    session: *mut Session,
    symbol: *const c_char,
    out: *mut *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        give(session, out, |session| session.text(Text::WhyDead(text(symbol, "symbol")?.into())))
    }
}

/// The dump of a device ELF, as JSON.
///
/// # Safety
/// As [`with`]; `name` is NULL or has a closing NUL; `data` has `size` bytes or is NULL; `out` is NULL or can be
/// written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpld_dump(
    session: *mut Session,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    out: *mut *const c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let (name, data) = unsafe { (text(name, "name"), bytes(data, size)) };
    // SAFETY: the caller's promise.
    unsafe { give(session, out, |session| session.dump(name?, data?)) }
}
