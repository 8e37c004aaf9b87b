//! What a shim remembers of the toolkit that it was made from.

use libwarpld::Release;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The file in the shim's root.
const FILE: &str = "warpld-shim.txt";

const HEADER: &str = "# This toolkit was made by 'warpld shim': its bin/nvlink is warpld.";

/// More links than this in a row lead nowhere.
const MAX_LINKS: usize = 40;

/// A toolkit whose linker is warpld.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shim {
    /// Where it is.
    pub root: PathBuf,
    /// The toolkit that it was made from.
    pub toolkit: PathBuf,
    /// The version of that toolkit's nvlink, if it was known.
    pub version: Option<String>,
}

impl Shim {
    /// The shim that the linker was called through: by its path, or by its name alone as nvcc
    /// does, so that it is the first one in `PATH`.
    pub fn called_by(program: &OsStr) -> Option<Self> {
        let program = Path::new(program);
        if program.file_stem()? != "nvlink" {
            return None;
        }
        if program.components().nth(1).is_some() || program.is_absolute() {
            return Self::behind(program);
        }
        let folders = env::var_os("PATH")?;
        let mut files = env::split_paths(&folders).map(|folder| folder.join(program));
        Self::behind(&files.find(|file| file.is_file())?)
    }

    /// The shim that a linker belongs to. It may be named by a link to the shim's, whose own
    /// link leads to warpld.
    fn behind(linker: &Path) -> Option<Self> {
        let mut linker = linker.to_owned();
        for _ in 0..MAX_LINKS {
            let bin = linker.parent()?;
            let bin = if bin.as_os_str().is_empty() { Path::new(".") } else { bin };
            if let Some(shim) = Self::at(&bin.join("..")) {
                return Some(shim);
            }
            linker = bin.join(fs::read_link(&linker).ok()?);
        }
        None
    }

    /// The shim in a folder.
    pub fn at(root: &Path) -> Option<Self> {
        let text = fs::read_to_string(root.join(FILE)).ok()?;
        let value = |key: &str| {
            let mut pairs = text.lines().filter_map(|line| line.split_once(": "));
            pairs.find(|(name, _)| *name == key).map(|(_, value)| value.trim().to_owned())
        };
        Some(Self {
            root: fs::canonicalize(root).ok()?,
            toolkit: value("toolkit")?.into(),
            version: value("release"),
        })
    }

    /// Writes what is remembered.
    pub fn write(&self) -> io::Result<()> {
        let mut text = format!("{HEADER}\ntoolkit: {}\n", self.toolkit.display());
        if let Some(version) = &self.version {
            text.push_str(&format!("release: {version}\n"));
        }
        let file = self.root.join(FILE);
        if fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_symlink()) {
            fs::remove_file(&file)?;
        }
        fs::write(file, text)
    }

    /// The release of the toolkit, if it is known here.
    pub fn release(&self) -> Option<&'static Release> {
        Release::of_version(self.version.as_deref()?)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn shim(root: &Path, version: Option<&str>) -> Shim {
        fs::create_dir_all(root.join("bin")).unwrap();
        let root = fs::canonicalize(root).unwrap();
        let shim =
            Shim { root, toolkit: "/opt/cuda 13".into(), version: version.map(str::to_owned) };
        shim.write().unwrap();
        shim
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        for version in [Some("13.4.92"), None] {
            let shim = shim(folder.path(), version);
            assert_eq!(Shim::at(folder.path()), Some(shim));
        }
    }

    #[test]
    fn links_to_its_linker_lead_to_the_shim() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let shim = shim(&dir.join("shim"), Some("13.2.86"));
        fs::create_dir_all(dir.join("other")).unwrap();
        fs::write(dir.join("other/warpld"), "").unwrap();
        let linker = dir.join("shim/bin/nvlink");
        symlink("../../other/warpld", &linker).unwrap();
        symlink("../shim/bin/nvlink", dir.join("other/nvlink")).unwrap();
        for called in [linker, dir.join("other/nvlink")] {
            assert_eq!(Shim::called_by(called.as_os_str()), Some(shim.clone()));
        }
        assert_eq!(Shim::called_by(dir.join("other/warpld").as_os_str()), None);
    }

    #[test]
    fn every_release_is_known_and_unknown_updates_stand_for_the_last() {
        let of = |version: &str| {
            let version = Some(version.to_owned());
            Shim { root: "".into(), toolkit: "".into(), version }.release()
        };
        for release in Release::ALL {
            assert_eq!(of(release.version), Some(release));
        }
        assert_eq!(of("13.2.999"), Some(&Release::CUDA_13_2));
        assert_eq!(of("13.4"), Some(&Release::CUDA_13_4));
        assert_eq!(of("13.99.1"), None);
        assert_eq!(of("12.9.86"), None);
    }
}
