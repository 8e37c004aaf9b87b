//! Loads NVIDIA's library and calls it. This is the boundary: every call that is unsafe is here.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io, mem, ptr};

/// Tells warpld's own libnvJitLink from NVIDIA's, whatever its file is called: shared libraries
/// that are made of this crate export it.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static warpld_nvjitlink_version: [c_uint; 2] = [0, 1];

/// Its name.
const MARKER: &CStr = c"warpld_nvjitlink_version";

/// What a library reports for a call with a null pointer.
const NULL_INPUT: c_int = 10;

/// What a library reports for a function that it does not have.
const INTERNAL: c_int = 6;

/// A link, as the library names it; null if there is none.
#[derive(Debug)]
pub(super) struct RawHandle(*mut c_void);

// SAFETY: the library keeps nothing per thread: 500 links each on 4 threads had the right bytes. The
// pointer is followed by the library alone, and calls that change a link take it exclusively.
unsafe impl Send for RawHandle {}

type CreateFn = unsafe extern "C" fn(*mut *mut c_void, u32, *const *const c_char) -> c_int;
type DestroyFn = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type AddDataFn =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_void, usize, *const c_char) -> c_int;
type AddFileFn = unsafe extern "C" fn(*mut c_void, c_int, *const c_char) -> c_int;
type CompleteFn = unsafe extern "C" fn(*mut c_void) -> c_int;
type SizeFn = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type BytesFn = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type VersionFn = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int;

/// What a link has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Cubin,
    Ptx,
    LtoIr,
    ErrorLog,
    InfoLog,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Its name cannot be passed on.
    #[error("its name holds a NUL")]
    Name,
    /// It is the library that is looking.
    #[error("it is warpld's own library")]
    Itself,
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It cannot be loaded.
    #[error("{0}")]
    Load(String),
    /// It lacks a function.
    #[error("it has no function {0}")]
    Lacks(String),
}

/// The functions of a library that was loaded. It stays loaded until the process ends: it has
/// threads and state of its own.
#[derive(Clone, Debug)]
pub struct Library {
    path: PathBuf,
    version: (u32, u32),
    create: CreateFn,
    destroy: DestroyFn,
    add_data: AddDataFn,
    add_file: AddFileFn,
    complete: CompleteFn,
    cubin: (SizeFn, BytesFn),
    ptx: (SizeFn, BytesFn),
    /// Since CUDA 13.2.
    lto_ir: Option<(SizeFn, BytesFn)>,
    error_log: (SizeFn, BytesFn),
    info_log: (SizeFn, BytesFn),
}

impl Library {
    /// Loads a library by its path. Its symbols are not visible to anybody else. Libraries made of
    /// this crate are refused.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let path = std::path::absolute(path)?;
        if this_file().is_some_and(|this| is_same(&this, &path)) {
            return Err(OpenError::Itself);
        }
        let loaded = Loaded::open(&path)?;
        match loaded.symbol(MARKER) {
            Some(_) => Err(OpenError::Itself),
            None => Self::of(loaded, path),
        }
    }

    /// Loads any library, one made of this crate too: for comparisons.
    #[doc(hidden)]
    pub fn open_any(path: &Path) -> Result<Self, OpenError> {
        let path = std::path::absolute(path)?;
        Self::of(Loaded::open(&path)?, path)
    }

    fn of(loaded: Loaded, path: PathBuf) -> Result<Self, OpenError> {
        let version = loaded.version(&path);
        let library = loaded.functions(path, version)?;
        loaded.keep();
        Ok(library)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its major and minor release.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// A new link. It may be null, and need not be if the result is a failure.
    pub(super) fn create(&self, options: &[CString]) -> (RawHandle, c_int) {
        let pointers: Vec<*const c_char> = options.iter().map(|text| text.as_ptr()).collect();
        let Ok(count) = u32::try_from(pointers.len()) else {
            return (RawHandle(ptr::null_mut()), INTERNAL);
        };
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` outlives the call, and `pointers` has `count` texts, each closed by a
        // NUL, which outlive it too.
        let result = unsafe { (self.create)(&mut handle, count, pointers.as_ptr()) };
        (RawHandle(handle), result)
    }

    /// Ends a link; after that it is null.
    pub(super) fn destroy(&self, handle: &mut RawHandle) {
        if !handle.0.is_null() {
            // SAFETY: the link exists, and nobody can name it after this call.
            unsafe { (self.destroy)(&mut handle.0) };
            handle.0 = ptr::null_mut();
        }
    }

    /// Adds an input. The library reads `name` again until the link is ended: the caller keeps it.
    pub(super) fn add_data(
        &self,
        handle: &mut RawHandle,
        kind: c_int,
        data: &[u8],
        name: Option<&CStr>,
    ) -> c_int {
        if handle.0.is_null() {
            return NULL_INPUT;
        }
        let name = name.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: the link exists; `data` is as long as said and outlives the call, which copies
        // it; `name` is null or outlives the link.
        unsafe { (self.add_data)(handle.0, kind, data.as_ptr().cast(), data.len(), name) }
    }

    /// Adds a file. The library reads `path` again until the link is ended: the caller keeps it.
    pub(super) fn add_file(&self, handle: &mut RawHandle, kind: c_int, path: &CStr) -> c_int {
        if handle.0.is_null() {
            return NULL_INPUT;
        }
        // SAFETY: the link exists, and `path` outlives it.
        unsafe { (self.add_file)(handle.0, kind, path.as_ptr()) }
    }

    pub(super) fn complete(&self, handle: &mut RawHandle) -> c_int {
        if handle.0.is_null() {
            return NULL_INPUT;
        }
        // SAFETY: the link exists.
        unsafe { (self.complete)(handle.0) }
    }

    pub(super) fn has_lto_ir(&self) -> bool {
        self.lto_ir.is_some()
    }

    /// The content, or the result of the call that failed.
    pub(super) fn get(&self, handle: &RawHandle, content: Content) -> Result<Vec<u8>, c_int> {
        let functions = match content {
            Content::Cubin => Some(self.cubin),
            Content::Ptx => Some(self.ptx),
            Content::LtoIr => self.lto_ir,
            Content::ErrorLog => Some(self.error_log),
            Content::InfoLog => Some(self.info_log),
        };
        if handle.0.is_null() {
            return Err(NULL_INPUT);
        }
        let (size_of, bytes_of) = functions.ok_or(INTERNAL)?;
        let mut size = 0;
        // SAFETY: the link exists, and `size` outlives the call.
        let result = unsafe { size_of(handle.0, &mut size) };
        if result != 0 {
            return Err(result);
        }
        let mut bytes = vec![0; size];
        if size == 0 {
            return Ok(bytes);
        }
        // SAFETY: the link exists, and `bytes` has the size that the library has just asked for.
        let result = unsafe { bytes_of(handle.0, bytes.as_mut_ptr().cast()) };
        if result == 0 { Ok(bytes) } else { Err(result) }
    }
}

/// A library that is closed when dropped.
struct Loaded(*mut c_void);

impl Loaded {
    fn open(path: &Path) -> Result<Self, OpenError> {
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| OpenError::Name)?;
        // SAFETY: `name` outlives the call. Loading runs the library's own start-up code: the
        // user, or the place where it was found, vouches for it.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        match handle.is_null() {
            false => Ok(Self(handle)),
            true => Err(OpenError::Load(last_error())),
        }
    }

    /// Keeps it until the process ends.
    fn keep(self) {
        mem::forget(self);
    }

    fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the library is open, and `name` outlives the call.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }

    /// By its own word, else by its name: libraries before 12.3 do not tell.
    fn version(&self, path: &Path) -> (u32, u32) {
        let (mut major, mut minor) = (0, 0);
        if let Some(function) = self.symbol(c"nvJitLinkVersion") {
            // SAFETY: the library says that the symbol is this function, and both numbers outlive
            // the call.
            let result = unsafe {
                let function: VersionFn = mem::transmute(function);
                function(&mut major, &mut minor)
            };
            if result == 0 {
                return (major, minor);
            }
        }
        let named = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let major =
            named.split(".so.").nth(1).and_then(|rest| rest.split('.').next()?.parse().ok());
        (major.unwrap_or(0), 0)
    }

    /// `nvJitLinkCreate`, or `__nvJitLinkCreate_12_0` in libraries that have no plain names.
    fn function(&self, name: &str, major: u32) -> Result<*mut c_void, OpenError> {
        let names = [format!("nvJitLink{name}"), format!("__nvJitLink{name}_{major}_0")];
        let mut symbols = names.iter().filter_map(|name| {
            let name = CString::new(name.as_bytes()).ok()?;
            self.symbol(&name)
        });
        symbols.next().ok_or_else(|| OpenError::Lacks(format!("nvJitLink{name}")))
    }

    fn functions(&self, path: PathBuf, version: (u32, u32)) -> Result<Library, OpenError> {
        let find = |name: &str| self.function(name, version.0);
        // SAFETY: the names are those of the public header, which declares these types for all
        // releases from 12.0 on. Pointers to functions and to data have one size here.
        unsafe {
            let pair = |content: &str| -> Result<(SizeFn, BytesFn), OpenError> {
                let size = mem::transmute::<*mut c_void, SizeFn>(find(&format!("{content}Size"))?);
                Ok((size, mem::transmute::<*mut c_void, BytesFn>(find(content)?)))
            };
            Ok(Library {
                create: mem::transmute::<*mut c_void, CreateFn>(find("Create")?),
                destroy: mem::transmute::<*mut c_void, DestroyFn>(find("Destroy")?),
                add_data: mem::transmute::<*mut c_void, AddDataFn>(find("AddData")?),
                add_file: mem::transmute::<*mut c_void, AddFileFn>(find("AddFile")?),
                complete: mem::transmute::<*mut c_void, CompleteFn>(find("Complete")?),
                cubin: pair("GetLinkedCubin")?,
                ptx: pair("GetLinkedPtx")?,
                lto_ir: pair("GetLinkedLTOIR").ok(),
                error_log: pair("GetErrorLog")?,
                info_log: pair("GetInfoLog")?,
                path,
                version,
            })
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: it is open, and nothing of it is used after this.
        unsafe { libc::dlclose(self.0) };
    }
}

/// What the dynamic loader last complained about.
fn last_error() -> String {
    // SAFETY: the result is null or a text that is valid until the next call of this thread.
    unsafe {
        let text = libc::dlerror();
        match text.is_null() {
            true => "it cannot be loaded".to_owned(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

/// The program or library that this code is part of.
pub(super) fn this_file() -> Option<PathBuf> {
    let here = this_file as *const c_void;
    // SAFETY: all fields may be zero, and the structure outlives the call. The name that it gets
    // belongs to the dynamic loader and is there as long as this code is.
    let name = unsafe {
        let mut info: libc::Dl_info = mem::zeroed();
        if libc::dladdr(here, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}

/// Whether two paths lead to one file.
fn is_same(a: &Path, b: &Path) -> bool {
    let key = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    key(a).is_some_and(|a| Some(a) == key(b))
}
