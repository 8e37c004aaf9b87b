//! What the linker has to say: one type, produced by the phases, rendered
//! elsewhere.

pub mod codes;
mod error;

pub use codes::Code;
pub use error::Error;

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
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The primary line, without tool name and severity.
    pub message: String,
    /// The symbol it is about, as the object spells it.
    pub symbol: Option<String>,
    /// Another symbol it is about: the kernel that calls the symbol.
    pub kernel: Option<String>,
    /// Further lines.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// A message without notes.
    pub fn new(severity: Severity, code: Code, message: impl fmt::Display) -> Self {
        Self {
            code,
            severity,
            message: message.to_string(),
            symbol: None,
            kernel: None,
            notes: Vec::new(),
        }
    }
    /// A fatal message.
    pub fn fatal(code: Code, message: impl fmt::Display) -> Self {
        Self::new(Severity::Fatal, code, message)
    }
    /// Ends a link because of the errors before it.
    pub fn merge_failed() -> Self {
        Self::fatal(Code::MergeFailed, "merge_elf failed")
    }
    /// An error.
    pub fn error(code: Code, message: impl fmt::Display) -> Self {
        Self::new(Severity::Error, code, message)
    }
    /// A warning.
    pub fn warning(code: Code, message: impl fmt::Display) -> Self {
        Self::new(Severity::Warning, code, message)
    }
    /// A remark.
    pub fn info(code: Code, message: impl fmt::Display) -> Self {
        Self::new(Severity::Info, code, message)
    }
    /// Names the symbol it is about; it is shown as it stands in the source.
    pub fn about(mut self, symbol: impl Into<String>) -> Self {
        self.symbol = Some(symbol.into());
        self
    }
    /// Names the kernel that is concerned.
    pub fn in_kernel(mut self, kernel: impl Into<String>) -> Self {
        self.kernel = Some(kernel.into());
        self
    }
    /// Adds a note.
    pub fn note(mut self, note: impl fmt::Display) -> Self {
        self.notes.push(note.to_string());
        self
    }
}

/// The messages of one link, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds one message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }
    /// Adds the messages of another list.
    pub fn append(&mut self, other: Self) {
        self.list.extend(other.list);
    }
    /// Puts the messages into nvlink's order, which some codes decide.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|d| d.code.is_reported_last());
    }
    /// Of the messages with this code, keeps the first about each `key` and
    /// returns the kernels of the others by its position.
    pub fn merge<K: PartialEq>(
        &mut self,
        code: Code,
        key: impl Fn(&Diagnostic) -> K,
    ) -> Vec<(usize, Vec<String>)> {
        let mut merged: Vec<(K, usize, Vec<String>)> = Vec::new();
        let mut kept = Vec::with_capacity(self.list.len());
        for diagnostic in std::mem::take(&mut self.list) {
            if diagnostic.code == code {
                let k = key(&diagnostic);
                if let Some(known) = merged.iter_mut().find(|known| known.0 == k) {
                    known.2.extend(diagnostic.kernel);
                    continue;
                }
                merged.push((k, kept.len(), Vec::new()));
            }
            kept.push(diagnostic);
        }
        self.list = kept;
        merged.into_iter().map(|(_, at, kernels)| (at, kernels)).collect()
    }
    /// All messages so far, to be completed.
    pub fn as_mut_slice(&mut self) -> &mut [Diagnostic] {
        &mut self.list
    }
    /// Takes back all messages but the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.list.truncate(count);
    }
    /// All messages so far.
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.list
    }
    /// Ends the link: all messages so far, and `last` behind them, become its error.
    pub fn fail(&mut self, last: Diagnostic) -> Error {
        self.push(last);
        std::mem::take(self).into_error()
    }
    /// The error of a link that has found errors.
    pub fn into_error(self) -> Error {
        debug_assert!(self.failed(), "no error among the messages");
        Error::new(self)
    }
    /// The messages by themselves.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.list
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
