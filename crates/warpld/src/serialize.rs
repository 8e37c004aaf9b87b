//! The planned file as bytes. Sections are written in parallel into disjoint
//! parts of one buffer, and patched while their bytes are hot.

use crate::diag::Diagnostic;
use crate::finalize::{self, FinalSection, Parts, Plan};
use crate::merge::{Content, SectionId};
use crate::relocate::Patch;
use cubin::raw::{Ehdr64, Shdr64};
use cubin::{EM_CUDA, FileType, SectionType, reloc};
use rayon::prelude::*;
use zerocopy::IntoBytes;

/// Writes the file into a buffer of exactly the planned size.
pub fn serialize(parts: Parts<'_, '_>, plan: &Plan) -> Result<Vec<u8>, Diagnostic> {
    if plan.size > most_bytes(parts) {
        return Err(too_large(plan.size));
    }
    let size = usize::try_from(plan.size).map_err(|_| too_large(plan.size))?;
    let mut file = Vec::new();
    file.try_reserve_exact(size).map_err(|_| too_large(plan.size))?;
    file.resize(size, 0);
    header(parts, plan, &mut file);
    write_sections(parts, plan, &mut file)?;
    tables(plan, &mut file);
    Ok(file)
}

/// Refuses an output out of all proportion to its inputs, which only damaged
/// ones ask for: a section with bytes here that has none, but any size, there.
/// Each kernel has a copy of the constants (64 KiB at most) of what it calls.
pub fn check_proportion(parts: Parts<'_, '_>) -> Result<(), Diagnostic> {
    let sections = (0..parts.merged.sections.len() as u32).map(SectionId);
    let with_bytes = sections.filter(|&id| !parts.merged.section(id).is_nobits());
    let size = with_bytes.fold(0_u64, |sum, id| {
        let (size, align) = finalize::extent(parts, id);
        sum.saturating_add(size).saturating_add(align)
    });
    if size > most_bytes(parts) { Err(too_large(size)) } else { Ok(()) }
}

/// The largest output that is in proportion to the inputs.
pub fn most_bytes(parts: Parts<'_, '_>) -> u64 {
    const ALWAYS: u64 = 64 << 20;
    const MOST: u64 = 128;
    let inputs = parts.cx.objects.iter().map(|o| o.cubin.bytes().len() as u64);
    inputs.sum::<u64>().saturating_mul(MOST).saturating_add(ALWAYS)
}

fn too_large(size: u64) -> Diagnostic {
    Diagnostic::fatal(
        "out-of-memory",
        format_args!("Output of {size} bytes does not fit in memory"),
    )
}

fn header(parts: Parts<'_, '_>, plan: &Plan, file: &mut [u8]) {
    let mut ident = [0; 16];
    ident[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x41\x08");
    let relocatable = parts.cx.config.relocatable;
    let file_type = if relocatable { FileType::REL } else { FileType::EXEC };
    let sections = plan.sections.len() + 1;
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

fn write_sections(parts: Parts<'_, '_>, plan: &Plan, file: &mut [u8]) -> Result<(), Diagnostic> {
    let mut slices: Vec<(&FinalSection, &mut [u8])> = Vec::with_capacity(plan.sections.len());
    let mut rest = file;
    let mut position = 0;
    for section in &plan.sections {
        let header = &section.header;
        if SectionType(header.sh_type.get()).is_nobits() {
            continue;
        }
        let start = (header.sh_offset.get() - position) as usize;
        let end = start + header.sh_size.get() as usize;
        let (used, after) = rest.split_at_mut(end);
        slices.push((section, &mut used[start..]));
        rest = after;
        position += end as u64;
    }
    slices.into_par_iter().try_for_each(|(section, slice)| write_section(parts, section, slice))
}

fn write_section(
    parts: Parts<'_, '_>,
    section: &FinalSection,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    if let Some(bytes) = &section.bytes {
        out.copy_from_slice(bytes);
        return Ok(());
    }
    for chunk in parts.layout.chunks(parts.merged, section.id) {
        let object = &parts.cx.objects[chunk.from.object.0 as usize];
        let Some(input) = object.cubin.section(chunk.from.section) else { continue };
        let start = chunk.offset as usize;
        if let Some(place) = out.get_mut(start..start + input.data.len()) {
            place.copy_from_slice(input.data);
        }
    }
    let merged = parts.merged.section(section.id);
    debug_assert!(matches!(merged.content, Content::Chunks(_)));
    for relocs in [merged.rel, merged.rela].into_iter().flatten() {
        for patch in &parts.relocated.sections[relocs.0 as usize].patches {
            apply(patch, out)?;
        }
    }
    Ok(())
}

fn apply(patch: &Patch, out: &mut [u8]) -> Result<(), Diagnostic> {
    let bad = |what: &dyn std::fmt::Display| {
        Diagnostic::fatal(
            "bad-relocation",
            format_args!("relocation at {:#x}: {what}", patch.offset),
        )
    };
    let kind = reloc::cuda(patch.kind).ok_or_else(|| bad(&"unknown type"))?;
    let start = usize::try_from(patch.offset).unwrap_or(usize::MAX);
    let place = out.get_mut(start..).unwrap_or_default();
    reloc::patch(kind.fields, place, patch.value, patch.bank.into()).map_err(|e| bad(&e))
}

/// Whether `e_shnum` can hold the number of sections.
fn has_direct_count(sections: usize) -> bool {
    sections < cubin::consts::shn::LORESERVE as usize
}

fn tables(plan: &Plan, file: &mut [u8]) {
    let mut position = plan.section_headers as usize;
    let mut put = |bytes: &[u8]| {
        file[position..position + bytes.len()].copy_from_slice(bytes);
        position += bytes.len();
    };
    let count = plan.sections.len() + 1;
    let size = if has_direct_count(count) { 0 } else { count as u64 };
    put(Shdr64 { sh_size: size.into(), ..Shdr64::default() }.as_bytes());
    for section in &plan.sections {
        put(section.header.as_bytes());
    }
    for segment in &plan.segments {
        put(segment.as_bytes());
    }
}
