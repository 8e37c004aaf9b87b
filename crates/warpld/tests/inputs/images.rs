//! Small device images compiled from the PTX below, kept in one container
//! under their idents.

use cubin::{Arch, Variant};
use fatbin::write::{Image, Writer};
use fatbin::{Compression, Container, Flags, Kind};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Every architecture nvlink takes.
pub const ARCHS: [&str; 23] = [
    "75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f",
    "110", "110a", "110f", "120", "120a", "120f", "121", "121a", "121f",
];

/// Bodies of the images that are for sm_90, beside one per architecture.
const BODIES: [(&str, &str); 8] = [
    ("m1", ".visible .entry k_m1() { ret; }"),
    ("m2", ".visible .entry k_m2() { ret; }"),
    ("m3", ".visible .entry k_m3() { ret; }"),
    ("m4", ".visible .entry k_m4() { ret; }"),
    ("calls", ".extern .func missing;\n.visible .entry k_calls() { call missing; ret; }"),
    ("defines", ".visible .func missing { ret; }\n.visible .entry k_defines() { ret; }"),
    (
        "variable",
        ".extern .global .u64 lost;\n.visible .global .u64 p = lost;\n.visible .entry k_variable() { ret; }",
    ),
    (
        "builtin",
        ".extern .func (.param .b64 r) malloc (.param .b64 a);
         .visible .entry k_builtin() {
             .param .b64 size;
             .param .b64 result;
             st.param.b64 [size], 8;
             call.uni (result), malloc, (size);
             ret;
         }",
    ),
];

/// Images by name.
pub type Images = BTreeMap<String, Vec<u8>>;

/// The PTX of an image, for entries of that kind.
pub fn ptx(arch: &str, body: &str) -> String {
    format!(".version 9.0\n.target sm_{arch}\n.address_size 64\n{body}\n")
}

/// `90a` as an architecture.
pub fn arch(text: &str) -> Arch {
    format!("sm_{text}").parse().unwrap()
}

/// The images; with a toolkit and the wish to bless they are made anew.
pub fn load() -> Images {
    let file = super::data_file("images.fatbin");
    if let (Some(toolkit), true) = (support::toolkit(), super::bless()) {
        std::fs::write(&file, compile_all(&toolkit)).unwrap();
    }
    let bytes = std::fs::read(file).unwrap();
    let mut images = Images::new();
    for entry in Container::parse(&bytes).unwrap().flat_entries().unwrap() {
        let name = String::from_utf8(entry.ident().unwrap().to_vec()).unwrap();
        images.insert(name, entry.payload().unwrap().into_owned());
    }
    images
}

fn compile_all(toolkit: &Path) -> Vec<u8> {
    let mut writer = Writer::new();
    let mut add = |name: &str, arch_name: &str, body: &str| {
        let payload = compile(toolkit, arch_name, body);
        let image = Image {
            kind: Kind::ELF,
            arch: Arch { variant: Variant::Plain, ..arch(arch_name) },
            version: (1, 8),
            flags: Flags::ADDRESS_64.union(Flags::LINUX),
            ident: Some(name.as_bytes()),
            options: None,
            compat: None,
            compression: Compression::Zstd,
            payload: &payload,
        };
        writer.add(&image).unwrap();
    };
    for arch in ARCHS {
        add(arch, arch, &format!(".visible .entry k_{arch}() {{ ret; }}"));
    }
    for (name, body) in BODIES {
        add(name, "90", body);
    }
    writer.finish()
}

fn compile(toolkit: &Path, arch: &str, body: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("x.ptx");
    let output = folder.path().join("x.cubin");
    std::fs::write(&source, ptx(arch, body)).unwrap();
    let status = Command::new(toolkit.join("bin/ptxas"))
        .args(["-c", "-arch", &format!("sm_{arch}")])
        .args([&source, Path::new("-o"), &output])
        .status()
        .unwrap();
    assert!(status.success(), "{body}");
    std::fs::read(output).unwrap()
}
