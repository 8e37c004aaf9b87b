//! `warpld extract` on a committed container.

use fatbin::{Container, Entry};
use std::path::{Path, PathBuf};
use std::process::Output;
use support::Program;

const WARPLD: Program = support::warpld!();

fn images() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/images.fatbin")
}

fn extract(folder: &Path, args: &[&str]) -> Output {
    WARPLD.run(folder, ["extract"].iter().chain(args))
}

fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8(bytes.to_vec()).unwrap().lines().map(str::to_owned).collect()
}

/// The name an entry with an ident is written under.
fn name(entry: &Entry<'_>) -> String {
    format!("{}.{}.cubin", String::from_utf8_lossy(entry.ident().unwrap()), entry.arch())
}

#[test]
fn writes_every_image() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(images()).unwrap();
    let output = extract(folder.path(), &[images().to_str().unwrap()]);
    assert!(output.status.success());
    let entries = Container::parse(&bytes).unwrap().flat_entries().unwrap();
    assert_eq!(lines(&output.stdout), entries.iter().map(name).collect::<Vec<_>>());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), entries.len());
    for entry in &entries {
        let written = std::fs::read(folder.path().join(name(entry))).unwrap();
        assert_eq!(written[..], entry.payload().unwrap()[..], "{}", name(entry));
    }
}

#[test]
fn lists_without_writing() {
    let folder = tempfile::tempdir().unwrap();
    let output = extract(folder.path(), &["--list", "--arch", "sm_80", images().to_str().unwrap()]);
    assert!(output.status.success());
    let list = lines(&output.stdout);
    assert_eq!(list.len(), 1);
    // Numbers are those that `dump --image` takes, whatever is left out.
    let (number, rest) = list[0].trim_start().split_once("  ").unwrap();
    assert!(number.parse::<usize>().unwrap() > 1, "{}", list[0]);
    assert!(rest.starts_with("80.sm_80.cubin ") && rest.contains("zstd"), "{}", list[0]);
    let images = images();
    let args = ["dump", "--image", number, "--only=identity", images.to_str().unwrap()];
    let shown = lines(&WARPLD.run(folder.path(), args).stdout);
    assert!(shown[0].contains(":80.sm_80.cubin: "), "{shown:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn one_image_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let input = images();
    let input = input.to_str().unwrap();
    let one = extract(folder.path(), &["-n", "m1.", "-o", "x.cubin", input]);
    assert!(one.status.success());
    assert!(std::fs::read(folder.path().join("x.cubin")).unwrap().starts_with(b"\x7fELF"));
    let several = extract(folder.path(), &["-o", "y.cubin", input]);
    assert_eq!(several.status.code(), Some(1));
    assert!(!folder.path().join("y.cubin").exists());
}

/// Two files of one ident, idents that want to leave the folder or to be another file's name.
#[test]
fn names_neither_clash_nor_escape() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(images()).unwrap();
    let entry = Container::parse(&bytes).unwrap().entries().next().unwrap().unwrap();
    let mut writer = fatbin::write::Writer::new();
    for ident in ["same", "same", "../up", "..", "f.6.x", ".."] {
        writer
            .add(&fatbin::write::Image {
                kind: entry.kind(),
                arch: entry.arch(),
                version: (1, 8),
                flags: fatbin::Flags::ADDRESS_64,
                ident: Some(ident.as_bytes()),
                options: None,
                compat: None,
                compression: fatbin::Compression::Lz4,
                payload: &entry.payload().unwrap(),
            })
            .unwrap();
    }
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(folder.path().join("in/f.fatbin"), writer.finish()).unwrap();
    let output = extract(&folder.path().join("in"), &["f.fatbin"]);
    assert!(output.status.success());
    let names = ["same", "same.2", "up", "f.4", "f.6", "f.6.6"];
    let expected = names.map(|name| format!("{name}.{}.cubin", entry.arch()));
    assert_eq!(lines(&output.stdout), expected);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn failures_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(images()).unwrap();
    std::fs::write(folder.path().join("cut.fatbin"), &bytes[..bytes.len() - 1]).unwrap();
    std::fs::write(folder.path().join("text"), "nothing here").unwrap();
    for (file, message) in [
        ("cut.fatbin", "cut.fatbin: fatbin container at offset 0x0 needs"),
        ("text", "no image found"),
        ("gone", "gone: No such file"),
    ] {
        let output = extract(folder.path(), &[file]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(message), "{text}");
    }
    // What was asked for and is not there, by either command.
    std::fs::write(folder.path().join("k.ptx"), ".version 9.0\n.target sm_90\n").unwrap();
    let input = images();
    let input = input.to_str().unwrap();
    for (args, message) in [
        (
            &["extract", "--arch", "sm_50", input][..],
            "no image found that fits --kind, --arch and --name",
        ),
        (&["dump", "--arch", "sm_50", input], "no image that fits --arch and --image"),
        (&["dump", "k.ptx"], "only PTX or LTO-IR in it, and no machine code"),
        (&["dump", "text"], "neither a device ELF file nor a container of one"),
    ] {
        let output = WARPLD.run(folder.path(), args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(message), "{args:?}: {text}");
    }
}

#[test]
fn a_list_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    let input = images();
    let input = input.to_str().unwrap();
    let output = extract(folder.path(), &["--list", "--json", "--arch", "sm_80", input]);
    assert!(output.status.success());
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list["format"], 1);
    let [image] = list["images"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!(image["name"], "80.sm_80.cubin");
    let number = image["number"].to_string();
    let args = ["dump", "--json", "--image", &number, input];
    let shown: serde_json::Value =
        serde_json::from_slice(&WARPLD.run(folder.path(), args).stdout).unwrap();
    assert!(shown["files"][0]["file"].as_str().unwrap().ends_with(":80.sm_80.cubin"), "{shown}");
    assert_eq!((&image["kind"], &image["arch"]), (&"cubin".into(), &"sm_80".into()));
    assert_eq!((&image["compression"], &image["file"]), (&"zstd".into(), &input.into()));
    assert!(image["size"].as_u64() > image["stored_size"].as_u64());
}

#[test]
fn standard_input_and_output() {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = WARPLD
        .command()
        .args(["extract", "-n", "m1.", "-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = std::fs::read(images()).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let entries = Container::parse(&bytes).unwrap().flat_entries().unwrap();
    let m1 = entries.iter().find(|entry| name(entry).starts_with("m1.")).unwrap();
    assert_eq!(output.stdout, m1.payload().unwrap()[..]);
    // A name that begins with a dash would be taken for an option by other programs.
    let folder = tempfile::tempdir().unwrap();
    let mut command = WARPLD.command();
    command.args(["extract", "-"]).current_dir(folder.path());
    let input = std::fs::File::open(images()).unwrap();
    let output = command.stdin(input).output().unwrap();
    let named = lines(&output.stdout);
    assert!(output.status.success() && !named.is_empty(), "{output:?}");
    assert!(named.iter().all(|name| !name.starts_with('-')), "{named:?}");
}

#[test]
#[cfg(unix)]
fn nothing_is_replaced_or_followed_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let input = images();
    let input = input.to_str().unwrap();
    let args = ["-n", "m1.", "-d", "new/deep", input];
    // The folder is made.
    let first = extract(folder.path(), &args);
    assert!(first.status.success(), "{first:?}");
    let name = lines(&first.stdout).remove(0);
    let path = folder.path().join("new/deep").join(&name);
    std::fs::write(&path, "mine").unwrap();
    let again = extract(folder.path(), &args);
    assert_eq!(again.status.code(), Some(1));
    let message = format!("warpld error   : 'new/deep/{name}' exists; --force replaces it\n");
    assert_eq!(String::from_utf8_lossy(&again.stderr), message);
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    let forced: Vec<&str> = args.iter().copied().chain(["--force"]).collect();
    assert!(extract(folder.path(), &forced).status.success());
    assert!(std::fs::read(&path).unwrap().starts_with(b"\x7fELF"));
    // A link to somewhere else.
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    for args in [&args[..], &forced] {
        assert_eq!(extract(folder.path(), args).status.code(), Some(1));
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    }
}

/// An object as clang's new driver makes it, with a cubin for sm_90.
#[test]
fn clang_s_offloading_sections_are_read() {
    use object::write::Object;
    let folder = tempfile::tempdir().unwrap();
    let cubin = support::fixture("scale.sm_90.cubin");
    let word = |n: usize| (n as u64).to_le_bytes();
    let mut binary = [&[0x10, 0xFF, 0x10, 0xAD, 1, 0, 0, 0][..], &word(0), &word(32)].concat();
    binary.extend([&word(40)[..], &[3, 0, 2, 0, 0, 0, 0, 0]].concat());
    for number in [72, 1, 104, cubin.len(), 88, 93] {
        binary.extend(word(number));
    }
    binary.extend(b"arch\0sm_90\0\0\0\0\0\0");
    binary.extend(&cubin);
    binary.resize(binary.len().next_multiple_of(8), 0);
    let size = binary.len();
    binary[8..16].copy_from_slice(&word(size));
    let mut host = Object::new(
        object::BinaryFormat::Elf,
        object::Architecture::X86_64,
        object::Endianness::Little,
    );
    let section =
        host.add_section(vec![], b".llvm.offloading".to_vec(), object::SectionKind::ReadOnlyData);
    host.append_section_data(section, &binary, 8);
    std::fs::write(folder.path().join("clang.o"), host.write().unwrap()).unwrap();
    let output = extract(folder.path(), &["clang.o"]);
    assert!(output.status.success(), "{output:?}");
    let name = lines(&output.stdout).remove(0);
    assert_eq!(name, "clang.1.sm_90.cubin");
    assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), cubin);
    let shown = WARPLD.run(folder.path(), ["dump", "--only", "identity", "clang.o"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.starts_with("clang.o:clang.1.sm_90.cubin: relocatable for sm_90"), "{shown}");
}
