//! The lines of `--fnlzr-trace`: what is done about Mercury code. `FNLZR` is nvlink's name for its
//! finalizer.

use crate::config::MercuryConfig;
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics, Severity};
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
    /// Collects the requested kinds of lines.
    pub fn new(steps: bool, compatibility: bool) -> Self {
        Self { lines: Vec::new(), steps, compatibility }
    }

    /// The trace that the link's options request.
    pub(super) fn of(config: &MercuryConfig) -> Self {
        Self::new(config.trace, config.trace_compatibility)
    }

    /// Records a step.
    pub fn line(&mut self, text: impl Display) {
        if self.steps {
            self.lines.push(format!("FNLZR: {text}"));
        }
    }

    /// Records a decision about compatibility.
    pub fn compatibility(&mut self, text: impl Display) {
        if self.compatibility {
            self.lines.push(format!("FNLZR: {text}"));
        }
    }

    /// Reports the lines as remarks.
    pub(super) fn report(self, diags: &mut Diagnostics) {
        for line in self.lines {
            diags.push(Diagnostic::new(Severity::Info, Code::FnlzrTrace, line));
        }
    }
}
