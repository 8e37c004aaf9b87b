//! Copies the bytes of inputs, and applies relocations to them.

use super::FinalSection;
use crate::diag::{Code, Diagnostic};
use crate::ids::SectionId;
use crate::linked::Linked;
use crate::merge::Chunks;
use crate::relocate::Patch;
use cubin::reloc;

/// The inputs that a section is copied from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a, 'o> {
    chunks: Chunks<'o>,
    /// The bytes of the first one, which is usually the only one.
    first: &'a [u8],
}

impl<'a, 'o> Sources<'a, 'o> {
    #[inline]
    pub(super) fn of(linked: Linked<'a, 'o>, section: &FinalSection) -> Self {
        Self::new(linked, linked.layout.chunks(linked.merged, section.id))
    }

    #[inline]
    pub(super) fn new(linked: Linked<'a, 'o>, chunks: Chunks<'o>) -> Self {
        let first = chunks.first().map_or(&[][..], |chunk| linked.cx.linked_bytes(chunk.from));
        Self { chunks, first }
    }
}

/// The patches of a section, in at most two lists.
pub(super) fn patches<'o>(
    linked: Linked<'_, 'o>,
    id: SectionId,
) -> impl Iterator<Item = &'o [Patch]> {
    let section = linked.merged.section(id);
    let relocs = [section.rel(), section.rela()].into_iter().flatten();
    relocs.map(move |relocs| linked.relocated.patches(relocs))
}

/// Zeroes a gap if it is not empty.
#[inline]
pub(super) fn clear(gap: &mut [u8]) {
    if !gap.is_empty() {
        gap.fill(0);
    }
}

/// Copies input bytes to a section; `out` is the part of it that starts at `base`.
#[inline]
pub(super) fn copy(linked: Linked<'_, '_>, sources: &Sources<'_, '_>, base: u64, out: &mut [u8]) {
    match sources.chunks {
        // Most are copies of one input section.
        Chunks::One(_) if sources.first.len() == out.len() => out.copy_from_slice(sources.first),
        _ => copy_all(linked, sources, base, out),
    }
}

fn copy_all(linked: Linked<'_, '_>, sources: &Sources<'_, '_>, base: u64, out: &mut [u8]) {
    // All bytes before this offset are written.
    let mut written = 0;
    for (i, chunk) in sources.chunks.iter().enumerate() {
        let start = chunk.offset.saturating_sub(base) as usize;
        let data = if i == 0 { sources.first } else { linked.cx.linked_bytes(chunk.from) };
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
