//! What is said of a front end that did not come to an end of its own.

use super::super::process::RunError;
use super::super::{failed, unavailable};
use libwarpld::compile::Compiled;
use libwarpld::{Code, Diagnostic};
use std::io;
use std::path::Path;

/// The front end that ran.
pub(super) struct FrontEndProgram<'p> {
    /// The program.
    pub(super) program: &'p Path,
    /// Whose work took too long: the program, or the library that it loads.
    pub(super) optimizer: &'p Path,
    /// How to name another one.
    pub(super) remedy: &'p str,
}

impl FrontEndProgram<'_> {
    pub(super) fn cannot_run(&self, error: &io::Error) -> Box<Diagnostic> {
        let message = format!("cannot run '{}'", self.program.display());
        Box::new(Diagnostic::fatal(Code::NoCompiler, message).note(error).note(self.remedy))
    }

    pub(super) fn did_not_end(&self, error: RunError) -> Compiled {
        match error {
            RunError::Start(error) => unavailable(self.cannot_run(&error)),
            RunError::TimedOut { limit, said } => {
                let (optimizer, seconds) = (self.optimizer.display(), limit.as_secs());
                let message = format!("'{optimizer}' did not optimize within {seconds} seconds");
                let diagnostic = Diagnostic::fatal(Code::CompilerTimeout, message)
                    .note("--compiler-timeout sets the limit");
                failed(diagnostic, said)
            }
            RunError::Stopped => {
                let message = "the link was interrupted";
                unavailable(Box::new(Diagnostic::fatal(Code::CompilerFailed, message)))
            }
        }
    }
}
