//! nvlink as a compiler of LTO-IR: it takes the inputs of the link and stops at the text.

use super::super::folder::Folder;
use super::super::process::{Ended, RunError, Tool};
use super::super::{failed, unavailable};
use super::LtoCompiler;
use bstr::ByteSlice;
use libwarpld::compile::{Compiled, LtoProgram};
use libwarpld::{Code, Diagnostic};
use std::ffi::{OsStr, OsString};
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
        let folder = match Folder::new(&self.temporary) {
            Ok(folder) => folder,
            Err(error) => return unavailable(self.no_folder(&error)),
        };
        let text = folder.path().join("lto.ptx");
        let mut args = self.arguments(program);
        args.extend(["-emit-ptx".into(), "-o".into(), text.clone().into()]);
        if args.iter().map(|arg| arg.len() + 1).sum::<usize>() > LONGEST_LINE {
            match options_file(folder.path(), &args) {
                Ok(short) => args = short,
                Err(error) => return unavailable(self.no_folder(&error)),
            }
        }
        // Inputs are named as they are on the command line, so it runs in the current folder.
        let here = match std::env::current_dir() {
            Ok(here) => here,
            Err(error) => return unavailable(cannot_run(nvlink, &error)),
        };
        let nvlink = &std::path::absolute(nvlink).unwrap_or_else(|_| nvlink.to_owned());
        let tool = Tool { program: nvlink, args: &args, folder: &here, limit: self.limit };
        match tool.run(&|| false) {
            Ok(ended) => outcome(nvlink, ended, &text),
            Err(RunError::Start(error)) => unavailable(cannot_run(nvlink, &error)),
            Err(RunError::TimedOut { limit, said }) => {
                let seconds = limit.as_secs();
                let message =
                    format!("'{}' did not optimize within {seconds} seconds", nvlink.display());
                let diagnostic = Diagnostic::fatal(Code::CompilerTimeout, message)
                    .note("--compiler-timeout sets the limit");
                failed(diagnostic, said)
            }
            Err(RunError::Stopped) => {
                let message = "the link was interrupted";
                unavailable(Box::new(Diagnostic::fatal(Code::CompilerFailed, message)))
            }
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

    fn no_folder(&self, error: &io::Error) -> Box<Diagnostic> {
        let folder = self.temporary.display();
        let message = format!("cannot write a temporary file in '{folder}'");
        Box::new(
            Diagnostic::fatal(Code::WriteFailed, message)
                .note(error)
                .note("compilers need one; the environment variable TMPDIR names the folder"),
        )
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

fn cannot_run(program: &Path, error: &io::Error) -> Box<Diagnostic> {
    let message = format!("cannot run '{}'", OsStr::new(program).display());
    Box::new(
        Diagnostic::fatal(Code::NoCompiler, message)
            .note(error)
            .note("--cuda-path names the CUDA toolkit to use"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
