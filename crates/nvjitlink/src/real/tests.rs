//! On a library that stands in for NVIDIA's.

use super::*;
use std::ffi::{CStr, CString};
use std::fs;
use std::path::Path;
use support::fake_nvjitlink;
use warpld_compilers::toolkit::{Environment, Hints, Search};

fn texts(options: &[&str]) -> Vec<CString> {
    options.iter().map(|option| CString::new(*option).unwrap()).collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_link_goes_through_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open(&fake_nvjitlink(folder.path(), &[])).unwrap();
    assert_eq!(library.version(), (13, 0));
    let (mut handle, created) = Handle::new(&library, &texts(&["-arch=sm_90", "-lto"]));
    created.unwrap();
    let named = |name: &CStr| name.to_owned();
    handle.add_data(InputType::Fatbin, b"\0\0\0", Some(named(c"a.o"))).unwrap();
    // The library reads to a NUL that the caller need not give.
    handle.add_data(InputType::Ptx, b".entry", Some(named(c"b.ptx"))).unwrap();
    assert_eq!(handle.add_file(InputType::Object, named(c"/none")), Err(Refusal(3)));
    handle.complete().unwrap();
    let made = ".version 9.0\n.target sm_90\n// option -lto\n\
                // input type 4 size 3 \n// input type 2 size 7 .entry\n\
                // name a.o\n// name b.ptx\n";
    assert_eq!(text(handle.ptx().unwrap()), made);
    assert_eq!(text(handle.cubin().unwrap()), made);
    assert_eq!(handle.lto_ir(), Err(Refusal(6)));
    assert_eq!(text(handle.error_log()), "no such file: /none");
    assert_eq!(text(handle.info_log()), "created\n");
}

#[test]
fn a_refused_option_leaves_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open(&fake_nvjitlink(folder.path(), &[])).unwrap();
    let (handle, created) = Handle::new(&library, &texts(&["-refuse"]));
    assert_eq!(created, Err(Refusal(1)));
    assert_eq!(text(handle.error_log()), "unrecognized option: -refuse\n");
}

#[test]
fn names_with_versions_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let built = fake_nvjitlink(folder.path(), &["-DOLD", "-DMAJOR=12", "-DMINOR=0"]);
    let path = folder.path().join("libnvJitLink.so.12");
    fs::rename(built, &path).unwrap();
    let library = Library::open(&path).unwrap();
    assert_eq!(library.version(), (12, 0));
    let (mut handle, created) = Handle::new(&library, &texts(&[]));
    assert_eq!((created, handle.complete()), (Ok(()), Ok(())));
}

#[test]
fn files_that_are_no_library_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    assert!(matches!(Library::open(&at("none")), Err(OpenError::Load(_))));
    fs::write(at("text"), "text").unwrap();
    assert!(matches!(Library::open(&at("text")), Err(OpenError::Load(_))));
    let ours = fake_nvjitlink(folder.path(), &["-DOURS"]);
    assert!(matches!(Library::open(&ours), Err(OpenError::Itself)));
    let this = std::env::current_exe().unwrap();
    assert!(matches!(Library::open(&this), Err(OpenError::Itself)));
    let lacks = fake_nvjitlink(folder.path(), &["-DnvJitLinkAddFile=other"]);
    let error = Library::open(&lacks).unwrap_err();
    assert_eq!(error.to_string(), "it has no function nvJitLinkAddFile");
}

fn search(root: &Path, environment: Environment) -> Search {
    let system_root = root.join("system");
    Search::within(Hints::default(), Environment { system_root, ..environment })
}

#[test]
fn the_first_library_that_is_not_ours_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let place = |name: &str, flags: &[&str]| {
        let folder = dir.join(name);
        fs::create_dir_all(&folder).unwrap();
        fake_nvjitlink(&folder, flags)
    };
    let ours = place("cuda/lib64", &["-DOURS"]);
    let wheel = place("venv/lib/python3.12/site-packages/nvidia/nvjitlink/lib", &[]);
    let loader = place("loader", &[]);
    let named = place("named", &[]);
    let mut environment = Environment {
        cuda_home: Some(dir.join("cuda").into()),
        virtual_env: Some(dir.join("venv").into()),
        ld_library_path: Some(dir.join("loader").into()),
        warpld_nvjitlink: Some(named.clone().into()),
        ..Environment::default()
    };
    let found = |environment: &Environment| {
        find(&search(dir, environment.clone()), &[13]).map(|library| library.path().to_owned())
    };
    assert_eq!(found(&environment).unwrap(), named);
    environment.warpld_nvjitlink = None;
    assert_eq!(found(&environment).unwrap(), wheel);
    environment.virtual_env = None;
    assert_eq!(found(&environment).unwrap(), loader);
    environment.ld_library_path = None;
    let error = found(&environment).unwrap_err();
    let [(refused, OpenError::Itself)] = &error.refused[..] else { panic!("{error:?}") };
    assert_eq!(*refused, ours);
    let said = error.to_string();
    for place in ["WARPLD_NVJITLINK (not set)", "CUDA_HOME=", "dynamic loader"] {
        assert!(said.contains(place), "{said}");
    }
    // What the variable names and is not there is not looked for elsewhere.
    environment.warpld_nvjitlink = Some(dir.join("nowhere").into());
    let error = found(&environment).unwrap_err();
    assert_eq!(error.looked_in.len(), 1);
    // Another major release is another library.
    environment.warpld_nvjitlink = Some(dir.join("named").into());
    assert!(find(&search(dir, environment.clone()), &[12]).is_err());
    assert!(find(&search(dir, environment), &[12, 13]).is_ok());
}
