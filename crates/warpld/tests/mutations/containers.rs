//! Damaged containers: images inside fatbins, host objects and archives, with
//! damage on any level, read from files as the command reads them.

use crate::families::{Family, RELEASES};
use crate::structure;
use cubin::Arch;
use fatbin::write::{Image, Writer};
use fatbin::{Compression, Flags, Kind};
use libwarpld::driver::{Diagnostics, Memory, SelectOptions, link_images};
use libwarpld::{Config, Error, Release};
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use std::fs;
use std::path::PathBuf;
use support::{Random, mutate};
use warpld::files::{Files, LoadRequest};

/// A folder for the inputs, in memory where the system has one.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        let memory = PathBuf::from("/dev/shm");
        let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let folder = parent.join(format!("warpld-mutations-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the inputs");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Files on disk, made from a seed.
pub struct Case {
    files: Vec<PathBuf>,
    arch: Arch,
    uidx: Option<Vec<u8>>,
    lazy_archives: bool,
    /// The inputs decide if there is none.
    release: Option<&'static Release>,
}

impl Case {
    pub fn new(seed: u64, families: &[Family], folder: &Folder) -> Self {
        let mut random = Random::new(seed ^ 0x5eed_0f00_c047_a14e);
        for _ in 0..4 {
            random.number();
        }
        let family = &families[random.below(families.len())];
        let Family { arch, members, .. } = family;
        let files = (0..1 + random.below(3)).map(|i| {
            let (suffix, bytes) = file(*arch, members, &mut random);
            let path = folder.0.join(format!("{i}.{suffix}"));
            fs::write(&path, bytes).expect("an input");
            path
        });
        let files = files.collect();
        let uidx = family.index(&mut random);
        let lazy_archives = random.below(4) == 0;
        let release = RELEASES.get(random.below(RELEASES.len() + 1)).copied();
        Self { files, arch: *arch, uidx, lazy_archives, release }
    }

    /// Loads, selects and links, as the command does.
    pub fn link(&self, diagnostics: &mut Diagnostics) -> Result<Option<Vec<u8>>, Error> {
        let files = Files::open(&LoadRequest { files: self.files.clone(), ..Default::default() });
        let loaded = files.scan();
        let mut config = Config::builder(self.arch).lazy_archives(self.lazy_archives);
        if let Some(uidx) = &self.uidx {
            config = config.uidx(uidx.clone());
        }
        if let Some(release) = self.release {
            config = config.release(release);
        }
        let config = config.build();
        let mut options = SelectOptions::of(&config);
        (options.register, options.trace) = (true, true);
        let selected = loaded.select(&options, diagnostics)?;
        let mut image = Vec::new();
        let linked =
            link_images(&selected.inputs, &config, diagnostics, &mut image, Memory::Freed)?;
        Ok(linked.complete.then_some(image))
    }
}

fn file(arch: Arch, members: &[Vec<u8>], random: &mut Random) -> (&'static str, Vec<u8>) {
    let (suffix, bytes) = match random.below(8) {
        0 => ("fatbin", container(arch, members, random)),
        1..=3 => ("o", host_object(arch, members, random)),
        4 => ("cubin", image(members, random)),
        _ => ("a", archive(arch, members, random)),
    };
    match random.below(3) {
        0 => (suffix, mutate(&bytes, random)),
        _ => (suffix, bytes),
    }
}

/// A device image, now and then damaged itself.
fn image(members: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let original = &members[random.below(members.len())];
    match random.below(3) {
        0 => structure::mutate(original, random),
        _ => original.clone(),
    }
}

fn container(arch: Arch, members: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut writer = Writer::new();
    for _ in 0..1 + random.below(3) {
        let payload = image(members, random);
        let compression = match random.below(4) {
            0 => Compression::None,
            1 => Compression::Lz4,
            _ => Compression::Zstd,
        };
        let kind = if random.below(8) == 0 { Kind(random.below(70) as u16) } else { Kind::ELF };
        let compat = cubin::Cubin::parse(&payload)
            .ok()
            .and_then(|cubin| cubin.section_by_name(b".nv.compat").map(|s| s.data.to_vec()));
        let written = writer.add(&Image {
            kind,
            arch,
            version: (1, 8),
            flags: Flags::ADDRESS_64.union(Flags::LINUX),
            ident: (random.below(4) == 0).then_some(b"a.cu"),
            options: (random.below(4) == 0).then_some(b"-c "),
            compat: compat.as_deref().filter(|_| arch.is_mercury()),
            compression,
            payload: &payload,
        });
        written.expect("it fits");
    }
    let bytes = writer.finish();
    match random.below(4) {
        0 => mutate(&bytes, random),
        _ => bytes,
    }
}

fn host_object(arch: Arch, members: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let mut add = |name: &str, data: Vec<u8>| {
        let section = object.add_section(vec![], name.into(), SectionKind::ReadOnlyData);
        object.section_mut(section).set_data(data, 8);
    };
    add(".nvFatBinSegment", vec![0; 24]);
    let name = if random.below(8) == 0 { ".nv_fatbin" } else { "__nv_relfatbin" };
    add(name, container(arch, members, random));
    add("__nv_module_id", format!("id{}\0", random.below(4)).into_bytes());
    if random.below(3) == 0 {
        for name in [".nvHRKI", ".nvHRDE", ".nvHRDI", ".nvHRCE", ".nvHRCI"] {
            add(name, vec![0]);
        }
        add(".nvHRKE", b"_Z1kPi\0k\0".to_vec());
    }
    object.write().expect("a host object")
}

fn archive(arch: Arch, members: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut inside = Vec::new();
    for i in 0..1 + random.below(4) {
        let data = match random.below(6) {
            0 => image(members, random),
            1 => container(arch, members, random),
            2 => b"neither".to_vec(),
            _ => host_object(arch, members, random),
        };
        inside.push((format!("{i}.o"), data));
    }
    let inside: Vec<_> = inside.iter().map(|(name, data)| (name.as_str(), data)).collect();
    support::archive(&inside)
}
