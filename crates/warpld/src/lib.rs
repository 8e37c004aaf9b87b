//! The open CUDA device linker.
#![deny(unsafe_code)]

pub mod cli;
pub mod config;
pub mod diag;
pub mod input;
pub mod options;
pub mod render;

pub use config::{Config, HostInfo, Identity};
pub use diag::{Diagnostic, Diagnostics, Severity};
pub use input::{HostReferences, Inputs, LinkInput};
