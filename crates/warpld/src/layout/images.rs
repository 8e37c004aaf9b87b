//! Texture, sampler and surface references: handles behind the parameters of
//! every kernel that uses any of them.

use super::sort::{Ties, alternating_merge_sort};
use crate::callgraph::{Callers, FunctionId};
use crate::merge::{Context, Meaning, Merged, SectionId, align_up};
use crate::resolve::SymbolId;
use cubin::SymbolType;
use hashbrown::HashMap;

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

impl Slot {
    /// Whether the reference is of this type.
    pub fn is_for(&self, kind: SymbolType) -> bool {
        loader_reloc(kind) == Some(self.reloc)
    }
}

/// Handles of the link.
#[derive(Debug, Default)]
pub struct Images {
    /// All handles, in ascending offset; every kernel that has any has places for all.
    pub slots: Vec<Slot>,
    /// Offset of each reference's handle.
    pub offset_of: HashMap<SymbolId, u64, foldhash::fast::FixedState>,
    /// Parameter banks that hold handles, and whether the loader fills samplers.
    pub banks: HashMap<SectionId, bool, foldhash::fast::FixedState>,
    /// Size of those banks.
    pub bank_size: u64,
}

const HANDLE: u64 = 4;

impl Images {
    /// The handles that the loader fills in a kernel's parameter bank.
    pub fn filled(&self, bank: SectionId) -> impl DoubleEndedIterator<Item = &Slot> {
        let samplers = self.banks.get(&bank).copied().unwrap_or(false);
        self.slots.iter().filter(move |slot| slot.reloc != SAMPLER || samplers)
    }
}

/// R_CUDA_TEX_HEADER_INDEX.
const TEXTURE: u32 = 6;

/// R_CUDA_SAMP_HEADER_INDEX.
const SAMPLER: u32 = 7;

/// R_CUDA_TEX_HEADER_INDEX, SAMP_HEADER_INDEX, SURF_HEADER_INDEX.
fn loader_reloc(kind: SymbolType) -> Option<u32> {
    match kind {
        SymbolType::CUDA_TEXTURE => Some(TEXTURE),
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
    // With `--preserve-relocs` kernels nobody asked for have handles, too.
    let all = cx.config.preserve_relocs;
    let counts = |f| all || !cx.reach.is_pruned(f);
    let mut callers = Callers::among(cx.graph, cx.resolution, cx.reach, counts);
    let mut users = |kind: Option<u32>| {
        let of_kind = images.iter().filter(|(_, reloc)| kind.is_none_or(|kind| kind == *reloc));
        if let [only] = kernels[..] {
            let used = of_kind.into_iter().any(|(s, _)| cx.mentions.mentioned.contains(s));
            return if used { vec![only] } else { Vec::new() };
        }
        let mentions = of_kind.filter_map(|(s, _)| cx.mentions.by_symbol.get(s));
        callers.entries_reaching(&mentions.flatten().copied().collect::<Vec<FunctionId>>())
    };
    // Code that uses textures without samplers has these in the textures: nobody
    // fills samplers then, though they have places.
    let (all, textures, samplers) = (users(None), users(Some(TEXTURE)), users(Some(SAMPLER)));
    let fills_samplers = |f| samplers.contains(&f) || !textures.contains(&f);
    let with_bank = |&f: &FunctionId| Some((parameter_bank(f)?, fills_samplers(f)));
    out.banks = all.iter().filter_map(with_bank).collect();
    let largest = kernels.iter().filter_map(|&f| parameter_bank(f));
    let largest = largest.map(|s| merged.section(s).size).max().unwrap_or(0);
    let mut offset = align_up(largest, HANDLE);
    for (symbol, reloc) in images {
        out.slots.push(Slot { symbol, offset, reloc });
        out.offset_of.insert(symbol, offset);
        offset += HANDLE;
    }
    out.bank_size = offset;
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
