//! The device ELF of NVIDIA GPUs, known as *cubin*: reading, checking, naming and writing.
//!
//! A cubin is an ELF file with `e_machine` [`EM_CUDA`] that holds the code of a CUDA program for
//! one GPU architecture, and many tables that no other ELF file has. This crate knows the
//! format, all of it that compilers and linkers of CUDA 12 and 13 write, of 32 and 64 bits. It
//! reads bytes and makes bytes; it opens no files, prints nothing and never panics on input. What
//! to do with a file is left to others: `libwarpld` links them, `cubin-tools` shows and compares
//! them, `fatbin` takes them out of what they travel in.
//!
//! # Example
//!
//! What a file is for, and what its kernels need:
//!
//! ```
//! use cubin::flags::Identity;
//! use cubin::{Attr, Cubin, SectionType, info};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/scale.sm_90.cubin");
//! let data = std::fs::read(path)?;
//! let cubin = Cubin::parse(&data)?;
//! println!("made for {}", Identity::of(&cubin)?.arch);
//! # assert_eq!(Identity::of(&cubin)?.arch.to_string(), "sm_90");
//! # let mut kernels = 0;
//!
//! for section in cubin.sections().of_kind(SectionType::CUDA_INFO) {
//!     for record in info::records(section.data) {
//!         let record = record?;
//!         let about = record.symbol_and_value();
//!         if let (Attr::REGCOUNT, Some((symbol, registers))) = (record.attr(), about) {
//!             let name = cubin.symbol(symbol).map(|s| s.name).unwrap_or_default();
//!             println!("{} uses {registers} registers", name.escape_ascii());
//!             # kernels += 1;
//!         }
//!     }
//! }
//! # assert!(kernels > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! - **Reading.** [`Cubin::parse`] checks header, section table, symbol table and extents once;
//!   then [`SectionRef`], [`SymbolRef`] and [`Reloc`] are put together as they are asked for and
//!   borrow the file. [`half`] shows the Mercury half of a file for sm_100 and later as a file of
//!   its own. [`validate`] checks all that can be checked.
//! - **Naming.** [`consts`], [`names`], [`bank`] and [`reloc`] are the tables of the format: types
//!   of sections and symbols, names of sections, constant banks, relocation kinds. [`classify`]
//!   says what sections and symbols are for, [`words`] says it to people.
//! - **Sections with records of their own.** [`info`] and [`attr`] for `.nv.info`, [`compat`],
//!   [`callgraph`], [`note`], [`relaction`], [`capsule`], [`unified`]. [`flags`] takes `e_flags`
//!   apart and says what a file is.
//! - **Writing.** [`raw`] has the records as they lie in a file and [`encode`] fills in those of
//!   headers; linkers use these and put files together themselves. [`model`] is the general
//!   writer, a whole file as values that can be changed and written again. No link goes through
//!   it: it is for users of this crate, and for tests, which prove with it that all that is in a
//!   file is understood.
//!
//! # Naming convention
//!
//! Numbers that the format gives a meaning are *open enums*: a newtype over the integer with a
//! constant for each value that is known. The constants are named as NVIDIA's tools or the ELF
//! specification name them, less the prefix that the type stands for: [`SectionType::CUDA_INFO`]
//! is `SHT_CUDA_INFO`, [`Attr::REGCOUNT`] is `EIATTR_REGCOUNT`, [`RelocKind::CUDA_32`] is
//! `R_CUDA_32`. Values that are not known survive, and match `_`.
//!
//! Types of a file's own records ([`raw::Shdr64`], `sh_size`) have the names of the ELF
//! specification. Their counterparts that are independent of the class drop its prefixes
//! ([`SectionRef::size`]). A type whose name ends in `Ref` borrows the file.
#![forbid(unsafe_code)]
// A comment that only says the name again helps nobody.
#![allow(missing_docs)]

mod arch;
pub mod attr;
pub mod bank;
pub mod callgraph;
pub mod capsule;
pub mod classify;
pub mod compat;
pub mod consts;
pub mod encode;
mod entries;
mod error;
pub mod flags;
pub mod half;
mod header;
pub mod info;
mod label;
pub mod model;
pub mod names;
pub mod note;
pub mod raw;
mod read;
pub mod relaction;
pub mod reloc;
mod sections;
mod strings;
mod tables;
pub mod unified;
pub mod validate;
pub mod words;

pub use arch::{Arch, UnknownArch, Variant};
pub use attr::{Attr, Format};
pub use consts::{Binding, EM_CUDA, FileType, SectionType, SegmentType, SymbolType};
pub use entries::{Reloc, SectionIndex, SectionRef, Segment, SymbolIndex, SymbolRef};
pub use error::ReadError;
pub use header::{Class, FileKind, Header, identify};
pub use read::{Cubin, Likeness};
pub use reloc::RelocKind;
pub use sections::Sections;
pub use strings::string_at;
pub use tables::{Relocs, SymbolTable};
