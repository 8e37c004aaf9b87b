//! PTX where NVIDIA's library is missing and a toolkit has ptxas. A script stands in for that.
#![allow(unsafe_code)]

#[path = "calls/library.rs"]
#[allow(dead_code)]
mod library;

use library::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;
use tempfile::TempDir;
use warpld_nvjitlink as _;

const SM_90: &str = "-arch=sm_90";
const TEXT: &[u8] = b".version 9.0\n.target sm_90\n\0";

/// Writes its arguments down, refuses what it is told to, and makes a cubin of the rest.
const SCRIPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$1" in --version) echo "fake ptxas"; exit 0;; esac
line=
for word; do line="$line<$word>"; done
printf '%s\n' "$line" >>"$here/calls"
for text; do :; done
[ -f "$text" ] && text=$(cat "$text")
case "$text" in
    *refuse*) echo "ptxas application ptx input, line 3; fatal   : no" >&2; exit 255;;
    *) cp "$here/cubin" elf.o;;
esac
"#;

/// A toolkit for all tests of this program.
fn toolkit() -> &'static TempDir {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| {
        without_compilers();
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("ptxas"), SCRIPT).unwrap();
        fs::write(bin.join("cubin"), support::fixture("scale.sm_90.cubin")).unwrap();
        fs::set_permissions(bin.join("ptxas"), fs::Permissions::from_mode(0o755)).unwrap();
        // SAFETY: no other thread of this program has come past this point.
        unsafe { std::env::set_var("WARPLD_CUDA_PATH", folder.path()) };
        folder
    })
}

#[test]
fn ptx_is_compiled_and_linked_here() {
    let folder = toolkit();
    let mut link = Link::new(&[SM_90, "-maxrregcount=40", "-lineinfo"]);
    assert_eq!(link.add(PTX, TEXT, "a"), 0, "{}", link.errors());
    assert_eq!((link.complete(), link.errors()), (0, String::new()));
    let mut machine = Link::new(&[SM_90]);
    assert_eq!(machine.add(CUBIN, &support::fixture("scale.sm_90.cubin"), "a"), 0);
    assert_eq!(machine.complete(), 0);
    assert_eq!(link.cubin(), machine.cubin());
    let calls = fs::read_to_string(folder.path().join("bin/calls")).unwrap();
    let ours = calls.lines().find(|call| call.contains("-lineinfo")).unwrap();
    assert!(ours.contains("sm_90") && ours.contains("40") && ours.contains("<-c>"), "{ours}");
}

#[test]
fn refused_ptx_is_a_result_of_add() {
    toolkit();
    let mut link = Link::new(&[SM_90]);
    assert_eq!(link.add(PTX, b".version 9.0\n.target sm_90\nrefuse\n", "a"), 4);
    let lines = "ptxas application ptx input, line 3; fatal   : no\n\
                 ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (a)\n";
    assert_eq!(link.errors(), lines);
    assert_eq!((link.add(PTX, TEXT, "b"), link.complete()), (0, 0));
}

#[test]
fn lto_ir_still_needs_the_library() {
    toolkit();
    let mut link = Link::new(&[SM_90, "-lto"]);
    assert_eq!(link.add(LTOIR, b"\xed\x43\x4e\x7f and so on", "a"), 5);
}
