//! Names that would fool a terminal, in every text that is printed or written.

use std::fs;
use std::path::Path;
use std::process::Output;
use support::{Program, example};

const WARPLD: Program = support::warpld!();

/// Moves the cursor, ends the line, turns around what follows.
const HOSTILE: &str = "x\u{1b}]0;t\u{7}\n\r\u{202e}\u{9b}2J";

fn is_harmless(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let hidden = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    !text.chars().any(hidden)
}

/// The file with `from` in its string tables replaced by a hostile name of the same length.
fn renamed(mut bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut count = 0;
    while let Some(at) = bytes.windows(from.len()).position(|w| w == from.as_bytes()) {
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        count += 1;
    }
    assert!(count > 0, "{from}");
    bytes
}

fn check(folder: &Path, args: &[&str]) -> Output {
    let output = WARPLD.run(folder, args);
    for text in [&output.stdout, &output.stderr] {
        assert!(is_harmless(text), "{args:?}");
    }
    output
}

#[test]
#[cfg(unix)]
fn no_text_shows_a_hostile_name_as_it_is() {
    let folder = WARPLD.folder("names");
    let (kernel, function) = ("_Z5saxpyifPKfPf", "_Z5scalef");
    let bad_kernel = "a\u{1b}[2J\nwarpld\u{7}ab";
    let bad_function = "b\u{1b}[1A\rcde";
    let read = |name| fs::read(example(name)).unwrap();
    let a = renamed(read("saxpy.sm_90.cubin"), kernel, bad_kernel);
    let a = renamed(a, function, bad_function);
    let b = renamed(read("scale.sm_90.cubin"), function, bad_function);
    let file = format!("{HOSTILE}.cubin");
    fs::write(folder.join(&file), &a).unwrap();
    fs::write(folder.join("b.cubin"), &b).unwrap();
    let link = ["-arch=sm_90", &file, "b.cubin", "-o", "o"];
    let reports = [
        "-v",
        "--print-resources",
        "--trace",
        "--dump-callgraph",
        "--map=map",
        "--report=page",
        "--why-live=launches",
        "--print-cuda-release",
    ];
    let why = format!("--why-live={bad_kernel}");
    let dead = format!("--why-dead={HOSTILE}");
    let args: Vec<&str> = link.iter().chain(&reports).copied().chain([&*why, &*dead]).collect();
    let output = check(&folder, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("\\x1b[2J\\n"));
    for report in ["map", "page"] {
        assert!(is_harmless(&fs::read(folder.join(report)).unwrap()), "{report}");
    }
    // Undefined, defined twice, of another tool.
    check(&folder, &["-arch=sm_90", &file, "-o", "p"]);
    check(&folder, &["-arch=sm_90", &file, &file, "b.cubin", "-o", "p"]);
    check(&folder, &["-arch=sm_90", &file, "-o", "p", &format!("--tool-name={HOSTILE}")]);
    check(&folder, &["-arch=sm_90", &format!("{HOSTILE}.o"), "-o", "p"]);
    check(&folder, &["-arch=sm_90", "b.cubin", "-o", &format!("no/{HOSTILE}")]);
    check(&folder, &[&format!("-arch={HOSTILE}")]);
    check(&folder, &[&format!("--{HOSTILE}")]);
    // The other commands.
    check(&folder, &["dump", &file, "o", "b.cubin"]);
    check(&folder, &["dump", "--json", "b.cubin"]);
    check(&folder, &["diff", &file, "b.cubin"]);
    check(&folder, &["diff", HOSTILE, "b.cubin"]);
    check(&folder, &["extract", "--list", &file]);
    check(&folder, &["extract", &file, "-d", "."]);
    check(&folder, &["extract", HOSTILE]);
    check(&folder, &["toolkit", &format!("--cuda-path={HOSTILE}")]);
    check(&folder, &["shim", HOSTILE, "x"]);
    check(&folder, &["help", HOSTILE]);
    check(&folder, &["man", "b.cubin"]);
}

/// The names that fatbins give their images become names of files.
#[test]
fn images_are_written_under_names_without_tricks() {
    let folder = WARPLD.folder("idents");
    let payload = fs::read(example("scale.sm_90.cubin")).unwrap();
    for ident in ["../../etc/x\u{1b}[2J\n", "\u{202e}gpj", "..", "/"] {
        let mut writer = fatbin::write::Writer::new();
        let image = fatbin::write::Image {
            kind: fatbin::Kind::ELF,
            arch: "sm_90".parse().unwrap(),
            version: (1, 8),
            flags: fatbin::Flags(0),
            ident: Some(ident.as_bytes()),
            options: None,
            compat: None,
            compression: fatbin::Compression::None,
            payload: &payload,
        };
        writer.add(&image).unwrap();
        fs::write(folder.join("f.fatbin"), writer.finish()).unwrap();
        let _ = fs::remove_dir_all(folder.join("out"));
        let output = check(&folder, &["extract", "f.fatbin", "-d", "out"]);
        assert!(output.status.success(), "{ident:?}");
        for entry in fs::read_dir(&folder).unwrap().chain(fs::read_dir(folder.join("out")).unwrap())
        {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(is_harmless(name.as_bytes()) && !name.contains('\n'), "{name:?}");
        }
    }
}
