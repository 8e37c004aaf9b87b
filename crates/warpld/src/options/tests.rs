//! Command lines with what nvlink V13.0.88 was seen to make of them.

use super::*;
use crate::shim::Shim;
use libwarpld::Release;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Splits at blanks; `''` is an empty word.
fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(|w| if w == "''" { "".into() } else { w.into() }).collect()
}

fn parse_with(line: &str, files: &HashMap<&str, &str>) -> Result<CommandLine, ParseError> {
    let read = |path: &Path| {
        let text = files.get(path.to_str().unwrap());
        text.map(|text| text.as_bytes().to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    CommandLine::parse(words(line), &read).map_err(|rejected| rejected.error)
}

fn parse(line: &str) -> Result<CommandLine, ParseError> {
    parse_with(line, &HashMap::new())
}

const A: &str = "-arch=sm_90 a.cubin b.cubin -o o";

#[test]
fn rejected_command_lines() {
    for (line, message) in [
        ("-bogus", "Unknown option 'bogus'"),
        ("--bogus", "Unknown option '-bogus'"),
        ("--bogus=3", "Unknown option '-bogus'"),
        ("--", "Unknown option '-'"),
        ("-=x", "Unknown option ''"),
        ("-output-file o", "Unknown option 'output-file'"),
        ("--o o", "Unknown option '-o'"),
        ("-ox", "Unknown option 'ox'"),
        ("--dot=x", "Unknown option '-dot'"),
        ("-o", "argument expected after '-o'"),
        ("--arch", "argument expected after '--arch'"),
        ("-v=true", "no argument expected after '-v'"),
        ("-V=", "no argument expected after '-V'"),
        ("-lto=3", "no argument expected after '-lto'"),
        ("-arch=sm_91", "Value 'sm_91' is not defined for option 'arch'"),
        ("-arch=", "Value '' is not defined for option 'arch'"),
        ("-m32", "Value '32' is not defined for option 'machine'"),
        ("-m=", "Value '' is not defined for option 'machine'"),
        ("-m064", "Value '064' is not defined for option 'machine'"),
        ("-cpu-arch=arm", "Value 'arm' is not defined for option 'cpu-arch'"),
        ("-ghls=x", "Value 'x' is not defined for option 'gen-host-linker-script'"),
        ("-maxrregcount=abc", "'abc': expected a number"),
        ("-split-compile=99999999999", "32-bit integer value (99999999999) out of range"),
        ("-device-stack-protector=1", "'1': expected true or false"),
        ("-l a\"b", "Stray '\"' character"),
        ("-optf nope", "Could not open options file 'nope'"),
    ] {
        assert_eq!(parse(line).unwrap_err().to_string(), message, "{line}");
    }
}

#[test]
fn unknown_options_are_answered_with_a_suggestion() {
    for (line, advice) in [
        ("-output-file", Some("did you mean '--output-file'?")),
        ("--v", Some("did you mean '--verbose'?")),
        ("--register-link-binary", Some("did you mean '--register-link-binaries'?")),
        ("-arch=sm_9O", Some("did you mean '--arch'?")),
        ("-verbose2", Some("did you mean '--verbose2'?")),
        ("-zzzzzz", None),
    ] {
        let error = parse(line).unwrap_err();
        if line.starts_with("-arch") {
            assert_eq!(error.advice().as_deref(), Some("did you mean 'sm_90'?"));
        } else {
            assert_eq!(error.advice().as_deref(), advice, "{line}");
        }
    }
}

#[test]
fn recorded_command_lines() {
    for (line, note) in [
        ("", "-arch sm_90 "),
        ("-m64", "-arch sm_90 -m 64 "),
        ("-m=0x40 -m 64", "-arch sm_90 -m 64 "),
        ("-g", "a.cubin,b.cubin -o o -g  -arch sm_90 "),
        ("--verbose-tkinfo=true", "a.cubin,b.cubin -o o -arch sm_90 "),
        ("--verbose-tkinfo=false -g", "-g  -arch sm_90 "),
        (
            "-lcudadevrt -Lx -L y/z,w -cpu-arch=X86_64",
            "-arch sm_90 -l cudadevrt -L x,y/z,w -cpu-arch X86_64 ",
        ),
        ("-l=", "-arch sm_90 -l  "),
        ("-lineinfo", "-arch sm_90 -l ineinfo "),
        ("-w -v -Werror", "-arch sm_90 -v  -w  -Werror  "),
        ("-maxrregcount=0x20", "-arch sm_90 -maxrregcount 32 "),
        ("-maxrregcount=010", "-arch sm_90 -maxrregcount 8 "),
        ("-maxrregcount=", "-arch sm_90 -maxrregcount 0 "),
        ("-device-stack-protector=false", "-arch sm_90 -device-stack-protector false "),
        ("-kernels-used=x -use-host-info", "-arch sm_90 -kernels-used x -use-host-info  "),
        ("-kernels-used -v", "-arch sm_90 -kernels-used -v "),
        ("-nvvmpath=", "-arch sm_90 -nvvmpath  "),
        ("--shared --host-ccbin gcc --force-rela -dot x", "-arch sm_90 "),
        // Read back from nvlink 13.4.
        (
            "-v2 -extrawarn -suppress-debug-info -astoolspatch -Xptxas x -v -preserve-relocs -g",
            "a.cubin,b.cubin -o o -g  -arch sm_90 -v  -v2  -preserve-relocs  -extrawarn  \
             -suppress-debug-info  -astoolspatch  -Xptxas x ",
        ),
        (
            "-dlto -emit-ptx -nvvmpath=v -extrawarn -report-arch",
            "-arch sm_90 -report-arch  -emit-ptx  -extrawarn  -dlto  -nvvmpath v ",
        ),
        ("-cpu-arch RISCV64", "-arch sm_90 -cpu-arch RISCV64 "),
        ("--cuda-release=13.4 --allow-newer-inputs --print-cuda-release", "-arch sm_90 "),
        ("--register-link-binaries=x/reg -time x/t", "-arch sm_90 "),
        (
            "-g --register-link-binaries=x/reg -time x/t",
            "a.cubin,b.cubin -o o -g  -arch sm_90 - reg -time t ",
        ),
        ("--map m --trace --identity=nvlink --threads 3", "-arch sm_90 "),
        (
            "-r -suppress-stack-size-warning -report-arch -extrawarn -preserve-relocs",
            "-suppress-stack-size-warning  -arch sm_90 -preserve-relocs  -report-arch  -extrawarn  -r  ",
        ),
        (
            "-Xnvvm=-x -Xptxas=-O2,-v -split-compile-extended 3 -split-compile 2",
            "-arch sm_90 -split-compile 2 -split-compile-extended 3 -Xptxas -O2,-v -Xnvvm -x ",
        ),
    ] {
        let line = parse(&format!("{line} {A}")).unwrap();
        assert_eq!(NoteText::new(&line).command_line, note);
    }
}

#[test]
fn the_object_name_is_recorded_with_debug_only() {
    let name = |line: &str| NoteText::new(&parse(line).unwrap()).object_name;
    assert_eq!(name("-arch=sm_90 a.cubin -o x/y.cubin"), "");
    assert_eq!(name("-g -arch=sm_90 a.cubin -o x/y.cubin"), "y.cubin");
}

#[test]
fn settings_that_do_not_go_together() {
    for (line, message) in [
        ("a.cubin -o o", "Unknown arch name '(null)'"),
        ("-arch=sm_90 a.cubin", "Must specify output file with -o option"),
        (
            "-arch=sm_90 -o o -lq",
            "No input files specified; use option --help for more information",
        ),
        ("-arch=lto_90", "No input files specified; use option --help for more information"),
        (
            "-arch=lto_90 a.cubin",
            "Link target of 'lto_90' is virtual target that is not JIT-able; use 'sm_' target instead",
        ),
        (
            "-suppress-debug-info -emit-ptx",
            "Conflicting options '-suppress-debug-info' and 'no -g'",
        ),
        (
            "-dump-callgraph -dump-callgraph-no-demangle -dlto",
            "Conflicting options '-dump-callgraph' and '-dump-callgraph-no-demangle'",
        ),
        (
            "-use-host-info -ignore-host-info -Ofc=min",
            "Conflicting options '-use-host-info' and '-ignore-host-info'",
        ),
        ("-force-partial-lto -Ofc=min", "Conflicting options '-force-partial-lto' and 'no -dlto'"),
        ("-emit-ptx -Ofc=min", "Conflicting options '-emit-ptx' and 'no -dlto'"),
        ("-Ofc=zz", "Conflicting options '--Ofast-compile' and 'no -dlto'"),
        ("-dlto -Ofc=zz", "-nvvmpath should be specified with -lto"),
        ("-dlto -nvvmpath=/x -Ofc=zz", "Invalid argument for option '--Ofast-compile'"),
        (
            "-ghls=lcs-aug",
            "Input files are not allowed with -ghls option; use --help for more information",
        ),
    ] {
        let whole = if line.contains("a.cubin") || line.contains("arch=") {
            line.to_owned()
        } else {
            format!("{line} {A}")
        };
        let error = Request::new(&mut parse(&whole).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), message, "{line}");
    }
}

fn settings(line: &str) -> LinkSettings {
    match Request::new(&mut parse(line).unwrap()) {
        Ok(Request::Link(settings)) => *settings,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn settings_of_a_link() {
    let plain = settings(A);
    assert_eq!(plain.target.to_string(), "sm_90");
    assert_eq!(plain.inputs, [Path::new("a.cubin"), Path::new("b.cubin")]);
    assert_eq!(plain.output.as_deref(), Some(Path::new("o")));
    for (option, field) in [
        ("", "report: false"),
        ("", "kernels_used: None"),
        ("", "tool: \"warpld\""),
        ("-v", "report: true"),
        ("-kernels-used=", "kernels_used: None"),
        ("-kernels-used=a", "kernels_used: Some([\"a\"])"),
        ("--disable-smem-reservation=true", "disable_smem_reservation: true"),
        ("--disable-smem-reservation=false", "disable_smem_reservation: false"),
        ("--identity=nvlink --tool-name=x", "tool: \"x\""),
        ("--cuda-release=13.2", "V13.2.86"),
        ("--cuda-release=13.2.51", "V13.2.51"),
        ("--link-as-tools-patch", "debug: true"),
    ] {
        let config = format!("{:?}", settings(&format!("{option} {A}")).config);
        assert!(config.contains(field), "{option}: {field} is not in {config}");
    }
    let virtual_target = settings("-arch=compute_90a a.cubin");
    assert_eq!(virtual_target.target.to_string(), "compute_90a");
    assert_eq!(virtual_target.output, None);
}

/// What nvlink 13.0 to 13.3 say, each asked.
#[test]
fn older_releases_do_not_know_newer_options() {
    for (line, since, message) in [
        ("-v2", "13.2", "Unknown option 'v2'"),
        ("-w --verbose2", "13.2", "Unknown option '-verbose2'"),
        ("-astoolspatch", "13.3", "Unknown option 'astoolspatch'"),
        ("--link-as-tools-patch", "13.3", "Unknown option '-link-as-tools-patch'"),
        ("-cpu-arch RISCV64", "13.3", "Value 'RISCV64' is not defined for option 'cpu-arch'"),
        ("-arch=sm_107", "13.4", "Value 'sm_107' is not defined for option 'arch'"),
        ("-arch compute_107f", "13.4", "Value 'compute_107f' is not defined for option 'arch'"),
        ("-arch=lto_107a", "13.4", "Value 'lto_107a' is not defined for option 'arch'"),
    ] {
        let line = parse(line).unwrap();
        let since = Release::named(since).unwrap();
        for release in Release::ALL {
            let error = line.rejected_by(release);
            match release.toolkit < since.toolkit {
                true => {
                    assert_eq!(error.unwrap().to_string(), message);
                    let since = format!("CUDA {}.{}", since.toolkit / 10, since.toolkit % 10);
                    assert!(error.unwrap().advice().unwrap().starts_with(&since), "{error:?}");
                }
                false => assert_eq!(error, None, "{message} by {}", release.version),
            }
        }
    }
    // The first one counts, and it comes before what follows it.
    let rejected = CommandLine::parse(words("-arch=sm_107 -v2 -zzzzzz"), &no_file).unwrap_err();
    let first = rejected.line.rejected_by(&Release::CUDA_13_0).unwrap();
    assert_eq!(first.to_string(), "Value 'sm_107' is not defined for option 'arch'");
    assert_eq!(rejected.line.rejected_by(&Release::CUDA_13_4), None);
}

fn no_file(_: &Path) -> std::io::Result<Vec<u8>> {
    Err(std::io::ErrorKind::NotFound.into())
}

#[test]
fn the_option_comes_before_the_shim() {
    let shim =
        Shim { root: "/shim".into(), toolkit: "/cuda".into(), version: Some("13.3.73".into()) };
    let origin = |line: &str, shim| ReleaseOrigin::new(&parse(line).unwrap(), shim);
    let by_shim = ReleaseOrigin::Shim(&Release::CUDA_13_3, "/shim".into());
    assert_eq!(origin("x", Some(&shim)), Ok(by_shim));
    let by_option = ReleaseOrigin::Option(&Release::CUDA_13_1);
    assert_eq!(origin("--cuda-release=13.1", Some(&shim)), Ok(by_option));
    let unknown = Shim { version: Some("13.99.1".into()), ..shim.clone() };
    assert_eq!(origin("x", Some(&unknown)), Ok(ReleaseOrigin::Inputs));
    assert_eq!(origin("x", None), Ok(ReleaseOrigin::Inputs));
    let error = SettingsError::UnknownRelease("13.99".into());
    assert_eq!(origin("--cuda-release=13.99", None), Err(error));
}

#[test]
fn redefinitions() {
    let redefined = |line: &str| parse(line).unwrap().redefined;
    assert_eq!(redefined("-arch=sm_80 -arch=sm_90"), [Opt::Arch]);
    assert_eq!(redefined("-arch=sm_80 -arch=sm_90 -arch=sm_80"), [Opt::Arch, Opt::Arch]);
    assert_eq!(redefined("-o a -o a -v -v -l x -l y"), []);
    assert_eq!(redefined("-maxrregcount=8 -maxrregcount=010"), []);
}

#[test]
fn options_files() {
    let files = HashMap::from([
        ("f", "-arch=sm_90 a.cubin"),
        ("nested", "-optf f"),
        ("loop", "-optf loop"),
        ("open", "-o"),
        ("quoted", "\"x y\" 'z"),
        ("response", "'x y' \"z\" -v"),
        ("stray", "a \"b"),
    ]);
    let inputs = |line: &str| -> Vec<String> {
        let line = parse_with(line, &files).unwrap();
        line.inputs.iter().map(|i| String::from_utf8(i.clone()).unwrap()).collect()
    };
    assert_eq!(inputs("x -optf f y"), ["x", "a.cubin", "y"]);
    assert_eq!(inputs("-optf=f,f"), ["a.cubin", "a.cubin"]);
    assert_eq!(inputs("--options-file nested"), ["a.cubin"]);
    assert_eq!(inputs("-optf quoted"), ["x y", "'z"]);
    assert_eq!(inputs("@response"), ["x y", "z"]);
    assert_eq!(inputs("@nope"), ["@nope"]);
    for (line, message) in [
        ("-optf loop", "Too many options file opened 'loop'"),
        ("-optf open o", "argument expected after '-o'"),
        ("-optf stray", "Stray '\"' character"),
    ] {
        assert_eq!(parse_with(line, &files).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_million_words_are_read_in_no_time() {
    let text = "input.o ".repeat(1_000_000);
    let line = parse_with("-optf f", &HashMap::from([("f", text.as_str())])).unwrap();
    assert_eq!(line.inputs.len(), 1_000_000);
}

#[test]
fn help_names_every_documented_option() {
    let (help, man, guide) = (help_text("warpld"), man_page(), guide_page());
    for (_, row) in TABLE {
        let spelled = format!("--{}", row.long);
        if row.audience != Audience::Hidden {
            assert!(help.contains(&spelled), "{spelled}");
        }
        assert!(man.contains(&spelled.replace('-', "\\-")), "{spelled}");
        assert!(guide.contains(&spelled), "{spelled}");
    }
    assert!(help.lines().all(|line| line.len() <= 80));
}

/// Writes `text` to a file of the documentation when `WARPLD_BLESS` is set, and
/// compares otherwise.
pub(crate) fn check_page(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(name);
    if std::env::var_os("WARPLD_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == text, "{name} is out of date: run this test with WARPLD_BLESS=1");
}

#[test]
fn the_guide_is_current() {
    check_page("options.md", &guide_page());
    check_page("warpld.1", &man_page());
    check_page("messages.md", &libwarpld::driver::guide_page());
}
