//! libnvJitLink as a compiler of LTO-IR, in a process of its own.
//!
//! With `-lto -ptx` it makes the text of a whole program, the same as nvlink's. It reads no host
//! sections, so what they name is passed as options.

use super::super::folder::Folder;
use super::super::process::{Ended, Invocation};
use super::super::{failed, no_folder, unavailable};
use super::LtoCompiler;
use super::endings::FrontEndProgram;
use super::request::{
    ERRORS, INFOS, LinkRequest, NOT_LOADED, OUTPUT, REFUSED, RequestInput, VERSION, Wanted,
};
use crate::toolkit::{Library, Tool};
use bstr::ByteSlice;
use cubin::{Arch, Variant};
use libwarpld::compile::{Compiled, LtoProgram, lacks_function};
use libwarpld::{Code, Diagnostic};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitStatus;
use std::{fs, io};

/// How a fatbin begins.
const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// libnvJitLink's numbers for these inputs.
const LTO_IR_TYPE: u8 = 3;
const FATBIN_TYPE: u8 = 4;

/// Is part of no name, so it keeps nothing.
const NOTHING: &[u8] = b"@";

/// What the library notes about its own work.
const OWN_NOTES: [&str; 2] = ["SUCCESS: ", "INFO: "];

/// The library, the program that loads it, and the ptxas that reads the text.
pub(super) struct Jit<'s> {
    pub(super) library: &'s Library,
    pub(super) helper: &'s Path,
    pub(super) ptxas: &'s Tool,
}

/// What stays in the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// All kernels and variables.
    Everything,
    /// What is used, if that is known.
    Used,
}

impl LtoCompiler {
    pub(super) fn by_nvjitlink(&self, jit: &Jit<'_>, program: &LtoProgram<'_>) -> Compiled {
        if program.partial {
            return unavailable(partial_needs_nvlink());
        }
        // Functions may be missing in dead code only. nvlink's text would leave all functions
        // visible then (`lto-missing-function`).
        let removes = self.settings.names_something() || program.used.is_some();
        if program.partial_if_undefined && removes {
            let all = self.run(jit, program, Keep::Everything);
            match &all.output {
                Ok(text) if lacks_function(text) => return unavailable(partial_needs_nvlink()),
                Ok(_) => {}
                Err(_) => return all,
            }
        }
        let mut compiled = self.run(jit, program, Keep::Used);
        if let Ok(text) = &mut compiled.output {
            if program.partial_if_undefined && lacks_function(text) {
                return unavailable(partial_needs_nvlink());
            }
            jit.name_target(text, program.target);
        }
        compiled
    }

    /// Runs the library once.
    fn run(&self, jit: &Jit<'_>, program: &LtoProgram<'_>, keep: Keep) -> Compiled {
        let folder = match Folder::new(&self.host) {
            Ok(folder) => folder,
            Err(error) => return unavailable(no_folder(&self.host, &error)),
        };
        if let Err(error) = self.write_request(jit, program, keep, folder.path()) {
            return unavailable(no_folder(&self.host, &error));
        }
        let helper = std::path::absolute(jit.helper).unwrap_or_else(|_| jit.helper.to_owned());
        let run = Invocation {
            program: &helper,
            args: &[OsString::from(folder.path())],
            folder: folder.path(),
            limit: self.compile.time_limit,
            interruptions: self.host.interruptions,
        };
        match run.run(&|| false) {
            Ok(ended) => jit.outcome(ended, folder.path()),
            Err(error) => {
                let front_end = FrontEndProgram {
                    program: &helper,
                    optimizer: &jit.library.path,
                    remedy: "WARPLD_NVJITLINK_HELPER names the program that loads libnvJitLink",
                };
                front_end.did_not_end(error)
            }
        }
    }

    fn write_request(
        &self,
        jit: &Jit<'_>,
        program: &LtoProgram<'_>,
        keep: Keep,
        folder: &Path,
    ) -> io::Result<()> {
        let mut inputs = Vec::with_capacity(program.modules.len());
        for (number, module) in program.modules.iter().enumerate() {
            let file = number.to_string();
            fs::write(folder.join(&file), module.data)?;
            let kind = if module.data.starts_with(&FATBIN) { FATBIN_TYPE } else { LTO_IR_TYPE };
            inputs.push(RequestInput {
                kind,
                file: file.into(),
                name: module.name.as_bytes().to_vec(),
            });
        }
        let library = std::path::absolute(&jit.library.path)?;
        let options = self.options(program, keep, jit.ptxas);
        LinkRequest { library, options, inputs, wanted: Wanted::Ptx }.write(folder)
    }

    fn options(&self, program: &LtoProgram<'_>, keep: Keep, ptxas: &Tool) -> Vec<Vec<u8>> {
        let (compile, settings) = (&self.compile, &self.settings);
        let target = text_target(program.target, ptxas);
        let mut options: Vec<Vec<u8>> =
            vec![format!("-arch={target}").into(), b"-lto".to_vec(), b"-ptx".to_vec()];
        let given = compile.max_registers.filter(|count| *count > 0).map(i64::from);
        if let Some(count) = given.or(program.registers.map(i64::from)) {
            options.push(format!("-maxrregcount={count}").into());
        }
        let mut add = |name: &str, value: &[u8]| options.push([name.as_bytes(), value].concat());
        if let Some(level) = &compile.fast_compile {
            add("-Ofc=", level);
        }
        if let Some(threads) = compile.split_compile.filter(|threads| *threads != 1) {
            add("-split-compile=", threads.to_string().as_bytes());
        }
        settings.xnvvm.iter().for_each(|word| add("-Xnvvm=", word));
        if keep == Keep::Everything {
            return options;
        }
        if settings.names_something() {
            settings.kernels_used.iter().for_each(|name| add("-kernels-used=", name));
            settings.variables_used.iter().for_each(|name| add("-variables-used=", name));
            // In nvlink names of kernels alone mean that no variable is used; names of variables
            // alone leave all kernels.
            if settings.variables_used.is_empty() {
                add("-variables-used=", NOTHING);
            }
        } else if let Some(used) = &program.used {
            // Without the option all of them stay.
            for (option, names) in
                [("-kernels-used=", &used.kernels), ("-variables-used=", &used.variables)]
            {
                names.iter().for_each(|name| add(option, name));
                if names.is_empty() {
                    add(option, NOTHING);
                }
            }
        }
        options
    }
}

impl Jit<'_> {
    fn outcome(&self, Ended { status, said }: Ended, folder: &Path) -> Compiled {
        let read = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
        let log = |name: &str| read(name).to_str_lossy().into_owned();
        if status.code() == Some(NOT_LOADED) {
            let diagnostic = Diagnostic::fatal(Code::NoCompiler, said.trim_end())
                .note("WARPLD_NVJITLINK names another libnvJitLink");
            return unavailable(Box::new(diagnostic));
        }
        if let Some(diagnostic) = self.newer_than_ptxas(&log(VERSION)) {
            return unavailable(Box::new(diagnostic));
        }
        if status.code() == Some(REFUSED) {
            return unavailable(Box::new(self.refused(&said, &log(ERRORS))));
        }
        let text = read(OUTPUT);
        if !status.success() || text.is_empty() {
            return failed(self.ended_badly(status), said);
        }
        let infos = log(INFOS);
        let is_own = |line: &&str| OWN_NOTES.iter().any(|note| line.starts_with(note));
        let lines = infos.lines().filter(|line| !line.is_empty() && !is_own(line));
        let messages = lines.map(|line| format!("{line}\n")).collect();
        Compiled { output: Ok(text), messages }
    }

    /// Before CUDA 13.2 nvlink's text names the plain target in place of an accelerated one, and
    /// debug information quotes it (`lto-accelerated`).
    fn name_target(&self, text: &mut Vec<u8>, target: Arch) {
        if target.variant != Variant::Accelerated || !is_before(self.ptxas, (13, 2)) {
            return;
        }
        let plain = Arch { variant: Variant::Plain, ..target };
        let (ours, nvlinks) = (format!("\n.target {target}"), format!("\n.target {plain}"));
        if let Some(at) = text.find(&ours) {
            text.splice(at..at + ours.len(), nvlinks.into_bytes());
        }
    }

    /// ptxas refuses the PTX of a newer release.
    fn newer_than_ptxas(&self, release: &str) -> Option<Diagnostic> {
        let ptxas = self.ptxas.version()?;
        if numbers(release)? <= numbers(&ptxas)? {
            return None;
        }
        let (library, program) = (self.library.path.display(), self.ptxas.path().display());
        let message = format!(
            "'{library}' is of CUDA {release} and '{program}' of {ptxas}, which cannot read its PTX"
        );
        Some(
            Diagnostic::fatal(Code::LtoFailed, message)
                .note("use both of one toolkit: --cuda-path=DIR, or WARPLD_NVJITLINK=FILE"),
        )
    }

    /// The library did not take an option or an input.
    fn refused(&self, said: &str, log: &str) -> Diagnostic {
        let library = self.library.path.display();
        let message = format!("'{library}' refuses the LTO-IR: {}", said.trim_end());
        let lines = log.lines().filter(|line| !line.is_empty());
        let diagnostic = lines.fold(Diagnostic::fatal(Code::LtoFailed, message), Diagnostic::note);
        match log.contains("newer version of nvJitLink") {
            true => diagnostic.note(
                "LTO-IR needs a toolkit at least as new as the one that made it (--cuda-path)",
            ),
            false => diagnostic,
        }
    }

    fn ended_badly(&self, status: ExitStatus) -> Diagnostic {
        let library = self.library.path.display();
        let how = match status.success() {
            true => "made no text".to_owned(),
            false => format!("ended the process that runs it ({status})"),
        };
        Diagnostic::fatal(Code::CompilerFailed, format!("'{library}' {how}"))
            .note("another release of the toolkit (--cuda-path, WARPLD_NVJITLINK) may help")
    }
}

/// The target of nvlink's text: before CUDA 13.3 without the `f` of a family (`lto-family`).
fn text_target(target: Arch, ptxas: &Tool) -> Arch {
    match target.variant {
        Variant::Family if is_before(ptxas, (13, 3)) => Arch { variant: Variant::Plain, ..target },
        _ => target,
    }
}

fn is_before(ptxas: &Tool, release: (u32, u32)) -> bool {
    ptxas.version().and_then(|version| numbers(&version)).is_some_and(|own| own < release)
}

/// `(13, 4)` of `13.4.92`.
pub(super) fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(|part| part.trim().parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn partial_needs_nvlink() -> Box<Diagnostic> {
    let message = "LTO-IR that is linked with other code needs the toolkit's nvlink";
    Box::new(
        Diagnostic::fatal(Code::LtoUnsupported, message)
            .note("libnvJitLink makes whole programs only: other code cannot call its functions")
            .note("pip install nvidia-cuda-nvcc, or compile all inputs to LTO-IR, or none"),
    )
}
