//! Where NVIDIA's libnvJitLink may be. It is not opened here: that takes a process that can load
//! libraries.

use super::folder::Toolkit;
use super::places::{Environment, Origin, Place};
use super::search::Search;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Names the library to use, or its folder. No other place counts then.
pub(super) const VARIABLE: &str = "WARPLD_NVJITLINK";

/// The folders below `site-packages` in which packages have it.
const PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/nvjitlink/lib"];

/// Where the dynamic loader looks.
const SYSTEM: [&str; 5] = ["usr/local/lib", "lib64", "usr/lib64", "lib", "usr/lib"];

/// Files that may be the library, and where they were looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvJitLinkFiles {
    /// In the order in which to try them.
    pub files: Vec<PathBuf>,
    /// All places, those without a file too.
    pub looked_in: Vec<String>,
}

impl NvJitLinkFiles {
    fn look(
        &mut self,
        place: String,
        folders: impl IntoIterator<Item = PathBuf>,
        names: &[String],
    ) {
        for folder in folders {
            let files = names.iter().map(|name| folder.join(name)).filter(|file| file.is_file());
            for file in files {
                if !self.files.contains(&file) {
                    self.files.push(file);
                }
            }
        }
        self.looked_in.push(place);
    }
}

impl Search {
    /// Files that may be libnvJitLink of one of these major releases, the first one preferred.
    /// `library` is the file that asks: packages of Python have it beside NVIDIA's.
    pub fn nvjitlink_files(&self, majors: &[u32], library: Option<&Path>) -> NvJitLinkFiles {
        let names: Vec<String> = majors.iter().map(|m| format!("libnvJitLink.so.{m}")).collect();
        let environment = self.environment();
        let mut found = NvJitLinkFiles::default();
        if let Some(named) = environment.warpld_nvjitlink.as_deref().map(Path::new) {
            let place = format!("{VARIABLE}={}", named.display());
            match named.is_file() {
                true => {
                    found.files.push(named.to_owned());
                    found.looked_in.push(place);
                }
                false => found.look(place, [named.to_owned()], &names),
            }
            return found;
        }
        found.looked_in.push(format!("{VARIABLE} (not set)"));
        for place in self.places() {
            let folders = place.toolkit.iter().flat_map(Toolkit::library_folders);
            found.look(place.describe(), folders, &names);
        }
        if self.places().iter().any(is_only) {
            return found;
        }
        let mut packages = environment.site_packages();
        packages.extend(library.and_then(own_packages));
        let folders = packages.iter().flat_map(|folder| PACKAGES.map(|name| folder.join(name)));
        found.look("Python's nvidia/nvjitlink".into(), folders, &names);
        found.look("the folders of the dynamic loader".into(), loader(&environment), &names);
        found
    }
}

/// Whether the user names the only place.
fn is_only(place: &Place) -> bool {
    matches!(place.origin, Origin::Option | Origin::Variable("WARPLD_CUDA_PATH"))
}

/// The `site-packages` that a file is in.
fn own_packages(file: &Path) -> Option<PathBuf> {
    let is_packages = |folder: &&Path| {
        let name = folder.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        matches!(&*name, "site-packages" | "dist-packages")
    };
    file.ancestors().find(is_packages).map(Path::to_owned)
}

fn loader(environment: &Environment) -> Vec<PathBuf> {
    let named = environment.ld_library_path.iter().flat_map(env::split_paths);
    let mut folders: Vec<PathBuf> = named.filter(|folder| folder.is_absolute()).collect();
    let machine = format!("usr/lib/{}-linux-gnu", env::consts::ARCH);
    folders.push(environment.system_root.join(machine));
    folders.extend(SYSTEM.map(|folder| environment.system_root.join(folder)));
    folders
}
