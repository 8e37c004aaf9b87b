//! The compilers of a CUDA toolkit, run as processes: what [`libwarpld::compile::Compiler`] asks
//! for. A link of machine code gets here never; nothing is looked up before it is needed.
//!
//! | module | what it does |
//! |---|---|
//! | `folder` | a temporary folder that vanishes, also after an interruption |
//! | `process` | runs one tool in it, with a time limit |
//! | `ptxas` | nvlink's way to call ptxas |
//! | `pool` | several at once, results in order |
//! | `lto` | PTX out of LTO-IR |
//! | `cache` | results of former links |

mod cache;
mod folder;
mod lto;
mod pool;
mod process;
mod ptxas;
#[cfg(test)]
mod tests;

use crate::host::Host;
use crate::jobserver::Slots;
use crate::settings::CompileSettings;
use crate::toolkit::Search;
use cache::Cache;
pub use folder::Folder;
use libwarpld::compile::{Compiled, Compiler, Failure, LtoProgram, PtxModule};
use libwarpld::{Arch, Code, Diagnostic};
pub use lto::{LtoCompiler, request};
pub use process::{Ended, Invocation, RunError};
use ptxas::Ptxas;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Finds ptxas, or says where it was looked for.
pub type Find = Box<dyn Fn() -> Result<PathBuf, Box<Diagnostic>> + Send + Sync>;

/// The compilers of a toolkit.
pub struct ToolkitCompiler {
    settings: CompileSettings,
    host: Host,
    find: Find,
    ptxas: OnceLock<Result<PathBuf, Box<Diagnostic>>>,
    lto: Option<LtoCompiler>,
    remarks: Mutex<Vec<Diagnostic>>,
    times: Mutex<Vec<Timed>>,
}

/// The PTX that LTO-IR comes to. That of inputs is compiled before it.
const LTO_TEXT: &str = "lto.ptx";

/// What a compiler did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Compiled the PTX of an input.
    Ptx,
    /// Made PTX of the LTO-IR of all inputs.
    Optimize,
    /// Compiled that.
    Assemble,
}

/// How long a compiler took.
#[derive(Clone, Debug)]
pub struct Timed {
    /// What it did.
    pub phase: Phase,
    /// The name of the input; of LTO-IR, that of the text.
    pub name: Arc<str>,
    /// The target.
    pub target: Arch,
    /// The time.
    pub time: Duration,
}

impl ToolkitCompiler {
    /// The compilers that a search finds, when the first is needed.
    pub fn new(settings: CompileSettings, host: Host, search: Arc<Search>) -> Self {
        Self::found_by(settings, host, move || Ok(search.ptxas()?.path().to_owned()))
    }

    /// With a ptxas that `find` finds: it is called once, when the first is needed.
    pub fn found_by(
        settings: CompileSettings,
        host: Host,
        find: impl Fn() -> Result<PathBuf, Box<Diagnostic>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            settings,
            host,
            find: Box::new(find),
            ptxas: OnceLock::new(),
            lto: None,
            remarks: Mutex::default(),
            times: Mutex::default(),
        }
    }

    /// Has LTO-IR compiled by `lto`.
    pub fn with_lto(self, lto: Option<LtoCompiler>) -> Self {
        Self { lto, ..self }
    }

    /// What made PTX of LTO-IR, if there was need of it.
    pub fn used_for_lto(&self) -> Option<&Path> {
        self.lto.as_ref()?.used()
    }

    /// The ptxas that was used, if one was needed and found.
    pub fn used(&self) -> Option<&Path> {
        self.ptxas.get()?.as_deref().ok()
    }

    /// What there is to say besides the messages of compilers, such as that the cache cannot be
    /// used.
    pub fn remarks(&self) -> Vec<Diagnostic> {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The inputs that were compiled, in link order.
    pub fn times(&self) -> Vec<Timed> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The text of LTO-IR, with a better reason if it was refused because ptxas is of another
    /// release than what made it.
    fn explain_text(&self, compiled: Compiled) -> Compiled {
        let is_refused = matches!(compiled.output, Err(Failure::Refused));
        let reason = self.lto.as_ref().filter(|_| is_refused).and_then(LtoCompiler::other_release);
        match reason {
            Some(reason) => failed(reason, compiled.messages),
            None => compiled,
        }
    }

    fn add_times(&self, times: impl IntoIterator<Item = Timed>) {
        self.times.lock().unwrap_or_else(PoisonError::into_inner).extend(times);
    }

    fn remark(&self, diagnostic: Diagnostic) {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).push(diagnostic);
    }

    /// Looks for ptxas once. Tools run in folders of their own, so names must not depend on the
    /// current one.
    fn find(&self) -> Result<&Path, Box<Diagnostic>> {
        let found = self.ptxas.get_or_init(|| {
            // All code of a link is compiled by one ptxas, as in nvlink.
            let lto = self.lto.as_ref().and_then(LtoCompiler::ptxas);
            let path = lto.map_or_else(&self.find, Ok)?;
            Ok(std::path::absolute(&path).unwrap_or(path))
        });
        found.as_deref().map_err(Clone::clone)
    }

    /// The cache, if one was asked for and can be used.
    fn cache(&self, ptxas: &Ptxas<'_>) -> Option<Cache> {
        let folder = self.settings.cache.as_deref()?;
        let (size, interruptions) = (self.settings.cache_size, self.host.interruptions);
        let opened = ptxas
            .identity()
            .and_then(|identity| Cache::open(folder, size, &identity, interruptions));
        let unusable = |error| {
            let message = format!("the PTX cache '{}' is not used", folder.display());
            self.remark(Diagnostic::info(Code::PtxCache, message).note(error));
        };
        opened.map_err(unusable).ok()
    }
}

impl Compiler for ToolkitCompiler {
    fn compiles_ptx(&self) -> bool {
        self.find().is_ok()
    }

    fn ptx(&self, modules: &[PtxModule<'_>]) -> Vec<Compiled> {
        let program = match self.find() {
            Ok(program) => program,
            Err(diagnostic) => {
                return modules.iter().map(|module| needs_compiler(module, &diagnostic)).collect();
            }
        };
        let ptxas =
            Ptxas { program, settings: &self.settings, host: &self.host, version: OnceLock::new() };
        let optimized = self.times().iter().any(|timed| timed.phase == Phase::Optimize);
        let cache = self.cache(&ptxas);
        let compile = |index: usize, stop: &(dyn Fn() -> bool + Sync)| {
            let (module, start) = (modules.get(index)?, Instant::now());
            let key = cache.as_ref().map(|cache| cache.key(module, &ptxas.options(module)));
            if let Some(hit) = cache.as_ref().zip(key).and_then(|(cache, key)| cache.get(&key)) {
                return Some((hit, start.elapsed()));
            }
            let compiled = ptxas.compile(module, stop)?;
            if let Some((cache, key)) = cache.as_ref().zip(key) {
                cache.put(&key, &compiled);
            }
            Some((compiled, start.elapsed()))
        };
        // The longest first, so that none is left over for a processor alone at the end.
        let mut order: Vec<usize> = (0..modules.len()).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(modules.get(i).map_or(0, |m| m.text.len())));
        let slots = Slots::new(self.settings.threads);
        let failed = |(compiled, _): &(Compiled, Duration)| compiled.output.is_err();
        let results = pool::run(&order, &slots, self.host.interruptions, &compile, &failed);
        if let Some(Err(error)) = cache.map(Cache::close) {
            let message = "the PTX cache could not be written";
            self.remark(Diagnostic::info(Code::PtxCache, message).note(error));
        }
        let timed = modules.iter().zip(&results).filter_map(|(module, result)| {
            let (name, target, (_, time)) = (module.name.clone(), module.target, result.as_ref()?);
            let is_text = optimized && *name == *LTO_TEXT;
            let phase = if is_text { Phase::Assemble } else { Phase::Ptx };
            Some(Timed { phase, name, target, time: *time })
        });
        self.add_times(timed);
        let compiled = results.into_iter().map(|result| Some(result?.0));
        let compiled = compiled.map(|result| result.unwrap_or_else(not_reached));
        match optimized {
            true => compiled.map(|compiled| self.explain_text(compiled)).collect(),
            false => compiled.collect(),
        }
    }

    fn compiles_lto(&self) -> bool {
        self.lto.as_ref().is_some_and(LtoCompiler::is_available)
    }

    fn lto(&self, program: &LtoProgram<'_>) -> Compiled {
        match &self.lto {
            Some(lto) => {
                let start = Instant::now();
                let compiled = lto.compile(program);
                let (time, target) = (start.elapsed(), program.target);
                let phase = Phase::Optimize;
                self.add_times([Timed { phase, name: LTO_TEXT.into(), target, time }]);
                compiled
            }
            None => unavailable(Box::new(Diagnostic::fatal(
                Code::LtoOnly,
                "LTO objects found, and nothing to compile them",
            ))),
        }
    }
}

impl fmt::Debug for ToolkitCompiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { settings, host, ptxas, .. } = self;
        f.debug_struct("ToolkitCompiler")
            .field("settings", settings)
            .field("host", host)
            .field("ptxas", ptxas)
            .finish_non_exhaustive()
    }
}

/// No output because there is no compiler: `reason` says where it was looked for.
fn needs_compiler(module: &PtxModule<'_>, reason: &Diagnostic) -> Compiled {
    let (name, target) = (&module.name, module.target.to_string());
    let message = format!("'{name}' has only PTX for {target} and {}", reason.message);
    let compute = target.replacen("sm_", "compute_", 1);
    let remedy = format!("or compile it to machine code (-gencode arch={compute},code={target})");
    unavailable(Box::new(Diagnostic { message, ..reason.clone() }.note(remedy)))
}

/// No output because a compiler could not be run.
fn unavailable(diagnostic: Box<Diagnostic>) -> Compiled {
    Compiled { output: Err(Failure::Unavailable(diagnostic)), messages: String::new() }
}

/// For a module after one that failed.
fn not_reached() -> Compiled {
    let message = "not compiled, because another input could not be";
    unavailable(Box::new(Diagnostic::fatal(Code::CompilerFailed, message)))
}

/// No output, though a compiler was run.
fn failed(diagnostic: Diagnostic, messages: String) -> Compiled {
    Compiled { output: Err(Failure::Unavailable(Box::new(diagnostic))), messages }
}

/// No output because no file can be written for a compiler.
fn no_folder(host: &Host, error: &io::Error) -> Box<Diagnostic> {
    let message = format!("cannot write a temporary file in '{}'", host.temporary.display());
    Box::new(
        Diagnostic::fatal(Code::WriteFailed, message)
            .note(error)
            .note("compilers need one; the environment variable TMPDIR names the folder"),
    )
}
