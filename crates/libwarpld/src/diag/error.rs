//! The one way to fail.

use super::{Diagnostic, Diagnostics, Severity};
use std::fmt;

/// Why a link failed: all its diagnostics, in order, warnings included.
///
/// At least one of them is an error. `Display` prints the first error and how many more there
/// are.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Diagnostics);

impl Error {
    pub(super) fn new(diagnostics: Diagnostics) -> Self {
        Self(diagnostics)
    }

    /// All messages of the link, in order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.0.as_slice()
    }

    /// The messages that made the link fail, in order.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics().iter().filter(|d| d.severity >= Severity::Error)
    }
}

impl From<Error> for Diagnostics {
    fn from(error: Error) -> Self {
        error.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut errors = self.errors();
        f.write_str(errors.next().map_or("the link failed", |first| &first.message))?;
        match errors.count() {
            0 => Ok(()),
            1 => f.write_str(" (and 1 more error)"),
            more => write!(f, " (and {more} more errors)"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Error").field(&self.diagnostics()).finish()
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;

    #[test]
    fn the_first_error_is_printed_and_the_others_are_counted() {
        let mut diagnostics = Diagnostics::default();
        diagnostics.push(Diagnostic::warning(Code::UnknownStack, "a warning"));
        diagnostics.push(Diagnostic::error(Code::UndefinedSymbol, "the first"));
        let one = diagnostics.clone().into_error();
        assert_eq!(one.to_string(), "the first");
        diagnostics.push(Diagnostic::error(Code::UndefinedSymbol, "the second"));
        let two = diagnostics.fail(Diagnostic::merge_failed());
        assert_eq!(two.to_string(), "the first (and 2 more errors)");
        assert_eq!((two.diagnostics().len(), two.errors().count()), (4, 3));
        assert!(diagnostics.as_slice().is_empty());
    }

    #[test]
    fn errors_cross_threads() {
        fn crosses<T: std::error::Error + Send + Sync + 'static>() {}
        crosses::<Error>();
    }
}
