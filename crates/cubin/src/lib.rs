//! The device ELF of NVIDIA GPUs ("cubin"): typed records, reader, validator,
//! writer and metadata. No I/O and no linking policy.
#![forbid(unsafe_code)]

pub mod arch;
pub mod attr;
pub mod bank;
pub mod callgraph;
pub mod capsule;
pub mod classify;
pub mod compat;
pub mod consts;
pub mod encode;
pub mod flags;
pub mod half;
pub mod header;
pub mod info;
pub mod layout;
pub mod model;
pub mod names;
pub mod note;
pub mod raw;
pub mod read;
pub mod relaction;
pub mod reloc;
pub mod sections;
pub mod sink;
pub mod tables;
pub mod unified;
pub mod validate;
pub mod words;
pub mod write;

pub use arch::{Arch, Variant};
pub use attr::{Attr, Format};
pub use consts::{Binding, EM_CUDA, FileType, SectionType, SymbolType};
pub use header::{Class, FileKind, Header, identify};
pub use read::{
    Cubin, Likeness, ReadError, Reloc, SectionIndex, SectionRef, Segment, SymbolIndex, SymbolRef,
};
pub use reloc::RelocKind;
pub use sections::Sections;
pub use tables::SymbolTable;
