//! The open CUDA device linker, as a library.
#![forbid(unsafe_code)]

pub mod align;
mod api;
pub mod builtins;
pub mod callgraph;
pub mod checks;
pub mod compat;
pub mod config;
pub mod context;
pub mod demangle;
pub mod diag;
pub mod dialect;
pub mod driver;
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
mod threads;
pub mod undefined;
pub mod unified;
pub mod usage;
pub mod verify;
pub mod write;

pub use api::{Input, Output, link};
pub use config::{Config, ConfigBuilder, Identity};
pub use cubin::Arch;
pub use diag::{Diagnostic, Error, Severity};
pub use dialect::Release;

/// Parts of the linker by themselves, for the tests and fuzz targets of this repository that
/// need no link around them. Nothing here is meant to stay.
#[doc(hidden)]
pub mod internals {
    pub use crate::dialect::Half;
    pub use crate::inputs::{best_image, check};
    pub use crate::mercury::{
        Linker, MercuryError, Trace, code, compare, linker, needs_compiler, round_trip,
        translate_sequence,
    };
}
