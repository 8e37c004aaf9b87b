//! The device ELF of NVIDIA GPUs ("cubin"): typed records, reader, validator,
//! writer and metadata. No I/O and no linking policy.
#![forbid(unsafe_code)]

pub mod arch;
pub mod attr;
pub mod callgraph;
pub mod compat;
pub mod consts;
pub mod info;
pub mod note;
pub mod raw;
pub mod read;
pub mod relaction;
pub mod reloc;

pub use arch::{Arch, Variant};
pub use consts::{Binding, EM_CUDA, FileType, SectionType, SymbolType};
pub use read::{
    Class, Cubin, Header, ReadError, Reloc, SectionIndex, SectionRef, SymbolIndex, SymbolRef,
};
