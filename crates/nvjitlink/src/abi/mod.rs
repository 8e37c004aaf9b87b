//! The boundary to C: the only place where pointers of callers are followed.
//!
//! Every function checks the pointers it gets for NULL, copies what they point to, and comes to a
//! result whatever happens: a panic becomes [`Code::Internal`]. What cannot be checked, whether a pointer that is
//! not NULL points to what the caller says, is the caller's promise.
#![allow(unsafe_code)]

mod exports;

pub use exports::{FUNCTIONS, MAJORS, MajorRelease, aliases, names, version_script};

use crate::result::{Code, Major};
use crate::session::{Product, Session};
use crate::{forward, handles};
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

/// What callers hold: the number of a link, NULL for none.
pub type Handle = *mut c_void;

/// Runs a call, and makes a number of what it comes to.
fn call(major: Major, work: impl FnOnce() -> Result<(), Code>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Code::Internal));
    result.err().unwrap_or(Code::Success).number(major)
}

/// Runs a call on a link.
fn with<T>(handle: Handle, work: impl FnOnce(&mut Session) -> T) -> Result<T, Code> {
    if handle.is_null() {
        return Err(Code::NullInput);
    }
    let session = handles::get(handle.addr()).ok_or(Code::InvalidInput)?;
    // After a panic in a link, the link can still be asked for what it has.
    let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(work(&mut session))
}

fn done(code: Code) -> Result<(), Code> {
    if code == Code::Success { Ok(()) } else { Err(code) }
}

/// The most options that a link has. Callers that pass more pass something else.
const MAX_OPTIONS: u32 = 1 << 20;

/// # Safety
/// `options` points to `count` strings, `out` to room for a handle, or they are NULL.
unsafe fn create(
    major: Major,
    out: *mut Handle,
    count: u32,
    options: *const *const c_char,
) -> c_int {
    call(major, || {
        if out.is_null() || options.is_null() {
            return Err(Code::NullInput);
        }
        if count > MAX_OPTIONS {
            return Err(Code::InvalidInput);
        }
        let mut texts: Vec<CString> = Vec::new();
        for at in 0..count as usize {
            // SAFETY: there are `count` pointers.
            let text = unsafe { options.add(at).read() };
            // SAFETY: it is NULL or a string.
            texts.push(unsafe { string(text) }.ok_or(Code::NullInput)?.to_owned());
        }
        let (session, code) = Session::new(major, texts);
        let handle = handles::insert(session).ok_or(Code::Internal)?;
        // SAFETY: it is not NULL, so there is room for a handle.
        unsafe { out.write(std::ptr::without_provenance_mut(handle)) };
        done(code)
    })
}

/// # Safety
/// `handle` points to a handle, or is NULL.
unsafe fn destroy(major: Major, handle: *mut Handle) -> c_int {
    call(major, || {
        if handle.is_null() {
            return Err(Code::NullInput);
        }
        // SAFETY: it is not NULL, so there is a handle.
        let value = unsafe { handle.read() };
        if value.is_null() {
            return Err(Code::NullInput);
        }
        // SAFETY: as above.
        unsafe { handle.write(std::ptr::null_mut()) };
        if handles::remove(value.addr()) { Ok(()) } else { Err(Code::InvalidInput) }
    })
}

/// # Safety
/// `data` points to `size` bytes, `name` to a string, or they are NULL.
unsafe fn add_data(
    major: Major,
    handle: Handle,
    kind: c_int,
    data: *const c_void,
    size: usize,
    name: *const c_char,
) -> c_int {
    call(major, || {
        with(handle, |session| {
            let data: &[u8] = match size {
                0 => &[],
                _ if data.is_null() || isize::try_from(size).is_err() => {
                    return Err(Code::InvalidInput);
                }
                // SAFETY: there are `size` bytes, which nobody changes during the call.
                _ => unsafe { std::slice::from_raw_parts(data.cast(), size) },
            };
            // SAFETY: it is NULL or a string.
            done(session.add(kind, data, unsafe { string(name) }))
        })?
    })
}

/// # Safety
/// `path` points to a string, or is NULL.
unsafe fn add_file(major: Major, handle: Handle, kind: c_int, path: *const c_char) -> c_int {
    call(major, || {
        with(handle, |session| {
            // SAFETY: it is NULL or a string.
            let path = unsafe { string(path) }.ok_or(Code::NullInput)?;
            done(session.add_file(kind, path))
        })?
    })
}

/// # Safety
/// None is asked for: handles are looked up.
unsafe fn complete(major: Major, handle: Handle) -> c_int {
    call(major, || done(with(handle, Session::complete)?))
}

/// # Safety
/// `size` points to room for a size, or is NULL.
unsafe fn size(major: Major, product: Product, handle: Handle, size: *mut usize) -> c_int {
    call(major, || {
        with(handle, |session| {
            if size.is_null() {
                return Err(Code::NullInput);
            }
            let value = session.get(product)?.len();
            // SAFETY: it is not NULL, so there is room.
            unsafe { size.write(value) };
            Ok(())
        })?
    })
}

/// # Safety
/// `out` points to room for as many bytes as [`size`] says, or is NULL.
unsafe fn get(major: Major, product: Product, handle: Handle, out: *mut c_void) -> c_int {
    call(major, || {
        with(handle, |session| {
            if out.is_null() {
                return Err(Code::NullInput);
            }
            let bytes = session.get(product)?;
            // SAFETY: there is room for these bytes, and they are not ours.
            unsafe { out.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
            Ok(())
        })?
    })
}

/// # Safety
/// Both point to room for a number, or are NULL.
unsafe fn version(major: Major, first: *mut c_uint, second: *mut c_uint) -> c_int {
    call(major, || {
        if first.is_null() || second.is_null() {
            return Err(Code::NullInput);
        }
        let (a, b) = forward::version(major);
        // SAFETY: neither is NULL, so there is room.
        unsafe {
            first.write(a);
            second.write(b);
        }
        Ok(())
    })
}

/// The string at `text`, if that is not NULL.
///
/// # Safety
/// It points to a string that stays as it is while it is borrowed, or is NULL.
unsafe fn string<'s>(text: *const c_char) -> Option<&'s CStr> {
    // SAFETY: it is not NULL, so it is a string.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}
