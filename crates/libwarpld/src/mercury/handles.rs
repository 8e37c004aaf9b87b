//! Handles of textures, samplers and surfaces. In the Mercury half they have a separate bank per
//! kernel (`.nv.constant.entry_image_header_indices.K`); in the machine-code half they follow the
//! parameters.

use super::CapsuleFile;
use super::parameters::parameter_bank;
use crate::align::align_up;
use crate::diag::Diagnostic;
use crate::ids::SectionId;
use crate::layout::Form;
use crate::linked::Linked;
use crate::merge::{Meaning, OutSymbol};
use crate::relocate::{OutReloc, Source};
use crate::write::{extent, tables};
use cubin::Reloc;
use cubin::bank;

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

fn names_handle(file: &CapsuleFile<'_, '_>, source: &Source, machine: &Reloc) -> bool {
    let object = &file.linked.cx.objects[source.from.object];
    object.cubin.symbol(machine.symbol.0).is_some_and(|symbol| symbol.is_image())
}
