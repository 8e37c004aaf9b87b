//! `warpld shim CUDA_DIR DEST`: a toolkit whose linker is warpld.
//!
//! nvcc looks for nvlink in its own directory before `PATH`, so replacing the linker takes a second
//! toolkit directory. It takes no space: all its entries are links to the first one, except
//! `bin/nvlink`. A file in it ([`Shim`]) names the toolkit and its release, which a link through it
//! stands for.

mod make;

pub use make::{Args, main};
pub use warpld_compilers::toolkit::Shim;
