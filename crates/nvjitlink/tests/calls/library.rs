//! The C functions with Rust's types around them.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Once;

pub const CUBIN: c_int = 1;
pub const PTX: c_int = 2;
pub const LTOIR: c_int = 3;
pub const FATBIN: c_int = 4;
pub const OBJECT: c_int = 5;
pub const LIBRARY: c_int = 6;
pub const INDEX: c_int = 7;
pub const ANY: c_int = 10;

pub type Handle = *mut c_void;

macro_rules! functions {
    ($($rust:ident $name:literal ($($argument:ident: $type:ty),*);)*) => {
        unsafe extern "C" {
            $(#[link_name = $name] pub fn $rust($($argument: $type),*) -> c_int;)*
        }
    };
}

functions! {
    create "__nvJitLinkCreate_13_0" (out: *mut Handle, count: u32, options: *const *const c_char);
    destroy "__nvJitLinkDestroy_13_5" (handle: *mut Handle);
    add_data "__nvJitLinkAddData_13_0" (handle: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char);
    add_file "__nvJitLinkAddFile_13_0" (handle: Handle, kind: c_int, path: *const c_char);
    complete "__nvJitLinkComplete_13_0" (handle: Handle);
    cubin_size "__nvJitLinkGetLinkedCubinSize_13_1" (handle: Handle, size: *mut usize);
    cubin "__nvJitLinkGetLinkedCubin_13_1" (handle: Handle, out: *mut c_void);
    ptx_size "__nvJitLinkGetLinkedPtxSize_13_0" (handle: Handle, size: *mut usize);
    ptx "__nvJitLinkGetLinkedPtx_13_0" (handle: Handle, out: *mut c_void);
    ltoir_size "__nvJitLinkGetLinkedLTOIRSize_13_0" (handle: Handle, size: *mut usize);
    ltoir "__nvJitLinkGetLinkedLTOIR_13_0" (handle: Handle, out: *mut c_void);
    error_log_size "__nvJitLinkGetErrorLogSize_13_0" (handle: Handle, size: *mut usize);
    error_log "__nvJitLinkGetErrorLog_13_0" (handle: Handle, out: *mut c_void);
    info_log_size "__nvJitLinkGetInfoLogSize_13_0" (handle: Handle, size: *mut usize);
    info_log "__nvJitLinkGetInfoLog_13_0" (handle: Handle, out: *mut c_void);
    version "warpld_nvJitLinkVersion_13" (major: *mut c_uint, minor: *mut c_uint);
    create_12 "__nvJitLinkCreate_12_9" (out: *mut Handle, count: u32, options: *const *const c_char);
    add_data_12 "__nvJitLinkAddData_12_0" (handle: Handle, kind: c_int, data: *const c_void, size: usize, name: *const c_char);
    complete_12 "__nvJitLinkComplete_12_4" (handle: Handle);
    version_12 "warpld_nvJitLinkVersion_12" (major: *mut c_uint, minor: *mut c_uint);
}

type SizeFn = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type BytesFn = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;

/// What a size is before a call that must not touch it.
pub const UNTOUCHED: usize = 0xdead;

/// A link, as a C program has it.
pub struct Link {
    pub handle: Handle,
    /// Results of all calls so far.
    pub results: Vec<c_int>,
}

/// The library is not to find one of NVIDIA's.
pub fn without_compilers() {
    static ONCE: Once = Once::new();
    // SAFETY: no other thread of the test has come past this point.
    ONCE.call_once(|| unsafe {
        std::env::set_var("WARPLD_NVJITLINK", "/nonexistent");
        std::env::set_var("WARPLD_CUDA_PATH", "/nonexistent");
    });
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).collect()
}

impl Link {
    pub fn new(options: &[&str]) -> Self {
        without_compilers();
        let texts: Vec<CString> = options.iter().map(|o| CString::new(*o).unwrap()).collect();
        let mut handle = ptr::null_mut();
        // SAFETY: as the header says.
        let result = unsafe { create(&mut handle, texts.len() as u32, pointers(&texts).as_ptr()) };
        Self { handle, results: vec![result] }
    }

    pub fn add(&mut self, kind: c_int, data: &[u8], name: &str) -> c_int {
        let name = CString::new(name).unwrap();
        self.add_named(kind, data, Some(&name))
    }

    pub fn add_named(&mut self, kind: c_int, data: &[u8], name: Option<&CStr>) -> c_int {
        let name = name.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: as the header says.
        let result = unsafe { add_data(self.handle, kind, data.as_ptr().cast(), data.len(), name) };
        self.results.push(result);
        result
    }

    pub fn add_file(&mut self, kind: c_int, path: &str) -> c_int {
        let path = CString::new(path).unwrap();
        // SAFETY: as the header says.
        let result = unsafe { add_file(self.handle, kind, path.as_ptr()) };
        self.results.push(result);
        result
    }

    pub fn complete(&mut self) -> c_int {
        // SAFETY: as the header says.
        let result = unsafe { complete(self.handle) };
        self.results.push(result);
        result
    }

    fn get(&self, size_of: SizeFn, bytes_of: BytesFn) -> Result<Vec<u8>, c_int> {
        let mut size = UNTOUCHED;
        // SAFETY: as the header says.
        let result = unsafe { size_of(self.handle, &mut size) };
        if result != 0 {
            assert_eq!(size, UNTOUCHED);
            return Err(result);
        }
        let mut bytes = vec![0xee; size + 8];
        // SAFETY: there is room for as many bytes as were asked for.
        let result = unsafe { bytes_of(self.handle, bytes.as_mut_ptr().cast()) };
        assert_eq!(bytes[size..], [0xee; 8], "wrote past the end");
        bytes.truncate(size);
        if result == 0 { Ok(bytes) } else { Err(result) }
    }

    pub fn cubin(&self) -> Result<Vec<u8>, c_int> {
        self.get(cubin_size, cubin)
    }

    pub fn ptx(&self) -> Result<Vec<u8>, c_int> {
        self.get(ptx_size, ptx)
    }

    pub fn ltoir(&self) -> Result<Vec<u8>, c_int> {
        self.get(ltoir_size, ltoir)
    }

    pub fn errors(&self) -> String {
        text(self.get(error_log_size, error_log).unwrap())
    }

    pub fn infos(&self) -> String {
        text(self.get(info_log_size, info_log).unwrap())
    }

    pub fn destroy(&mut self) -> c_int {
        // SAFETY: as the header says.
        unsafe { destroy(&mut self.handle) }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.destroy();
    }
}

/// A log: empty, or closed by one NUL.
fn text(mut bytes: Vec<u8>) -> String {
    assert!(bytes.is_empty() || bytes.pop() == Some(0));
    assert!(!bytes.contains(&0));
    String::from_utf8(bytes).unwrap()
}
