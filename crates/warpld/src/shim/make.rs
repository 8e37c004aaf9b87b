//! Making a shim.

use crate::subcommand;
use clap::{Parser, ValueHint};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;
use warpld_compilers::toolkit::{self, Shim};

/// Creates DEST, a toolkit of links to CUDA_DIR whose bin/nvlink is this program
///
/// Then use DEST/bin/nvcc, or -DCMAKE_CUDA_COMPILER=DEST/bin/nvcc. Links through it follow the
/// release of CUDA_DIR.
#[derive(Debug, Parser)]
#[command(name = "warpld shim", version)]
pub struct Args {
    /// The toolkit
    #[arg(value_name = "CUDA_DIR", value_hint = ValueHint::DirPath)]
    toolkit: PathBuf,
    /// The folder to make, or an earlier shim to replace
    #[arg(value_name = "DEST", value_hint = ValueHint::DirPath)]
    dest: PathBuf,
}

/// Why a shim could not be created.
#[derive(Debug, Error)]
enum ShimError {
    #[error("'{}' is no CUDA toolkit: it has no bin/nvcc", .0.display())]
    NoToolkit(PathBuf),
    #[error("'{}' exists and was not made by 'warpld shim'", .0.display())]
    Exists(PathBuf),
    #[error("'{}' cannot stand in for itself", .0.display())]
    Itself(PathBuf),
    #[error("'{}': {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Runs the command; returns the exit status.
pub fn main(args: Vec<OsString>) -> i32 {
    let Args { toolkit, dest } = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let made = std::env::current_exe()
        .map_err(|source| ShimError::Io { path: "warpld".into(), source })
        .and_then(|linker| make(&toolkit, &dest, &linker));
    match made {
        Ok(shim) => {
            let nvcc = dest.join("bin/nvcc");
            let release = shim.release().map(|release| format!(" as CUDA {}", release.version));
            let release = release.unwrap_or_default();
            let _ = writeln!(io::stdout(), "{} now links with warpld{release}", nvcc.display());
            if let Some(warning) = warning(&shim) {
                subcommand::warning(warning);
            }
            0
        }
        Err(error) => {
            subcommand::fatal(error);
            1
        }
    }
}

/// What is to be said about a toolkit whose release is not known.
fn warning(shim: &Shim) -> Option<String> {
    if shim.release().is_some() {
        return None;
    }
    let toolkit = shim.toolkit.display();
    let reason = match &shim.version {
        Some(version) => format!("the release of '{toolkit}', {version}, is not known here"),
        None => format!("the release of '{toolkit}' cannot be found out"),
    };
    Some(format!("{reason}: links follow the newest release among their inputs"))
}

fn make(toolkit: &Path, dest: &Path, linker: &Path) -> Result<Shim, ShimError> {
    if !toolkit.join("bin/nvcc").exists() {
        return Err(ShimError::NoToolkit(toolkit.to_owned()));
    }
    let named = fs::canonicalize(toolkit).map_err(|e| io_error(toolkit, e))?;
    let toolkit = toolkit::behind(named.clone());
    if !toolkit.join("bin/nvcc").exists() {
        return Err(ShimError::NoToolkit(toolkit));
    }
    if fs::canonicalize(dest).is_ok_and(|dest| dest == named || dest == toolkit) {
        return Err(ShimError::Itself(dest.to_owned()));
    }
    let bin = dest.join("bin");
    if dest.exists() && !is_replaceable(dest) {
        return Err(ShimError::Exists(dest.to_owned()));
    }
    fs::create_dir_all(&bin).map_err(|e| io_error(&bin, e))?;
    link_entries(&toolkit, dest, "bin")?;
    link_entries(&toolkit.join("bin"), &bin, "nvlink")?;
    link(linker, &bin.join("nvlink"))?;
    let version = toolkit::version(&toolkit);
    let shim = Shim { root: dest.to_owned(), toolkit, version };
    shim.write().map_err(|e| io_error(dest, e))?;
    Ok(shim)
}

/// An empty directory, or an earlier shim: its `bin/nvlink` is a link.
fn is_replaceable(dest: &Path) -> bool {
    let empty = fs::read_dir(dest).is_ok_and(|mut entries| entries.next().is_none());
    empty || fs::symlink_metadata(dest.join("bin/nvlink")).is_ok_and(|meta| meta.is_symlink())
}

/// Links everything in `from` except `but` into `into`.
fn link_entries(from: &Path, into: &Path, but: &str) -> Result<(), ShimError> {
    for entry in fs::read_dir(from).map_err(|e| io_error(from, e))? {
        let name = entry.map_err(|e| io_error(from, e))?.file_name();
        if name != OsStr::new(but) {
            link(&from.join(&name), &into.join(&name))?;
        }
    }
    Ok(())
}

/// Makes `at` a link to `target`, replacing an older link.
fn link(target: &Path, at: &Path) -> Result<(), ShimError> {
    if fs::symlink_metadata(at).is_ok_and(|meta| meta.is_symlink()) {
        fs::remove_file(at).map_err(|e| io_error(at, e))?;
    }
    symlink(target, at).map_err(|e| io_error(at, e))
}

#[cfg(unix)]
fn symlink(target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
fn symlink(target: &Path, at: &Path) -> io::Result<()> {
    // Elsewhere links need privileges, copies do not.
    if target.is_dir() {
        fs::create_dir_all(at)?;
        for entry in fs::read_dir(target)? {
            let name = entry?.file_name();
            symlink(&target.join(&name), &at.join(&name))?;
        }
        return Ok(());
    }
    fs::copy(target, at).map(|_| ())
}

fn io_error(path: &Path, source: io::Error) -> ShimError {
    ShimError::Io { path: path.to_owned(), source }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn toolkit(dir: &Path) -> PathBuf {
        let root = dir.join("cuda");
        fs::create_dir_all(root.join("bin/crt")).unwrap();
        fs::create_dir_all(root.join("include")).unwrap();
        for file in ["bin/nvcc", "bin/nvlink", "bin/ptxas", "include/cuda.h"] {
            fs::write(root.join(file), file).unwrap();
        }
        root
    }

    #[test]
    fn everything_but_the_linker_is_the_toolkits() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let (cuda, dest, linker) = (toolkit(dir), dir.join("shim"), dir.join("warpld"));
        fs::write(&linker, "linker").unwrap();
        for _ in 0..2 {
            make(&cuda, &dest, &linker).unwrap();
            assert_eq!(fs::read(dest.join("bin/nvlink")).unwrap(), b"linker");
            assert_eq!(fs::read(dest.join("bin/ptxas")).unwrap(), b"bin/ptxas");
            assert_eq!(fs::read(dest.join("include/cuda.h")).unwrap(), b"include/cuda.h");
        }
        assert_eq!(fs::read(cuda.join("bin/nvlink")).unwrap(), b"bin/nvlink");
    }

    #[test]
    fn nothing_of_the_users_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let cuda = toolkit(dir);
        let linker = dir.join("warpld");
        let refused = make(dir, &dir.join("new"), &linker);
        assert!(matches!(refused, Err(ShimError::NoToolkit(_))));
        let other = dir.join("other");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("file"), "mine").unwrap();
        assert!(matches!(make(&cuda, &other, &linker), Err(ShimError::Exists(_))));
        assert!(matches!(make(&cuda, &cuda, &linker), Err(ShimError::Itself(_))));
    }

    fn script(path: &Path, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        fs::write(path, format!("#!/bin/sh\necho '{text}'\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_release_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let (cuda, dest, linker) = (toolkit(dir), dir.join("shim"), dir.join("warpld"));
        script(&cuda.join("bin/nvlink"), "release 13.2, V13.2.78");
        script(&linker, "warpld 9.9: V13.4.92");
        let shim = make(&cuda, &dest, &linker).unwrap();
        assert_eq!(shim.release(), Some(&libwarpld::Release::CUDA_13_2_78));
        assert_eq!(warning(&shim), None);
        assert_eq!(Shim::at(&dest).unwrap().version.as_deref(), Some("13.2.78"));
        // A shim of a shim is one of the toolkit, with and without a record.
        let second = make(&dest, &dir.join("second"), &linker).unwrap();
        assert_eq!(second.toolkit, shim.toolkit);
        fs::remove_file(dest.join("warpld-shim.txt")).unwrap();
        let third = make(&dest, &dir.join("third"), &linker).unwrap();
        assert_eq!((&third.toolkit, &third.version), (&shim.toolkit, &shim.version));
        assert!(matches!(make(&dest, &dest, &linker), Err(ShimError::Itself(_))));
        let onto_toolkit = make(&dest, &cuda, &linker);
        assert!(matches!(onto_toolkit, Err(ShimError::Itself(_))));
    }

    #[test]
    fn an_unknown_release_is_worth_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let (cuda, linker) = (toolkit(dir), dir.join("warpld"));
        fs::write(&linker, "linker").unwrap();
        let shim = make(&cuda, &dir.join("a"), &linker).unwrap();
        assert!(warning(&shim).unwrap().contains("cannot be found out"));
        fs::write(cuda.join("version.json"), r#"{"cuda_nvcc": {"version": "12.9.86"}}"#).unwrap();
        let shim = make(&cuda, &dir.join("b"), &linker).unwrap();
        assert!(warning(&shim).unwrap().contains("12.9.86, is not known here"));
    }
}
