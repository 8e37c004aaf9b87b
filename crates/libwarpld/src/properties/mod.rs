//! Properties of kernels that depend on what they call: registers, stack,
//! barriers and the other attributes that callees pass up.

mod attributes;
mod contribution;
mod groups;
mod languages;
mod single;

use crate::callgraph::scc::Components;
use crate::collections::Map;
use crate::demangle::text;
use crate::diag::Code;
pub use attributes::{Changes, Record};

use crate::callgraph::callers::Callers;
use crate::context::Analysis;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ids::FunctionId;
use crate::merge::Merged;
use contribution::{Any, OwnProperties, Reader};
use cubin::attr::UNKNOWN_STACK;
use rayon::prelude::*;

/// What the call graph determines for each function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Most registers of the function and everything it may call.
    pub registers: u32,
    /// Deepest stack.
    pub stack: u32,
    /// Deepest call-return stack.
    pub crs: u32,
    /// Recursion is reachable: the stack is unbounded.
    pub recursive: bool,
}

/// Properties of the link.
#[derive(Debug)]
pub struct Properties {
    /// By component.
    depth: Vec<Depth>,
    components: Components,
    /// Changed attributes of functions.
    pub attributes: Map<FunctionId, Changes>,
    /// Words that the last record of `.nv.info` gets, unless it has them.
    pub stub_languages: Vec<u32>,
    /// Live kernels in creation order.
    pub entries: Vec<FunctionId>,
}

impl Properties {
    /// The depth of a live function.
    pub fn depth(&self, function: FunctionId) -> Depth {
        let component = self.components.of.get(function.index());
        let depth = component.and_then(|&component| self.depth.get(component as usize));
        depth.copied().unwrap_or_default()
    }

    /// MIN_STACK_SIZE of a kernel.
    pub fn min_stack(&self, function: FunctionId) -> u32 {
        let depth = self.depth(function);
        if depth.recursive { UNKNOWN_STACK } else { depth.stack }
    }
}

/// Computes everything in one pass over the strongly connected components.
/// [`chain-over-files`, `local-memory`, `mutual-recursion`]
pub fn properties(cx: Analysis<'_, '_>, merged: &Merged, diags: &mut Diagnostics) -> Properties {
    let entries: Vec<FunctionId> = (merged.function_order.iter().copied())
        .filter(|&f| cx.graph.is_entry(f) && cx.graph.is_defined(f) && !cx.reach.is_unrequested(f))
        .collect();
    // Dead functions count only as far as live ones call them.
    let roots = (0..cx.graph.len() as u32)
        .filter(|&f| !cx.config.relocatable && cx.reach.is_live(FunctionId::from(f)));
    let components = Components::reached_from(cx.graph.successors(), roots);
    let mut out = Properties {
        depth: Vec::new(),
        components,
        attributes: Map::default(),
        stub_languages: Vec::new(),
        entries,
    };
    if cx.config.relocatable {
        return out;
    }
    let reader = Reader { cx, merged };
    let nodes = out.components.nodes().par_iter().with_min_len(FUNCTIONS_AT_ONCE);
    let mut own: Vec<OwnProperties> = nodes.map(|&node| reader.own_of_node(node)).collect();
    let any = Any::of(&own);
    if any.has_no_masks() {
        own.iter_mut().for_each(OwnProperties::forget_assumed_mask);
    }
    let components = &out.components;
    // Missing masks count for callers: if there are any, it is too early.
    let early = out.entries.len() > 1 && !any.lacks_masks();
    let (depth, below) = rayon::join(
        || depths(cx, &own, components),
        || early.then(|| attributes::reached(cx, &own, components)),
    );
    out.depth = depth;
    check_registers(reader, &own, &out, diags);
    groups::check(reader, &own, &any, below.as_deref(), &out, diags);
    warn_about_stacks(cx, &own, &out, diags);
    (out.attributes, out.stub_languages) = attributes::propagate(reader, own, any, below, &out);
    out
}

/// Fewer are not worth another thread.
const FUNCTIONS_AT_ONCE: usize = 256;

/// By component.
fn depths(cx: Analysis<'_, '_>, own: &[OwnProperties], components: &Components) -> Vec<Depth> {
    let graph = cx.graph.successors();
    let mut depth: Vec<Depth> = Vec::with_capacity(components.len());
    for component in 0..components.len() {
        let members = components.members(component);
        let mut joint = Depth { recursive: members.len() > 1, ..Depth::default() };
        for &callee in members.iter().flat_map(|&node| graph.of(node)) {
            // A component without a depth is the current one.
            let Some(below) = depth.get(components.of[callee as usize] as usize) else {
                joint.recursive = true;
                continue;
            };
            joint.registers = joint.registers.max(below.registers);
            joint.stack = joint.stack.max(below.stack);
            joint.crs = joint.crs.max(below.crs);
            joint.recursive |= below.recursive;
        }
        let (mut frame, mut crs) = (0, 0);
        for own in &own[components.range(component)] {
            joint.registers = joint.registers.max(own.registers);
            frame = frame.max(own.frame);
            crs = crs.max(own.crs);
            joint.recursive |= own.unbounded;
        }
        joint.stack = joint.stack.saturating_add(frame);
        joint.crs = joint.crs.saturating_add(crs);
        depth.push(joint);
    }
    depth
}

/// Callees that need more registers than a kernel may have. nvlink raises the kernels' counts
/// function by function and reports each raise past the limit. [`register-bound`]
fn check_registers(
    reader: Reader<'_, '_>,
    own: &[OwnProperties],
    out: &Properties,
    diags: &mut Diagnostics,
) {
    let cx = reader.cx;
    let own = |f: FunctionId| {
        out.components.position(f.as_u32()).map_or(OwnProperties::NOTHING, |at| own[at])
    };
    let limited: Map<FunctionId, u32> = (out.entries.iter())
        .filter_map(|&e| Some((e, own(e).limit?.into())))
        .filter(|(e, limit)| out.depth(*e).registers > *limit)
        .collect();
    if limited.is_empty() {
        return;
    }
    let name = |f: FunctionId| text(cx.resolution.get(cx.graph.symbol(f)).name);
    let mut current: Map<FunctionId, u32> =
        limited.keys().map(|&e| (e, own(e).registers)).collect();
    let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
    let lowest = limited.values().copied().min().unwrap_or(0);
    for &function in &reader.merged.function_order {
        let OwnProperties { registers, is_entry, .. } = own(function);
        if is_entry || registers <= lowest {
            continue;
        }
        for kernel in callers.entries_reaching(&[function]).into_iter().rev() {
            let (Some(&limit), Some(count)) = (limited.get(&kernel), current.get_mut(&kernel))
            else {
                continue;
            };
            if registers <= *count {
                continue;
            }
            *count = registers;
            if registers > limit {
                let (kernel, callee) = (name(kernel), name(function));
                let message = format!(
                    "entry function '{kernel}' with max regcount of {limit} calls function \
                     '{callee}' with regcount of {registers}"
                );
                diags.push(
                    Diagnostic::error(Code::TooManyRegisters, message)
                        .about(callee)
                        .in_kernel(kernel),
                );
            }
        }
    }
}

/// Stacks that the compiler already called unbounded need no warning.
/// [`recursion`, `recursion-frames`]
fn warn_about_stacks(
    cx: Analysis<'_, '_>,
    own: &[OwnProperties],
    out: &Properties,
    diags: &mut Diagnostics,
) {
    if cx.config.suppress_stack_size_warning {
        return;
    }
    let is_known =
        |f: FunctionId| out.components.position(f.as_u32()).is_some_and(|at| own[at].unbounded);
    let recursive = |entry: &FunctionId| out.depth(*entry).recursive && !is_known(*entry);
    for &entry in out.entries.iter().filter(|entry| recursive(entry)) {
        let name = text(cx.resolution.get(cx.graph.symbol(entry)).name);
        diags.push(
            Diagnostic::warning(
                Code::UnknownStack,
                format_args!(
                    "Stack size for entry function '{name}' cannot be statically determined"
                ),
            )
            .in_kernel(name.clone()),
        );
    }
}
