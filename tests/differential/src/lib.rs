//! Compares warpld with the toolkit's nvlink, byte for byte.
#![forbid(unsafe_code)]

mod again;
mod boards;
mod cli;
mod compare;
mod containers;
mod cuda;
mod generate;
mod hazards;
mod hostobj;
mod inputs;
mod jit;
mod judge;
mod lto;
mod matrix;
mod mercury;
mod named;
mod namesakes;
mod nccl;
mod nvshmem;
mod place;
mod program;
pub mod recorded;
mod reduce;
mod release;
mod rng;
mod runner;
mod shipped;
mod threads;
mod tools;
mod verdict;

pub use cli::main;

/// What differs between a file of nvlink and one of warpld, in words; nothing if they are equal.
pub fn difference(nvlink: &[u8], warpld: &[u8]) -> Option<String> {
    (nvlink != warpld).then(|| compare::explain(nvlink, warpld).join("\n"))
}
