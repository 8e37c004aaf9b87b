//! A file with one half, of machine code: where its bytes come from.

use super::blocks::{BLOCK_SIZE, Destination, Extent, GROUP, even_ends};
use super::writer::{self, OutputFile};
use super::{ContentSource, FinalSection, Plan, divide, headers};
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::linked::Linked;
use crate::merge::Chunks;
use crate::relocate::Patch;
use crate::write::contents::table;
use cubin::encode::{HeaderTables, SectionHeader};
use cubin::flags::v8;
use cubin::{Header, Segment, reloc};
use std::ops::Range;

/// Writes the planned file.
pub fn write(
    parts: Linked<'_, '_>,
    plan: &Plan<'_>,
    destination: &mut dyn Destination,
) -> Result<(), Diagnostic> {
    writer::write(&ClassicFile { parts, plan }, destination)
}

/// A file with one half.
struct ClassicFile<'a, 'o, 'p> {
    parts: Linked<'a, 'o>,
    plan: &'p Plan<'a>,
}

impl OutputFile for ClassicFile<'_, '_, '_> {
    fn parts(&self) -> Linked<'_, '_> {
        self.parts
    }

    fn header(&self) -> Header {
        headers::file_header(self.parts, v8::SASS, &self.plan.index_of, &self.plan.tables)
    }

    fn tables(&self) -> HeaderTables {
        self.plan.tables
    }

    fn segments(&self) -> &[Segment] {
        &self.plan.segments
    }

    fn extents(&self) -> impl Iterator<Item = Extent> {
        self.plan.extents(GROUP).map(|(sections, range)| Extent { sections, range })
    }

    fn ends(&self, section: usize) -> Vec<u64> {
        match self.plan.section(section) {
            Some(section) if section.source == ContentSource::Copied => {
                divide::ends(self.parts, &section, BLOCK_SIZE)
            }
            Some(table) => even_ends(table.size),
            None => Vec::new(),
        }
    }

    /// Looks up the sources of a batch of sections before writing the first. Each lookup is a chain
    /// of loads from cold memory; the processor overlaps several of them if no bytes are copied in
    /// between.
    fn write_sections(
        &self,
        sections: Range<usize>,
        start: u64,
        out: &mut [u8],
    ) -> Result<(), Diagnostic> {
        let (parts, plan) = (self.parts, self.plan);
        let mut written = 0;
        let mut sections = plan.sections(sections);
        let (mut batch, mut sources) = (Vec::new(), Vec::new());
        while sections.next_batch(&mut batch) {
            let with_bytes = || batch.iter().filter(|section| section.has_bytes);
            let copied = with_bytes().filter(|section| section.source == ContentSource::Copied);
            sources.clear();
            sources.extend(copied.map(|section| Sources::of(parts, section)));
            let mut sources = sources.iter();
            for section in with_bytes() {
                let at = (section.offset - start) as usize;
                clear(&mut out[written..at]);
                written = at + section.size as usize;
                let place = &mut out[at..written];
                match table(parts, &plan.contents, section.id, section.source) {
                    Some(table) => table.write(parts, plan, 0..place.len(), place),
                    None => sources
                        .next()
                        .map_or(Ok(()), |sources| write_section(parts, section, sources, place))?,
                }
            }
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
        let Some(section) = self.plan.section(section) else { return Ok(()) };
        match table(self.parts, &self.plan.contents, section.id, section.source) {
            Some(table) => table.write(self.parts, self.plan, part, out),
            None => divide::write(self.parts, &section, &part, out)?,
        }
        Ok(())
    }

    #[inline]
    fn section_headers(&self, sections: Range<usize>, take: impl FnMut(SectionHeader)) {
        headers::section_headers(self.parts, self.plan, sections, take);
    }
}

/// The inputs that a section is copied from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a, 'o> {
    chunks: Chunks<'o>,
    /// The bytes of the first one, which is usually the only one.
    first: &'a [u8],
}

impl<'a, 'o> Sources<'a, 'o> {
    #[inline]
    fn of(parts: Linked<'a, 'o>, section: &FinalSection) -> Self {
        Self::new(parts, parts.layout.chunks(parts.merged, section.id))
    }

    #[inline]
    pub(super) fn new(parts: Linked<'a, 'o>, chunks: Chunks<'o>) -> Self {
        let first = chunks.first().map_or(&[][..], |chunk| parts.cx.linked_bytes(chunk.from));
        Self { chunks, first }
    }
}

fn write_section(
    parts: Linked<'_, '_>,
    section: &FinalSection,
    sources: &Sources<'_, '_>,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    copy(parts, sources, 0, out);
    parts.layout.write_pieces(parts.cx, section.id, out);
    for patches in divide::patches(parts, section.id) {
        for patch in patches {
            apply(patch, 0, out)?;
        }
    }
    Ok(())
}

/// Zeroes `out` if it is not empty.
#[inline]
fn clear(gap: &mut [u8]) {
    if !gap.is_empty() {
        gap.fill(0);
    }
}

/// Copies input bytes to a section; `out` is the part of it that starts at `base`.
#[inline]
pub(super) fn copy(parts: Linked<'_, '_>, sources: &Sources<'_, '_>, base: u64, out: &mut [u8]) {
    match sources.chunks {
        // Most are copies of one input section.
        Chunks::One(_) if sources.first.len() == out.len() => out.copy_from_slice(sources.first),
        _ => copy_all(parts, sources, base, out),
    }
}

pub(super) fn copy_all(
    parts: Linked<'_, '_>,
    sources: &Sources<'_, '_>,
    base: u64,
    out: &mut [u8],
) {
    // All bytes before this offset are written.
    let mut written = 0;
    for (i, chunk) in sources.chunks.iter().enumerate() {
        let start = chunk.offset.saturating_sub(base) as usize;
        let data = if i == 0 { sources.first } else { parts.cx.linked_bytes(chunk.from) };
        if let Some(place) = out.get_mut(start..start + data.len()) {
            place.copy_from_slice(data);
            if let Some(gap) = out.get_mut(written..start) {
                clear(gap);
            }
            written = written.max(start + data.len());
        }
    }
    clear(&mut out[written..]);
}

/// Applies a relocation to a section; `out` is the part of it that starts at `base`.
/// [`address-bytes`, `constants`]
pub(super) fn apply(patch: &Patch, base: u64, out: &mut [u8]) -> Result<(), Diagnostic> {
    let bad = |what: &dyn std::fmt::Display| {
        Diagnostic::fatal(
            Code::BadRelocation,
            format_args!("relocation at {:#x}: {what}", patch.offset),
        )
    };
    let kind = reloc::cuda(patch.kind).ok_or_else(|| bad(&"unknown type"))?;
    let start = patch.offset.checked_sub(base).and_then(|at| usize::try_from(at).ok());
    let start = start.unwrap_or(usize::MAX);
    let place = out.get_mut(start..).unwrap_or_default();
    let write = if patch.adds { reloc::patch_adding } else { reloc::patch };
    write(kind.fields, place, patch.value, patch.bank.into()).map_err(|e| bad(&e))
}
