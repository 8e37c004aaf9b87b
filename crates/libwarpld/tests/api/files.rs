// Inputs of every kind, made from the cubins in this repository. The example of the crate's page
// includes this file.

use fatbin::write::{Image, Writer};
use fatbin::{Compression, Flags, Kind};
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};

/// A cubin of `examples`, or else of `tests/fixtures`.
pub fn cubin(name: &str) -> Vec<u8> {
    let example = support::root().join("examples").join(name);
    std::fs::read(example).unwrap_or_else(|_| support::fixture(name))
}

/// A container with one image.
pub fn fatbin(kind: Kind, arch: &str, payload: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    let image = Image {
        kind,
        arch: arch.parse().expect("an architecture"),
        version: (1, 8),
        flags: Flags::ADDRESS_64.union(Flags::LINUX),
        ident: None,
        options: None,
        compat: None,
        compression: Compression::Zstd,
        payload,
    };
    writer.add(&image).expect("an image");
    writer.finish()
}

/// What nvcc -dc makes: a host object that carries a container.
pub fn host_object(container: Vec<u8>) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let sections = [
        (".nvFatBinSegment", vec![0; 24]),
        ("__nv_relfatbin", container),
        ("__nv_module_id", b"id\0".to_vec()),
    ];
    for (name, data) in sections {
        let section = object.add_section(vec![], name.into(), SectionKind::ReadOnlyData);
        object.section_mut(section).set_data(data, 8);
    }
    object.write().expect("an object")
}

/// What ar makes.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    support::archive(members)
}
