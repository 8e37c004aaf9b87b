//! PTX out of LTO-IR, by the means of a toolkit.
//!
//! | module | means |
//! |---|---|
//! | [`nvlink`] | nvlink stops at the text (`-emit-ptx`): it follows host code and every option |

mod nvlink;

use super::unavailable;
use crate::options::{LinkSettings, LtoSettings};
use crate::toolkit::{Search, Toolkit};
use libwarpld::compile::{Compiled, LtoProgram};
use libwarpld::{Code, Diagnostic};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The compiler of LTO-IR in a toolkit. Nothing is looked up before it is needed.
#[derive(Debug)]
pub struct LtoCompiler {
    settings: LtoSettings,
    search: Arc<Search>,
    limit: Option<Duration>,
    temporary: PathBuf,
}

impl LtoCompiler {
    /// The compiler for a link; nothing if the link is without `-dlto`.
    pub fn new(settings: &LinkSettings, search: Arc<Search>) -> Option<Self> {
        Some(Self {
            settings: settings.lto.clone()?,
            search,
            limit: settings.compile.time_limit,
            temporary: std::env::temp_dir(),
        })
    }

    /// Whether there is one.
    pub fn is_available(&self) -> bool {
        self.toolkit().is_ok_and(|toolkit| toolkit.nvlink().is_some())
    }

    fn toolkit(&self) -> Result<&Toolkit, Box<Diagnostic>> {
        self.search.lto_toolkit()
    }

    /// The PTX of all modules. The text says itself whether it is a whole program.
    pub fn compile(&self, program: &LtoProgram<'_>) -> Compiled {
        if self.settings.split_extended {
            let message = "-split-compile-extended makes code that only nvlink makes";
            let diagnostic = Diagnostic::fatal(Code::LtoUnsupported, message)
                .note("link without it, or with --fallback=nvlink");
            return unavailable(Box::new(diagnostic));
        }
        let toolkit = match self.toolkit() {
            Ok(toolkit) => toolkit,
            Err(reason) => return unavailable(needs_compiler(program, &reason)),
        };
        match toolkit.nvlink() {
            Some(nvlink) => self.by_nvlink(nvlink.path(), program),
            None => unavailable(needs_compiler(
                program,
                &Diagnostic::fatal(Code::NoCompiler, "no nvlink was found")
                    .note(self.search.looked_in()),
            )),
        }
    }
}

/// No text because there is no compiler: `reason` says where it was looked for.
fn needs_compiler(program: &LtoProgram<'_>, reason: &Diagnostic) -> Box<Diagnostic> {
    let name = program.modules.first().map_or("", |module| &module.name);
    let target = program.target.to_string();
    let message = format!("'{name}' holds LTO-IR for {target} and {}", reason.message);
    let compute = target.replacen("sm_", "compute_", 1);
    let diagnostic = Diagnostic { message, ..reason.clone() }
        .note("LTO-IR needs nvlink, at least as new as the compiler, and ptxas")
        .note(format_args!(
            "or compile it to machine code (-gencode arch={compute},code={target})"
        ));
    Box::new(diagnostic)
}
