//! What the linker has to say: one type, produced by the phases, rendered
//! elsewhere.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Printed on request (`-v`) or as a remark.
    Info,
    /// The link goes on and succeeds.
    Warning,
    /// The link goes on to find more errors, then fails (exit status 255).
    Error,
    /// The link stops here (exit status 1).
    Fatal,
}

/// One message. `message` is the line a person (or a script that knows
/// nvlink's texts) reads first; `notes` say where and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code such as `undefined-symbol`; the guide lists them.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The primary line, without tool name and severity.
    pub message: String,
    /// Further lines.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// A message without notes.
    pub fn new(severity: Severity, code: &'static str, message: impl fmt::Display) -> Self {
        Self { code, severity, message: message.to_string(), notes: Vec::new() }
    }
    /// A fatal message.
    pub fn fatal(code: &'static str, message: impl fmt::Display) -> Self {
        Self::new(Severity::Fatal, code, message)
    }
    /// An error.
    pub fn error(code: &'static str, message: impl fmt::Display) -> Self {
        Self::new(Severity::Error, code, message)
    }
    /// A warning.
    pub fn warning(code: &'static str, message: impl fmt::Display) -> Self {
        Self::new(Severity::Warning, code, message)
    }
    /// A remark.
    pub fn info(code: &'static str, message: impl fmt::Display) -> Self {
        Self::new(Severity::Info, code, message)
    }
    /// Adds a note.
    pub fn note(mut self, note: impl fmt::Display) -> Self {
        self.notes.push(note.to_string());
        self
    }
}

/// The messages of one link, in order.
#[derive(Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds one message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }
    /// All messages so far.
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.list
    }
    /// The worst severity so far.
    pub fn worst(&self) -> Option<Severity> {
        self.list.iter().map(|d| d.severity).max()
    }
    /// Whether the link has failed.
    pub fn failed(&self) -> bool {
        self.worst() >= Some(Severity::Error)
    }
}
