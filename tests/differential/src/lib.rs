//! Compares warpld with the toolkit's nvlink, byte for byte.
#![forbid(unsafe_code)]

mod cli;
mod compare;
mod cuda;
mod generate;
mod hostobj;
mod judge;
mod matrix;
mod mercury;
mod named;
mod nccl;
mod nvshmem;
mod program;
mod reduce;
mod rng;
mod runner;
mod tools;
mod verdict;

pub use cli::main;
