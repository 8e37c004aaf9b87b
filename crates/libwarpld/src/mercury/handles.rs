//! Handles of textures, samplers and surfaces. In the Mercury half they have a separate bank per
//! kernel (`.nv.constant.entry_image_header_indices.K`); in the machine-code half they follow the
//! parameters.

use super::CapsuleFile;
use super::parameters::parameter_bank;
use crate::align::align_up;
use crate::diag::Diagnostic;
use crate::ids::{ObjectId, SectionId};
use crate::layout::Form;
use crate::linked::Linked;
use crate::mercury::code::instruction::Instruction;
use crate::merge::{Meaning, OutSymbol};
use crate::object::Object;
use crate::relocate::{OutReloc, Source};
use crate::write::{extent, tables};
use cubin::bank;
use cubin::capsule::{Capsule, ItemForm};
use cubin::names::prefix;
use cubin::{Reloc, RelocKind};

/// Alignment of the first handle after the parameters (kernels with 0 to 33 bytes of parameters).
const ALIGN: u64 = 16;

/// Bank of parameters and handles in the machine-code half.
pub const BANK: u8 = bank::PARAMETERS;

/// Offset of the parameters, and of the handles if there is no kernel.
const PARAMETERS: u64 = 0x380;

/// Where handles start in the machine-code half: after the parameters of the kernel that has the
/// most, whether that kernel uses handles or not.
pub fn start(linked: Linked<'_, '_>, texts: &[SectionId]) -> Result<u64, Diagnostic> {
    let mut largest = PARAMETERS;
    let first = |symbol: &OutSymbol| match symbol.meaning() {
        Meaning::Symbol(id) => linked.cx.input_symbol(linked.cx.resolution.get(id).first),
        _ => None,
    };
    if !linked.merged.symbols.iter().any(|s| first(s).is_some_and(|s| s.is_image())) {
        return Ok(largest);
    }
    for &text in texts {
        let kernel = linked.text_function(text);
        if kernel.is_some_and(|kernel| linked.cx.resolution.get(kernel).entry) {
            largest = largest.max(parameter_bank(linked, text)?.0.len() as u64);
        }
    }
    Ok(align_up(largest, ALIGN))
}

/// Contents of a handle bank in the machine-code half; the loader fills it.
pub fn machine(file: &CapsuleFile<'_, '_>, id: SectionId) -> Result<Vec<u8>, Diagnostic> {
    let linked = file.linked;
    let size = file.handles.saturating_add(extent(linked, id).0);
    let mut bytes = file.zeros(size)?;
    let Some(text) = file.code_of(id) else { return Ok(bytes) };
    let (parameters, _) = parameter_bank(linked, text)?;
    if let Some(place) = bytes.get_mut(..parameters.len()) {
        place.copy_from_slice(parameters);
    }
    Ok(bytes)
}

/// Relocations of a handle bank in the machine-code half.
pub fn machine_relocs(file: &CapsuleFile<'_, '_>, bank: SectionId) -> Vec<OutReloc> {
    let mut list = tables::image_relocs(file.linked, bank, Form::MachineHalf);
    for reloc in &mut list {
        reloc.offset = reloc.offset.saturating_add(file.handles);
    }
    list
}

/// What to add to Mercury's value of a reference to a handle in the machine-code half.
pub fn shift(file: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> u64 {
    if names_handle(file, source, machine) { file.handles } else { 0 }
}

/// The field value under an emitted relocation against a handle (`-r`): where handles would start.
pub fn open(file: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> Option<u64> {
    names_handle(file, source, machine).then_some(file.handles)
}

/// Whether a field is the place of a handle in its bank. An immediate (`-O0`) counts from the first handle.
/// [`texture-handles-unoptimised`]
fn names_handle(file: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> bool {
    let object = &file.linked.cx.objects[source.from.object];
    machine.kind != RelocKind::CUDA_ABS16_32
        && object.cubin.symbol(machine.symbol.0).is_some_and(|symbol| symbol.is_image())
}

/// Where handles start in the machine code of each input; empty if there are none.
pub fn input_starts(linked: Linked<'_, '_>, start: u64) -> Vec<u64> {
    if start == PARAMETERS {
        return Vec::new();
    }
    let largest = |object: &Object<'_>| {
        let sections = object.halves.iter().flat_map(|halves| halves.sass.sections());
        let banks = sections.filter(|s| s.name.starts_with(prefix::CONSTANT0));
        align_up(banks.map(|s| s.size).fold(PARAMETERS, u64::max), ALIGN)
    };
    linked.cx.objects.iter().map(largest).collect()
}

/// Moves the start of the handles where code adds it to a register (`LDC R4, c[0x0][R4+0x390]`, `-O0`). No
/// relocation says so, only the bank in Mercury's instruction; those with a relocation are patched later.
/// [`texture-handles-unoptimised`]
pub fn rebase(
    file: &CapsuleFile<'_, '_>,
    object: ObjectId,
    capsule: &[u8],
    code: &mut [u8],
) -> Option<()> {
    const LDC: u16 = 0x182;
    let old = *file.input_starts.get(object.index())?;
    if old == file.handles {
        return None;
    }
    let capsule = Capsule::parse(capsule).ok()?;
    let mut items = capsule.items.iter();
    let mut at = 0_usize;
    for i in 0..capsule.count {
        let item = if capsule.is_sass_only(i) { None } else { Some(items.next()?) };
        let count = item.map_or(1, |item| usize::from(item.sass_instructions()));
        if item.is_some_and(|item| loads_handle(item.form)) {
            let bytes = code.get_mut(at..)?.first_chunk_mut::<{ Instruction::SIZE }>()?;
            let instruction = Instruction(u128::from_le_bytes(*bytes));
            if instruction.operation() == LDC {
                let offset = u64::from((instruction.0 >> OFFSET) as u16);
                let new = offset.wrapping_sub(old).wrapping_add(file.handles) as u16;
                let rest = instruction.0 & !(u128::from(u16::MAX) << OFFSET);
                *bytes = (rest | u128::from(new) << OFFSET).to_le_bytes();
            }
        }
        at = at.checked_add(count.checked_mul(Instruction::SIZE)?)?;
    }
    Some(())
}

/// The lowest bit of the offset in an LDC.
const OFFSET: u32 = 38;

/// Whether a Mercury instruction is an LDC from the bank of handles.
fn loads_handle(form: ItemForm<'_>) -> bool {
    const LDC: [u8; 2] = [0x02, 0x22];
    const HANDLES: u8 = 0x49;
    let ItemForm::Full(bytes) = form else { return false };
    bytes.starts_with(&LDC) && bytes.get(12) == Some(&HANDLES)
}
