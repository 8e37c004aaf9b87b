//! The command `warpld`: links CUDA device code as nvlink does.
//!
//! ```sh
//! cargo install warpld
//! warpld -arch=sm_90 a.o libb.a -o out.cubin
//! ```
//!
//! To link from a program, use the crate `libwarpld`. This library is the command's own: its
//! program, tests and fuzz targets share it, and it changes with them.
//!
//! | module | what it does |
//! |---|---|
//! | [`options`] | one table of options: parser, help, man page, guide; what a command line asks for |
//! | [`files`] | from names to bytes: reading, mapping, searching libraries |
//! | [`cli`] | carries out a link, or `dump`, `diff`, `extract`; writes outputs in one step |
//! | [`compile`] | has PTX compiled by the ptxas of a toolkit: processes, a pool, a cache |
//! | [`render`] | messages as nvlink prints them, or as JSON |
//! | [`shim`] | stands in for nvlink in a toolkit |
//! | [`toolkit`] | finds the compilers of the user's toolkit, when a link needs them |
#![deny(unsafe_code)]

pub mod cli;
pub mod compile;
mod exit;
pub mod files;
pub mod options;
pub mod render;
pub mod shim;
mod threads;
pub mod toolkit;
