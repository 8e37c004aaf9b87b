//! The sections of both halves: headers and contents.

use super::names::Names;
use super::symbols::Table;
use super::{CapsuleFile, attributes, data, functions, nobits_bytes};
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::merge::{Content, Synthetic};
use crate::write::tables;
use cubin::SectionType;
use cubin::bank;
use cubin::consts::shf;
use cubin::encode::{STRTAB, SYMTAB, SectionHeader};
use cubin::names;
use cubin::raw::Rela64;
use rayon::prelude::*;
use std::borrow::Cow;
use zerocopy::IntoBytes;

/// Unused bytes after the section names in every capsule file: room for the names of the two tables
/// of section indices.
pub const GAP_AFTER_NAMES: u64 =
    (names::SYMTAB_SHNDX.len() + 1 + names::MERCURY_SYMTAB_SHNDX.len() + 1) as u64;
/// Alignment of capsules.
const CAPSULE_ALIGN: u64 = 16;

/// Contents of a section. Code is most of a file, so it is produced while writing.
pub enum Body<'a> {
    /// No bytes in the file.
    NoBits,
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// Relocations.
    Relocs(Vec<Rela64>),
    /// The Mercury half's emitted relocations, with or without addend.
    Emitted(SectionId, bool),
    /// A function's machine code.
    Code(SectionId),
    /// A function's capsule.
    Capsule(SectionId),
    /// The bytes of an earlier section.
    SharedWith(u32),
}

impl Body<'_> {
    /// Whether it has separate bytes in the file.
    pub fn has_bytes(&self) -> bool {
        !matches!(self, Self::NoBits | Self::SharedWith(_))
    }

    /// The bytes, if they are already there.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Relocs(records) => Some(records.as_bytes()),
            _ => None,
        }
    }
}

/// A section of the file.
pub struct FileSection<'a> {
    /// Its header; it has no offset until it is placed.
    pub header: SectionHeader,
    /// Its contents.
    pub body: Body<'a>,
    /// Unused bytes after it.
    pub gap: u64,
}

impl<'a> FileSection<'a> {
    fn new(header: SectionHeader, size: u64, body: Body<'a>) -> Self {
        Self { header: SectionHeader { size, ..header }, body, gap: 0 }
    }

    fn of_bytes(header: SectionHeader, bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        let bytes = bytes.into();
        Self::new(header, bytes.len() as u64, Body::Bytes(bytes))
    }

    fn of_relocs(header: SectionHeader, records: Vec<Rela64>) -> Self {
        Self::new(header, records.as_bytes().len() as u64, Body::Relocs(records))
    }
}

/// A section to build.
enum ToBuild {
    /// One of the machine-code half.
    Machine(SectionId),
    /// The section indices of one of the symbol tables.
    Numbers(usize),
    /// One of the parameter banks.
    Bank(usize),
    /// One of the Mercury half.
    Mercury(usize),
    /// The Mercury half's symbol table.
    Symbols,
    /// Calls that only machine code has.
    Calls(usize),
}

/// All sections in file order.
pub fn sections<'b>(
    file: &'b CapsuleFile<'_, '_>,
    names: &'b Names,
    tables: &'b [Table; 2],
) -> Result<Vec<FileSection<'b>>, Diagnostic> {
    let plan = &file.plan;
    let mut wanted: Vec<ToBuild> = plan.machine.iter().map(|&id| ToBuild::Machine(id)).collect();
    wanted.extend(plan.adds_numbers.then_some(ToBuild::Numbers(0)));
    wanted.extend((0..plan.banks.len()).map(ToBuild::Bank));
    let symbols_first = file.linked.cx.dialect.rebuilds_names();
    wanted.extend(symbols_first.then_some(ToBuild::Symbols));
    wanted.extend((0..plan.mercury.len()).map(ToBuild::Mercury));
    wanted.extend(plan.adds_numbers.then_some(ToBuild::Numbers(1)));
    wanted.extend((!symbols_first).then_some(ToBuild::Symbols));
    wanted.extend((0..plan.calls.alone.len()).map(ToBuild::Calls));
    let make = |wanted: &ToBuild| match *wanted {
        ToBuild::Machine(id) => machine_section(file, id, names, &tables[0]),
        ToBuild::Numbers(half) => Ok(section_numbers(file, names, tables, half)),
        ToBuild::Bank(bank) => parameter_bank(file, bank, names.banks[bank].0),
        ToBuild::Mercury(i) => mercury_section(file, plan.mercury[i], names.mercury[i], &tables[1]),
        ToBuild::Symbols => Ok(mercury_symbols(names, &tables[1])),
        ToBuild::Calls(i) => Ok(calls(file, plan.calls.alone[i], names.calls.1[i])),
    };
    // One result per section, in one allocation.
    let made: Vec<Result<_, Box<Diagnostic>>> =
        wanted.par_iter().map(|wanted| make(wanted).map_err(Box::new)).collect();
    made.into_iter().collect::<Result<_, _>>().map_err(|error| *error)
}

/// A table of section indices that the link did not create.
fn section_numbers<'b>(
    file: &CapsuleFile<'_, '_>,
    names: &Names,
    tables: &[Table; 2],
    half: usize,
) -> FileSection<'b> {
    let (flags, link) = match half {
        0 => (0, SYMTAB),
        _ => (shf::MERCURY, file.plan.mercury_symtab),
    };
    // Both are as long as the machine-code half's symbol table.
    let numbers = tables[half].sections.iter().copied();
    let numbers = numbers.chain(std::iter::repeat(0)).take(tables[0].sections.len());
    let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    let (name, kind) = (names.symbol_sections[half], SectionType::SYMTAB_SHNDX);
    FileSection::of_bytes(
        SectionHeader { name, kind, flags, link, align: 4, entsize: 4, ..SectionHeader::default() },
        bytes,
    )
}

fn parameter_bank<'b>(
    file: &'b CapsuleFile<'_, '_>,
    bank: usize,
    name: u32,
) -> Result<FileSection<'b>, Diagnostic> {
    let text = file.plan.banks[bank].text;
    let (bytes, align) = super::parameters::parameter_bank(file.linked, text)?;
    let head = SectionHeader {
        name,
        kind: match file.linked.cx.config.relocatable {
            true => SectionType::CUDA_CONSTANT_B0,
            false => SectionType::PROGBITS,
        },
        flags: shf::ALLOC | shf::INFO_LINK,
        info: file.plan.machine_index[text.index()],
        align,
        ..SectionHeader::default()
    };
    Ok(FileSection::of_bytes(head, bytes))
}

fn mercury_symbols<'b>(names: &Names, table: &'b Table) -> FileSection<'b> {
    let head = SectionHeader {
        name: names.mercury_symtab,
        kind: SectionType::CUDA_MERCURY_SYMTAB,
        flags: shf::MERCURY,
        link: STRTAB,
        info: table.info,
        align: 8,
        entsize: 24,
        ..SectionHeader::default()
    };
    FileSection::of_bytes(head, &table.bytes)
}

/// The relocations of code that has no others. [`system-calls`]
fn calls<'b>(file: &CapsuleFile<'_, '_>, code: SectionId, name: u32) -> FileSection<'b> {
    let head = SectionHeader {
        name,
        kind: SectionType::RELA,
        flags: shf::INFO_LINK,
        link: SYMTAB,
        info: file.plan.machine_index[code.index()],
        align: 8,
        entsize: size_of::<Rela64>() as u64,
        ..SectionHeader::default()
    };
    FileSection::of_relocs(head, file.plan.calls.relocs(file, code))
}

fn machine_section<'b>(
    file: &'b CapsuleFile<'_, '_>,
    id: SectionId,
    names: &'b Names,
    symtab: &'b Table,
) -> Result<FileSection<'b>, Diagnostic> {
    let (linked, plan) = (file.linked, &file.plan);
    let section = linked.merged.section(id);
    let subject = tables::subject(linked, id, &plan.machine_index);
    let (link, info) =
        tables::link_and_info(linked, (id, subject), &plan.numbering, &plan.machine_index);
    let mut head = SectionHeader {
        name: section.name,
        kind: machine_kind(file, id),
        flags: crate::write::flags(linked, section),
        link,
        info,
        align: section.align(),
        entsize: section.entsize(),
        ..SectionHeader::default()
    };
    let made = || plan.contents.get(id);
    Ok(match section.content() {
        Content::Synthetic(Synthetic::SectionNames) => {
            let gap = if plan.adds_numbers { 0 } else { GAP_AFTER_NAMES };
            FileSection { gap, ..FileSection::of_bytes(head, &names.section_names) }
        }
        Content::Synthetic(Synthetic::SymbolNames) => {
            FileSection { gap: names.reserved, ..FileSection::of_bytes(head, &names.strings) }
        }
        Content::Synthetic(Synthetic::Symbols) => {
            head.info = symtab.info;
            FileSection::of_bytes(head, &symtab.bytes)
        }
        Content::Synthetic(Synthetic::SymbolSections) => {
            FileSection::of_bytes(head, symtab.section_numbers())
        }
        Content::Synthetic(Synthetic::ToolNote) => {
            FileSection::of_bytes(head, plan.contents.notes.to_vec())
        }
        Content::Synthetic(Synthetic::CallGraph) if !plan.calls.is_empty() => {
            FileSection::of_bytes(head, plan.calls.call_graph(file, made()))
        }
        Content::Synthetic(_) => FileSection::of_bytes(head, made()),
        Content::ImageRelocs(bank) => {
            FileSection::of_relocs(head, data::machine_handles(file, bank))
        }
        Content::ResolvedRelocs(_) => {
            FileSection::of_relocs(head, data::machine_resolved(file, id)?)
        }
        Content::Attributes(_) => FileSection::of_bytes(head, attributes::machine(file, id)),
        Content::Relocs(..) => FileSection::of_relocs(head, data::machine_relocs(file, id)?),
        Content::Chunks(_) if section.is_nobits() => {
            let (size, align) = data::machine_nobits(file, id);
            FileSection::new(SectionHeader { align, ..head }, size, Body::NoBits)
        }
        Content::Chunks(_) if linked.text_function(id).is_some() => {
            FileSection::new(head, functions::machine_size(file, id), Body::Code(id))
        }
        Content::Chunks(_) => {
            head.align = data::machine_extent(file, id).1;
            FileSection::of_bytes(head, data::machine(file, id)?)
        }
    })
}

/// Banks have names in the Mercury half and numbers here.
fn machine_kind(file: &CapsuleFile<'_, '_>, id: SectionId) -> SectionType {
    let section = file.linked.merged.section(id);
    match section.bank() {
        Some(bank) if file.linked.cx.config.relocatable => {
            SectionType(SectionType::CUDA_CONSTANT_B0.0 + u32::from(bank))
        }
        Some(_) => SectionType::PROGBITS,
        None => section.kind,
    }
}

fn mercury_section<'b>(
    file: &'b CapsuleFile<'_, '_>,
    id: SectionId,
    name: u32,
    numbers: &Table,
) -> Result<FileSection<'b>, Diagnostic> {
    let (linked, plan) = (file.linked, &file.plan);
    let section = linked.merged.section(id);
    let subject = tables::subject(linked, id, &plan.mercury_index);
    let (_, info) =
        tables::link_and_info(linked, (id, subject), &plan.numbering, &plan.mercury_index);
    let mut head = SectionHeader {
        name,
        kind: section.kind,
        flags: crate::write::flags(linked, section) | shf::MERCURY,
        link: 0,
        info,
        align: section.align(),
        entsize: section.entsize(),
        ..SectionHeader::default()
    };
    let symtab = plan.mercury_symtab;
    let made = || plan.contents.get(id);
    Ok(match section.content() {
        Content::Synthetic(Synthetic::SymbolSections) => {
            FileSection::of_bytes(SectionHeader { link: symtab, ..head }, numbers.section_numbers())
        }
        Content::Synthetic(table @ (Synthetic::CallGraph | Synthetic::Prototype)) => {
            let kind = match table {
                Synthetic::CallGraph => SectionType::CUDA_MERCURY_CALLGRAPH,
                _ => SectionType::CUDA_MERCURY_PROTOTYPE,
            };
            FileSection::of_bytes(SectionHeader { kind, link: symtab, ..head }, made())
        }
        Content::Attributes(_) => {
            let kind = SectionType::CUDA_MERCURY_INFO;
            FileSection::of_bytes(SectionHeader { kind, link: symtab, ..head }, made())
        }
        Content::Relocs(..) => {
            let kind = SectionType::CUDA_MERCURY_RELA;
            let emitted = linked.relocated.emitted(id);
            let rela = section.kind == SectionType::RELA;
            let size = emitted.len() * tables::relocation_size(rela);
            FileSection::new(
                SectionHeader { kind, link: symtab, ..head },
                size as u64,
                Body::Emitted(id, rela),
            )
        }
        Content::ImageRelocs(_) => {
            let kind = SectionType::CUDA_MERCURY_RELA;
            FileSection::of_bytes(SectionHeader { kind, link: symtab, ..head }, made())
        }
        Content::ResolvedRelocs(_) => {
            let kind = SectionType::CUDA_MERCURY_RESOLVED_RELA;
            FileSection::of_bytes(SectionHeader { kind, link: symtab, ..head }, made())
        }
        _ if linked.text_function(id).is_some() => {
            let head = SectionHeader {
                kind: SectionType::CUDA_CAPMERC,
                flags: shf::MERCURY,
                link: symtab,
                align: CAPSULE_ALIGN,
                ..head
            };
            FileSection::new(head, functions::capsule_size(file, id), Body::Capsule(id))
        }
        _ => {
            head.kind = mercury_kind(section.bank(), section.kind, linked.merged.section_name(id));
            let (size, align) = crate::write::extent(linked, id);
            head.align = align;
            if section.is_nobits() {
                // NOBITS sections take up file space in this half all the same.
                return Ok(FileSection::of_bytes(head, nobits_bytes::stray_bytes(file, id, size)?));
            }
            let name = linked.merged.section_name(id);
            let shared = Body::SharedWith(plan.machine_index[id.index()]);
            if shares_bytes(name) && section.rela().is_none() {
                return Ok(FileSection::new(head, size, shared));
            }
            let bytes = data::mercury(file, id)?;
            // Addresses of functions inside kernels are offsets in the other half only.
            let is_common = shares_bytes(name)
                || section.flags() & shf::ALLOC == 0 && name != names::DEBUG_INFO;
            if is_common && *data::machine(file, id)? == bytes[..] {
                FileSection::new(head, size, shared)
            } else {
                FileSection::of_bytes(head, bytes)
            }
        }
    })
}

fn mercury_kind(bank: Option<u8>, kind: SectionType, name: &[u8]) -> SectionType {
    match (bank.and_then(bank::mercury_section_type), name) {
        (Some(kind), _) => kind,
        (None, names::GLOBAL_INIT) => SectionType::CUDA_GLOBAL_INIT,
        (None, names::RESERVED_SHARED) => SectionType::CUDA_RESERVED_SHARED,
        (None, _) => kind,
    }
}

/// Data is stored once in the file, and so are debug tables with the same contents in both halves,
/// except for `.debug_info`.
fn shares_bytes(name: &[u8]) -> bool {
    matches!(name, names::GLOBAL_INIT | names::MERCURY_CONSTANT_USER | names::MERCURY_CONSTANT_PIC)
}
