//! The order of the places, on made-up toolkits.

use super::*;
use libwarpld::Code;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const NVLINK: &str =
    "nvlink: NVIDIA (R) Cuda linker\nCuda compilation tools, release 13.4, V13.4.92";

fn script(path: &Path, answer: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn file(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

/// A toolkit with ptxas and nvlink.
fn toolkit(root: PathBuf) -> PathBuf {
    script(&root.join("bin/ptxas"), "ptxas: NVIDIA (R) Ptx optimizing assembler\nV13.4.92");
    script(&root.join("bin/nvlink"), NVLINK);
    root
}

/// Surroundings in which nothing is found.
fn nowhere(dir: &Path) -> Environment {
    Environment { system_root: dir.join("system"), ..Environment::default() }
}

fn root_of(search: &Search) -> Option<&Path> {
    search.toolkit().map(Toolkit::root)
}

/// All places have a toolkit; one after the other they lose it.
#[test]
fn the_first_place_counts() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let system = dir.join("system");
    let prefix = toolkit(dir.join("conda"));
    let wheel = toolkit(prefix.join("lib/python3.11/site-packages/nvidia/cu13"));
    let shim = dir.join("shim");
    let roots: Vec<PathBuf> =
        ["option", "variable", "shimmed", "nvvm", "path", "home", "cuda_path"]
            .into_iter()
            .map(|name| toolkit(dir.join(name)))
            .chain(
                ["cuda", "cuda-13.10", "cuda-13.4"]
                    .map(|n| toolkit(system.join("usr/local").join(n))),
            )
            .chain([toolkit(system.join("opt/cuda")), prefix.clone(), wheel])
            .collect();
    let [option, variable, shimmed, nvvm, path, home, cuda_path, ..] = roots.as_slice() else {
        unreachable!()
    };
    let named = |path: &PathBuf| Some(path.clone().into_os_string());
    let mut hints = Hints {
        cuda_path: Some(option.clone()),
        shim: Some(Shim { root: shim, toolkit: shimmed.clone(), version: None }),
        nvvm_path: Some(nvvm.join("nvvm")),
    };
    let mut environment = Environment {
        warpld_cuda_path: named(variable),
        path: named(&path.join("bin")),
        cuda_home: named(home),
        cuda_path: named(cuda_path),
        conda_prefix: named(&prefix),
        ..nowhere(dir)
    };
    for (i, root) in roots.iter().enumerate() {
        let search = Search::within(hints.clone(), environment.clone());
        assert_eq!(root_of(&search), Some(&**root), "{i}");
        // What the user names and does not find is not looked for elsewhere.
        fs::remove_dir_all(root.join("bin")).unwrap();
        match i {
            0 | 1 => {
                let search = Search::within(hints.clone(), environment.clone());
                assert_eq!(root_of(&search), None, "{i}");
                hints.cuda_path = None;
                environment.warpld_cuda_path = environment.warpld_cuda_path.filter(|_| i == 0);
            }
            _ => {}
        }
    }
    assert_eq!(root_of(&Search::within(hints, environment)), None);
}

#[test]
fn an_empty_place_says_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let search = Search::within(Hints::default(), nowhere(dir));
    let said = search.ptxas().unwrap_err();
    assert_eq!(said.code, Code::NoCompiler);
    assert_eq!(said.message, "no ptxas was found");
    assert_eq!(
        said.notes,
        [
            "looked in PATH, CUDA_HOME (not set), CUDA_PATH (not set), /usr/local/cuda, \
             /usr/local/cuda-13.*, /opt/cuda, Python's nvidia/cu13",
            "name a CUDA toolkit by --cuda-path=DIR",
        ]
    );
    for error in [search.ptxas().unwrap_err(), search.nvlink().unwrap_err()] {
        assert_eq!(error.notes, said.notes);
    }
    let hints = Hints { cuda_path: Some("/nowhere".into()), ..Hints::default() };
    let said = Search::within(hints, nowhere(dir)).lto_toolkit().unwrap_err();
    assert_eq!(said.notes[0], "looked in --cuda-path=/nowhere");
    assert!(said.notes[1].contains("no other place is searched"), "{said:?}");
}

#[test]
fn versions_are_those_of_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let root = toolkit(folder.path().join("cuda"));
    let found = Toolkit::at(&root);
    assert_eq!(found.ptxas().unwrap().version().as_deref(), Some("13.4.92"));
    assert_eq!(found.nvlink().unwrap().version().as_deref(), Some("13.4.92"));
    assert_eq!(found.nvjitlink(), None);
    assert_eq!(found.libnvvm(), None);
    // A file that cannot be run is no program.
    let file = root.join("bin/ptxas");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Toolkit::at(&root).ptxas().is_none());
}

#[test]
fn libraries_are_found_in_every_layout() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for (layout, at) in ["lib64", "lib", "targets/x86_64-linux/lib"].iter().enumerate() {
        let root = dir.join(layout.to_string());
        let library = root.join(at).join("libnvJitLink.so.13");
        file(&root.join(at).join("libnvJitLink.so.13.0.88"));
        file(&root.join(at).join("libnvJitLink.so.12"));
        symlink("libnvJitLink.so.13.0.88", &library).unwrap();
        let found = Toolkit::at(&root);
        let found = found.nvjitlink().unwrap();
        assert_eq!((&found.path, found.major), (&library, 13));
        assert_eq!(found.version().as_deref(), Some("13.0.88"));
    }
}

/// A wheel has `lib` alone, no link that tells the version, and perhaps no `nvvm/lib64`.
#[test]
fn a_wheel_is_a_toolkit() {
    let folder = tempfile::tempdir().unwrap();
    let packages = folder.path().join("lib/python3.12/site-packages");
    let root = packages.join("nvidia/cu13");
    file(&root.join("lib/libnvJitLink.so.13"));
    file(&root.join("lib/libnvvm.so.4"));
    fs::create_dir_all(packages.join("nvidia_nvjitlink-13.4.92.dist-info")).unwrap();
    let environment =
        Environment { virtual_env: Some(folder.path().into()), ..nowhere(folder.path()) };
    let search = Search::within(Hints::default(), environment);
    let found = search.toolkit().unwrap();
    assert_eq!(found.root(), root);
    assert_eq!(search.nvjitlink().unwrap().version().as_deref(), Some("13.4.92"));
    let nvvm = found.libnvvm().unwrap();
    assert_eq!((&nvvm.path, &nvvm.nvvm_path), (&root.join("lib/libnvvm.so.4"), &None));
    // That takes nvlink.
    assert!(search.lto_toolkit().is_err());
    file(&root.join("nvvm/lib64/libnvvm.so"));
    let nvvm = Toolkit::at(&root).libnvvm().cloned().unwrap();
    assert_eq!(nvvm.nvvm_path, Some(root.join("nvvm")));
}

/// A lone ptxas serves PTX; for LTO-IR a place behind it has all that it takes.
#[test]
fn link_time_optimization_takes_one_toolkit() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let lone = dir.join("programs");
    script(&lone.join("ptxas"), "V13.0.88");
    let whole = toolkit(dir.join("cuda"));
    let environment = Environment {
        path: Some(lone.clone().into()),
        cuda_home: Some(whole.clone().into()),
        ..nowhere(dir)
    };
    let search = Search::within(Hints::default(), environment);
    assert_eq!(search.ptxas().unwrap().path(), lone.join("ptxas"));
    assert_eq!(search.lto_toolkit().unwrap().root(), whole);
    assert_eq!(search.nvlink().unwrap().path(), whole.join("bin/nvlink"));
}

#[test]
fn a_link_in_the_path_leads_to_its_toolkit() {
    let folder = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(folder.path()).unwrap();
    let root = toolkit(dir.join("cuda"));
    fs::create_dir_all(dir.join("mine")).unwrap();
    symlink(root.join("bin/ptxas"), dir.join("mine/ptxas")).unwrap();
    let path: OsString = std::env::join_paths([dir.join("none"), dir.join("mine")]).unwrap();
    let environment = Environment { path: Some(path), ..nowhere(&dir) };
    assert_eq!(root_of(&Search::within(Hints::default(), environment)), Some(&*root));
}

/// Shims, with a record and without, lead to the toolkit's nvlink; a warpld never is one.
#[test]
fn warpld_is_no_nvlink() {
    let folder = tempfile::tempdir().unwrap();
    let dir = fs::canonicalize(folder.path()).unwrap();
    let root = toolkit(dir.join("cuda"));
    let linker = dir.join("warpld");
    script(&linker, "warpld 0.1.0: the open CUDA device linker\nV13.4.92");
    let bin = dir.join("shim/bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(&linker, bin.join("nvlink")).unwrap();
    symlink(root.join("bin/ptxas"), bin.join("ptxas")).unwrap();
    let nvlink = |root: &Path| Toolkit::at(root).nvlink().map(|tool| tool.path().to_owned());
    assert_eq!(nvlink(&dir.join("shim")), Some(root.join("bin/nvlink")));
    let shim = Shim { root: dir.join("shim"), toolkit: root.clone(), version: None };
    shim.write().unwrap();
    assert_eq!(Toolkit::at(&dir.join("shim")).root(), root);
    assert_eq!(nvlink(&dir.join("shim")), Some(root.join("bin/nvlink")));
    // A toolkit whose own linker was replaced has none.
    fs::copy(&linker, root.join("bin/nvlink")).unwrap();
    assert_eq!(nvlink(&root), None);
    // This program is known without being started.
    fs::remove_file(root.join("bin/nvlink")).unwrap();
    symlink(std::env::current_exe().unwrap(), root.join("bin/nvlink")).unwrap();
    assert_eq!(nvlink(&root), None);
}
