//! What there is in the folder of a toolkit.

use super::record::Shim;
use super::tool::{Library, Tool};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A CUDA toolkit, or a part of one. What is in it is looked up when it is asked for.
#[derive(Debug)]
pub struct Toolkit {
    root: PathBuf,
    /// Where its programs are, as a rule `bin` in the root.
    bin: PathBuf,
    ptxas: OnceLock<Option<Tool>>,
    nvlink: OnceLock<Option<Tool>>,
    nvjitlink: OnceLock<Option<Library>>,
    libnvvm: OnceLock<Option<Libnvvm>>,
}

/// The optimizer of a toolkit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Libnvvm {
    /// The library.
    pub path: PathBuf,
    /// The folder that nvlink's `-nvvmpath` takes: the library is in its `lib64`. Wheels have none.
    pub nvvm_path: Option<PathBuf>,
}

impl Toolkit {
    /// The toolkit in a folder; that of a shim is the one that it was made from.
    pub fn at(root: &Path) -> Self {
        let root = Shim::at(root).map_or_else(|| root.to_owned(), |shim| shim.toolkit);
        let bin = root.join("bin");
        Self::new(root, bin)
    }

    /// The toolkit whose programs are in a folder, which need not be called `bin`.
    pub(super) fn of_programs(bin: &Path) -> Self {
        match (bin.file_name(), bin.parent()) {
            (Some(name), Some(root)) if name == "bin" => Self::at(root),
            _ => Self::new(bin.to_owned(), bin.to_owned()),
        }
    }

    fn new(root: PathBuf, bin: PathBuf) -> Self {
        Self {
            root,
            bin,
            ptxas: OnceLock::new(),
            nvlink: OnceLock::new(),
            nvjitlink: OnceLock::new(),
            libnvvm: OnceLock::new(),
        }
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The assembler.
    pub fn ptxas(&self) -> Option<&Tool> {
        self.ptxas.get_or_init(|| Tool::within(&self.bin, "ptxas")).as_ref()
    }

    /// NVIDIA's linker, never warpld. To tell them apart it may be started.
    pub fn nvlink(&self) -> Option<&Tool> {
        let found = self.nvlink.get_or_init(|| {
            let real = |tool: &Tool| !tool.is_warpld();
            let named = Tool::within(&self.bin, "nvlink")?;
            if real(&named) {
                return Some(named);
            }
            // Shims of old had no record, but all their other links lead to the toolkit.
            let bin = fs::canonicalize(self.ptxas()?.path()).ok()?.parent()?.to_owned();
            Tool::within(&bin, "nvlink").filter(real)
        });
        found.as_ref()
    }

    /// The disassembler.
    pub fn nvdisasm(&self) -> Option<Tool> {
        Tool::within(&self.bin, "nvdisasm")
    }

    /// The library that links and optimizes.
    pub fn nvjitlink(&self) -> Option<&Library> {
        let found = || {
            let name = "libnvJitLink";
            self.library_folders().iter().find_map(|folder| Library::within(folder, name))
        };
        self.nvjitlink.get_or_init(found).as_ref()
    }

    /// The optimizer.
    pub fn libnvvm(&self) -> Option<&Libnvvm> {
        let found = || {
            let nvvm = self.root.join("nvvm");
            let path = nvvm.join("lib64/libnvvm.so");
            if path.is_file() {
                return Some(Libnvvm { path, nvvm_path: Some(nvvm) });
            }
            let folders = [vec![nvvm.join("lib")], self.library_folders()].concat();
            let library = folders.iter().find_map(|folder| Library::within(folder, "libnvvm"))?;
            Some(Libnvvm { path: library.path, nvvm_path: None })
        };
        self.libnvvm.get_or_init(found).as_ref()
    }

    /// Installers have `lib64`, wheels and conda `lib`, conda and older installers
    /// `targets/x86_64-linux/lib`, Debian `lib/x86_64-linux-gnu`.
    pub fn library_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.root.join("lib64"), self.root.join("lib")];
        folders.extend(sorted(&self.root.join("targets")).into_iter().map(|t| t.join("lib")));
        let machine = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
        folders.push(self.root.join(machine));
        folders
    }

    /// Whether there is something in it to compile with.
    pub fn has_compiler(&self) -> bool {
        self.ptxas().is_some() || self.nvjitlink().is_some() || self.nvlink().is_some()
    }
}

/// The toolkit behind a folder: the folder itself, unless it is a shim.
pub fn behind(folder: PathBuf) -> PathBuf {
    let toolkit = Toolkit::at(&folder);
    if toolkit.root() != folder {
        return toolkit.root;
    }
    // Shims of old had no record, but all their links lead to the toolkit.
    let by_link = fs::canonicalize(folder.join("bin/nvcc")).ok();
    let by_link = by_link.as_deref().and_then(|nvcc| Some(nvcc.parent()?.parent()?.to_owned()));
    let is_shim = || Tool::within(&folder.join("bin"), "nvlink").is_some_and(|t| t.is_warpld());
    match by_link {
        Some(toolkit) if is_shim() => toolkit,
        _ => folder,
    }
}

/// The entries of a folder by name; none if it cannot be read.
pub(super) fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
