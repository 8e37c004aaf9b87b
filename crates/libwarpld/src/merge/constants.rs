//! Drops constants if the bank is too small for all of them.

use super::{Content, Meaning, Merger, Text};
use crate::callgraph::reach::Pruning;
use crate::collections::Set;
use crate::dialect::target::MAX_CONSTANT;
use crate::ids::{OptId, OutSymbolId, SectionId, SymbolId};
use cubin::Binding;

impl Merger<'_, '_> {
    /// If bank 3 overflows in a link that prunes kernels, drops unrequested constants that neither
    /// live code nor other data refers to. Below the limit all stay.
    pub(super) fn unused_constants(&mut self) {
        let Some(bank) = self.out.constant3 else { return };
        let pruning = self.cx.reach.pruning != Pruning::None;
        if !pruning || self.out.section(bank).size() <= MAX_CONSTANT {
            return;
        }
        let mentioned = self.mentioned();
        let (mut used, mut gone) = (Vec::new(), Set::default());
        for i in self.out.symbols.ids() {
            let Meaning::Symbol(id) = self.out.symbols[i].meaning() else { continue };
            if !self.is_in_bank3(id) {
                continue;
            }
            let symbol = self.cx.resolution.get(id);
            let is_static = symbol.binding == Binding::LOCAL;
            if mentioned.contains(&id) || self.cx.reach.asks_for(symbol.name, is_static) {
                used.push(id);
            } else {
                self.out.symbol_of[id] = OptId::NONE;
                gone.insert(i);
            }
        }
        self.forget_names(&gone);
        if used.is_empty() {
            self.remove_name(bank);
        }
        self.out.used_constants = Some(used);
    }

    /// Dropped static constants leave no name behind; neither do others that have not got theirs
    /// yet.
    fn forget_names(&mut self, gone: &Set<OutSymbolId>) {
        let names_of = |staying: bool| {
            let symbols = self.out.symbols.enumerated();
            symbols.filter(move |(i, _)| gone.contains(i) != staying).map(|(_, symbol)| symbol.name)
        };
        let staying: Set<u32> = names_of(true).collect();
        let mut names: Vec<u32> =
            names_of(false).filter(|name| *name != 0 && !staying.contains(name)).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return;
        }
        let place_of = self.out.strings.remove_symbols(&names);
        for symbol in &mut self.out.symbols {
            symbol.name = place_of(symbol.name);
        }
    }

    /// A bank without constants leaves not even its name behind.
    fn remove_name(&mut self, bank: SectionId) {
        let text = self.out.section_name(bank).to_vec();
        let length = text.len() as u32 + 1;
        let (in_sections, in_symbols) = self.out.strings.remove(Text::new(&text));
        for section in self.out.sections.iter_mut().filter(|s| s.name > in_sections) {
            section.name -= length;
        }
        for symbol in self.out.symbols.iter_mut().filter(|s| s.name > in_symbols) {
            symbol.name -= length;
        }
    }

    fn is_in_bank3(&self, id: SymbolId) -> bool {
        let symbol = self.cx.resolution.get(id);
        let input = symbol.definition.and_then(|at| Some((at, self.cx.input_symbol(at)?)));
        input.is_some_and(|(at, input)| {
            let placed = self.out.placement(at.object, input.shndx);
            !symbol.function && placed.is_some_and(|p| Some(p.section) == self.out.constant3)
        })
    }

    /// The symbols that relocations of the output's code and data refer to.
    fn mentioned(&self) -> Set<SymbolId> {
        let mut out = Set::default();
        for section in &self.out.sections {
            let Content::Relocs(_, sources) = section.content() else { continue };
            for from in sources {
                let cubin = &self.cx.objects[from.object].cubin;
                let table = cubin.section(from.section).and_then(|s| cubin.reloc_table(&s).ok());
                for reloc in table.iter().flat_map(|table| table.iter()) {
                    out.extend(self.cx.resolution.id(from.object, reloc.symbol.0));
                }
            }
        }
        out
    }
}
