//! Reports of a link: where they go, and in which form.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use support::{Program, example, fixture_path, schema_errors, stderr};

const WARPLD: Program = support::warpld!();

fn link(folder: &Path, more: &[&str]) -> Output {
    let inputs = ["saxpy.sm_90.cubin", "scale.sm_90.cubin"].map(example);
    let args = ["-arch=sm_90", &inputs[0], &inputs[1], "-o", "o"];
    let output = WARPLD.run(folder, args.iter().chain(more));
    assert!(output.status.success(), "{}", stderr(&output));
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

const ALL: [&str; 6] =
    ["--trace=-", "--why-live=s*", "--why-file=-", "--print-resources=-", "--map=-", "--stats=-"];

#[test]
fn all_at_once_to_standard_output() {
    let folder = WARPLD.folder("all");
    let output = link(&folder, &ALL);
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
    let text = stdout(&output);
    let parts: Vec<&str> = text.split("\n\n").collect();
    assert!(parts[0].starts_with("trace: ") && parts[0].lines().count() == 2, "{text}");
    assert!(parts[1].starts_with("saxpy(int, float, float const*, float*) ["), "{text}");
    assert!(parts[1].contains("\nscale(float) [_Z5scalef] is reached from a kernel\n"), "{text}");
    assert!(parts[2].contains("\n  registers       24\n"), "{text}");
    assert!(parts[3].starts_with("Output: "), "{text}");
    assert!(text.contains("\n        +0x0          16  gain in .nv.constant3, from "), "{text}");
    assert!(text.contains("\n  images linked                    2\n"), "{text}");
}

#[test]
fn json_has_one_line_for_each_and_fits_its_schema() {
    let folder = WARPLD.folder("json");
    let more: Vec<&str> = ALL.into_iter().chain(["--report-format=json", "--why-dead=x"]).collect();
    let text = stdout(&link(&folder, &more));
    let names: Vec<String> = text
        .lines()
        .map(|line| {
            let report: Value = serde_json::from_str(line).unwrap();
            let name = report["report"].as_str().unwrap().to_owned();
            assert_eq!(report["format"], 1);
            assert_eq!(schema_errors(&name, &report), Vec::<String>::new(), "{name}");
            name
        })
        .collect();
    assert_eq!(names, ["trace", "why", "resources", "map", "stats"]);
}

/// What the fixtures have: textures, a call chain, removed functions, libraries left out.
#[test]
fn schemas_hold_for_other_links() {
    let folder = WARPLD.folder("others");
    for (arch, names) in [
        ("sm_90", &["textures.sm_90.cubin"][..]),
        ("sm_90", &["dead.sm_90.cubin"]),
        ("sm_90", &["data.sm_90.cubin", "object.sm_90.cubin", "vec.sm_90.cubin"]),
        ("sm_100", &["weak.sm_100.cubin"]),
    ] {
        let inputs: Vec<String> =
            names.iter().map(|name| fixture_path(name).to_str().unwrap().to_owned()).collect();
        let target = format!("-arch={arch}");
        let options =
            [&*target, "-o", "o", "--report-format=json", "--why-live=*", "-L.", "-lnone"];
        let args = options.into_iter().chain(ALL).chain(inputs.iter().map(String::as_str));
        let output = WARPLD.run(&folder, args);
        for line in stdout(&output).lines() {
            let report: Value = serde_json::from_str(line).unwrap();
            let name = report["report"].as_str().unwrap();
            assert_eq!(schema_errors(name, &report), Vec::<String>::new(), "{names:?} {name}");
        }
        assert!(stdout(&output).contains("\"report\":\"trace\""), "{names:?} {}", stderr(&output));
    }
}

#[test]
fn files_and_suffixes() {
    let folder = WARPLD.folder("files");
    let output = link(
        &folder,
        &[
            "--trace=t.json",
            "--print-resources=r.txt",
            "--map=m.json",
            "--why-file=w",
            "--stats=s",
            "--why-dead=scale",
        ],
    );
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{}", stderr(&output));
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("t.json").starts_with("{\"format\":1,\"report\":\"trace\""));
    assert!(read("m.json").starts_with("{\"format\":1,\"report\":\"map\""));
    assert_eq!(read("w"), "scale(float) [_Z5scalef] is in the output\n");
    assert!(read("r.txt").starts_with("saxpy(") && read("s").starts_with("Time\n"));
    // Standard error is where they go without a file, as before.
    let output = link(&folder, &["--trace", "--why-live=scale"]);
    assert!(stderr(&output).starts_with("trace: ") && output.stdout.is_empty());
    // Two reports in one file are refused, like other outputs in one place.
    let inputs = [example("saxpy.sm_90.cubin"), example("scale.sm_90.cubin")];
    for same in [["--trace=x", "--map=x"], ["--stats=o", "--trace"], ["--reproduce=x", "--map=x"]] {
        let args = ["-arch=sm_90", &inputs[0], &inputs[1], "-o", "o"];
        let output = WARPLD.run(&folder, args.iter().chain(&same));
        assert_eq!(output.status.code(), Some(1), "{same:?}");
        assert!(stderr(&output).contains("is also another output"), "{}", stderr(&output));
    }
}

/// A failed link has a trace and no map.
#[test]
fn failed_links_report_what_they_can() {
    let folder = WARPLD.folder("failed");
    let input = example("saxpy.sm_90.cubin");
    let args = ["-arch=sm_90", &input, "-o", "o", "--trace=t", "--map=m", "--stats=s"];
    assert_eq!(WARPLD.run(&folder, args).status.code(), Some(255));
    assert!(folder.join("t").exists() && !folder.join("m").exists() && !folder.join("o").exists());
    assert!(!fs::read_to_string(folder.join("s")).unwrap().contains("bytes written"));
}

#[test]
fn a_value_is_no_argument_of_its_own() {
    let folder = WARPLD.folder("values");
    let inputs = [example("saxpy.sm_90.cubin"), example("scale.sm_90.cubin")];
    let args = ["-arch=sm_90", "-o", "o", "--trace", &inputs[0], "--stats", &inputs[1]];
    let output = WARPLD.run(&folder, args);
    assert!(output.status.success() && stderr(&output).starts_with("trace: "));
}
