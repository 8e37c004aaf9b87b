//! Reading a device ELF: a validated view that borrows the file's bytes.

use crate::consts::{Binding, EM_CUDA, FileType, SectionType, SymbolType, shn};
use crate::raw;
use zerocopy::FromBytes;

/// Index of a section in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SectionIndex(pub u32);

/// Index of a symbol in its file's `.symtab`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SymbolIndex(pub u32);

/// Why a byte string is not a readable device ELF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Shorter than an ELF header, or without the magic.
    #[error("not an ELF file")]
    NotElf,
    /// An ELF file for something other than an NVIDIA GPU.
    #[error("not device code (e_machine {machine})")]
    NotDevice {
        /// `e_machine`.
        machine: u16,
    },
    /// A class, byte order or record size we cannot read.
    #[error("unsupported {field} {value:#x}")]
    Unsupported {
        /// Header field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// Something lies outside the file.
    #[error("{what}{} lies outside the file (offset {offset:#x}, size {size:#x})", Section(*section))]
    OutOfFile {
        /// What it is.
        what: &'static str,
        /// Section concerned, if one is.
        section: Option<u32>,
        /// File offset.
        offset: u64,
        /// Size in bytes.
        size: u64,
    },
    /// A field contradicts another one.
    #[error("bad {field}{}: {value:#x}", Section(*section))]
    BadField {
        /// Field name.
        field: &'static str,
        /// Section concerned, if one is.
        section: Option<u32>,
        /// Its value.
        value: u64,
    },
}

struct Section(Option<u32>);
impl std::fmt::Display for Section {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(index) => write!(f, " of section {index}"),
            None => Ok(()),
        }
    }
}

/// ELF class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// 32-bit records.
    Elf32,
    /// 64-bit records.
    Elf64,
}

/// The file header, widened to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
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

/// A section header, widened to 64 bits, with its name and bytes.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct SectionRef<'a> {
    pub index: SectionIndex,
    pub name: &'a [u8],
    pub name_offset: u32,
    pub kind: SectionType,
    pub flags: u64,
    pub addr: u64,
    pub offset: u64,
    /// `sh_size`; [`SectionRef::data`] is empty for sections without bits.
    pub size: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entsize: u64,
    pub data: &'a [u8],
}

/// A symbol, widened to 64 bits, with its name.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct SymbolRef<'a> {
    pub index: SymbolIndex,
    pub name: &'a [u8],
    pub name_offset: u32,
    pub info: u8,
    pub other: u8,
    /// Section index; extended numbering (`SHN_XINDEX`) already resolved.
    /// Reserved values below `SHN_XINDEX` (`SHN_COMMON` …) are kept and
    /// `reserved` is set.
    pub shndx: u32,
    /// `st_shndx` was one of the reserved values other than `SHN_XINDEX`.
    pub reserved: bool,
    pub value: u64,
    pub size: u64,
}

impl SymbolRef<'_> {
    /// Symbol type.
    pub fn kind(&self) -> SymbolType {
        SymbolType(self.info & 15)
    }
    /// Symbol binding.
    pub fn binding(&self) -> Binding {
        Binding(self.info >> 4)
    }
    /// Whether no section defines it.
    pub fn is_undefined(&self) -> bool {
        self.shndx == shn::UNDEF
    }
    /// Whether it is a common symbol, to be allocated by the linker.
    pub fn is_common(&self) -> bool {
        self.reserved && self.shndx == shn::COMMON
    }
}

/// A relocation of a REL or RELA section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Reloc {
    pub offset: u64,
    pub kind: u32,
    pub symbol: SymbolIndex,
    /// `None` in REL sections.
    pub addend: Option<i64>,
}

/// A device ELF file whose header, section table, names, symbol table and
/// section extents have been checked.
#[derive(Clone, Debug)]
pub struct Cubin<'a> {
    data: &'a [u8],
    header: Header,
    sections: Vec<SectionRef<'a>>,
    symtab: Option<SymbolTable<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct SymbolTable<'a> {
    section: SectionIndex,
    entries: &'a [raw::Sym64],
    strings: &'a [u8],
    shndx: &'a [zerocopy::little_endian::U32],
}

impl<'a> Cubin<'a> {
    /// Reads and checks `data` as an ELF64 device file.
    pub fn parse(data: &'a [u8]) -> Result<Self, ReadError> {
        let header = Header::parse(data)?;
        if header.machine != EM_CUDA {
            return Err(ReadError::NotDevice { machine: header.machine });
        }
        let sections = read_sections(data, &header)?;
        let symtab = read_symtab(&sections)?;
        Ok(Self { data, header, sections, symtab })
    }

    /// The whole file.
    pub fn bytes(&self) -> &'a [u8] {
        self.data
    }
    /// The file header.
    pub fn header(&self) -> &Header {
        &self.header
    }
    /// All sections, the null section included.
    pub fn sections(&self) -> &[SectionRef<'a>] {
        &self.sections
    }
    /// The section with this index.
    pub fn section(&self, index: u32) -> Option<&SectionRef<'a>> {
        self.sections.get(index as usize)
    }
    /// The first section with this name.
    pub fn section_by_name(&self, name: &[u8]) -> Option<&SectionRef<'a>> {
        self.sections.iter().find(|s| s.name == name)
    }
    /// Index of the symbol table's section.
    pub fn symtab_section(&self) -> Option<SectionIndex> {
        self.symtab.map(|t| t.section)
    }
    /// Number of symbols, the null symbol included.
    pub fn symbol_count(&self) -> usize {
        self.symtab.map_or(0, |t| t.entries.len())
    }
    /// The symbol with this index.
    pub fn symbol(&self, index: u32) -> Option<SymbolRef<'a>> {
        self.symtab.as_ref()?.get(index)
    }
    /// All symbols in table order, the null symbol included.
    pub fn symbols(&self) -> impl Iterator<Item = SymbolRef<'a>> + '_ {
        (0..self.symbol_count() as u32).filter_map(|i| self.symbol(i))
    }
    /// A string of the symbol table's string table.
    pub fn symbol_string(&self, offset: u32) -> Option<&'a [u8]> {
        string_at(self.symtab?.strings, offset)
    }
    /// The relocations of a REL or RELA section.
    pub fn relocs(&self, section: &SectionRef<'a>) -> Result<Vec<Reloc>, ReadError> {
        read_relocs(section)
    }
}

impl Header {
    /// Reads the header of any ELF file; `NotElf` if it is none.
    pub fn parse(data: &[u8]) -> Result<Self, ReadError> {
        if data.len() < 52 || data[..4] != *b"\x7fELF" {
            return Err(ReadError::NotElf);
        }
        if data[5] != 1 {
            return Err(ReadError::Unsupported { field: "EI_DATA", value: data[5].into() });
        }
        macro_rules! widen {
            ($raw:ty, $class:expr) => {{
                let (h, _) = <$raw>::read_from_prefix(data).map_err(|_| ReadError::NotElf)?;
                Self {
                    class: $class,
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
        match data[4] {
            1 => Ok(widen!(raw::Ehdr32, Class::Elf32)),
            2 => Ok(widen!(raw::Ehdr64, Class::Elf64)),
            class => Err(ReadError::Unsupported { field: "EI_CLASS", value: class.into() }),
        }
    }
}

fn slice<'a>(
    data: &'a [u8],
    what: &'static str,
    section: Option<u32>,
    offset: u64,
    size: u64,
) -> Result<&'a [u8], ReadError> {
    let end = offset.checked_add(size).filter(|&end| end <= data.len() as u64);
    match end {
        Some(end) => Ok(&data[offset as usize..end as usize]),
        None => Err(ReadError::OutOfFile { what, section, offset, size }),
    }
}

fn string_at(table: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = table.get(offset as usize..)?;
    let end = rest.iter().position(|&b| b == 0)?;
    Some(&rest[..end])
}

fn read_sections<'a>(data: &'a [u8], header: &Header) -> Result<Vec<SectionRef<'a>>, ReadError> {
    if header.class != Class::Elf64 {
        return Err(ReadError::Unsupported { field: "EI_CLASS", value: 1 });
    }
    if header.shoff == 0 {
        return Ok(Vec::new());
    }
    if header.shentsize != 64 {
        return Err(ReadError::BadField {
            field: "e_shentsize",
            section: None,
            value: header.shentsize.into(),
        });
    }
    let first = slice(data, "section header table", None, header.shoff, 64)?;
    let first = raw::Shdr64::ref_from_bytes(first).map_err(|_| ReadError::NotElf)?;
    let count = match header.shnum {
        0 => first.sh_size.get(),
        n => n.into(),
    };
    let size = count.checked_mul(64).ok_or(ReadError::BadField {
        field: "section count",
        section: None,
        value: count,
    })?;
    let table = slice(data, "section header table", None, header.shoff, size)?;
    let headers = <[raw::Shdr64]>::ref_from_bytes(table).map_err(|_| ReadError::NotElf)?;
    let shstrndx = match u32::from(header.shstrndx) {
        shn::XINDEX => first.sh_link.get(),
        n => n,
    };
    let names = match headers.get(shstrndx as usize) {
        Some(h) if h.sh_type.get() == SectionType::STRTAB.0 => {
            slice(data, "section name table", Some(shstrndx), h.sh_offset.get(), h.sh_size.get())?
        }
        _ => {
            return Err(ReadError::BadField {
                field: "e_shstrndx",
                section: None,
                value: shstrndx.into(),
            });
        }
    };
    headers.iter().enumerate().map(|(i, h)| read_section(data, names, i as u32, h)).collect()
}

fn read_section<'a>(
    data: &'a [u8],
    names: &'a [u8],
    index: u32,
    h: &raw::Shdr64,
) -> Result<SectionRef<'a>, ReadError> {
    let kind = SectionType(h.sh_type.get());
    let bytes = if kind.is_nobits() || kind == SectionType::NULL {
        &[][..]
    } else {
        slice(data, "data", Some(index), h.sh_offset.get(), h.sh_size.get())?
    };
    let name = string_at(names, h.sh_name.get()).ok_or(ReadError::BadField {
        field: "sh_name",
        section: Some(index),
        value: h.sh_name.get().into(),
    })?;
    Ok(SectionRef {
        index: SectionIndex(index),
        name,
        name_offset: h.sh_name.get(),
        kind,
        flags: h.sh_flags.get(),
        addr: h.sh_addr.get(),
        offset: h.sh_offset.get(),
        size: h.sh_size.get(),
        link: h.sh_link.get(),
        info: h.sh_info.get(),
        align: h.sh_addralign.get(),
        entsize: h.sh_entsize.get(),
        data: bytes,
    })
}

fn read_symtab<'a>(sections: &[SectionRef<'a>]) -> Result<Option<SymbolTable<'a>>, ReadError> {
    let Some(s) = sections.iter().find(|s| s.kind == SectionType::SYMTAB) else {
        return Ok(None);
    };
    let bad = |field, value| ReadError::BadField { field, section: Some(s.index.0), value };
    if s.entsize != 24 {
        return Err(bad("sh_entsize", s.entsize));
    }
    let entries = <[raw::Sym64]>::ref_from_bytes(s.data).map_err(|_| bad("sh_size", s.size))?;
    let strings = match sections.get(s.link as usize) {
        Some(t) if t.kind == SectionType::STRTAB => t.data,
        _ => return Err(bad("sh_link", s.link.into())),
    };
    let shndx = match sections.iter().find(|x| x.kind == SectionType::SYMTAB_SHNDX) {
        Some(x) => <[zerocopy::little_endian::U32]>::ref_from_bytes(x.data).map_err(|_| {
            ReadError::BadField { field: "sh_size", section: Some(x.index.0), value: x.size }
        })?,
        None => &[],
    };
    let table = SymbolTable { section: s.index, entries, strings, shndx };
    for i in 0..entries.len() as u32 {
        let symbol =
            table.get(i).ok_or(bad("st_name", entries[i as usize].st_name.get().into()))?;
        if !symbol.reserved && symbol.shndx as usize >= sections.len() {
            return Err(bad("st_shndx", symbol.shndx.into()));
        }
    }
    Ok(Some(table))
}

impl<'a> SymbolTable<'a> {
    fn get(&self, index: u32) -> Option<SymbolRef<'a>> {
        let s = self.entries.get(index as usize)?;
        let raw = u32::from(s.st_shndx.get());
        let (shndx, reserved) = match raw {
            shn::XINDEX => (self.shndx.get(index as usize)?.get(), false),
            n => (n, n >= shn::LORESERVE),
        };
        Some(SymbolRef {
            index: SymbolIndex(index),
            name: string_at(self.strings, s.st_name.get())?,
            name_offset: s.st_name.get(),
            info: s.st_info,
            other: s.st_other,
            shndx,
            reserved,
            value: s.st_value.get(),
            size: s.st_size.get(),
        })
    }
}

fn read_relocs(section: &SectionRef<'_>) -> Result<Vec<Reloc>, ReadError> {
    let bad = |field, value| ReadError::BadField { field, section: Some(section.index.0), value };
    match section.entsize {
        24 => Ok(<[raw::Rela64]>::ref_from_bytes(section.data)
            .map_err(|_| bad("sh_size", section.size))?
            .iter()
            .map(|r| Reloc {
                offset: r.r_offset.get(),
                kind: r.r_type.get(),
                symbol: SymbolIndex(r.r_sym.get()),
                addend: Some(r.r_addend.get()),
            })
            .collect()),
        16 => Ok(<[raw::Rel64]>::ref_from_bytes(section.data)
            .map_err(|_| bad("sh_size", section.size))?
            .iter()
            .map(|r| Reloc {
                offset: r.r_offset.get(),
                kind: r.r_type.get(),
                symbol: SymbolIndex(r.r_sym.get()),
                addend: None,
            })
            .collect()),
        other => Err(bad("sh_entsize", other)),
    }
}
