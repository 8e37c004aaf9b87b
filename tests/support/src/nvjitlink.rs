//! A library that stands in for NVIDIA's libnvJitLink.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("fake_nvjitlink.c");

/// Builds the library as `folder/libnvJitLink.so.13`. The source says what the flags are.
pub fn fake_nvjitlink(folder: &Path, flags: &[&str]) -> PathBuf {
    let source = folder.join("fake_nvjitlink.c");
    let library = folder.join("libnvJitLink.so.13");
    std::fs::write(&source, SOURCE).expect("the source can be written");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .args(flags)
        .status();
    assert!(status.expect("there is a C compiler").success(), "the library compiles");
    library
}
