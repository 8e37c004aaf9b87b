//! The open CUDA device linker.
#![deny(unsafe_code)]

pub mod builtins;
pub mod callgraph;
pub mod checks;
pub mod cli;
pub mod codes;
pub mod compat;
pub mod config;
pub mod demangle;
pub mod diag;
pub mod diff;
pub mod dump;
pub mod explain;
pub mod extract;
pub mod finalize;
pub mod finalizer;
pub mod flavour;
pub mod input;
pub mod layout;
pub mod link;
pub mod lists;
pub mod load;
pub mod lost;
pub mod mentions;
pub mod mercury;
pub mod merge;
pub mod name_hash;
pub mod named;
pub mod object;
pub mod options;
pub mod properties;
pub mod reach;
pub mod relocate;
pub mod render;
pub mod report;
pub mod resolve;
pub mod select;
pub mod serialize;
pub mod shim;
pub mod undefined;
pub mod unified;
pub mod verify;

pub use config::{Config, HostInfo, Identity};
pub use diag::{Diagnostic, Diagnostics, Severity};
pub use input::{HostReferences, Inputs, LinkInput};
pub use link::{Failed, LinkOutput, Linked, link, link_to};
