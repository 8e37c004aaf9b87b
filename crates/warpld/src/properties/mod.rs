//! Properties of kernels that depend on what they call: registers, stack,
//! barriers and the other attributes that callees pass up.

mod attributes;
mod scc;

pub use attributes::{EntryAttributes, Record};

use crate::callgraph::FunctionId;
use crate::diag::{Diagnostic, Diagnostics};
use crate::merge::{Context, Merged};
use crate::object::eiattr;
use crate::resolve::{SymbolId, text};
use hashbrown::HashMap;
pub use scc::Components;

/// What the call graph says about each function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Most registers of the function and all it may call.
    pub registers: u32,
    /// Deepest stack.
    pub stack: u32,
    /// A recursion is reachable: the stack has no bound.
    pub recursive: bool,
}

/// Properties of the link.
#[derive(Debug)]
pub struct Properties {
    /// By function.
    pub depth: Vec<Depth>,
    /// Changed attributes of kernels (and of aliased functions).
    pub attributes: HashMap<FunctionId, EntryAttributes, foldhash::fast::FixedState>,
    /// Live kernels in creation order.
    pub entries: Vec<FunctionId>,
}

/// MIN_STACK_SIZE of a kernel that recurses.
pub const UNKNOWN_STACK: u32 = u32::MAX;

impl Properties {
    /// MIN_STACK_SIZE of a kernel.
    pub fn min_stack(&self, function: FunctionId) -> u32 {
        let depth = self.depth[function.0 as usize];
        if depth.recursive { UNKNOWN_STACK } else { depth.stack }
    }
}

/// Computes everything in one pass over the strongly connected components.
pub fn properties(cx: Context<'_, '_>, merged: &Merged, diags: &mut Diagnostics) -> Properties {
    let entries: Vec<FunctionId> = (merged.function_order.iter().copied())
        .filter(|&f| {
            let symbol = cx.resolution.get(cx.graph.symbol(f));
            symbol.entry && symbol.definition.is_some()
        })
        .collect();
    let mut out = Properties { depth: Vec::new(), attributes: HashMap::default(), entries };
    if cx.config.relocatable {
        return out;
    }
    let components = Components::new(cx.graph.successors());
    out.depth = depths(cx, &components);
    out.attributes = attributes::propagate(cx, merged, &out, &components);
    warn_about_stacks(cx, &out, diags);
    out
}

fn depths(cx: Context<'_, '_>, components: &Components) -> Vec<Depth> {
    let graph = cx.graph.successors();
    let mut depth = vec![Depth::default(); graph.len()];
    for component in 0..components.len() {
        let members = components.members(component);
        let mut joint = Depth { recursive: members.len() > 1, ..Depth::default() };
        for &node in members {
            for &callee in graph.of(node) {
                if components.of[callee as usize] as usize == component {
                    joint.recursive = true;
                    continue;
                }
                let below = depth[callee as usize];
                joint.registers = joint.registers.max(below.registers);
                joint.stack = joint.stack.max(below.stack);
                joint.recursive |= below.recursive;
            }
        }
        let mut frame = 0;
        for &node in members {
            let own = own_depth(cx, node);
            joint.registers = joint.registers.max(own.registers);
            frame = frame.max(own.stack);
        }
        joint.stack = joint.stack.saturating_add(frame);
        for &node in members {
            depth[node as usize] = joint;
        }
    }
    depth.truncate(cx.graph.len());
    depth
}

/// Registers and frame of a function alone; prototypes have none.
fn own_depth(cx: Context<'_, '_>, node: u32) -> Depth {
    let symbol: Option<&SymbolId> = cx.graph.functions.get(node as usize);
    let Some(at) = symbol.and_then(|&s| cx.resolution.get(s).definition) else {
        return Depth::default();
    };
    let object = &cx.objects[at.object.0 as usize];
    Depth {
        registers: object.regcount.get(&at.symbol).copied().unwrap_or(0),
        stack: object.frame_size.get(&at.symbol).copied().unwrap_or(0),
        recursive: false,
    }
}

fn warn_about_stacks(cx: Context<'_, '_>, out: &Properties, diags: &mut Diagnostics) {
    if cx.config.suppress_stack_size_warning {
        return;
    }
    for &entry in out.entries.iter().filter(|e| out.depth[e.0 as usize].recursive) {
        let name = text(cx.resolution.get(cx.graph.symbol(entry)).name);
        diags.push(Diagnostic::warning(
            "unknown-stack",
            format_args!("Stack size for entry function '{name}' cannot be statically determined"),
        ));
    }
}

/// Code that records of one kernel's registers and stack carry.
pub fn is_register_or_stack(code: u8) -> bool {
    matches!(code, eiattr::REGCOUNT | eiattr::FRAME_SIZE | eiattr::MIN_STACK_SIZE)
}
