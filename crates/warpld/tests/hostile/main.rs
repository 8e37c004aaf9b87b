//! Hostile inputs of many kinds, as inputs, members, payloads, response files and environment: each
//! ends in a message, in bounded time and memory, and nothing is written elsewhere.
//!
//! `WARPLD_HOSTILE=N` sets the number of inputs, `WARPLD_HOSTILE_SEED=N` the first seed.
#![cfg(target_os = "linux")]

mod kinds;

use kinds::{KINDS, Kind};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use support::{Program, Random, example};

const WARPLD: Program = support::warpld!();

/// How a hostile file is used.
const WAYS: [&str; 16] = [
    "input",
    "member",
    "thin",
    "response",
    "options-file",
    "library",
    "dump",
    "diff",
    "extract",
    "uidx",
    "reports",
    "environment",
    "argument",
    "dump-json",
    "compare",
    "list-json",
];

/// Variables that the command reads.
const VARIABLES: [&str; 9] = [
    "LIBRARY_PATH",
    "WARPLD_CUDA_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "PATH",
    "WARPLD_PTX_CACHE",
    "MAKEFLAGS",
    "CAN_FINALIZE_DEBUG",
    "NO_COLOR",
];

/// No input takes longer, on a machine that does other things too.
const LONGEST: Duration = Duration::from_secs(20);

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn every_hostile_input_ends_in_a_message() {
    assert!(KINDS.len() >= 25);
    let first = number("WARPLD_HOSTILE_SEED", 1);
    let count = number("WARPLD_HOSTILE", 500);
    let workers = 2;
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let done = &done;
            scope.spawn(move || {
                for seed in (first..first + count).filter(|seed| seed % workers == worker) {
                    let case = one(seed);
                    done.lock().unwrap().push(case);
                }
            });
        }
    });
    let done = done.into_inner().unwrap();
    let kinds: BTreeSet<&str> = done.iter().map(|(kind, _)| *kind).collect();
    let ways: BTreeSet<&str> = done.iter().map(|(_, way)| *way).collect();
    // Not by println!, which is not shown of a test that passes.
    let _ = writeln!(
        std::io::stderr(),
        "{} hostile inputs of {} kinds, used in {} ways",
        done.len(),
        kinds.len(),
        ways.len()
    );
    if count >= 500 {
        assert!(
            done.len() as u64 == count && kinds.len() == KINDS.len() && ways.len() == WAYS.len()
        );
    }
}

/// Tries one input. The answer is its kind and the way it was used.
fn one(seed: u64) -> (&'static str, &'static str) {
    let mut r = Random::new(seed);
    let (name, kind) = &KINDS[seed as usize % KINDS.len()];
    let mut way = WAYS[(seed as usize / KINDS.len() + r.below(WAYS.len())) % WAYS.len()];
    // A pipe here holds a link up on purpose.
    if way == "uidx" && *name == "fifo" {
        way = "input";
    }
    let case = format!("seed {seed}: {name} as {way}");
    let root = WARPLD.folder(&format!("{seed}"));
    let folder = root.join("in");
    // Where a program might leave files without being asked.
    for name in ["in", "home", "temporary"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    let bytes = match kind {
        Kind::Bytes(make) => {
            let bytes = make(&mut r);
            fs::write(folder.join("file"), &bytes).unwrap();
            bytes
        }
        Kind::Place(make) => {
            make(&folder.join("file"));
            b"file".to_vec()
        }
    };
    for good in ["saxpy", "scale"] {
        let name = format!("{good}.sm_90.cubin");
        fs::copy(example(&name), folder.join(format!("{good}.cubin"))).unwrap();
    }
    run(&folder, way, &bytes, &mut r, &case);
    assert_eq!(fs::read_dir(&root).unwrap().count(), 3, "{case}: written elsewhere");
    for name in ["home", "temporary"] {
        let left = fs::read_dir(root.join(name)).unwrap().count();
        assert_eq!(left, 0, "{case}: written to the folder '{name}'");
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap().file_name().into_string().unwrap();
        let known =
            ["file", "saxpy.cubin", "scale.cubin", "lib.a", "libx.a", "o", "map", "out", "dot"];
        assert!(known.contains(&&*entry), "{case}: left {entry:?} behind");
    }
    fs::remove_dir_all(&root).unwrap();
    (*name, way)
}

/// Runs the command on the hostile file, and checks how it ends.
fn run(folder: &Path, way: &str, bytes: &[u8], r: &mut Random, case: &str) {
    let link = ["-arch=sm_90", "scale.cubin", "saxpy.cubin", "-o", "o"];
    let alone = ["-arch=sm_90", "file", "-o", "o"];
    let mut variable = None;
    let text: Vec<u8> = bytes.iter().copied().filter(|&b| b != 0).take(50_000).collect();
    let argument = [b"--".to_vec(), text.clone()].concat();
    let words: &[&str] = match way {
        "input" => &alone,
        "member" => {
            fs::write(folder.join("lib.a"), support::archive(&[("file", bytes)])).unwrap();
            &["lib.a"]
        }
        "thin" => {
            fs::write(folder.join("lib.a"), support::thin_archive(&["file"])).unwrap();
            &["lib.a"]
        }
        "response" => &["@file"],
        "options-file" => &["-optf", "file"],
        "library" => {
            fs::write(folder.join("libx.a"), bytes).unwrap();
            &["-lx", "-L."]
        }
        "dump" => &["dump", "file"],
        "diff" => &["diff", "file", "scale.cubin"],
        "extract" => &["extract", "file", "-d", "out"],
        "argument" => &[],
        "dump-json" => &["dump", "--json", "file"],
        "compare" => &["compare", "file", "scale.cubin"],
        "list-json" => &["extract", "--list", "--json", "file"],
        "uidx" => &["--uidx-file=file"],
        "reports" => &[
            "file",
            "-v",
            "--trace",
            "--map=map",
            "-dot",
            "dot",
            "--print-resources",
            "--why-live=scale",
            "--dump-callgraph",
            "--verify",
            "--error-format=json",
        ],
        _ => {
            variable = Some((VARIABLES[r.below(VARIABLES.len())], text));
            &[]
        }
    };
    let is_link = !matches!(
        way,
        "input" | "dump" | "dump-json" | "diff" | "compare" | "extract" | "list-json"
    );
    let script = "ulimit -v 3000000; ulimit -f 200000; exec timeout -k 1 30 \"$@\"";
    let mut command = Command::new("/bin/bash");
    command.args(["-c", script, "bash"]).arg(WARPLD.path()).current_dir(folder);
    command.args(if is_link { &link[..] } else { &[] }).args(words);
    if way == "argument" {
        command.arg(OsStr::from_bytes(&argument));
    }
    command.env("PATH", "/usr/bin:/bin").env_remove("MAKEFLAGS");
    let beside = |name| folder.with_file_name(name);
    command.env("HOME", beside("home")).env("XDG_CACHE_HOME", beside("home"));
    command.env("TMPDIR", beside("temporary"));
    // The shell looks for `timeout` itself.
    if let Some((name, text)) = variable.filter(|(name, _)| *name != "PATH") {
        command.env(name, OsStr::from_bytes(&text));
    }
    let start = Instant::now();
    let output = command.output().unwrap();
    let took = start.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    let head: String = said.chars().take(600).collect();
    assert_eq!(output.status.signal(), None, "{case}: {head}");
    let status = output.status.code().unwrap_or(-1);
    assert!(matches!(status, 0 | 1 | 2 | 255), "{case}: status {status}: {head}");
    assert!(took < LONGEST, "{case}: {took:?}");
    assert!(!said.contains("panicked"), "{case}: {head}");
    // These say what differs on standard output.
    let is_told = !output.stderr.is_empty()
        || (matches!(way, "diff" | "compare") && !output.stdout.is_empty());
    assert!(status == 0 || is_told, "{case}: nothing was said");
    let hidden = |c: char| c != '\n' && c.is_control();
    assert!(!said.chars().any(hidden), "{case}: {head:?}");
    assert!(!String::from_utf8_lossy(&output.stdout).chars().any(hidden), "{case}");
}
