//! `warpld dump` on the committed device ELF files, whole and damaged.

use cubin::Cubin;
use cubin_tools::dump::{Options, Style, describe, render};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Output, Stdio};
use support::{Program, Random, fixture, fixture_path, fixtures, mutate};

const WARPLD: Program = support::warpld!();

fn path(name: &str) -> String {
    fixture_path(name).to_str().expect("a plain path").to_owned()
}

fn dump(args: &[&str], input: &[u8]) -> Output {
    let mut child = WARPLD
        .command()
        .arg("dump")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("warpld starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads its input");
    child.wait_with_output().expect("it ends")
}

fn described(name: &str) -> Value {
    let bytes = fixture(name);
    describe(name, &Cubin::parse(&bytes).expect("a fixture"))
}

fn function<'v>(file: &'v Value, name: &str) -> &'v Value {
    let functions = file["functions"].as_array().expect("functions");
    functions.iter().find(|f| f["name"] == name).expect("the function")
}

#[test]
fn resources_of_kernels() {
    let file = described("linked-object.sm_90.cubin");
    let spaces = function(&file, "_Z6spacesPi");
    assert_eq!(spaces["demangled"], "spaces(int*)");
    assert_eq!(spaces["kernel"], true);
    // As `cuobjdump -res-usage` has them.
    assert_eq!(spaces["registers"], 32);
    assert_eq!(spaces["min_stack_size"], 80);
    assert_eq!(spaces["shared_size"], 1168);
    assert_eq!(spaces["constant_sizes"], json!({ "0": 536 }));
    assert_eq!(spaces["parameters"], json!([{ "ordinal": 0, "offset": 0, "size": 8 }]));
    let bounded = function(&file, "_Z7boundedPiPy");
    assert_eq!(bounded["barriers"], 4);
    assert_eq!(bounded["constant_sizes"], json!({ "0": 544, "2": 36 }));
    // Recursion: the stack is not known.
    assert_eq!(function(&file, "_Z7objectsPfi")["min_stack_size"], u32::MAX);
}

#[test]
fn barriers_of_files_before_cuda_13() {
    let file = described("data.sm_50.cuda12.exec.cubin");
    assert_eq!(function(&file, "_Z6spacesPi")["barriers"], 1);
    assert_eq!(file["identity"]["toolkit"], "12.9");
    assert_eq!(file["identity"]["abi"], 7);
}

#[test]
fn the_mercury_half_is_shown() {
    let file = described("scale.sm_100.cubin");
    assert_eq!(file["identity"]["state"], "capsule-mercury");
    assert_eq!(file["capsules"].as_array().map(Vec::len), Some(2));
    let capsule = &file["capsules"][0];
    let items = capsule["items"].as_array().expect("items");
    assert!(items.iter().any(|item| item["form"] == "full" && item["bytes"] != ""));
    let last = items.last().expect("the filler");
    let end = |item: &Value| {
        item["sass_offset"].as_u64().unwrap() / 16 + item["sass_instructions"].as_u64().unwrap()
    };
    assert_eq!(Some(end(last)), capsule["sass_instructions"].as_u64());
    let relocations: Vec<&Value> = file["capsules"]
        .as_array()
        .expect("capsules")
        .iter()
        .flat_map(|c| c["relocations"].as_array().expect("relocations"))
        .collect();
    assert!(relocations.iter().any(|r| r["sass_offset"].as_u64().is_some_and(|o| o % 16 == 0)));
    let relocations = file["relocations"].as_array().expect("relocations");
    let mercury = relocations
        .iter()
        .flat_map(|r| r["entries"].as_array().expect("entries"))
        .filter(|e| e["type"].as_str().is_some_and(|t| t.starts_with("R_MERCURY_")));
    assert!(mercury.count() > 3);
    assert!(!file["mercury_symbols"].as_array().expect("symbols").is_empty());
}

#[test]
fn text_is_plain_when_it_goes_to_a_pipe() {
    let output = dump(&[&path("linked-vec.sm_90.cubin")], b"");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(!text.contains('\x1b'));
    for expected in [
        "executable for sm_90, SASS, compute_90, CUDA 13.0",
        "made by nvlink | ",
        "scale(float, float)",
        "R_CUDA_ABS32_LO_32",
        "scaled calls _Z5scaleff",
        "EXIT_INSTR_OFFSETS",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
}

#[test]
fn colour_on_request_of_a_terminal() {
    let bytes = fixture("scale.sm_90.cubin");
    let cubin = Cubin::parse(&bytes).expect("a fixture");
    let mut out = Vec::new();
    render(&mut out, "x", &cubin, &Options { style: Style::Colour, ..Options::default() })
        .expect("memory");
    assert!(out.windows(5).any(|w| w == b"\x1b[1;3"));
}

#[test]
fn several_files_and_standard_input_as_json() {
    let bytes = fixture("scale.sm_90.cubin");
    let output = dump(&["--json", "-", &path("vec.sm_75.cubin")], &bytes);
    assert!(output.status.success());
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(all["format"], 1);
    let files = all["files"].as_array().expect("files");
    assert_eq!(files.len(), 2);
    assert_eq!(files[0]["identity"]["arch"], "sm_90");
    assert_eq!(files[1]["identity"]["arch"], "sm_75");
}

#[test]
fn a_bad_file_does_not_hide_the_others() {
    let good = path("scale.sm_90.cubin");
    let output = dump(&["--json", "/nonexistent.cubin", "-", &good], b"neither");
    assert_eq!(output.status.code(), Some(1));
    let messages = String::from_utf8(output.stderr).expect("text");
    assert!(messages.contains("/nonexistent.cubin: No such file"), "{messages}");
    assert!(messages.contains("-: neither a device ELF file"), "{messages}");
    let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(all["files"].as_array().map(Vec::len), Some(1));
    let host = dump(&[WARPLD.path().to_str().expect("a plain path")], b"");
    assert!(String::from_utf8_lossy(&host.stderr).contains("a host file"));
    assert_eq!(dump(&[], b"").status.code(), Some(2));
}

#[test]
fn damaged_files_are_harmless() {
    let fixtures = fixtures();
    let mut shown = 0;
    for seed in 0..4000 {
        let (path, original) = &fixtures[seed as usize % fixtures.len()];
        let bytes = mutate(original, &mut Random::new(seed + 1_000_000));
        let Ok(cubin) = Cubin::parse(&bytes) else { continue };
        shown += 1;
        let json = describe("x", &cubin).to_string();
        let mut text = Vec::new();
        render(&mut text, "x", &cubin, &Options::default()).expect("memory");
        let most = 200 * bytes.len() + (1 << 20);
        assert!(json.len().max(text.len()) < most, "{} seed {seed}", path.display());
    }
    assert!(shown > 1000, "{shown} shown");
}

/// A fatbin with two targets, in an archive, in a host object: dump and diff look into them.
#[test]
fn containers_are_looked_into() {
    let folder = WARPLD.folder("containers");
    let fatbin = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inputs/images.fatbin");
    let run = |args: &[&str]| WARPLD.run(&folder, args);
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).expect("text");
    let all = run(&["dump", "--only", "identity", fatbin]);
    assert!(all.status.success(), "{}", String::from_utf8_lossy(&all.stderr));
    let count = text(&all).lines().filter(|line| line.contains(" for sm_")).count();
    assert!(count > 5, "{}", text(&all));
    let one = run(&["dump", "--only", "identity", "--arch", "sm_80", fatbin]);
    assert!(text(&one).contains("images.fatbin:80.sm_80.cubin: "), "{}", text(&one));
    let second = run(&["dump", "--only", "identity", "--image", "2", fatbin]);
    assert!(text(&all).contains(&text(&second)) && text(&second) != text(&all));
    let json = run(&["dump", "--json", "--arch", "sm_80", fatbin]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["files"][0]["identity"]["arch"], "sm_80");
    let nothing = run(&["dump", "--arch", "sm_30", fatbin]);
    assert_eq!(nothing.status.code(), Some(1));
    // One of several has to be chosen for diff.
    let vague = run(&["diff", fatbin, fatbin]);
    assert_eq!(vague.status.code(), Some(2));
    let message = String::from_utf8_lossy(&vague.stderr).into_owned();
    assert!(message.contains("images, choose by --arch or --image"), "{message}");
    assert_eq!(run(&["diff", "--arch", "sm_80", fatbin, fatbin]).status.code(), Some(0));
    let other = path("vec.sm_90.cubin");
    assert_eq!(run(&["diff", "--image", "80.sm_80", fatbin, fatbin]).status.code(), Some(0));
    assert_eq!(run(&["diff", &other, &path("vec.sm_75.cubin")]).status.code(), Some(1));
}

#[test]
fn program_headers_and_relocation_actions_are_shown() {
    let linked = path("linked-object.sm_90.cubin");
    let output = dump(&["--only", "segments", "--only", "actions", &linked], b"");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("\nProgram headers\n") && text.contains(" LOAD "), "{text}");
    assert!(text.contains("\nRelocation actions of .nv.rel.action\n"), "{text}");
    assert!(text.contains("R_CUDA_CONST_FIELD22_37"), "{text}");
}
