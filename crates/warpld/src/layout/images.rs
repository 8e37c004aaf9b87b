//! Texture, sampler and surface references: handles behind the parameters of
//! every kernel that uses any of them.

use super::sort::{Ties, alternating_merge_sort};
use crate::callgraph::{Callers, FunctionId};
use crate::merge::{Context, Meaning, Merged, SectionId, align_up};
use crate::resolve::SymbolId;
use cubin::SymbolType;
use hashbrown::{HashMap, HashSet};

/// One handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The reference.
    pub symbol: SymbolId,
    /// Offset in the parameter bank.
    pub offset: u64,
    /// Relocation type that the loader fills it by.
    pub reloc: u32,
}

/// Handles of the link.
#[derive(Debug, Default)]
pub struct Images {
    /// The handles that the loader fills, in ascending offset; every kernel that has any has all.
    pub slots: Vec<Slot>,
    /// Offset of each reference's handle.
    pub offset_of: HashMap<SymbolId, u64, foldhash::fast::FixedState>,
    /// Parameter banks that hold handles.
    pub banks: HashSet<SectionId, foldhash::fast::FixedState>,
    /// Size of those banks.
    pub bank_size: u64,
}

const HANDLE: u64 = 4;

/// R_CUDA_SAMP_HEADER_INDEX.
const SAMPLER: u32 = 7;

/// R_CUDA_TEX_HEADER_INDEX, SAMP_HEADER_INDEX, SURF_HEADER_INDEX.
fn loader_reloc(kind: SymbolType) -> Option<u32> {
    match kind {
        SymbolType::CUDA_TEXTURE => Some(6),
        SymbolType::CUDA_SAMPLER => Some(SAMPLER),
        SymbolType::CUDA_SURFACE => Some(52),
        _ => None,
    }
}

/// Places the handles. With exactly one kernel, references from removed code
/// count as well.
pub fn layout_images(cx: Context<'_, '_>, merged: &Merged) -> Images {
    let mut out = Images::default();
    let images = images_in_slot_order(cx, merged);
    if images.is_empty() {
        return out;
    }
    let parameter_bank = |f: FunctionId| merged.function_sections[f.0 as usize].constant0;
    let kernels: Vec<FunctionId> = (merged.function_order.iter().copied())
        .filter(|&f| {
            let symbol = cx.resolution.get(cx.graph.symbol(f));
            symbol.entry && symbol.definition.is_some()
        })
        .collect();
    let users = match kernels[..] {
        [only] if images.iter().any(|(s, _)| cx.mentions.mentioned.contains(s)) => vec![only],
        [_] => Vec::new(),
        _ => {
            let functions: Vec<FunctionId> = images
                .iter()
                .filter_map(|(s, _)| cx.mentions.by_symbol.get(s))
                .flatten()
                .copied()
                .collect();
            Callers::new(cx.graph, cx.resolution, cx.reach).entries_reaching(&functions)
        }
    };
    let largest = kernels.iter().filter_map(|&f| parameter_bank(f));
    let largest = largest.map(|s| merged.section(s).size).max().unwrap_or(0);
    let mut offset = align_up(largest, HANDLE);
    for (symbol, reloc) in images {
        // Quirk: with one kernel, a sampler that no code mentions has a place, but
        // nobody fills it.
        if reloc != SAMPLER || kernels.len() != 1 || cx.mentions.mentioned.contains(&symbol) {
            out.slots.push(Slot { symbol, offset, reloc });
        }
        out.offset_of.insert(symbol, offset);
        offset += HANDLE;
    }
    out.bank_size = offset;
    out.banks = users.into_iter().filter_map(parameter_bank).collect();
    out
}

/// Textures, samplers, surfaces, each last first, then through nvlink's sort
/// with all keys equal.
fn images_in_slot_order(cx: Context<'_, '_>, merged: &Merged) -> Vec<(SymbolId, u32)> {
    let mut images: Vec<(SymbolType, SymbolId, u32)> = merged
        .symbols
        .iter()
        .rev()
        .filter_map(|symbol| {
            let Meaning::Symbol(id) = symbol.meaning else { return None };
            let input = cx.input_symbol(cx.resolution.get(id).first)?;
            Some((input.kind(), id, loader_reloc(input.kind())?))
        })
        .collect();
    images.sort_by_key(|(kind, ..)| *kind);
    alternating_merge_sort(&mut images, Ties::A, |_| ());
    images.into_iter().map(|(_, id, reloc)| (id, reloc)).collect()
}
