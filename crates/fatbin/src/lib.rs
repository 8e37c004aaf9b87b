//! Containers that carry device code: fatbins, host objects, archives.
#![forbid(unsafe_code)]
