//! Host objects and programs that embed device code.

use crate::container::Containers;
use crate::offload;
use object::{Object, ObjectSection};

/// Sections by which compilers pass device code to linkers.
pub mod section {
    /// Wrapper with the pointer to the container; its presence shows that the object has device
    /// code.
    pub const SEGMENT: &[u8] = b".nvFatBinSegment";
    /// Containers with relocatable code.
    pub const RELOCATABLE: &[u8] = b"__nv_relfatbin";
    /// Containers with whole programs and linked code.
    pub const LINKED: &[u8] = b".nv_fatbin";
    /// NUL-separated module ids.
    pub const MODULE_ID: &[u8] = b"__nv_module_id";
    /// Host references, in the order of [`super::HostReferenceLists`].
    pub const HOST_REFERENCES: [&[u8]; 6] =
        [b".nvHRKE", b".nvHRKI", b".nvHRDE", b".nvHRDI", b".nvHRCE", b".nvHRCI"];
}

/// The sections of a host file cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable host file: {reason}")]
pub struct HostError {
    pub reason: String,
}

/// The type of the host file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostKind {
    Relocatable,
    Executable,
    /// A shared library or position-independent program.
    Dynamic,
    Other,
}

/// The raw lists of names in the host reference sections; `None` where the
/// section is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostReferenceLists<'a> {
    /// `.nvHRKE`: patterns for kernels with external linkage.
    pub kernels_external: Option<&'a [u8]>,
    /// `.nvHRKI`: patterns for static kernels.
    pub kernels_internal: Option<&'a [u8]>,
    /// `.nvHRDE`.
    pub variables_external: Option<&'a [u8]>,
    /// `.nvHRDI`.
    pub variables_internal: Option<&'a [u8]>,
    /// `.nvHRCE`.
    pub constants_external: Option<&'a [u8]>,
    /// `.nvHRCI`.
    pub constants_internal: Option<&'a [u8]>,
}

impl<'a> HostReferenceLists<'a> {
    /// The non-empty strings of one list.
    pub fn names(list: Option<&'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
        strings(list.unwrap_or_default())
    }
}

/// The non-empty NUL-terminated strings of a section.
pub fn strings(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|&b| b == 0).filter(|s| !s.is_empty())
}

/// The parts of a host file that concern device code.
#[derive(Clone, Debug)]
pub struct HostObject<'a> {
    pub kind: HostKind,
    /// `e_machine` of an ELF file.
    pub machine: Option<u16>,
    /// Whether it has a `.nvFatBinSegment`.
    pub has_segment: bool,
    /// `__nv_relfatbin` sections.
    pub relocatable: Vec<&'a [u8]>,
    /// `.nv_fatbin` sections.
    pub linked: Vec<&'a [u8]>,
    /// `__nv_module_id`.
    pub module_ids: &'a [u8],
    pub references: HostReferenceLists<'a>,
}

impl<'a> HostObject<'a> {
    /// Reads an ELF or COFF file.
    pub fn parse(data: &'a [u8]) -> Result<Self, HostError> {
        let unreadable = |e: object::Error| HostError { reason: e.to_string() };
        let file = object::File::parse(data).map_err(unreadable)?;
        let mut host = Self {
            kind: kind_of(&file),
            machine: elf_machine(data),
            has_segment: false,
            relocatable: Vec::new(),
            linked: Vec::new(),
            module_ids: &[],
            references: HostReferenceLists::default(),
        };
        let is_elf = file.format() == object::BinaryFormat::Elf;
        for section in file.sections() {
            let Ok(name) = section.name_bytes() else { continue };
            if is_interesting(name) {
                host.note(name, section.data().map_err(unreadable)?, is_elf);
            }
        }
        Ok(host)
    }

    fn note(&mut self, name: &[u8], data: &'a [u8], is_elf: bool) {
        // Linked COFF images truncate names to eight bytes.
        let is = |full: &[u8]| name == full || (!is_elf && full.get(..8) == Some(name));
        if is(section::SEGMENT) {
            self.has_segment = true;
        } else if is(section::RELOCATABLE) {
            self.relocatable.push(data);
        } else if is(section::LINKED) {
            self.linked.push(data);
        } else if is(section::MODULE_ID) {
            self.module_ids = data;
        } else if let Some(which) = section::HOST_REFERENCES.iter().position(|n| *n == name) {
            let references = &mut self.references;
            let slot = match which {
                0 => &mut references.kernels_external,
                1 => &mut references.kernels_internal,
                2 => &mut references.variables_external,
                3 => &mut references.variables_internal,
                4 => &mut references.constants_external,
                _ => &mut references.constants_internal,
            };
            *slot = Some(data);
        }
    }

    /// All containers, relocatable ones first.
    pub fn containers(&self) -> impl Iterator<Item = Containers<'a>> + '_ {
        self.relocatable.iter().chain(&self.linked).map(|data| Containers::new(data))
    }
    /// The module ids.
    pub fn module_ids(&self) -> impl Iterator<Item = &'a [u8]> {
        strings(self.module_ids)
    }
}

/// The sections in which clang's new driver keeps device code.
pub fn offload_sections(data: &[u8]) -> Result<Vec<&[u8]>, HostError> {
    let unreadable = |e: object::Error| HostError { reason: e.to_string() };
    let file = object::File::parse(data).map_err(unreadable)?;
    let is_it = |section: &object::Section<'_, '_>| section.name_bytes() == Ok(offload::SECTION);
    file.sections().filter(is_it).map(|section| section.data().map_err(unreadable)).collect()
}

fn is_interesting(name: &[u8]) -> bool {
    name.starts_with(b".nv") || name.starts_with(b"__nv_")
}

fn kind_of(file: &object::File<'_>) -> HostKind {
    match file.kind() {
        object::ObjectKind::Relocatable => HostKind::Relocatable,
        object::ObjectKind::Executable => HostKind::Executable,
        object::ObjectKind::Dynamic => HostKind::Dynamic,
        _ => HostKind::Other,
    }
}

/// `e_machine`, if `data` is a little-endian ELF file.
pub fn elf_machine(data: &[u8]) -> Option<u16> {
    let little_endian = data.starts_with(b"\x7fELF") && data.get(5) == Some(&1);
    let bytes = data.get(18..20).filter(|_| little_endian)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}
