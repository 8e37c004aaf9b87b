//! What makes machine code of LTO-IR: something that makes PTX of it, and the ptxas of the same
//! release.

use super::folder::Toolkit;
use super::places::Environment;
use super::search::Search;
use super::tool::{Library, Tool};
use libwarpld::{Code, Diagnostic};
use std::env;
use std::path::{Path, PathBuf};

/// The program that loads libnvJitLink.
const HELPER: &str = "warpld-nvjitlink";

/// Names it, if it is not beside warpld.
const HELPER_VARIABLE: &str = "WARPLD_NVJITLINK_HELPER";

/// The major release of CUDA whose LTO-IR is linked.
const MAJOR: u32 = 13;

/// The compilers of LTO-IR.
#[derive(Debug)]
pub struct LtoTools<'s> {
    /// Makes PTX of it.
    pub front_end: FrontEnd<'s>,
    /// Makes machine code of that.
    pub ptxas: &'s Tool,
}

/// What makes PTX of LTO-IR.
#[derive(Debug)]
pub enum FrontEnd<'s> {
    /// The toolkit's nvlink. It follows host code and every option as only it does.
    Nvlink(&'s Tool),
    /// libnvJitLink, where there is no nvlink.
    NvJitLink {
        /// The library.
        library: Library,
        /// The program that loads it.
        helper: PathBuf,
    },
}

impl Search {
    /// The first toolkit with nvlink and ptxas; else the first ptxas and a libnvJitLink, of the
    /// same toolkit if it has one. PTX and the ptxas that reads it must be of one release.
    pub fn lto_tools(&self) -> Result<LtoTools<'_>, Box<Diagnostic>> {
        let both = self.lto_toolkit().ok().and_then(|t| Some((t.nvlink()?, t.ptxas()?)));
        if let Some((nvlink, ptxas)) = both {
            return Ok(LtoTools { front_end: FrontEnd::Nvlink(nvlink), ptxas });
        }
        let missing = || Box::new(self.missing("no compiler for LTO-IR was found"));
        let toolkit = self.toolkit().filter(|t| t.ptxas().is_some()).ok_or_else(missing)?;
        let ptxas = toolkit.ptxas().ok_or_else(missing)?;
        let library = self.nvjitlink_of(toolkit).ok_or_else(missing)?;
        let helper = helper(&self.environment()).map_err(|place| {
            let message = format!("'{HELPER}', which loads libnvJitLink, was not found");
            let beside = place.map_or("beside warpld".into(), |p| format!("'{}'", p.display()));
            Box::new(
                Diagnostic::fatal(Code::NoCompiler, message)
                    .note(format_args!("looked for {beside}; {HELPER_VARIABLE} names another"))
                    .note("it comes with warpld: cargo build -p warpld-nvjitlink"),
            )
        })?;
        Ok(LtoTools { front_end: FrontEnd::NvJitLink { library, helper }, ptxas })
    }

    /// What the environment names, else the toolkit's own, else the first one.
    fn nvjitlink_of(&self, toolkit: &Toolkit) -> Option<Library> {
        let own = toolkit.nvjitlink().filter(|library| library.major == MAJOR);
        if let Some(own) = own.filter(|_| self.environment().warpld_nvjitlink.is_none()) {
            return Some(own.clone());
        }
        let found = self.nvjitlink_files(&[MAJOR], None).files.into_iter().next()?;
        Some(Library { path: found, major: MAJOR })
    }
}

/// The helper, or where it was expected.
fn helper(environment: &Environment) -> Result<PathBuf, Option<PathBuf>> {
    let named = environment.nvjitlink_helper.as_ref().map(PathBuf::from);
    let beside = || {
        let program = environment.program.as_deref()?;
        Some(program.with_file_name(format!("{HELPER}{}", env::consts::EXE_SUFFIX)))
    };
    let path = named.or_else(beside);
    path.clone().filter(|path: &PathBuf| Path::is_file(path)).ok_or(path)
}
