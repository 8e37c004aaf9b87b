//! What is where in constant, shared and global memory.

use crate::callgraph::callers::Callers;
use crate::collections::Map;
use crate::demangle::text;
use crate::ids::{FunctionId, SectionId, SymbolId};
use crate::linked::Linked;
use crate::merge::Content;
use crate::usage::Usage;
use cubin::attr::{KernelParam, ParamBank};
use cubin::{Attr, info, names};

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// A constant bank.
    Constant(u8),
    /// Shared memory of a kernel.
    Shared,
    /// Global memory.
    Global,
}

/// What occupies a part of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// A variable.
    Variable,
    /// A variable that several kernels have at the same place.
    Common,
    /// An array whose size the launch sets; it starts here.
    Dynamic,
    /// What the system keeps for itself.
    System,
    /// A parameter of the kernel.
    Parameter,
    /// A texture, sampler or surface handle.
    Handle,
    /// Constants that the compiler made for a function.
    Compiler,
}

/// A part of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPart {
    /// Its name; for the compiler's constants, that of their function.
    pub name: String,
    /// What it is.
    pub occupant: Occupant,
    /// The input it comes from, by its position among the inputs of the map.
    pub input: Option<usize>,
    /// Where it starts.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// One memory and what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMap {
    /// The output section.
    pub section: String,
    /// The kind.
    pub space: Space,
    /// The kernel that has it, by its index in the call graph; `None` if all share it.
    pub kernel: Option<usize>,
    /// Bytes.
    pub size: u64,
    /// Its parts by offset.
    pub parts: Vec<MemoryPart>,
}

/// All memories: those of the program, then those of each kernel. A relocatable output has no
/// shared memory yet.
pub(super) fn memory(linked: Linked<'_, '_>, usage: &Usage) -> Vec<MemoryMap> {
    let collector = Collector { linked };
    let mut maps = collector.of_program();
    let (merged, graph) = (linked.merged, linked.cx.graph);
    let mut shared = match linked.cx.config.relocatable {
        true => Map::default(),
        false => collector.shared(usage),
    };
    for &kernel in merged.function_order.iter().filter(|&&f| graph.is_entry(f)) {
        maps.extend(collector.parameters(kernel));
        maps.extend(collector.compiler_constants(kernel));
        let parts = shared.remove(&kernel).unwrap_or_default();
        maps.extend(collector.shared_of(kernel, parts));
    }
    for map in &mut maps {
        map.parts.sort_by_key(|part| part.offset);
    }
    maps.retain(|map| map.size > 0 || !map.parts.is_empty());
    maps
}

struct Collector<'a, 'o> {
    linked: Linked<'a, 'o>,
}

impl Collector<'_, '_> {
    fn part(&self, id: SymbolId, occupant: Occupant, offset: u64) -> MemoryPart {
        let symbol = self.linked.cx.resolution.get(id);
        let at = symbol.definition.unwrap_or(symbol.first);
        let input = self.linked.cx.unnamed_symbol(at);
        let size = match &symbol.common {
            Some(common) if symbol.definition.is_none() => common.size,
            _ => input.map_or(0, |input| input.size),
        };
        let name = text(symbol.name);
        MemoryPart { name, occupant, input: Some(at.object.index()), offset, size }
    }

    fn map(&self, id: SectionId, space: Space, kernel: Option<FunctionId>) -> MemoryMap {
        let merged = self.linked.merged;
        MemoryMap {
            section: text(merged.section_name(id)),
            space,
            kernel: kernel.map(FunctionId::index),
            size: self.linked.layout.extent(merged, id).0,
            parts: Vec::new(),
        }
    }

    /// Global memory and the constants of the program.
    fn of_program(&self) -> Vec<MemoryMap> {
        let Linked { cx, merged, layout, .. } = self.linked;
        let mut maps: Vec<(SectionId, MemoryMap)> = Vec::new();
        for id in merged.sections.ids() {
            let section = merged.section(id);
            if !section.is_chunks() || section.function.is_some() {
                continue;
            }
            let space = match section.bank() {
                Some(bank) => Space::Constant(bank),
                None if [names::GLOBAL, names::GLOBAL_INIT].contains(&merged.section_name(id)) => {
                    Space::Global
                }
                None => continue,
            };
            maps.push((id, self.map(id, space, None)));
        }
        let index: Map<SectionId, usize> = maps.iter().enumerate().map(|(i, m)| (m.0, i)).collect();
        let named = |id: &SymbolId| {
            let symbol = cx.resolution.get(*id);
            !symbol.function && !symbol.name.is_empty()
        };
        for id in cx.resolution.symbols.ids().filter(named) {
            let Some(at) = layout.address(cx, merged, id) else { continue };
            if let Some((_, map)) = index.get(&at.section).and_then(|&i| maps.get_mut(i)) {
                map.parts.push(self.part(id, Occupant::Variable, at.value));
            }
        }
        maps.into_iter().map(|(_, map)| map).collect()
    }

    /// Bank 0: what the driver puts before the parameters, the parameters, handles.
    fn parameters(&self, kernel: FunctionId) -> Option<MemoryMap> {
        let Linked { cx, merged, layout, .. } = self.linked;
        let sections = merged.function_sections.get(kernel)?;
        let bank = sections.constant0.get().filter(|_| cx.dialect.has_parameter_bank())?;
        let mut map = self.map(bank, Space::Constant(0), Some(kernel));
        let sources = match sections.info.get().map(|id| merged.section(id).content()) {
            Some(Content::Attributes(sources)) => sources,
            _ => &[],
        };
        let sections = sources
            .iter()
            .filter_map(|from| cx.objects.get(from.object)?.cubin.section(from.section));
        let records: Vec<info::Record<'_>> =
            sections.flat_map(|section| info::readable_records(section.data)).collect();
        let of = |attr: Attr| records.iter().filter(move |record| record.attr() == attr);
        let start = of(Attr::PARAM_CBANK).find_map(|record| record.payload_as::<ParamBank>());
        let start = start.map_or(0, |bank| u64::from(bank.offset.get()));
        if start > 0 {
            map.parts.push(plain("driver", Occupant::System, 0, start));
        }
        for param in of(Attr::KPARAM_INFO).filter_map(|record| record.payload_as::<KernelParam>()) {
            let name = format!("parameter {}", param.ordinal.get());
            let offset = start + u64::from(param.offset.get());
            map.parts.push(plain(&name, Occupant::Parameter, offset, param.size().into()));
        }
        if layout.images.banks.contains_key(&bank) {
            let handle = |slot: &crate::layout::Slot| MemoryPart {
                size: crate::layout::HANDLE,
                ..self.part(slot.symbol, Occupant::Handle, slot.offset)
            };
            map.parts.extend(layout.images.slots.iter().map(handle));
        }
        Some(map)
    }

    /// Bank 2: jump tables and the like, of the kernel and of what it calls.
    fn compiler_constants(&self, kernel: FunctionId) -> Option<MemoryMap> {
        let Linked { cx, merged, layout, .. } = self.linked;
        let bank = *merged.constant2.get(&kernel)?;
        let mut map = self.map(bank, Space::Constant(2), Some(kernel));
        for chunk in layout.chunks(merged, bank).iter() {
            let owner = cx.owner(chunk.from.object, chunk.from.section);
            map.parts.push(MemoryPart {
                name: owner.map_or_else(String::new, |(id, _)| text(cx.resolution.get(id).name)),
                occupant: Occupant::Compiler,
                input: Some(chunk.from.object.index()),
                offset: chunk.offset,
                size: cx.linked_bytes(chunk.from).len() as u64,
            });
        }
        Some(map)
    }

    /// What to add to offsets in shared memory.
    fn reserve(&self) -> u64 {
        let (dialect, config) = (self.linked.cx.dialect, self.linked.cx.config);
        match config.disable_smem_reservation && !dialect.always_shifts_shared() {
            true => 0,
            false => dialect.reserved_shared(),
        }
    }

    /// The objects in the shared memory of each kernel.
    fn shared(&self, usage: &Usage) -> Map<FunctionId, Vec<MemoryPart>> {
        let Linked { cx, merged, layout, .. } = self.linked;
        let reserve = self.reserve();
        let mut parts: Map<FunctionId, Vec<MemoryPart>> = Map::default();
        let mut objects: Vec<(SymbolId, SectionId, u64)> =
            layout.shared.objects.iter().map(|(&id, &(section, at))| (id, section, at)).collect();
        objects.sort_unstable();
        let mut arrays: Vec<SymbolId> = layout.shared.dynamic_symbols.keys().copied().collect();
        arrays.sort_unstable();
        if objects.is_empty() && arrays.is_empty() {
            return parts;
        }
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        for (id, section, at) in objects {
            let offset = at.saturating_add(reserve);
            let owner = merged.section(section).function.get().and_then(|f| cx.graph.function(f));
            if let Some(kernel) = owner {
                let part = self.part(id, Occupant::Variable, offset);
                parts.entry(kernel).or_default().push(part);
                continue;
            }
            for kernel in callers.entries_reaching(usage.functions(id)) {
                let part = self.part(id, Occupant::Common, offset);
                parts.entry(kernel).or_default().push(part);
            }
        }
        for id in arrays {
            let mut starts: Map<FunctionId, u64> = Map::default();
            for &function in usage.functions(id) {
                let Some(&start) = layout.shared.dynamic_start.get(&function) else { continue };
                for kernel in callers.entries_reaching(&[function]) {
                    let known = starts.entry(kernel).or_default();
                    *known = start.max(*known);
                }
            }
            for (kernel, start) in starts {
                let part = self.part(id, Occupant::Dynamic, start.saturating_add(reserve));
                parts.entry(kernel).or_default().push(MemoryPart { size: 0, ..part });
            }
        }
        parts
    }

    fn shared_of(&self, kernel: FunctionId, mut parts: Vec<MemoryPart>) -> Option<MemoryMap> {
        let Linked { merged, layout, .. } = self.linked;
        let section = merged.function_sections.get(kernel)?.shared.get()?;
        let &(size, _) = layout.shared.kernels.get(&section)?;
        let reserve = self.reserve();
        if reserve > 0 && size >= reserve {
            parts.push(plain("reserved by the system", Occupant::System, 0, reserve));
        }
        let map = self.map(section, Space::Shared, Some(kernel));
        Some(MemoryMap { size, parts, ..map })
    }
}

fn plain(name: &str, occupant: Occupant, offset: u64, size: u64) -> MemoryPart {
    MemoryPart { name: name.to_owned(), occupant, input: None, offset, size }
}
