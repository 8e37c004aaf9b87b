//! What the finalizer does, in words.

use std::fmt::Display;

/// Collects lines; the caller decides where they go.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Lines so far.
    pub lines: Vec<String>,
    steps: bool,
    compatibility: bool,
}

impl Trace {
    /// Collects the lines that are asked for.
    pub fn new(steps: bool, compatibility: bool) -> Self {
        Self { lines: Vec::new(), steps, compatibility }
    }

    /// A step.
    pub fn line(&mut self, text: impl Display) {
        if self.steps {
            self.lines.push(format!("FNLZR: {text}"));
        }
    }

    /// A decision about compatibility.
    pub fn compatibility(&mut self, text: impl Display) {
        if self.compatibility {
            self.lines.push(format!("FNLZR: {text}"));
        }
    }
}
