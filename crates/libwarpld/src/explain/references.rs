//! References to a missing symbol.

use super::LISTED;
use super::lines::LineTable;
use crate::collections::{Map, Set};
use crate::context::Analysis;
use crate::demangle::{readable, text};
use crate::ids::{ObjectId, SymbolId};
use crate::object::MergeClass;
use cubin::names;

/// One reference.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Reference {
    file: String,
    /// The function, or the section if it is data.
    within: String,
    line: Option<String>,
    /// The function is in the output. nvlink wants variables of dead code defined, too.
    /// [`undefined-globals-of-dead-code`]
    live: bool,
}

/// All references to the given symbols.
#[derive(Default)]
pub struct References {
    of: Map<String, Vec<Reference>>,
    known: Set<(SymbolId, Reference)>,
}

impl References {
    /// Scans the relocations of all inputs.
    pub fn collect(cx: Analysis<'_, '_>, symbols: &[String]) -> Self {
        let mut out = Self::default();
        if symbols.is_empty() {
            return out;
        }
        let names: Set<&[u8]> = symbols.iter().map(|name| name.as_bytes()).collect();
        let wanted: Set<SymbolId> = cx
            .resolution
            .symbols
            .ids()
            .filter(|&id| names.contains(cx.resolution.get(id).name))
            .collect();
        for id in cx.objects.ids() {
            out.object(cx, id, &wanted);
        }
        out
    }

    fn object(&mut self, cx: Analysis<'_, '_>, id: ObjectId, wanted: &Set<SymbolId>) {
        let Some(object) = cx.objects.get(id) else { return };
        let mut lines = None;
        for (section, class) in object.of_class(|c| matches!(c, MergeClass::Reloc(_))) {
            let MergeClass::Reloc(target) = class else { continue };
            let target_section = object.cubin.section(target);
            // Debug data refers to the same symbols as code.
            if target_section.is_none_or(|s| names::is_debug(s.name)) {
                continue;
            }
            let owner = object.owner(target).and_then(|symbol| cx.resolution.id(id, symbol));
            let live = owner.is_none_or(|owner| cx.keeps(owner));
            let within = match (owner, target_section) {
                (Some(owner), _) => readable(&text(cx.resolution.get(owner).name)),
                (None, Some(section)) => text(section.name),
                (None, None) => continue,
            };
            for reloc in object.cubin.relocs(&section).unwrap_or_default() {
                let Some(symbol) = cx.resolution.id(id, reloc.symbol.0) else { continue };
                if !wanted.contains(&symbol) {
                    continue;
                }
                let lines =
                    lines.get_or_insert_with(|| LineTable::read(object.cubin, names::DEBUG_LINE));
                let reference = Reference {
                    file: object.name.to_owned(),
                    within: within.clone(),
                    line: lines.find(target, reloc.offset),
                    live,
                };
                if self.known.insert((symbol, reference.clone())) {
                    let name = text(cx.resolution.get(symbol).name);
                    self.of.entry(name).or_default().push(reference);
                }
            }
        }
    }

    /// The first references, as notes.
    pub fn notes(&self, symbol: &str) -> Vec<String> {
        let Some(list) = self.of.get(symbol) else { return Vec::new() };
        // Dead code is to blame only where no other code refers to the symbol.
        let is_live = list.iter().any(|reference| reference.live);
        let list: Vec<&Reference> = list.iter().filter(|r| r.live == is_live).collect();
        let mut notes: Vec<String> =
            list.iter().take(LISTED).map(|reference| reference.note()).collect();
        let more = list.len().saturating_sub(LISTED);
        if more > 0 {
            notes.push(format!("and {more} more references"));
        }
        notes
    }
}

impl Reference {
    fn note(&self) -> String {
        let line = self.line.as_ref().map(|line| format!(" at {line}")).unwrap_or_default();
        let dead = if self.live { "" } else { ", which is not in the output" };
        format!("referred to by {}{line} ({}){dead}", self.within, self.file)
    }
}
