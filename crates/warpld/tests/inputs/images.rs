//! Small device images compiled from the PTX below, kept in one container
//! under their idents.

use cubin::{Arch, Variant};
use fatbin::write::{Image, Writer};
use fatbin::{Compression, Container, Flags, Kind};
use libwarpld::Release;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Every architecture that some nvlink takes.
pub const ARCHS: [&str; 26] = [
    "75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f",
    "107", "107a", "107f", "110", "110a", "110f", "120", "120a", "120f", "121", "121a", "121f",
];

/// The architectures of a release.
pub fn archs(release: &Release) -> Vec<&'static str> {
    ARCHS.into_iter().filter(|name| release.has_target(arch(name))).collect()
}

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
    let version = if is_of_cuda_13_0(arch) { "9.0" } else { "9.4" };
    format!(".version {version}\n.target sm_{arch}\n.address_size 64\n{body}\n")
}

fn is_of_cuda_13_0(name: &str) -> bool {
    Release::CUDA_13_0.has_target(arch(name))
}

/// `90a` as an architecture.
pub fn arch(text: &str) -> Arch {
    format!("sm_{text}").parse().unwrap()
}

/// The images; with a toolkit and the wish to bless they are made anew: by CUDA 13.0, and those
/// for later targets by the first release that has them.
pub fn load() -> Images {
    let file = super::data_file("images.fatbin");
    let mut images = read(&file);
    if let (Some(toolkit), true) = (support::toolkit(), super::bless()) {
        compile_all(&toolkit, &mut images);
        std::fs::write(&file, pack(&images)).unwrap();
    }
    images
}

fn read(file: &Path) -> Images {
    let bytes = std::fs::read(file).unwrap();
    let mut images = Images::new();
    for entry in Container::parse(&bytes).unwrap().flat_entries().unwrap() {
        let name = String::from_utf8(entry.ident().unwrap().to_vec()).unwrap();
        images.insert(name, entry.payload().unwrap().into_owned());
    }
    images
}

fn compile_all(toolkit: &Path, images: &mut Images) {
    let release = super::release_of(toolkit);
    for name in ARCHS {
        let first = Release::first_with(arch(name)).unwrap();
        if first.toolkit == release.toolkit {
            let body = format!(".visible .entry k_{name}() {{ ret; }}");
            images.insert(name.into(), compile(toolkit, name, &body));
        }
    }
    if release.toolkit == Release::OLDEST.toolkit {
        for (name, body) in BODIES {
            images.insert(name.into(), compile(toolkit, "90", body));
        }
    }
}

fn pack(images: &Images) -> Vec<u8> {
    let mut writer = Writer::new();
    for (name, payload) in images {
        let arch_name = if ARCHS.contains(&name.as_str()) { name } else { "90" };
        let image = Image {
            kind: Kind::ELF,
            arch: Arch { variant: Variant::Plain, ..arch(arch_name) },
            version: (1, 8),
            flags: Flags::ADDRESS_64.union(Flags::LINUX),
            ident: Some(name.as_bytes()),
            options: None,
            compat: None,
            compression: Compression::Zstd,
            payload,
        };
        writer.add(&image).unwrap();
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
