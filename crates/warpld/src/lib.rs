//! The open CUDA device linker.
#![deny(unsafe_code)]

pub mod builtins;
pub mod cli;
pub mod config;
pub mod demangle;
pub mod diag;
pub mod extract;
pub mod input;
pub mod load;
pub mod options;
pub mod render;
pub mod report;
pub mod select;
pub mod shim;

pub use config::{Config, HostInfo, Identity};
pub use diag::{Diagnostic, Diagnostics, Severity};
pub use input::{HostReferences, Inputs, LinkInput};
