//! Collects a report from the results of the phases.

use super::{CallGraphNode, Culprit, Data, KernelUse, LinkReport, MemoryUse, Removal};
use crate::callgraph::reach::Pruning;
use crate::callgraph::scc::Components;
use crate::demangle::text;
use crate::ids::{FunctionId, SectionId, SymbolId};
use crate::linked::Linked;
use crate::merge::Content;
use crate::write::extent;
use cubin::consts::shf;
use cubin::names;
use cubin::{Attr, SymbolType, info};

/// Collects everything that can be reported before the file is planned.
pub fn collect(linked: Linked<'_, '_>) -> LinkReport {
    let collector = Collector { linked };
    let callgraph = collector.callgraph();
    LinkReport {
        mercury: linked.cx.dialect.makes_capsules(),
        memory: collector.memory(),
        kernels: collector.kernels(&callgraph),
        removal: match linked.cx.reach.pruning {
            Pruning::None => Removal::Unreachable,
            Pruning::HostReferences => Removal::HostReferences,
            Pruning::ByName => Removal::ByName,
        },
        data: collector.data(),
        callgraph,
        map: None,
        detail: None,
    }
}

struct Collector<'a, 'o> {
    linked: Linked<'a, 'o>,
}

/// The largest value among the callees, and the function that has it.
#[derive(Clone, Copy, Default)]
struct Peak {
    value: u32,
    function: u32,
}

impl Peak {
    fn raise(&mut self, other: Peak) {
        if other.value > self.value {
            *self = other;
        }
    }
}

/// What a function and everything it reaches needs.
#[derive(Clone, Copy, Default)]
struct Needs {
    registers: Peak,
    barriers: Peak,
    stack: u32,
    /// The callee with the deepest stack.
    deepest: Option<u32>,
    recursive: bool,
}

impl Collector<'_, '_> {
    fn name(&self, symbol: SymbolId) -> String {
        text(self.linked.cx.resolution.get(symbol).name)
    }

    fn file(&self, symbol: SymbolId) -> Option<String> {
        let at = self.linked.cx.resolution.get(symbol).definition?;
        Some(self.linked.cx.objects.get(at.object)?.name.to_owned())
    }

    fn size_of_sections(&self, names: &[&[u8]]) -> u64 {
        let merged = self.linked.merged;
        merged
            .sections
            .ids()
            .filter(|&id| {
                matches!(merged.section(id).content(), Content::Chunks(_))
                    && names.contains(&merged.section_name(id))
            })
            .map(|id| self.linked.layout.extent(merged, id).0)
            .fold(0, u64::saturating_add)
    }

    fn memory(&self) -> MemoryUse {
        MemoryUse {
            global: self.size_of_sections(&[names::GLOBAL, names::GLOBAL_INIT]),
            constant: self
                .linked
                .merged
                .constant3
                .map(|id| self.linked.layout.extent(self.linked.merged, id).0)
                .filter(|&size| size != 0),
        }
    }

    fn callgraph(&self) -> Vec<CallGraphNode> {
        let graph = self.linked.cx.graph;
        graph.functions.ids().map(|f| self.node(f)).collect()
    }

    fn node(&self, function: FunctionId) -> CallGraphNode {
        let cx = self.linked.cx;
        let id = cx.graph.symbol(function);
        let symbol = cx.resolution.get(id);
        let own = symbol.definition.and_then(|at| {
            let object = cx.objects.get(at.object)?;
            Some((object, at.symbol))
        });
        CallGraphNode {
            name: self.name(id),
            removed: !cx.reach.is_live(function),
            entry: symbol.entry,
            address_taken: cx
                .graph
                .address_taken
                .get(function)
                .is_some_and(|taken| taken.is_some()),
            registers: own.map(|(object, symbol)| object.registers(symbol)),
            frame: own.map_or(0, |(object, symbol)| object.function_info(symbol).frame),
            barriers: self.barriers(function).max(self.barriers_in_flags(function)),
            size: symbol.definition.and_then(|at| cx.input_symbol(at)).map_or(0, |s| s.size),
            file: self.file(id),
            callees: self.callees(function),
        }
    }

    /// Calls in input order, then the possible targets of indirect calls, the last of these first;
    /// nvlink prepends each, so the result is in reverse (kernels with calls through two to four
    /// types of pointers).
    fn callees(&self, function: FunctionId) -> Vec<usize> {
        let graph = self.linked.cx.graph;
        let (direct, indirect): (Vec<u32>, Vec<u32>) = graph
            .successors()
            .of(function.as_u32())
            .iter()
            .partition(|&&n| (n as usize) < graph.len());
        let reached = indirect.iter().rev().flat_map(|&node| graph.successors().of(node));
        let mut callees: Vec<usize> = direct.iter().chain(reached).map(|&f| f as usize).collect();
        callees.reverse();
        callees
    }

    /// Number of handles of one kind in the kernel's bank. [`unasked-kernels-kept`]
    fn images(&self, function: FunctionId, kind: SymbolType) -> u32 {
        let (merged, images) = (self.linked.merged, &self.linked.layout.images);
        let bank = merged.function_sections.get(function).and_then(|s| s.constant0.get());
        if bank.is_none_or(|bank| !images.banks.contains_key(&bank)) {
            return 0;
        }
        images.slots.iter().filter(|slot| slot.is_for(kind)).count() as u32
    }

    fn barriers(&self, function: FunctionId) -> u32 {
        let merged = self.linked.merged;
        let info = merged.function_sections.get(function).and_then(|s| s.info.get());
        let Some(Content::Attributes(sources)) = info.map(|id| merged.section(id).content()) else {
            return 0;
        };
        let objects = self.linked.cx.objects;
        sources
            .iter()
            .filter_map(|from| objects.get(from.object)?.cubin.section(from.section))
            .flat_map(|section| info::records(section.data).map_while(Result::ok))
            .filter(|record| record.attr() == Attr::NUM_BARRIERS)
            .map(|record| u32::from(record.value))
            .max()
            .unwrap_or(0)
    }

    /// Old objects have the barrier count in the flags of the text section.
    fn barriers_in_flags(&self, function: FunctionId) -> u32 {
        let cx = self.linked.cx;
        let section = cx.resolution.get(cx.graph.symbol(function)).definition.and_then(|at| {
            let section = cx.input_symbol(at)?.shndx;
            cx.objects.get(at.object)?.cubin.section(section)
        });
        section.map_or(0, |s| ((s.flags & shf::BARRIERS_MASK) >> shf::BARRIERS_SHIFT) as u32)
    }

    /// All kernels of the output, requested or not, in reverse order of creation
    /// (`unasked-kernels-kept`, `kernels-used-declared-first`).
    fn kernels(&self, nodes: &[CallGraphNode]) -> Vec<KernelUse> {
        let needs = self.needs(nodes);
        let (graph, merged) = (self.linked.cx.graph, self.linked.merged);
        let text = |f: FunctionId| merged.function_sections.get(f)?.text.get();
        let kernels = merged.function_order.iter().filter(|&&f| graph.is_entry(f));
        let mut kernels: Vec<(SectionId, FunctionId)> = kernels
            .filter(|&&f| graph.is_defined(f))
            .filter_map(|&f| Some((text(f)?, f)))
            .collect();
        kernels.sort_unstable_by(|a, b| b.cmp(a));
        let kernel = |&(_, function): &(SectionId, FunctionId)| {
            let index = function.index();
            Some(self.kernel(function, nodes.get(index)?, nodes, needs.get(index)?, &needs))
        };
        kernels.iter().filter_map(kernel).collect()
    }

    fn kernel(
        &self,
        function: FunctionId,
        node: &CallGraphNode,
        nodes: &[CallGraphNode],
        needed: &Needs,
        needs: &[Needs],
    ) -> KernelUse {
        let culprit = |peak: Peak, own: u32| {
            let Peak { value, function } = peak;
            (value > own).then_some(Culprit { value, function: function as usize })
        };
        // As in the output: for the only kernel, all functions count, not just those it reaches
        // (`barriers-one-kernel`).
        let changes = self.linked.properties.attributes.get(&function);
        let written = changes.and_then(|c| c.value(Attr::NUM_BARRIERS));
        let barriers = written.map_or(node.barriers, u32::from);
        let from = culprit(needed.barriers, node.barriers);
        KernelUse {
            name: node.name.clone(),
            index: function.index(),
            registers: needed.registers.value,
            registers_from: culprit(needed.registers, node.registers.unwrap_or(0)),
            barriers,
            barriers_from: from.filter(|from| from.value == barriers),
            stack: if needed.recursive { 0 } else { needed.stack.into() },
            own_stack: node.frame.into(),
            recursive: needed.recursive,
            deepest_chain: chain(function.as_u32(), needs, nodes.len()),
            shared: self.shared(function),
            constants: self.constants(function),
            textures: self.images(function, SymbolType::CUDA_TEXTURE),
            surfaces: self.images(function, SymbolType::CUDA_SURFACE),
            samplers: self.images(function, SymbolType::CUDA_SAMPLER),
            ..KernelUse::default()
        }
    }

    /// The size of the kernel's section. Targets after sm_90 do not include the reserve in it.
    fn shared(&self, function: FunctionId) -> u64 {
        let config = self.linked.cx.config;
        let shared = &self.linked.layout.shared;
        let sections = self.linked.merged.function_sections.get(function);
        let section = sections.and_then(|sections| sections.shared.get());
        let placed = section.and_then(|section| shared.kernels.get(&section));
        match placed.filter(|_| self.linked.cx.dialect.reports_reserved_shared()) {
            Some(&(size, _)) => size,
            None if config.relocatable => section.map_or(0, |id| extent(self.linked, id).0),
            None => shared.static_bytes.get(&function).copied().unwrap_or(0),
        }
    }

    /// Constant banks 0 and 2; Mercury has only the latter.
    fn constants(&self, function: FunctionId) -> Vec<(u8, u64)> {
        let merged = self.linked.merged;
        let Some(sections) = merged.function_sections.get(function) else {
            return Vec::new();
        };
        let size = |id: SectionId| self.linked.layout.extent(merged, id).0;
        let parameters =
            sections.constant0.get().filter(|_| self.linked.cx.dialect.has_parameter_bank());
        let banks = [(0, parameters), (2, merged.constant2.get(&function).copied())];
        banks.into_iter().filter_map(|(bank, id)| Some((bank, size(id?)))).collect()
    }

    /// One pass from callees to callers. In a relocatable link, kernels show only their own needs;
    /// the final link propagates them.
    fn needs(&self, nodes: &[CallGraphNode]) -> Vec<Needs> {
        let graph = self.linked.cx.graph.successors();
        let own = |index: usize| {
            let Some(node) = nodes.get(index) else { return Needs::default() };
            let peak = |value| Peak { value, function: index as u32 };
            Needs {
                registers: peak(node.registers.unwrap_or(0)),
                barriers: peak(node.barriers),
                stack: node.frame,
                ..Needs::default()
            }
        };
        if self.linked.cx.config.relocatable {
            return (0..nodes.len()).map(|i| Needs { stack: 0, ..own(i) }).collect();
        }
        let components = Components::new(graph);
        let mut needs = vec![Needs::default(); graph.len()];
        for component in 0..components.len() {
            let members = components.members(component);
            let mut joint = Needs { recursive: members.len() > 1, ..Needs::default() };
            let mut below = 0;
            for &node in members {
                let mine = own(node as usize);
                joint.registers.raise(mine.registers);
                joint.barriers.raise(mine.barriers);
                joint.stack = joint.stack.max(mine.stack);
                for &callee in graph.of(node) {
                    let (Some(&theirs), Some(&of)) =
                        (needs.get(callee as usize), components.of.get(callee as usize))
                    else {
                        continue;
                    };
                    if of as usize == component {
                        joint.recursive = true;
                        continue;
                    }
                    joint.registers.raise(theirs.registers);
                    joint.barriers.raise(theirs.barriers);
                    joint.recursive |= theirs.recursive;
                    if theirs.stack > below {
                        below = theirs.stack;
                        joint.deepest = Some(callee);
                    }
                }
            }
            joint.stack = joint.stack.saturating_add(below);
            for &node in members {
                if let Some(slot) = needs.get_mut(node as usize) {
                    *slot = joint;
                }
            }
        }
        // Nothing is added up for a kernel that nobody asked for (`kernel-kept-by-address`).
        let cx = self.linked.cx;
        for function in cx.graph.functions.ids().filter(|&f| cx.reach.is_unrequested(f)) {
            if let Some(slot) = needs.get_mut(function.index()) {
                *slot = own(function.index());
            }
        }
        needs
    }

    /// Variables that are defined or referenced.
    fn data(&self) -> Vec<Data> {
        let cx = self.linked.cx;
        let ids = cx.resolution.symbols.ids();
        ids.filter(|&id| !cx.resolution.get(id).function && !cx.resolution.get(id).name.is_empty())
            .map(|id| self.variable(id))
            .collect()
    }

    fn variable(&self, id: SymbolId) -> Data {
        let (cx, merged) = (self.linked.cx, self.linked.merged);
        let address = self.linked.layout.address(cx, merged, id);
        let definition = cx.resolution.get(id).definition;
        Data {
            name: self.name(id),
            file: self.file(id),
            section: address.as_ref().map(|a| text(merged.section_name(a.section))),
            offset: address.map_or(0, |a| a.value),
            size: definition.and_then(|at| cx.input_symbol(at)).map_or(0, |s| s.size),
        }
    }
}

/// The call chain to the deepest stack, without the kernel.
fn chain(from: u32, needs: &[Needs], functions: usize) -> Vec<usize> {
    let mut chain = Vec::new();
    let mut at = needs.get(from as usize).and_then(|n| n.deepest);
    while let Some(node) = at {
        if (node as usize) < functions {
            chain.push(node as usize);
        }
        at = needs.get(node as usize).and_then(|n| n.deepest);
    }
    chain
}
