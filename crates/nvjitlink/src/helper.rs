//! The program `warpld-nvjitlink`: carries out a [`LinkRequest`] by NVIDIA's libnvJitLink.

use crate::real::{Handle, InputType, Library, Refusal};
use std::ffi::CString;
use std::path::Path;
use std::{fs, io};
use warpld_compilers::compile::request::{
    ERRORS, INFOS, LinkRequest, NOT_LOADED, OUTPUT, REFUSED, VERSION, Wanted,
};

/// The exit status if there is something wrong with the request or its files.
const BAD_REQUEST: i32 = 2;

/// A failure: the exit status, and what to say on standard error.
pub type Failure = (i32, String);

/// Carries out the request in a folder.
pub fn carry_out(folder: &Path) -> Result<(), Failure> {
    let request = LinkRequest::read(folder).map_err(|error| (BAD_REQUEST, error.to_string()))?;
    let library = Library::open(&request.library).map_err(|error| {
        (NOT_LOADED, format!("cannot load '{}': {error}", request.library.display()))
    })?;
    let (major, minor) = library.version();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.join(name), bytes).map_err(|error| failed_file(&folder.join(name), &error))
    };
    write(VERSION, format!("{major}.{minor}").as_bytes())?;
    let options: Vec<CString> = request.options.iter().map(|option| text(option)).collect();
    let (mut handle, created) = Handle::new(&library, &options);
    let linked = match created {
        Ok(()) => link(&mut handle, &request, folder),
        Err(refusal) => Err(refused("nvJitLinkCreate", refusal)),
    };
    write(ERRORS, &handle.error_log())?;
    write(INFOS, &handle.info_log())?;
    write(OUTPUT, &linked?)
}

fn link(handle: &mut Handle, request: &LinkRequest, folder: &Path) -> Result<Vec<u8>, Failure> {
    for input in &request.inputs {
        let file = folder.join(&input.file);
        let data = fs::read(&file).map_err(|error| failed_file(&file, &error))?;
        let kind = InputType::from_number(input.kind.into());
        let kind = kind.ok_or((BAD_REQUEST, format!("no input has type {}", input.kind)))?;
        let name = text(&input.name);
        let call = || format!("nvJitLinkAddData of '{}'", name.to_string_lossy());
        handle
            .add_data(kind, &data, Some(name.clone()))
            .map_err(|refusal| refused(call(), refusal))?;
    }
    handle.complete().map_err(|refusal| refused("nvJitLinkComplete", refusal))?;
    match request.wanted {
        Wanted::Ptx => handle.ptx().map_err(|refusal| refused("nvJitLinkGetLinkedPtx", refusal)),
        Wanted::Cubin => {
            handle.cubin().map_err(|refusal| refused("nvJitLinkGetLinkedCubin", refusal))
        }
    }
}

fn refused(call: impl std::fmt::Display, Refusal(result): Refusal) -> Failure {
    (REFUSED, format!("{call} reports result {result}"))
}

fn failed_file(path: &Path, error: &io::Error) -> Failure {
    (BAD_REQUEST, format!("'{}': {error}", path.display()))
}

/// Words of a request hold no NUL.
fn text(bytes: &[u8]) -> CString {
    let until_nul = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    CString::new(until_nul).unwrap_or_default()
}
