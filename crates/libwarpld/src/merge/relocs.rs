//! Pass 5: relocation sections.

use super::bank2::Places;
use super::reloc_scan::{Found, scan_relocs};
use super::steps::Relocs;
use super::{Merger, NewContent, NewSection, Text};
use crate::ids::{FunctionId, InputSection, ObjectId, SectionId, SymbolId};
use crate::name_hash::NameHash;
use crate::object::MergeClass;
use crate::resolve::Role;
use cubin::SectionType;
use cubin::consts::shf;
use cubin::names::prefix;

impl<'a> Merger<'a, '_> {
    pub(super) fn relocations(&mut self, object: ObjectId, relocs: &Relocs) {
        let Some((function, role)) = relocs.owner else {
            if let Some(section) = self.out.placements.section(object, relocs.target) {
                self.add_relocs(section, object, relocs, true);
            }
            return;
        };
        let from = InputSection { object, section: relocs.section };
        let place = self.out.placements.section(object, relocs.target);
        let keeps = self.cx.dialect.keeps_relocations_of_discarded_tables();
        // The jump tables of a discarded duplicate that were kept, see `function_data`, keep their
        // relocations.
        let stray = keeps && role == Role::Discarded && place.is_some();
        if role == Role::Discarded && !stray {
            self.jump_table_relocs(function, from, relocs.target);
            return;
        }
        let out = match place {
            Some(_) => place,
            None if relocs.of_code => self.out.function_sections[function].text.get(),
            None => None,
        };
        // Those of Mercury's tables stay although the table was replaced.
        let stays = stray || keeps && !relocs.of_code;
        match out {
            Some(out) => self.add_relocs(out, object, relocs, role == Role::Selected || stays),
            None => self.jump_table_relocs(function, from, relocs.target),
        }
    }

    fn add_relocs(&mut self, target: SectionId, object: ObjectId, relocs: &Relocs, selected: bool) {
        let from = InputSection { object, section: relocs.section };
        let rela = relocs.rela;
        let text = self.function_of_text(target);
        let found = self.scan_relocs(target, from, relocs, text.is_some());
        if !found.any {
            return;
        }
        let looked_up = match rela {
            true => found.zero_addend && self.cx.dialect.names_missing_rel(),
            false => self.cx.config.force_rela,
        };
        if looked_up && !rela {
            self.mention_rel(target, text);
        }
        let section = self.reloc_section(target, text, rela || self.cx.config.force_rela);
        if looked_up && rela {
            self.mention_rel(target, text);
        }
        if !selected {
            return;
        }
        self.out.sections[section].add_source(from);
    }

    /// Results of scanning the relocations, if their target is the expected one.
    fn scan_relocs(
        &self,
        target: SectionId,
        from: InputSection,
        relocs: &Relocs,
        of_text: bool,
    ) -> Found {
        match relocs.found {
            Some(found) if of_text == relocs.of_code => found,
            _ => {
                let input = self.cx.objects[from.object].section(from.section);
                let name = (!of_text).then(|| self.out.section_name(target));
                let nothing = Found { any: false, zero_addend: false };
                input
                    .map_or(nothing, |input| scan_relocs(self.cx, from.object, &input, name, false))
            }
        }
    }

    /// The name of a REL section, which is looked up again and again. [`call-across-files`]
    fn mention_rel(&mut self, target: SectionId, text: Option<(SymbolId, FunctionId)>) {
        if self.name_rel(target) {
            return;
        }
        let before = self.out.creation_index;
        if let Some((id, function)) = text {
            self.mention(self.new_name(prefix::REL_TEXT, id, function));
        } else {
            let name = self.out.section_name(target).to_vec();
            self.mention(Text::prefixed(prefix::REL, &name, NameHash::of(&name)));
        }
        if self.out.creation_index > before {
            self.out.creation_index = before + self.cx.numbers_of_rel_name();
        }
    }

    /// Whether the name of a section's relocations without addends was added, which it is now.
    fn name_rel(&mut self, target: SectionId) -> bool {
        let (word, bit) = (target.index() / 64, target.as_u32() % 64);
        if word >= self.rel_named.len() {
            self.rel_named.resize(word + 1, 0);
        }
        let named = &mut self.rel_named[word];
        let before = *named >> bit & 1 != 0;
        *named |= 1 << bit;
        before
    }

    /// The function whose code a section is, named after it.
    fn function_of_text(&self, section: SectionId) -> Option<(SymbolId, FunctionId)> {
        let out = &self.out.sections[section];
        let id = out.function.get().filter(|_| out.kind == SectionType::PROGBITS)?;
        let function = self.cx.graph.function(id)?;
        let is_text = self.out.function_sections[function].text.get() == Some(section);
        is_text.then_some((id, function))
    }

    /// Gets or creates the section of relocations for another one, the code of a function
    /// as a rule.
    fn reloc_section(
        &mut self,
        target: SectionId,
        text: Option<(SymbolId, FunctionId)>,
        rela: bool,
    ) -> SectionId {
        let out = &self.out.sections[target];
        if let Some(known) = if rela { out.rela() } else { out.rel() } {
            return known;
        }
        let function = out.function.get();
        let named = !rela && self.name_rel(target);
        let prefix: &[u8] = if rela { prefix::RELA } else { prefix::REL };
        let (kind, entsize) = if rela { (SectionType::RELA, 24) } else { (SectionType::REL, 16) };
        // Most are for code, whose name need not be looked up.
        let other: Vec<u8>;
        let name = match (text, rela) {
            (Some((id, function)), true) => self.new_name(prefix::RELA_TEXT, id, function),
            (Some((id, _)), false) if named => self.known_name(prefix::REL_TEXT, id),
            (Some((id, function)), false) => self.new_name(prefix::REL_TEXT, id, function),
            (None, _) => {
                other = self.out.section_name(target).to_vec();
                Text::prefixed(prefix, &other, NameHash::of(&other))
            }
        };
        let section = self.create(NewSection {
            name,
            kind,
            flags: shf::INFO_LINK,
            align: 8,
            entsize,
            content: NewContent::Relocs { target },
            has_symbol: false,
            function,
        });
        let out = &mut self.out.sections[target];
        let first = out.rel().is_none() && out.rela().is_none();
        out.set_relocs(rela, section);
        if self.cx.config.preserve_relocs && first {
            let name = self.out.section_name(target).to_vec();
            self.resolved_section(target, &name, function);
        }
        section
    }

    /// Applied relocations are kept by name: functions of one name share the section.
    /// [`preserve-same-named-statics`, `preserve-long-static`, `preserve-weak-kernel-loses`]
    fn resolved_section(&mut self, target: SectionId, name: &[u8], function: Option<SymbolId>) {
        if let Some(&known) = self.resolved_by_name.get(name) {
            self.out.sections[known].add_resolved(target);
            return;
        }
        let section = self.create(NewSection {
            name: Text::prefixed(prefix::RESOLVED_RELA, name, NameHash::of(name)),
            kind: SectionType::CUDA_RESOLVED_RELA,
            flags: shf::INFO_LINK,
            align: 8,
            entsize: 24,
            content: NewContent::ResolvedRelocs,
            has_symbol: false,
            function,
        });
        self.out.sections[section].add_resolved(target);
        self.resolved_by_name.insert(name.to_vec(), section);
    }

    /// Jump tables of a device function's Mercury code have relocations, which
    /// go where the table is copied to. [`jump-table-in-function`]
    fn jump_table_relocs(&mut self, function: FunctionId, from: InputSection, target: u32) {
        let table = InputSection { object: from.object, section: target };
        let parts = self.out.bank2.get(&function).map(|bank| bank.offsets(self.cx));
        let laid_over =
            self.out.bank2.get(&function).filter(|bank| bank.laid_over.contains(&table));
        let place = parts.and_then(|p| p.into_iter().find(|(part, _)| *part == table));
        let place = place.or(laid_over.map(|_| (table, 0)));
        // A kernel's table that a replacement cleared leaves only a name, and so does that of a duplicate
        // of which nothing is left. [`preserve-table-loses`]
        let class = self.cx.objects[from.object].classes[target as usize];
        let is_emptied = || self.bank2_places.get(&function).is_some_and(Places::is_emptied);
        let cleared = (self.cx.resolution.get(self.cx.graph.symbol(function)).entry
            || is_emptied())
            && self.cx.dialect.forgets_cleared_tables()
            && !matches!(class, MergeClass::Text(_));
        match (place, self.out.bank2.get_mut(&function)) {
            (Some((_, offset)), Some(bank)) => {
                // For nvlink it is a section, which goes with the table's own.
                self.out.creation_index += u32::from(bank.relocs.is_empty());
                bank.relocs.push((from, offset));
            }
            _ if cleared => {}
            _ => return,
        }
        if self.cx.config.preserve_relocs {
            // The name of a section that is never created.
            let input = &self.cx.objects[from.object];
            let name = input.cubin.section(target).map_or(&b""[..], |s| s.name);
            self.mention(Text::prefixed(prefix::RESOLVED_RELA, name, NameHash::of(name)));
        }
    }

    /// Makes room for the relocations of a function's tables in a kernel's bank.
    pub(super) fn copied_relocations(&mut self, function: FunctionId, bank: SectionId) {
        let given = self.out.bank2.get(&function);
        if given.is_some_and(|given| !given.relocs.is_empty() && !given.parts.is_empty()) {
            self.reloc_section(bank, None, true);
        }
    }
}
