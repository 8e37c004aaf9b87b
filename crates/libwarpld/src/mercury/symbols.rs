//! The two symbol tables. They differ only in values and sections of code, data and banks; the
//! machine-code one ends with the parameter banks.

use super::CapsuleFile;
use super::names::Names;
use crate::ids::{ObjectId, OutSymbolId, SymbolId};
use crate::merge::{Meaning, Merged};
use crate::write::symbols::{entry, fits_shndx, symbol_fields};
use cubin::consts::{shn, sto};
use cubin::names;
use cubin::raw::Sym64;
use cubin::{SymbolRef, SymbolType};
use zerocopy::IntoBytes;

/// A symbol table and the index after its last local symbol.
#[derive(Debug)]
pub struct Table {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// `sh_info`.
    pub info: u32,
    /// Section indices that do not fit an entry; otherwise 0, or the index the section was created
    /// with if the link created such a table.
    pub sections: Vec<u32>,
}

impl Table {
    /// Contents of its table of section indices.
    pub fn section_numbers(&self) -> Vec<u8> {
        self.sections.iter().flat_map(|number| number.to_le_bytes()).collect()
    }
}

/// `.nv.merc.symtab`.
pub fn mercury(file: &CapsuleFile<'_, '_>) -> Table {
    table(file, &file.plan.mercury_index, |id| {
        let merged = file.linked.merged;
        let index = &file.plan.mercury_index;
        let name = merged.symbols[id].name;
        let (mut symbol, section) = entry(file.linked, id, name, index);
        if let Meaning::Symbol(known) = merged.symbols[id].meaning() {
            as_in_object(file, known, &mut symbol);
        }
        (symbol, section)
    })
}

/// `.symtab`.
pub fn machine(file: &CapsuleFile<'_, '_>, names: &Names) -> Table {
    let merged = file.linked.merged;
    let mut renamed = names.bank_symbols.clone();
    renamed.sort_unstable_by_key(|bank| bank.0);
    let mut out = table(file, &file.plan.machine_index, |id| {
        let known = &merged.symbols[id];
        let name = match known.meaning() {
            Meaning::Section(section) => renamed.binary_search_by_key(&section, |bank| bank.0).ok(),
            _ => None,
        };
        let name = name.map_or(known.name, |at| renamed[at].1);
        let (mut symbol, section) = entry(file.linked, id, name, &file.plan.machine_index);
        if let Meaning::Symbol(known) = known.meaning() {
            as_machine_code(file, known, &mut symbol);
        }
        (symbol, section)
    });
    for (bank, name) in file.plan.banks.iter().zip(&names.banks) {
        let symbol = Sym64 {
            st_name: name.1.into(),
            st_info: SymbolType::SECTION.0,
            st_shndx: index16(bank.index).into(),
            ..Sym64::default()
        };
        out.bytes.extend_from_slice(symbol.as_bytes());
        out.sections.push(beyond_entry(bank.index).unwrap_or(0));
        out.info = (out.bytes.len() / size_of::<Sym64>()) as u32;
    }
    for (function, name) in file.plan.calls.functions.iter().zip(&names.calls.0) {
        let symbol = Sym64 {
            st_name: (*name).into(),
            st_info: function.info,
            st_other: function.other,
            ..Sym64::default()
        };
        out.bytes.extend_from_slice(symbol.as_bytes());
        out.sections.push(0);
    }
    out
}

fn table(
    file: &CapsuleFile<'_, '_>,
    index: &[u32],
    symbol: impl Fn(OutSymbolId) -> (Sym64, u32),
) -> Table {
    let order = &file.plan.numbering.order;
    let null = Sym64 { st_value: file.linked.layout.null_value.into(), ..Sym64::default() };
    let mut bytes = Vec::with_capacity((order.len() + 1) * size_of::<Sym64>());
    bytes.extend_from_slice(null.as_bytes());
    let mut sections = vec![0];
    let merged = file.linked.merged;
    let created = merged.sections.iter().map(|section| section.creation_index);
    let created = creation_indices(merged, created, index);
    let left_over = |section: u32| created.get(section as usize).copied().unwrap_or(0);
    for &id in order {
        let (symbol, section) = symbol(id);
        bytes.extend_from_slice(symbol.as_bytes());
        let number = beyond_entry(section).unwrap_or_else(|| left_over(section));
        sections.push(number);
    }
    Table { bytes, info: file.plan.numbering.local_count, sections }
}

/// The creation index of each section, by its index in the file; empty if the file does not need
/// them.
fn creation_indices(
    merged: &Merged,
    created: impl Iterator<Item = u32>,
    index_of: &[u32],
) -> Vec<u32> {
    if !merged.needs_symbol_sections() {
        return Vec::new();
    }
    let most = index_of.iter().copied().max().unwrap_or(0);
    let mut out = vec![0; most as usize + 1];
    for (created, &index) in created.zip(index_of) {
        // Two sections can have the index SHN_COMMON. The one that was created with it counts.
        if index != 0 && out[index as usize] != shn::COMMON {
            out[index as usize] = created;
        }
    }
    out
}

/// The section index, if it does not fit a symbol's entry.
fn beyond_entry(section: u32) -> Option<u32> {
    (!fits_shndx(section)).then_some(section)
}

/// The Mercury half keeps the form that symbols have in objects, even in an executable; the
/// reserved shared memory has no value there.
fn as_in_object(file: &CapsuleFile<'_, '_>, id: SymbolId, symbol: &mut Sym64) {
    let linked = file.linked;
    let known = linked.cx.resolution.get(id);
    let Some(input) = linked.cx.input_symbol(known.definition.unwrap_or(known.first)) else {
        return;
    };
    symbol.st_other |= input.other;
    if input.is_shared() && !linked.cx.config.relocatable {
        // The system's part is not counted in this half.
        let reserved = linked.cx.dialect.reserved_shared().min(symbol.st_value.get());
        symbol.st_value = (symbol.st_value.get() - reserved).into();
    }
    if SymbolType(symbol.st_info & 15) == SymbolType::OBJECT {
        symbol.st_info = symbol.st_info & 0xf0 | SymbolType::CUDA_OBJECT.0;
    }
    if names::symbol::is_reserved_shared(known.name) {
        symbol.st_value = 0.into();
    }
    if let Some(offset) = file.reserved_shared.offset(id) {
        symbol.st_value = offset.into();
    }
}

fn as_machine_code(file: &CapsuleFile<'_, '_>, id: SymbolId, symbol: &mut Sym64) {
    let linked = file.linked;
    let known = linked.cx.resolution.get(id);
    let at = known.definition.unwrap_or(known.first);
    let object = &linked.cx.objects[at.object];
    let counterpart = object.halves.as_ref().and_then(|h| h.sass.symbol(at.symbol));
    if known.function {
        let section = linked.cx.input_symbol(at).map_or(0, |s| s.shndx);
        let text = object.halves.as_ref().and_then(|h| h.counterpart(section));
        if linked.cx.resolution.kernel_around(linked.cx.objects, id).is_some() {
            if let Some(counterpart) = counterpart {
                let (value, size) = nested(file, at.object, section, &counterpart);
                (symbol.st_value, symbol.st_size) = (value.into(), size.into());
            }
            return;
        }
        if let Some(text) = text.filter(|_| names_code(file, id)) {
            symbol.st_size = edited_size(file, at.object, section).unwrap_or(text.size).into();
        }
        return;
    }
    let spaceless = linked.cx.input_symbol(at).is_some_and(|s| s.other & sto::SPACE == 0);
    if known.definition.is_none()
        && known.common.is_none()
        && spaceless
        && SymbolType(symbol.st_info & 15) == SymbolType::OBJECT
    {
        // The system's data outside any memory space has the same type in both halves.
        symbol.st_info = symbol.st_info & 0xf0 | SymbolType::CUDA_OBJECT.0;
    }
    if let Some(address) = file.reserved_shared.address(id) {
        symbol.st_value = address.into();
    }
    if names::symbol::is_reserved_shared(known.name)
        && let Some(counterpart) = counterpart
    {
        let (_, _, _, value, _) = symbol_fields(linked, id, &file.plan.machine_index);
        symbol.st_value = value.max(counterpart.value).into();
    }
}

/// Offset and size of a function inside a kernel's code. The last one extends to the end, including
/// any padding (`whole-programs-capsules`).
fn nested(
    file: &CapsuleFile<'_, '_>,
    object: ObjectId,
    section: u32,
    counterpart: &SymbolRef<'_>,
) -> (u64, u64) {
    let placed = file.linked.merged.placement(object, section);
    let edited = placed.and_then(|placed| file.edited.get(&placed.section));
    let moved = |place| edited.map_or(place, |edited| edited.moves.target(place));
    let (start, end) =
        (moved(counterpart.value), moved(counterpart.value.saturating_add(counterpart.size)));
    (start, end.saturating_sub(start))
}

/// The size of code that the finalizer edited.
fn edited_size(file: &CapsuleFile<'_, '_>, object: ObjectId, section: u32) -> Option<u64> {
    let placed = file.linked.merged.placement(object, section)?;
    file.edited.get(&placed.section).map(|e| e.moves.size())
}

/// Whether the symbol counts as its section's function: the function itself, or an alias before it.
fn names_code(file: &CapsuleFile<'_, '_>, id: SymbolId) -> bool {
    let linked = file.linked;
    if linked.cx.resolution.get(id).definition.is_none() {
        return false;
    }
    let owner = linked.cx.owner_of_code(id);
    let number = |id: SymbolId| {
        let symbol = linked.merged.symbol_of[id].get();
        symbol.map_or(0, |s| file.plan.numbering.index[s.index()])
    };
    owner.is_none_or(|owner| owner == id || number(id) < number(owner))
}

fn index16(index: u32) -> u16 {
    if fits_shndx(index) { index as u16 } else { shn::XINDEX as u16 }
}
