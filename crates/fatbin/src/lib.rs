//! Containers of CUDA device code: fatbins, the host objects that embed them, and archives of
//! these.
//!
//! `nvcc` packs the images of a program, compiled for one architecture or several, into a *fatbin*
//! and embeds that in the host object, where the host linker leaves it unchanged. This crate finds
//! these images and writes new containers. Parsing borrows the input; a payload is decompressed
//! only on request, and never to more than its declared size. The crate opens no files and does not
//! choose among images: the caller decides which one fits a target, and the crate `cubin` reads the
//! image.
//!
//! # Example
//!
//! ```
//! use fatbin::write::{Image, Writer};
//! use fatbin::{Compression, Containers, Flags, Kind};
//!
//! let mut writer = Writer::new();
//! writer.add(&Image {
//!     kind: Kind::PTX,
//!     arch: "sm_90".parse()?,
//!     version: (9, 0),
//!     flags: Flags::ADDRESS_64,
//!     ident: None,
//!     options: Some(b""),
//!     compat: None,
//!     compression: Compression::Zstd,
//!     payload: b".version 9.0\n.target sm_90\n.address_size 64\n",
//! })?;
//! let file = writer.finish();
//!
//! for container in Containers::new(&file) {
//!     for entry in container?.entries() {
//!         let entry = entry?;
//!         println!("{} for {}: {} bytes", entry.kind(), entry.arch(), entry.payload()?.len());
//!         # assert_eq!(entry.arch().to_string(), "sm_90");
//!         # assert!(entry.payload()?.starts_with(b".version"));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # From a file to its images
//!
//! [`Content::of`] determines what a file is. The members of an [`Archive`] are files again; a
//! [`HostObject`] has sections of [`Containers`], separate for relocatable and linked code; each
//! [`Container`] has an [`Entry`] per image, with its [`Kind`], architecture and [`Flags`];
//! [`Entry::payload`] is the image. Each step has its own error type, which gives the offset of the
//! error. [`mod@write`] builds containers, and [`raw`] has the records as they are in a file.
//!
//! # Naming convention
//!
//! NVIDIA does not document the format. Records and flags have the names that `fatbinary` and
//! `cuobjdump` show, if any, and descriptive names otherwise. [`Kind`] and [`Flags`] are newtypes
//! over the integer: unnamed values survive a rewrite.
#![forbid(unsafe_code)]
// A comment that only repeats the name does not help.
#![allow(missing_docs)]

mod archive;
mod compress;
mod container;
mod content;
pub mod host;
pub mod offload;
pub mod raw;
pub mod write;
mod zstd;

pub use archive::{Archive, ArchiveError, Member, MemberData};
pub use compress::{Compression, DecodeError, MAX_IMAGE_SIZE, MAX_UNUSUAL_SIZE, decompress};
pub use container::{Container, Containers, Entries, Entry, FatbinError};
pub use content::Content;
pub use host::{HostError, HostKind, HostObject, HostReferenceLists};
pub use raw::{Flags, Kind};
