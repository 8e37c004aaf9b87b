//! Handles of textures, samplers and surfaces. On Mercury's side they have a bank
//! of their own per kernel (`.nv.constant.entry_image_header_indices.K`); on the
//! machine-code side they lie behind the parameters.

use super::{CapsuleFile, data};
use crate::align::align_up;
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::layout::Form;
use crate::linked::Linked;
use crate::merge::{Meaning, OutSymbol};
use crate::object::is_image;
use crate::relocate::{OutReloc, Source};
use crate::write::{extent, tables};
use cubin::Reloc;

/// Alignment of the first handle behind the parameters (kernels with 0 to 33
/// bytes of parameters).
const ALIGN: u64 = 16;

/// Bank of parameters and handles, on the machine-code side.
pub const BANK: u8 = 0;

/// Where parameters start, and handles if there is no kernel.
const PARAMETERS: u64 = 0x380;

/// Where handles start on the machine-code side: behind the parameters of the
/// kernel that has most, whether it uses any or not.
pub fn start(parts: Linked<'_, '_>, texts: &[SectionId]) -> Result<u64, Diagnostic> {
    let mut largest = PARAMETERS;
    let first = |symbol: &OutSymbol| match symbol.meaning() {
        Meaning::Symbol(id) => parts.cx.input_symbol(parts.cx.resolution.get(id).first),
        _ => None,
    };
    if !parts.merged.symbols.iter().any(|s| first(s).is_some_and(|s| is_image(&s))) {
        return Ok(largest);
    }
    for &text in texts {
        let kernel = super::section_plan::text_function(parts, text);
        if kernel.is_some_and(|kernel| parts.cx.resolution.get(kernel).entry) {
            largest = largest.max(data::parameter_bank(parts, text)?.0.len() as u64);
        }
    }
    Ok(align_up(largest, ALIGN))
}

/// The bytes of a bank with handles on the machine-code side, which the loader
/// fills.
pub fn machine(both: &CapsuleFile<'_, '_>, id: SectionId) -> Result<Vec<u8>, Diagnostic> {
    let parts = both.parts;
    let size = both.handles.saturating_add(extent(parts, id).0);
    let mut bytes = data::zeros(both, size)?;
    let Some(text) = both.code_of(id) else { return Ok(bytes) };
    let (parameters, _) = data::parameter_bank(parts, text)?;
    if let Some(place) = bytes.get_mut(..parameters.len()) {
        place.copy_from_slice(parameters);
    }
    Ok(bytes)
}

/// Relocations of a bank with handles on the machine-code side.
pub fn machine_relocs(both: &CapsuleFile<'_, '_>, bank: SectionId) -> Vec<OutReloc> {
    let mut list = tables::image_relocs(both.parts, bank, Form::MachineHalf);
    for reloc in &mut list {
        reloc.offset = reloc.offset.saturating_add(both.handles);
    }
    list
}

/// What a reference to a handle adds on the machine-code side to Mercury's value.
pub fn shift(both: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> u64 {
    if names_handle(both, source, machine) { both.handles } else { 0 }
}

/// What lies under a reference to a handle that stays open (`-r`): where handles
/// would start.
pub fn open(both: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> Option<u64> {
    names_handle(both, source, machine).then_some(both.handles)
}

fn names_handle(both: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> bool {
    let object = &both.parts.cx.objects[source.from.object.0 as usize];
    object.cubin.symbol(machine.symbol.0).is_some_and(|symbol| is_image(&symbol))
}
