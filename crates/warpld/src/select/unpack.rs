//! Unpacking the images of many sources side by side, in huge pages: fresh pages of the
//! usual size cost as much as unpacking what goes there.

use super::choose::{Choice, choose};
use crate::load::small_files::{HUGE_PAGE, ask_for_huge_pages};
use crate::load::{Body, Source};
use cubin::Arch;
use fatbin::Entry;
use memmap2::MmapMut;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::OnceLock;

/// Images begin at multiples of this.
const ALIGN: usize = 64;

/// A packed image and its size.
type Packed<'f> = (Entry<'f>, usize);

/// Unpacks the images of packed sources into `store`, which outlives the selection, and tells
/// where they are, in the order of the sources. There is none where it is not worth while or
/// something is out of the ordinary; such images have to be unpacked one by one.
pub(super) fn unpack<'f>(
    store: &'f OnceLock<MmapMut>,
    sources: &[Option<&Source<'f>>],
    arch: Arch,
) -> Vec<Option<&'f [u8]>> {
    if !sources.iter().flatten().any(|source| matches!(source.body, Body::Fatbins(_))) {
        return Vec::new();
    }
    let entry = |source: &Option<&Source<'f>>| packed((*source)?, arch);
    let entries: Vec<Option<Packed<'f>>> = sources.par_iter().map(entry).collect();
    let places = places(&entries);
    let total = places.last().map_or(0, |place| place.end);
    let Some(mut memory) = (total >= HUGE_PAGE).then(|| reserve(total)).flatten() else {
        return Vec::new();
    };
    let mut rest = &mut memory[..];
    let mut jobs = Vec::with_capacity(entries.len());
    for (entry, place) in entries.iter().zip(&places) {
        let (room, after) = rest.split_at_mut(place.len());
        jobs.push((entry, room));
        rest = after;
    }
    // What fails is tried again by itself, and complained about.
    let fill = |(entry, room): (&Option<Packed<'f>>, &mut [u8])| {
        let (entry, size) = entry.as_ref()?;
        entry.unpack_into(room.get_mut(..*size)?).ok().map(|()| *size)
    };
    let sizes: Vec<Option<usize>> = jobs.into_par_iter().map(fill).collect();
    let kept = store.set(memory).ok().and_then(|()| store.get());
    let image = |(size, place): (Option<usize>, Range<usize>)| kept?.get(place)?.get(..size?);
    sizes.into_iter().zip(places).map(image).collect()
}

/// The packed image that will be chosen of a source's only container, and its size.
fn packed<'f>(source: &Source<'f>, arch: Arch) -> Option<Packed<'f>> {
    let Body::Fatbins(containers) = &source.body else { return None };
    let [container] = &containers[..] else { return None };
    let entries = container.flat_entries().ok()?;
    let (Choice::MachineCode(code) | Choice::MachineCodeOverPtx { code, .. }) =
        choose(&entries, arch)
    else {
        return None;
    };
    Some((*code, usize::try_from(code.ordinary_size()?).ok()?))
}

/// Where the images go, one after the other.
fn places(entries: &[Option<Packed<'_>>]) -> Vec<Range<usize>> {
    let mut end: usize = 0;
    let place = |entry: &Option<Packed<'_>>| {
        let start = end;
        let size = entry.as_ref().map_or(0, |(_, size)| size.next_multiple_of(ALIGN));
        end = end.saturating_add(size);
        start..end
    };
    entries.iter().map(place).collect()
}

/// Memory in huge pages. Address space is all it takes until something is written.
fn reserve(size: usize) -> Option<MmapMut> {
    let memory = MmapMut::map_anon(size.checked_next_multiple_of(HUGE_PAGE)?).ok()?;
    let first = memory.as_ptr().align_offset(HUGE_PAGE);
    let whole = memory.len().saturating_sub(first) / HUGE_PAGE * HUGE_PAGE;
    ask_for_huge_pages(&memory, first, whole);
    Some(memory)
}
