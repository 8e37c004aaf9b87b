//! Which modules use which, read from the sources: dependencies go one way.
//!
//! Paths that start with `crate`, `super` or `self` are read with all their branches. Unit tests
//! do not count, and neither does what a folder's `mod.rs` and the files beside it owe each
//! other: types that all files of a folder work on live in its `mod.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the linker, lowest first. A module uses only those above it in this list.
const LINKER: &[&str] = &[
    // Without knowledge of links.
    "align",
    "collections",
    "ids",
    "name_hash",
    "par_ordered",
    "demangle",
    "json",
    "stopwatch",
    "builtins",
    // What is asked for, and what is said.
    "diag",
    "threads",
    "dialect",
    "config",
    "compile",
    // Inputs.
    "inputs",
    "object",
    "verify",
    "compat",
    // Analysis of all inputs.
    "resolve",
    "unified",
    "callgraph",
    "parse",
    "context",
    "usage",
    // The output.
    "merge",
    "properties",
    "layout",
    "checks",
    "undefined",
    "relocate",
    "linked",
    "write",
    "mercury",
    // What is told about the link.
    "report",
    "explain",
    // The passes, and the library's face.
    "link",
    "api",
    "driver",
];

#[test]
fn the_linker_s_modules_use_only_those_below_them() {
    let modules = modules("libwarpld");
    let known: BTreeSet<&str> = LINKER.iter().copied().collect();
    let found: BTreeSet<&str> = modules.top.keys().map(String::as_str).collect();
    assert_eq!(known, found, "the list of modules is not that of crates/libwarpld/src");
    let level = |module: &str| LINKER.iter().position(|known| *known == module);
    let mut upwards = Vec::new();
    for (module, uses) in &modules.top {
        for (used, lines) in uses.iter().filter(|(used, _)| level(used) > level(module)) {
            upwards.push(format!("{module} is below {used}: {lines:#?}"));
        }
    }
    assert!(upwards.is_empty(), "{upwards:#?}");
}

#[test]
fn no_module_needs_one_that_needs_it() {
    let mut cyclic = BTreeMap::new();
    for name in ["cubin", "fatbin", "cubin-tools", "libwarpld", "compilers", "nvjitlink", "warpld"]
    {
        let modules = modules(name);
        let mut all = modules.folders.values().chain([&modules.top]).flat_map(Uses::values);
        assert!(all.any(|uses| !uses.is_empty()), "no uses were read in {name}");
        cyclic.insert(name.to_owned(), cycles(&modules.top));
        for (folder, uses) in &modules.folders {
            cyclic.insert(format!("{name}/{folder}"), cycles(uses));
        }
    }
    cyclic.retain(|_, uses| !uses.is_empty());
    assert!(cyclic.is_empty(), "{cyclic:#?}");
}

#[test]
fn the_linker_s_manifest_names_no_crate_of_commands() {
    let manifest = fs::read_to_string(crates().join("libwarpld/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
    let dependencies = dependencies.split("\n[").next().unwrap();
    assert!(dependencies.contains("cubin"), "no dependencies were read");
    for name in ["clap", "serde_json", "memmap2", "libc", "rustix"] {
        let is_named = dependencies.lines().any(|line| line.starts_with(name));
        assert!(!is_named, "libwarpld depends on {name}");
    }
}

#[test]
fn the_linker_touches_no_files_processes_or_global_threads() {
    let words = ["std::fs", "std::process", "std::env", "println!", "build_global"];
    let mut lines = Vec::new();
    for source in sources("libwarpld") {
        for (number, line) in source.code.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                lines.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    assert!(lines.is_empty(), "{lines:#?}");
}

/// Who uses whom, with the lines that do.
type Uses = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The dependencies inside a crate.
struct Modules {
    /// Between its modules.
    top: Uses,
    /// Between the files of each folder.
    folders: BTreeMap<String, Uses>,
}

/// A file without comments and unit tests, line by line as it was.
struct Source {
    path: String,
    module: Vec<String>,
    code: String,
}

fn modules(name: &str) -> Modules {
    let sources = sources(name);
    let paths: BTreeSet<&[String]> = sources.iter().map(|source| &source.module[..]).collect();
    let is_module = |path: &[String]| paths.contains(path);
    let mut top: Uses = BTreeMap::new();
    let mut folders: BTreeMap<String, Uses> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        top.entry(source.module[0].clone()).or_default();
    }
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        for (line, path) in paths_in(&source.code) {
            let Some(used) = absolute(&source.module, &path) else { continue };
            let used = through_reexports(&sources, &used);
            // The first place where both part.
            let at = used.iter().zip(&source.module).take_while(|(a, b)| a == b).count();
            let both = at < used.len() && at < source.module.len();
            if !both || !is_module(&used[..=at]) || !is_module(&source.module[..=at]) {
                continue;
            }
            let line = format!("{}:{line}: {}", source.path, path.join("::"));
            let folder = used[..at].join("/");
            let uses = if at == 0 { &mut top } else { folders.entry(folder).or_default() };
            let uses = uses.entry(source.module[at].clone()).or_default();
            uses.entry(used[at].clone()).or_default().push(line);
        }
    }
    Modules { top, folders }
}

/// The path from the root of the crate, if it stays inside.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|segment| *segment == "super").count();
    let rest = match path[0].as_str() {
        "crate" => return Some(path[1..].to_vec()),
        "self" => &path[1..],
        _ => &path[ups..],
    };
    let base = module.get(..module.len().checked_sub(ups)?)?;
    Some([base, rest].concat())
}

/// Where a path leads that names what a module has from one of its own files.
fn through_reexports(sources: &[Source], path: &[String]) -> Vec<String> {
    for cut in (0..path.len()).rev() {
        let (module, item) = (&path[..cut], &path[cut]);
        let Some(parent) = sources.iter().find(|source| source.module == module) else { continue };
        for (_, used) in uses_in(&parent.code) {
            let child = sources
                .iter()
                .any(|source| source.module.len() == cut + 1 && source.module[cut] == used[0]);
            if child && used.len() > 1 && used.last() == Some(item) {
                return [module, &used].concat();
            }
        }
        break;
    }
    path.to_vec()
}

/// The paths of a file that start with `crate`, `super` or `self`, with their lines.
fn paths_in(code: &str) -> Vec<(usize, Vec<String>)> {
    let tokens = tokens(code);
    let mut out = Vec::new();
    for (i, (line, token)) in tokens.iter().enumerate() {
        let starts = matches!(token.as_str(), "crate" | "super" | "self");
        let inside = i > 0 && tokens[i - 1].1 == "::";
        if starts && !inside && tokens.get(i + 1).is_some_and(|next| next.1 == "::") {
            let mut leaves = Vec::new();
            branch(&tokens, i, &mut Vec::new(), &mut leaves);
            out.extend(leaves.into_iter().map(|leaf| (*line, leaf)));
        }
    }
    out
}

/// The paths of a file's `use` lines.
fn uses_in(code: &str) -> Vec<(usize, Vec<String>)> {
    let tokens = tokens(code);
    let mut out = Vec::new();
    for (i, (line, token)) in tokens.iter().enumerate() {
        if token == "use" {
            let mut leaves = Vec::new();
            branch(&tokens, i + 1, &mut Vec::new(), &mut leaves);
            out.extend(leaves.into_iter().map(|leaf| (*line, leaf)));
        }
    }
    out.into_iter().filter(|(_, leaf)| !leaf.is_empty()).collect()
}

/// Reads a tree of paths from a token on, below `prefix`; the token after it.
fn branch(
    tokens: &[(usize, String)],
    mut at: usize,
    prefix: &mut Vec<String>,
    leaves: &mut Vec<Vec<String>>,
) -> usize {
    let depth = prefix.len();
    loop {
        let token = tokens.get(at).map_or("", |(_, token)| token.as_str());
        if token == "{" {
            at += 1;
            while tokens.get(at).is_some_and(|(_, token)| token != "}") {
                at = branch(tokens, at, prefix, leaves);
                if tokens.get(at).is_some_and(|(_, token)| token == ",") {
                    at += 1;
                }
            }
            at += 1;
            break;
        }
        if token != "self" || prefix.is_empty() {
            prefix.push(token.to_owned());
        }
        at += 1;
        if tokens.get(at).is_none_or(|(_, token)| token != "::") {
            leaves.push(prefix.clone());
            while tokens.get(at).is_some_and(|(_, t)| t == "as") {
                at += 2;
            }
            break;
        }
        at += 1;
    }
    prefix.truncate(depth);
    at
}

/// Words, `::` and other characters, with their lines.
fn tokens(code: &str) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let length = match first {
                c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                c => c.len_utf8(),
            };
            if !first.is_whitespace() {
                out.push((number + 1, rest[..length].to_owned()));
            }
            rest = &rest[length..];
        }
    }
    out
}

/// All uses that are part of a cycle, with their lines.
fn cycles(uses: &Uses) -> Vec<String> {
    let reached_from = |module: &str| {
        let (mut seen, mut work) = (BTreeSet::new(), vec![module.to_owned()]);
        while let Some(module) = work.pop() {
            let used = uses.get(&module).into_iter().flat_map(|used| used.keys());
            work.extend(used.filter(|used| seen.insert((*used).clone())).cloned());
        }
        seen
    };
    let mut out = Vec::new();
    for (module, used) in uses {
        for (used, lines) in used.iter().filter(|(used, _)| reached_from(used).contains(module)) {
            out.push(format!("{module} uses {used}\n    {}", lines.join("\n    ")));
        }
    }
    out
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The files of a crate, without unit tests.
fn sources(name: &str) -> Vec<Source> {
    let root = crates().join(name).join("src");
    let mut out = Vec::new();
    collect(&root, &root, &mut out);
    assert!(!out.is_empty(), "no sources of {name}");
    out
}

fn collect(folder: &Path, root: &Path, out: &mut Vec<Source>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, root, out);
            continue;
        }
        let relative = path.strip_prefix(root).unwrap().with_extension("");
        let mut module: Vec<String> =
            relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let last = module.last().map(String::as_str);
        if last == Some("tests") || path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        if matches!(last, Some("mod" | "lib" | "main")) {
            module.pop();
        }
        let code = without_comments_and_tests(&fs::read_to_string(&path).unwrap());
        let path = path.strip_prefix(crates()).unwrap().display().to_string();
        out.push(Source { path, module, code });
    }
}

/// Lines stay where they are.
fn without_comments_and_tests(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}
