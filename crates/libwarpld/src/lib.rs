//! The open CUDA device linker, as a library.
#![forbid(unsafe_code)]

mod align;
mod api;
mod builtins;
mod callgraph;
mod checks;
mod compat;
mod config;
mod context;
mod demangle;
mod diag;
mod dialect;
pub mod driver;
mod explain;
mod ids;
mod inputs;
mod json;
mod layout;
mod link;
mod linked;
mod mercury;
mod merge;
mod name_hash;
mod object;
mod par_ordered;
mod parse;
mod properties;
mod relocate;
pub mod report;
mod resolve;
mod threads;
mod undefined;
mod unified;
mod usage;
mod verify;
mod write;

pub use api::{Input, Output, link};
pub use config::{Config, ConfigBuilder, Identity};
pub use cubin::Arch;
pub use diag::{Code, Diagnostic, Error, Severity};
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
