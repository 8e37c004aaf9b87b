//! Making the files of a scenario.

use crate::images::{self, Images};
use fatbin::write::{Image, Writer};
use fatbin::{Compression, Flags, Kind};
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use std::path::Path;
use support::{member_header, thin_archive};

/// A file to be made.
#[derive(Clone, Debug)]
pub enum Make {
    /// These bytes.
    Bytes(Vec<u8>),
    /// An image by name.
    Cubin(&'static str),
    /// A container with images by name; `ptx:90` is PTX, `lto:90` LTO-IR.
    Fatbin(Vec<&'static str>),
    /// A host object.
    Host(Host),
    /// The file with some bytes replaced.
    Patched(Box<Make>, Vec<(usize, Vec<u8>)>),
    /// The first bytes of a file.
    Cut(Box<Make>, usize),
    /// An archive.
    Archive(Vec<(&'static str, Make)>),
    /// An archive with BSD names.
    BsdArchive(Vec<(&'static str, Make)>),
    /// A thin archive of these paths.
    ThinArchive(Vec<&'static str>),
    /// A folder.
    Folder,
    /// A symbolic link.
    Symlink(&'static str),
}

/// A host object's sections.
#[derive(Clone, Debug)]
pub struct Host {
    pub arch: Architecture,
    pub segment: bool,
    pub relocatable: Vec<Make>,
    pub linked: Vec<Make>,
    pub module_ids: Vec<&'static str>,
    /// `.nvHRKE`: its strings; `None` for no host reference sections.
    pub kernels: Option<Vec<&'static str>>,
}

/// An RDC object with these images in one container.
pub fn host(id: &'static str, images: &[&'static str]) -> Make {
    Make::Host(rdc(id, images))
}

pub fn rdc(id: &'static str, images: &[&'static str]) -> Host {
    Host {
        arch: Architecture::X86_64,
        segment: true,
        relocatable: vec![Make::Fatbin(images.to_vec())],
        linked: vec![],
        module_ids: vec![id],
        kernels: None,
    }
}

/// What a host compiler makes of a file without device code.
pub fn plain_host() -> Host {
    Host { segment: false, relocatable: vec![], module_ids: vec![], ..rdc("", &[]) }
}

pub fn write_all(root: &Path, files: &[(&'static str, Make)], images: &Images) {
    for (name, make) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match make {
            Make::Folder => std::fs::create_dir(&path).unwrap(),
            Make::Symlink(target) => std::os::unix::fs::symlink(target, &path).unwrap(),
            make => std::fs::write(&path, make.bytes(images)).unwrap(),
        }
    }
}

impl Make {
    pub fn bytes(&self, images: &Images) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Cubin(name) => images[*name].clone(),
            Self::Fatbin(names) => fatbin(names, images),
            Self::Host(host) => host_object(host, images),
            Self::Patched(make, patches) => {
                let mut bytes = make.bytes(images);
                for (at, patch) in patches {
                    bytes[*at..*at + patch.len()].copy_from_slice(patch);
                }
                bytes
            }
            Self::Cut(make, length) => make.bytes(images)[..*length].to_vec(),
            Self::Archive(members) => archive(members, images, false),
            Self::BsdArchive(members) => archive(members, images, true),
            Self::ThinArchive(paths) => thin_archive(paths),
            Self::Folder | Self::Symlink(_) => unreachable!("made by write_all"),
        }
    }
}

const LTO_IR: &[u8] = b"\xED\x43\x4E\x7F and nothing that could be compiled";

fn fatbin(names: &[&'static str], images: &Images) -> Vec<u8> {
    let mut writer = Writer::new();
    for name in names {
        let text;
        let (kind, arch, version, payload) = match name.split_once(':') {
            Some(("ptx", arch)) => {
                let kernel = format!(".visible .entry k_ptx{arch}() {{ ret; }}");
                text = images::ptx(arch, &kernel) + "\0";
                (Kind::PTX, arch, (9, 0), text.as_bytes())
            }
            // nvlink looks no further than the magic, without -dlto.
            Some((_, arch)) => (Kind::LTO_IR, arch, (1, 0x41), LTO_IR),
            None => {
                let arch = if images::ARCHS.contains(name) { name } else { "90" };
                (Kind::ELF, arch, (1, 8), images[*name].as_slice())
            }
        };
        let arch = images::arch(arch);
        let flags = Flags::ADDRESS_64.union(Flags::LINUX);
        let compat = if arch.is_mercury() { compat_of(payload) } else { None };
        let options = (kind != Kind::ELF).then_some(&b"--compile-only  "[..]);
        let compression = Compression::Zstd;
        let ident = None;
        let image =
            Image { kind, arch, version, flags, ident, options, compat, compression, payload };
        writer.add(&image).unwrap();
    }
    writer.finish()
}

fn compat_of(image: &[u8]) -> Option<&[u8]> {
    let cubin = cubin::Cubin::parse(image).ok()?;
    Some(cubin.section_by_name(b".nv.compat")?.data)
}

fn host_object(host: &Host, images: &Images) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, host.arch, Endianness::Little);
    let mut add = |name: &str, data: Vec<u8>| {
        let kind = SectionKind::ReadOnlyData;
        let section = object.add_section(vec![], name.as_bytes().to_vec(), kind);
        object.section_mut(section).set_data(data, 8);
    };
    let contents = |list: &[Make]| list.iter().flat_map(|make| make.bytes(images)).collect();
    if host.segment {
        add(".nvFatBinSegment", vec![0; 24]);
    }
    if !host.relocatable.is_empty() {
        add("__nv_relfatbin", contents(&host.relocatable));
    }
    if !host.linked.is_empty() {
        add(".nv_fatbin", contents(&host.linked));
    }
    if !host.module_ids.is_empty() {
        add("__nv_module_id", strings(&host.module_ids));
    }
    if let Some(kernels) = &host.kernels {
        for name in [".nvHRKI", ".nvHRDE", ".nvHRDI", ".nvHRCE", ".nvHRCI"] {
            add(name, vec![0]);
        }
        add(".nvHRKE", if kernels.is_empty() { vec![0] } else { strings(kernels) });
    }
    object.write().unwrap()
}

fn strings(list: &[&str]) -> Vec<u8> {
    list.iter().flat_map(|s| s.bytes().chain([0])).collect()
}

fn archive(members: &[(&'static str, Make)], images: &Images, bsd: bool) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, make) in members {
        let data = make.bytes(images);
        if bsd {
            let padded = name.len().next_multiple_of(8);
            bytes.extend(member_header(&format!("#1/{padded}"), data.len() + padded));
            bytes.extend(name.bytes().chain(std::iter::repeat_n(0, padded - name.len())));
        } else {
            bytes.extend(member_header(&format!("{name}/"), data.len()));
        }
        bytes.extend(data);
        if bytes.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}
