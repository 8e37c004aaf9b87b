//! Translates code that needs a compiler, with one that the user names.
//!
//! NVIDIA's linker translates an object on its own when it is asked for a relocatable link (`-r`)
//! of only that object for the other target; linking the result yields the same code as a link in
//! one step (measured on double-precision code, sm_100 to sm_103).

use crate::files::guard;
use cubin::Arch;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, process};
use warpld_compilers::compile::{Ended, Folder, Invocation, RunError};

/// Why a translation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranslateError {
    /// The program could not be started.
    #[error("cannot run '{}': {source}", tool.display())]
    Run {
        /// The program.
        tool: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It failed.
    #[error("'{}' failed ({status}): {said}", tool.display())]
    Refused {
        /// The program.
        tool: PathBuf,
        /// How it ended.
        status: process::ExitStatus,
        /// Its messages.
        said: String,
    },
    /// It took too long.
    #[error("'{}' did not end within {} seconds", tool.display(), limit.as_secs())]
    TimedOut {
        /// The program.
        tool: PathBuf,
        /// How long it had.
        limit: Duration,
    },
    /// A signal is to end this process.
    #[error("the link was interrupted")]
    Interrupted,
    /// A temporary file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Has `tool` translate one image for `target`. `ptxas` does not read objects, so the linker next
/// to it is run instead.
pub fn translate(
    tool: &Path,
    image: &[u8],
    target: Arch,
    debug: bool,
    limit: Option<Duration>,
) -> Result<Vec<u8>, TranslateError> {
    let tool = match tool.file_name().is_some_and(|name| name == "ptxas") {
        true => tool.with_file_name("nvlink"),
        false => tool.to_owned(),
    };
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| TranslateError::File { path, source }
    };
    let host = guard::host();
    let folder = Folder::new(&host).map_err(file(&host.temporary))?;
    let (input, output) = (folder.path().join("input.cubin"), folder.path().join("output.cubin"));
    fs::write(&input, image).map_err(file(&input))?;
    let mut args: Vec<OsString> = vec!["-r".into(), format!("-arch={target}").into()];
    args.extend([input.into(), "-o".into(), output.clone().into()]);
    if debug {
        args.push("-g".into());
    }
    let run = Invocation {
        program: &tool,
        args: &args,
        // The name of the tool may be one to look for in `PATH`, or a relative one.
        folder: Path::new("."),
        limit,
        interruptions: host.interruptions,
    };
    let Ended { status, said } = run.run(&|| false).map_err(|error| match error {
        RunError::Start(source) => TranslateError::Run { tool: tool.clone(), source },
        RunError::TimedOut { limit, .. } => TranslateError::TimedOut { tool: tool.clone(), limit },
        RunError::Stopped => TranslateError::Interrupted,
    })?;
    if !status.success() {
        let said = said.trim().to_owned();
        return Err(TranslateError::Refused { tool: tool.clone(), status, said });
    }
    fs::read(&output).map_err(file(&output))
}
