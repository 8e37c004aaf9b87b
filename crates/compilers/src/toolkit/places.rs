//! Where a toolkit may be.

use super::folder::{Toolkit, sorted};
use super::record::Shim;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What the command line says about where a toolkit is.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// `--cuda-path`.
    pub cuda_path: Option<PathBuf>,
    /// The shim that the linker was called through.
    pub shim: Option<Shim>,
    /// `-nvvmpath`.
    pub nvvm_path: Option<PathBuf>,
}

/// What the surroundings of a process say about it.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `WARPLD_CUDA_PATH`.
    pub warpld_cuda_path: Option<OsString>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// `CUDA_HOME`.
    pub cuda_home: Option<OsString>,
    /// `CUDA_PATH`.
    pub cuda_path: Option<OsString>,
    /// `CONDA_PREFIX`.
    pub conda_prefix: Option<OsString>,
    /// `VIRTUAL_ENV`.
    pub virtual_env: Option<OsString>,
    /// `HOME`.
    pub home: Option<OsString>,
    /// `WARPLD_NVJITLINK`.
    pub warpld_nvjitlink: Option<OsString>,
    /// `WARPLD_NVJITLINK_HELPER`.
    pub nvjitlink_helper: Option<OsString>,
    /// The program that runs.
    pub program: Option<PathBuf>,
    /// `LD_LIBRARY_PATH`.
    pub ld_library_path: Option<OsString>,
    /// Where `usr` and `opt` are: `/`, but for tests.
    pub system_root: PathBuf,
}

impl Environment {
    /// That of this process.
    pub fn current() -> Self {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
        Self {
            warpld_cuda_path: variable("WARPLD_CUDA_PATH"),
            path: variable("PATH"),
            cuda_home: variable("CUDA_HOME"),
            cuda_path: variable("CUDA_PATH"),
            conda_prefix: variable("CONDA_PREFIX"),
            virtual_env: variable("VIRTUAL_ENV"),
            home: variable("HOME"),
            warpld_nvjitlink: variable("WARPLD_NVJITLINK"),
            nvjitlink_helper: variable("WARPLD_NVJITLINK_HELPER"),
            program: env::current_exe().ok(),
            ld_library_path: variable("LD_LIBRARY_PATH"),
            system_root: "/".into(),
        }
    }

    /// The folder of the first program of this name in `PATH`.
    fn folder_of(&self, program: &str) -> Option<PathBuf> {
        let program = format!("{program}{}", env::consts::EXE_SUFFIX);
        env::split_paths(self.path.as_ref()?).find(|folder| folder.join(&program).is_file())
    }

    /// What Python installs for itself is below these.
    fn python_prefixes(&self) -> Vec<PathBuf> {
        let python = self.folder_of("python3").and_then(|bin| Some(bin.parent()?.to_owned()));
        let local = self.home.as_ref().map(|home| Path::new(home).join(".local"));
        let named = [&self.virtual_env, &self.conda_prefix].into_iter().flatten();
        let mut prefixes: Vec<PathBuf> = named.map(PathBuf::from).collect();
        prefixes.extend(python.into_iter().chain(local));
        prefixes.push(self.system_root.join("usr/local"));
        prefixes
    }

    /// Where Python's packages are.
    pub(super) fn site_packages(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for prefix in self.python_prefixes() {
            for python in sorted(&prefix.join("lib")) {
                let name = python.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
                if name.starts_with("python3") {
                    found.extend(["site-packages", "dist-packages"].map(|name| python.join(name)));
                }
            }
        }
        found
    }
}

/// Why a place was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `--cuda-path`.
    Option,
    /// An environment variable.
    Variable(&'static str),
    /// The toolkit that the shim was made from.
    Shim,
    /// The parent of `-nvvmpath`.
    NvvmPath,
    /// The folder of the first `ptxas` in `PATH`.
    Path,
    /// Where toolkits are installed.
    Usual(&'static str),
    /// A Python package.
    Wheel,
}

/// The usual places, as messages name them.
const CUDA: &str = "/usr/local/cuda";
const CUDA_13: &str = "/usr/local/cuda-13.*";
const OPT: &str = "/opt/cuda";
const CONDA: &str = "the conda environment";

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Option => "--cuda-path",
            Self::Variable(name) | Self::Usual(name) => name,
            Self::Shim => "the shim's toolkit",
            Self::NvvmPath => "the folder above -nvvmpath",
            Self::Path => "PATH",
            Self::Wheel => "Python's nvidia/cu13",
        })
    }
}

/// A place.
#[derive(Debug)]
pub struct Place {
    /// Why it counts.
    pub origin: Origin,
    /// What is there; nothing if there is no such folder, or the variable is not set.
    pub toolkit: Option<Toolkit>,
    /// The folder, as it was given.
    pub folder: Option<PathBuf>,
}

impl Place {
    fn new(origin: Origin, folder: Option<PathBuf>) -> Self {
        let toolkit = folder.as_deref().filter(|folder| folder.is_dir()).map(Toolkit::at);
        Self { origin, toolkit, folder }
    }

    /// `CUDA_HOME=/opt/cuda`, `PATH`.
    pub(super) fn describe(&self) -> String {
        let origin = self.origin;
        match (origin, &self.folder) {
            (Origin::Usual(CUDA | OPT), _) => origin.to_string(),
            (Origin::Option | Origin::Variable(_), Some(folder)) => {
                format!("{origin}={}", folder.display())
            }
            (Origin::Variable(_), None) => format!("{origin} (not set)"),
            (_, Some(folder)) => format!("{origin} ('{}')", folder.display()),
            (_, None) => origin.to_string(),
        }
    }
}

/// All places in their order. Where the user names one, it is the only one.
pub fn places(hints: &Hints, environment: &Environment) -> Vec<Place> {
    let only = |origin, folder| vec![Place::new(origin, Some(folder))];
    if let Some(folder) = &hints.cuda_path {
        return only(Origin::Option, folder.clone());
    }
    if let Some(folder) = &environment.warpld_cuda_path {
        return only(Origin::Variable("WARPLD_CUDA_PATH"), folder.into());
    }
    let mut places = Vec::new();
    if let Some(shim) = &hints.shim {
        places.push(Place::new(Origin::Shim, Some(shim.toolkit.clone())));
    }
    if let Some(nvvm) = &hints.nvvm_path {
        places.push(Place::new(Origin::NvvmPath, Some(above(nvvm))));
    }
    places.push(in_path(environment));
    for (name, value) in
        [("CUDA_HOME", &environment.cuda_home), ("CUDA_PATH", &environment.cuda_path)]
    {
        places.push(Place::new(Origin::Variable(name), value.as_ref().map(PathBuf::from)));
    }
    places.extend(usual(environment));
    places
}

/// nvcc gives `TOOLKIT/bin/../nvvm`.
fn above(nvvm: &Path) -> PathBuf {
    match nvvm.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => nvvm.join(".."),
    }
}

/// Where `ptxas` is a link, nvlink may be beside it, or beside what it is a link to.
fn in_path(environment: &Environment) -> Place {
    let origin = Origin::Path;
    let Some(folder) = environment.folder_of("ptxas") else {
        return Place { origin, toolkit: None, folder: None };
    };
    let named = Toolkit::of_programs(&folder);
    let target = || Some(fs::canonicalize(folder.join("ptxas")).ok()?.parent()?.to_owned());
    let toolkit = match folder.join("nvlink").is_file() {
        true => named,
        false => target().map_or(named, |folder| Toolkit::of_programs(&folder)),
    };
    Place { origin, toolkit: Some(toolkit), folder: Some(folder) }
}

fn usual(environment: &Environment) -> Vec<Place> {
    let local = environment.system_root.join("usr/local");
    let mut places = vec![Place::new(Origin::Usual(CUDA), Some(local.join("cuda")))];
    places.extend(one_or_none(Origin::Usual(CUDA_13), newest_first(&local)));
    places.push(Place::new(Origin::Usual(OPT), Some(environment.system_root.join("opt/cuda"))));
    if let Some(prefix) = &environment.conda_prefix {
        places.push(Place::new(Origin::Usual(CONDA), Some(prefix.into())));
    }
    places.extend(one_or_none(Origin::Wheel, wheels(environment)));
    places
}

/// A place that may be many is also told of where it is none.
fn one_or_none(origin: Origin, folders: Vec<PathBuf>) -> Vec<Place> {
    if folders.is_empty() {
        return vec![Place::new(origin, None)];
    }
    folders.into_iter().map(|folder| Place::new(origin, Some(folder))).collect()
}

/// `cuda-13.10` before `cuda-13.4`.
fn newest_first(local: &Path) -> Vec<PathBuf> {
    let minor = |path: &Path| -> Option<u32> {
        path.file_name()?.to_str()?.strip_prefix("cuda-13.")?.parse().ok()
    };
    let folders = sorted(local).into_iter();
    let mut found: Vec<_> = folders.filter_map(|path| Some((minor(&path)?, path))).collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

fn wheels(environment: &Environment) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for packages in environment.site_packages() {
        let folder = packages.join("nvidia/cu13");
        if folder.is_dir() && !found.contains(&folder) {
            found.push(folder);
        }
    }
    found
}
