//! Types, and what is refused.

use crate::files::{archive, cubin, fatbin, host_object};
use crate::library::*;
use crate::{SM_90, saxpy, scale};
use fatbin::Kind;
use std::ffi::c_int;

const PTX_TEXT: &[u8] = b".version 9.0\n.target sm_90\n.address_size 64\n";
const LTO_IR: &[u8] = b"\xed\x43\x4e\x7f and so on";

/// Result and log of one input; lines that give reasons, which NVIDIA's does not, are left out.
fn add(kind: c_int, data: &[u8]) -> (c_int, String) {
    let mut link = Link::new(&[SM_90]);
    let result = link.add(kind, data, "N");
    let errors = link.errors();
    let lines = errors.lines().filter(|line| !line.starts_with("    = "));
    (result, lines.map(|line| format!("{line}\n")).collect())
}

#[test]
fn bytes_must_be_of_the_named_type() {
    let container = fatbin(Kind::ELF, "sm_90", &scale());
    let object = host_object(container.clone());
    let library = archive(&[("scale.o", &object)]);
    let contents: [(&str, &[u8], &[c_int]); 8] = [
        ("text", b"neither of these, but long enough to have a header of some kind", &[]),
        ("cubin", &saxpy(), &[CUBIN, OBJECT, ANY]),
        ("fatbin", &container, &[FATBIN, ANY]),
        ("object", &object, &[OBJECT, ANY]),
        ("library", &library, &[LIBRARY, ANY]),
        ("bitcode", b"BC\xc0\xde0123456789012345678901234567890123456789", &[]),
        ("short ELF", b"\x7fELF", &[]),
        ("one byte", b"x", &[]),
    ];
    let types = [
        (CUBIN, "CUBIN"),
        (PTX, "PTX"),
        (LTOIR, "LTOIR"),
        (FATBIN, "FATBIN"),
        (OBJECT, "OBJECT"),
        (LIBRARY, "LIBRARY"),
        (INDEX, "INDEX"),
        (ANY, ""),
    ];
    for (what, data, fits) in contents {
        for (kind, name) in types {
            let expected = match (fits.contains(&kind), kind) {
                (true, _) => (0, String::new()),
                (false, ANY) => (8, "unrecognized input type: N\n".to_owned()),
                (false, _) => {
                    let line = "ERROR 1: bad input: does not match type NVJITLINK_INPUT_";
                    (12, format!("{line}{name}N\n"))
                }
            };
            assert_eq!(add(kind, data), expected, "{what} as {name}");
        }
    }
    for kind in [0, 8, 9, 11, -1] {
        assert_eq!(add(kind, &saxpy()), (12, "unsupported input type: N\n".into()));
    }
    for kind in [0, CUBIN, PTX, ANY, 99] {
        assert_eq!(add(kind, b""), (3, String::new()));
    }
}

#[test]
fn what_needs_a_compiler_says_what_is_missing() {
    for (options, kind, data, result, what) in [
        (&[SM_90][..], PTX, PTX_TEXT, 4, "PTX"),
        (&[SM_90], ANY, PTX_TEXT, 4, "PTX"),
        (&[SM_90], FATBIN, &fatbin(Kind::PTX, "sm_90", PTX_TEXT), 4, "PTX"),
        (&[SM_90, "-lto"], PTX, PTX_TEXT, 4, "PTX"),
        (&[SM_90, "-lto"], LTOIR, LTO_IR, 5, "LTO-IR"),
        (&[SM_90, "-lto"], ANY, LTO_IR, 5, "LTO-IR"),
    ] {
        let mut link = Link::new(options);
        assert_eq!((link.results[0], link.add(kind, data, "a")), (0, result));
        let errors = link.errors();
        assert!(errors.starts_with(&format!("ERROR: no compiler for {what} (a)\n")), "{errors}");
        assert!(errors.contains("looked in WARPLD_NVJITLINK=/nonexistent"), "{errors}");
    }
}

#[test]
fn lto_ir_needs_lto() {
    let line = "ERROR 1: LTO-IR input cannot be used without LTO enabled (-lto)\n";
    let container = fatbin(Kind::LTO_IR, "sm_90", LTO_IR);
    let object = host_object(container.clone());
    let inputs: [(c_int, &[u8]); 5] =
        [(LTOIR, LTO_IR), (ANY, LTO_IR), (FATBIN, &container), (OBJECT, &object), (ANY, &object)];
    for (kind, data) in inputs {
        assert_eq!(add(kind, data), (18, line.to_owned()));
    }
    // A link that compiles everything at its end has nothing to compile.
    let mut link = Link::new(&[SM_90, "-lto"]);
    assert_eq!((link.add(CUBIN, &saxpy(), "a"), link.add(CUBIN, &scale(), "b")), (0, 0));
    assert_eq!((link.complete(), link.cubin()), (5, Err(6)));
    let line = "ERROR in nvvmCompileProgram: NVVM_ERROR_NO_MODULE_IN_PROGRAM\n";
    assert_eq!(link.errors(), line);
}

#[test]
fn code_for_others_is_refused_with_a_reason() {
    let mut link = Link::new(&[SM_90]);
    assert_eq!(link.add(CUBIN, &cubin("scale.sm_80.cubin"), "a"), 3);
    let reason = "    = Input file 'a' arch does not match target 'sm_90'\n    \
                  = it was compiled for sm_80\n";
    assert_eq!(link.errors(), format!("ERROR 4: bad input:a\n{reason}"));
    let container = fatbin(Kind::ELF, "sm_80", &cubin("scale.sm_80.cubin"));
    let object = host_object(container.clone());
    let unfit = (3, "ERROR 3: bad input: N\n".to_owned());
    assert_eq!(add(FATBIN, &container), unfit);
    assert_eq!(add(OBJECT, &object), unfit);
    assert_eq!(add(LIBRARY, &archive(&[("a.o", &object)])), unfit);
    // Machine code for an older number of the family fits.
    let mut link = Link::new(&["-arch=sm_89"]);
    assert_eq!(link.add(CUBIN, &cubin("scale.sm_80.cubin"), "a"), 0);
    assert_eq!(link.complete(), 0);
}

#[test]
fn what_has_nothing_to_link_adds_nothing() {
    let nothing = {
        let mut link = Link::new(&[SM_90]);
        link.complete();
        link.cubin().unwrap()
    };
    let linked = {
        let mut link = Link::new(&[SM_90]);
        link.add(CUBIN, &scale(), "a");
        link.complete();
        link.cubin().unwrap()
    };
    let host = {
        use object::write::Object;
        use object::{Architecture, BinaryFormat, Endianness};
        Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little).write().unwrap()
    };
    let inputs: [(c_int, &[u8]); 8] = [
        (OBJECT, &scale()),
        (CUBIN, &linked),
        (OBJECT, &linked),
        (OBJECT, &host),
        (LIBRARY, &archive(&[("host.o", &host)])),
        (LIBRARY, &archive(&[])),
        (LIBRARY, &archive(&[("scale.cubin", &scale())])),
        (LIBRARY, &archive(&[("readme", b"text")])),
    ];
    for (at, (kind, data)) in inputs.into_iter().enumerate() {
        let mut link = Link::new(&[SM_90]);
        assert_eq!((link.add(kind, data, "a"), link.complete()), (0, 0), "{at}");
        assert_eq!((link.errors(), link.infos()), Default::default(), "{at}");
        assert_eq!(link.cubin().unwrap(), nothing, "{at}");
    }
}

#[test]
fn damaged_containers_are_refused() {
    let container = fatbin(Kind::ELF, "sm_90", &scale());
    let object = host_object(container.clone());
    let (half, broken) =
        (&container[..container.len() / 2], b"!<arch>\nno header of a member, nor an end of one");
    assert_eq!(add(FATBIN, half), (3, "ERROR 5: bad input:N\n".into()));
    assert_eq!(add(OBJECT, &object[..object.len() / 2]), (3, "ERROR 3: bad input: N\n".into()));
    assert_eq!(add(LIBRARY, broken), (6, "ERROR 1: library processing:N\n".into()));
}

#[test]
fn files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saxpy.o");
    std::fs::write(&path, saxpy()).unwrap();
    let mut link = Link::new(&[SM_90]);
    let name = path.to_str().unwrap();
    assert_eq!((link.add_file(CUBIN, name), link.complete()), (0, 6));
    let line =
        format!("error   : Undefined reference to '_Z5scalef' in '{name}'\nERROR 9: finish\n");
    assert_eq!(link.errors(), line);
    for missing in ["/nonexistent/x.cubin", "/tmp", ""] {
        let mut link = Link::new(&[SM_90]);
        assert_eq!(link.add_file(CUBIN, missing), 3);
        assert_eq!(link.errors(), format!("no such file: {missing}\n"));
    }
}

/// A pipe would wait for one who writes, a device may have no end.
#[test]
fn pipes_and_devices_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.to_str().unwrap(), "/dev/zero", folder.path().to_str().unwrap()] {
        let mut link = Link::new(&[SM_90]);
        assert_eq!(link.add_file(CUBIN, path), 3, "{path}");
        assert_eq!(link.errors(), format!("no such file: {path}\n"));
    }
}
