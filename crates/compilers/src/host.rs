//! What a process lends to the tools that it runs.

use std::any::Any;
use std::fmt::Debug;
use std::path::PathBuf;

/// Holds up interruptions until it is dropped.
pub type Deferral = Box<dyn Any + Send + Sync>;

/// How a process handles signals that are to end it. Tools run in process groups of their own, so
/// they must be ended before the process is.
pub trait Interruptions: Debug + Sync {
    /// From now on an interruption is only remembered, until the result is dropped.
    fn defer(&self) -> Deferral;

    /// Whether one is waiting: tools are ended.
    fn is_interrupted(&self) -> bool;
}

/// For a process that handles no signals.
#[derive(Debug)]
struct Unhandled;

impl Interruptions for Unhandled {
    fn defer(&self) -> Deferral {
        Box::new(())
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

/// The process that runs tools.
#[derive(Clone, Debug)]
pub struct Host {
    /// Where temporary folders are made.
    pub temporary: PathBuf,
    /// Its handling of signals.
    pub interruptions: &'static dyn Interruptions,
}

impl Default for Host {
    /// The system's temporary folder. An interruption leaves tools and folders behind.
    fn default() -> Self {
        Self { temporary: std::env::temp_dir(), interruptions: &Unhandled }
    }
}
