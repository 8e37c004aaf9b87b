//! Data on both sides. Where the sides differ in size (debug sections), the
//! machine-code side has offsets of its own.

use super::pairing::{self, Pairs};
use super::{Both, damaged};
use crate::diag::Diagnostic;
use crate::finalize::{Parts, extent};
use crate::merge::{Chunk, Content, InputSection, SectionId, align_up};
use crate::relocate::{OutReloc, Source, final_kind};
use cubin::consts::shf;
use cubin::raw::Rela64;
use cubin::{Reloc, SymbolType, reloc};
use hashbrown::HashMap;
use zerocopy::IntoBytes;

type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Offsets that only the machine-code side has.
#[derive(Debug, Default)]
pub struct MachinePlaces {
    offsets: Map<(u32, u32), u64>,
    extents: Map<SectionId, (u64, u64)>,
}

/// Places the machine-code side of all debug sections.
pub fn machine_places(parts: Parts<'_, '_>) -> MachinePlaces {
    let mut out = MachinePlaces::default();
    for (i, section) in parts.merged.sections.iter().enumerate() {
        let Content::Chunks(chunks) = &section.content else { continue };
        if section.flags & shf::ALLOC != 0 {
            continue;
        }
        let (mut size, mut align) = (0, 0);
        for chunk in chunks {
            let Some(twin) = machine_input(parts, chunk.from) else { continue };
            let offset = align_up(size, twin.align);
            out.offsets.insert((chunk.from.object.0, chunk.from.section), offset);
            size = offset.saturating_add(twin.size);
            align = align.max(twin.align);
        }
        out.extents.insert(SectionId(i as u32), (size, align));
    }
    out
}

/// The machine-code side of an input section: its twin, or itself.
fn machine_input<'a, 'o>(
    parts: Parts<'a, 'o>,
    from: InputSection,
) -> Option<&'o cubin::SectionRef<'a>> {
    let object = &parts.cx.objects[from.object.0 as usize];
    let halves = object.halves.as_ref()?;
    halves.twin(from.section).or_else(|| halves.sass.section(from.section))
}

/// Size and alignment of a section on the machine-code side.
pub fn machine_extent(both: &Both<'_, '_>, id: SectionId) -> (u64, u64) {
    both.places.extents.get(&id).copied().unwrap_or_else(|| extent(both.parts, id))
}

/// The bytes of a data section on the machine-code side.
pub fn machine(both: &Both<'_, '_>, id: SectionId) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = zeros(machine_extent(both, id).0)?;
    for chunk in both.parts.layout.chunks(both.parts.merged, id) {
        let Some(input) = machine_input(both.parts, chunk.from) else { continue };
        copy(&mut bytes, machine_offset(both, chunk), input.data);
    }
    patch_machine(both, id, &mut bytes)?;
    Ok(bytes)
}

/// The bytes of a data section on the Mercury side.
pub fn mercury(both: &Both<'_, '_>, id: SectionId) -> Result<Vec<u8>, Diagnostic> {
    let parts = both.parts;
    let mut bytes = zeros(extent(parts, id).0)?;
    for chunk in parts.layout.chunks(parts.merged, id) {
        let object = &parts.cx.objects[chunk.from.object.0 as usize];
        let Some(input) = object.cubin.section(chunk.from.section) else { continue };
        copy(&mut bytes, chunk.offset, input.data);
    }
    let section = parts.merged.section(id);
    for relocs in section.rela.into_iter().chain(section.rel) {
        for patch in &parts.relocated.sections[relocs.0 as usize].patches {
            apply(both, patch.kind, &mut bytes, patch.offset, patch.value, patch.bank)?;
        }
    }
    Ok(bytes)
}

fn machine_offset(both: &Both<'_, '_>, chunk: &Chunk) -> u64 {
    let key = (chunk.from.object.0, chunk.from.section);
    both.places.offsets.get(&key).copied().unwrap_or(chunk.offset)
}

fn zeros(size: u64) -> Result<Vec<u8>, Diagnostic> {
    let too_large = || {
        Diagnostic::fatal("out-of-memory", format_args!("A section of {size} bytes is too large"))
    };
    let size = usize::try_from(size).map_err(|_| too_large())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| too_large())?;
    bytes.resize(size, 0);
    Ok(bytes)
}

fn copy(bytes: &mut [u8], offset: u64, data: &[u8]) {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let place = start.checked_add(data.len()).and_then(|end| bytes.get_mut(start..end));
    if let Some(place) = place {
        place.copy_from_slice(data);
    }
}

/// Applies to machine code what was decided on the Mercury side.
pub fn patch_machine(
    both: &Both<'_, '_>,
    id: SectionId,
    bytes: &mut [u8],
) -> Result<(), Diagnostic> {
    let merged = both.parts.merged;
    let Some(relocs) = merged.section(id).rela else { return Ok(()) };
    let relocs = &both.parts.relocated.sections[relocs.0 as usize];
    let mut pairs = PairCache::default();
    for (patch, source) in relocs.patches.iter().zip(&relocs.patched_from) {
        let Some((mercury, Some(machine))) = pairs.get(both, *source)? else { continue };
        let offset = machine_place(both, source, &mercury, &machine, patch.offset);
        let value = match section_relative(both, source, &mercury, &machine) {
            Some(value) => value,
            None => {
                let addends = machine.addend.unwrap_or(0).wrapping_sub(mercury.addend.unwrap_or(0));
                patch.value.wrapping_add(addends as u64)
            }
        };
        apply(both, machine.kind, bytes, offset, value, patch.bank)?;
    }
    Ok(())
}

/// The place in the machine-code section that a relocation is about.
fn machine_place(
    both: &Both<'_, '_>,
    source: &Source,
    mercury: &Reloc,
    machine: &Reloc,
    place: u64,
) -> u64 {
    let object = &both.parts.cx.objects[source.from.object.0 as usize];
    let target = object.cubin.section(source.from.section).map_or(0, |s| s.info);
    let base = both.places.offsets.get(&(source.from.object.0, target)).copied();
    base.unwrap_or(place.wrapping_sub(mercury.offset)).wrapping_add(machine.offset)
}

/// The value of a relocation against a debug section: its offset on this side.
fn section_relative(
    both: &Both<'_, '_>,
    source: &Source,
    mercury: &Reloc,
    machine: &Reloc,
) -> Option<u64> {
    let object = &both.parts.cx.objects[source.from.object.0 as usize];
    let symbol = object.cubin.symbol(machine.symbol.0)?;
    if symbol.kind() != SymbolType::SECTION {
        return None;
    }
    let base = both.places.offsets.get(&(source.from.object.0, symbol.shndx))?;
    let mut offset = machine.addend.unwrap_or(0) as u64;
    if object.cubin.section(symbol.shndx).is_some_and(|s| s.name == b".debug_frame") {
        let from = InputSection { section: symbol.shndx, ..source.from };
        offset = frame_entry(both.parts, from, mercury.addend.unwrap_or(0) as u64).unwrap_or(offset);
    }
    Some(base.wrapping_add(offset))
}

/// The offset in the machine code's frame table of the entry that lies at
/// `offset` in Mercury's: the one with the same number. (ptxas gives Mercury's
/// offset on both sides.)
fn frame_entry(parts: Parts<'_, '_>, from: InputSection, offset: u64) -> Option<u64> {
    let object = &parts.cx.objects[from.object.0 as usize];
    let mercury = object.cubin.section(from.section)?;
    let number = frame_entries(mercury.data).position(|at| at as u64 == offset)?;
    frame_entries(machine_input(parts, from)?.data).nth(number).map(|at| at as u64)
}

/// Offsets of the entries of a frame table.
fn frame_entries(data: &[u8]) -> impl Iterator<Item = usize> + '_ {
    const LONG_FORM: u64 = 0xffff_ffff;
    let number = |at: usize, size: usize| -> Option<u64> {
        let bytes = data.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    };
    let after = move |at: usize| -> Option<usize> {
        let (head, length) = match number(at, 4)? {
            LONG_FORM => (12, number(at + 4, 8)?),
            short => (4, short),
        };
        at.checked_add(head)?.checked_add(usize::try_from(length).ok()?)
    };
    let first = (!data.is_empty()).then_some(0);
    std::iter::successors(first, move |&at| after(at).filter(|&next| next < data.len()))
}

fn apply(
    both: &Both<'_, '_>,
    kind: u32,
    bytes: &mut [u8],
    offset: u64,
    value: u64,
    bank: u8,
) -> Result<(), Diagnostic> {
    let bad = |what: &dyn std::fmt::Display| {
        let what = format!("relocation at {offset:#x}: {what}");
        let name = both.parts.cx.objects.first().map_or("", |o| o.name);
        Diagnostic::fatal("bad-relocation", what).note(format_args!("in the link of '{name}' …"))
    };
    let kind = reloc::by_number(kind).ok_or_else(|| bad(&"unknown type"))?;
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let place = bytes.get_mut(start..).unwrap_or_default();
    reloc::patch(kind.fields, place, value, bank.into()).map_err(|e| bad(&e))
}

/// Relocations that stay, on the machine-code side.
pub fn machine_relocs(both: &Both<'_, '_>, id: SectionId) -> Result<Vec<u8>, Diagnostic> {
    let relocs = &both.parts.relocated.sections[id.0 as usize];
    let mut pairs = PairCache::default();
    let mut out = Vec::with_capacity(relocs.kept.len() * size_of::<Rela64>());
    for (kept, source) in relocs.kept.iter().zip(&relocs.kept_from) {
        let Some((mercury, Some(machine))) = pairs.get(both, *source)? else { continue };
        let offset = machine_place(both, source, &mercury, &machine, kept.offset);
        let kind = final_kind(both.parts.cx.config, machine.kind);
        let addend = machine.addend.unwrap_or(0);
        out.extend_from_slice(record(both, &OutReloc { offset, kind, addend, ..*kept }).as_bytes());
    }
    Ok(out)
}

fn record(both: &Both<'_, '_>, reloc: &OutReloc) -> Rela64 {
    Rela64 {
        r_offset: reloc.offset.into(),
        r_type: reloc.kind.into(),
        r_sym: both.shape.numbering.index[reloc.symbol.0 as usize].into(),
        r_addend: reloc.addend.into(),
    }
}

/// Pairs of the input sections that make up one output section.
#[derive(Default)]
pub struct PairCache {
    known: Map<(u32, u32), Pairs>,
}

impl PairCache {
    /// The relocation of the Mercury side and its counterpart.
    pub fn get(
        &mut self,
        both: &Both<'_, '_>,
        source: Source,
    ) -> Result<Option<(Reloc, Option<Reloc>)>, Diagnostic> {
        let key = (source.from.object.0, source.from.section);
        if !self.known.contains_key(&key) {
            self.known.insert(key, pairing::pair(both, source.from)?);
        }
        let pairs = self.known.get(&key);
        Ok(pairs.and_then(|p| p.list.get(source.index as usize)).copied())
    }
}

/// The bytes of a kernel's parameter bank: those of its input.
pub fn parameter_bank<'a>(
    both: &Both<'a, '_>,
    text: SectionId,
) -> Result<(&'a [u8], u64), Diagnostic> {
    let chunks = both.parts.layout.chunks(both.parts.merged, text);
    let Some(chunk) = chunks.first() else { return Ok((&[], 4)) };
    let object = &both.parts.cx.objects[chunk.from.object.0 as usize];
    let halves = object.halves.as_ref();
    let text = halves.and_then(|h| h.twin(chunk.from.section)).map_or(0, |s| s.index.0);
    let bank = halves.and_then(|h| {
        let is_bank = |s: &&cubin::SectionRef<'_>| {
            s.info == text && cubin::half::is_parameter_bank(s)
        };
        h.sass.sections().iter().find(is_bank)
    });
    let missing = || {
        damaged(both.parts, chunk.from.object.0 as usize, "a kernel has no parameter bank")
    };
    bank.map(|b| (b.data, b.align)).ok_or_else(missing)
}
