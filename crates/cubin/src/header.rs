//! The file header. [`crate::encode`] writes it.

use crate::consts::FileType;
use crate::error::ReadError;
use crate::raw;
use zerocopy::FromBytes;

/// ELF class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Class {
    Elf32,
    #[default]
    Elf64,
}

/// The file header, widened to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Header {
    pub class: Class,
    pub ident: [u8; 16],
    pub file_type: FileType,
    pub machine: u16,
    pub version: u32,
    pub entry: u64,
    pub phoff: u64,
    pub shoff: u64,
    pub flags: u32,
    pub ehsize: u16,
    pub phentsize: u16,
    pub phnum: u16,
    pub shentsize: u16,
    pub shnum: u16,
    pub shstrndx: u16,
}

/// The kind of a file, from its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// No ELF magic.
    NotElf,
    /// An ELF file for the host.
    HostElf,
    /// An ELF file for an NVIDIA GPU.
    DeviceElf,
}

/// Distinguishes device code, host code and other files.
pub fn identify(data: &[u8]) -> FileKind {
    match Header::parse(data) {
        Ok(h) if h.machine == crate::EM_CUDA => FileKind::DeviceElf,
        Ok(_) | Err(ReadError::Unsupported { .. }) => FileKind::HostElf,
        Err(_) => FileKind::NotElf,
    }
}

impl Class {
    /// The class with this `EI_CLASS`.
    pub fn from_ident(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Elf32),
            2 => Some(Self::Elf64),
            _ => None,
        }
    }
    /// Size of a file header.
    pub fn header_size(self) -> u16 {
        match self {
            Self::Elf32 => size_of::<raw::Ehdr32>() as u16,
            Self::Elf64 => size_of::<raw::Ehdr64>() as u16,
        }
    }
    /// Size of a section header.
    pub fn section_header_size(self) -> u16 {
        match self {
            Self::Elf32 => size_of::<raw::Shdr32>() as u16,
            Self::Elf64 => size_of::<raw::Shdr64>() as u16,
        }
    }
    /// Size of a program header.
    pub fn program_header_size(self) -> u16 {
        match self {
            Self::Elf32 => size_of::<raw::Phdr32>() as u16,
            Self::Elf64 => size_of::<raw::Phdr64>() as u16,
        }
    }
    /// Size of a symbol.
    pub fn symbol_size(self) -> u64 {
        match self {
            Self::Elf32 => size_of::<raw::Sym32>() as u64,
            Self::Elf64 => size_of::<raw::Sym64>() as u64,
        }
    }
    /// Size of a relocation, with or without addend.
    pub fn reloc_size(self, addend: bool) -> u64 {
        match (self, addend) {
            (Self::Elf32, false) => size_of::<raw::Rel32>() as u64,
            (Self::Elf32, true) => size_of::<raw::Rela32>() as u64,
            (Self::Elf64, false) => size_of::<raw::Rel64>() as u64,
            (Self::Elf64, true) => size_of::<raw::Rela64>() as u64,
        }
    }
    /// Alignment of the header tables.
    pub fn table_alignment(self) -> u64 {
        match self {
            Self::Elf32 => 4,
            Self::Elf64 => 8,
        }
    }
}

impl Header {
    /// Whether the file is an extensible whole program (`ptxas -ewp`).
    #[inline]
    pub fn is_whole_program(&self) -> bool {
        self.file_type == FileType::EWP
    }

    /// `EI_OSABI`, which determines the layout of the flags.
    #[inline]
    pub fn osabi(&self) -> u8 {
        self.ident[7]
    }

    /// `EI_ABIVERSION`.
    #[inline]
    pub fn abi_version(&self) -> u8 {
        self.ident[8]
    }

    /// Reads the header of any ELF file; `NotElf` for other files.
    pub fn parse(data: &[u8]) -> Result<Self, ReadError> {
        let ident = data.get(..16).ok_or(ReadError::NotElf)?;
        if ident[..4] != *b"\x7fELF" {
            return Err(ReadError::NotElf);
        }
        let unsupported = |field, value: u8| ReadError::Unsupported { field, value: value.into() };
        let class = Class::from_ident(ident[4]).ok_or(unsupported("EI_CLASS", ident[4]))?;
        if ident[5] != 1 {
            return Err(unsupported("EI_DATA", ident[5]));
        }
        macro_rules! widen {
            ($raw:ty) => {{
                let (h, _) = <$raw>::read_from_prefix(data).map_err(|_| ReadError::NotElf)?;
                Self {
                    class,
                    ident: h.e_ident,
                    file_type: FileType(h.e_type.get()),
                    machine: h.e_machine.get(),
                    version: h.e_version.get(),
                    entry: h.e_entry.get().into(),
                    phoff: h.e_phoff.get().into(),
                    shoff: h.e_shoff.get().into(),
                    flags: h.e_flags.get(),
                    ehsize: h.e_ehsize.get(),
                    phentsize: h.e_phentsize.get(),
                    phnum: h.e_phnum.get(),
                    shentsize: h.e_shentsize.get(),
                    shnum: h.e_shnum.get(),
                    shstrndx: h.e_shstrndx.get(),
                }
            }};
        }
        Ok(match class {
            Class::Elf32 => widen!(raw::Ehdr32),
            Class::Elf64 => widen!(raw::Ehdr64),
        })
    }
}
