//! Texture, sampler and surface references and the kernels that use them.

use super::Usage;
use super::sort::{Ties, alternating_merge_sort};
use crate::callgraph::callers::Callers;
use crate::collections::Set;
use crate::context::Analysis;
use crate::ids::{FunctionId, SymbolId};
use cubin::SymbolType;

type Kernels = Set<FunctionId>;

/// References to textures, samplers and surfaces, and who uses them.
pub struct ImageUsers<'a, 'o> {
    cx: Analysis<'a, 'o>,
    usage: &'o Usage,
    /// In the order of their handles.
    pub images: Vec<(SymbolType, SymbolId)>,
    /// Kernels in creation order.
    pub kernels: Vec<FunctionId>,
    callers: Callers<'o>,
}

impl<'a, 'o> ImageUsers<'a, 'o> {
    /// The references among the output's symbols, last first, and the kernels among its functions;
    /// none if there are no references.
    pub fn new(
        cx: Analysis<'a, 'o>,
        usage: &'o Usage,
        symbols: impl Iterator<Item = SymbolId>,
        functions: &[FunctionId],
    ) -> Option<Self> {
        let images = in_slot_order(cx, symbols);
        if images.is_empty() {
            return None;
        }
        let kernels = functions.iter().copied().filter(|&f| {
            let symbol = cx.resolution.get(cx.graph.symbol(f));
            symbol.entry && symbol.definition.is_some()
        });
        let kernels = kernels.collect();
        let callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        Some(Self { cx, usage, images, kernels, callers })
    }

    /// Kernels that use references of one type, or of any. With exactly one requested kernel,
    /// references from code it does not reach count as well, and other kernels that are kept have
    /// none in the Mercury half.
    pub fn of(&mut self, kind: Option<SymbolType>) -> Kernels {
        let cx = self.cx;
        let of_kind = self.images.iter().filter(|image| kind.is_none_or(|kind| kind == image.0));
        let images: Vec<SymbolId> = of_kind.map(|image| image.1).collect();
        let users = images.iter().flat_map(|&symbol| self.usage.functions(symbol));
        let users: Vec<FunctionId> = users.copied().collect();
        let mut out: Kernels = self.callers.entries_reaching(&users).into_iter().collect();
        let asked = |f: &&FunctionId| !cx.reach.is_unrequested(**f);
        let mut asked = self.kernels.iter().filter(asked);
        if let (Some(&only), None) = (asked.next(), asked.next()) {
            if cx.dialect.only_kernel_takes_mentioned_images() {
                out.clear();
            }
            let used = images.iter().any(|s| self.usage.mentioned.contains(s));
            if used {
                out.insert(only);
            }
        }
        out
    }
}

/// Textures, samplers, surfaces, each last first, then through nvlink's sort
/// with all keys equal.
fn in_slot_order(
    cx: Analysis<'_, '_>,
    symbols: impl Iterator<Item = SymbolId>,
) -> Vec<(SymbolType, SymbolId)> {
    use SymbolType as S;
    let mut images: Vec<(SymbolType, SymbolId)> = symbols
        .filter_map(|id| {
            if cx.graph.function(id).is_some() {
                return None;
            }
            let kind = cx.unnamed_symbol(cx.resolution.get(id).first)?.kind();
            let is_image = matches!(kind, S::CUDA_TEXTURE | S::CUDA_SAMPLER | S::CUDA_SURFACE);
            is_image.then_some((kind, id))
        })
        .collect();
    images.sort_by_key(|(kind, ..)| *kind);
    alternating_merge_sort(&mut images, Ties::A, |_| ());
    images
}
