//! How many threads a link uses: the requested number, what a GNU make jobserver grants, or one per
//! processor; only its own for links too small to be worth starting more.

use std::path::PathBuf;
use warpld_compilers::jobserver::{Jobserver, Tokens};

/// Smaller inputs are linked before a thread has started.
const SMALL_LINK: u64 = 2 << 20;

/// With more files than this, their sizes are not looked up.
const FEW_FILES: usize = 16;

/// More threads than this make no link faster; each takes memory.
const MOST_THREADS: usize = 256;

/// Starts the threads of this process; the jobserver's tokens are returned when the result is
/// dropped. A second link in the same process keeps the existing threads.
pub fn start(asked: usize, inputs: &[PathBuf], libraries: bool) -> Tokens {
    let alone = asked == 0 && !libraries && is_small(inputs);
    let processors = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut tokens = Tokens::default();
    let count = match asked {
        0 if alone => 1,
        0 => match Jobserver::current() {
            Some(server) => {
                tokens = server.take(processors().saturating_sub(1));
                tokens.count() + 1
            }
            None => processors(),
        },
        asked => asked.min(MOST_THREADS),
    };
    let mut pool = rayon::ThreadPoolBuilder::new().num_threads(count);
    if count == 1 {
        // The calling thread does all the work: none is started.
        pool = pool.use_current_thread();
    }
    let _ = pool.build_global();
    tokens
}

fn is_small(inputs: &[PathBuf]) -> bool {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |meta| meta.len());
    inputs.len() <= FEW_FILES && inputs.iter().map(size).sum::<u64>() < SMALL_LINK
}
