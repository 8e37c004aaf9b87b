//! `.debug_frame` of the machine-code side. The finalizer makes it anew: the
//! frames of functions that the output has, in the order of the Mercury side,
//! each after its common entry.

use super::pairing::{PairCache, pair_at};
use crate::diag::Diagnostic;
use crate::finalize::Parts;
use crate::merge::{Chunk, Content, SectionId};
use hashbrown::{HashMap, HashSet};

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Frames that stay.
#[derive(Debug, Default)]
pub struct Frames {
    /// The section.
    pub section: Option<SectionId>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// By input and section on the Mercury side: entries of the machine-code
    /// side and where they went.
    moved: Map<(u32, u32), Vec<Moved>>,
}

#[derive(Debug)]
struct Moved {
    start: u64,
    end: u64,
    to: u64,
}

impl Frames {
    /// Where an offset of an input's frame table went; `None` if it is gone.
    pub fn offset(&self, object: u32, section: u32, offset: u64) -> Option<u64> {
        let list = self.moved.get(&(object, section))?;
        let moved = list.iter().find(|m| (m.start..m.end).contains(&offset))?;
        Some(moved.to + (offset - moved.start))
    }
}

/// Collects the frames that stay.
pub fn frames(parts: Parts<'_, '_>) -> Result<Frames, Diagnostic> {
    let mut out = Frames::default();
    let is_frames = |i: &usize| parts.merged.section_name(SectionId(*i as u32)) == b".debug_frame";
    let Some(index) = (0..parts.merged.sections.len()).find(is_frames) else { return Ok(out) };
    let id = SectionId(index as u32);
    out.section = Some(id);
    let alive = alive(parts, id)?;
    if let Content::Chunks(chunks) = &parts.merged.section(id).content {
        for chunk in chunks {
            out.add(parts, chunk, &alive);
        }
    }
    Ok(out)
}

/// Places, by input, of relocations against functions that stay.
fn alive(
    parts: Parts<'_, '_>,
    id: SectionId,
) -> Result<HashSet<(u32, u64), foldhash::fast::FixedState>, Diagnostic> {
    let mut out = HashSet::default();
    let Some(relocs) = parts.merged.section(id).rela else { return Ok(out) };
    let mut pairs = PairCache::default();
    for source in &parts.relocated.sections[relocs.0 as usize].kept_from {
        if let Some((_, Some(machine))) = pair_at(parts, &mut pairs, *source)? {
            out.insert((source.from.object.0, machine.offset));
        }
    }
    Ok(out)
}

impl Frames {
    fn add(
        &mut self,
        parts: Parts<'_, '_>,
        chunk: &Chunk,
        alive: &HashSet<(u32, u64), foldhash::fast::FixedState>,
    ) {
        let object = chunk.from.object.0;
        let halves = parts.cx.objects[object as usize].halves.as_ref();
        let Some(twin) = halves.and_then(|h| h.twin(chunk.from.section)) else { return };
        let data = twin.data;
        let mut common = None;
        let mut moved = Vec::new();
        for entry in entries(data) {
            if entry.is_common {
                common = Some((entry, None));
                continue;
            }
            let place = (object, (entry.start + entry.header + 8) as u64);
            if !alive.contains(&place) {
                continue;
            }
            let at = match &mut common {
                Some((_, Some(at))) => *at,
                Some((entry, at)) => *at.insert(self.copy(data, entry, &mut moved)),
                None => 0,
            };
            let to = self.copy(data, &entry, &mut moved) as usize;
            let link = to + entry.header;
            if let Some(link) = self.bytes.get_mut(link..link + 8) {
                link.copy_from_slice(&at.to_le_bytes());
            }
        }
        self.moved.insert((object, chunk.from.section), moved);
    }

    fn copy(&mut self, data: &[u8], entry: &Entry, moved: &mut Vec<Moved>) -> u64 {
        let to = self.bytes.len() as u64;
        self.bytes.extend_from_slice(data.get(entry.start..entry.end).unwrap_or_default());
        moved.push(Moved { start: entry.start as u64, end: entry.end as u64, to });
        to
    }
}

/// An entry of a frame table in the 64-bit form.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    end: usize,
    /// Bytes before the link to the common entry (or its mark).
    header: usize,
    is_common: bool,
}

fn entries(data: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    const LONG_FORM: u64 = 0xffff_ffff;
    let number = |at: usize| -> Option<u64> {
        let bytes = data.get(at..at.checked_add(8)?)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let mut start = 0;
    std::iter::from_fn(move || {
        if number(start)? & LONG_FORM != LONG_FORM {
            return None;
        }
        let length = usize::try_from(number(start + 4)?).ok()?;
        let end = (start + 12).checked_add(length).filter(|&end| end <= data.len())?;
        let entry = Entry { start, end, header: 12, is_common: number(start + 12)? == u64::MAX };
        start = end;
        Some(entry)
    })
}
