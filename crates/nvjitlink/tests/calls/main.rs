//! The C functions on every row of what libnvJitLink 13.0.88 was seen to do. No compiler is there.
#![allow(unsafe_code)]

#[path = "../../../libwarpld/tests/api/files.rs"]
mod files;
mod inputs;
mod library;
mod life;
mod links;
mod robust;

// The functions come from it.
use warpld_nvjitlink as _;

/// The shortest options.
const SM_90: &str = "-arch=sm_90";

fn saxpy() -> Vec<u8> {
    files::cubin("saxpy.sm_90.cubin")
}

fn scale() -> Vec<u8> {
    files::cubin("scale.sm_90.cubin")
}
