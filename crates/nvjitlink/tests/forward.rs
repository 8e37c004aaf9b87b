//! Links that go to another library, which stands in for NVIDIA's.
#![allow(unsafe_code)]

#[path = "calls/library.rs"]
#[allow(dead_code)]
mod library;

use library::*;
use std::ffi::CStr;
use std::sync::OnceLock;
use tempfile::TempDir;
use warpld_nvjitlink as _;

const SM_90: &str = "-arch=sm_90";
const TEXT: &[u8] = b".version 9.0\n.target sm_90\n";

/// The other library, for all tests of this program.
fn other() {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // So that `Link::new` does not hide it.
        without_compilers();
        let folder = tempfile::tempdir().unwrap();
        let library = support::fake_nvjitlink(folder.path(), &["-DMAJOR=13", "-DMINOR=3"]);
        // SAFETY: no other thread of this program has come past this point.
        unsafe { std::env::set_var("WARPLD_NVJITLINK", library) };
        folder
    });
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_link_goes_on_with_all_it_had() {
    other();
    let mut link = Link::new(&[SM_90, "-g"]);
    let scale = support::fixture("scale.sm_90.cubin");
    assert_eq!(link.add(CUBIN, b"text", "refused"), 12);
    assert_eq!(link.add(CUBIN, &scale, "scale"), 0);
    // From here on.
    assert_eq!(link.add(PTX, TEXT, "text"), 0);
    assert_eq!(link.add(CUBIN, &scale[..100], "truncated"), 3, "the other one would crash");
    assert_eq!(link.add(CUBIN, &support::fixture("scale.sm_75.cubin"), "other"), 0);
    assert_eq!(link.complete(), 0);
    let made = text(link.cubin().unwrap());
    let expected = format!(
        ".version 9.3\n.target sm_90\n// option -g\n// input type 1 size {} \n// input type 2 size {} \
         .version 9.0\n.target sm_90\n\n",
        scale.len(),
        TEXT.len() + 1
    );
    assert!(made.starts_with(&expected), "{made}");
    assert!(made.ends_with("// name scale\n// name text\n// name other\n"), "{made}");
    assert_eq!(link.infos(), "created\n");
    let errors = link.errors();
    assert!(
        errors
            .starts_with("ERROR 1: bad input: does not match type NVJITLINK_INPUT_CUBINrefused\n")
    );
    assert!(errors.contains("ERROR 1: bad input: malformed cubin ELFtruncated\n"), "{errors}");
    // Now it says what the other one says.
    let (mut major, mut minor) = (0, 0);
    // SAFETY: as the header says.
    assert_eq!(unsafe { version(&mut major, &mut minor) }, 0);
    assert_eq!((major, minor), (13, 3));
}

#[test]
fn names_of_callers_may_go() {
    other();
    let mut link = Link::new(&[SM_90]);
    let name = c"a name".to_owned();
    assert_eq!(link.add_named(PTX, TEXT, Some(&name)), 0);
    drop(name);
    let again: &CStr = c"another";
    assert_eq!(link.add_named(PTX, TEXT, Some(again)), 0);
    assert_eq!(link.complete(), 0);
    let made = text(link.cubin().unwrap());
    assert!(made.ends_with("// name a name\n// name another\n"), "{made}");
}

#[test]
fn lto_goes_at_once_and_gives_text() {
    other();
    let mut link = Link::new(&[SM_90, "-lto", "-ptx"]);
    assert_eq!(link.add(CUBIN, &support::fixture("scale.sm_90.cubin"), "scale"), 0);
    assert_eq!(link.add(LTOIR, b"\xed\x43\x4e\x7f and so on", "ir"), 0);
    assert_eq!(link.complete(), 0);
    let made = text(link.ptx().unwrap());
    assert!(made.contains("// option -lto\n// option -ptx\n// input type 1 "), "{made}");
    assert!(made.ends_with("// name ir\n\0"), "{made}");
    let empty = Link::new(&[SM_90, "-lto"]).completed();
    assert_eq!(empty.results, [0, 0], "the other one decides");
}

/// The other library is older than the function.
#[test]
fn the_lto_ir_of_one_module_is_the_module() {
    other();
    let module = b"\xed\x43\x4e\x7f and so on";
    let mut link = Link::new(&[SM_90, "-lto"]);
    assert_eq!(link.add(LTOIR, module, "ir"), 0);
    assert!(link.ltoir().is_err(), "not before it is linked");
    assert_eq!(link.complete(), 0);
    assert_eq!(link.ltoir().unwrap(), module);
    let mut link = Link::new(&[SM_90, "-lto"]);
    assert_eq!(link.add(LTOIR, module, "one"), 0);
    assert_eq!(link.add(LTOIR, module, "two"), 0);
    assert_eq!(link.complete(), 0);
    assert!(link.ltoir().is_err(), "two take a linker of LTO-IR");
}

#[test]
fn machine_code_alone_stays_here() {
    other();
    let mut link = Link::new(&[SM_90]);
    assert_eq!(link.add(CUBIN, &support::fixture("scale.sm_90.cubin"), "scale"), 0);
    assert_eq!((link.complete(), link.infos()), (0, String::new()));
    assert!(link.cubin().unwrap().starts_with(b"\x7fELF"));
}

impl Link {
    fn completed(mut self) -> Self {
        self.complete();
        self
    }
}
