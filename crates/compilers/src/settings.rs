//! What compilers are told.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A compiler that takes longer than this hangs.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// The size of the cache unless something else is asked for.
const CACHE_SIZE: u64 = 1 << 30;

/// What compilers are told, and how they are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileSettings {
    /// The words of `-Xptxas`.
    pub xptxas: Vec<Vec<u8>>,
    /// `-maxrregcount`.
    pub max_registers: Option<i32>,
    /// `-g`, unless `-suppress-debug-info` takes it back.
    pub debug: bool,
    /// `-Ofc`, unless it is 0.
    pub fast_compile: Option<Vec<u8>>,
    /// `-split-compile`.
    pub split_compile: Option<i32>,
    /// `-device-stack-protector`.
    pub stack_protector: Option<bool>,
    /// `--compiler-timeout`: how long one run may take; `None` is forever.
    pub time_limit: Option<Duration>,
    /// `--ptx-cache`, or what the environment names.
    pub cache: Option<PathBuf>,
    /// `--ptx-cache-size`.
    pub cache_size: u64,
    /// How many run at once; 0 is one per processor, or what a jobserver grants.
    pub threads: usize,
}

impl Default for CompileSettings {
    fn default() -> Self {
        Self {
            xptxas: Vec::new(),
            max_registers: None,
            debug: false,
            fast_compile: None,
            split_compile: None,
            stack_protector: None,
            time_limit: Some(TIME_LIMIT),
            cache: None,
            cache_size: CACHE_SIZE,
            threads: 0,
        }
    }
}

/// What a compiler of LTO-IR is told.
#[derive(Clone, Debug, Default)]
pub struct LtoSettings {
    /// `-split-compile-extended` with more than one thread.
    pub split_extended: bool,
    /// The options that matter to it, as nvlink takes them. None of them names an input.
    pub words: Vec<OsString>,
    /// All inputs of the link.
    pub inputs: Vec<PathBuf>,
    /// `-L` and `-l`, as nvlink takes them.
    pub libraries: Vec<OsString>,
    /// `-kernels-used`.
    pub kernels_used: Vec<Vec<u8>>,
    /// `-variables-used`.
    pub variables_used: Vec<Vec<u8>>,
    /// The words of `-Xnvvm`.
    pub xnvvm: Vec<Vec<u8>>,
}

impl LtoSettings {
    /// Whether options name what is used.
    pub(crate) fn names_something(&self) -> bool {
        !self.kernels_used.is_empty() || !self.variables_used.is_empty()
    }
}
