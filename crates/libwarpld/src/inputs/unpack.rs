//! Unpacks the images of many sources in parallel, into buffers whose pages are faulted in
//! together: single page faults would take as long as unpacking.

use super::best_image::{Choice, choose};
use super::memory::{Block, STEP, Store};
use super::scan::{Body, Source};
use crate::dialect::Release;
use cubin::Arch;
use fatbin::Entry;
use rayon::prelude::*;
use std::ops::Range;

/// Alignment of images in a buffer.
const ALIGN: usize = 64;

/// A packed image and its size.
type Packed<'f> = (Entry<'f>, usize);

/// Unpacks the images of packed sources into buffers in `store`, which outlives the selection, and
/// returns them in source order. It skips unusual sources, and does nothing if there are too few
/// images; the caller unpacks these one by one.
pub(super) fn unpack<'f>(
    store: &'f Store,
    sources: &[Option<&Source<'f>>],
    arch: Arch,
    release: &'static Release,
) -> Vec<Option<&'f [u8]>> {
    if !sources.iter().flatten().any(|source| matches!(source.body, Body::Fatbins(_))) {
        return Vec::new();
    }
    let entry = |source: &Option<&Source<'f>>| packed((*source)?, arch, release);
    let entries: Vec<Option<Packed<'f>>> = sources.par_iter().map(entry).collect();
    let groups = groups(&entries);
    if groups.len() < 2 {
        return Vec::new();
    }
    let filled = groups.par_iter().map(|group| Buffer::fill(store, &entries[group.clone()]));
    let filled: Vec<Option<Buffer>> = filled.collect();
    let (mut buffers, mut places) = (Vec::with_capacity(groups.len()), Vec::new());
    for (group, buffer) in groups.iter().zip(filled) {
        let number = buffers.len();
        let (memory, images) = buffer.map_or((None, Vec::new()), |b| (Some(b.memory), b.images));
        buffers.extend(memory);
        places.extend(images.into_iter().map(|image| Some((number, image?))));
        places.resize(group.end, None);
    }
    let kept = store.keep(buffers);
    let image = |place: Option<(usize, Range<usize>)>| {
        let (buffer, place) = place?;
        kept?.get(buffer)?.bytes().get(place)
    };
    places.into_iter().map(image).collect()
}

/// The packed image to be chosen from a source's only container, and its size.
fn packed<'f>(source: &Source<'f>, arch: Arch, release: &Release) -> Option<Packed<'f>> {
    let Body::Fatbins(containers) = &source.body else { return None };
    let [container] = &containers[..] else { return None };
    let entries = container.flat_entries().ok()?;
    let (Choice::MachineCode(code) | Choice::MachineCodeOverPtx { code, .. }) =
        choose(&entries, arch, release)
    else {
        return None;
    };
    Some((*code, usize::try_from(code.ordinary_size()?).ok()?))
}

/// The number of bytes that an image takes in a buffer.
fn aligned_size(entry: &Option<Packed<'_>>) -> usize {
    entry.as_ref().map_or(0, |(_, size)| size.next_multiple_of(ALIGN))
}

/// Groups of consecutive entries that share a buffer.
fn groups(entries: &[Option<Packed<'_>>]) -> Vec<Range<usize>> {
    let (mut groups, mut start, mut size) = (Vec::new(), 0, 0_usize);
    for (number, entry) in entries.iter().enumerate() {
        size = size.saturating_add(aligned_size(entry));
        if size >= STEP || number + 1 == entries.len() {
            groups.push(start..number + 1);
            (start, size) = (number + 1, 0);
        }
    }
    groups
}

/// A buffer with several images.
struct Buffer {
    memory: Box<dyn Block>,
    /// Their ranges in the buffer.
    images: Vec<Option<Range<usize>>>,
}

impl Buffer {
    /// If one image fails, the buffer is dropped: each image is then unpacked separately, which
    /// reports the error.
    fn fill(store: &Store, entries: &[Option<Packed<'_>>]) -> Option<Self> {
        let size = entries.iter().map(aligned_size).fold(0, usize::saturating_add);
        let mut memory = store.allocate(size.max(1))?;
        let (mut images, mut end) = (Vec::with_capacity(entries.len()), 0);
        for entry in entries {
            let start = end;
            end += aligned_size(entry);
            let Some((entry, size)) = entry else {
                images.push(None);
                continue;
            };
            // Pages that are unlikely to be filled are faulted in on access.
            let likely = entry.stored().len().saturating_mul(LIKELY_RATIO).min(MAX_PREPARED);
            memory.prepare(start, likely.min(*size));
            let place = start..start + size;
            entry.unpack_into(memory.bytes_mut().get_mut(place.clone())?).ok()?;
            images.push(Some(place));
        }
        Some(Self { memory, images })
    }
}

/// Device code rarely has a higher compression ratio.
const LIKELY_RATIO: usize = 64;

/// Limit for the pages of an image that are faulted in before it is unpacked.
const MAX_PREPARED: usize = 64 << 20;
