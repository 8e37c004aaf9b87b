//! Divides large sections that are copied from inputs, usually `.debug_frame`, into parts that are
//! filled separately: the whole section does not fit a core's own cache.

use super::copy::{Sources, apply, copy, patches};
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::linked::Linked;
use crate::merge::{Chunks, Content};
use crate::relocate::Patch;
use crate::write::FinalSection;
use std::ops::Range;

/// Where the parts of a section end, each at least `least` bytes long; empty if it has to be
/// written as a whole. Parts end between the contributions of two inputs, so no copy and no patch
/// crosses a boundary.
pub(super) fn ends(linked: Linked<'_, '_>, section: &FinalSection, least: u64) -> Vec<u64> {
    let Some(chunks) = plain_chunks(linked, section.id) else { return Vec::new() };
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
    let before = |at: u64| chunks.partition_point(|chunk| chunk.offset < at);
    copy(
        linked,
        &Sources::new(linked, Chunks::Many(&chunks[before(start)..before(end)])),
        start,
        out,
    );
    for patches in patches(linked, section.id) {
        let before = |at: u64| patches.partition_point(|patch| patch.offset < at);
        for patch in &patches[before(start)..before(end)] {
            apply(patch, start, out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::RelocKind;

    /// Patches may have any order within a part, but not across parts.
    #[test]
    fn changes_follow_the_parts() {
        let list = |offsets: &[u64]| -> Vec<Patch> {
            let patch = |&offset| Patch {
                offset,
                kind: RelocKind::CUDA_NONE,
                value: 0,
                bank: 0,
                adds: false,
            };
            offsets.iter().map(patch).collect()
        };
        let ends = [10, 20, 40];
        for offsets in [&[][..], &[9, 0, 5], &[30, 20], &[5, 1, 19, 10, 39]] {
            assert!(are_in_order(&list(offsets), &ends), "{offsets:?}");
        }
        for offsets in [&[10, 9][..], &[25, 19], &[40], &[5, 30, 11]] {
            assert!(!are_in_order(&list(offsets), &ends), "{offsets:?}");
        }
    }
}
