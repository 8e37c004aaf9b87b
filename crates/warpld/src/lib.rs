//! The command `warpld`: links CUDA device code as nvlink does.
//!
//! ```sh
//! cargo install warpld
//! warpld -arch=sm_90 a.o libb.a -o out.cubin
//! ```
//!
//! To link from a program, use the crate `libwarpld`; the crate `warpld-compilers` finds and runs
//! the compilers of a toolkit. This library is the command's own: its
//! program, tests and fuzz targets share it, and it changes with them.
//!
//! | module | what it does |
//! |---|---|
//! | [`options`] | one table of options: parser, help, man page, guide; what a command line asks for |
//! | [`files`] | from names to bytes: reading, mapping, searching libraries |
//! | [`cli`] | carries out a link, or `dump`, `diff`, `extract`; writes outputs in one step |
//! | [`render`] | messages as nvlink prints them, or as JSON |
//! | `report_page` | the page of `--report` |
//! | [`shim`] | stands in for nvlink in a toolkit |
#![deny(unsafe_code)]

pub mod cli;
mod exit;
pub mod files;
pub mod options;
pub mod render;
mod report_page;
pub mod shim;
mod subcommand;
mod threads;
