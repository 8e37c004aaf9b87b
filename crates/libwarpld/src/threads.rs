//! Which threads a link runs on.

use crate::diag::Code;
use crate::diag::Diagnostic;
use rayon::ThreadPoolBuilder;

/// Inputs of fewer bytes than this are linked before a second thread has started.
const SMALL_LINK: usize = 2 << 20;

/// More inputs than this are never a small link.
const FEW_INPUTS: usize = 16;

/// How many threads a link is worth: `asked`, else one if it is small, else 0 for one per
/// processor.
pub fn count(asked: usize, inputs: usize, bytes: usize) -> usize {
    match asked {
        0 if inputs <= FEW_INPUTS && bytes < SMALL_LINK => 1,
        _ => asked,
    }
}

/// Does `work` on the caller's rayon pool, or on a pool of its own with `count` threads.
pub fn run<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> Result<T, Diagnostic> {
    if rayon::current_thread_index().is_some() {
        return Ok(work());
    }
    let pool = ThreadPoolBuilder::new().num_threads(count).build();
    let pool = pool.map_err(|error| {
        Diagnostic::fatal(Code::NoThreads, "the threads of the link cannot be started").note(error)
    })?;
    Ok(pool.install(work))
}
