//! Data in both halves. Where the halves differ in size (debug sections), the machine-code half has
//! separate offsets.

use super::code_edits::moves_of_symbol;
use super::pairing::{PairCache, pair_at};
use super::replaced_copies::{SelectedCode, SelectedCodeCache};
use super::{CapsuleFile, handles, jump_tables, reserved_shared};
use crate::align::align_up;
use crate::collections::Map;
use crate::context::Analysis;
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::ids::{InputSection, ObjectId, SectionId};
use crate::linked::Linked;
use crate::merge::{Chunk, Content};
use crate::relocate::{OutReloc, Source, final_kind};
use crate::write::{extent, tables};
use cubin::consts::shf;
use cubin::names;
use cubin::raw::Rela64;
use cubin::{Reloc, RelocKind, SymbolType, reloc};
use std::borrow::Cow;

/// Offsets that differ in the machine-code half.
#[derive(Debug, Default)]
pub struct MachinePlaces {
    offsets: Map<(u32, u32), u64>,
    extents: Map<SectionId, (u64, u64)>,
}

/// Assigns offsets to the machine-code half of all debug sections.
pub fn machine_places(linked: Linked<'_, '_>) -> MachinePlaces {
    let mut out = MachinePlaces::default();
    for (i, section) in linked.merged.sections.iter().enumerate() {
        let Content::Chunks(chunks) = section.content() else { continue };
        if section.flags() & shf::ALLOC != 0 {
            continue;
        }
        let (mut size, mut align) = (0, 0);
        for chunk in chunks.iter() {
            let Some(counterpart) = machine_input(linked, chunk.from) else { continue };
            let offset = align_up(size, counterpart.align);
            out.offsets.insert((chunk.from.object.as_u32(), chunk.from.section), offset);
            size = offset.saturating_add(counterpart.size);
            align = align.max(counterpart.align);
        }
        out.extents.insert(SectionId::new(i), (size, align));
    }
    out
}

/// An input section's counterpart in the machine-code half, or the section itself.
fn machine_input<'a>(linked: Linked<'a, '_>, from: InputSection) -> Option<cubin::SectionRef<'a>> {
    let object = &linked.cx.objects[from.object];
    let halves = object.halves.as_ref()?;
    halves.counterpart(from.section).or_else(|| halves.sass.section(from.section))
}

/// Size and alignment of a section in the machine-code half.
pub fn machine_extent(file: &CapsuleFile<'_, '_>, id: SectionId) -> (u64, u64) {
    file.places.extents.get(&id).copied().unwrap_or_else(|| extent(file.linked, id))
}

/// Size and alignment of a NOBITS section in the machine-code half.
pub fn machine_nobits(file: &CapsuleFile<'_, '_>, id: SectionId) -> (u64, u64) {
    let linked = file.linked;
    let (size, align) = extent(linked, id);
    if linked.cx.config.relocatable {
        (size, align)
    } else if linked.merged.section_name(id) == names::RESERVED_SHARED {
        (size + reserved_shared::START, align)
    } else if linked.merged.common_shared == Some(id) && size == 0 {
        (reserved_shared(linked.cx), align)
    } else {
        (size, align)
    }
}

/// Size of the system's part of every kernel's shared memory.
pub fn reserved_shared(cx: Analysis<'_, '_>) -> u64 {
    match cx.config.disable_smem_reservation {
        true => 0,
        false => cx.dialect.reserved_shared(),
    }
}

/// Contents of a data section in the machine-code half.
pub fn machine<'b>(
    file: &'b CapsuleFile<'_, '_>,
    id: SectionId,
) -> Result<Cow<'b, [u8]>, Diagnostic> {
    if let Some(table) = file.debug_tables.get(&id) {
        return Ok(Cow::Borrowed(&table.bytes));
    }
    if file.linked.merged.section(id).bank() == Some(handles::BANK) {
        return handles::machine(file, id).map(Cow::Owned);
    }
    let mut bytes = file.zeros(machine_extent(file, id).0)?;
    for chunk in file.linked.layout.chunks(file.linked.merged, id).iter() {
        let Some(input) = machine_input(file.linked, chunk.from) else { continue };
        copy(&mut bytes, machine_offset(file, chunk), input.data);
    }
    file.linked.layout.write_pieces(file.linked.cx, id, &mut bytes);
    if file.linked.merged.section(id).bank() == Some(jump_tables::BANK) {
        jump_tables::fill(file, id, &mut bytes)?;
    }
    if file.linked.merged.section_name(id) == names::NV_DEBUG_INFO_REG_SASS {
        let mut tables = super::registers::Tables::new(file);
        for chunk in file.linked.layout.chunks(file.linked.merged, id).iter() {
            let Some(input) = machine_input(file.linked, chunk.from) else { continue };
            let start = usize::try_from(machine_offset(file, chunk)).unwrap_or(usize::MAX);
            let end = start.saturating_add(input.data.len());
            tables.follow(chunk.from, bytes.get_mut(start..end).unwrap_or_default());
        }
    }
    patch_machine(file, id, &mut bytes)?;
    Ok(Cow::Owned(bytes))
}

/// Contents of a data section in the Mercury half.
pub fn mercury(file: &CapsuleFile<'_, '_>, id: SectionId) -> Result<Vec<u8>, Diagnostic> {
    let linked = file.linked;
    let mut bytes = file.zeros(extent(linked, id).0)?;
    for chunk in linked.layout.chunks(linked.merged, id).iter() {
        let object = &linked.cx.objects[chunk.from.object];
        let Some(input) = object.cubin.section(chunk.from.section) else { continue };
        copy(&mut bytes, chunk.offset, input.data);
    }
    linked.layout.write_pieces(linked.cx, id, &mut bytes);
    let section = linked.merged.section(id);
    for relocs in section.rela().into_iter().chain(section.rel()) {
        for patch in linked.relocated.of(relocs).patches {
            apply(file, patch.kind, &mut bytes, patch.offset, patch.value, patch.bank)?;
        }
    }
    Ok(bytes)
}

fn machine_offset(file: &CapsuleFile<'_, '_>, chunk: &Chunk) -> u64 {
    let key = (chunk.from.object.as_u32(), chunk.from.section);
    file.places.offsets.get(&key).copied().unwrap_or(chunk.offset)
}

fn copy(bytes: &mut [u8], offset: u64, data: &[u8]) {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let place = start.checked_add(data.len()).and_then(|end| bytes.get_mut(start..end));
    if let Some(place) = place {
        place.copy_from_slice(data);
    }
}

/// Applies to machine code what was decided in the Mercury half.
pub fn patch_machine(
    file: &CapsuleFile<'_, '_>,
    id: SectionId,
    bytes: &mut [u8],
) -> Result<(), Diagnostic> {
    let merged = file.linked.merged;
    let Some(relocs) = merged.section(id).rela() else { return Ok(()) };
    let relocs = file.linked.relocated.of(relocs);
    let (mut pairs, mut copies) = (PairCache::default(), SelectedCodeCache::default());
    for (patch, source) in relocs.patches.iter().zip(relocs.patched_from) {
        let Some((mercury, Some(machine))) = pair_at(file.linked, &mut pairs, *source)? else {
            continue;
        };
        let place = machine_place(file, source, &mercury, &machine, patch.offset);
        let Some(offset) = place else { continue };
        let value = match section_relative(file, source, &machine) {
            Some(value) => value,
            None => {
                let addend = machine_addend(file, &mut copies, source, (&mercury, &machine));
                let addends = addend.wrapping_sub(mercury.addend.unwrap_or(0));
                let shift = handles::shift(file, source, &machine);
                patch.value.wrapping_add(addends as u64).wrapping_add(shift)
            }
        };
        apply(file, machine.kind, bytes, offset, value, patch.bank)?;
    }
    for (emitted, source) in relocs.emitted.iter().zip(relocs.emitted_from) {
        let Some((mercury, Some(machine))) = pair_at(file.linked, &mut pairs, *source)? else {
            continue;
        };
        let place = machine_place(file, source, &mercury, &machine, emitted.offset);
        let value = match file.linked.cx.config.relocatable {
            true => handles::open(file, source, &machine),
            false => closed_value(file, source, &machine),
        };
        if let (Some(offset), Some(value)) = (place, value) {
            apply(file, machine.kind, bytes, offset, value, 0)?;
        }
    }
    Ok(())
}

/// The addend of a relocation, adjusted where it is an offset in code that moved. An offset in a
/// replaced copy becomes that of the first instruction at or after it in the selected copy, or the
/// end of that copy if there is none (`debug-places-of-copies`).
fn machine_addend<'a, 'e>(
    file: &'e CapsuleFile<'a, '_>,
    copies: &mut SelectedCodeCache<'a, 'e>,
    source: &Source,
    (mercury, machine): (&Reloc, &Reloc),
) -> i64 {
    let addend = machine.addend.unwrap_or(0);
    let object = source.from.object;
    let place = mercury.addend.and_then(|place| u64::try_from(place).ok());
    if let Some(place) = place.filter(|&place| place != 0)
        && let Some(selected) = copies.of_symbol(file, object, mercury.symbol.0)
        && selected.from.object != object
    {
        return selected.place_from(place).unwrap_or(selected.size) as i64;
    }
    let moves = || moves_of_symbol(file.linked, &file.edited, object, machine.symbol.0);
    match u64::try_from(addend) {
        Ok(offset) if offset != 0 => moves().map_or(addend, |m| m.target(offset) as i64),
        _ => addend,
    }
}

/// The value of a relocation that an executable emits only in the Mercury half: one against an
/// offset in a debug table, or against the system's part of shared memory (`tensor-memory`).
fn closed_value(file: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> Option<u64> {
    table_offset(file, source, machine).or_else(|| reserved_shared::value(file, source, machine))
}

/// The value of a relocation against an offset in a debug table.
fn table_offset(file: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> Option<u64> {
    if machine.kind != RelocKind::CUDA_32 {
        return None;
    }
    section_relative(file, source, machine)
}

/// The offset in the machine-code section that a relocation refers to.
fn machine_place(
    file: &CapsuleFile<'_, '_>,
    source: &Source,
    mercury: &Reloc,
    machine: &Reloc,
    place: u64,
) -> Option<u64> {
    let object = &file.linked.cx.objects[source.from.object];
    let section = object.cubin.section(source.from.section).map_or(0, |s| s.info);
    let place = RelocatedInput { section, mercury_base: place.wrapping_sub(mercury.offset) };
    file.machine_offset(source.from.object.as_u32(), place, machine.offset)
}

/// An input section that is being relocated.
struct RelocatedInput {
    section: u32,
    /// Its offset in the Mercury half.
    mercury_base: u64,
}

impl CapsuleFile<'_, '_> {
    /// Maps an offset in an input's machine-code section to the output.
    fn machine_offset(&self, object: u32, place: RelocatedInput, offset: u64) -> Option<u64> {
        let merged = self.linked.merged.placement(ObjectId::from(object), place.section);
        if let Some(table) = merged.and_then(|p| self.debug_tables.get(&p.section)) {
            return table.offset(object, place.section, offset);
        }
        if let Some(edited) = merged.and_then(|p| self.edited.get(&p.section)) {
            return Some(place.mercury_base.wrapping_add(edited.moves.place(offset)));
        }
        let base = self.places.offsets.get(&(object, place.section)).copied();
        Some(base.unwrap_or(place.mercury_base).wrapping_add(offset))
    }
}

/// The value of a relocation against a debug section: its offset in this half.
fn section_relative(file: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> Option<u64> {
    let object = &file.linked.cx.objects[source.from.object];
    let symbol = object.cubin.symbol(machine.symbol.0)?;
    if symbol.kind() != SymbolType::SECTION {
        return None;
    }
    let object = source.from.object.as_u32();
    file.places.offsets.get(&(object, symbol.shndx))?;
    let place = RelocatedInput { section: symbol.shndx, mercury_base: 0 };
    file.machine_offset(object, place, machine.addend.unwrap_or(0) as u64)
}

fn apply(
    file: &CapsuleFile<'_, '_>,
    kind: RelocKind,
    bytes: &mut [u8],
    offset: u64,
    value: u64,
    bank: u8,
) -> Result<(), Diagnostic> {
    let bad = |what: &dyn std::fmt::Display| {
        let what = format!("relocation at {offset:#x}: {what}");
        let name = file.linked.cx.objects.first().map_or("", |o| o.name);
        Diagnostic::fatal(Code::BadRelocation, what).note(format_args!("in the link of '{name}' …"))
    };
    let kind = kind.info().ok_or_else(|| bad(&"unknown type"))?;
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let place = bytes.get_mut(start..).unwrap_or_default();
    reloc::patch(kind.fields, place, value, bank.into()).map_err(|e| bad(&e))
}

/// The emitted relocations of the machine-code half.
pub fn machine_relocs(
    file: &CapsuleFile<'_, '_>,
    id: SectionId,
) -> Result<Vec<Rela64>, Diagnostic> {
    let relocs = file.linked.relocated.of(id);
    let list = relocs.emitted_from.iter().copied().zip(relocs.emitted.iter());
    let mut out = machine_records(file, list)?;
    let target = match file.linked.merged.section(id).content() {
        Content::Relocs(target, _) => {
            out.extend(file.plan.calls.relocs(file, target));
            file.debug_tables.get(&target)
        }
        _ => None,
    };
    if target.is_some_and(|table| table.sorted) {
        out.sort_by_key(|r| r.r_offset.get());
    }
    Ok(out)
}

/// The applied relocations that the machine-code half lists.
pub fn machine_resolved(
    file: &CapsuleFile<'_, '_>,
    id: SectionId,
) -> Result<Vec<Rela64>, Diagnostic> {
    let list = tables::resolved(file.linked, id);
    let selected = first_target(file, id);
    let from = selected.as_ref().map(|selected| selected.from);
    let is_own = |source: &Source| {
        let object = source.from.object;
        let input = file.linked.cx.objects[object].cubin.section(source.from.section);
        let target = input.map(|s| InputSection { object, section: s.info });
        target == from
    };
    let mut records = Vec::with_capacity(list.len());
    for run in list.chunk_by(|a, b| is_own(&a.0) == is_own(&b.0)) {
        match (&selected, run.first()) {
            (Some(selected), Some((source, _))) if !is_own(source) => {
                records
                    .extend(run.iter().map(|(_, reloc)| record(file, &foreign(selected, reloc))));
            }
            _ => records.extend(machine_records(file, run.iter().copied())?),
        }
    }
    Ok(records)
}

/// The function whose code a section of applied relocations refers to: the first one with that
/// name.
fn first_target<'a, 'e>(
    file: &'e CapsuleFile<'a, '_>,
    id: SectionId,
) -> Option<SelectedCode<'a, 'e>> {
    let Content::ResolvedRelocs(targets) = file.linked.merged.section(id).content() else {
        return None;
    };
    let function = file.linked.merged.section(*targets.first()?).function.get()?;
    SelectedCode::new(file.linked, &file.edited, function)
}

/// An applied relocation of another function with the same name: its Mercury offset is looked up in
/// the first one, and the instruction there determines the type (measured at 41 offsets in 15 kinds
/// of instructions). At the end and behind it nvlink has no offset, or writes stray memory.
fn foreign(selected: &SelectedCode<'_, '_>, reloc: &OutReloc) -> OutReloc {
    let start = reloc.offset & !0xf;
    let place = |at| selected.place_before_end(at);
    let second_half = || place(start.checked_sub(0x10)?);
    let (offset, kind) = match (place(start), second_half()) {
        (Some(offset), _) | (None, Some(offset)) if selected.moves_values(offset) => {
            (offset, RelocKind::CUDA_ABS32_32)
        }
        (Some(offset), _) | (None, Some(offset)) => (offset, RelocKind::CUDA_ABS24_40),
        (None, None) => (0, RelocKind::CUDA_8_32),
    };
    OutReloc { offset, kind, ..*reloc }
}

/// The counterparts of the Mercury half's relocations.
fn machine_records(
    file: &CapsuleFile<'_, '_>,
    list: impl Iterator<Item = (Source, OutReloc)>,
) -> Result<Vec<Rela64>, Diagnostic> {
    let (mut pairs, mut copies) = (PairCache::default(), SelectedCodeCache::default());
    let mut out = Vec::with_capacity(list.size_hint().0);
    for (source, reloc) in list {
        let Some((mercury, Some(machine))) = pair_at(file.linked, &mut pairs, source)? else {
            continue;
        };
        let place = machine_place(file, &source, &mercury, &machine, reloc.offset);
        let Some(offset) = place else { continue };
        let kind = final_kind(file.linked.cx.config, machine.kind);
        let closed = closed_value(file, &source, &machine);
        let addend = match closed {
            Some(_) if !file.linked.cx.config.relocatable => continue,
            Some(moved) => moved as i64,
            None => machine_addend(file, &mut copies, &source, (&mercury, &machine)),
        };
        out.push(record(file, &OutReloc { offset, kind, addend, ..reloc }));
    }
    Ok(out)
}

/// Relocations of a handle bank in the machine-code half.
pub fn machine_handles(file: &CapsuleFile<'_, '_>, bank: SectionId) -> Vec<Rela64> {
    let list = handles::machine_relocs(file, bank);
    list.iter().map(|reloc| record(file, reloc)).collect()
}

fn record(file: &CapsuleFile<'_, '_>, reloc: &OutReloc) -> Rela64 {
    Rela64 {
        r_offset: reloc.offset.into(),
        r_type: reloc.kind.0.into(),
        r_sym: file.plan.numbering.of(reloc.symbol).into(),
        r_addend: reloc.addend.into(),
    }
}
