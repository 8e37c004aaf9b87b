//! LANGUAGE: kernels list the source languages of the functions that they reach.

use super::attributes::{Propagation, Record};
use super::contribution::{Languages, NewLanguages};
use crate::callgraph::callers::Callers;
use crate::collections::Map;
use crate::ids::FunctionId;
use cubin::Attr;

impl Propagation<'_, '_> {
    /// Whether a kernel may lack the language of a function: as a rule all have the same.
    fn may_lack_languages(&self) -> bool {
        let all = self.own.iter().fold(Languages::None, |all, own| all.with(own.languages));
        let has_all = |own: &super::contribution::OwnProperties| own.languages == all;
        match all {
            Languages::None => false,
            Languages::One(_) => {
                let cx = self.reader.cx;
                cx.unified.stub_ids().next().is_some()
                    || !self.own.iter().filter(|own| own.is_entry).all(has_all)
            }
            Languages::Several => true,
        }
    }

    /// Functions with languages, in the order of the files' attribute sections.
    fn with_languages(&self) -> Vec<FunctionId> {
        let has_some = |f: &&FunctionId| self.all_own(**f).languages != Languages::None;
        let mut functions: Vec<FunctionId> =
            self.reader.merged.function_order.iter().filter(has_some).copied().collect();
        functions.sort_by_key(|&f| self.reader.source(f));
        functions
    }

    /// Two or more kernels: the languages of those that get more. Own ones come first.
    /// [`languages-of-callees`]
    pub(super) fn new_languages(&self) -> NewLanguages {
        let mut out = NewLanguages::default();
        if !self.may_lack_languages() {
            return out;
        }
        let cx = self.reader.cx;
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        for function in self.with_languages() {
            if self.all_own(function).is_entry {
                continue;
            }
            let (languages, key) = self.reader.languages(function);
            for entry in callers.entries_reaching(&[function]) {
                let known =
                    out.entry(entry).or_insert_with(|| (self.reader.languages(entry).0, key));
                add_missing(&mut known.0, &languages);
            }
        }
        out.retain(|&entry, (languages, _)| *languages != self.reader.languages(entry).0);
        out
    }

    /// Exactly one kernel: the languages of all functions, unless its own are the same.
    /// [`languages-of-callees`]
    pub(super) fn single_languages(&mut self, entry: FunctionId) {
        if !self.may_lack_languages() {
            return;
        }
        let mut list = Vec::new();
        for function in self.with_languages() {
            add_missing(&mut list, &self.reader.languages(function).0);
        }
        let mine = self.reader.languages(entry).0;
        if list.iter().all(|language| mine.contains(language)) {
            return;
        }
        let changes = self.change(entry);
        changes.removed.push(Attr::LANGUAGE);
        changes.tail.push(Record::Words(Attr::LANGUAGE, list));
    }

    /// Quirk: stubs of unified functions have no attributes to list languages in. Those of the first
    /// function that a stub reaches get lost, those of others end up in the last record of
    /// `.nv.info`. [`unified-roots`, `unified-reach`]
    pub(super) fn stub_languages(&self) -> Vec<u32> {
        let cx = self.reader.cx;
        let mut out = Vec::new();
        if cx.unified.stub_ids().next().is_none() || !self.may_lack_languages() {
            return out;
        }
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        let mut met: Map<FunctionId, ()> = Map::default();
        for function in self.with_languages() {
            let entries = callers.entries_reaching(&[function]);
            for stub in entries.into_iter().filter(|&f| cx.reach.is_stub_root(f)) {
                if met.insert(stub, ()).is_some() {
                    add_missing(&mut out, &self.reader.languages(function).0);
                }
            }
        }
        out
    }
}

fn add_missing(list: &mut Vec<u32>, more: &[u32]) {
    for language in more {
        if !list.contains(language) {
            list.push(*language);
        }
    }
}
