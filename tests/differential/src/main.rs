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

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match cli::main(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(problem) => {
            eprintln!("differential: {problem}");
            ExitCode::from(2)
        }
    }
}
