//! Dump, compare and extract CUDA device ELF files.
#![forbid(unsafe_code)]

pub mod diff;
pub mod dump;
pub mod extract;
