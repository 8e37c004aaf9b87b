//! What takes up a memory, and which calls exceed a limit.

use super::{function_named, largest};
use crate::context::Analysis;
use crate::demangle::{described, readable, text};
use crate::diag::Diagnostic;
use crate::ids::{FunctionId, SymbolId};
use crate::linked::Linked;
use std::collections::VecDeque;

/// The largest shared variables that a kernel uses.
pub fn shared(linked: Linked<'_, '_>, diagnostic: &Diagnostic) -> Vec<String> {
    let cx = linked.cx;
    let kernel = diagnostic.symbol.as_deref().and_then(|name| function_named(cx, name));
    let own = kernel.and_then(|f| linked.merged.function_sections.get(f)?.shared.get());
    let items = linked
        .layout
        .shared
        .objects
        .iter()
        .filter(|(_, (section, _))| {
            Some(*section) == own || Some(*section) == linked.merged.common_shared
        })
        .filter_map(|(&id, _)| variable(cx, id))
        .collect();
    let mut notes = largest(items);
    notes.push(
        "declare large arrays extern __shared__ and give their size at launch \
         (cudaFuncAttributeMaxDynamicSharedMemorySize)"
            .into(),
    );
    notes
}

/// The largest constants.
pub fn constants(linked: Linked<'_, '_>) -> Vec<String> {
    let cx = linked.cx;
    let Some(bank) = linked.merged.constant3 else { return Vec::new() };
    let ids = cx.resolution.symbols.ids();
    let items = ids
        .filter(|&id| {
            linked.layout.address(cx, linked.merged, id).is_some_and(|a| a.section == bank)
        })
        .filter_map(|id| variable(cx, id))
        .collect();
    largest(items)
}

fn variable(cx: Analysis<'_, '_>, id: SymbolId) -> Option<(u64, String)> {
    let symbol = cx.resolution.get(id);
    let at = symbol.definition.unwrap_or(symbol.first);
    let size = cx.input_symbol(at)?.size;
    let file = cx.objects.get(at.object)?.name;
    Some((size, format!("{} in {file}", described(&text(symbol.name)))))
}

/// The calls from a kernel to the callee that needs too many registers.
pub fn register_chain(cx: Analysis<'_, '_>, diagnostic: &Diagnostic) -> Vec<String> {
    let named = |name: &Option<String>| function_named(cx, name.as_deref()?);
    let chain = match (named(&diagnostic.kernel), named(&diagnostic.symbol)) {
        (Some(kernel), Some(callee)) => chain(cx, kernel.as_u32(), callee.as_u32()),
        _ => Vec::new(),
    };
    let mut notes = Vec::new();
    if let [_, between @ .., _] = chain.as_slice()
        && !between.is_empty()
    {
        notes.push(format!("by way of {}", between.join(", ")));
    }
    notes.push(
        "compile the callee with -maxrregcount, or relax the kernel's __launch_bounds__".into(),
    );
    notes
}

/// Names of the functions on the shortest path from one to another.
fn chain(cx: Analysis<'_, '_>, start: u32, goal: u32) -> Vec<String> {
    let graph = cx.graph.successors();
    let mut from: Vec<Option<u32>> = vec![None; graph.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        if node == goal {
            break;
        }
        for &callee in graph.of(node) {
            if let (true, Some(slot @ None)) = (callee != start, from.get_mut(callee as usize)) {
                *slot = Some(node);
                queue.push_back(callee);
            }
        }
    }
    let mut names = Vec::new();
    let mut at = Some(goal);
    while let Some(node) = at {
        if let Some(&symbol) = cx.graph.functions.get(FunctionId::from(node)) {
            names.push(readable(&text(cx.resolution.get(symbol).name)));
        }
        at = from.get(node as usize).copied().flatten();
    }
    names.reverse();
    names
}
