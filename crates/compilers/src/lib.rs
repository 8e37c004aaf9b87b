//! Finds the compilers of the user's CUDA toolkit and runs them, for inputs that hold PTX or
//! LTO-IR.
//!
//! [`ToolkitCompiler`] is a [`libwarpld::compile::Compiler`]. Nothing is looked up before a link
//! needs it.
//!
//! ```
//! use std::sync::Arc;
//! use warpld_compilers::toolkit::{Hints, Search};
//! use warpld_compilers::{CompileSettings, Host, ToolkitCompiler};
//!
//! let search = Arc::new(Search::new(Hints::default()));
//! let compiler = ToolkitCompiler::new(CompileSettings::default(), Host::default(), search);
//! assert_eq!(compiler.used(), None);
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`toolkit`] | finds compilers, and says where it looked |
//! | [`compile`] | runs them: processes, a pool, a cache |
//! | [`jobserver`] | how many run at once |
//!
//! The crate changes no signals of its process. A program that does lends its [`Interruptions`].
#![forbid(unsafe_code)]

pub mod compile;
mod host;
pub mod jobserver;
mod settings;
pub mod toolkit;

pub use compile::{LtoCompiler, ToolkitCompiler};
pub use host::{Deferral, Host, Interruptions};
pub use settings::{CompileSettings, LtoSettings};
