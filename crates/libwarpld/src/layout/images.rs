//! Texture, sampler and surface references: handles after the parameters of every kernel that uses
//! any of them.

use crate::align::align_up;
use crate::collections::Map;
use crate::context::Analysis;
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::dialect::Half;
use crate::ids::{FunctionId, SectionId, SymbolId};
use crate::merge::Merged;
use crate::usage::{ImageUsers, Usage};
use cubin::{RelocKind, SymbolType};

/// One handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The reference.
    pub symbol: SymbolId,
    /// Offset in the parameter bank; in the Mercury half, in the handle bank.
    pub offset: u64,
    /// What it refers to.
    kind: SymbolType,
}

/// The kind of file that describes a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Machine code alone.
    Classic,
    /// The Mercury half.
    Mercury,
    /// The machine-code half next to it.
    MachineHalf,
}

impl Form {
    /// The kind of file that a link of this half describes handles in.
    /// [`texture-handles-behind-parameters`, `texture-references`]
    pub fn of(half: Half) -> Self {
        match half {
            Half::Machine => Self::Classic,
            Half::Mercury => Self::Mercury,
        }
    }
}

impl Slot {
    /// Whether the reference is of this type.
    pub fn is_for(&self, kind: SymbolType) -> bool {
        self.kind == kind
    }

    /// Relocation type by which the loader fills it.
    pub fn reloc(&self, form: Form) -> RelocKind {
        use {Form::*, SymbolType as S};
        match (self.kind, form) {
            (S::CUDA_SAMPLER, Classic) => RelocKind::CUDA_SAMP_HEADER_INDEX,
            (S::CUDA_SAMPLER, Mercury) => RelocKind::MERCURY_SAMP_HEADER_INDEX,
            (S::CUDA_SAMPLER, MachineHalf) => RelocKind::CUDA_SAMP_HEADER_INDEX_0,
            (S::CUDA_SURFACE, Mercury) => RelocKind::MERCURY_SURF_HEADER_INDEX,
            (S::CUDA_SURFACE, _) => RelocKind::CUDA_SURF_HEADER_INDEX,
            (_, Mercury) => RelocKind::MERCURY_TEX_HEADER_INDEX,
            _ => RelocKind::CUDA_TEX_HEADER_INDEX,
        }
    }
}

/// What the loader fills besides surfaces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filled {
    /// Textures.
    pub textures: bool,
    /// Samplers.
    pub samplers: bool,
}

/// Handles of the link.
#[derive(Debug, Default)]
pub struct Images {
    /// All handles by ascending offset; every kernel that has any has slots for all.
    pub slots: Vec<Slot>,
    /// Offset of each reference's handle.
    pub offset_of: Map<SymbolId, u64>,
    /// Parameter banks that hold handles, and what the loader fills there.
    pub banks: Map<SectionId, Filled>,
    /// Size of those banks.
    pub bank_size: u64,
}

/// Bytes of a handle.
pub const HANDLE: u64 = 4;

/// How many references a kernel can have handles for. All of the link's count, because each kernel
/// with handles has slots for all.
const LIMITS: [(SymbolType, usize, &str); 3] = [
    (SymbolType::CUDA_TEXTURE, 256, "textures"),
    (SymbolType::CUDA_SAMPLER, 32, "samplers"),
    (SymbolType::CUDA_SURFACE, 32, "surfaces"),
];

/// Refuses a link with more references than kernels can have handles for; names the last kernel
/// that has any. [`too-many-images`]
pub fn check_images(
    cx: Analysis<'_, '_>,
    merged: &Merged,
    images: &Images,
) -> Result<(), Diagnostic> {
    let has_handles = |f: &FunctionId| {
        let bank = merged.function_sections[*f].constant0.get();
        bank.is_some_and(|bank| images.banks.contains_key(&bank))
    };
    let Some(&last) = merged.function_order.iter().rev().find(|f| has_handles(f)) else {
        return Ok(());
    };
    for (kind, most, what) in LIMITS {
        if images.slots.iter().filter(|slot| slot.is_for(kind)).count() > most {
            let name = text(cx.resolution.get(cx.graph.symbol(last)).name);
            let message = format!("More than {most} {what} used in entry function '{name}'");
            return Err(Diagnostic::fatal(Code::TooManyImages, message).about(name));
        }
    }
    Ok(())
}

impl Images {
    /// The handles that the loader fills in a kernel's parameter bank.
    pub fn filled(&self, bank: SectionId) -> impl DoubleEndedIterator<Item = &Slot> {
        let filled = self.banks.get(&bank).copied().unwrap_or_default();
        self.slots.iter().filter(move |slot| match slot.kind {
            SymbolType::CUDA_SAMPLER => filled.samplers,
            SymbolType::CUDA_TEXTURE => filled.textures,
            _ => true,
        })
    }
}

/// Places the handles after the parameters of the kernel that has the most; in the Mercury half
/// they have a separate bank. [`texture-handles-behind-parameters`]
pub fn layout_images(cx: Analysis<'_, '_>, usage: &Usage, merged: &Merged) -> Images {
    let mut out = Images::default();
    let (symbols, kernels) = (merged.symbols_last_first(), &merged.function_order);
    let Some(mut users) = ImageUsers::new(cx, usage, symbols, kernels) else { return out };
    let parameter_bank = |f: FunctionId| merged.function_sections[f].constant0.get();
    // Code that uses textures without samplers has the samplers in the textures: then samplers have
    // slots, but nothing fills them. Quirk: the same goes for textures if only samplers are used,
    // and surfaces count as both. [`sampler-unmentioned`]
    let all = users.of(None);
    let textures = users.of(Some(SymbolType::CUDA_TEXTURE));
    let samplers = users.of(Some(SymbolType::CUDA_SAMPLER));
    let surfaces = users.of(Some(SymbolType::CUDA_SURFACE));
    let filled = |f: &FunctionId| Filled {
        textures: textures.contains(f) || surfaces.contains(f),
        samplers: samplers.contains(f) || surfaces.contains(f),
    };
    let with_bank = |f: &FunctionId| Some((parameter_bank(*f)?, filled(f)));
    out.banks = all.iter().filter_map(with_bank).collect();
    let largest = users.kernels.iter().filter_map(|&f| parameter_bank(f));
    let largest = largest.map(|s| merged.section(s).size()).max().unwrap_or(0);
    let mut offset = align_up(largest, HANDLE);
    for &(kind, symbol) in &users.images {
        out.slots.push(Slot { symbol, offset, kind });
        out.offset_of.insert(symbol, offset);
        offset += HANDLE;
    }
    out.bank_size = offset;
    out
}
