//! The command as a program among programs: files, pipes, names, exit status.
//! Needs no toolkit; the inputs are the repository's examples.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use support::{Program, example, stderr};

const WARPLD: Program = support::warpld!();

fn inputs() -> [String; 2] {
    [example("saxpy.sm_90.cubin"), example("scale.sm_90.cubin")]
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_link_writes_its_output_and_nothing_else() {
    let folder = WARPLD.folder("plain");
    let [a, b] = inputs();
    let output = WARPLD.run(&folder, ["-arch=sm_90", &a, &b, "-o", "o", "--verify", "--threads=2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    assert_eq!(names_in(&folder), ["o"]);
}

#[test]
fn a_failed_link_leaves_the_old_output_alone() {
    let folder = WARPLD.folder("failed");
    fs::write(folder.join("o"), "old").unwrap();
    let [a, _] = inputs();
    let output = WARPLD.run(&folder, ["-arch=sm_90", &a, &a, "-o", "o"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read(folder.join("o")).unwrap(), b"old");
    assert_eq!(names_in(&folder), ["o"]);
}

#[test]
fn files_that_cannot_be_used_end_in_a_message() {
    let folder = WARPLD.folder("unusable");
    fs::create_dir(folder.join("dir")).unwrap();
    let [a, b] = inputs();
    for (args, message) in [
        (["-arch=sm_90", "dir", &b, "-o", "o"], "Could not open input file 'dir'"),
        (["-arch=sm_90", "/dev/zero", &b, "-o", "o"], "Could not open input file '/dev/zero'"),
        (["-arch=sm_90", "missing.o", &b, "-o", "o"], "Could not open input file 'missing.o'"),
        (["-arch=sm_90", &a, &b, "-o", "dir"], "Could not open output file 'dir'"),
        (["-arch=sm_90", &a, &b, "-o", "no/o"], "Could not open output file 'no/o'"),
        (["-arch=sm_90", &a, &b, "-o", "/dev/full"], "Could not write output file '/dev/full'"),
    ] {
        let output = WARPLD.run(&folder, args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let expected = format!("warpld fatal   : {message} [");
        assert!(stderr(&output).starts_with(&expected), "{}", stderr(&output));
    }
}

#[test]
fn slips_of_the_pen_are_answered_with_a_suggestion() {
    let folder = WARPLD.folder("slips");
    for (word, notes) in [
        ("-arhc=sm_90", "    = did you mean '--arch'?\n"),
        ("-arch=sm9_0", "    = did you mean 'sm_90'?\n"),
        ("--why-life=f", "    = did you mean '--why-live'?\n"),
        ("--error-format=jsn", "    = it takes text, json\n"),
        ("-ghls=x", "    = it takes lcs-abs, lcs-aug\n"),
        (
            "dmp",
            "    = name the target, for example -arch=sm_90\n    = did you mean 'warpld dump'?\n",
        ),
    ] {
        let text = stderr(&WARPLD.run(&folder, [word]));
        let (_, found) = text.split_once('\n').unwrap();
        assert_eq!(found, notes, "{word}");
    }
}

/// Of a flood of messages the first are printed; all of them count.
#[test]
fn messages_of_a_kind_are_limited() {
    let folder = WARPLD.folder("flood");
    let image = fs::read(example("scale.sm_90.cubin")).unwrap();
    let names: Vec<String> = (0..30).map(|i| format!("{i}.cubin")).collect();
    for name in &names {
        fs::write(folder.join(name), &image).unwrap();
    }
    // Every copy is for another target, which is a warning for each.
    let count = |words: &[&str]| {
        let fixed = ["-arch=sm_80", "-o", "o"];
        let host: Vec<String> = names.iter().map(|name| host_object(&folder, name)).collect();
        let host = host.iter().map(String::as_str);
        let args: Vec<&str> = fixed.into_iter().chain(words.iter().copied()).chain(host).collect();
        let output = WARPLD.run(&folder, args);
        let text = stderr(&output);
        (text.matches("[arch-not-found]").count(), text)
    };
    let (printed, text) = count(&[]);
    assert_eq!(printed, 20, "{text}");
    assert!(text.contains("    = and 10 more of this kind; --error-limit=0 shows all\n"), "{text}");
    // What to do is said once.
    assert_eq!(text.matches("pass --suppress-arch-warning").count(), 1, "{text}");
    assert_eq!(count(&["--error-limit=0"]).0, 30);
    assert_eq!(count(&["--error-limit=3"]).0, 3);
    let (_, json) = count(&["--error-format=json"]);
    assert_eq!(json.lines().count(), 30, "{json}");
}

/// A host object with the device code of a file, beside it.
fn host_object(folder: &Path, name: &str) -> String {
    let payload = fs::read(folder.join(name)).unwrap();
    let mut writer = fatbin::write::Writer::new();
    let image = fatbin::write::Image {
        kind: fatbin::Kind::ELF,
        arch: "sm_90".parse().unwrap(),
        version: (1, 8),
        flags: fatbin::Flags::ADDRESS_64.union(fatbin::Flags::LINUX),
        ident: None,
        options: None,
        compat: None,
        compression: fatbin::Compression::None,
        payload: &payload,
    };
    writer.add(&image).unwrap();
    let (format, endian) = (object::BinaryFormat::Elf, object::Endianness::Little);
    let mut host = object::write::Object::new(format, object::Architecture::X86_64, endian);
    for (section, data) in [("__nv_relfatbin", writer.finish()), (".nvFatBinSegment", vec![0; 24])]
    {
        let kind = object::SectionKind::ReadOnlyData;
        let section = host.add_section(vec![], section.into(), kind);
        host.section_mut(section).set_data(data, 8);
    }
    let name = name.replace(".cubin", ".o");
    fs::write(folder.join(&name), host.write().unwrap()).unwrap();
    name
}

/// A link that takes longer shows a line on a terminal, and wipes it.
#[test]
#[cfg(target_os = "linux")]
fn progress_is_shown_on_a_terminal_only() {
    let folder = WARPLD.folder("progress");
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    let [a, b] = inputs();
    // The pipe holds the link up for longer than a second.
    let line = format!("{} -arch=sm_90 {a} {b} -o o --nv-host pipe", WARPLD.path().display());
    let slow = |command: &mut Command| {
        let child = command
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = fs::OpenOptions::new().write(true).open(folder.join("pipe")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1500));
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert_eq!(slow(Command::new("sh").args(["-c", &line])), "");
    if Command::new("script").arg("--version").output().is_ok_and(|o| o.status.success()) {
        let seen = slow(Command::new("script").args(["-qec", &line, "/dev/null"]));
        assert!(seen.starts_with("\rwarpld: linking 2 inputs, 1 s"), "{seen:?}");
        assert!(seen.ends_with("\r\u{1b}[K"), "{seen:?}");
    } else {
        // Not by eprintln!, which is not shown of a test that passes; .ci/run collects such lines.
        let line = "not run: progress on a terminal (script(1) of util-linux cannot be started)";
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

#[test]
fn version_and_help_exist_under_both_names() {
    let folder = WARPLD.folder("names");
    let nvlink = folder.join("nvlink");
    std::os::unix::fs::symlink(WARPLD.path(), &nvlink).unwrap();
    for program in [WARPLD.path(), &nvlink] {
        for (flag, text) in [("--version", ", V13."), ("-h", "--register-link-binaries")] {
            let output = Command::new(program).arg(flag).output().unwrap();
            assert!(output.status.success());
            assert!(String::from_utf8_lossy(&output.stdout).contains(text));
        }
    }
    let fatal =
        |program: &Path, arg: &str| stderr(&Command::new(program).arg(arg).output().unwrap());
    assert_eq!(fatal(&nvlink, "-q"), "nvlink fatal   : Unknown option 'q'\n");
    assert_eq!(
        fatal(WARPLD.path(), "-q"),
        "warpld fatal   : Unknown option 'q' [unknown-option]\n"
    );
    // A subcommand for one, an input for the other.
    assert_eq!(
        fatal(&nvlink, "shim"),
        "nvlink fatal   : Unknown arch name '(null)'\n    = name the target, for example -arch=sm_90\n"
    );
    assert!(fatal(WARPLD.path(), "shim").contains("usage: warpld shim"));
}

#[test]
fn nobody_reading_is_no_reason_to_panic() {
    let mut child = WARPLD
        .command()
        .arg("--help")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
    assert!(matches!(output.status.code(), Some(0 | 141)));
}

#[test]
fn a_million_words_in_an_options_file() {
    let folder = WARPLD.folder("million");
    let [a, b] = inputs();
    fs::write(folder.join("f"), format!("{} {a} {b} -o o", "-w ".repeat(1_000_000))).unwrap();
    let output = WARPLD.run(&folder, ["-arch=sm_90", "-optf", "f"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = WARPLD.run(&folder, ["-arch=sm_90", "@f"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn links_at_the_same_time_share_a_registration_file() {
    let folder = WARPLD.folder("shared");
    let [a, b] = inputs();
    let children: Vec<_> = (0..8)
        .map(|i| {
            WARPLD
                .command()
                .args(["-arch=sm_90", &a, &b, "--register-link-binaries=reg", "-o"])
                .arg(format!("o{i}"))
                .current_dir(&folder)
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = fs::read_to_string(folder.join("reg")).unwrap();
    assert!(text.starts_with("#define NUM_PRELINKED_OBJECTS 2\n") && text.lines().count() == 3);
    assert_eq!(names_in(&folder).len(), 9);
    assert_eq!(fs::read(folder.join("o0")).unwrap(), fs::read(folder.join("o7")).unwrap());
}

#[test]
fn messages_about_the_command_line_as_json() {
    let folder = WARPLD.folder("json");
    // Wherever the option stands.
    for args in [["--error-format=json", "--bogus"], ["--bogus", "--error-format=json"]] {
        let output = WARPLD.run(&folder, args);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            stderr(&output),
            "{\"format\":1,\"tool\":\"warpld\",\"severity\":\"fatal\",\"code\":\"unknown-option\",\
             \"message\":\"Unknown option '-bogus'\",\"notes\":[]}\n"
        );
    }
}

#[test]
fn reports_of_a_link() {
    let folder = WARPLD.folder("reports");
    let [a, b] = inputs();
    let output = WARPLD.run(
        &folder,
        ["-arch=sm_90", &a, &b, "-o", "o", "--map=m", "--trace", "--print-resources", "-dot", "d"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stderr(&output);
    assert_eq!(text.matches("trace: ").count(), 2, "{text}");
    assert!(text.contains("\n  registers "), "{text}");
    let map = fs::read_to_string(folder.join("m")).unwrap();
    let size = fs::metadata(folder.join("o")).unwrap().len();
    assert!(map.starts_with(&format!("Output: {size} bytes\n")), "{map}");
    assert!(fs::read_to_string(folder.join("d")).unwrap().starts_with("digraph callgraph {\n"));
}

/// On Blackwell both halves of the file are in the map.
#[test]
fn the_map_of_two_halves() {
    let folder = WARPLD.folder("halves");
    let [a, b] = ["saxpy.sm_100.cubin", "scale.sm_100.cubin"].map(example);
    let output = WARPLD.run(&folder, ["-arch=sm_100", &a, &b, "-o", "o", "--map=m"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let map = fs::read_to_string(folder.join("m")).unwrap();
    let size = fs::metadata(folder.join("o")).unwrap().len();
    assert!(map.starts_with(&format!("Output: {size} bytes\n")), "{map}");
    for section in [".text._Z5scalef", ".nv.capmerc.text._Z5scalef"] {
        let (_, rest) = map.split_once(&format!("  {section}\n")).unwrap();
        let part = rest.lines().next().unwrap();
        assert!(part.contains("  +0x0  ") && part.ends_with("scale.sm_100.cubin"), "{map}");
    }
}
