//! Bank 2: the compiler's own constants of a function.

use super::{Context, InputSection, Merger};
use crate::callgraph::{Callers, FunctionId};
use crate::object::{ObjectId, SectionClass};
use crate::resolve::{Role, SymbolId};
use cubin::SectionRef;
use hashbrown::HashSet;

/// Functions whose bank 2 is not empty in the end: the copy in force has data, or
/// one that lost against it, or it is a kernel that gets data of functions. A
/// replacement clears what earlier files brought.
pub(super) fn functions_with_data(
    cx: Context<'_, '_>,
) -> HashSet<SymbolId, foldhash::fast::FixedState> {
    let mut out = HashSet::default();
    let mut given = Vec::new();
    let mut cleared = false;
    for (i, input) in cx.objects.iter().enumerate() {
        let object = ObjectId(i as u32);
        for (section, class) in input.classified() {
            let SectionClass::FunctionConstant { bank: 2, function } = class else { continue };
            let Some(id) = cx.resolution.id(object, function) else { continue };
            let known = cx.resolution.get(id);
            let Some(at) = known.definition else { continue };
            if at.object > object {
                cleared |= known.entry;
                continue;
            }
            out.insert(id);
            let named = input.cubin.symbols().any(|s| s.shndx == section.index.0 && s.size > 0);
            if at.object == object && !known.entry && named {
                given.extend(cx.graph.function(id).filter(|&f| cx.reach.is_live(f)));
            }
        }
    }
    if cleared {
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        let kernels = callers.entries_reaching(&given);
        out.extend(kernels.iter().map(|&kernel| cx.graph.symbol(kernel)));
    }
    out
}

impl<'a> Merger<'a, '_> {
    /// Bank 2 data of one input's copy of a function. What a device function's
    /// symbols lead to (`by_symbol`) is collected for its kernels; what follows
    /// for the same function joins it. Quirk: data without a selected symbol, as
    /// that of a copy that lost, is an ordinary section if there is nothing to join.
    pub(super) fn bank2_data(
        &mut self,
        object: ObjectId,
        input: &SectionRef<'a>,
        id: SymbolId,
        by_symbol: bool,
    ) {
        let cx = self.cx;
        let Some(function) = cx.graph.function(id) else { return };
        let known = cx.resolution.get(id);
        let own = known.entry || cx.config.relocatable;
        // Data that a replacement clears leaves no trace, but for the place of a
        // kernel's section and the alignment.
        if known.entry && !cx.config.relocatable && !self.with_bank2.contains(&id) {
            return;
        }
        let section = self.out.function_sections[function.0 as usize].constant2;
        let joins = self.out.bank2.contains_key(&function);
        if own || section.is_some() || !joins && !by_symbol {
            let cleared = known.definition.is_some_and(|d| object < d.object);
            if cleared && !own {
                return;
            }
            let section = self.per_function(section, id, input, false);
            self.out.function_sections[function.0 as usize].constant2 = Some(section);
            self.place(section, object, input);
            return;
        }
        if !joins {
            self.out.bank2_order.push(function);
        }
        let from = InputSection { object, section: input.index.0 };
        let bank = self.out.bank2.entry(function).or_default();
        if bank.parts.last() != Some(&from) {
            bank.parts.push(from);
            bank.align = bank.align.max(input.align);
        }
    }

    /// Whether a device function gives its kernels anything. Quirk: one whose data
    /// a replacement cleared still makes their banks end alike.
    pub(super) fn gives_bank2(
        &self,
        function: FunctionId,
        kernels: &[FunctionId],
        filled: &HashSet<FunctionId, foldhash::fast::FixedState>,
    ) -> bool {
        let has_data = |kernel: &FunctionId| {
            let own = self.out.function_sections[kernel.0 as usize].constant2;
            filled.contains(kernel) || own.is_some_and(|s| self.out.sections[s.0 as usize].size > 0)
        };
        self.out.bank2.get(&function).is_some_and(|bank| !bank.parts.is_empty())
            || kernels.iter().any(has_data)
    }

    /// Whether the symbol's section is bank 2 of a copy that lost. It does not
    /// lead to the section unless there is one already.
    pub(super) fn is_lost_bank2(&self, object: ObjectId, section: u32) -> bool {
        let class = self.cx.objects[object.0 as usize].classes.get(section as usize);
        matches!(class, Some(SectionClass::FunctionConstant { bank: 2, .. }))
            && (self.cx.owner(object, section))
                .is_some_and(|(id, at)| self.cx.resolution.role(id, at, true) == Role::Discarded)
    }
}
