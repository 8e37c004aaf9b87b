//! The `warpld` command: options, console, files, output, threads, exit, shim.
#![deny(unsafe_code)]

pub mod cli;
mod exit;
pub mod files;
pub mod options;
pub mod render;
pub mod shim;
