//! The file: headers, offsets, segments, bytes.

use super::names::{Names, names};
use super::shape::text_function;
use super::symbols::{self, Table};
use super::{Both, attributes, code, data, handles, reserved};
use crate::diag::Diagnostic;
use crate::finalize::{bucket, tables};
use crate::merge::{Content, SectionId, Synthetic, align_up};
use crate::serialize::most_bytes;
use cubin::consts::shf;
use cubin::raw::{Ehdr64, Phdr64, Shdr64};
use cubin::{EM_CUDA, FileType, SectionType};
use rayon::prelude::*;
use std::borrow::Cow;
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

/// What a section holds.
pub enum Body<'a> {
    /// No bytes in the file.
    NoBits,
    /// Bytes of its own.
    Bytes(Cow<'a, [u8]>),
    /// The bytes of an earlier section.
    SharedWith(u32),
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
}

/// All sections in file order.
pub fn sections<'a>(both: &Both<'a, '_>) -> Result<Vec<FileSection<'a>>, Diagnostic> {
    let names = names(both);
    let tables = [symbols::machine(both, &names), symbols::mercury(both)];
    let shape = &both.shape;
    let machine: Result<Vec<_>, _> =
        shape.machine.par_iter().map(|&id| machine_section(both, id, &names, &tables[0])).collect();
    let mut out = machine?;
    let count = tables[0].sections.len();
    let section_numbers = |name: u32, flags: u64, link: u32, numbers: &[u32]| {
        // Both are as long as the machine-code side's symbol table.
        let numbers = numbers.iter().copied().chain(std::iter::repeat(0)).take(count);
        let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        let kind = SectionType::SYMTAB_SHNDX.0;
        Head { name, kind, flags, link, align: 4, entsize: 4, ..Head::default() }.bytes(bytes)
    };
    if shape.extended {
        out.push(section_numbers(names.symbol_sections[0], 0, SYMTAB, &tables[0].sections));
    }
    for (bank, name) in shape.banks.iter().zip(&names.banks) {
        let (bytes, align) = data::parameter_bank(both.parts, bank.text)?;
        let head = Head {
            name: name.0,
            kind: match both.parts.cx.config.relocatable {
                true => SectionType::CUDA_CONSTANT_B0.0,
                false => SectionType::PROGBITS.0,
            },
            flags: shf::ALLOC | shf::INFO_LINK,
            info: shape.machine_index[bank.text.0 as usize],
            align,
            ..Head::default()
        };
        out.push(head.bytes(bytes));
    }
    let mercury: Result<Vec<_>, _> = shape
        .mercury
        .par_iter()
        .zip(&names.mercury)
        .map(|(&id, &name)| mercury_section(both, id, name))
        .collect();
    out.extend(mercury?);
    if shape.extended {
        let (name, link) = (names.symbol_sections[1], shape.mercury_symtab);
        out.push(section_numbers(name, shf::MERCURY, link, &tables[1].sections));
    }
    let [_, table] = tables;
    let symtab = Head {
        name: names.mercury_symtab,
        kind: SectionType::CUDA_MERCURY_SYMTAB.0,
        flags: shf::MERCURY,
        link: STRTAB,
        info: table.info,
        align: 8,
        entsize: 24,
    };
    out.push(symtab.bytes(table.bytes));
    Ok(out)
}

fn machine_section<'a>(
    both: &Both<'a, '_>,
    id: SectionId,
    names: &Names,
    symtab: &Table,
) -> Result<FileSection<'a>, Diagnostic> {
    let (parts, shape) = (both.parts, &both.shape);
    let section = parts.merged.section(id);
    let (link, info) = tables::link_and_info(parts, id, &shape.numbering, &shape.machine_index);
    let mut head = Head {
        name: section.name,
        kind: machine_kind(both, id).0,
        flags: crate::finalize::flags(parts, id),
        link,
        info,
        align: section.align,
        entsize: section.entsize,
    };
    let made = || shape.contents.get(id).unwrap_or_default().to_vec();
    Ok(match &section.content {
        Content::Synthetic(Synthetic::SectionNames) => {
            let gap = if shape.extended { 0 } else { GAP_AFTER_NAMES };
            FileSection { gap, ..head.bytes(names.section_names.clone()) }
        }
        Content::Synthetic(Synthetic::SymbolNames) => {
            FileSection { gap: names.reserved, ..head.bytes(names.strings.clone()) }
        }
        Content::Synthetic(Synthetic::Symbols) => {
            head.info = symtab.info;
            head.bytes(symtab.bytes.clone())
        }
        Content::Synthetic(_) => head.bytes(made()),
        Content::ImageRelocs(bank) => head.bytes(data::machine_handles(both, *bank)),
        Content::ResolvedRelocs(_) => head.bytes(data::machine_resolved(both, id)?),
        Content::Attributes(_) => head.bytes(attributes::machine(both, id)),
        Content::Relocs(..) => head.bytes(data::machine_relocs(both, id)?),
        Content::Chunks(_) if section.is_nobits() => {
            let (size, align) = data::machine_nobits(both, id);
            Head { align, ..head }.with(size, Body::NoBits)
        }
        Content::Chunks(_) if text_function(parts, id).is_some() => {
            head.bytes(code::machine(both, id)?)
        }
        Content::Chunks(_) => {
            head.align = data::machine_extent(both, id).1;
            head.bytes(data::machine(both, id)?)
        }
    })
}

/// Banks have names on the Mercury side and numbers here.
fn machine_kind(both: &Both<'_, '_>, id: SectionId) -> SectionType {
    let section = both.parts.merged.section(id);
    match section.bank {
        Some(bank) if both.parts.cx.config.relocatable => {
            SectionType(SectionType::CUDA_CONSTANT_B0.0 + u32::from(bank))
        }
        Some(_) => SectionType::PROGBITS,
        None => section.kind,
    }
}

fn mercury_section<'a>(
    both: &Both<'a, '_>,
    id: SectionId,
    name: u32,
) -> Result<FileSection<'a>, Diagnostic> {
    let (parts, shape) = (both.parts, &both.shape);
    let section = parts.merged.section(id);
    let (_, info) = tables::link_and_info(parts, id, &shape.numbering, &shape.mercury_index);
    let mut head = Head {
        name,
        kind: section.kind.0,
        flags: crate::finalize::flags(parts, id) | shf::MERCURY,
        link: 0,
        info,
        align: section.align,
        entsize: section.entsize,
    };
    let symtab = shape.mercury_symtab;
    let made = || shape.contents.get(id).unwrap_or_default().to_vec();
    Ok(match &section.content {
        Content::Attributes(_) => {
            let kind = SectionType::CUDA_MERCURY_INFO.0;
            Head { kind, link: symtab, ..head }.bytes(made())
        }
        Content::Relocs(..) | Content::ImageRelocs(_) => {
            let kind = SectionType::CUDA_MERCURY_RELA.0;
            Head { kind, link: symtab, ..head }.bytes(made())
        }
        Content::ResolvedRelocs(_) => {
            let kind = SectionType::CUDA_MERCURY_RESOLVED_RELA.0;
            Head { kind, link: symtab, ..head }.bytes(made())
        }
        _ if text_function(parts, id).is_some() => {
            let bytes = code::capsule(both, id, shape.machine_index[id.0 as usize])?;
            Head {
                kind: SectionType::CUDA_CAPMERC.0,
                flags: shf::MERCURY,
                link: symtab,
                align: CAPSULE_ALIGN,
                ..head
            }
            .bytes(bytes)
        }
        _ => {
            head.kind = mercury_kind(section.bank, section.kind, parts.merged.section_name(id)).0;
            let (size, align) = crate::finalize::extent(parts, id);
            head.align = align;
            if section.is_nobits() {
                // Memory without bits takes room on this side all the same.
                return Ok(head.bytes(reserved::stray_bytes(both, id, size)?));
            }
            let bytes = data::mercury(both, id)?;
            let name = parts.merged.section_name(id);
            let is_common = section.flags & shf::ALLOC == 0 && name != b".debug_info";
            if shares_bytes(name) || (is_common && data::machine(both, id)? == bytes) {
                head.with(size, Body::SharedWith(shape.machine_index[id.0 as usize]))
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

/// Lays the sections out one after the other and writes the file.
pub fn assemble(
    both: &Both<'_, '_>,
    mut sections: Vec<FileSection<'_>>,
) -> Result<Vec<u8>, Diagnostic> {
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
        if matches!(section.body, Body::Bytes(_)) {
            position = position.saturating_add(section.header.sh_size.get());
        }
        position = position.saturating_add(section.gap);
    }
    let headers = align_up(position, 8);
    let after = headers.saturating_add(((sections.len() + 1) * size_of::<Shdr64>()) as u64);
    let segments = match both.parts.cx.config.relocatable {
        true => Vec::new(),
        false => segments(both, &sections, after),
    };
    let size = (after as usize).saturating_add(segments.len() * size_of::<Phdr64>());
    let too_large =
        || Diagnostic::fatal("out-of-memory", format_args!("Output of {size} bytes is too large"));
    if size as u64 > most_bytes(both.parts) {
        return Err(too_large());
    }
    let mut file = Vec::new();
    file.try_reserve_exact(size).map_err(|_| too_large())?;
    file.extend_from_slice(header(both, sections.len() + 1, headers, segments.len()).as_bytes());
    for section in &sections {
        if let Body::Bytes(bytes) = &section.body {
            file.resize(section.header.sh_offset.get() as usize, 0);
            file.extend_from_slice(bytes);
        }
    }
    file.resize(headers as usize, 0);
    let count = sections.len() as u64 + 1;
    let null =
        Shdr64 { sh_size: if both.shape.extended { count } else { 0 }.into(), ..Shdr64::default() };
    file.extend_from_slice(null.as_bytes());
    for section in &sections {
        file.extend_from_slice(section.header.as_bytes());
    }
    for segment in &segments {
        file.extend_from_slice(segment.as_bytes());
    }
    Ok(file)
}

fn header(both: &Both<'_, '_>, sections: usize, headers: u64, segments: usize) -> Ehdr64 {
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

fn flags(both: &Both<'_, '_>) -> u32 {
    let note = Content::Synthetic(Synthetic::VersionNote);
    let note = both.parts.merged.sections.iter().position(|s| s.content == note);
    let note = note.map_or(0, |i| both.shape.machine_index[i]).min(0xff);
    let arch = u32::from(both.parts.cx.config.arch.number);
    note << 24 | arch << 8 | u32::from(cubin::flags::v8::CAPSULE_MERCURY)
}

/// The program header table itself, twice; constants; code; data; parameters.
fn segments(both: &Both<'_, '_>, sections: &[FileSection<'_>], at: u64) -> Vec<Phdr64> {
    const PT_LOAD: u32 = 1;
    const PT_PHDR: u32 = 6;
    let segment = |kind: u32, flags: u32, (offset, filesz, memsz): (u64, u64, u64)| Phdr64 {
        p_type: kind.into(),
        p_flags: flags.into(),
        p_offset: offset.into(),
        p_vaddr: 0.into(),
        p_paddr: 0.into(),
        p_filesz: filesz.into(),
        p_memsz: memsz.into(),
        p_align: 8.into(),
    };
    let machine = both.shape.machine.len() + usize::from(both.shape.extended);
    let of = |wanted: &[u8]| -> Vec<&FileSection<'_>> {
        let ids = both.shape.machine.iter().zip(sections);
        ids.filter(|(id, _)| wanted.contains(&bucket(both.parts.merged, **id)))
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
