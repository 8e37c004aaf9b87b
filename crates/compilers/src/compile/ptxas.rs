//! Calls ptxas so that it makes what the compiler inside nvlink makes.
//!
//! nvlink's compiler knows no file names: messages name `application ptx input`, and the note of
//! a debug build has only `elf.o`. A run of ptxas with `--input-as-string` and without `-o` gives
//! the same (`ptx-command`).

use super::folder::Folder;
use super::process::{Ended, Invocation, RunError};
use super::{failed, no_folder, unavailable};
use crate::host::Host;
use crate::settings::CompileSettings;
use bstr::ByteSlice;
use cubin::note::{Note, NoteType, ToolInfo, notes, write_note};
use cubin::{Arch, Cubin, Variant, names};
use libwarpld::compile::{Compiled, Failure, PtxModule};
use libwarpld::{Code, Diagnostic};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::OnceLock;

/// The longest text that fits into an argument. Linux allows 128 KiB, with the closing NUL.
const LONGEST_ARGUMENT: usize = (128 << 10) - 1;

/// What messages call a text without a file. A file of this name gets the same messages.
const INPUT: &str = "application ptx input";

/// What ptxas writes if nothing else is asked for.
const OUTPUT: &str = "elf.o";

/// ptxas's exit status for programs that it rejects.
const REJECTED: i32 = 255;

/// A ptxas, and how to run it.
pub(super) struct Ptxas<'s> {
    pub(super) program: &'s Path,
    pub(super) settings: &'s CompileSettings,
    pub(super) host: &'s Host,
    /// What it says about itself.
    pub(super) version: OnceLock<Result<String, String>>,
}

impl Ptxas<'_> {
    /// The command line for a module, but for its text.
    pub(super) fn options(&self, module: &PtxModule<'_>) -> Vec<OsString> {
        let settings = self.settings;
        let stored = module.options.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let stored: Vec<&[u8]> = stored.collect();
        let mut words: Vec<OsString> = vec!["-m64".into()];
        words.extend(stored.iter().map(|word| word.to_os_str_lossy().into_owned()));
        words.push(format!("-arch={}", self.target(module.target)).into());
        words.extend(settings.xptxas.iter().map(|word| word.to_os_str_lossy().into_owned()));
        if let Some(count) = settings.max_registers.filter(|count| *count > 0) {
            words.push(format!("-maxrregcount={count}").into());
        }
        if settings.debug {
            words.push("-g".into());
        }
        if let Some(level) = &settings.fast_compile {
            words.extend(["-Ofc".into(), level.to_os_str_lossy().into_owned()]);
        }
        if let Some(threads) = settings.split_compile.filter(|threads| *threads != 1) {
            words.extend(["-split-compile".into(), threads.to_string().into()]);
        }
        if let Some(is_on) = settings.stack_protector {
            words.extend(["-device-stack-protector".into(), is_on.to_string().into()]);
        }
        let is_stored = stored.iter().any(|word| matches!(*word, b"--compile-only" | b"-c"));
        if module.relocatable && !is_stored {
            words.push("-c".into());
        }
        words
    }

    /// Compiles a module, unless told to stop.
    pub(super) fn compile(
        &self,
        module: &PtxModule<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Option<Compiled> {
        let folder = match Folder::new(self.host) {
            Ok(folder) => folder,
            Err(error) => return Some(unavailable(no_folder(self.host, &error))),
        };
        let mut args = self.options(module);
        if module.text.len() <= LONGEST_ARGUMENT && !module.text.contains(&0) {
            args.push("--input-as-string".into());
            args.push(module.text.to_os_str_lossy().into_owned());
        } else {
            if let Err(error) = fs::write(folder.path().join(INPUT), &module.text) {
                return Some(unavailable(no_folder(self.host, &error)));
            }
            args.push(INPUT.into());
        }
        match self.tool(&args, folder.path()).run(stop) {
            Ok(ended) => {
                let mut compiled = self.outcome(module, ended, folder.path());
                if let Ok(image) = &mut compiled.output {
                    forget_input(image);
                }
                Some(compiled)
            }
            Err(RunError::Stopped) => None,
            Err(RunError::Start(error)) => Some(unavailable(self.not_started(&error))),
            Err(RunError::TimedOut { limit, said }) => {
                let message = format!(
                    "'{}' did not compile '{}' within {} seconds",
                    self.program.display(),
                    module.name,
                    limit.as_secs()
                );
                let diagnostic = Diagnostic::fatal(Code::CompilerTimeout, message);
                Some(failed(diagnostic, said))
            }
        }
    }

    /// What tells this ptxas from any other: its file, and what it says about itself, since the
    /// file may be a script that calls another.
    pub(super) fn identity(&self) -> io::Result<[u8; 32]> {
        let mut hash = Sha256::new();
        let mut file = File::open(self.program)?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                count => hash.update(buffer.get(..count).unwrap_or_default()),
            }
        }
        let version = self.version().map_err(io::Error::other)?;
        hash.update(version.as_bytes());
        Ok(hash.finalize().into())
    }

    /// What it answers to `--version`.
    fn version(&self) -> Result<&str, String> {
        let ask = || -> Result<String, String> {
            let folder = Folder::new(self.host).map_err(|error| error.to_string())?;
            let args = ["--version".into()];
            match self.tool(&args, folder.path()).run(&|| false) {
                Ok(ended) => Ok(ended.said),
                Err(_) => Err(format!("'{}' does not tell its version", self.program.display())),
            }
        };
        self.version.get_or_init(ask).as_deref().map_err(Clone::clone)
    }

    /// The target that nvlink compiles for: before CUDA 13.3 without the `f` of a family.
    fn target(&self, target: Arch) -> Arch {
        let is_older = || {
            let release = self.version().ok().and_then(|text| text.split("release ").nth(1));
            let minor = release.and_then(|text| text.strip_prefix("13.")?.split(',').next());
            minor.and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor < 3)
        };
        match target.variant {
            Variant::Family if is_older() => Arch { variant: Variant::Plain, ..target },
            _ => target,
        }
    }

    fn tool<'t>(&'t self, args: &'t [OsString], folder: &'t Path) -> Invocation<'t> {
        Invocation {
            program: self.program,
            args,
            folder,
            limit: self.settings.time_limit,
            interruptions: self.host.interruptions,
        }
    }

    fn outcome(&self, module: &PtxModule<'_>, ended: Ended, folder: &Path) -> Compiled {
        let Ended { status, said } = ended;
        if status.code() == Some(REJECTED) && !said.is_empty() && has_space(folder) {
            return Compiled { output: Err(Failure::Refused), messages: said };
        }
        if !status.success() {
            return failed(self.ended_badly(module, status, folder), said);
        }
        match fs::read(folder.join(OUTPUT)) {
            Ok(image) if is_whole(&image) => Compiled { output: Ok(image), messages: said },
            Ok(_) => failed(self.did_not_write(module, "a damaged cubin", folder), said),
            Err(_) => failed(self.did_not_write(module, "no cubin", folder), said),
        }
    }

    fn not_started(&self, error: &io::Error) -> Box<Diagnostic> {
        let message = format!("cannot run '{}'", self.program.display());
        Box::new(
            Diagnostic::fatal(Code::NoCompiler, message)
                .note(error)
                .note("--cuda-path names the CUDA toolkit to use"),
        )
    }

    /// It crashed, or gave up without a reason.
    fn ended_badly(&self, module: &PtxModule<'_>, status: ExitStatus, folder: &Path) -> Diagnostic {
        let (program, name) = (self.program.display(), &module.name);
        let how = match signal(status) {
            Some(signal) => format!("was ended by signal {signal}"),
            None => format!("failed ({status})"),
        };
        let message = format!("'{program}' {how} while it compiled '{name}'");
        let diagnostic = Diagnostic::fatal(Code::CompilerFailed, message);
        match signal(status) {
            _ if !has_space(folder) => diagnostic.note(no_space(folder)),
            Some(KILLED) => diagnostic.note("the system may have run out of memory"),
            _ => diagnostic
                .note("-Xptxas=-O1 or another release of the toolkit (--cuda-path) may help"),
        }
    }

    fn did_not_write(&self, module: &PtxModule<'_>, what: &str, folder: &Path) -> Diagnostic {
        let (program, name) = (self.program.display(), &module.name);
        let message = format!("'{program}' reported success but wrote {what} for '{name}'");
        let diagnostic = Diagnostic::fatal(Code::CompilerFailed, message);
        match has_space(folder) {
            false => diagnostic.note(no_space(folder)),
            true => diagnostic.note("check that it is the ptxas of a CUDA toolkit (--cuda-path)"),
        }
    }
}

/// Whether a cubin was written to its end. On a full disk ptxas writes a part and reports success.
fn is_whole(image: &[u8]) -> bool {
    Cubin::parse(image).is_ok_and(|cubin| cubin.segments().is_ok())
}

/// Takes the name of the file out of the note of a debug build: nvlink's compiler has no file.
/// The note becomes shorter and everything else stays where it is.
fn forget_input(image: &mut [u8]) {
    if let Some((header, section, note)) = shorter_note(image) {
        const SIZE: std::ops::Range<usize> = 32..40;
        let size = (note.len() as u64).to_le_bytes();
        let header = image.get_mut(header..).and_then(|header| header.get_mut(SIZE));
        if let Some(place) = header {
            place.copy_from_slice(&size);
        }
        if let Some(place) = image.get_mut(section..).and_then(|rest| rest.get_mut(..note.len())) {
            place.copy_from_slice(&note);
        }
    }
}

/// The header and the place of the section with the tool's note, and what belongs there, if the
/// note names the input.
fn shorter_note(image: &[u8]) -> Option<(usize, usize, Vec<u8>)> {
    let cubin = Cubin::parse(image).ok()?;
    let section = cubin.section_by_name(names::NOTE_TKINFO)?;
    let mut shorter = Vec::new();
    let mut is_named = false;
    for note in notes(section.data) {
        let Note { kind, desc, .. } = note.ok()?;
        let info = ToolInfo::parse(desc).ok().filter(|_| kind == NoteType::TKINFO);
        let options = info.and_then(|info| info.options.strip_prefix(INPUT.as_bytes()));
        match info.zip(options.and_then(|options| options.strip_prefix(b" "))) {
            Some((info, options)) => {
                is_named = true;
                write_note(kind, &ToolInfo { options, ..info }.to_desc(), &mut shorter);
            }
            None => write_note(kind, desc, &mut shorter),
        }
    }
    let header = cubin.header();
    let at = header.shoff + u64::from(header.shentsize) * u64::from(section.index.0);
    let place = |offset: u64| usize::try_from(offset).ok();
    is_named.then_some((place(at)?, place(section.offset)?, shorter))
}

/// SIGKILL.
const KILLED: i32 = 9;

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Whether files can still be written: if not, no message of a compiler can be trusted.
fn has_space(folder: &Path) -> bool {
    fs::write(folder.join("space"), [0; 4096]).is_ok()
}

fn no_space(folder: &Path) -> String {
    let parent = folder.parent().unwrap_or(folder).display();
    format!("'{parent}' is full; the environment variable TMPDIR names another folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_forgets_the_name_of_the_input() {
        let fixture =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/scale.sm_90.cubin");
        let original = fs::read(fixture).unwrap();
        let mut same = original.clone();
        forget_input(&mut same);
        assert!(same == original);

        // The same file with a longer note behind everything else.
        let cubin = Cubin::parse(&original).unwrap();
        let section = cubin.section_by_name(names::NOTE_TKINFO).unwrap();
        let note = notes(section.data).next().unwrap().unwrap();
        let info = ToolInfo::parse(note.desc).unwrap();
        let options = [b"application ptx input ", info.options].concat();
        let mut longer = Vec::new();
        write_note(note.kind, &ToolInfo { options: &options, ..info }.to_desc(), &mut longer);
        let mut image = original.clone();
        let at = cubin.header().shoff as usize + 64 * section.index.0 as usize;
        image[at + 24..at + 32].copy_from_slice(&(original.len() as u64).to_le_bytes());
        image[at + 32..at + 40].copy_from_slice(&(longer.len() as u64).to_le_bytes());
        image.extend_from_slice(&longer);

        forget_input(&mut image);
        let patched = Cubin::parse(&image).unwrap();
        let data = |cubin: &Cubin<'_>| -> Vec<Vec<u8>> {
            cubin.sections().iter().map(|section| section.data.to_vec()).collect()
        };
        assert!(data(&patched) == data(&cubin));
    }

    #[test]
    fn a_cubin_that_was_cut_off_is_not_whole() {
        let fixture =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/scale.sm_90.cubin");
        let image = fs::read(fixture).unwrap();
        assert!(is_whole(&image));
        for size in (0..image.len()).step_by(97).chain([image.len() - 1]) {
            assert!(!is_whole(&image[..size]), "{size}");
        }
    }
}
