//! What looks at whole files without linking them, names, and command lines; the first byte
//! chooses, the release as well.
#![no_main]

use cubin::{Arch, Cubin};
use cubin_tools::dump::{Options, Part, describe, describe_with, render};
use libfuzzer_sys::fuzz_target;
use libwarpld::driver::{demangle, verify};
use libwarpld::internals::{Trace, round_trip};
use libwarpld::{Config, Release};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use warpld::options::{CommandLine, Request};

const OTHER: &[u8] = include_bytes!("../../tests/fixtures/scale.sm_90.cubin");
const OTHER_100: &[u8] = include_bytes!("../../tests/fixtures/scale.sm_100.cubin");

fuzz_target!(|data: &[u8]| {
    let Some((&which, data)) = data.split_first() else { return };
    match which % 6 {
        0 => dump(data),
        1 => compare(data),
        2 => drop(verify(data, &Config::builder(arch()).build())),
        3 => self_check(data, &Release::ALL[usize::from(which / 6) % Release::ALL.len()]),
        4 => drop(demangle(&String::from_utf8_lossy(data))),
        _ => command_line(data),
    }
});

fn arch() -> Arch {
    "sm_100".parse().expect("a target")
}

fn dump(data: &[u8]) {
    let Ok(cubin) = Cubin::parse(data) else { return };
    let mut out = Vec::new();
    render(&mut out, "a", &cubin, &Options::default()).expect("memory can be written");
    // All parts, on a narrow terminal.
    let only = Part::ALL.to_vec();
    let options = Options { only, hex: vec!["*".into()], width: Some(30), ..Options::default() };
    render(&mut Vec::new(), "a", &cubin, &options).expect("memory can be written");
    assert!(describe_with("a", &cubin, &options).is_object());
    assert!(out.starts_with(b"a"));
    assert!(describe("a", &cubin).is_object());
}

fn compare(data: &[u8]) {
    for other in [OTHER, OTHER_100] {
        let options = cubin_tools::diff::Options { ignore_tool_note: true, inputs: &[] };
        if let Ok(report) = cubin_tools::diff::compare(data, other, &options) {
            let _ = report.lines(50).count();
            let _ = report.to_json(["a", "b"], 50);
        }
    }
}

fn self_check(data: &[u8], release: &Release) {
    let _ = round_trip(data, arch(), release, &mut Trace::new(true, true));
}

/// Words end with a zero byte; the last one is what every options file holds.
fn command_line(data: &[u8]) {
    let mut words: Vec<Vec<u8>> = data.split(|&b| b == 0).map(<[u8]>::to_vec).collect();
    let file = words.pop().unwrap_or_default();
    let args = words.into_iter().map(OsString::from_vec);
    match CommandLine::parse(args, &|_| Ok(file.clone())) {
        Ok(mut line) => drop(Request::new(&mut line)),
        Err(rejected) => assert!(!rejected.error.to_string().is_empty()),
    }
}
