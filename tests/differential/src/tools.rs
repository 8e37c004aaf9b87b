//! The toolkit's programs, run with a time limit, and a cache of objects.

use crate::program::{Case, Compiler, Form, Module};
use crate::release::Release;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time any single program may take.
pub const TIME_LIMIT: Duration = Duration::from_secs(300);

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Exit status; 128 + signal; none if it ran out of time.
    pub status: Option<i32>,
    /// Standard output and standard error.
    pub text: String,
    /// Wall-clock time.
    pub time: Duration,
}

impl Outcome {
    /// Takes over another's status if neither is success, and its messages: libnvJitLink has one
    /// status for all refusals, and messages of its own.
    pub fn liken(&mut self, other: &Self) {
        if self.status != Some(0) && other.status.is_some_and(|status| status != 0) {
            self.status = other.status;
        }
        self.text.clone_from(&other.text);
    }

    /// Whether the program was ended by a signal.
    pub fn crashed(&self) -> bool {
        self.status.is_some_and(|status| status > 128 && status != 255)
    }
}

/// Runs `command` in `folder`, for at most [`TIME_LIMIT`].
pub fn run(command: &mut Command, folder: &Path, log: &str) -> io::Result<Outcome> {
    let log = folder.join(log);
    let sink = File::create(&log)?;
    let start = Instant::now();
    let mut child = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(sink.try_clone()?)
        .stderr(sink)
        .spawn()?;
    let mut pause = Duration::from_micros(300);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status.code().or(status.signal().map(|signal| 128 + signal));
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(20));
    };
    let time = start.elapsed();
    Ok(Outcome { status, text: String::from_utf8_lossy(&fs::read(&log)?).into_owned(), time })
}

/// Where the tools are and where work files go.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Folder with `bin`, `lib64` and `include`: nvlink and its libraries.
    pub toolkit: PathBuf,
    /// Release of that nvlink.
    pub release: Release,
    /// A toolkit whose ptxas and nvcc make the objects, and its release; none for `toolkit`.
    pub compilers: Option<(PathBuf, Release)>,
    /// ptxas of CUDA 12, which writes the older ABI; none to do without.
    pub ptxas12: Option<PathBuf>,
    /// ptxas of CUDA 12.0; none to do without.
    pub ptxas120: Option<PathBuf>,
    /// nvlink of another release, in the place of the linker under test.
    pub twin: Option<PathBuf>,
    /// The linker under test; none to look at nvlink alone.
    pub warpld: Option<PathBuf>,
    /// Whether it is told of the toolkit's compilers: some inputs are PTX or LTO-IR.
    pub gives_compilers: bool,
    /// Whether these are ptxas and libnvJitLink alone.
    pub without_nvlink: bool,
    /// Another disassembler than the toolkit's.
    pub nvdisasm: Option<PathBuf>,
    /// Folder for objects, running cases and failed cases.
    pub work: PathBuf,
}

impl Tools {
    /// The reference linker.
    pub fn nvlink(&self) -> PathBuf {
        self.toolkit.join("bin/nvlink")
    }

    /// The disassembler.
    pub fn nvdisasm(&self) -> PathBuf {
        self.nvdisasm.clone().unwrap_or_else(|| self.toolkit.join("bin/nvdisasm"))
    }

    /// A compiler of the toolkit that makes the objects.
    pub fn compiler(&self, name: &str) -> PathBuf {
        let toolkit = self.compilers.as_ref().map_or(&self.toolkit, |(toolkit, _)| toolkit);
        toolkit.join("bin").join(name)
    }

    /// Whether libnvJitLink stands in for nvlink (`nvjitlink/nvlink`): it knows few options and
    /// has one status for all refusals.
    pub fn is_jit(&self) -> bool {
        self.toolkit.join("release").exists()
    }

    /// The release of these compilers.
    pub fn compiled_by(&self) -> Release {
        self.compilers.as_ref().map_or(self.release, |(_, release)| *release)
    }

    /// Whether the objects are of nvlink's release, whatever the patch: only then must a case have
    /// the status that it says. (Whole programs of older releases are refused.)
    pub fn has_own_objects(&self) -> bool {
        let minor = |release: Release| (release.major, release.minor);
        minor(self.compiled_by()) == minor(self.release)
    }

    /// The release of the linker and, if it is another one, of the objects.
    pub fn releases(&self) -> String {
        match self.compiled_by() {
            objects if objects != self.release => format!("{}-of-{objects}", self.release),
            _ => self.release.to_string(),
        }
    }

    /// A folder of cases: `run`, `failed` or `reduced`.
    pub fn cases(&self, kind: &str) -> PathBuf {
        self.work.join(kind).join(self.releases())
    }

    /// Whether this compiler is at hand.
    pub fn has(&self, compiler: Compiler) -> bool {
        match compiler {
            Compiler::Current => true,
            Compiler::Cuda12 => self.ptxas12.is_some(),
            Compiler::Cuda120 => self.ptxas120.is_some(),
        }
    }

    /// Folder of compiled objects, one for each release of the compilers.
    pub fn cache(&self) -> PathBuf {
        self.work.join("objects").join(self.compiled_by().to_string())
    }

    /// Puts all inputs of `case` into `folder`.
    pub fn prepare(&self, case: &Case, folder: &Path) -> Result<(), String> {
        case.write_inputs(folder, |module| match module.form {
            Form::Machine => self.compile(module, folder),
            Form::Ptx { compressed } => self.keep_ptx(module, compressed, folder),
        })
    }

    /// Compiles `module` for separate linking, or takes it from the cache.
    pub fn compile(&self, module: &Module, folder: &Path) -> Result<Vec<u8>, String> {
        // An older one and the PTX version that it knows.
        let older = match module.compiler {
            Compiler::Current => None,
            Compiler::Cuda12 => self.ptxas12.as_ref().map(|ptxas| (ptxas, "8.8")),
            Compiler::Cuda120 => self.ptxas120.as_ref().map(|ptxas| (ptxas, "8.0")),
        };
        let compiler = if older.is_some() { module.compiler } else { Compiler::Current };
        let cached = self.cache().join(format!("{}.cubin", module.key(compiler)));
        if let Ok(bytes) = fs::read(&cached) {
            return Ok(bytes);
        }
        let source = folder.join(format!("{}.ptx", module.name));
        let output = folder.join(format!("{}.compiling", module.name));
        let ptx = match older {
            Some((_, version)) => {
                module.ptx.replacen(".version 9.0", &format!(".version {version}"), 1)
            }
            None => module.ptx.clone(),
        };
        fs::write(&source, ptx).map_err(|e| e.to_string())?;
        let mut command = Command::new(older.map_or(&self.compiler("ptxas"), |(ptxas, _)| ptxas));
        // A program that is compiled as a whole is no object.
        let whole = module.flags.iter().any(|flag| flag == "-ewp");
        command
            .args((!whole).then_some("-c"))
            .arg(format!("-arch={}", module.sm))
            .args(&module.flags)
            .arg(source.file_name().unwrap_or_default())
            .arg("-o")
            .arg(output.file_name().unwrap_or_default());
        let outcome = run(&mut command, folder, "ptxas.log").map_err(|e| e.to_string())?;
        if outcome.status != Some(0) {
            return Err(format!("ptxas {} failed: {}", module.name, outcome.text.trim()));
        }
        let bytes = fs::read(&output).map_err(|e| e.to_string())?;
        publish(&output, &cached).map_err(|e| e.to_string())?;
        Ok(bytes)
    }
}

/// Moves a finished file into the cache; a reader never sees half of it.
pub fn publish(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::rename(from, to)
}

/// A name for content: 128-bit FNV-1a over the parts.
pub fn content_key(parts: &[&[u8]]) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for &byte in part.iter().chain(&[0]) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
    format!("{hash:032x}")
}
