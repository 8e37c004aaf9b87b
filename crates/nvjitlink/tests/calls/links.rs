//! Links of machine code.

use crate::files::{archive, cubin, fatbin, host_object};
use crate::library::*;
use crate::{SM_90, saxpy, scale};
use fatbin::Kind;
use libwarpld::{Config, Identity, Input};
use std::ffi::c_int;

fn link(options: &[&str], inputs: &[(c_int, &[u8], &str)]) -> Link {
    let mut link = Link::new(options);
    for (kind, data, name) in inputs {
        assert_eq!(link.add(*kind, data, name), 0, "{name}");
    }
    link.complete();
    link
}

fn both(options: &[&str]) -> Link {
    link(options, &[(CUBIN, &saxpy(), "a.cubin"), (CUBIN, &scale(), "b.cubin")])
}

/// The link of the same by libwarpld, with libnvJitLink's note.
fn expected(builder: impl Fn(libwarpld::ConfigBuilder) -> libwarpld::ConfigBuilder) -> Vec<u8> {
    let config = Config::builder("sm_90".parse().unwrap())
        .identity(Identity::nvjitlink())
        .note("in-memory-ELF-image", "JIT API Command Line Options");
    let inputs = [Input::new("a.cubin", saxpy()), Input::new("b.cubin", scale())];
    libwarpld::link(&inputs, &builder(config).build()).unwrap().cubin
}

#[test]
fn options_do_what_those_of_nvlink_do() {
    assert_eq!(both(&[SM_90]).cubin().unwrap(), expected(|config| config));
    assert_eq!(both(&[SM_90, "-g"]).cubin().unwrap(), expected(|config| config.debug(true)));
    assert_eq!(both(&[SM_90, "-r"]).cubin().unwrap(), expected(|config| config.relocatable(true)));
    let kernels = both(&[SM_90, "-kernels-used=saxpy"]).cubin().unwrap();
    assert_eq!(kernels, expected(|config| config.kernels_used(["saxpy"])));
    let variables = both(&[SM_90, "-variables-used=nosuch"]).cubin().unwrap();
    assert_eq!(variables, expected(|config| config.variables_used(["nosuch"])));
    assert_ne!(variables, kernels);
    for ignored in [
        "-O0",
        "-O3",
        "-lineinfo",
        "-ftz=1",
        "-maxrregcount=16",
        "-Xptxas=--nosuch",
        "-split-compile=4",
        "-no-cache",
        "-optimize-unused-variables",
        "-Ofc=max",
    ] {
        assert_eq!(both(&[SM_90, ignored]).cubin().unwrap(), expected(|config| config));
    }
}

#[test]
fn containers_hold_the_same_code() {
    let plain = expected(|config| config);
    let (a, b) = (fatbin(Kind::ELF, "sm_90", &saxpy()), fatbin(Kind::ELF, "sm_90", &scale()));
    let (a_o, b_o) = (host_object(a.clone()), host_object(b.clone()));
    let library = archive(&[("b.o", &b_o)]);
    for inputs in [
        [(FATBIN, &a[..], "a"), (FATBIN, &b[..], "b")],
        [(OBJECT, &a_o, "a"), (OBJECT, &b_o, "b")],
        [(ANY, &a, "a.cubin"), (ANY, &b_o, "b.ptx")],
        [(OBJECT, &a_o, "a"), (LIBRARY, &library, "libb.a")],
    ] {
        let link = link(&[SM_90], &inputs);
        assert_eq!((link.cubin().as_ref(), &link.errors()[..]), (Ok(&plain), ""));
    }
    // A library may come before what needs it, and adds everything.
    let link = link(&[SM_90], &[(LIBRARY, &library, "libcudadevrt.a"), (OBJECT, &a_o, "a")]);
    assert_eq!(link.results, [0, 0, 0, 0]);
}

#[test]
fn relocatable_output_is_linked_again() {
    let merged = both(&[SM_90, "-r"]).cubin().unwrap();
    let last = link(&[SM_90], &[(CUBIN, &merged, "merged")]);
    assert_eq!(last.results, [0, 0, 0]);
}

#[test]
fn undefined_names_are_in_the_error_log() {
    let mut undefined = Link::new(&[SM_90]);
    undefined.add(CUBIN, &saxpy(), "a.cubin");
    assert_eq!(undefined.complete(), 6);
    let errors = "error   : Undefined reference to '_Z5scalef' in 'a.cubin'\nERROR 9: finish\n";
    assert_eq!(undefined.errors(), errors);
    // NVIDIA's gives a file out.
    assert_eq!(undefined.cubin(), Err(6));
    let mut nameless = Link::new(&[SM_90]);
    nameless.add_named(CUBIN, &saxpy(), None);
    nameless.complete();
    assert_eq!(nameless.errors(), errors.replace("a.cubin", "(null)"));
}

#[test]
fn names_are_copied() {
    let mut link = Link::new(&[SM_90]);
    let mut name = *b"a.cubin\0";
    let read = std::ffi::CStr::from_bytes_with_nul(&name).unwrap().to_owned();
    link.add_named(CUBIN, &saxpy(), Some(&read));
    drop(read);
    name.fill(b'!');
    link.complete();
    assert!(link.errors().contains("in 'a.cubin'"), "{}", link.errors());
}

#[test]
fn second_definitions_are_told_and_passed_over() {
    let mut link = Link::new(&[SM_90]);
    for name in ["b", "c"] {
        assert_eq!(link.add(CUBIN, &scale(), name), 0);
    }
    assert_eq!(link.complete(), 0);
    let errors = link.errors();
    let line = "error   : Multiple definition of '_Z5scalef' in 'c', first defined in 'b'\n";
    assert!(errors.contains(line), "{errors}");
    assert!(link.cubin().is_ok());
}

#[test]
fn remarks_are_in_the_info_log() {
    let link = both(&[SM_90, "-verbose", "-time"]);
    let infos = link.infos();
    let lines: Vec<&str> = infos.lines().collect();
    assert!(lines[0].starts_with("nvJitLink time until Complete: "), "{infos}");
    assert!(lines[1].starts_with("info    : ") && lines[1].contains(" bytes gmem"), "{infos}");
    assert!(lines.last().unwrap().starts_with("nvJitLinkComplete time to finish: "), "{infos}");
    assert_eq!(link.errors(), "");
}

#[test]
fn code_of_other_toolkits_and_targets_links() {
    for (arch, names) in [
        ("-arch=sm_100", ["saxpy.sm_100.cubin", "scale.sm_100.cubin"]),
        ("-arch=sm_80", ["saxpy.sm_80.cubin", "scale.sm_80.cubin"]),
        ("-arch=sm_90a", ["object.sm_90a.cuda12.cubin", "scale.sm_90a.cuda12.cubin"]),
    ] {
        let [a, b] = names.map(cubin);
        let link = link(&[arch], &[(CUBIN, &a, "a"), (CUBIN, &b, "b")]);
        assert_eq!(link.results, [0, 0, 0, 0], "{arch}: {}", link.errors());
        assert!(link.cubin().is_ok());
    }
}
