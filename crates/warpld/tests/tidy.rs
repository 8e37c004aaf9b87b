//! House rules that can be checked by reading the sources.

use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 600;

/// Safe Rust cannot express that a mapped file does not change, the signal that comes when it does,
/// a child that shares our memory, calls into a library that was loaded, and what callers of C
/// functions promise.
const MAY_BE_UNSAFE: &[&str] = &[
    "nvjitlink/src/abi/exports.rs",
    "nvjitlink/src/abi/mod.rs",
    "nvjitlink/src/capi/boundary.rs",
    "nvjitlink/src/real/functions.rs",
    "warpld/src/exit.rs",
    "warpld/src/files/guard.rs",
    "warpld/src/files/map.rs",
];

struct Source {
    /// Path below `crates`, with forward slashes.
    name: String,
    text: String,
}

#[test]
fn files_are_short() {
    let long: Vec<String> = sources()
        .iter()
        .map(|source| (source.text.lines().count(), &source.name))
        .filter(|(lines, _)| *lines > LONGEST_FILE)
        .map(|(lines, name)| format!("{name}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "over {LONGEST_FILE} lines: {long:#?}");
}

#[test]
fn nothing_is_left_undone() {
    let places = places(|code| code.contains("todo!") || code.contains("unimplemented!"));
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn unsafe_code_is_where_it_may_be() {
    let places: Vec<String> = places(|code| words(code).any(|word| word == "unsafe"));
    let elsewhere: Vec<&String> = places
        .iter()
        .filter(|place| !MAY_BE_UNSAFE.iter().any(|file| place.starts_with(file)))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
    // The list must not outlive its reasons.
    for file in MAY_BE_UNSAFE {
        assert!(places.iter().any(|place| place.starts_with(file)), "{file} is safe now");
    }
}

#[test]
fn every_crate_refuses_unsafe_code() {
    for source in sources() {
        let root = source.name.ends_with("/src/lib.rs") || source.name.ends_with("/src/main.rs");
        let refuses = ["forbid", "deny"]
            .iter()
            .any(|how| source.text.contains(&format!("#![{how}(unsafe_code)]")));
        assert!(!root || refuses, "{} does not refuse unsafe code", source.name);
    }
}

/// The command itself, and commands that report while they go from file to file.
const MAY_PRINT: &[&str] = &["warpld/src/main.rs", "warpld/src/cli/dump.rs"];

#[test]
fn the_library_neither_prints_nor_exits() {
    let says = ["println!", "print!", "dbg!", "process::exit"];
    let places = places(|code| says.iter().any(|word| code.contains(word)));
    let library: Vec<&String> = places
        .iter()
        .filter(|place| !MAY_PRINT.iter().any(|file| place.starts_with(file)))
        .collect();
    assert!(library.is_empty(), "{library:#?}");
}

/// Only `cubin` spells the names of sections and symbols; tests may.
#[test]
fn section_names_are_those_of_cubin() {
    let spelt = |code: &str| {
        ["b\".nv", "b\".debug", "b\".note", "b\".rel", "b\".text", "b\"__U"]
            .iter()
            .any(|name| code.contains(name))
    };
    let mut found = Vec::new();
    for source in sources() {
        let linker = ["libwarpld/", "cubin-tools/"].iter().any(|dir| source.name.starts_with(dir));
        let is_tests = source.name.ends_with("tests.rs");
        let code = source.text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in code.lines().filter(|line| linker && !is_tests && spelt(line)) {
            found.push(format!("{}: {}", source.name, line.trim()));
        }
    }
    assert!(found.is_empty(), "use cubin::names: {found:#?}");
    let cubin = sources().into_iter().find(|source| source.name == "cubin/src/bank.rs");
    assert!(cubin.is_some_and(|source| source.text.lines().any(spelt)), "the test finds nothing");
}

/// Where code (not comments) has something, as `file:line`.
fn places(found: impl Fn(&str) -> bool) -> Vec<String> {
    let mut places = Vec::new();
    for source in sources() {
        for (number, line) in source.text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if found(code) {
                places.push(format!("{}:{}: {}", source.name, number + 1, line.trim()));
            }
        }
    }
    places
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// All sources of all crates; there are some in each.
fn sources() -> Vec<Source> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut sources = Vec::new();
    for folder in list(crates) {
        let before = sources.len();
        collect(&folder.join("src"), crates, &mut sources);
        assert!(sources.len() > before, "no sources in {}", folder.display());
    }
    sources
}

fn collect(folder: &Path, base: &Path, into: &mut Vec<Source>) {
    for path in list(folder) {
        if path.is_dir() {
            collect(&path, base, into);
        } else if has_extension(&path, "rs") {
            let name = path.strip_prefix(base).unwrap().to_string_lossy().replace('\\', "/");
            into.push(Source { name, text: fs::read_to_string(&path).unwrap() });
        }
    }
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
