//! Symbol indices and the entries of the symbol table.

use super::SectionSummary;
use super::numbering::{Indices, Numbering};
use crate::ids::{OutSymbolId, SectionId, SymbolId};
use crate::layout::Address;
use crate::linked::Linked;
use crate::merge::{Code, List, Meaning, OutSymbol};
use crate::usage::{is_orphan, unplaced_value};
use cubin::consts::{shn, sto};
use cubin::names;
use cubin::raw::Sym64;
use cubin::{Binding, SectionType, SymbolRef, SymbolType};
use rayon::prelude::*;
use std::ops::Range;
use zerocopy::IntoBytes;

/// Drops dead symbols and numbers the others: locals, then globals. [`undefined-then-weak`]
pub fn number(linked: Linked<'_, '_>, summaries: &[SectionSummary]) -> Numbering {
    let merged = linked.merged;
    let mut index = vec![0; merged.symbols.len()];
    let mut order = Vec::with_capacity(merged.symbols.len());
    let mut local_count = 0;
    let symbols = merged.symbols.par_iter().enumerate().with_min_len(TASK);
    let list = |(i, symbol): (usize, &OutSymbol)| {
        remains(linked, OutSymbolId::new(i), symbol, summaries).then(|| symbol.list())
    };
    let lists: Vec<Option<List>> = symbols.map(list).collect();
    for list in [List::Local, List::Global] {
        for (i, index) in index.iter_mut().enumerate() {
            if lists[i] == Some(list) {
                order.push(OutSymbolId::new(i));
                *index = order.len() as u32;
            }
        }
        if list == List::Local {
            local_count = order.len() as u32 + 1;
        }
    }
    Numbering { index, order, local_count }
}

/// Fewer symbols are not worth another thread.
const TASK: usize = 1024;

#[inline]
fn remains(
    linked: Linked<'_, '_>,
    id: OutSymbolId,
    symbol: &OutSymbol,
    summaries: &[SectionSummary],
) -> bool {
    match symbol.meaning() {
        Meaning::Section(section) => {
            let summary = &summaries[section.index()];
            let size = || {
                let no_bits = !summary.has_bytes();
                if no_bits && linked.merged.section(section).kind == SectionType::CUDA_SHARED {
                    linked.layout.instances.static_size.get(&section).copied().unwrap_or(0)
                } else {
                    // A size that does not fit is not 0.
                    let size = summary.noted_size();
                    size.map_or(1, |size| size - reserved_on_mercury(linked, section))
                }
            };
            summary.exists() && !(summary.is_chunks() && size() == 0)
        }
        Meaning::Symbol(symbol) => symbol_remains(linked, id, symbol),
        Meaning::DynamicInstance(_) => true,
    }
}

/// In the Mercury half, a kernel's shared memory does not include the system's part; that
/// determines whether the section has a symbol.
fn reserved_on_mercury(linked: Linked<'_, '_>, section: SectionId) -> u64 {
    if !linked.cx.dialect.sizes_exclude_reserved_shared() {
        return 0;
    }
    let shared = &linked.layout.shared;
    let common = shared.common.filter(|_| linked.merged.common_shared == Some(section));
    let extent = shared.kernels.get(&section).copied().or(common);
    extent.map_or(0, |(size, _)| reserved(linked).min(size))
}

#[inline]
fn symbol_remains(linked: Linked<'_, '_>, out: OutSymbolId, id: SymbolId) -> bool {
    if linked.merged.symbol_of[id].is_none() {
        return false;
    }
    // All functions remain; checking them further would touch cold memory.
    if linked.relocated.functions.has(id) {
        return true;
    }
    let symbol = linked.cx.resolution.get(id);
    let defined = symbol.definition.is_some() || symbol.common.is_some();
    if symbol.function || defined || linked.cx.config.relocatable {
        return true;
    }
    let first = linked.cx.input_symbol(symbol.first);
    if first.is_some_and(|s| s.is_shared()) {
        return true;
    }
    // Undefined data without references.
    let image = first.is_some_and(|s| s.is_image());
    if names::symbol::is_of_unified_table(symbol.name) && linked.cx.config.uidx.is_some() {
        return true;
    }
    let global = first.is_some_and(|s| s.other & sto::SPACE == sto::GLOBAL);
    let allowed = linked.cx.config.allow_undefined_globals
        && global
        && !names::symbol::is_of_unified_table(symbol.name);
    image || allowed || names::symbol::is_system(symbol.name) || linked.relocated.used.has(out)
}

/// Whether a section index fits a symbol's entry. Quirk: nvlink treats the one section with index
/// SHN_COMMON as if it fitted. [`unused-2000`]
pub fn fits_shndx(section: u32) -> bool {
    section < shn::LORESERVE || section == shn::COMMON
}

/// Writes these rows of `.symtab`; row 0 is the null symbol.
pub fn write(linked: Linked<'_, '_>, indices: Indices<'_>, rows: Range<usize>, out: &mut [u8]) {
    let null = Sym64 { st_value: linked.layout.null_value.into(), ..Sym64::default() };
    for (row, out) in rows.zip(out.chunks_exact_mut(size_of::<Sym64>())) {
        let id = row.checked_sub(1).map(|row| indices.symbols.order[row]);
        let symbol = id.map_or(null, |id| {
            let name = linked.merged.symbols[id].name;
            entry(linked, id, name, indices.sections).0
        });
        out.copy_from_slice(symbol.as_bytes());
    }
}

/// Writes these rows of `.symtab_shndx`. Quirk: if the section's index fits the entry, the word is
/// the index the section was created with. [`unused-2000`]
pub fn write_sections(
    linked: Linked<'_, '_>,
    indices: Indices<'_>,
    rows: Range<usize>,
    out: &mut [u8],
) {
    for (row, out) in rows.zip(out.chunks_exact_mut(size_of::<u32>())) {
        let id = row.checked_sub(1).map(|row| indices.symbols.order[row]);
        let word = id.map_or(0, |id| {
            let Some(section) = section(linked, id) else { return 0 };
            match indices.sections[section.index()] {
                number if fits_shndx(number) => linked.merged.section(section).creation_index,
                number => number,
            }
        });
        out.copy_from_slice(&word.to_le_bytes());
    }
}

/// An output symbol's section.
fn section(linked: Linked<'_, '_>, id: OutSymbolId) -> Option<SectionId> {
    match linked.merged.symbols[id].meaning() {
        Meaning::Section(section) => Some(section),
        Meaning::Symbol(id) => {
            if let Some((section, _)) = code(linked, id) {
                return Some(section);
            }
            let (input, address) = input_and_address(linked, id)?;
            symbol_section(linked, &input, address)
        }
        Meaning::DynamicInstance(_) => None,
    }
}

/// The code of a function, if that determines its offset. Tables of unified functions are laid out
/// symbol by symbol.
#[inline]
fn code(linked: Linked<'_, '_>, id: SymbolId) -> Option<(SectionId, Code)> {
    match linked.layout.pieces.is_empty() {
        true => linked.merged.code_of(linked.cx, id),
        false => None,
    }
}

/// The input symbol that describes an output symbol, and its address.
fn input_and_address<'a>(
    linked: Linked<'a, '_>,
    id: SymbolId,
) -> Option<(SymbolRef<'a>, Option<Address>)> {
    let symbol = linked.cx.resolution.get(id);
    let at = symbol.definition.unwrap_or(symbol.first);
    let input = linked.cx.unnamed_symbol(at)?;
    let definition = symbol.definition.map(|at| (at.object, &input));
    let address = linked.layout.address_of(linked.cx, linked.merged, id, definition);
    Some((input, address))
}

/// The section that a symbol is in; shared memory for arrays of unknown size.
fn symbol_section(
    linked: Linked<'_, '_>,
    input: &SymbolRef<'_>,
    address: Option<Address>,
) -> Option<SectionId> {
    let unplaced = match linked.cx.config.relocatable {
        true => crate::object::is_dynamic_array(input),
        false => address.is_none(),
    };
    match input.is_shared() && unplaced {
        true => linked.merged.common_shared,
        false => address.map(|a| a.section),
    }
}

/// The table entry of an output symbol, and its section's index, which may not fit the entry.
#[inline]
pub fn entry(linked: Linked<'_, '_>, id: OutSymbolId, name: u32, index_of: &[u32]) -> (Sym64, u32) {
    let (info, other, section, value, size) = match linked.merged.symbols[id].meaning() {
        Meaning::Section(section) => (SymbolType::SECTION.0, 0, index_of[section.index()], 0, 0),
        Meaning::Symbol(symbol) => symbol_fields(linked, symbol, index_of),
        Meaning::DynamicInstance(kernel) => {
            let info = Binding::WEAK.0 << 4 | SymbolType::CUDA_OBJECT.0;
            let start = linked.layout.instances.start_of.get(&kernel).copied().unwrap_or(0);
            (info, sto::SHARED | sto::INTERNAL, 0, start, 0)
        }
    };
    let direct = if fits_shndx(section) { section } else { shn::XINDEX };
    let entry = Sym64 {
        st_name: name.into(),
        st_info: info,
        st_other: other,
        st_shndx: (direct as u16).into(),
        st_value: value.into(),
        st_size: size.into(),
    };
    (entry, section)
}

#[inline]
pub(crate) fn symbol_fields(
    linked: Linked<'_, '_>,
    id: SymbolId,
    index_of: &[u32],
) -> (u8, u8, u32, u64, u64) {
    let cx = linked.cx;
    if let Some((section, code)) = code(linked, id) {
        let other =
            final_other(linked, code.other) & !sto::UNIFIED | code.first_other & sto::UNIFIED;
        let section = index_of[section.index()];
        let info = code.binding.0 << 4 | SymbolType::FUNC.0;
        return (info, other, section, 0, code.size.into());
    }
    let symbol = cx.resolution.get(id);
    let Some((input, address)) = input_and_address(linked, id) else { return (0, 0, 0, 0, 0) };
    let section = symbol_section(linked, &input, address).map_or(0, |s| index_of[s.index()]);
    let mut value = address.map_or(0, |a| a.value);
    let relocatable = cx.config.relocatable;
    let mut kind = input.kind();
    let mut other = final_other(linked, input.other);
    if !relocatable && kind == SymbolType::CUDA_OBJECT {
        kind = SymbolType::OBJECT;
    }
    if symbol.function && symbol.definition != Some(symbol.first) {
        // Quirk: the first occurrence determines whether a function is unified.
        // [`unified`, `shared-counted-twice`]
        other = other & !sto::UNIFIED | symbol.first_other & sto::UNIFIED;
    }
    if input.is_shared() {
        if relocatable {
            let at = symbol.definition.unwrap_or(symbol.first);
            let alignment = cx.objects[at.object].shared_alignment(&input);
            value = if is_orphan(cx, id) { unplaced_value(cx, id) } else { alignment };
            if symbol.definition.is_none() && !crate::object::is_dynamic_array(&input) {
                value = u64::MAX;
            }
            if crate::object::is_dynamic_array(&input) {
                let unused = if cx.config.is_debug_link() { 0 } else { value };
                value = linked.layout.shared.dynamic_symbols.get(&id).copied().unwrap_or(unused);
            }
        } else if address.is_some() {
            // Quirk: it is added for each copy that was ever selected. The finalizer of Mercury
            // code adds it once. [`shared-counted-twice`]
            let copies = match cx.dialect.adds_reserved_shared_once() {
                true => 1,
                false => linked.layout.shared.counted.get(&id).copied().unwrap_or(1),
            };
            value = value.wrapping_add(shared_shift(linked).wrapping_mul(copies));
        } else {
            value = dynamic_array(linked, id);
        }
        if cx.config.preserve_relocs && !relocatable && !cx.config.is_debug_link() {
            other |= sto::INTERNAL;
        }
    }
    if !relocatable && input.is_internal() {
        kind = SymbolType::OBJECT;
    }
    let space = input.other & sto::SPACE;
    let placed = matches!(space, sto::CONSTANT | sto::GLOBAL);
    if relocatable && input.is_internal() && input.is_undefined() && !input.is_shared() {
        kind = SymbolType::CUDA_OBJECT;
        value = linked.layout.user_constants(linked.merged);
    }
    if relocatable && placed && input.is_undefined() && symbol.common.is_none() {
        // Quirk: "never allocated" shows in the file. [`debug-dynamic-and-groups`]
        value = u64::MAX;
    }
    if !symbol.function && symbol.name == names::symbol::RESERVED_SHARED_CAP {
        // Also if nothing is reserved (`reserved-shared-cap`).
        value = linked.cx.dialect.reserved_shared();
    } else if input.is_undefined() && names::symbol::is_reserved_shared(symbol.name) {
        value = input.value;
    }
    let size = symbol.common.as_ref().map_or(input.size, |c| c.size);
    let binding = match symbol.binding {
        Binding::WEAK if input.is_undefined() => Binding::GLOBAL,
        _ if is_assigned_shared(linked, &input, address)
            && cx.dialect.localizes_assigned_shared() =>
        {
            Binding::LOCAL
        }
        // The instances of dynamic arrays in a file that is linked again.
        _ if input.is_undefined() && input.is_shared() && input.is_internal() => Binding::WEAK,
        binding => binding,
    };
    (binding.0 << 4 | kind.0, other, section, value, size)
}

/// Whether a shared object of an executable is in the section of the only kernel that uses it.
/// Quirk: 13.4 makes such a symbol local where it stands, among the global ones.
/// [`shared-symbols-made-local`]
fn is_assigned_shared(
    linked: Linked<'_, '_>,
    input: &SymbolRef<'_>,
    address: Option<Address>,
) -> bool {
    let is_of_kernel = |at: Address| Some(at.section) != linked.merged.common_shared;
    input.is_shared() && !linked.cx.config.relocatable && address.is_some_and(is_of_kernel)
}

/// `st_other` in the output: an executable's has no memory space.
/// [`shared-private`, `jump-table`, `managed`]
fn final_other(linked: Linked<'_, '_>, other: u8) -> u8 {
    if linked.cx.config.relocatable { other } else { other & !sto::SPACE }
}

fn reserved(linked: Linked<'_, '_>) -> u64 {
    if linked.cx.config.disable_smem_reservation { 0 } else { linked.cx.dialect.reserved_shared() }
}

/// What to add to values in shared memory. The finalizer of Mercury code ignores
/// `--disable-smem-reservation` (`reserved-shared-off`).
fn shared_shift(linked: Linked<'_, '_>) -> u64 {
    match linked.cx.dialect.always_shifts_shared() {
        true => linked.cx.dialect.reserved_shared(),
        false => reserved(linked),
    }
}

/// Dynamic arrays appear at the end of the static part.
fn dynamic_array(linked: Linked<'_, '_>, id: SymbolId) -> u64 {
    let shared = &linked.layout.shared;
    let start = match linked.cx.config.is_debug_link() {
        true => shared.dynamic_symbols.get(&id).copied().unwrap_or(0),
        false => u64::MAX,
    };
    // The finalizer of Mercury code adds the system's part to all values, once.
    let shifted = shared.grouped || linked.cx.dialect.adds_reserved_shared_once();
    // Quirk: it is added for the declaration and for each definition after it.
    // [`shared-counted-twice`]
    let definitions = match is_orphan(linked.cx, id)
        && !linked.cx.dialect.adds_reserved_shared_once()
    {
        true => 1 + linked.cx.resolution.replaced.get(&id).map_or(0, |copies| copies.len() as u64),
        false => 0,
    };
    let shift = if shifted { shared_shift(linked).wrapping_mul(1 + definitions) } else { 0 };
    start.wrapping_add(shift)
}
