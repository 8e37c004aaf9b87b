//! What stands in the file for memory that has no bits.
//!
//! nvlink copies as many bytes as the section has from where it would lie in
//! the linked Mercury file. That is its end: alignment, the section headers,
//! of which the first is zero and the second describes `.shstrtab`.

use super::Both;
use super::data::zeros;
use crate::diag::Diagnostic;
use crate::finalize::{bucket, extent};
use crate::merge::{SectionId, align_up};
use cubin::SectionType;
use cubin::raw::{Ehdr64, Shdr64};
use zerocopy::IntoBytes;

/// The bytes that stand for the section.
pub fn stray_bytes(both: &Both<'_, '_>, id: SectionId, size: u64) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = zeros(both.parts, size)?;
    let names = both.parts.merged.section_names.bytes().len() as u64 + 1;
    let header = Shdr64 {
        sh_name: 1.into(),
        sh_type: SectionType::STRTAB.0.into(),
        sh_offset: (size_of::<Ehdr64>() as u64).into(),
        sh_size: names.into(),
        sh_addralign: 1.into(),
        ..Shdr64::default()
    };
    let start = distance_to_headers(both, id) as usize + size_of::<Shdr64>();
    for (place, byte) in bytes.iter_mut().skip(start).zip(header.as_bytes()) {
        *place = *byte;
    }
    Ok(bytes)
}

/// From the section to the section headers, in a file that ends with the
/// sections without bits; code starts at multiples of its alignment.
fn distance_to_headers(both: &Both<'_, '_>, id: SectionId) -> u64 {
    let parts = both.parts;
    let mut position = 0;
    let mut start = 0;
    for &section in &both.shape.machine {
        let (size, align) = extent(parts, section);
        match bucket(parts.merged, section) {
            5 => position = code_size(both, section),
            6 => position = align_up(position, align).saturating_add(size),
            7 => position = align_up(position, align),
            _ => {}
        }
        if section == id {
            start = position;
        }
    }
    align_up(position, 8).saturating_sub(start)
}

/// Size of the decoded Mercury stream of a function.
fn code_size(both: &Both<'_, '_>, text: SectionId) -> u64 {
    let function = super::shape::text_function(both.parts, text);
    let definition = function.and_then(|f| both.parts.cx.resolution.get(f).definition);
    definition.and_then(|at| both.parts.cx.input_symbol(at)).map_or(0, |s| s.size)
}
