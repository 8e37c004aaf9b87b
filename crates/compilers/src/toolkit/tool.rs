//! A program or a library of a toolkit.

use super::version::{answer, is_version, is_warpld, of_answer};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

/// A program.
#[derive(Debug)]
pub struct Tool {
    path: PathBuf,
    /// What it answers to `--version`.
    answer: OnceLock<Option<String>>,
}

impl Tool {
    /// The program of this name in a folder, if there is one.
    pub(super) fn within(folder: &Path, name: &str) -> Option<Self> {
        let path = folder.join(format!("{name}{}", env::consts::EXE_SUFFIX));
        is_executable(&path).then(|| Self { path, answer: OnceLock::new() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its version, such as `13.4.92`. The first call starts the program.
    pub fn version(&self) -> Option<String> {
        of_answer(self.answer()?)
    }

    fn answer(&self) -> Option<&str> {
        self.answer.get_or_init(|| answer(&self.path)).as_deref()
    }

    /// Whether it is warpld, of whatever version and under whatever name.
    pub(super) fn is_warpld(&self) -> bool {
        let this = env::current_exe().and_then(fs::canonicalize);
        let same = this.is_ok_and(|this| fs::canonicalize(&self.path).is_ok_and(|it| it == this));
        same || self.answer().is_some_and(is_warpld)
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// A shared library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Where it is.
    pub path: PathBuf,
    /// The number that ends its name: `13` of `libnvJitLink.so.13`.
    pub major: u32,
}

impl Library {
    /// The newest library of this name in a folder: `libnvJitLink` for `libnvJitLink.so.13`.
    pub(super) fn within(folder: &Path, name: &str) -> Option<Self> {
        let files = fs::read_dir(folder).ok()?.flatten();
        let libraries = files.filter_map(|file| {
            let file_name = file.file_name();
            let rest = file_name.to_str()?.strip_prefix(name)?.strip_prefix(".so.")?;
            Some(Self { path: file.path(), major: rest.parse().ok()? })
        });
        libraries.filter(|library| library.path.is_file()).max_by_key(|library| library.major)
    }

    /// Its version, if its files tell: the name of the file that it is a link to, or that of the
    /// Python package which brought it. The library itself is not asked.
    pub fn version(&self) -> Option<String> {
        self.version_by_link().or_else(|| self.version_by_wheel())
    }

    /// `13.0.88` of the link `libnvJitLink.so.13 -> libnvJitLink.so.13.0.88`.
    fn version_by_link(&self) -> Option<String> {
        let file = fs::canonicalize(&self.path).ok()?;
        let (_, version) = file.file_name()?.to_str()?.split_once(".so.")?;
        (is_version(version) && version.split('.').count() == 3).then(|| version.to_owned())
    }

    /// `13.4.92` of `nvidia_nvjitlink-13.4.92.dist-info`, beside `nvidia/cu13/lib`.
    fn version_by_wheel(&self) -> Option<String> {
        let name = self.path.file_name()?.to_str()?.strip_prefix("lib")?;
        let package = format!("nvidia_{}", name.split_once('.')?.0.to_lowercase());
        let packages = self.path.ancestors().nth(4)?;
        fs::read_dir(packages).ok()?.flatten().find_map(|entry| {
            let name = entry.file_name();
            let (name, version) = name.to_str()?.strip_suffix(".dist-info")?.rsplit_once('-')?;
            let same = name == package || name.strip_prefix(&package) == Some("_cu13");
            (same && is_version(version)).then(|| version.to_owned())
        })
    }
}
