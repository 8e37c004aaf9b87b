//! Inputs of every kind, and what is refused.

use crate::files::{archive, cubin, fatbin, host_object};
use cubin::{Cubin, FileType};
use fatbin::Kind;
use libwarpld::driver::Lap;
use libwarpld::{Config, Error, Input, Output, Release, Severity, link};

fn config(arch: &str) -> Config {
    Config::builder(arch.parse().unwrap()).build()
}

fn link_for(arch: &str, inputs: &[Input<'_>]) -> Result<Output, Error> {
    link(inputs, &config(arch))
}

/// The codes of all errors of a link for sm_90.
fn refusal(inputs: &[Input<'_>]) -> (Vec<String>, Error) {
    let error = link_for("sm_90", inputs).expect_err("a refusal");
    (error.errors().map(|d| d.code.to_string()).collect(), error)
}

/// A kernel, and what it calls.
fn pair(arch: &str) -> [Input<'static>; 2] {
    ["saxpy", "scale"].map(|name| Input::new(name, cubin(&format!("{name}.{arch}.cubin"))))
}

fn symbols(image: &[u8]) -> Vec<String> {
    let cubin = Cubin::parse(image).unwrap();
    assert_eq!(cubin.header().file_type, FileType::EXEC);
    let names = cubin.symbols().filter(|s| !s.is_undefined());
    names.map(|s| String::from_utf8_lossy(s.name).into_owned()).collect()
}

#[test]
fn inputs_of_every_kind_are_linked() {
    let members = archive(&[("scale.o", &cubin("scale.sm_90.cubin")[..])]);
    let container = fatbin(Kind::ELF, "sm_90", &cubin("vec.sm_90.cubin"));
    let inputs = [
        Input::new("saxpy.cubin", cubin("saxpy.sm_90.cubin")),
        Input::new("libscale.a", members),
        Input::new("vec.o", host_object(container)),
        Input::new("f.fatbin", fatbin(Kind::ELF, "sm_90", &support::fixture("scale.sm_90.cubin"))),
    ];
    let output = link_for("sm_90", &inputs).unwrap();
    let names = symbols(&output.cubin);
    for name in ["_Z5saxpyifPKfPf", "_Z5scalef", "axpy", "scaled", "_Z5scaleff"] {
        assert!(names.iter().any(|n| n == name), "{name} in {names:?}");
    }
    assert!(output.report.is_none());
}

#[test]
fn a_report_is_made_if_asked_for() {
    let config = Config::builder("sm_90".parse().unwrap()).report(true).build();
    let report = link(&pair("sm_90"), &config).unwrap().report.unwrap();
    assert_eq!(report.kernels.len(), 1);
    assert_eq!(report.kernels[0].name, "_Z5saxpyifPKfPf");
    assert!(report.detail.is_none());
}

/// Details need a report around them; only their times differ from run to run.
#[test]
fn a_report_has_details_if_asked_for() {
    let config = Config::builder("sm_90".parse().unwrap()).report_detail(true);
    assert!(link(&pair("sm_90"), &config.clone().build()).unwrap().report.is_none());
    let config = config.report(true).build();
    let detail = || {
        let report = link(&pair("sm_90"), &config).unwrap().report.unwrap();
        report.detail.unwrap()
    };
    let (mut first, mut second) = (detail(), detail());
    assert!(!first.memory.is_empty());
    let names = |phases: Vec<Lap>| phases.iter().map(|phase| phase.name).collect::<Vec<_>>();
    let phases = [&mut first, &mut second].map(|detail| names(std::mem::take(&mut detail.phases)));
    assert!(phases[0].contains(&"merge") && phases[0] == phases[1], "{phases:?}");
    assert_eq!(first, second);
}

#[test]
fn another_architecture_is_refused() {
    let (codes, error) = refusal(&pair("sm_80"));
    assert_eq!(codes, ["arch-mismatch"]);
    assert!(error.to_string().contains("arch does not match target 'sm_90'"), "{error}");
    // In a container nvlink only warns of it.
    let container = fatbin(Kind::ELF, "sm_80", &cubin("saxpy.sm_80.cubin"));
    let host = host_object(container.clone());
    let (codes, error) =
        refusal(&[Input::new("a.fatbin", container.clone()), Input::new("b.o", host)]);
    assert_eq!(codes, ["arch-not-found"; 2]);
    assert_eq!(error.to_string(), "SM Arch ('sm_90') not found in 'a.fatbin' (and 1 more error)");
    // Archives may hold code for others, but must not be all there is.
    let members = archive(&[("a.o", &container)]);
    let with_others = [&pair("sm_90")[..], &[Input::new("libx.a", members.clone())]].concat();
    assert!(link_for("sm_90", &with_others).is_ok());
    let (codes, error) = refusal(&[Input::new("libx.a", members)]);
    assert_eq!(codes, ["nothing-to-link"]);
    assert!(format!("{error:?}").contains("it has sm_80"), "{error:?}");
}

#[test]
fn mixed_architectures_are_refused() {
    let [kernel, _] = pair("sm_90");
    for other in ["sm_80", "sm_100"] {
        let [_, callee] = pair(other);
        let (codes, error) = refusal(&[kernel.clone(), callee]);
        assert_eq!(codes, ["arch-mismatch"]);
        assert!(error.to_string().contains("'scale'"), "{error}");
        assert_eq!(error.diagnostics()[0].notes, [format!("it was compiled for {other}")]);
    }
}

#[test]
fn a_linked_file_is_refused() {
    let linked = link_for("sm_90", &pair("sm_90")).unwrap().cubin;
    let (codes, error) = refusal(&[&pair("sm_90")[..], &[Input::new("o", &linked)]].concat());
    assert_eq!(codes, ["already-linked"]);
    assert_eq!(error.to_string(), "'o' has been linked already");
    assert!(error.diagnostics()[0].notes[0].contains("relocatable objects"));
    let container = fatbin(Kind::ELF, "sm_90", &linked);
    let (codes, _) = refusal(&[Input::new("o.fatbin", container)]);
    assert_eq!(codes, ["already-linked"]);
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let (codes, _) = refusal(&[Input::new("program", program)]);
    assert_eq!(codes, ["already-linked"]);
}

#[test]
fn nothing_to_link_is_refused() {
    assert_eq!(refusal(&[]).0, ["nothing-to-link"]);
    let plain = object::write::Object::new(
        object::BinaryFormat::Elf,
        object::Architecture::X86_64,
        object::Endianness::Little,
    );
    let (codes, error) = refusal(&[Input::new("plain.o", plain.write().unwrap())]);
    assert_eq!(codes, ["nothing-to-link"]);
    assert_eq!(error.diagnostics()[0].notes, ["'plain.o': it has no device code"]);
}

#[test]
fn what_must_be_compiled_is_refused() {
    let ptx = b".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n\0";
    for (name, data, code) in [
        ("a.ptx", ptx.to_vec(), "ptx-only"),
        ("a", ptx.to_vec(), "ptx-only"),
        ("a.fatbin", fatbin(Kind::PTX, "sm_90", ptx), "ptx-only"),
        ("a.fatbin", fatbin(Kind::LTO_IR, "sm_90", b"\xED\x43\x4E\x7F"), "lto-only"),
    ] {
        let (codes, _) = refusal(&[&pair("sm_90")[..], &[Input::new(name, data)]].concat());
        assert_eq!(codes, [code], "{name}");
    }
}

#[test]
fn what_is_no_input_is_refused() {
    for data in [&b""[..], &[b'x'; 99]] {
        let (codes, _) = refusal(&[&pair("sm_90")[..], &[Input::new("x", data)]].concat());
        assert_eq!(codes, ["input-kind"]);
    }
    assert_eq!(refusal(&[Input::new("x", &b"short"[..])]).0, ["cannot-open-input"]);
}

#[test]
fn a_damaged_file_is_refused() {
    let whole = cubin("saxpy.sm_90.cubin");
    let (codes, error) = refusal(&[Input::new("cut.cubin", &whole[..whole.len() / 2])]);
    assert_eq!(codes, ["damaged-image"]);
    assert_eq!(error.to_string(), "Input file 'cut.cubin' is damaged");
    let container = fatbin(Kind::ELF, "sm_90", &whole);
    let (codes, _) = refusal(&[Input::new("cut.fatbin", &container[..container.len() / 2])]);
    assert_eq!(codes, ["damaged-fatbin"]);
}

#[test]
fn an_error_holds_all_diagnostics() {
    let [saxpy, _] = pair("sm_90");
    let vec = Input::new("vec", cubin("vec.sm_90.cubin"));
    let (codes, error) = refusal(&[saxpy, vec]);
    assert_eq!(codes, ["undefined-symbol"; 2]);
    let symbols: Vec<_> = error.errors().filter_map(|d| d.symbol.as_deref()).collect();
    assert_eq!(symbols, ["_Z5scalef", "_Z5scaleff"]);
    assert!(error.diagnostics().iter().all(|d| d.severity <= Severity::Error));
    assert!(error.to_string().ends_with("(and 1 more error)"), "{error}");
}

/// Where the missing function is defined for another target, the error says so.
#[test]
fn a_definition_for_another_target_is_told() {
    let saxpy = fatbin(Kind::ELF, "sm_90", &cubin("saxpy.sm_90.cubin"));
    let members = archive(&[("s.o", &fatbin(Kind::ELF, "sm_80", &cubin("scale.sm_80.cubin")))]);
    let (codes, error) =
        refusal(&[Input::new("saxpy.fatbin", saxpy), Input::new("libs.a", members)]);
    assert_eq!(codes, ["undefined-symbol"]);
    let notes = error.diagnostics()[0].notes.join("\n");
    assert!(notes.contains("defines scale(float), but for sm_80 only"), "{notes}");
}

/// The kernel and what it calls, the latter as if a toolkit with this number had compiled it.
fn pair_of(toolkit: u16) -> [Input<'static>; 2] {
    let mut callee = cubin("scale.sm_90.cubin");
    let at = {
        let cubin = Cubin::parse(&callee).unwrap();
        let note = cubin.section_by_name(b".note.nv.cuinfo").unwrap().data;
        note.as_ptr() as usize - callee.as_ptr() as usize + 24 + 4
    };
    callee[at..at + 2].copy_from_slice(&toolkit.to_le_bytes());
    [Input::new("saxpy", cubin("saxpy.sm_90.cubin")), Input::new("scale", callee)]
}

fn toolkit_of(output: &Output) -> Option<u32> {
    let cubin = Cubin::parse(&output.cubin).unwrap();
    cubin::flags::Identity::of(&cubin).unwrap().toolkit
}

#[test]
fn the_newest_input_or_the_configuration_decides_about_the_release() {
    let output = link_for("sm_90", &pair_of(133)).unwrap();
    assert_eq!(toolkit_of(&output), Some(133));
    let builder = || Config::builder("sm_90".parse().unwrap());
    let newer = builder().release(&Release::CUDA_13_4).build();
    assert_eq!(toolkit_of(&link(&pair_of(133), &newer).unwrap()), Some(134));
    let older = builder().release(&Release::CUDA_13_1).build();
    let error = link(&pair_of(133), &older).expect_err("a refusal");
    let message = "Input file 'scale' newer than toolkit (133 vs 131)";
    assert!(error.errors().any(|d| d.message == message), "{error:?}");
}

#[test]
fn inputs_of_unknown_releases_are_linked_if_allowed() {
    let (codes, _) = refusal(&pair_of(199));
    assert_eq!(codes, ["newer-toolkit"]);
    let config = Config::builder("sm_90".parse().unwrap()).allow_newer_inputs(true).build();
    let output = link(&pair_of(199), &config).unwrap();
    assert_eq!(toolkit_of(&output), Some(Release::NEWEST.toolkit));
    let warnings: Vec<_> = output.warnings.iter().map(|d| d.message.as_str()).collect();
    let expected = format!("linking 'scale' of CUDA 19.9 as CUDA {}", Release::NEWEST.version);
    assert_eq!(warnings, [expected.as_str()]);
}
