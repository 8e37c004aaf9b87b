//! Unpacks the images of many sources in parallel, into buffers whose pages are faulted in
//! together: single page faults would take as long as unpacking.

use super::best_image::{Choice, choose, choose_lto_ir};
use super::check;
use super::memory::{Block, STEP, Store};
use super::scan::{Body, Source};
use super::source_images::How;
use fatbin::Entry;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Alignment of images in a buffer.
const ALIGN: usize = 64;

/// A packed image and its size.
type Packed<'f> = (Entry<'f>, usize);

/// The first source that ends the selection with a fatal message. Those after it have no influence
/// on anything, so they are neither unpacked nor compiled.
pub(super) struct End(AtomicUsize);

impl End {
    pub(super) fn unknown() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }

    /// The selection gets no further than source `number`.
    pub(super) fn reach(&self, number: usize) {
        self.0.fetch_min(number, Ordering::Relaxed);
    }

    /// Whether the selection ends before source `number`.
    pub(super) fn is_before(&self, number: usize) -> bool {
        self.number() < number
    }

    /// The last source that counts, as far as it is known.
    pub(super) fn number(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The images that were unpacked together, in source order, with the stored bytes of each. A
/// selection may be made twice, for want of a release that only the images tell, but they are
/// unpacked once.
#[derive(Default)]
pub(super) struct Unpacked<'f>(Option<Vec<Option<Unpack<'f>>>>);

/// A packed image and what came out of it.
#[derive(Clone, Copy)]
struct Unpack<'f> {
    stored: &'f [u8],
    image: &'f [u8],
}

impl<'f> Unpacked<'f> {
    /// The image of an entry of source `number`, if it was unpacked.
    pub(super) fn image(&self, number: usize, entry: &Entry<'f>) -> Option<&'f [u8]> {
        let unpacked = self.0.as_ref()?.get(number)?.as_ref()?;
        std::ptr::eq(unpacked.stored, entry.stored()).then_some(unpacked.image)
    }

    /// Unpacks the images of packed sources into buffers in `store`, which outlives the selection.
    /// It skips unusual sources, and does nothing if there are too few images; the caller unpacks
    /// these one by one. It stops at the first image that the link refuses.
    pub(super) fn fill(
        &mut self,
        store: &'f Store,
        sources: &[Option<&Source<'f>>],
        how: How<'_>,
        end: &End,
    ) {
        let is_packed = |source: &&Source<'f>| matches!(source.body, Body::Fatbins(_));
        if self.0.is_some() || !sources.iter().flatten().any(is_packed) {
            return;
        }
        let entry = |(number, source): (usize, &Option<&Source<'f>>)| {
            let source = (*source)?;
            if let Body::Cubin(image) = source.body
                && is_refused(image, how)
            {
                end.reach(number);
            }
            packed(source, how)
        };
        let entries: Vec<Option<Packed<'f>>> = sources.par_iter().enumerate().map(entry).collect();
        let groups = groups(&entries);
        if groups.len() < 2 {
            return;
        }
        let work = Work { entries: &entries, how, end };
        // Each by itself: a thread that has nothing left takes over single groups, not a quarter of all.
        let each = groups.par_iter().with_max_len(1);
        let filled = each.map(|group| Buffer::fill(store, group.clone(), work));
        let filled: Vec<Option<Buffer>> = filled.collect();
        let (mut buffers, mut places) = (Vec::with_capacity(groups.len()), Vec::new());
        for (group, buffer) in groups.iter().zip(filled) {
            let number = buffers.len();
            let (memory, images) =
                buffer.map_or((None, Vec::new()), |b| (Some(b.memory), b.images));
            buffers.extend(memory);
            places.extend(images.into_iter().map(|image| Some((number, image?))));
            places.resize(group.end, None);
        }
        let kept = store.keep(buffers);
        let image = |(place, entry): (Option<(usize, Range<usize>)>, &Option<Packed<'f>>)| {
            let (buffer, place) = place?;
            let (stored, _) = entry.as_ref()?;
            Some(Unpack { stored: stored.stored(), image: kept?.get(buffer)?.bytes().get(place)? })
        };
        self.0 = Some(places.into_iter().zip(&entries).map(image).collect());
    }
}

/// Whether an image ends the selection. Most are found fit at a glance.
fn is_refused(image: &[u8], how: How<'_>) -> bool {
    let target = how.options.arch;
    check::is_plainly_fit(image, target, how.limits).is_none()
        && check::check("", image, target, how.limits).is_err()
}

/// The packed image to be chosen from a source's only container, and its size.
fn packed<'f>(source: &Source<'f>, how: How<'_>) -> Option<Packed<'f>> {
    let Body::Fatbins(containers) = &source.body else { return None };
    let [container] = &containers[..] else { return None };
    let (entries, options) = (container.flat_entries().ok()?, how.options);
    if options.lto.is_some() && choose_lto_ir(&entries, options.arch).is_some() {
        return None;
    }
    let code = match choose(&entries, options.arch, how.limits.release) {
        Choice::MachineCode(code) => code,
        Choice::MachineCodeOverPtx { code, .. }
            if !how.compiler.is_some_and(|compiler| compiler.compiles_ptx()) =>
        {
            code
        }
        _ => return None,
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

/// What is to be unpacked.
#[derive(Clone, Copy)]
struct Work<'w, 'f> {
    entries: &'w [Option<Packed<'f>>],
    how: How<'w>,
    end: &'w End,
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
    fn fill(store: &Store, group: Range<usize>, work: Work<'_, '_>) -> Option<Self> {
        let entries = work.entries.get(group.clone())?;
        let counted = group.clone().zip(entries).filter(|&(n, _)| !work.end.is_before(n));
        let size = counted.map(|(_, entry)| aligned_size(entry)).fold(0, usize::saturating_add);
        if size == 0 {
            return None;
        }
        let mut memory = store.allocate(size)?;
        let (mut images, mut end) = (Vec::with_capacity(entries.len()), 0);
        for (number, entry) in group.zip(entries) {
            let entry = entry.filter(|_| !work.end.is_before(number));
            let start = end;
            end += aligned_size(&entry);
            let Some((entry, size)) = entry else {
                images.push(None);
                continue;
            };
            // Pages that are unlikely to be filled are faulted in on access.
            let likely = entry.stored().len().saturating_mul(LIKELY_RATIO).min(MAX_PREPARED);
            memory.prepare(start, likely.min(size));
            let place = start..start + size;
            let image = memory.bytes_mut().get_mut(place.clone())?;
            entry.unpack_into(image).ok()?;
            if is_refused(image, work.how) {
                work.end.reach(number);
            }
            images.push(Some(place));
        }
        Some(Self { memory, images })
    }
}

/// Device code rarely has a higher compression ratio.
const LIKELY_RATIO: usize = 64;

/// Limit for the pages of an image that are faulted in before it is unpacked.
const MAX_PREPARED: usize = 64 << 20;
