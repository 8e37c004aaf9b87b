//! The interface of NVIDIA's libnvJitLink over [libwarpld].
//!
//! | module | what |
//! |---|---|
//! | `abi` | the functions that C calls, and their names |
//! | `handles` | what callers hold, checked at every call |
//! | `session` | the life of a link |
//! | `options`, `input`, `result`, `log` | what callers say, and what they are told |
//! | `images`, `native` | machine code of inputs, linked by libwarpld |
//! | `forward` | handing a link over to NVIDIA's library |
//! | `settings` | the environment |
//! | `capi` | the C interface of warpld itself, `warpld.h` |
//! | [`real`] | NVIDIA's library, loaded when something must be compiled |
//! | [`helper`] | the program that loads it for the command `warpld` |
#![deny(unsafe_code)]

mod abi;
mod capi;
mod forward;
mod handles;
pub mod helper;
mod images;
mod input;
mod log;
mod native;
mod options;
mod ptxas;
pub mod real;
mod result;
mod session;
mod settings;

pub use abi::{FUNCTIONS, Handle, MAJORS, MajorRelease, aliases, names, version_script};
pub use result::{Code, Major};
