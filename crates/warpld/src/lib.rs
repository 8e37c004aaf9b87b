//! The open CUDA device linker.
#![deny(unsafe_code)]

pub mod config;
pub mod diag;
pub mod input;

pub use config::{Config, HostInfo, Identity};
pub use diag::{Diagnostic, Diagnostics, Severity};
pub use input::{HostReferences, Inputs, LinkInput};
