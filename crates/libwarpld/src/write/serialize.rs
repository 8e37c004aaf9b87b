//! The planned file as bytes: pieces that follow each other, each filled and
//! patched on its own while its bytes are hot, by as many threads as there are.

pub use super::blocks::{
    Destination, Extent, Piece, Pieces, ROOM, Tail, cut, even_ends, too_large, whole,
};
use super::blocks::{GROUP, PIECE};
use super::divide;

use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::linked::Linked;
use crate::merge::Chunks;
use crate::relocate::Patch;
use crate::write::contents::table;
use crate::write::{self, ContentSource, FinalSection, Plan};
use cubin::raw::{Ehdr64, Shdr64};
use cubin::{EM_CUDA, FileType, reloc};
use rayon::prelude::*;
use std::ops::Range;
use zerocopy::IntoBytes;

/// Writes the planned file.
pub fn serialize(
    parts: Linked<'_, '_>,
    plan: &Plan<'_>,
    destination: &mut dyn Destination,
) -> Result<(), Diagnostic> {
    check_size(parts, plan.size)?;
    let (section_headers, count) = (plan.section_headers, plan.section_count() + 1);
    let tail = Tail { section_headers, count, size: plan.size };
    let extents = plan.extents(GROUP).map(|(sections, range)| Extent { sections, range });
    let ends = |i: usize| match plan.section(i) {
        Some(section) if section.made == ContentSource::Copied => {
            divide::ends(parts, &section, PIECE)
        }
        Some(table) => even_ends(table.size),
        None => Vec::new(),
    };
    let (kinds, ranges) = cut(extents, ends, &tail);
    let fill = |piece: usize, out: &mut [u8]| match &kinds[piece] {
        Piece::Sections(sections) => {
            let start = ranges[piece].start;
            if start == 0 {
                header(parts, plan, out);
            }
            write_sections(parts, plan, sections.clone(), start, out)
        }
        Piece::Part(section, part) => {
            let Some(section) = plan.section(*section) else { return Ok(()) };
            match table(parts, &plan.contents, section.id, section.made) {
                Some(table) => table.write(parts, plan, part.clone(), out),
                None => divide::write(parts, &section, part, out)?,
            }
            Ok(())
        }
        Piece::Headers(sections) => {
            write_headers(parts, plan, sections.clone(), out);
            Ok(())
        }
        Piece::Segments => {
            out.copy_from_slice(plan.segments.as_bytes());
            Ok(())
        }
    };
    destination.take(&Pieces::new(&ranges, &fill))
}

/// Refuses an output out of all proportion to its inputs, which only damaged
/// ones ask for: a section with bytes here that has none, but any size, there.
/// Each kernel has a copy of the constants (64 KiB at most) of what it calls.
pub fn check_proportion(parts: Linked<'_, '_>) -> Result<(), Diagnostic> {
    let sections = (0..parts.merged.sections.len() as u32).into_par_iter().map(SectionId);
    let with_bytes = sections.filter(|&id| !parts.merged.section(id).is_nobits());
    let sizes = with_bytes.map(|id| {
        let (size, align) = write::extent(parts, id);
        size.saturating_add(align)
    });
    check_size(parts, sizes.reduce(|| 0, u64::saturating_add))
}

/// Refuses an output that is larger than any in proportion to the inputs.
fn check_size(parts: Linked<'_, '_>, size: u64) -> Result<(), Diagnostic> {
    // Most are small, for which the inputs need not be looked at.
    if size > ALWAYS && size > most_bytes(parts) { Err(too_large(size)) } else { Ok(()) }
}

/// Outputs up to this size are in proportion to any inputs. (A self-check takes as much
/// once more.)
const ALWAYS: u64 = 32 << 20;

/// The largest output that is in proportion to the inputs.
pub fn most_bytes(parts: Linked<'_, '_>) -> u64 {
    const MOST: u64 = 128;
    let inputs = parts.cx.objects.iter().map(|o| o.cubin.bytes().len() as u64);
    inputs.sum::<u64>().saturating_mul(MOST).saturating_add(ALWAYS)
}

fn header(parts: Linked<'_, '_>, plan: &Plan<'_>, file: &mut [u8]) {
    let mut ident = [0; 16];
    ident[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x41\x08");
    let relocatable = parts.cx.config.relocatable;
    let file_type = if relocatable { FileType::REL } else { FileType::EXEC };
    let sections = plan.section_count() + 1;
    let headers_end = plan.section_headers + (sections * size_of::<Shdr64>()) as u64;
    let header = Ehdr64 {
        e_ident: ident,
        e_type: file_type.0.into(),
        e_machine: EM_CUDA.into(),
        e_version: 1.into(),
        e_entry: 0.into(),
        e_phoff: if relocatable { 0 } else { headers_end }.into(),
        e_shoff: plan.section_headers.into(),
        e_flags: plan.flags.into(),
        e_ehsize: 64.into(),
        e_phentsize: 56.into(),
        e_phnum: (plan.segments.len() as u16).into(),
        e_shentsize: 64.into(),
        // A count that does not fit is in the null section's header.
        e_shnum: if has_direct_count(sections) { sections as u16 } else { 0 }.into(),
        e_shstrndx: 1.into(),
    };
    file[..size_of::<Ehdr64>()].copy_from_slice(header.as_bytes());
}

fn write_sections(
    parts: Linked<'_, '_>,
    plan: &Plan<'_>,
    sections: Range<usize>,
    start: u64,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    let mut written = if start == 0 { size_of::<Ehdr64>() } else { 0 };
    let mut sections = plan.sections(sections);
    let (mut some, mut sources) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
    while sections.advance(TOGETHER, &mut some) {
        let with_bytes = || some.iter().filter(|section| section.has_bytes);
        let copied = with_bytes().filter(|section| section.made == ContentSource::Copied);
        sources.clear();
        sources.extend(copied.map(|section| Sources::of(parts, section)));
        let mut sources = sources.iter();
        for section in with_bytes() {
            let at = (section.offset - start) as usize;
            clear(&mut out[written..at]);
            written = at + section.size as usize;
            let place = &mut out[at..written];
            match table(parts, &plan.contents, section.id, section.made) {
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

/// Of how many sections it is looked up where their bytes are, before the first is written.
/// That takes a chain of steps for each, in memory that is cold: the processor follows several
/// at once, if it need not copy bytes in between.
const TOGETHER: usize = 16;

/// What a section is copied from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a, 'o> {
    chunks: Chunks<'o>,
    /// The bytes of the first, as a rule the only one.
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

/// Writes zeros where there is room for any.
#[inline]
fn clear(gap: &mut [u8]) {
    if !gap.is_empty() {
        gap.fill(0);
    }
}

/// Copies inputs' bytes to a section, of which `out` is the part from `base` on.
#[inline]
pub(super) fn copy(parts: Linked<'_, '_>, sources: &Sources<'_, '_>, base: u64, out: &mut [u8]) {
    match sources.chunks {
        // Most are copies of one section of an input.
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
    // Up to here all bytes are written.
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

/// Applies a relocation to a section, of which `out` is the part from `base` on.
pub(super) fn apply(patch: &Patch, base: u64, out: &mut [u8]) -> Result<(), Diagnostic> {
    let bad = |what: &dyn std::fmt::Display| {
        Diagnostic::fatal(
            "bad-relocation",
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

/// Whether `e_shnum` can hold the number of sections.
fn has_direct_count(sections: usize) -> bool {
    sections < cubin::consts::shn::LORESERVE as usize
}

fn write_headers(parts: Linked<'_, '_>, plan: &Plan<'_>, headers: Range<usize>, out: &mut [u8]) {
    let count = plan.section_count() + 1;
    let size = if has_direct_count(count) { 0 } else { count as u64 };
    let null = Shdr64 { sh_size: size.into(), ..Shdr64::default() };
    let mut out = out.chunks_exact_mut(size_of::<Shdr64>());
    let mut write = |header: Shdr64| {
        if let Some(out) = out.next() {
            out.copy_from_slice(header.as_bytes());
        }
    };
    if headers.start == 0 {
        write(null);
    }
    let sections = headers.start.saturating_sub(1)..headers.end - 1;
    write::headers(parts, plan, sections, write);
}
