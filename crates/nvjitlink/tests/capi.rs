//! `warpld.h` as C programs see it: compiled by the C compiler of the machine, and linked with the static library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The static library, which cargo has built beside the tests. Files of earlier builds may be there too.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libwarpld_nvjitlink") && name.ends_with(".a")
    };
    let beside = test.parent().unwrap().read_dir().unwrap();
    let found = beside.filter_map(|entry| Some(entry.ok()?.path())).filter(is_library);
    found.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("a static library")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A program of one C file; nothing if there is no compiler.
fn program(source: &Path, name: &str) -> Option<PathBuf> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"])
        .arg("-I")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg(source)
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-lc", "-o"])
        .arg(&out)
        .output();
    match compiled {
        Ok(compiled) => {
            assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
            Some(out)
        }
        Err(error) => {
            println!("not run: {} ({error}: cc)", source.display());
            None
        }
    }
}

fn run(program: &Path, arguments: &[&Path]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

fn inputs() -> [PathBuf; 2] {
    ["saxpy", "scale"].map(|name| root().join(format!("examples/{name}.sm_90.cubin")))
}

#[test]
fn every_function_from_c() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/capi/test.c");
    let Some(program) = program(&source, "capi-test") else { return };
    let [saxpy, scale] = inputs();
    let output = run(&program, &[&saxpy, &scale]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{:?}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(said, "0 failures\n");
}

#[test]
fn the_example() {
    let Some(program) = program(&root().join("examples/link.c"), "capi-example") else { return };
    let [saxpy, scale] = inputs();
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi-example.cubin");
    let output = run(&program, &[Path::new("sm_90"), &out, &saxpy, &scale]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("registers       24"));
    assert!(std::fs::read(&out).unwrap().starts_with(b"\x7fELF"));

    let output = run(&program, &[Path::new("sm_90"), &out, &saxpy]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("undefined-symbol"));
}

/// Each function that the header declares is there, and no other begins like them.
#[test]
fn the_header_and_the_library_agree() {
    let header = include_str!("../include/warpld.h");
    let mut declared: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with(' ') && line.ends_with(");"))
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .collect();
    let source = include_str!("../src/capi/boundary.rs");
    let mut defined: Vec<&str> = source
        .lines()
        .filter_map(|line| line.split_once("extern \"C\" fn ")?.1.split(['(', '<']).next())
        .chain(
            source
                .lines()
                .filter_map(|line| line.trim().split_once(" => Text::").map(|(name, _)| name)),
        )
        .filter(|name| name.starts_with("warpld_"))
        .collect();
    declared.sort_unstable();
    defined.sort_unstable();
    assert_eq!(declared, defined);
}
