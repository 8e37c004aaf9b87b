//! Divides large sections that are copied from inputs, usually `.debug_frame` or the code of a large
//! kernel, into parts that are filled separately: the whole section does not fit a core's own cache.

use super::copy::{Sources, apply, copy, patches};
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::linked::Linked;
use crate::merge::{Chunk, Chunks, Content};
use crate::relocate::Patch;
use crate::write::FinalSection;
use cubin::reloc;
use std::ops::Range;

/// Where the parts of a section end, each at least `least` bytes long; empty if it has to be
/// written as a whole. Parts end between the contributions of two inputs, or between the patches of the only one, so no
/// patch crosses a boundary.
pub(super) fn ends(linked: Linked<'_, '_>, section: &FinalSection, least: u64) -> Vec<u64> {
    let Some(chunks) = plain_chunks(linked, section.id) else { return Vec::new() };
    if is_one_copy(linked, section, &chunks) {
        let lists: Vec<&[Patch]> = patches(linked, section.id).collect();
        return ends_between_patches(section.size, least, &lists);
    }
    let (mut ends, mut start, mut end) = (Vec::new(), 0, 0);
    for chunk in chunks.iter() {
        let cut = chunk.offset.min(section.size);
        if cut >= end && cut >= least.saturating_add(start) {
            ends.push(cut);
            start = cut;
        }
        let size = linked.cx.linked_bytes(chunk.from).len() as u64;
        end = end.max(chunk.offset.saturating_add(size));
    }
    ends.push(section.size);
    let mut lists = patches(linked, section.id);
    match ends.len() > 1 && lists.all(|patches| are_in_order(patches, &ends)) {
        true => ends,
        false => Vec::new(),
    }
}

/// Whether a section is nothing but a copy of one input section.
fn is_one_copy(linked: Linked<'_, '_>, section: &FinalSection, chunks: &[Chunk]) -> bool {
    matches!(chunks, [chunk] if chunk.offset == 0
        && linked.cx.linked_bytes(chunk.from).len() as u64 == section.size)
}

/// Where the parts of one copy end: anywhere outside of patches.
fn ends_between_patches(size: u64, least: u64, lists: &[&[Patch]]) -> Vec<u64> {
    let in_order = |list: &&[Patch]| list.is_sorted_by_key(|patch| patch.offset);
    let inside = |list: &&[Patch]| list.last().is_none_or(|patch| patch.offset < size);
    if !lists.iter().all(|list| in_order(list) && inside(list)) {
        return Vec::new();
    }
    let mut ends = Vec::new();
    let mut end = least;
    while end < size {
        if lists.iter().all(|list| !is_inside_patch(list, end)) {
            ends.push(end);
        }
        end = end.saturating_add(least);
    }
    if !ends.is_empty() {
        ends.push(size);
    }
    ends
}

/// Whether a patch, of a list in order, has bytes on both sides of an offset.
fn is_inside_patch(list: &[Patch], at: u64) -> bool {
    /// No patch is longer.
    const LONGEST: u64 = 16;
    let after = list.partition_point(|patch| patch.offset < at);
    let near = list[..after].iter().rev().take_while(|patch| at - patch.offset < LONGEST);
    let span = |patch: &Patch| reloc::cuda(patch.kind).map_or(0, |kind| kind.span() as u64);
    near.into_iter().any(|patch| patch.offset + span(patch) > at)
}

/// The chunks that a section is copied from, if they are laid out in order.
fn plain_chunks<'o>(linked: Linked<'_, 'o>, id: SectionId) -> Option<Chunks<'o>> {
    let layout = linked.layout;
    match linked.merged.section(id).content() {
        Content::Chunks(chunks)
            if !layout.chunks.contains_key(&id)
                && !layout.pieces.contains_key(&id)
                && chunks.is_sorted_by_key(|chunk| chunk.offset) =>
        {
            Some(chunks)
        }
        _ => None,
    }
}

/// Whether the patches of each part follow those of the previous part.
fn are_in_order(patches: &[Patch], ends: &[u64]) -> bool {
    let (mut start, mut left) = (0, ends);
    patches.iter().all(|patch| {
        while let [end, after @ ..] = left
            && patch.offset >= *end
        {
            (start, left) = (*end, after);
        }
        patch.offset >= start && !left.is_empty()
    })
}

/// Writes a part of a section that ends where [`ends`] says.
pub(super) fn write(
    linked: Linked<'_, '_>,
    section: &FinalSection,
    part: &Range<usize>,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    let (start, end) = (part.start as u64, part.end as u64);
    let chunks = plain_chunks(linked, section.id);
    let chunks = chunks.as_deref().unwrap_or_default();
    if is_one_copy(linked, section, chunks) {
        let bytes = chunks.first().map_or(&[][..], |chunk| linked.cx.linked_bytes(chunk.from));
        out.copy_from_slice(&bytes[part.clone()]);
        return apply_all(linked, section.id, start..end, out);
    }
    let before = |at: u64| chunks.partition_point(|chunk| chunk.offset < at);
    copy(
        linked,
        &Sources::new(linked, Chunks::Many(&chunks[before(start)..before(end)])),
        start,
        out,
    );
    apply_all(linked, section.id, start..end, out)
}

/// Applies the patches of a part.
fn apply_all(
    linked: Linked<'_, '_>,
    id: SectionId,
    part: Range<u64>,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    for patches in patches(linked, id) {
        let before = |at: u64| patches.partition_point(|patch| patch.offset < at);
        for patch in &patches[before(part.start)..before(part.end)] {
            apply(patch, part.start, out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::RelocKind;

    fn list(offsets: &[u64], kind: RelocKind) -> Vec<Patch> {
        let patch = |&offset| Patch { offset, kind, value: 0, bank: 0, adds: false };
        offsets.iter().map(patch).collect()
    }

    /// A copy is divided everywhere but in the middle of a patch, and not at all if its patches are
    /// not in order.
    #[test]
    fn a_copy_is_divided_between_patches() {
        let ends = |offsets: &[u64]| {
            let patches = list(offsets, RelocKind::CUDA_64);
            ends_between_patches(100, 32, &[&[], &patches])
        };
        assert_eq!(ends(&[]), [32, 64, 96, 100]);
        assert_eq!(ends(&[24, 32, 64, 88]), [32, 64, 96, 100]);
        assert_eq!(ends(&[25, 57, 89]), [0; 0]);
        assert_eq!(ends(&[31, 60]), [96, 100]);
        assert_eq!(ends(&[40, 20]), [0; 0]);
        assert_eq!(ends(&[100]), [0; 0]);
        assert_eq!(ends_between_patches(32, 32, &[]), [0; 0]);
    }

    /// Patches may have any order within a part, but not across parts.
    #[test]
    fn changes_follow_the_parts() {
        let list = |offsets: &[u64]| list(offsets, RelocKind::CUDA_NONE);
        let ends = [10, 20, 40];
        for offsets in [&[][..], &[9, 0, 5], &[30, 20], &[5, 1, 19, 10, 39]] {
            assert!(are_in_order(&list(offsets), &ends), "{offsets:?}");
        }
        for offsets in [&[10, 9][..], &[25, 19], &[40], &[5, 30, 11]] {
            assert!(!are_in_order(&list(offsets), &ends), "{offsets:?}");
        }
    }
}
