//! `warpld toolkit`, and that a link of machine code needs none of it.
#![cfg(unix)]

use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use support::{Program, example, schema_errors, stderr};

const WARPLD: Program = support::warpld!();

/// A toolkit with the programs of a release.
fn toolkit(root: &Path, programs: &[&str]) -> PathBuf {
    fs::create_dir_all(root.join("bin")).unwrap();
    for name in programs {
        let path = root.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\necho '{name}: NVIDIA (R) release 13.4, V13.4.92'\n"))
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    root.to_owned()
}

/// A command that sees no toolkit but those in the usual places.
fn alone(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("PATH", "/none");
    for name in ["WARPLD_CUDA_PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV"] {
        command.env_remove(name);
    }
    command.env("HOME", folder);
    command
}

fn text(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn what_is_found_is_shown() {
    let folder = WARPLD.folder("found");
    let root = toolkit(&folder.join("cuda"), &["ptxas", "nvlink"]);
    fs::create_dir_all(root.join("lib")).unwrap();
    fs::write(root.join("lib/libnvJitLink.so.13"), "").unwrap();
    let output = alone(WARPLD.path(), &folder).args(["toolkit", "--cuda-path=cuda"]).output();
    let output = output.unwrap();
    assert!(output.status.success());
    let expected = "\
CUDA toolkit in 'cuda' (by --cuda-path)
  ptxas          13.4.92    bin/ptxas
  nvlink         13.4.92    bin/nvlink
  libnvJitLink   -          lib/libnvJitLink.so.13
  libnvvm        -          not there

What can be linked
  machine code   yes, without a toolkit
  PTX            yes, by ptxas 13.4.92
  LTO-IR         no: nvlink needs libnvvm (pip install nvidia-nvvm)
  --fallback     yes, to nvlink 13.4.92 in 'cuda/bin'

Places searched, in order
  --cuda-path                  'cuda' has ptxas, nvlink, libnvJitLink
  No other place is searched when one is named.
";
    assert_eq!(text(&output), expected);
    fs::create_dir_all(root.join("nvvm/lib64")).unwrap();
    fs::write(root.join("nvvm/lib64/libnvvm.so"), "").unwrap();
    let output = alone(WARPLD.path(), &folder)
        .args(["toolkit", "--json"])
        .env("WARPLD_CUDA_PATH", &root)
        .output()
        .unwrap();
    let all: Value = serde_json::from_str(&text(&output)).unwrap();
    assert_eq!(schema_errors("toolkit", &all), Vec::<String>::new());
    assert_eq!(all["toolkit"]["root"], root.to_str().unwrap());
    assert_eq!(all["toolkit"]["libnvJitLink"]["major"], 13);
    assert_eq!(all["links"]["ptx"]["version"], "13.4.92");
    assert_eq!(all["links"]["lto"]["by"], "nvlink");
    assert_eq!(all["places"][0]["place"], "WARPLD_CUDA_PATH");
}

#[test]
fn what_is_missing_is_told_with_a_remedy() {
    let folder = WARPLD.folder("missing");
    toolkit(&folder.join("cuda"), &["ptxas"]);
    let output = alone(WARPLD.path(), &folder)
        .arg("toolkit")
        .env("WARPLD_CUDA_PATH", "cuda")
        .output()
        .unwrap();
    let shown = text(&output);
    assert!(shown.contains("  PTX            yes, by ptxas 13.4.92\n"), "{shown}");
    assert!(shown.contains("  LTO-IR         no: needs nvlink and ptxas (pip install"), "{shown}");
    assert!(shown.contains("  --fallback     no: needs nvlink (pip install"), "{shown}");
    let output = alone(WARPLD.path(), &folder).args(["toolkit", "--cuda-path", "none"]).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output);
    assert!(shown.starts_with("No CUDA toolkit was found.\n"), "{shown}");
    assert!(shown.contains("  --cuda-path                  'none' does not exist\n"), "{shown}");
}

/// LTO-IR goes to libnvJitLink where there is no nvlink, if the program that loads it is there.
#[test]
fn a_library_takes_the_place_of_nvlink() {
    let folder = WARPLD.folder("library");
    let root = toolkit(&folder.join("cuda"), &["ptxas"]);
    fs::create_dir_all(root.join("lib")).unwrap();
    fs::write(root.join("lib/libnvJitLink.so.13.4.92"), "").unwrap();
    std::os::unix::fs::symlink("libnvJitLink.so.13.4.92", root.join("lib/libnvJitLink.so.13"))
        .unwrap();
    fs::write(folder.join("helper"), "").unwrap();
    let run = |helper: &str, args: &[&str]| {
        let mut command = alone(WARPLD.path(), &folder);
        command.env("WARPLD_NVJITLINK_HELPER", helper).env("WARPLD_CUDA_PATH", "cuda");
        text(&command.arg("toolkit").args(args).output().unwrap())
    };
    let shown = run("helper", &[]);
    let expected = "  LTO-IR         yes, by libnvJitLink 13.4.92 and ptxas 13.4.92; not together with \
                    other code\n";
    assert!(shown.contains(expected), "{shown}");
    let all: Value = serde_json::from_str(&run("helper", &["--json"])).unwrap();
    assert_eq!(all["links"]["lto"]["by"], "libnvJitLink");
    assert_eq!(all["links"]["lto"]["helper"], "helper");
    let shown = run("none", &[]);
    let expected = "  LTO-IR         no: 'warpld-nvjitlink', which loads libnvJitLink, was not found \
                    (looked for 'none'; WARPLD_NVJITLINK_HELPER names another";
    assert!(shown.contains(expected), "{shown}");
    assert!(run("none", &["--json"]).contains("\"lto\": null"));
    // The library has its optimizer inside: a link does without libnvvm.
    let link = |helper: &str| {
        let mut command = alone(WARPLD.path(), &folder);
        command.env("WARPLD_NVJITLINK_HELPER", helper).env("WARPLD_CUDA_PATH", "cuda");
        command.args(["-arch=sm_90", "-dlto", "-nvvmpath=none", "-o", "out.cubin"]);
        command.args(["saxpy.sm_90.cubin", "scale.sm_90.cubin"].map(example)).output().unwrap()
    };
    let output = link("none");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("elfLink linker library load error"), "{output:?}");
    let output = link("helper");
    assert!(output.status.success(), "{output:?}");
    assert!(stderr(&output).contains("because no LTO objects found"), "{output:?}");
}

/// Every system call of a link of machine code: no program is started, and no file of a toolkit is
/// looked at, however many there are to be found. Needs strace.
#[test]
#[cfg(target_os = "linux")]
fn machine_code_needs_no_toolkit() {
    let folder = WARPLD.folder("strace");
    let traced = |program: &Path, words: &[&str]| {
        let tracing = ["strace", "/usr/bin/strace"].into_iter().find(|strace| {
            let mut command = Command::new(strace);
            command.args(["-o", "/dev/null", "true"]).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        });
        let mut command = alone(Path::new(tracing?), &folder);
        command.args(["-f", "-s", "4096", "-e", "trace=process,file", "-o", "calls"]).arg(program);
        let path = std::env::join_paths([folder.join("cuda/bin"), "/usr/bin".into()]).unwrap();
        for name in ["WARPLD_CUDA_PATH", "CUDA_HOME", "CUDA_PATH"] {
            command.env(name, folder.join("cuda"));
        }
        let output = command.args(words).env("PATH", path).output().unwrap();
        let calls = fs::read_to_string(folder.join("calls")).unwrap();
        // The first starts the link; its environment names the toolkit.
        let calls: Vec<String> =
            calls.lines().filter(|line| !line.contains("+++")).skip(1).map(str::to_owned).collect();
        Some((output.status.success(), calls))
    };
    let root = toolkit(&folder.join("cuda"), &["ptxas", "nvlink", "nvcc"]);
    let made = WARPLD.run(&folder, ["shim", "cuda", "shim"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let [a, b] = ["saxpy", "scale"].map(|name| example(&format!("{name}.sm_90.cubin")));
    let nvvm = format!("-nvvmpath={}", root.join("nvvm").display());
    let words = ["-arch=sm_90", &a, &b, "-o", "o", &nvvm];
    let is_toolkits = |call: &&String| call.contains(root.to_str().unwrap());
    for program in [WARPLD.path(), &folder.join("shim/bin/nvlink")] {
        let Some((succeeded, calls)) = traced(program, &words) else {
            // Not by eprintln!, which is not shown of a test that passes; .ci/run collects it.
            let why = "strace cannot be used";
            let _ = writeln!(std::io::stderr(), "not run: system calls of a link ({why})");
            return;
        };
        assert!(succeeded);
        assert!(calls.iter().any(|call| call.contains("saxpy")), "{calls:#?}");
        let started: Vec<_> = calls.iter().filter(|call| call.contains("execve")).collect();
        assert!(started.is_empty(), "{started:#?}");
        let looked: Vec<_> = calls.iter().filter(is_toolkits).collect();
        assert!(looked.is_empty(), "{looked:#?}");
        // What it would look like: this link is one for nvlink.
        let other = [&words[..], &["--fallback=nvlink", "--new-thing"]].concat();
        let (_, calls) = traced(program, &other).unwrap();
        assert!(calls.iter().filter(is_toolkits).any(|call| call.contains("execve")), "{calls:#?}");
    }
}
