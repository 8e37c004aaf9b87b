//! The bytes that stand in the file for NOBITS sections.
//!
//! nvlink copies as many bytes as the section is long from its offset in the linked Mercury file
//! before finalization. That is the end of that file: padding, then the section headers, of which
//! the first is zero and the second describes `.shstrtab`.

use super::CapsuleFile;
use crate::compat;
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::merge::{Content, Synthetic};
use crate::write::contents::table;
use crate::write::{Bucket, ContentSource, FileCursor, bucket, extent};
use cubin::SectionType;
use cubin::encode::{HeaderTables, SectionHeader};
use cubin::raw::{Shdr64, Sym64};
use zerocopy::IntoBytes;

/// The bytes that stand for the section.
pub fn stray_bytes(
    file: &CapsuleFile<'_, '_>,
    id: SectionId,
    size: u64,
) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = file.zeros(size)?;
    let header = SectionHeader {
        name: 1,
        kind: SectionType::STRTAB,
        offset: FileCursor::default().end(),
        size: name_bytes(file),
        align: 1,
        ..SectionHeader::default()
    };
    let start = distance_to_headers(file, id) as usize + size_of::<Shdr64>();
    for (place, byte) in bytes.iter_mut().skip(start).zip(header.elf64().as_bytes()) {
        *place = *byte;
    }
    Ok(bytes)
}

/// Distance from the section to the section headers of that file.
fn distance_to_headers(file: &CapsuleFile<'_, '_>, id: SectionId) -> u64 {
    let mut cursor = FileCursor::default();
    let mut start = 0;
    for &section in &file.plan.machine {
        let (size, align) = mercury_extent(file, section);
        let is_nobits = file.linked.merged.section(section).is_nobits();
        let offset = cursor.place(if is_nobits { 0 } else { size }, align);
        if section == id {
            start = offset;
        }
    }
    HeaderTables::after(cursor.end(), 0, 0).section_headers.saturating_sub(start)
}

/// Size and alignment of a section in that file. Its tables lack what joining the halves adds,
/// `.nv.compat` lacks what the finalizer says, and its code is Mercury's (measured with 40 programs whose
/// names, code and data vary, and with paths of seven lengths in debug information).
fn mercury_extent(file: &CapsuleFile<'_, '_>, id: SectionId) -> (u64, u64) {
    const CODE_ALIGN: u64 = 16;
    let merged = file.linked.merged;
    let section = merged.section(id);
    let align = section.align();
    let made = table(file.linked, &file.plan.contents, id, ContentSource::of(section));
    let made = made.map(|table| table.size(&file.plan.numbering));
    match section.content() {
        Content::Synthetic(Synthetic::SectionNames) => (name_bytes(file), align),
        Content::Synthetic(Synthetic::SymbolNames) => (merged.strings.symbols_size() as u64, align),
        Content::Synthetic(Synthetic::Symbols) => {
            let count = file.plan.numbering.order.len() + 1;
            ((count * size_of::<Sym64>()) as u64, align)
        }
        Content::Synthetic(Synthetic::Compat) => {
            let cx = file.linked.cx;
            (compat::merge(cx.objects, cx.config.arch, cx.dialect).len() as u64, align)
        }
        Content::Synthetic(Synthetic::SymbolSections) => extent(file.linked, id),
        _ if bucket(section) == Bucket::Code => (code_size(file, id), CODE_ALIGN),
        _ => made.map_or_else(|| extent(file.linked, id), |size| (size, align)),
    }
}

/// Size of that file's `.shstrtab`.
fn name_bytes(file: &CapsuleFile<'_, '_>) -> u64 {
    file.linked.merged.strings.sections().len() as u64
}

/// Size of a function's decoded Mercury stream.
fn code_size(file: &CapsuleFile<'_, '_>, text: SectionId) -> u64 {
    let function = file.linked.text_function(text);
    let definition = function.and_then(|f| file.linked.cx.resolution.get(f).definition);
    definition.and_then(|at| file.linked.cx.input_symbol(at)).map_or(0, |s| s.size)
}
