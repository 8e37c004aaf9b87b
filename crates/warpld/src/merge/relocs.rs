//! Pass 5: relocation sections.

use super::{Content, InputSection, Merger, NewSection, SectionId, Text};
use crate::callgraph::FunctionId;
use crate::lost::{is_user_constant, is_weak_sensitive_debug, lost_data};
use crate::name_hash::NameHash;
use crate::object::{ObjectId, SectionClass};
use crate::relocate::kind;
use crate::resolve::{Role, Sighting, SymbolId};
use cubin::consts::shf;
use cubin::{SectionRef, SectionType, SymbolType};
use smallvec::{SmallVec, smallvec};

/// What relocations of one input section are for.
struct RelocPlace {
    object: ObjectId,
    lost: Vec<std::ops::Range<u64>>,
    debug: bool,
    constant: bool,
    weak_sensitive: bool,
}

impl<'a, 'o> Merger<'a, 'o> {
    pub(super) fn relocations(&mut self, object: ObjectId) {
        let cx = self.cx;
        let input = &cx.objects[object.0 as usize];
        for (section, class) in input.of_class(|c| matches!(c, SectionClass::Reloc(_))) {
            let SectionClass::Reloc(target) = class else { continue };
            if section.size == 0 {
                continue;
            }
            let from = InputSection { object, section: section.index.0 };
            match cx.owner(object, target) {
                Some((id, at)) => {
                    let Some(function) = cx.graph.function(id) else { continue };
                    let role = cx.resolution.role(id, at, true);
                    // The jump tables of a losing duplicate that were kept, see
                    // `function_data`, keep their relocations.
                    let stray = cx.flavour.is_mercury()
                        && role == Role::Discarded
                        && self.out.placement(object, target).is_some();
                    let text_target =
                        matches!(input.classes[target as usize], SectionClass::Text(_));
                    if !cx.reach.is_live(function) {
                        if role == Role::Discarded {
                            continue;
                        } else if text_target {
                            self.ghost_relocs(function, object, &section);
                        } else {
                            self.ghost_table_relocs(function, input.classes[target as usize]);
                        }
                        continue;
                    }
                    if role == Role::Discarded && !stray {
                        self.jump_table_relocs(function, from, target);
                        continue;
                    }
                    let text = self.out.function_sections[function.0 as usize].text;
                    let out = match self.out.placement(object, target) {
                        Some(p) => Some(p.section),
                        None if text_target => text,
                        None => None,
                    };
                    // Those of Mercury's tables stay although the table was replaced.
                    let stays = stray || cx.flavour.is_mercury() && !text_target;
                    if let Some(out) = out {
                        self.add_relocs(out, &section, from, role == Role::Selected || stays);
                    } else {
                        self.jump_table_relocs(function, from, target);
                    }
                }
                None => {
                    if let Some(p) = self.out.placement(object, target) {
                        self.add_relocs(p.section, &section, from, true);
                    }
                }
            }
        }
    }

    fn add_relocs(
        &mut self,
        target: SectionId,
        input: &SectionRef<'a>,
        from: InputSection,
        selected: bool,
    ) {
        let rela = input.kind == SectionType::RELA;
        let (any, zero_addend) = self.looked_at(from.object, target, input);
        if !any {
            return;
        }
        let looked_up = if rela { zero_addend } else { self.cx.config.force_rela };
        if looked_up && !rela {
            self.mention_rel(target);
        }
        let section = self.reloc_section(target, rela || self.cx.config.force_rela);
        if looked_up && rela {
            self.mention_rel(target);
        }
        if !selected {
            return;
        }
        if let Content::Relocs(_, sources) = &mut self.out.sections[section.0 as usize].content {
            sources.push(from);
        }
    }

    /// Whether nvlink looks at a relocation at all: not if it is debug data about
    /// a definition that lost, a constant that names code that is gone or a copy
    /// of the input itself that lost, or inside a variable that lost.
    fn counts(&self, place: &RelocPlace, offset: u64, symbol: u32) -> bool {
        if place.lost.iter().any(|range| range.contains(&offset)) {
            return false;
        }
        let object = place.object;
        let cubin = &self.cx.objects[object.0 as usize].cubin;
        let (Some(id), Some(input)) = (self.cx.resolution.id(object, symbol), cubin.symbol(symbol))
        else {
            return true;
        };
        let at = Sighting { object, symbol };
        let defined = !input.is_undefined() && !input.is_common();
        // A copy that was replaced later was in force when this was read.
        let lost = || self.cx.resolution.role(id, at, defined) == Role::Discarded;
        if place.constant {
            return self.cx.keeps(id) && !lost();
        }
        input.kind() != SymbolType::FUNC || !place.weak_sensitive || !lost()
    }

    /// Whether the section has a relocation that counts, and whether any but the
    /// first of those has addend 0: nvlink then looks up the REL section's name,
    /// which leaves it in the string tables.
    fn looked_at(
        &self,
        object: ObjectId,
        target: SectionId,
        input: &SectionRef<'a>,
    ) -> (bool, bool) {
        let relocs = self.cx.objects[object.0 as usize].cubin.reloc_table(input);
        let relocs = || relocs.iter().flat_map(|relocs| relocs.iter());
        if self.function_of_text(target).is_some() {
            return (relocs().next().is_some(), relocs().skip(1).any(|r| r.addend == Some(0)));
        }
        let name = self.out.section_name(target);
        let place = RelocPlace {
            object,
            lost: lost_data(self.cx, object, name, input.info),
            debug: name.starts_with(b".debug") || name.starts_with(b".nv_debug"),
            constant: is_user_constant(name),
            weak_sensitive: is_weak_sensitive_debug(name),
        };
        let all_count = !place.debug && !place.constant && place.lost.is_empty();
        let mut counted =
            relocs().filter(|r| all_count || self.counts(&place, r.offset, r.symbol.0));
        // What clears the frame of a loser creates the section and counts for nothing else.
        let clears = || place.weak_sensitive && relocs().any(|r| kind::clears(r.kind));
        let any = counted.next().is_some() || clears();
        (any, counted.any(|r| r.addend == Some(0)))
    }

    fn mention_rel(&mut self, target: SectionId) {
        let name = self.out.section_name(target).to_vec();
        let before = self.out.creation_index;
        self.mention(Text::prefixed(b".rel", &name, NameHash::of(&name)));
        if self.out.creation_index > before {
            self.out.creation_index = before + self.cx.numbers_of_rel_name();
        }
    }

    /// The function whose code a section is, named after it.
    fn function_of_text(&self, section: SectionId) -> Option<SymbolId> {
        let out = &self.out.sections[section.0 as usize];
        let function = self.cx.graph.function(out.function?)?;
        let is_text = self.out.function_sections[function.0 as usize].text == Some(section);
        out.function.filter(|_| is_text && out.kind == SectionType::PROGBITS)
    }

    fn reloc_section(&mut self, target: SectionId, rela: bool) -> SectionId {
        let out = &self.out.sections[target.0 as usize];
        let known = if rela { out.rela } else { out.rel };
        if let Some(known) = known {
            return known;
        }
        let function = out.function;
        let prefix: &[u8] = if rela { b".rela" } else { b".rel" };
        let (kind, entsize) = if rela { (SectionType::RELA, 24) } else { (SectionType::REL, 16) };
        // Most are for code, whose name need not be looked up.
        let other: Vec<u8>;
        let name = match (self.function_of_text(target), rela) {
            (Some(function), true) => self.cx.prefixed(b".rela.text.", function),
            (Some(function), false) => self.cx.prefixed(b".rel.text.", function),
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
            content: Content::Relocs(target, SmallVec::new()),
            has_symbol: false,
            function,
        });
        let out = &mut self.out.sections[target.0 as usize];
        let first = out.rel.is_none() && out.rela.is_none();
        *(if rela { &mut out.rela } else { &mut out.rel }) = Some(section);
        if self.cx.config.preserve_relocs && first {
            let name = self.out.section_name(target).to_vec();
            self.resolved_section(target, &name, function);
        }
        section
    }

    /// What was applied is kept by name: functions of one name share it.
    fn resolved_section(&mut self, target: SectionId, name: &[u8], function: Option<SymbolId>) {
        if let Some(&known) = self.resolved_by_name.get(name) {
            let content = &mut self.out.sections[known.0 as usize].content;
            if let Content::ResolvedRelocs(targets) = content {
                targets.push(target);
            }
            return;
        }
        let section = self.create(NewSection {
            name: Text::prefixed(b".nv.resolvedrela", name, NameHash::of(name)),
            kind: SectionType::CUDA_RESOLVED_RELA,
            flags: shf::INFO_LINK,
            align: 8,
            entsize: 24,
            content: Content::ResolvedRelocs(smallvec![target]),
            has_symbol: false,
            function,
        });
        self.resolved_by_name.insert(name.to_vec(), section);
    }

    /// Jump tables of a device function's Mercury code have relocations, which
    /// go where the table is copied to.
    fn jump_table_relocs(&mut self, function: FunctionId, from: InputSection, target: u32) {
        let table = InputSection { object: from.object, section: target };
        let parts = self.out.bank2.get(&function).map(|bank| bank.offsets(self.cx));
        let place = parts.and_then(|p| p.into_iter().find(|(part, _)| *part == table));
        // Of a kernel's table that a replacement cleared only a name is left.
        let class = self.cx.objects[from.object.0 as usize].classes[target as usize];
        let cleared = self.cx.resolution.get(self.cx.graph.symbol(function)).entry
            && self.cx.flavour.is_mercury()
            && !matches!(class, SectionClass::Text(_));
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
            // The name of a section that never comes to be.
            let input = &self.cx.objects[from.object.0 as usize];
            let name = input.cubin.section(target).map_or(&b""[..], |s| s.name);
            self.mention(Text::prefixed(b".nv.resolvedrela", name, NameHash::of(name)));
        }
    }

    /// Makes room for the relocations of a function's tables in a kernel's bank.
    pub(super) fn copied_relocations(&mut self, function: FunctionId, bank: SectionId) {
        let given = self.out.bank2.get(&function);
        if given.is_some_and(|given| !given.relocs.is_empty() && !given.parts.is_empty()) {
            self.reloc_section(bank, true);
        }
    }
}
