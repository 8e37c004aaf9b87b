//! Host objects as nvcc writes them: images for several architectures, compressed in a fatbin, and
//! what the host code refers to. Most builds link these, and archives of them.

use crate::corpus::Maker;
use crate::unlike;
use cubin::classify::{self, SymbolClass};
use cubin::{Binding, Cubin};
use fatbin::Containers;
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, ObjectSection, SectionKind};
use std::fs;
use std::path::Path;

/// The architectures that each object is compiled for.
const ARCHITECTURES: [u32; 3] = [80, 90, 100];

/// So many of ten objects are in archives, of so many members each.
const ARCHIVED_OF_TEN: usize = 3;
const MEMBERS: usize = 100;

/// Makes `count` objects from `sources` sources.
pub fn make(maker: &Maker<'_>, count: usize, sources: usize) -> Result<Vec<String>, String> {
    let images: Result<Vec<Vec<Vec<u8>>>, String> = ARCHITECTURES
        .iter()
        .map(|&sm| unlike::images(&Maker { sm, ..*maker }, count, sources))
        .collect();
    let images = images?;
    let objects: Result<Vec<Vec<u8>>, String> = (0..count)
        .map(|number| {
            let images: Vec<&[u8]> = images.iter().map(|of_sm| &of_sm[number][..]).collect();
            let container = pack(maker, number, &images)?;
            host_object(&container, &format!("_bench_{number:05}"), &kernels(images[1])?)
        })
        .collect();
    let objects = objects?;
    let (plain, archived) = objects.split_at(count - count * ARCHIVED_OF_TEN / 10);
    let mut inputs = Vec::new();
    for (number, object) in plain.iter().enumerate() {
        inputs.push(maker.write(&format!("{number}.o"), object)?);
    }
    for (number, members) in archived.chunks(MEMBERS).enumerate() {
        inputs.push(maker.write(&format!("lib{number}.a"), &archive(members))?);
    }
    Ok(inputs)
}

/// A fatbin of the images, every third one for fast decompression (LZ4).
fn pack(maker: &Maker<'_>, number: usize, images: &[&[u8]]) -> Result<Vec<u8>, String> {
    let mut words = vec!["-64".to_string(), "--compress-all".into()];
    words.push(format!("--compress-mode={}", if number % 3 == 2 { "speed" } else { "default" }));
    words.push("--create=template.fatbin".into());
    for (sm, image) in ARCHITECTURES.iter().zip(images) {
        let file = maker.write(&format!("template.{sm}.cubin"), image)?;
        words.push(format!("--image3=kind=elf,sm={sm},file={file}"));
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    maker.tool("fatbinary", &words)?;
    fs::read(maker.folder.join("template.fatbin")).map_err(|e| e.to_string())
}

/// The names of the kernels that other files can refer to.
fn kernels(image: &[u8]) -> Result<Vec<String>, String> {
    let cubin = Cubin::parse(image).map_err(|e| e.to_string())?;
    let kernels = cubin.symbols().filter(|symbol| {
        symbol.binding() != Binding::LOCAL
            && classify::symbol(&cubin, symbol) == SymbolClass::Kernel
    });
    Ok(kernels.map(|symbol| String::from_utf8_lossy(symbol.name).into_owned()).collect())
}

/// A host object with device code and the names of kernels that its host code launches.
fn host_object(container: &[u8], id: &str, kernels: &[String]) -> Result<Vec<u8>, String> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let mut add = |name: &str, data: &[u8]| {
        let kind = SectionKind::ReadOnlyData;
        let section = object.add_section(Vec::new(), name.into(), kind);
        object.append_section_data(section, data, 8);
    };
    let list = |names: &[String]| -> Vec<u8> {
        match names {
            [] => vec![0],
            names => names.iter().flat_map(|name| name.bytes().chain([0])).collect(),
        }
    };
    add(".nvFatBinSegment", &[0; 24]);
    add("__nv_relfatbin", container);
    add("__nv_module_id", &list(&[id.to_owned()]));
    add(".nvHRKE", &list(kernels));
    for name in [".nvHRKI", ".nvHRDE", ".nvHRDI", ".nvHRCE", ".nvHRCI"] {
        add(name, &list(&[]));
    }
    object.write().map_err(|e| e.to_string())
}

/// An archive with members `0.o`, `1.o` …
pub fn archive(members: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"!<arch>\n".to_vec();
    for (number, member) in members.iter().enumerate() {
        let (name, size) = (format!("{number}.o/"), member.len());
        file.extend(format!("{name:<16}0           0     0     644     {size:<10}`\n").bytes());
        file.extend(member);
        if !file.len().is_multiple_of(2) {
            file.push(b'\n');
        }
    }
    file
}

/// The inputs of a library's own device link, which its section `__nv_relfatbin` keeps.
pub fn of_library(maker: &Maker<'_>, library: &Path) -> Result<Vec<String>, String> {
    let data = fs::read(library).map_err(|e| format!("{}: {e}", library.display()))?;
    let file = object::File::parse(&data[..]).map_err(|e| e.to_string())?;
    let bytes = |name: &str| -> Result<&[u8], String> {
        let section = object::Object::section_by_name(&file, name);
        section.ok_or(format!("no {name}"))?.data().map_err(|e| e.to_string())
    };
    let kernels = bytes(".nvHRKE").unwrap_or_default().split(|&byte| byte == 0);
    let kernels = kernels.map(|name| String::from_utf8_lossy(name).into_owned());
    let kernels: Vec<String> = kernels.filter(|name| !name.is_empty()).collect();
    let containers = Containers::new(bytes("__nv_relfatbin")?).enumerate();
    let object = |(number, container): (usize, Result<fatbin::Container<'_>, _>)| {
        let container = container.map_err(|e: fatbin::FatbinError| e.to_string())?;
        // References are pooled, so one object may name them all.
        let kernels = if number == 0 { &kernels[..] } else { &[] };
        let object = host_object(container.bytes(), &format!("_{number}"), kernels)?;
        maker.write(&format!("{number}.o"), &object)
    };
    containers.map(object).collect()
}

/// A program and an archive of device code that it is linked with.
pub fn with_archive(maker: &Maker<'_>, archive: &Path) -> Result<Vec<String>, String> {
    let source = "__global__ void root(int* p) { *p = 1; }";
    let root = maker.cuda(source, &["-dc"])?;
    let path = fs::canonicalize(archive).map_err(|e| format!("{}: {e}", archive.display()))?;
    Ok(vec![maker.write("root.o", &root)?, path.display().to_string()])
}
