//! Headers as entries.

use super::file::File;
use super::list::Entry;
use cubin::classify::{self, SectionClass};
use cubin::consts::{shf, text_info};
use cubin::flags::Flags;
use cubin::words;
use cubin::{Cubin, Header, SectionRef, Segment};

/// The field with a section's size.
pub(crate) const SIZE: &str = "size";

const PROGRAM_HEADERS: &str = "the program headers";

/// The file header. The offsets of its tables are part of the layout.
pub(crate) fn header(cubin: &Cubin<'_>, file: &File<'_, '_>) -> Entry {
    let h = cubin.header();
    let names = match h.shstrndx {
        0xffff => cubin.section(0).map_or(0, |null| null.link),
        index => index.into(),
    };
    Entry::new("")
        .with("class", format!("{:?}", h.class))
        .with("identification", words::hex(&h.ident))
        .with("type", words::file_type(h.file_type))
        .with("machine", h.machine.to_string())
        .with("version", format!("{:#x}", h.version))
        .with("entry", format!("{:#x}", h.entry))
        .with("flags", flags(&h, file))
        .with("header size", h.ehsize.to_string())
        .with("size of a program header", h.phentsize.to_string())
        .with("number of program headers", h.phnum.to_string())
        .with("size of a section header", h.shentsize.to_string())
        .with("number of sections", h.shnum.to_string())
        .with("section with the names", file.section_name(names))
}

/// The word and its meaning. The section in it is shown by name.
fn flags(header: &Header, file: &File<'_, '_>) -> String {
    let flags = Flags::decode(header);
    let (word, cuinfo) = match flags {
        Flags::V7(_) => (header.flags, String::new()),
        Flags::V8(f) => {
            (header.flags & 0x00ff_ffff, format!(", {}", file.section_name(f.cuinfo.into())))
        }
    };
    format!("{word:#x} (sm_{}, {}{cuinfo})", flags.sm(), words::state(flags.state()))
}

/// The program headers, by the first and last section they cover: section offsets depend on all
/// sizes before them.
pub(crate) fn segments(file: &File<'_, '_>) -> Vec<Entry> {
    let entry = |(index, s): (usize, &Segment)| {
        Entry::new(index.to_string())
            .with("type", format!("{:#x}", s.kind.0))
            .with("flags", format!("{:#x}", s.flags))
            .with("start", starts_at(file, s.offset))
            .with("end", ends_at(file, s))
            .with("virtual address", format!("{:#x}", s.vaddr))
            .with("physical address", format!("{:#x}", s.paddr))
            .with("memory beyond the file", format!("{:#x}", s.memsz.saturating_sub(s.filesz)))
            .with("alignment", format!("{:#x}", s.align))
    };
    let segments = file.cubin.segments().unwrap_or_default();
    segments.iter().enumerate().map(entry).collect()
}

/// The part of the file that starts at an offset, or the offset.
fn starts_at(file: &File<'_, '_>, offset: u64) -> String {
    let mut sections = file.cubin.sections().iter().skip(1);
    match sections.find(|s| s.size > 0 && s.offset == offset) {
        _ if offset == file.cubin.header().phoff => PROGRAM_HEADERS.to_owned(),
        Some(s) => words::reference(s.name).into_owned(),
        None => format!("{offset:#x}"),
    }
}

/// The part of the file that ends with a segment, or the offset.
fn ends_at(file: &File<'_, '_>, segment: &Segment) -> String {
    if segment.filesz == 0 {
        return "its start".to_owned();
    }
    let offset = segment.offset.saturating_add(segment.filesz);
    let header = file.cubin.header();
    let table = u64::from(header.phnum) * u64::from(header.phentsize);
    let mut sections = file.cubin.sections().iter().filter(|s| !s.data.is_empty());
    match sections.find(|s| s.offset.saturating_add(s.size) == offset) {
        _ if offset == header.phoff.saturating_add(table) => PROGRAM_HEADERS.to_owned(),
        Some(s) => words::reference(s.name).into_owned(),
        None => format!("{offset:#x}"),
    }
}

/// A section header. Its offset is part of the layout, the offset of its name
/// of the string table.
pub(crate) fn section_header(file: &File<'_, '_>, s: &SectionRef<'_>) -> Entry {
    Entry::new(words::reference(s.name))
        .with("type", words::section_type(s.kind))
        .with("flags", format!("{:#x}", s.flags))
        .with("address", format!("{:#x}", s.addr))
        .with(SIZE, format!("{:#x}", s.size))
        .with("link", file.section_name(s.link))
        .with("info", info(file, s))
        .with("alignment", s.align.to_string())
        .with("entry size", s.entsize.to_string())
}

/// `sh_info` by its meaning: a section, a function, or a number.
fn info(file: &File<'_, '_>, s: &SectionRef<'_>) -> String {
    let class = classify::section(s).class;
    match class {
        SectionClass::Text(_) => {
            let function = file.tables.linked(s).name(s.info & text_info::FUNCTION);
            match s.info >> 24 {
                0 => function,
                registers => format!("{function}, {registers} registers"),
            }
        }
        SectionClass::Relocations { target } => file.section_name(target),
        _ if s.flags & shf::INFO_LINK != 0 => file.section_name(s.info),
        _ => s.info.to_string(),
    }
}
