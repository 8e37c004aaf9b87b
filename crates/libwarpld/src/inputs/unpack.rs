//! Unpacking the images of many sources side by side, onto boards whose pages are provided at
//! once: taken one by one they cost as much as unpacking what goes there.

use super::best_image::{Choice, choose};
use super::memory::{Block, STEP, Store};
use super::scan::{Body, Source};
use crate::dialect::Release;
use cubin::Arch;
use fatbin::Entry;
use rayon::prelude::*;
use std::ops::Range;

/// Images begin at multiples of this.
const ALIGN: usize = 64;

/// A packed image and its size.
type Packed<'f> = (Entry<'f>, usize);

/// Unpacks the images of packed sources onto boards in `store`, which outlives the selection,
/// and tells where they are, in the order of the sources. There is none where it is not worth
/// while or something is out of the ordinary; such images have to be unpacked one by one.
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
    let filled = groups.par_iter().map(|group| Board::fill(store, &entries[group.clone()]));
    let filled: Vec<Option<Board>> = filled.collect();
    let (mut boards, mut places) = (Vec::with_capacity(groups.len()), Vec::new());
    for (group, board) in groups.iter().zip(filled) {
        let number = boards.len();
        let (memory, images) = board.map_or((None, Vec::new()), |b| (Some(b.memory), b.images));
        boards.extend(memory);
        places.extend(images.into_iter().map(|image| Some((number, image?))));
        places.resize(group.end, None);
    }
    let kept = store.keep(boards);
    let image = |place: Option<(usize, Range<usize>)>| {
        let (board, place) = place?;
        kept?.get(board)?.bytes().get(place)
    };
    places.into_iter().map(image).collect()
}

/// The packed image that will be chosen of a source's only container, and its size.
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

/// What an image takes of a board.
fn room(entry: &Option<Packed<'_>>) -> usize {
    entry.as_ref().map_or(0, |(_, size)| size.next_multiple_of(ALIGN))
}

/// Entries that follow each other and fill a board together.
fn groups(entries: &[Option<Packed<'_>>]) -> Vec<Range<usize>> {
    let (mut groups, mut start, mut size) = (Vec::new(), 0, 0_usize);
    for (number, entry) in entries.iter().enumerate() {
        size = size.saturating_add(room(entry));
        if size >= STEP || number + 1 == entries.len() {
            groups.push(start..number + 1);
            (start, size) = (number + 1, 0);
        }
    }
    groups
}

/// A few images.
struct Board {
    memory: Box<dyn Block>,
    /// Where they are.
    images: Vec<Option<Range<usize>>>,
}

impl Board {
    /// Where one of them fails the memory is given back: each is tried again by itself then,
    /// and complained about.
    fn fill(store: &Store, entries: &[Option<Packed<'_>>]) -> Option<Self> {
        let size = entries.iter().map(room).fold(0, usize::saturating_add);
        let mut memory = store.allocate(size.max(1))?;
        let (mut images, mut end) = (Vec::with_capacity(entries.len()), 0);
        for entry in entries {
            let start = end;
            end += room(entry);
            let Some((entry, size)) = entry else {
                images.push(None);
                continue;
            };
            // What is not likely to be filled is left to be touched.
            let likely = entry.stored().len().saturating_mul(LIKELY_RATIO).min(PROVIDED_AT_MOST);
            memory.prepare(start, likely.min(*size));
            let place = start..start + size;
            entry.unpack_into(memory.bytes_mut().get_mut(place.clone())?).ok()?;
            images.push(Some(place));
        }
        Some(Self { memory, images })
    }
}

/// Device code is seldom packed better than this.
const LIKELY_RATIO: usize = 64;

/// No more is provided for an image before anything has come out of it.
const PROVIDED_AT_MOST: usize = 64 << 20;
