//! nvlink as a compiler of LTO-IR: it takes the inputs of the link and stops at the text.

use super::super::folder::Folder;
use super::super::process::{Ended, Invocation};
use super::super::{failed, no_folder, unavailable};
use super::LtoCompiler;
use super::endings::FrontEndProgram;
use super::jit::numbers;
use bstr::ByteSlice;
use libwarpld::compile::{Compiled, LtoProgram};
use libwarpld::{Code, Diagnostic};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Longer command lines go through an options file: Linux allows 2 MiB, with the environment.
const LONGEST_LINE: usize = 512 << 10;

/// How nvlink begins its last line if it gives up.
const FATAL: &str = "nvlink fatal   : ";

/// Loses against inputs that make it impossible, but must not meet its opposite.
const FORCE_WHOLE: &str = "-force-whole-lto";

/// What the selection of inputs has said already, in the same words.
const SAID_BEFORE: [&str; 6] = [
    "nvlink info    : requested LTO but ",
    "nvlink info    : Some objects do not have ",
    "nvlink info    : ignore -use-host-info ",
    "nvlink info    : Input '",
    "nvlink warning : SM Arch ",
    "nvlink warning : Skipping incompatible ",
];

impl LtoCompiler {
    pub(super) fn by_nvlink(&self, nvlink: &Path, program: &LtoProgram<'_>) -> Compiled {
        let folder = match Folder::new(&self.host) {
            Ok(folder) => folder,
            Err(error) => return unavailable(no_folder(&self.host, &error)),
        };
        let text = folder.path().join("lto.ptx");
        let mut args = self.arguments(program);
        args.extend(["-emit-ptx".into(), "-o".into(), text.clone().into()]);
        if args.iter().map(|arg| arg.len() + 1).sum::<usize>() > LONGEST_LINE {
            match options_file(folder.path(), &args) {
                Ok(short) => args = short,
                Err(error) => return unavailable(no_folder(&self.host, &error)),
            }
        }
        // Inputs are named as they are on the command line, so it runs in the current folder.
        let here = match std::env::current_dir() {
            Ok(here) => here,
            Err(error) => return unavailable(front_end(nvlink).cannot_run(&error)),
        };
        let nvlink = &std::path::absolute(nvlink).unwrap_or_else(|_| nvlink.to_owned());
        let run = Invocation {
            program: nvlink,
            args: &args,
            folder: &here,
            limit: self.compile.time_limit,
            interruptions: self.host.interruptions,
        };
        match run.run(&|| false) {
            Ok(ended) => outcome(nvlink, ended, &text),
            Err(error) => front_end(nvlink).did_not_end(error),
        }
    }

    /// The command line, but for the output. A whole program depends on all inputs: on what their
    /// host code uses, and on the device runtime. One that others are linked to depends on its
    /// modules alone, and nvlink would compile the PTX of other inputs for nothing.
    fn arguments(&self, program: &LtoProgram<'_>) -> Vec<OsString> {
        let settings = &self.settings;
        let mut args = settings.words.clone();
        if let Some(count) = program.registers {
            args.push(format!("-maxrregcount={count}").into());
        }
        if program.partial {
            args.retain(|arg| arg != FORCE_WHOLE);
            args.push("-force-partial-lto".into());
            args.extend(files(program).into_iter().map(PathBuf::into_os_string));
        } else {
            args.extend(settings.inputs.iter().map(|input| input.clone().into_os_string()));
            args.extend(settings.libraries.iter().cloned());
        }
        args
    }
}

/// The files that modules come from, each once: `lib.a` for `lib.a:a.o` and `lib.a:b.o`.
fn files(program: &LtoProgram<'_>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for module in &program.modules {
        let name = &*module.name;
        let ends = name.match_indices(':').map(|(at, _)| at);
        let prefixes = ends.filter_map(|at| name.get(..at)).rev();
        let file = std::iter::once(name).chain(prefixes).find(|path| Path::new(path).is_file());
        let (file, is_member) = match file {
            Some(file) => (file, file.len() < name.len()),
            None => (name, false),
        };
        if !(is_member && files.last().is_some_and(|last| last == Path::new(file))) {
            files.push(file.into());
        }
    }
    files
}

/// Writes arguments to a file for nvlink to read.
fn options_file(folder: &Path, args: &[OsString]) -> io::Result<Vec<OsString>> {
    let mut text = Vec::new();
    for arg in args {
        for &byte in arg.as_encoded_bytes() {
            if matches!(byte, b'\\' | b' ' | b'\t') {
                text.push(b'\\');
            }
            text.push(byte);
        }
        text.push(b'\n');
    }
    let path = folder.join("options");
    fs::write(&path, text)?;
    Ok(vec!["-optf".into(), path.into()])
}

fn outcome(nvlink: &Path, ended: Ended, text: &Path) -> Compiled {
    let Ended { status, said } = ended;
    let (messages, fatal) = split(&said);
    if let Some(fatal) = fatal {
        return failed(Diagnostic::fatal(Code::LtoFailed, fatal), messages);
    }
    let badly = |what: &dyn std::fmt::Display| {
        let message = format!("'{}' {what} while it optimized", nvlink.display());
        let diagnostic = Diagnostic::fatal(Code::CompilerFailed, message)
            .note("another release of the toolkit (--cuda-path) may help");
        failed(diagnostic, messages.clone())
    };
    if !status.success() {
        return badly(&format_args!("failed ({status})"));
    }
    match fs::read(text) {
        // The text is written with its closing NUL.
        Ok(mut text) if !text.is_empty() => {
            text.truncate(text.trim_end_with(|c| c == '\0').len());
            Compiled { output: Ok(text), messages }
        }
        _ => badly(&"wrote nothing"),
    }
}

/// What nvlink said, but for what was said before it, and its last words.
fn split(said: &str) -> (String, Option<String>) {
    let mut messages = String::new();
    let mut fatal = None;
    for line in said.lines() {
        if let Some(words) = line.strip_prefix(FATAL) {
            fatal = Some(words.to_owned());
        } else if !SAID_BEFORE.iter().any(|words| line.starts_with(words)) {
            messages.push_str(line);
            messages.push('\n');
        }
    }
    (messages, fatal)
}

fn front_end(nvlink: &Path) -> FrontEndProgram<'_> {
    let remedy = "--cuda-path names the CUDA toolkit to use";
    FrontEndProgram { program: nvlink, optimizer: nvlink, remedy }
}

/// What is wrong if nvlink and ptxas, each with its version, are of different releases.
pub(super) fn other_release(
    (nvlink, its): (&Path, &str),
    (ptxas, other): (&Path, &str),
) -> Option<Diagnostic> {
    if numbers(its)? == numbers(other)? {
        return None;
    }
    let (nvlink, ptxas) = (nvlink.display(), ptxas.display());
    let message =
        format!("'{nvlink}' is of CUDA {its} and '{ptxas}' of {other}, which refused its PTX");
    Some(
        Diagnostic::fatal(Code::LtoFailed, message)
            .note("the toolkit is of two releases; --cuda-path names another"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolkit_of_two_releases_is_told_of() {
        let [nvlink, ptxas] = ["bin/nvlink", "bin/ptxas"].map(Path::new);
        let told = |its, other| other_release((nvlink, its), (ptxas, other));
        assert_eq!(told("13.4.92", "13.4.59"), None);
        let message = told("13.4.92", "13.0.88").expect("a message").message;
        assert_eq!(
            message,
            "'bin/nvlink' is of CUDA 13.4.92 and 'bin/ptxas' of 13.0.88, which refused its PTX"
        );
    }

    #[test]
    fn last_words_are_told_apart() {
        let said = "nvlink info    : requested LTO but 'b.o' not built for LTO so doing partial LTO\n\
                    nvlink info    : a.o: link error: error: twice\n\nNVVM_ERROR_COMPILATION\n\
                    nvlink fatal   : elfLink JIT compile failed\n";
        let (messages, fatal) = split(said);
        assert_eq!(
            messages,
            "nvlink info    : a.o: link error: error: twice\n\nNVVM_ERROR_COMPILATION\n"
        );
        assert_eq!(fatal.as_deref(), Some("elfLink JIT compile failed"));
    }
}
