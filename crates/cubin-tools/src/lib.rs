//! Shows, compares and extracts CUDA device code.
//!
//! Four tools as a library, behind `warpld dump`, `warpld diff`, `warpld compare` and `warpld
//! extract`. They read
//! bytes and make text, JSON or lists; they open no files and print nothing.
//!
//! | module | what it does | result |
//! |---|---|---|
//! | [`dump`] | shows a cubin: sections, symbols, relocations, attributes, capsules | text or JSON |
//! | [`compare`] | what grew between two links | a [`Growth`](compare::Growth) |
//! | [`diff`] | says in words what differs between two cubins | a [`Report`](diff::Report) |
//! | [`extract`] | finds all images in fatbins, host objects, archives and programs | a [`Walk`](extract::Walk) |
//!
//! # Example
//!
//! ```
//! use cubin_tools::diff::{Options, compare};
//!
//! # let [a, b] = ["linked-vec.sm_90.cubin", "linked-object.sm_90.cubin"].map(support::fixture);
//! let report = compare(&a, &b, &Options::default())?;
//! for line in report.lines(20) {
//!     println!("{line}");
//! }
//! # assert!(!report.is_same() && report.lines(20).count() > 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//!
//! Of instructions, only the control fields are decoded. What a section or an attribute is for is said where it is
//! known; all else is shown as bytes.
#![forbid(unsafe_code)]

pub mod compare;
pub mod diff;
pub mod dump;
pub mod extract;
