//! The command `warpld diff`: its exit status and its output.

use std::path::PathBuf;
use std::process::{Command, Output};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

fn diff(a: &str, b: &str, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpld"));
    command.arg("diff").arg(fixture(a)).arg(fixture(b)).args(options).output().unwrap()
}

#[test]
fn status_is_that_of_diff() {
    let same = diff("vec.sm_90.cubin", "vec.sm_90.cubin", &[]);
    assert_eq!((same.status.code(), same.stdout.len(), same.stderr.len()), (Some(0), 0, 0));
    let other = diff("vec.sm_90.cubin", "vec.sm_75.cubin", &[]);
    assert_eq!(other.status.code(), Some(1));
    let text = String::from_utf8(other.stdout).unwrap();
    assert!(text.contains("file header: flags is"), "{text}");
    let trouble = diff("vec.sm_90.cubin", "missing.cubin", &[]);
    assert_eq!((trouble.status.code(), trouble.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8(trouble.stderr).unwrap().contains("missing.cubin"));
}

#[test]
fn json_and_limit() {
    let limited = diff("vec.sm_90.cubin", "data.sm_90.cubin", &["--json", "--limit", "2"]);
    assert_eq!(limited.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&limited.stdout).unwrap();
    assert_eq!(report["same"], false);
    assert_eq!(report["differences"].as_array().unwrap().len(), 2);
    assert!(report["count"].as_u64().unwrap() > 2);
    let text = diff("vec.sm_90.cubin", "data.sm_90.cubin", &["--limit", "2"]).stdout;
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.lines().last().unwrap().starts_with("… and "), "{text}");
}
