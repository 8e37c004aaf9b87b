//! PTX out of LTO-IR, by the means of a toolkit.
//!
//! | module | means |
//! |---|---|
//! | `nvlink` | nvlink stops at the text (`-emit-ptx`): it follows host code and every option |
//! | `jit` | libnvJitLink, where there is no nvlink: whole programs only |

mod endings;
mod jit;
mod nvlink;
pub mod request;

use super::unavailable;
use crate::host::Host;
use crate::settings::{CompileSettings, LtoSettings};
use crate::toolkit::{FrontEnd, Search};
use jit::Jit;
use libwarpld::compile::{Compiled, LtoProgram};
use libwarpld::{Code, Diagnostic};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The compiler of LTO-IR in a toolkit. Nothing is looked up before it is needed.
#[derive(Debug)]
pub struct LtoCompiler {
    settings: LtoSettings,
    compile: CompileSettings,
    search: Arc<Search>,
    host: Host,
    used: OnceLock<PathBuf>,
}

impl LtoCompiler {
    /// The compiler for a link.
    pub fn new(
        settings: LtoSettings,
        compile: CompileSettings,
        host: Host,
        search: Arc<Search>,
    ) -> Self {
        Self { settings, compile, search, host, used: OnceLock::new() }
    }

    /// Whether there is one.
    pub fn is_available(&self) -> bool {
        self.search.lto_tools().is_ok()
    }

    /// The program or library that made PTX, if there was need of one.
    pub fn used(&self) -> Option<&Path> {
        self.used.get().map(PathBuf::as_path)
    }

    /// The ptxas that reads the PTX, if there is one for it.
    pub(super) fn ptxas(&self) -> Option<PathBuf> {
        self.search.lto_tools().ok().map(|tools| tools.ptxas.path().to_owned())
    }

    /// Why ptxas may have refused the PTX, if it is of another release than the nvlink that made
    /// it. Only asked then, because both programs must be started to tell their versions.
    pub(super) fn other_release(&self) -> Option<Diagnostic> {
        let tools = self.search.lto_tools().ok()?;
        match tools.front_end {
            FrontEnd::Nvlink(nvlink) => nvlink::other_release(
                (nvlink.path(), &nvlink.version()?),
                (tools.ptxas.path(), &tools.ptxas.version()?),
            ),
            FrontEnd::NvJitLink { .. } => None,
        }
    }

    /// The PTX of all modules. The text says itself whether it is a whole program.
    pub fn compile(&self, program: &LtoProgram<'_>) -> Compiled {
        if self.settings.split_extended {
            let message = "-split-compile-extended makes code that only nvlink makes";
            let diagnostic = Diagnostic::fatal(Code::LtoUnsupported, message)
                .note("link without it, or with --fallback=nvlink");
            return unavailable(Box::new(diagnostic));
        }
        let tools = match self.search.lto_tools() {
            Ok(tools) => tools,
            Err(reason) => return unavailable(needs_compiler(program, &reason)),
        };
        match &tools.front_end {
            FrontEnd::Nvlink(nvlink) => {
                self.used.get_or_init(|| nvlink.path().to_owned());
                self.by_nvlink(nvlink.path(), program)
            }
            FrontEnd::NvJitLink { library, helper } => {
                self.used.get_or_init(|| library.path.clone());
                self.by_nvjitlink(&Jit { library, helper, ptxas: tools.ptxas }, program)
            }
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
        .note("LTO-IR needs nvlink or libnvJitLink, at least as new as the compiler, and ptxas")
        .note(format_args!(
            "or compile it to machine code (-gencode arch={compute},code={target})"
        ));
    Box::new(diagnostic)
}
