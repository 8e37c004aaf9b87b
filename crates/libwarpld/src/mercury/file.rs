//! The capsule file: its section offsets, segments and bytes.

use super::names::names;
use super::sections::{Body, FileSection, sections};
use super::{CapsuleFile, functions, rebuilt_names, symbols};
use crate::align::align_up;
use crate::diag::Diagnostic;
use crate::linked::Linked;
use crate::write::{
    self, Bucket, Destination, Extent, FileCursor, OutputFile, bucket, even_ends, headers, tables,
};
use cubin::consts::pf;
use cubin::encode::{HeaderTables, SectionHeader};
use cubin::flags::v8;
use cubin::{Header, Segment};
use std::ops::Range;

/// Builds the sections and writes the file.
pub fn write(
    file: &CapsuleFile<'_, '_>,
    destination: &mut dyn Destination,
) -> Result<(), Diagnostic> {
    let machine_tables = || {
        let names = names(file);
        let table = symbols::machine(file, &names);
        (names, table)
    };
    let ((names, machine), mercury) = rayon::join(machine_tables, || symbols::mercury(file));
    let symbols = [machine, mercury];
    let mut sections = sections(file, &names, &symbols)?;
    let anew = file.linked.cx.dialect.rebuilds_names();
    if anew {
        rebuilt_names::rebuild(&names, file.plan.adds_numbers, &mut sections);
    }
    let end = place(&mut sections);
    let loads = match file.linked.cx.config.relocatable {
        true => None,
        false => Some(loads(file, &sections)),
    };
    let segments = loads.as_ref().map_or(0, |loads| loads.len() + 2);
    let tables = match anew {
        true => HeaderTables::at(end, sections.len() + 1, segments),
        false => HeaderTables::after(end, sections.len() + 1, segments),
    };
    let segments = loads.map_or(Vec::new(), |loads| segments_with(&tables, loads));
    write::write(&Placed { file, sections, tables, segments }, destination)
}

/// The file with all sections at their offsets.
struct Placed<'b, 'a, 'o> {
    file: &'b CapsuleFile<'a, 'o>,
    sections: Vec<FileSection<'b>>,
    tables: HeaderTables,
    segments: Vec<Segment>,
}

impl OutputFile for Placed<'_, '_, '_> {
    fn linked(&self) -> Linked<'_, '_> {
        self.file.linked
    }

    fn header(&self) -> Header {
        let index_of = &self.file.plan.machine_index;
        let header =
            headers::file_header(self.file.linked, v8::CAPSULE_MERCURY, index_of, &self.tables);
        // Quirk: an object with capsules has no program headers, and gives their entry size as 0.
        // [`relink-partial`]
        let phentsize = if self.segments.is_empty() { 0 } else { header.phentsize };
        Header { phentsize, ..header }
    }

    fn tables(&self) -> HeaderTables {
        self.tables
    }

    fn segments(&self) -> &[Segment] {
        &self.segments
    }

    fn extents(&self) -> impl Iterator<Item = Extent> {
        let sections = self.sections.iter().enumerate();
        let with_bytes = sections.filter(|(_, section)| section.body.has_bytes());
        with_bytes.map(|(i, section)| Extent { sections: i..i + 1, range: section.header.range() })
    }

    fn ends(&self, section: usize) -> Vec<u64> {
        match self.sections.get(section).and_then(|section| section.body.bytes()) {
            Some(bytes) => even_ends(bytes.len() as u64),
            None => Vec::new(),
        }
    }

    fn write_sections(
        &self,
        sections: Range<usize>,
        start: u64,
        out: &mut [u8],
    ) -> Result<(), Diagnostic> {
        let mut written = 0;
        let sections = self.sections[sections].iter();
        for section in sections.filter(|section| section.body.has_bytes()) {
            let range = section.header.range();
            let (at, end) = ((range.start - start) as usize, (range.end - start) as usize);
            out[written..at].fill(0);
            written = end;
            write_body(self.file, &section.body, &mut out[at..end])?;
        }
        out[written..].fill(0);
        Ok(())
    }

    fn write_part(
        &self,
        section: usize,
        part: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Diagnostic> {
        out.copy_from_slice(&self.sections[section].body.bytes().unwrap_or_default()[part]);
        Ok(())
    }

    fn section_headers(&self, sections: Range<usize>, take: impl FnMut(SectionHeader)) {
        self.sections[sections].iter().map(|section| section.header).for_each(take);
    }
}

fn write_body(
    file: &CapsuleFile<'_, '_>,
    body: &Body<'_>,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    match *body {
        Body::Emitted(id, rela) => {
            let emitted = file.linked.relocated.emitted(id);
            tables::write_relocations(emitted.iter(), rela, &file.plan.numbering, out);
        }
        Body::Code(id) => functions::machine(file, id, out)?,
        Body::Capsule(id) => {
            functions::capsule(file, id, file.plan.machine_index[id.index()], out)?;
        }
        _ => out.copy_from_slice(body.bytes().unwrap_or_default()),
    }
    Ok(())
}

/// Lays the sections out one after the other and returns the end.
fn place(sections: &mut [FileSection<'_>]) -> u64 {
    let mut cursor = FileCursor::default();
    for i in 0..sections.len() {
        let shared = match sections[i].body {
            Body::SharedWith(index) => {
                sections.get((index as usize).wrapping_sub(1)).map(|s| s.header.offset)
            }
            _ => None,
        };
        let FileSection { header, body, gap } = &mut sections[i];
        header.offset = match shared {
            Some(offset) => offset,
            None => {
                let size = if body.has_bytes() { header.size } else { 0 };
                cursor.place(size.saturating_add(*gap), header.align)
            }
        };
    }
    cursor.end()
}

/// Load segments for constants, code, data and parameters.
fn loads(file: &CapsuleFile<'_, '_>, sections: &[FileSection<'_>]) -> Vec<Segment> {
    let machine = file.plan.machine.len() + usize::from(file.plan.adds_numbers);
    let of = |wanted: &[Bucket]| -> Vec<&FileSection<'_>> {
        let ids = file.plan.machine.iter().zip(sections);
        ids.filter(|(id, _)| wanted.contains(&bucket(file.linked.merged.section(**id))))
            .map(|(_, s)| s)
            .collect()
    };
    let banks: Vec<_> = sections.iter().skip(machine).take(file.plan.banks.len()).collect();
    let (constants, texts, data) =
        (of(&[Bucket::Constants]), of(&[Bucket::Code]), of(&[Bucket::Data, Bucket::NoBits]));
    let lists = [(constants, pf::R), (texts, pf::R | pf::X), (data, pf::R | pf::W), (banks, pf::R)];
    lists.iter().filter_map(|(list, flags)| load(list, *flags)).collect()
}

/// A segment covering adjacent sections.
fn load(list: &[&FileSection<'_>], flags: u32) -> Option<Segment> {
    let (first, last) = (list.first()?, list.last()?);
    let is_nobits = |s: &FileSection<'_>| matches!(s.body, Body::NoBits);
    let end = if is_nobits(last) { last.header.offset } else { last.header.range().end };
    let mut zeros: u64 = 0;
    for section in list.iter().filter(|s| is_nobits(s)) {
        zeros = align_up(zeros, section.header.align).saturating_add(section.header.size);
    }
    Some(Segment::load(first.header.offset..end, zeros, flags))
}

/// The PHDR segment, twice (as PHDR and as LOAD), and the load segments.
fn segments_with(tables: &HeaderTables, mut loads: Vec<Segment>) -> Vec<Segment> {
    let table = tables.program_headers()..tables.end();
    let mut out =
        vec![Segment::of_program_headers(table.clone(), pf::R), Segment::load(table, 0, pf::R)];
    out.append(&mut loads);
    out
}
