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

use crate::options::{CompileSettings, LinkSettings};
use crate::threads::Slots;
use cache::Cache;
use libwarpld::compile::{Compiled, Compiler, Failure, LtoProgram, PtxModule};
use libwarpld::{Arch, Code, Diagnostic};
pub use lto::LtoCompiler;
use ptxas::Ptxas;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Finds ptxas, or says where it was looked for.
pub type Find = Box<dyn Fn() -> Result<PathBuf, Box<Diagnostic>> + Send + Sync>;

/// The compilers of a toolkit.
pub struct ToolkitCompiler {
    settings: CompileSettings,
    threads: usize,
    temporary: PathBuf,
    find: Find,
    ptxas: OnceLock<Result<PathBuf, Box<Diagnostic>>>,
    lto: Option<LtoCompiler>,
    remarks: Mutex<Vec<Diagnostic>>,
    times: Mutex<Vec<Timed>>,
}

/// How long an input took to compile.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Its name.
    pub name: Arc<str>,
    /// The target.
    pub target: Arch,
    /// The time.
    pub time: Duration,
}

impl ToolkitCompiler {
    /// Compilers with the settings of a link; `find` is called once, when the first is needed.
    pub fn new(
        settings: &LinkSettings,
        find: impl Fn() -> Result<PathBuf, Box<Diagnostic>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            settings: settings.compile.clone(),
            threads: settings.threads,
            temporary: std::env::temp_dir(),
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

    fn remark(&self, diagnostic: Diagnostic) {
        self.remarks.lock().unwrap_or_else(PoisonError::into_inner).push(diagnostic);
    }

    /// Looks for ptxas once. Tools run in folders of their own, so names must not depend on the
    /// current one.
    fn find(&self) -> Result<&Path, Box<Diagnostic>> {
        let found = self.ptxas.get_or_init(|| {
            let path = (self.find)()?;
            Ok(std::path::absolute(&path).unwrap_or(path))
        });
        found.as_deref().map_err(Clone::clone)
    }

    /// The cache, if one was asked for and can be used.
    fn cache(&self, ptxas: &Ptxas<'_>) -> Option<Cache> {
        let folder = self.settings.cache.as_deref()?;
        let opened = ptxas
            .identity()
            .and_then(|identity| Cache::open(folder, self.settings.cache_size, &identity));
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
        let ptxas = Ptxas {
            program,
            settings: &self.settings,
            temporary: &self.temporary,
            version: OnceLock::new(),
        };
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
        let failed = |(compiled, _): &(Compiled, Duration)| compiled.output.is_err();
        let results = pool::run(&order, &Slots::new(self.threads), &compile, &failed);
        if let Some(Err(error)) = cache.map(Cache::close) {
            let message = "the PTX cache could not be written";
            self.remark(Diagnostic::info(Code::PtxCache, message).note(error));
        }
        let timed = modules.iter().zip(&results).filter_map(|(module, result)| {
            let (name, target, (_, time)) = (module.name.clone(), module.target, result.as_ref()?);
            Some(Timed { name, target, time: *time })
        });
        self.times.lock().unwrap_or_else(PoisonError::into_inner).extend(timed);
        let compiled = results.into_iter().map(|result| Some(result?.0));
        compiled.map(|result| result.unwrap_or_else(not_reached)).collect()
    }

    fn compiles_lto(&self) -> bool {
        self.lto.as_ref().is_some_and(LtoCompiler::is_available)
    }

    fn lto(&self, program: &LtoProgram<'_>) -> Compiled {
        match &self.lto {
            Some(lto) => lto.compile(program),
            None => unavailable(Box::new(Diagnostic::fatal(
                Code::LtoOnly,
                "LTO objects found, and nothing to compile them",
            ))),
        }
    }
}

impl fmt::Debug for ToolkitCompiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { settings, threads, temporary, ptxas, .. } = self;
        f.debug_struct("ToolkitCompiler")
            .field("settings", settings)
            .field("threads", threads)
            .field("temporary", temporary)
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
