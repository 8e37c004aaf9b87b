//! The file: headers, offsets, segments, bytes.

use super::names::{Names, names};
use super::section_plan::text_function;
use super::symbols::{self, Table};
use super::{CapsuleFile, attributes, data, functions, handles, nobits_bytes};
use crate::align::align_up;
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::merge::{Content, Synthetic};
use crate::write::serialize::{
    Destination, Extent, Piece, Pieces, Tail, cut, even_ends, too_large,
};
use crate::write::{bucket, tables};
use cubin::consts::shf;
use cubin::raw::{Ehdr64, Phdr64, Rela64, Shdr64};
use cubin::{EM_CUDA, FileType, SectionType};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use zerocopy::IntoBytes;

/// `.strtab` of every output.
const STRTAB: u32 = 2;
/// `.symtab` of every output.
const SYMTAB: u32 = 3;
/// Unused bytes after the section names, in every file that has capsules: room
/// for the names of the two tables of section numbers.
const GAP_AFTER_NAMES: u64 = (b".symtab_shndx\0".len() + b".nv.merc.symtab_shndx\0".len()) as u64;
/// Alignment of capsules.
const CAPSULE_ALIGN: u64 = 16;

/// What a section holds. Code is most of a file: it is made as it is written.
pub enum Body<'a> {
    /// No bytes in the file.
    NoBits,
    /// Bytes of its own.
    Bytes(Cow<'a, [u8]>),
    /// Relocations.
    Relocs(Vec<Rela64>),
    /// The Mercury side's relocations that stay, with or without addend.
    Kept(SectionId, bool),
    /// A function's machine code.
    Code(SectionId),
    /// A function's capsule.
    Capsule(SectionId),
    /// The bytes of an earlier section.
    SharedWith(u32),
}

impl Body<'_> {
    /// Whether it has bytes of its own in the file.
    fn has_bytes(&self) -> bool {
        !matches!(self, Self::NoBits | Self::SharedWith(_))
    }

    /// The bytes, where they are there already.
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Relocs(records) => Some(records.as_bytes()),
            _ => None,
        }
    }
}

/// A section of the file.
pub struct FileSection<'a> {
    header: Shdr64,
    body: Body<'a>,
    /// Free bytes after it.
    gap: u64,
}

#[derive(Default)]
struct Head {
    name: u32,
    kind: u32,
    flags: u64,
    link: u32,
    info: u32,
    align: u64,
    entsize: u64,
}

impl Head {
    fn with<'a>(self, size: u64, body: Body<'a>) -> FileSection<'a> {
        let header = Shdr64 {
            sh_name: self.name.into(),
            sh_type: self.kind.into(),
            sh_flags: self.flags.into(),
            sh_addr: 0.into(),
            sh_offset: 0.into(),
            sh_size: size.into(),
            sh_link: self.link.into(),
            sh_info: self.info.into(),
            sh_addralign: self.align.into(),
            sh_entsize: self.entsize.into(),
        };
        FileSection { header, body, gap: 0 }
    }

    fn bytes<'a>(self, bytes: impl Into<Cow<'a, [u8]>>) -> FileSection<'a> {
        let bytes = bytes.into();
        self.with(bytes.len() as u64, Body::Bytes(bytes))
    }

    fn relocs<'a>(self, records: Vec<Rela64>) -> FileSection<'a> {
        self.with(records.as_bytes().len() as u64, Body::Relocs(records))
    }
}

/// A section to be made.
enum Wanted {
    /// Of the machine-code side.
    Machine(SectionId),
    /// The section numbers of one of the symbol tables.
    Numbers(usize),
    /// One of the parameter banks.
    Bank(usize),
    /// One of the Mercury side.
    Mercury(usize),
    /// The Mercury side's symbol table.
    Symbols,
}

/// All sections in file order.
fn sections<'b>(
    both: &'b CapsuleFile<'_, '_>,
    names: &'b Names,
    tables: &'b [Table; 2],
) -> Result<Vec<FileSection<'b>>, Diagnostic> {
    let shape = &both.shape;
    let mut wanted: Vec<Wanted> = shape.machine.iter().map(|&id| Wanted::Machine(id)).collect();
    wanted.extend(shape.adds_numbers.then_some(Wanted::Numbers(0)));
    wanted.extend((0..shape.banks.len()).map(Wanted::Bank));
    wanted.extend((0..shape.mercury.len()).map(Wanted::Mercury));
    wanted.extend(shape.adds_numbers.then_some(Wanted::Numbers(1)));
    wanted.push(Wanted::Symbols);
    let make = |wanted: &Wanted| match *wanted {
        Wanted::Machine(id) => machine_section(both, id, names, &tables[0]),
        Wanted::Numbers(side) => Ok(section_numbers(both, names, tables, side)),
        Wanted::Bank(bank) => parameter_bank(both, bank, names.banks[bank].0),
        Wanted::Mercury(i) => mercury_section(both, shape.mercury[i], names.mercury[i], &tables[1]),
        Wanted::Symbols => Ok(mercury_symbols(names, &tables[1])),
    };
    // As many results as there are sections, in one allocation.
    let made: Vec<Result<_, Box<Diagnostic>>> =
        wanted.par_iter().map(|wanted| make(wanted).map_err(Box::new)).collect();
    made.into_iter().collect::<Result<_, _>>().map_err(|error| *error)
}

/// A table of section numbers that the link itself has not made.
fn section_numbers<'b>(
    both: &CapsuleFile<'_, '_>,
    names: &Names,
    tables: &[Table; 2],
    side: usize,
) -> FileSection<'b> {
    let (flags, link) = match side {
        0 => (0, SYMTAB),
        _ => (shf::MERCURY, both.shape.mercury_symtab),
    };
    // Both are as long as the machine-code side's symbol table.
    let numbers = tables[side].sections.iter().copied();
    let numbers = numbers.chain(std::iter::repeat(0)).take(tables[0].sections.len());
    let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    let (name, kind) = (names.symbol_sections[side], SectionType::SYMTAB_SHNDX.0);
    Head { name, kind, flags, link, align: 4, entsize: 4, ..Head::default() }.bytes(bytes)
}

fn parameter_bank<'b>(
    both: &'b CapsuleFile<'_, '_>,
    bank: usize,
    name: u32,
) -> Result<FileSection<'b>, Diagnostic> {
    let text = both.shape.banks[bank].text;
    let (bytes, align) = data::parameter_bank(both.parts, text)?;
    let head = Head {
        name,
        kind: match both.parts.cx.config.relocatable {
            true => SectionType::CUDA_CONSTANT_B0.0,
            false => SectionType::PROGBITS.0,
        },
        flags: shf::ALLOC | shf::INFO_LINK,
        info: both.shape.machine_index[text.0 as usize],
        align,
        ..Head::default()
    };
    Ok(head.bytes(bytes))
}

fn mercury_symbols<'b>(names: &Names, table: &'b Table) -> FileSection<'b> {
    let head = Head {
        name: names.mercury_symtab,
        kind: SectionType::CUDA_MERCURY_SYMTAB.0,
        flags: shf::MERCURY,
        link: STRTAB,
        info: table.info,
        align: 8,
        entsize: 24,
    };
    head.bytes(&table.bytes)
}

fn machine_section<'b>(
    both: &'b CapsuleFile<'_, '_>,
    id: SectionId,
    names: &'b Names,
    symtab: &'b Table,
) -> Result<FileSection<'b>, Diagnostic> {
    let (parts, shape) = (both.parts, &both.shape);
    let section = parts.merged.section(id);
    let subject = tables::subject(parts, id, &shape.machine_index);
    let (link, info) =
        tables::link_and_info(parts, (id, subject), &shape.numbering, &shape.machine_index);
    let mut head = Head {
        name: section.name,
        kind: machine_kind(both, id).0,
        flags: crate::write::flags(parts, section),
        link,
        info,
        align: section.align(),
        entsize: section.entsize(),
    };
    let made = || shape.contents.get(id);
    Ok(match section.content() {
        Content::Synthetic(Synthetic::SectionNames) => {
            let gap = if shape.adds_numbers { 0 } else { GAP_AFTER_NAMES };
            FileSection { gap, ..head.bytes(&names.section_names) }
        }
        Content::Synthetic(Synthetic::SymbolNames) => {
            FileSection { gap: names.reserved, ..head.bytes(&names.strings) }
        }
        Content::Synthetic(Synthetic::Symbols) => {
            head.info = symtab.info;
            head.bytes(&symtab.bytes)
        }
        Content::Synthetic(Synthetic::SymbolSections) => head.bytes(symtab.section_numbers()),
        Content::Synthetic(Synthetic::ToolNote) => head.bytes(shape.contents.notes.to_vec()),
        Content::Synthetic(_) => head.bytes(made()),
        Content::ImageRelocs(bank) => head.relocs(data::machine_handles(both, bank)),
        Content::ResolvedRelocs(_) => head.relocs(data::machine_resolved(both, id)?),
        Content::Attributes(_) => head.bytes(attributes::machine(both, id)),
        Content::Relocs(..) => head.relocs(data::machine_relocs(both, id)?),
        Content::Chunks(_) if section.is_nobits() => {
            let (size, align) = data::machine_nobits(both, id);
            Head { align, ..head }.with(size, Body::NoBits)
        }
        Content::Chunks(_) if text_function(parts, id).is_some() => {
            head.with(functions::machine_size(both, id), Body::Code(id))
        }
        Content::Chunks(_) => {
            head.align = data::machine_extent(both, id).1;
            head.bytes(data::machine(both, id)?)
        }
    })
}

/// Banks have names on the Mercury side and numbers here.
fn machine_kind(both: &CapsuleFile<'_, '_>, id: SectionId) -> SectionType {
    let section = both.parts.merged.section(id);
    match section.bank() {
        Some(bank) if both.parts.cx.config.relocatable => {
            SectionType(SectionType::CUDA_CONSTANT_B0.0 + u32::from(bank))
        }
        Some(_) => SectionType::PROGBITS,
        None => section.kind,
    }
}

fn mercury_section<'b>(
    both: &'b CapsuleFile<'_, '_>,
    id: SectionId,
    name: u32,
    numbers: &Table,
) -> Result<FileSection<'b>, Diagnostic> {
    let (parts, shape) = (both.parts, &both.shape);
    let section = parts.merged.section(id);
    let subject = tables::subject(parts, id, &shape.mercury_index);
    let (_, info) =
        tables::link_and_info(parts, (id, subject), &shape.numbering, &shape.mercury_index);
    let mut head = Head {
        name,
        kind: section.kind.0,
        flags: crate::write::flags(parts, section) | shf::MERCURY,
        link: 0,
        info,
        align: section.align(),
        entsize: section.entsize(),
    };
    let symtab = shape.mercury_symtab;
    let made = || shape.contents.get(id);
    Ok(match section.content() {
        Content::Synthetic(Synthetic::SymbolSections) => {
            Head { link: symtab, ..head }.bytes(numbers.section_numbers())
        }
        Content::Attributes(_) => {
            let kind = SectionType::CUDA_MERCURY_INFO.0;
            Head { kind, link: symtab, ..head }.bytes(made())
        }
        Content::Relocs(..) => {
            let kind = SectionType::CUDA_MERCURY_RELA.0;
            let kept = parts.relocated.kept(id);
            let rela = section.kind == SectionType::RELA;
            let size = kept.len() * tables::relocation_size(rela);
            Head { kind, link: symtab, ..head }.with(size as u64, Body::Kept(id, rela))
        }
        Content::ImageRelocs(_) => {
            let kind = SectionType::CUDA_MERCURY_RELA.0;
            Head { kind, link: symtab, ..head }.bytes(made())
        }
        Content::ResolvedRelocs(_) => {
            let kind = SectionType::CUDA_MERCURY_RESOLVED_RELA.0;
            Head { kind, link: symtab, ..head }.bytes(made())
        }
        _ if text_function(parts, id).is_some() => {
            let head = Head {
                kind: SectionType::CUDA_CAPMERC.0,
                flags: shf::MERCURY,
                link: symtab,
                align: CAPSULE_ALIGN,
                ..head
            };
            head.with(functions::capsule_size(both, id), Body::Capsule(id))
        }
        _ => {
            head.kind = mercury_kind(section.bank(), section.kind, parts.merged.section_name(id)).0;
            let (size, align) = crate::write::extent(parts, id);
            head.align = align;
            if section.is_nobits() {
                // Memory without bits takes room on this side all the same.
                return Ok(head.bytes(nobits_bytes::stray_bytes(both, id, size)?));
            }
            let name = parts.merged.section_name(id);
            let shared = Body::SharedWith(shape.machine_index[id.0 as usize]);
            if shares_bytes(name) && section.rela().is_none() {
                return Ok(head.with(size, shared));
            }
            let bytes = data::mercury(both, id)?;
            // Addresses of functions inside kernels are offsets on the other side alone.
            let is_common =
                shares_bytes(name) || section.flags() & shf::ALLOC == 0 && name != b".debug_info";
            if is_common && *data::machine(both, id)? == bytes[..] {
                head.with(size, shared)
            } else {
                head.bytes(bytes)
            }
        }
    })
}

fn mercury_kind(bank: Option<u8>, kind: SectionType, name: &[u8]) -> SectionType {
    match bank {
        Some(handles::BANK) => SectionType::CUDA_MERCURY_CONSTANT_IMGHDR,
        Some(2) => SectionType::CUDA_MERCURY_CONSTANT_OPT,
        Some(3) => SectionType::CUDA_MERCURY_CONSTANT_USER,
        Some(4) => SectionType::CUDA_MERCURY_CONSTANT_PIC,
        _ if name == b".nv.global.init" => SectionType::CUDA_GLOBAL_INIT,
        _ if name == data::RESERVED_SHARED => SectionType::CUDA_RESERVED_SHARED,
        _ => kind,
    }
}

/// Data lies in the file once, and so do debug tables that say the same on
/// both sides, but for `.debug_info`.
fn shares_bytes(name: &[u8]) -> bool {
    matches!(name, b".nv.global.init" | b".nv.constant.user" | b".nv.constant.pic")
}

/// Makes the sections and writes the file.
pub fn write(
    both: &CapsuleFile<'_, '_>,
    destination: &mut dyn Destination,
) -> Result<(), Diagnostic> {
    let machine_tables = || {
        let names = names(both);
        let table = symbols::machine(both, &names);
        (names, table)
    };
    let ((names, machine), mercury) = rayon::join(machine_tables, || symbols::mercury(both));
    let tables = [machine, mercury];
    let mut sections = sections(both, &names, &tables)?;
    let section_headers = place(&mut sections);
    let count = sections.len() + 1;
    let after = section_headers.saturating_add((count * size_of::<Shdr64>()) as u64);
    let segments = match both.parts.cx.config.relocatable {
        true => Vec::new(),
        false => segments(both, &sections, after),
    };
    let size = after.saturating_add((segments.len() * size_of::<Phdr64>()) as u64);
    if size > both.most_bytes {
        return Err(too_large(size));
    }
    let with_bytes = sections.iter().enumerate().filter(|(_, section)| section.body.has_bytes());
    let extents =
        with_bytes.map(|(i, section)| Extent { sections: i..i + 1, range: section.range() });
    let ends = |i: usize| match &sections[i] {
        section if section.body.bytes().is_some() => even_ends(section.header.sh_size.get()),
        _ => Vec::new(),
    };
    let (kinds, ranges) = cut(extents, ends, &Tail { section_headers, count, size });
    let fill = |piece: usize, out: &mut [u8]| match &kinds[piece] {
        Piece::Sections(range) => {
            let start = ranges[piece].start;
            let header = header(both, count, section_headers, segments.len());
            write_sections(both, &sections[range.clone()], start, &header, out)
        }
        Piece::Part(section, part) => {
            out.copy_from_slice(&sections[*section].body.bytes().unwrap_or_default()[part.clone()]);
            Ok(())
        }
        Piece::Headers(range) => {
            write_headers(both, &sections, range.clone(), out);
            Ok(())
        }
        Piece::Segments => {
            out.copy_from_slice(segments.as_bytes());
            Ok(())
        }
    };
    destination.take(&Pieces::new(&ranges, &fill))
}

impl FileSection<'_> {
    /// Where it lies in the file.
    fn range(&self) -> Range<u64> {
        let start = self.header.sh_offset.get();
        start..start.saturating_add(self.header.sh_size.get())
    }
}

/// Lays the sections out one after the other; where their headers come.
fn place(sections: &mut [FileSection<'_>]) -> u64 {
    let mut position = size_of::<Ehdr64>() as u64;
    for i in 0..sections.len() {
        let shared = match sections[i].body {
            Body::SharedWith(index) => {
                sections.get((index as usize).wrapping_sub(1)).map(|s| s.header.sh_offset)
            }
            _ => None,
        };
        let section = &mut sections[i];
        if let Some(offset) = shared {
            section.header.sh_offset = offset;
            continue;
        }
        position = align_up(position, section.header.sh_addralign.get());
        section.header.sh_offset = position.into();
        if section.body.has_bytes() {
            position = position.saturating_add(section.header.sh_size.get());
        }
        position = position.saturating_add(section.gap);
    }
    align_up(position, 8)
}

fn write_sections(
    both: &CapsuleFile<'_, '_>,
    sections: &[FileSection<'_>],
    start: u64,
    header: &Ehdr64,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    let mut written = 0;
    if start == 0 {
        written = size_of::<Ehdr64>();
        out[..written].copy_from_slice(header.as_bytes());
    }
    for section in sections.iter().filter(|section| section.body.has_bytes()) {
        let range = section.range();
        let (at, end) = ((range.start - start) as usize, (range.end - start) as usize);
        out[written..at].fill(0);
        written = end;
        let place = &mut out[at..end];
        match section.body {
            Body::Kept(id, rela) => {
                let kept = both.parts.relocated.kept(id);
                tables::write_relocations(kept.iter(), rela, &both.shape.numbering, place);
            }
            Body::Code(id) => functions::machine(both, id, place)?,
            Body::Capsule(id) => {
                functions::capsule(both, id, both.shape.machine_index[id.0 as usize], place)?
            }
            _ => place.copy_from_slice(section.body.bytes().unwrap_or_default()),
        }
    }
    out[written..].fill(0);
    Ok(())
}

fn write_headers(
    both: &CapsuleFile<'_, '_>,
    sections: &[FileSection<'_>],
    headers: Range<usize>,
    out: &mut [u8],
) {
    let count = if both.shape.extended { sections.len() as u64 + 1 } else { 0 };
    let null = Shdr64 { sh_size: count.into(), ..Shdr64::default() };
    for (header, out) in headers.zip(out.chunks_exact_mut(size_of::<Shdr64>())) {
        let header = header.checked_sub(1).map_or(&null, |i| &sections[i].header);
        out.copy_from_slice(header.as_bytes());
    }
}

fn header(both: &CapsuleFile<'_, '_>, sections: usize, headers: u64, segments: usize) -> Ehdr64 {
    let mut ident = [0; 16];
    ident[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x41\x08");
    let config = both.parts.cx.config;
    let file_type = if config.relocatable { FileType::REL } else { FileType::EXEC };
    let phoff = headers + (sections * size_of::<Shdr64>()) as u64;
    Ehdr64 {
        e_ident: ident,
        e_type: file_type.0.into(),
        e_machine: EM_CUDA.into(),
        e_version: 1.into(),
        e_entry: 0.into(),
        e_phoff: if config.relocatable { 0 } else { phoff }.into(),
        e_shoff: headers.into(),
        e_flags: flags(both).into(),
        e_ehsize: 64.into(),
        e_phentsize: if config.relocatable { 0 } else { 56 }.into(),
        e_phnum: (segments as u16).into(),
        e_shentsize: 64.into(),
        e_shnum: if both.shape.extended { 0 } else { sections as u16 }.into(),
        e_shstrndx: 1.into(),
    }
}

fn flags(both: &CapsuleFile<'_, '_>) -> u32 {
    let note = both.parts.merged.synthetic(Synthetic::VersionNote);
    let note = note.map_or(0, |id| both.shape.machine_index[id.0 as usize]).min(0xff);
    let arch = u32::from(both.parts.cx.config.arch.number);
    note << 24 | arch << 8 | u32::from(cubin::flags::v8::CAPSULE_MERCURY)
}

/// The program header table itself, twice; constants; code; data; parameters.
fn segments(both: &CapsuleFile<'_, '_>, sections: &[FileSection<'_>], at: u64) -> Vec<Phdr64> {
    const PT_LOAD: u32 = 1;
    const PT_PHDR: u32 = 6;
    let segment = Phdr64::without_address;
    let machine = both.shape.machine.len() + usize::from(both.shape.adds_numbers);
    let of = |wanted: &[u8]| -> Vec<&FileSection<'_>> {
        let ids = both.shape.machine.iter().zip(sections);
        ids.filter(|(id, _)| wanted.contains(&bucket(both.parts.merged.section(**id))))
            .map(|(_, s)| s)
            .collect()
    };
    let banks: Vec<_> = sections.iter().skip(machine).take(both.shape.banks.len()).collect();
    let (constants, texts, data) = (of(&[4]), of(&[5]), of(&[6, 7]));
    let mut loads = Vec::new();
    for (list, flags) in [(&constants, 4), (&texts, 5), (&data, 6), (&banks, 4)] {
        if let Some(extent) = extent(list) {
            loads.push(segment(PT_LOAD, flags, extent));
        }
    }
    let size = ((loads.len() + 2) * size_of::<Phdr64>()) as u64;
    let mut out =
        vec![segment(PT_PHDR, 4, (at, size, size)), segment(PT_LOAD, 4, (at, size, size))];
    out.append(&mut loads);
    out
}

/// Offset, size in the file and size in memory of neighbouring sections.
fn extent(list: &[&FileSection<'_>]) -> Option<(u64, u64, u64)> {
    let (first, last) = (list.first()?, list.last()?);
    let start = first.header.sh_offset.get();
    let is_nobits = |s: &FileSection<'_>| matches!(s.body, Body::NoBits);
    let bits = if is_nobits(last) { 0 } else { last.header.sh_size.get() };
    let file = last.header.sh_offset.get().saturating_add(bits).saturating_sub(start);
    let mut memory: u64 = 0;
    for section in list.iter().filter(|s| is_nobits(s)) {
        memory = align_up(memory, section.header.sh_addralign.get());
        memory = memory.saturating_add(section.header.sh_size.get());
    }
    Some((start, file, file.saturating_add(memory)))
}
