//! The open CUDA device linker, as a library.
#![forbid(unsafe_code)]

pub mod align;
pub mod builtins;
pub mod callgraph;
pub mod checks;
pub mod compat;
pub mod config;
pub mod context;
pub mod demangle;
pub mod diag;
pub mod dialect;
pub mod explain;
pub mod ids;
pub mod inputs;
pub mod json;
pub mod layout;
pub mod link;
pub mod linked;
pub mod mercury;
pub mod merge;
pub mod name_hash;
pub mod object;
mod par_ordered;
pub mod parse;
pub mod properties;
pub mod relocate;
pub mod report;
pub mod resolve;
pub mod undefined;
pub mod unified;
pub mod usage;
pub mod verify;
pub mod write;

pub use config::{Config, HostInfo, Identity};
pub use diag::{Diagnostic, Diagnostics, Severity};
pub use inputs::{HostReferences, Inputs, LinkInput};
pub use link::{Failed, LinkOutput, Written, link, link_to};
