//! A linker for CUDA device code: relocatable objects in, a loadable cubin out.
//!
//! `nvcc -dc` and `ptxas -c` compile each source file to an object that may call functions and
//! use variables of others. A device linker joins such objects into one file that a driver loads.
//! This crate does that in memory, on bytes, for sm_75 and later. Its outputs are those of
//! nvlink (CUDA 13.0 to 13.4), byte for byte but for the name of the linker, and it needs neither a CUDA
//! toolkit nor a GPU. The command `warpld` is built on it.
//!
//! # Example
//!
//! ```
//! use libwarpld::{Config, Input, link};
//!
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/files.rs"));
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let [saxpy, scale] = ["saxpy", "scale"].map(|name| cubin(&format!("{name}.sm_90.cubin")));
//! # let library = archive(&[("scale.o", &support::fixture("scale.sm_90.cubin"))]);
//! # let object = host_object(fatbin(Kind::ELF, "sm_90", &cubin("vec.sm_90.cubin")));
//! let inputs = [
//!     Input::new("saxpy.cubin", saxpy),
//!     Input::new("scale.cubin", scale),
//!     Input::new("vec.o", object), // a host object, as nvcc -dc writes it
//!     Input::new("libscale.a", library),
//! ];
//! let config = Config::builder("sm_90".parse()?).report(true).build();
//! let output = link(&inputs, &config)?;
//!
//! for warning in &output.warnings {
//!     eprintln!("{}", warning.message);
//! }
//! for kernel in output.report.iter().flat_map(|report| &report.kernels) {
//!     println!("{} needs {} registers", kernel.name, kernel.registers);
//! }
//! println!("{} bytes for cuModuleLoadData", output.cubin.len());
//! # assert_eq!(output.report.map(|report| report.kernels.len()), Some(5));
//! # Ok(())
//! # }
//! ```
//!
//! # One way in, one way to fail
//!
//! [`link`](link()) takes [`Input`]s in link order, of any kind that carries device code, and
//! a [`Config`]. It returns an [`Output`] or an [`Error`] that holds every [`Diagnostic`] of the
//! link, each with a stable code, the symbol it is about and notes that say where and what to do.
//! Nothing is printed, no file is opened, no process started; damaged inputs are errors and never
//! panics. Links at once in one process do not disturb each other: there is no global state. A
//! link runs on the rayon pool that it is called on, or else on threads of its own. To link two
//! small cubins takes some 30 µs on a pool, and 100 µs if a thread has to be started.
//!
//! [`driver`] has the steps of a link one by one, for programs that come between them.
//! [`report`] has the report of a link, and its conversion to text. [`compile`] is for links that
//! need a compiler.
//!
//! # Phases
//!
//! A link is a list of phases. Each reads what those before it made, and changes nothing of it.
//!
//! | phase | question | module |
//! |---|---|---|
//! | scan, select | Which images of which inputs are for the target? | `inputs` |
//! | parse | What is in each image? | `parse`, `object` |
//! | resolve | Which definition does each name stand for? | `resolve` |
//! | call graph | Who calls whom, and which functions stay? | `callgraph` |
//! | usage | Who uses shared memory and images? | `usage` |
//! | merge | Which sections and symbols has the output, in which order? | `merge` |
//! | properties, layout | What do kernels need? Where is everything? | `properties`, `layout` |
//! | relocate | What is patched now, what is left to the loader? | `relocate` |
//! | write | Final order, tables, bytes | `write`; from sm_100 on `mercury` too |
//!
//! # Naming convention
//!
//! An *input* is a file that is given to the link; an *image* is one device ELF in it; an
//! *object* is an image that is being linked. A *target* is the architecture that is linked for.
//! *Machine code* is what a GPU runs; from sm_100 on objects also have *Mercury* code, from which
//! drivers make machine code for related targets. Settings have the names of the command's
//! options.
//!
//! # Limits
//!
//! PTX needs a [`Compiler`](compile::Compiler) of the caller's ([`link_with`]): without one, an
//! input without machine code for the target is an error.
//! Inputs are device ELF files of CUDA 12.0 to 13.4.
#![forbid(unsafe_code)]

mod align;
mod api;
mod builtins;
mod callgraph;
mod checks;
mod collections;
mod compat;
pub mod compile;
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
mod stopwatch;
mod threads;
mod undefined;
mod unified;
mod usage;
mod verify;
mod write;

pub use api::{Input, Output, link, link_with};
pub use config::{Config, ConfigBuilder, Identity};
pub use cubin::Arch;
pub use diag::{Code, Diagnostic, Error, Severity};
pub use dialect::Release;

/// Parts of the linker by themselves, for the tests and fuzz targets of this repository that
/// need no link around them. Nothing here is meant to stay.
#[doc(hidden)]
pub mod internals {
    pub use crate::dialect::{BoardRules, Half};
    pub use crate::inputs::{best_image, check};
    pub use crate::mercury::{
        Linker, MercuryError, Trace, code, compare, linker, needs_compiler, round_trip,
        translate_sequence,
    };
}
