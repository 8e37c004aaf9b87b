//! The containers in which CUDA device images travel: fatbins, the host
//! objects that embed them, and archives of those. Reading borrows the input;
//! a payload is decompressed only when asked for. No I/O and no policy.
#![forbid(unsafe_code)]

pub mod archive;
pub mod compress;
pub mod container;
pub mod content;
pub mod host;
pub mod raw;
pub mod write;
mod zstd;

pub use archive::{Archive, ArchiveError, Member, MemberData};
pub use compress::{Compression, DecodeError};
pub use container::{Container, Containers, Entry, FatbinError};
pub use content::Content;
pub use host::{HostError, HostKind, HostObject, HostReferenceLists};
pub use raw::{Flags, Kind};
