//! Files that are none, files without end, outputs that are inputs, limits of the system: a message
//! in bounded time and memory, and nothing left behind.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::{Program, example, fifo, stderr, thin_archive};

const WARPLD: Program = support::warpld!();

/// Runs the program with 2 GiB of address space and 20 seconds.
fn bounded(folder: &Path, args: &[&str], limits: &str) -> Output {
    let script = format!("ulimit -v 2000000; {limits} exec timeout -k 1 20 \"$@\"");
    Command::new("bash")
        .args(["-c", &script, "bash"])
        .arg(WARPLD.path())
        .args(args)
        .current_dir(folder)
        .env_remove("MAKEFLAGS")
        .output()
        .unwrap()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn inputs(folder: &Path) {
    fs::copy(example("saxpy.sm_90.cubin"), folder.join("a.cubin")).unwrap();
    fs::copy(example("scale.sm_90.cubin"), folder.join("b.cubin")).unwrap();
}

#[test]
fn fifos_and_devices_are_refused_everywhere() {
    let folder = WARPLD.folder("fifos");
    inputs(&folder);
    fifo(&folder.join("fifo"));
    fs::write(folder.join("thin.a"), thin_archive(&["fifo"])).unwrap();
    let device = "../../../../../../../../../../dev/zero";
    fs::write(folder.join("zero.a"), thin_archive(&[device])).unwrap();
    for file in ["fifo", "/dev/zero", "/dev/urandom", "/dev/null"] {
        let (at, uidx) = (format!("@{file}"), format!("--uidx-file={file}"));
        let host = format!("--nv-host={file}");
        // Who passes a pipe here waits for it.
        let (host, uidx) = if file == "fifo" { (at.clone(), at.clone()) } else { (host, uidx) };
        let optf = format!("-optf={file}");
        let link = ["-arch=sm_90", "a.cubin", "b.cubin", "-o", "o"];
        for more in [file, &at, &uidx, &host, &optf] {
            // Empty lists, and nothing, are harmless.
            if file == "/dev/null" {
                continue;
            }
            let args: Vec<&str> = link.iter().copied().chain([more]).collect();
            let output = bounded(&folder, &args, "");
            assert_eq!(output.status.code(), Some(1), "{more}: {}", stderr(&output));
            // It exists: "No such file" would be no help.
            assert!(!stderr(&output).contains("No such file"), "{more}: {}", stderr(&output));
            assert!(stderr(&output).contains("fatal"), "{more}");
        }
        for args in [&["dump", file][..], &["diff", file, "a.cubin"], &["extract", "-l", file]] {
            let output = bounded(&folder, args, "");
            assert!(matches!(output.status.code(), Some(1 | 2)), "{args:?}");
            assert!(stderr(&output).starts_with("warpld "), "{args:?}: {}", stderr(&output));
        }
    }
    for archive in ["thin.a", "zero.a"] {
        let output = bounded(&folder, &["-arch=sm_90", "a.cubin", archive, "-o", "p"], "");
        assert_eq!(output.status.code(), Some(1), "{archive}: {}", stderr(&output));
        assert!(stderr(&output).contains("Not a regular file"));
    }
}

#[test]
fn a_stream_without_end_is_not_read() {
    let folder = WARPLD.folder("streams");
    for source in ["/dev/zero", "/dev/urandom", "yes"] {
        let command = if source == "yes" { "yes".into() } else { format!("cat {source}") };
        let script = format!("ulimit -v 2000000; {command} | timeout 20 \"$0\" dump -");
        let output = Command::new("bash")
            .args(["-c", &script])
            .arg(WARPLD.path())
            .current_dir(&folder)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{source}");
        let text = stderr(&output);
        assert!(
            text.contains("warpld error   : -: neither a device ELF file nor a container of one"),
            "{text}"
        );
    }
}

#[test]
fn a_pipe_of_the_shell_is_an_options_file() {
    let folder = WARPLD.folder("pipe");
    inputs(&folder);
    let script = "\"$0\" -arch=sm_90 -optf <(echo a.cubin b.cubin) -o o";
    let output = Command::new("bash")
        .args(["-c", script])
        .arg(WARPLD.path())
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn outputs_are_neither_inputs_nor_each_other() {
    let folder = WARPLD.folder("conflicts");
    inputs(&folder);
    fs::create_dir(folder.join("sub")).unwrap();
    fs::hard_link(folder.join("a.cubin"), folder.join("hard")).unwrap();
    std::os::unix::fs::symlink("a.cubin", folder.join("soft")).unwrap();
    let before = fs::read(folder.join("a.cubin")).unwrap();
    for (more, file, what) in [
        (&["-o", "a.cubin"][..], "a.cubin", "an input"),
        (&["-o", "./sub/../a.cubin"], "./sub/../a.cubin", "an input"),
        (&["-o", "hard"], "hard", "an input"),
        (&["-o", "soft"], "soft", "an input"),
        (&["-o", "o", "--map=b.cubin"], "b.cubin", "an input"),
        (&["-o", "o", "--map=o"], "o", "another output"),
        (&["-o", "o", "--map=sub/../o"], "sub/../o", "another output"),
        (&["-o", "o", "--time=a.cubin"], "a.cubin", "an input"),
        (&["-o", "o", "-dot", "x", "--register-link-binaries=x"], "x", "another output"),
    ] {
        let args = ["-arch=sm_90", "a.cubin", "b.cubin"].iter().chain(more);
        let output = WARPLD.run(&folder, args);
        assert_eq!(output.status.code(), Some(1), "{more:?}");
        let text = stderr(&output);
        let expected =
            format!("warpld fatal   : Output file '{file}' is also {what} of this link [output-");
        // The order of two outputs is not important.
        let is_either = file == "x" && text.contains("is also another output");
        assert!(text.starts_with(&expected) || is_either, "{more:?}: {text}");
    }
    assert_eq!(fs::read(folder.join("a.cubin")).unwrap(), before);
    assert!(!folder.join("o").exists());
    // What is there already, and is no input, is replaced; devices are not files.
    for more in [&["-o", "o"][..], &["-o", "o"], &["-o", "/dev/null", "--map=/dev/null"]] {
        let args = ["-arch=sm_90", "a.cubin", "b.cubin"].iter().chain(more);
        assert!(WARPLD.run(&folder, args).status.success(), "{more:?}");
    }
    // nvlink links in place.
    let nvlink = folder.join("nvlink");
    std::os::unix::fs::symlink(WARPLD.path(), &nvlink).unwrap();
    let args = ["-arch=sm_90", "a.cubin", "b.cubin", "-o", "a.cubin"];
    assert!(Command::new(&nvlink).args(args).current_dir(&folder).status().unwrap().success());
}

/// Files that the command line does not name as inputs.
#[test]
fn outputs_are_not_what_a_link_finds_by_itself() {
    let folder = WARPLD.folder("found");
    inputs(&folder);
    fs::write(folder.join("words"), "-arch=sm_90 a.cubin b.cubin").unwrap();
    fs::write(folder.join("thin.a"), thin_archive(&["b.cubin"])).unwrap();
    let archive =
        Command::new("ar").args(["rc", "libx.a", "b.cubin"]).current_dir(&folder).status();
    assert!(archive.unwrap().success());
    for (words, file) in [
        (&["@words"][..], "words"),
        (&["-optf", "words"], "words"),
        (&["-arch=sm_90", "a.cubin", "-L.", "-lx"], "libx.a"),
        (&["-arch=sm_90", "a.cubin", "thin.a"], "b.cubin"),
    ] {
        let before = fs::read(folder.join(file)).unwrap();
        for more in [&["-o", file][..], &["-o", "o", "--map", file], &["-o", "o", "-time", file]] {
            let output = WARPLD.run(&folder, words.iter().chain(more));
            assert_eq!(output.status.code(), Some(1), "{words:?} {more:?}: {}", stderr(&output));
            let expected =
                format!("warpld fatal   : Output file '{file}' is also an input of this link");
            assert!(
                stderr(&output).starts_with(&expected),
                "{words:?} {more:?}: {}",
                stderr(&output)
            );
        }
        assert_eq!(fs::read(folder.join(file)).unwrap(), before, "{file}");
        assert!(!folder.join("o").exists(), "{file}");
        assert!(
            WARPLD.run(&folder, words.iter().chain(&["-o", "p"])).status.success(),
            "{words:?}"
        );
    }
}

/// Not even when told to replace what exists.
#[test]
fn extract_does_not_replace_its_input() {
    let folder = WARPLD.folder("extracted");
    inputs(&folder);
    fs::hard_link(folder.join("b.cubin"), folder.join("hard")).unwrap();
    let before = fs::read(folder.join("b.cubin")).unwrap();
    for output in ["b.cubin", "./b.cubin", "hard"] {
        let done = WARPLD.run(&folder, ["extract", "--force", "b.cubin", "-o", output]);
        assert_eq!(done.status.code(), Some(1), "{output}");
        assert!(stderr(&done).contains("is also an input"), "{output}: {}", stderr(&done));
    }
    assert_eq!(fs::read(folder.join("b.cubin")).unwrap(), before);
    let done = WARPLD.run(&folder, ["extract", "--force", "b.cubin", "-o", "a.cubin"]);
    assert!(done.status.success(), "{}", stderr(&done));
}

/// The limit on the size of files, a full disk, more threads than there can be.
#[test]
fn limits_of_the_system_end_in_a_message() {
    let folder = WARPLD.folder("limits");
    inputs(&folder);
    let names = names_in(&folder);
    let link = ["-arch=sm_90", "a.cubin", "b.cubin", "-o", "o", "--map=/dev/null"];
    let output = bounded(&folder, &link, "ulimit -f 1;");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).starts_with("warpld fatal   : Could not write output file 'o'"));
    assert_eq!(names_in(&folder), names);
    let link = ["-arch=sm_90", "a.cubin", "b.cubin", "-o", "/dev/full"];
    let text = stderr(&bounded(&folder, &link, ""));
    assert!(text.starts_with("warpld fatal   : Could not write output file '/dev/full'"));
    assert!(!text.contains("nternal"), "{text}");
    for words in [
        &["dump", "a.cubin"][..],
        &["dump", "--json", "a.cubin"],
        &["diff", "a.cubin", "b.cubin"],
        &["compare", "a.cubin", "b.cubin"],
        &["extract", "--list", "a.cubin"],
        &["extract", "a.cubin", "-o", "-"],
        &["toolkit"],
        &["toolkit", "--json"],
        &["completions", "zsh"],
        &["man"],
        &["help"],
        &["version"],
    ] {
        let output = bounded(&folder, words, "exec >/dev/full;");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{words:?}");
        let text = stderr(&output);
        let message = "warpld fatal   : cannot write to standard output: No space left on device";
        assert!(text.starts_with(message), "{words:?}: {text}");
    }
    for threads in ["--threads=1000000", "--threads=2147483647", "--threads=-7"] {
        let link = ["-arch=sm_90", "a.cubin", "b.cubin", "-o", "o", threads];
        let output = WARPLD.run(&folder, link);
        assert!(output.status.success(), "{threads}: {}", stderr(&output));
    }
}

/// A stream of 64 KiB that unpacks to gigabytes, as cubin or nothing known.
#[test]
fn small_files_do_not_take_gigabytes() {
    let folder = WARPLD.folder("bombs");
    let mut elf = fs::read(example("scale.sm_90.cubin")).unwrap();
    elf.truncate(64);
    for (name, head, size, reason) in [
        ("zeros", &[0; 64][..], 6_u64 << 30, "more than the"),
        ("small-zeros", &[0; 64], 700 << 20, "does not begin like an image"),
        ("elf", &elf, 6 << 30, "more than the"),
    ] {
        let file = format!("{name}.fatbin");
        fs::write(folder.join(&file), bomb(head, size)).unwrap();
        let output = bounded(&folder, &["-arch=sm_90", &file, "-o", "o"], "");
        assert!(matches!(output.status.code(), Some(1 | 255)), "{name}: {output:?}");
        assert!(stderr(&output).contains(reason), "{name}: {}", stderr(&output));
        let output = bounded(&folder, &["extract", &file], "");
        assert_eq!(output.status.code(), Some(1), "{name}");
    }
}

/// A fatbin with one zstd image: a head, then zeros up to the size.
fn bomb(head: &[u8], size: u64) -> Vec<u8> {
    const BLOCK: u64 = 128 << 10;
    // Magic, single segment with 8 bytes of content size.
    let mut stream = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    stream.extend(size.to_le_bytes());
    let block =
        |last: u64, kind: u64, size: u64| ((size << 3 | kind << 1 | last) as u32).to_le_bytes();
    stream.extend(&block(0, 0, head.len() as u64)[..3]);
    stream.extend(head);
    let mut left = size - head.len() as u64;
    while left > 0 {
        let now = left.min(BLOCK);
        left -= now;
        stream.extend(&block(u64::from(left == 0), 1, now)[..3]);
        stream.push(0);
    }
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
        payload: &stream,
    };
    writer.add(&image).unwrap();
    let mut file = writer.finish();
    // Declare the payload compressed: flags and sizes of the entry, after the container's header.
    let entry = 16;
    file[entry + 16..entry + 20].copy_from_slice(&(stream.len() as u32).to_le_bytes());
    let flags = fatbin::Flags::ADDRESS_64.union(fatbin::Flags::LINUX).union(fatbin::Flags::ZSTD);
    file[entry + 40..entry + 48].copy_from_slice(&flags.0.to_le_bytes());
    file[entry + 56..entry + 64].copy_from_slice(&size.to_le_bytes());
    file
}
