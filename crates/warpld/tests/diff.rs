//! The command `warpld diff`: its exit status and its output.

use std::process::Output;
use support::{Program, example, fixture_path};

const WARPLD: Program = support::warpld!();

/// Compares two fixtures.
fn diff(a: &str, b: &str, options: &[&str]) -> Output {
    let files = [a, b].map(fixture_path);
    WARPLD.command().arg("diff").args(files).args(options).output().unwrap()
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

#[test]
fn the_linkers_own_note_can_be_ignored() {
    let folder = WARPLD.folder("note");
    let warpld = |args: &[&str]| WARPLD.run(&folder, args);
    let (a, b) = (example("saxpy.sm_90.cubin"), example("scale.sm_90.cubin"));
    for (identity, output) in [("warpld", "one.cubin"), ("nvlink", "two.cubin")] {
        let identity = format!("--identity={identity}");
        let made = warpld(&["-arch=sm_90", &identity, &a, &b, "-o", output]);
        assert!(made.status.success(), "{made:?}");
    }
    let told = warpld(&["diff", "one.cubin", "two.cubin"]);
    assert_eq!(told.status.code(), Some(1));
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(text.contains("note of a tool: tool is \"warpld\" in A, \"nvlink\" in B"), "{text}");
    let same = warpld(&["diff", "--ignore-tool-note", "one.cubin", "two.cubin"]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    // The order of the inputs is another matter.
    let made = warpld(&["-arch=sm_90", &b, &a, "-o", "three.cubin"]);
    assert!(made.status.success(), "{made:?}");
    let other = warpld(&["diff", "--ignore-tool-note", "one.cubin", "three.cubin"]);
    assert_eq!(other.status.code(), Some(1));
}
