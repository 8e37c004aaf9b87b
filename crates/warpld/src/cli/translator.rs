//! Translates code that needs a compiler, with one that the user names.
//!
//! NVIDIA's linker translates an object on its own when it is asked for a relocatable link (`-r`)
//! of only that object for the other target; linking the result yields the same code as a link in
//! one step (measured on double-precision code, sm_100 to sm_103).

use cubin::Arch;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io, process};

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
) -> Result<Vec<u8>, TranslateError> {
    let tool = match tool.file_name().is_some_and(|name| name == "ptxas") {
        true => tool.with_file_name("nvlink"),
        false => tool.to_owned(),
    };
    let folder = Folder::new()?;
    let (input, output) = (folder.0.join("input.cubin"), folder.0.join("output.cubin"));
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source| TranslateError::File { path, source }
    };
    fs::write(&input, image).map_err(file(&input))?;
    let mut command = Command::new(&tool);
    command.arg("-r").arg(format!("-arch={target}")).arg(&input).arg("-o").arg(&output);
    if debug {
        command.arg("-g");
    }
    let run = |source| TranslateError::Run { tool: tool.clone(), source };
    let done = command.output().map_err(run)?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        return Err(TranslateError::Refused { tool: tool.clone(), status: done.status, said });
    }
    fs::read(&output).map_err(file(&output))
}

/// A directory that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, TranslateError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut name = OsString::from(format!("warpld-{}-", process::id()));
        name.push(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
        let path = env::temp_dir().join(name);
        let made = fs::create_dir(&path);
        made.map_err(|source| TranslateError::File { path: path.clone(), source })?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files left in the temporary directory do no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
