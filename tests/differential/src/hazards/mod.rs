//! Proves that machine code waits for everything that it depends on.
//!
//! Linkers change the control bits of Blackwell code. This checker shares nothing with warpld's own
//! analysis: registers and control flow come from a listing by nvdisasm, control bits from the
//! encodings, and a data flow analysis shows for every pair of instructions that depend on each
//! other that the second one waits (`proof`), or that it follows after no fewer cycles than in the
//! input (`stalls`). `seeded` puts faults into code, which must be found. `pool` proves all functions
//! of many links, the same code once.

mod check;
mod flow;
mod listing;
mod operations;
mod pairs;
mod pool;
mod proof;
mod raw;
mod registers;
mod seeded;
mod sheet;
mod stalls;
#[cfg(test)]
mod tests;

pub use check::Tally;
pub use flow::Flow;
pub use listing::{Function, Instruction};
pub use operations::is_known;
pub use pool::Pool;
pub use sheet::Lister;

use std::fs;
use std::path::{Path, PathBuf};

impl Lister {
    /// The functions of an image; none if it has no code.
    pub fn listing(&self, image: &[u8]) -> Result<Vec<Function>, String> {
        let functions = raw::functions(image)?;
        let shapes = functions.iter().map(|(_, raw)| raw.shape()).collect();
        let listings = self.list(shapes)?;
        functions.iter().map(|(name, raw)| pool::with_control(&listings, raw, name)).collect()
    }
}

/// `differential hazards INPUT... OUTPUT`; true if everything was proved.
pub fn command(pool: Pool, files: &[String]) -> Result<bool, String> {
    let Some((output, inputs)) = files.split_last() else {
        return Err("hazards needs an output, and its inputs before it".into());
    };
    let inputs: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
    let bytes = fs::read(Path::new(output)).map_err(|e| format!("{output}: {e}"))?;
    pool.add(output, &inputs, &[("", &bytes)])?;
    let (tally, words) = pool.finish(1)?;
    words.iter().for_each(|line| println!("{line}"));
    tally.print();
    Ok(tally.is_good())
}
