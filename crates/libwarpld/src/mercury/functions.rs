//! Code in both halves: machine code with its relocations applied, and the capsules with what
//! Mercury records beyond it.

use super::pairing::{PairCache, pair_at};
use super::{CapsuleFile, damaged};
use super::{data, handles};
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::linked::Linked;
use cubin::capsule::{Capsule, CapsuleHeader, ItemForm};
use cubin::reloc;

/// Size of a machine instruction.
const INSTRUCTION: u64 = 16;

/// The machine code of a function as the input has it.
pub fn input_code<'a>(linked: Linked<'a, '_>, id: SectionId) -> &'a [u8] {
    let chunk = linked.layout.chunks(linked.merged, id).first().copied();
    let counterpart = chunk.and_then(|chunk| {
        let object = &linked.cx.objects[chunk.from.object];
        object.halves.as_ref()?.counterpart(chunk.from.section)
    });
    counterpart.map_or(&[][..], |t| t.data)
}

/// The machine code of a function before relocation.
fn unpatched<'b>(file: &'b CapsuleFile<'_, '_>, id: SectionId) -> &'b [u8] {
    match file.edited.get(&id) {
        Some(edited) => &edited.code,
        None => input_code(file.linked, id),
    }
}

/// Size of a function's machine code.
pub fn machine_size(file: &CapsuleFile<'_, '_>, id: SectionId) -> u64 {
    unpatched(file, id).len() as u64
}

/// Writes a function's machine code; `out` has its size.
pub fn machine(
    file: &CapsuleFile<'_, '_>,
    id: SectionId,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    out.copy_from_slice(unpatched(file, id));
    file.plan.calls.set_mode(file, id, out)?;
    if let Some(chunk) = file.linked.layout.chunks(file.linked.merged, id).first() {
        handles::rebase(file, chunk.from.object, unpatched_capsule(file, id), out);
    }
    data::patch_machine(file, id, out)
}

/// A function's capsule as the input or the finalizer has it.
fn unpatched_capsule<'b>(file: &'b CapsuleFile<'_, '_>, id: SectionId) -> &'b [u8] {
    if let Some(edited) = file.edited.get(&id) {
        return &edited.capsule;
    }
    let chunk = file.linked.layout.chunks(file.linked.merged, id).first().copied();
    let input = chunk.and_then(|chunk| {
        let object = &file.linked.cx.objects[chunk.from.object];
        object.cubin.section(chunk.from.section)
    });
    input.map_or(&[][..], |s| s.data)
}

/// Size of a function's capsule.
pub fn capsule_size(file: &CapsuleFile<'_, '_>, id: SectionId) -> u64 {
    unpatched_capsule(file, id).len() as u64
}

/// Writes a function's capsule, for machine code in section `text`; `out` has its size.
pub fn capsule(
    file: &CapsuleFile<'_, '_>,
    id: SectionId,
    text: u32,
    out: &mut [u8],
) -> Result<(), Diagnostic> {
    let linked = file.linked;
    let chunks = linked.layout.chunks(linked.merged, id);
    let Some(chunk) = chunks.first() else { return Ok(()) };
    let object = chunk.from.object;
    let bad = |what: &dyn std::fmt::Display| damaged(linked, object, &what.to_string());
    let input = linked.cx.objects[object].cubin.section(chunk.from.section);
    let input = input.map_or(&[][..], |s| s.data);
    let parsed = Capsule::parse(input).map_err(|e| bad(&e))?;
    let counterpart =
        linked.cx.objects[object].halves.as_ref().and_then(|h| h.counterpart(chunk.from.section));
    let size = counterpart.map_or(0, |t| t.size);
    if !parsed.fills(size) {
        return Err(bad(&format_args!(
            "capsule of {} instructions for {size:#x} bytes of code",
            parsed.sass_instructions()
        )));
    }
    out.copy_from_slice(unpatched_capsule(file, id));
    if let Some(word) = out.get_mut(..4) {
        word.copy_from_slice(&text.to_le_bytes());
    }
    match file.edited.get(&id) {
        Some(edited) => {
            let changed = Capsule::parse(&edited.capsule).map_err(|e| bad(&e))?;
            patch_items(file, id, &changed, out)
        }
        None => patch_items(file, id, &parsed, out),
    }
}

/// A Mercury instruction that a capsule stores in full.
struct Stored {
    /// First machine instruction it stands for, and how many.
    first: u64,
    count: u64,
    /// Offset in the capsule.
    offset: usize,
    size: usize,
}

/// The instructions that a capsule stores in full.
fn stored(capsule: &Capsule<'_>) -> Vec<Stored> {
    let mut offset = capsule.mask.len()
        + match capsule.header {
            CapsuleHeader::Long(_) => 12,
            CapsuleHeader::Short => 8,
        };
    let mut items = capsule.items.iter();
    let mut first = 0;
    let mut out = Vec::new();
    for i in 0..capsule.count {
        if capsule.is_sass_only(i) {
            first += 1;
            continue;
        }
        let Some(item) = items.next() else { break };
        let count = u64::from(item.sass_instructions());
        if let ItemForm::Full(bytes) = item.form {
            let size = bytes.len();
            out.push(Stored { first, count, offset: offset + item.size() - size, size });
        }
        offset += item.size();
        first += count;
    }
    out
}

/// Writes resolved values into instructions that the capsule stores. A long instruction has its
/// relocated field in the second 16 bytes, at the same distance from their start as in a short one
/// (seen: constant offsets at +0xc).
fn patch_items(
    file: &CapsuleFile<'_, '_>,
    id: SectionId,
    capsule: &Capsule<'_>,
    bytes: &mut [u8],
) -> Result<(), Diagnostic> {
    let Some(relocs) = file.linked.merged.section(id).rela() else { return Ok(()) };
    let relocs = file.linked.relocated.of(relocs);
    if relocs.patches.is_empty() {
        return Ok(());
    }
    let stored = stored(capsule);
    let mut pairs = PairCache::default();
    for (patch, source) in relocs.patches.iter().zip(relocs.patched_from) {
        let Some((mercury, Some(machine))) = pair_at(file.linked, &mut pairs, *source)? else {
            continue;
        };
        let moves = file.edited.get(&id).map(|e| &e.moves);
        let offset = moves.map_or(machine.offset, |m| m.place(machine.offset));
        let instruction = offset / INSTRUCTION;
        let after = stored.partition_point(|s| s.first <= instruction);
        let Some(item) = after.checked_sub(1).and_then(|i| stored.get(i)) else { continue };
        if instruction >= item.first + item.count {
            continue;
        }
        let half = if item.size == 32 { 16 } else { 0 };
        let at = item.offset + half + (mercury.offset % INSTRUCTION) as usize;
        let end = item.offset + item.size;
        let field = reloc::mercury(patch.kind).map(|t| t.fields);
        if let (Some(fields), Some(place)) = (field, bytes.get_mut(at..end)) {
            reloc::patch(fields, place, patch.value, patch.bank.into())
                .map_err(|e| Diagnostic::fatal(Code::BadRelocation, e))?;
        }
    }
    Ok(())
}
