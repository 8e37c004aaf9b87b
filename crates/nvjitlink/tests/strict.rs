//! What the environment sets.
#![allow(unsafe_code)]

#[path = "calls/library.rs"]
#[allow(dead_code)]
mod library;

use library::*;
use warpld_nvjitlink as _;

/// All in one test: the environment is that of the process.
#[test]
fn settings_of_the_environment() {
    let scale = support::fixture("scale.sm_90.cubin");
    let twice = || {
        let mut link = Link::new(&["-arch=sm_90"]);
        link.add(CUBIN, &scale, "b");
        link.add(CUBIN, &scale, "c");
        link.complete();
        link
    };
    let set = |name: &str, value: &str| {
        without_compilers();
        // SAFETY: this program has one thread that reads or writes the environment.
        unsafe { std::env::set_var(name, value) };
    };
    assert_eq!(twice().results.last(), Some(&0));
    set("WARPLD_NVJITLINK_STRICT", "1");
    let strict = twice();
    assert_eq!((strict.results.last(), strict.cubin()), (Some(&6), Err(6)));
    let errors = strict.errors();
    assert!(errors.starts_with("error   : Multiple definition of '"), "{errors}");
    assert!(errors.ends_with("fatal   : merge_elf failed\nERROR 1: finish\n"), "{errors}");
    set("WARPLD_NVJITLINK_STRICT", "0");
    assert_eq!(twice().results.last(), Some(&0));

    let undefined = || {
        let mut link = Link::new(&["-arch=sm_90"]);
        let saxpy = std::fs::read(support::root().join("examples/saxpy.sm_90.cubin")).unwrap();
        link.add(CUBIN, &saxpy, "a");
        link.complete();
        link.errors()
    };
    assert!(!undefined().contains("    = "));
    set("WARPLD_NVJITLINK_NOTES", "1");
    assert!(undefined().contains("    = referred to by saxpy("), "{}", undefined());

    set("WARPLD_NVJITLINK_RELEASE", "13.4");
    let (mut major, mut minor) = (0, 0);
    // SAFETY: as the header says.
    assert_eq!(unsafe { version(&mut major, &mut minor) }, 0);
    assert_eq!((major, minor), (13, 4));
    assert_eq!(Link::new(&["-arch=sm_107"]).results, [0]);
    set("WARPLD_NVJITLINK_RELEASE", "13.0");
    assert_eq!(Link::new(&["-arch=sm_107"]).results, [16]);

    let trace = tempfile::NamedTempFile::new().unwrap();
    set("WARPLD_TRACE", trace.path().to_str().unwrap());
    twice();
    let mut link = Link::new(&["-arch=sm_90"]);
    assert_eq!(link.add(PTX, b".version 9.0\n", "text"), 4);
    let text = std::fs::read_to_string(trace.path()).unwrap();
    assert!(text.starts_with("warpld nvJitLink: linking 2 images for sm_90\n"), "{text}");
    assert!(
        text.contains("'text' must be compiled; no libnvJitLink of NVIDIA's was found"),
        "{text}"
    );
}
