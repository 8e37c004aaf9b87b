//! Finds all images in a file.

use cubin::flags::Identity;
use cubin::{Arch, Cubin, Variant};
use fatbin::{Archive, Compression, Containers, Content, Entry, HostObject, Kind, MemberData};
use libwarpld::driver::InputFile;
use std::borrow::Cow;
use std::path::Path;

/// Which sections of a host file to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sections {
    /// The linked code, or the relocatable code if there is none.
    LinkedFirst,
    /// Both.
    All,
}

/// An image found.
#[derive(Clone, Debug)]
pub struct Image<'f> {
    /// The archive member it is in.
    pub member: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// The architecture it was compiled for.
    pub arch: Arch,
    /// The name given when it was built.
    pub ident: Option<&'f [u8]>,
    /// Its compile options.
    pub options: Option<&'f [u8]>,
    /// How it is stored.
    pub compression: Compression,
    /// Size of the payload in the file.
    pub stored_size: u64,
    /// The file is the image.
    pub bare: bool,
    bytes: Bytes<'f>,
}

#[derive(Clone, Debug)]
enum Bytes<'f> {
    Plain(&'f [u8]),
    Entry(Entry<'f>),
}

/// Why a file could not be scanned completely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", member.as_ref().map(|m| format!("{m}: ")).unwrap_or_default())]
pub struct WalkError {
    /// The archive member concerned.
    pub member: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl<'f> Image<'f> {
    /// The image, decompressed. PTX comes without trailing zeros, because the file does not
    /// distinguish them from padding.
    pub fn payload(&self) -> Result<Cow<'f, [u8]>, fatbin::DecodeError> {
        let mut bytes = match &self.bytes {
            Bytes::Plain(bytes) => Cow::Borrowed(*bytes),
            Bytes::Entry(entry) => entry.payload()?,
        };
        if self.kind == Kind::PTX {
            let length = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
            match &mut bytes {
                Cow::Borrowed(bytes) => *bytes = bytes.get(..length).unwrap_or_default(),
                Cow::Owned(bytes) => bytes.truncate(length),
            }
        }
        Ok(bytes)
    }
    /// Size after decompression, as declared.
    pub fn size(&self) -> u64 {
        match &self.bytes {
            Bytes::Plain(bytes) => bytes.len() as u64,
            Bytes::Entry(entry) if self.compression == Compression::None => {
                entry.stored().len() as u64
            }
            Bytes::Entry(entry) => entry.header().uncompressed_size.get(),
        }
    }
}

/// Scans one file.
pub struct Walk<'f> {
    sections: Sections,
    /// What was found.
    pub images: Vec<Image<'f>>,
    /// Errors; damage in one member does not hide the others.
    pub errors: Vec<WalkError>,
}

impl<'f> Walk<'f> {
    /// Looks for all images in a file.
    pub fn new(file: &InputFile<'f>, sections: Sections) -> Self {
        let mut walk = Self { sections, images: Vec::new(), errors: Vec::new() };
        match &file.data {
            Ok(data) if Content::of(data) == Content::Archive => walk.archive(&file.members, data),
            Ok(data) => walk.file(None, data),
            Err(error) => walk.fail(None, error),
        }
        walk
    }

    fn fail(&mut self, member: Option<&str>, reason: impl ToString) {
        let member = member.map(str::to_owned);
        self.errors.push(WalkError { member, reason: reason.to_string() });
    }

    fn archive(&mut self, files: &[InputFile<'f>], data: &'f [u8]) {
        let archive = match Archive::parse(data) {
            Ok(archive) => archive,
            Err(error) => return self.fail(None, error),
        };
        for member in files {
            match &member.data {
                Ok(data) => self.file(Some(&member.name), data),
                Err(error) => self.fail(Some(&member.name), error),
            }
        }
        for member in archive.members() {
            match member {
                Ok(member) => {
                    if let MemberData::Inline(data) = member.data {
                        self.file(Some(&String::from_utf8_lossy(member.name)), data);
                    }
                }
                Err(error) => self.fail(None, error),
            }
        }
    }

    fn file(&mut self, member: Option<&str>, data: &'f [u8]) {
        match Content::of(data) {
            Content::DeviceElf => self.bare(member, Kind::ELF, data),
            Content::Ptx => self.bare(member, Kind::PTX, data),
            Content::LtoIr => self.bare(member, Kind::LTO_IR, data),
            Content::Fatbin => self.containers(member, data),
            Content::HostElf | Content::HostCoff => self.host(member, data),
            Content::Empty | Content::Archive | Content::Bitcode | Content::Unknown => {}
        }
    }

    fn bare(&mut self, member: Option<&str>, kind: Kind, data: &'f [u8]) {
        self.images.push(Image {
            member: member.map(str::to_owned),
            kind,
            arch: bare_arch(kind, data),
            ident: None,
            options: None,
            compression: Compression::None,
            stored_size: data.len() as u64,
            bare: member.is_none(),
            bytes: Bytes::Plain(data),
        });
    }

    fn host(&mut self, member: Option<&str>, data: &'f [u8]) {
        let host = match HostObject::parse(data) {
            Ok(host) => host,
            Err(error) => return self.fail(member, error),
        };
        let before = self.images.len();
        self.offloaded(member, data);
        let is_clang = self.images.len() > before;
        for section in &host.linked {
            self.containers(member, section);
        }
        if self.sections == Sections::All || (host.linked.is_empty() && !is_clang) {
            for section in &host.relocatable {
                self.containers(member, section);
            }
        }
    }

    /// What clang's new driver embeds for its linker wrapper.
    fn offloaded(&mut self, member: Option<&str>, data: &'f [u8]) {
        let sections = match fatbin::host::offload_sections(data) {
            Ok(sections) => sections,
            Err(error) => return self.fail(member, error),
        };
        for section in sections {
            let images = match fatbin::offload::images(section) {
                Ok(images) => images,
                Err(error) => return self.fail(member, error),
            };
            for found in images {
                let before = self.images.len();
                self.file(member, found.image);
                for image in self.images.iter_mut().skip(before) {
                    image.bare = false;
                    if image.arch.number == 0 {
                        let arch = std::str::from_utf8(found.arch).ok();
                        image.arch = arch.and_then(|a| a.parse().ok()).unwrap_or(image.arch);
                    }
                }
            }
        }
    }

    fn containers(&mut self, member: Option<&str>, data: &'f [u8]) {
        for container in Containers::new(data) {
            match container.and_then(|container| container.flat_entries()) {
                Ok(entries) => entries.into_iter().for_each(|entry| self.entry(member, entry)),
                Err(error) => self.fail(member, error),
            }
        }
    }

    fn entry(&mut self, member: Option<&str>, entry: Entry<'f>) {
        self.images.push(Image {
            member: member.map(str::to_owned),
            kind: entry.kind(),
            arch: entry.arch(),
            ident: entry.ident(),
            options: entry.options(),
            compression: entry.compression(),
            stored_size: entry.stored().len() as u64,
            bare: false,
            bytes: Bytes::Entry(entry),
        });
    }
}

fn bare_arch(kind: Kind, data: &[u8]) -> Arch {
    let unknown = Arch { number: 0, variant: Variant::Plain };
    if kind != Kind::ELF {
        return unknown;
    }
    let identity = Cubin::parse(data).ok().and_then(|cubin| Identity::of(&cubin).ok());
    identity.map_or(unknown, |identity| identity.arch)
}

/// `name` of `dir/name.ptx`; never with a directory in it.
pub fn stem(path: &str) -> String {
    let stem = Path::new(path).file_stem();
    stem.map(|s| s.to_string_lossy().into_owned()).unwrap_or_default()
}
