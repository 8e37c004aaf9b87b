//! The device ELF of NVIDIA GPUs, known as *cubin*: reading, checking, naming and writing.
//!
//! A cubin is an ELF file with `e_machine` [`EM_CUDA`] that holds the code of a CUDA program for
//! one GPU architecture, and many tables that other ELF files do not have. This crate implements
//! everything that the compilers and linkers of CUDA 12 and 13 write, for 32 and 64 bits. It
//! converts between bytes and values; it opens no files, prints nothing and never panics on input.
//! Other crates build on it: `libwarpld` links cubins, `cubin-tools` shows and compares them,
//! `fatbin` extracts them from their containers.
//!
//! # Example
//!
//! Print the target of a file and the registers of its functions:
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
//!   [`SectionRef`], [`SymbolRef`] and [`Reloc`] are then built on access and borrow the file.
//!   [`half`] presents the Mercury half of a file for sm_100 and later as a file of its own.
//!   [`validate`] checks all invariants of the format.
//! - **Naming.** [`consts`], [`names`], [`bank`] and [`reloc`] are the tables of the format: types
//!   of sections and symbols, names of sections, constant banks, relocation kinds. [`classify`]
//!   determines the purpose of sections and symbols, [`words`] describes them as text.
//! - **Sections with records.** [`info`] and [`attr`] for `.nv.info`, [`compat`], [`callgraph`],
//!   [`note`], [`relaction`], [`capsule`], [`unified`]. [`flags`] decodes `e_flags` and the
//!   identity of a file.
//! - **Writing.** [`raw`] has the records as stored in a file, and [`encode`] encodes headers; a
//!   linker uses these and assembles the file itself. [`model`] is the general writer: a whole file
//!   as values that can be modified and written back. No link uses it: it is for users of this
//!   crate, and for tests, which use it to prove that every byte of a file is understood.
//!
//! # Naming convention
//!
//! Numbers with a meaning are *open enums*: a newtype over the integer with a constant for each
//! known value. The constants have the names that NVIDIA's tools or the ELF specification use,
//! without the prefix that the type replaces: [`SectionType::CUDA_INFO`] is `SHT_CUDA_INFO`,
//! [`Attr::REGCOUNT`] is `EIATTR_REGCOUNT`, [`RelocKind::CUDA_32`] is `R_CUDA_32`. Unknown values
//! are preserved, and match `_`.
//!
//! Records as stored in a file ([`raw::Shdr64`], `sh_size`) have the names of the ELF
//! specification. The corresponding class-independent types drop the prefixes
//! ([`SectionRef::size`]). A type whose name ends in `Ref` borrows the file.
#![forbid(unsafe_code)]
// A comment that only repeats the name does not help.
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
