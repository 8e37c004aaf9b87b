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
    assert!(list[0].starts_with("80.sm_80.cubin ") && list[0].contains("zstd"), "{}", list[0]);
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

/// Two files of one ident, and an ident that wants to leave the folder.
#[test]
fn names_neither_clash_nor_escape() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(images()).unwrap();
    let entry = Container::parse(&bytes).unwrap().entries().next().unwrap().unwrap();
    let mut writer = fatbin::write::Writer::new();
    for ident in ["same", "same", "../up", ".."] {
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
    let names = ["same", "same.2", "up", "f.4"];
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
}
