//! Attributes that callees pass up to kernels.
//!
//! A kernel's own record is changed in place; a missing code is appended, in the order of the
//! inputs' selected `.nv.info.F` sections and of the records in them (not in the order of the
//! output's sections, which replaced copies may have created). With exactly one kernel in the
//! output nvlink takes another path: all functions count, and the appended codes have a fixed
//! order.

use super::contribution::{
    Any, CODES, Combine, Contribution, Key, Languages, NewLanguages, OwnProperties, Reader,
    combine, slot, sparse_slot,
};
use super::{FUNCTIONS_AT_ONCE, Properties};
use crate::callgraph::callers::Callers;
use crate::callgraph::scc::Components;
use crate::collections::Map;
use crate::context::Analysis;
use crate::ids::{FunctionId, SymbolId};
use cubin::{Attr, Format};
use rayon::prelude::*;
use smallvec::SmallVec;

/// A function that names an external one, and where.
type Mention = (FunctionId, NamePosition);

/// A record, and the index of a name in it.
type NamePosition = (Key, u32);

/// What kernels inherit from the device functions they reach.
struct Inherited {
    /// By component.
    below: Vec<Contribution>,
    places: FirstRecords,
    /// NUM_MBARRIERS, with its first position.
    sums: Map<FunctionId, (u16, Key)>,
    fragments: Map<FunctionId, (Vec<u32>, Key)>,
    externs: Map<FunctionId, Vec<SymbolId>>,
    languages: NewLanguages,
}

/// By code and component: the first record in the functions reached. Has only codes that some
/// kernel lacks.
struct FirstRecords(Vec<(Attr, Vec<Key>)>);

impl FirstRecords {
    fn of(&self, code: Attr, component: usize) -> Key {
        let list = self.0.iter().find(|(known, _)| *known == code);
        list.and_then(|(_, keys)| keys.get(component)).copied().unwrap_or(Key::MISSING)
    }
}

/// A record that the linker creates; its symbols are still those of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Record {
    /// Formats 1-3.
    Value { format: Format, code: Attr, value: u16 },
    /// A payload of words.
    Words(Attr, Vec<u32>),
    /// EXTERNS.
    Externs(Vec<SymbolId>),
}

impl Record {
    fn code(&self) -> Attr {
        match self {
            Record::Value { code, .. } | Record::Words(code, _) => *code,
            Record::Externs(_) => Attr::EXTERNS,
        }
    }
}

/// Changes to a function's attribute section.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Records that replace the function's own with the same code.
    pub replaced: Vec<Record>,
    /// Codes whose own records are dropped.
    pub removed: Vec<Attr>,
    /// Records appended, in order.
    pub tail: Vec<Record>,
    /// The barriers in the text section's flags became a record.
    pub took_barriers: bool,
}

impl Changes {
    /// The record to write instead of the function's own with this code.
    pub fn replacement(&self, code: Attr) -> Option<&Record> {
        self.replaced.iter().find(|r| r.code() == code)
    }

    /// The value that a record of this code gets, if it gets one.
    pub fn value(&self, wanted: Attr) -> Option<u16> {
        self.replaced.iter().chain(&self.tail).find_map(|record| match *record {
            Record::Value { code, value, .. } if code == wanted => Some(value),
            _ => None,
        })
    }
}

/// Attribute changes of all functions, and the languages that end up in `.nv.info`.
pub fn propagate(
    reader: Reader<'_, '_>,
    own: Vec<OwnProperties>,
    any: Any,
    below: Option<Vec<Contribution>>,
    properties: &Properties,
) -> (Map<FunctionId, Changes>, Vec<u32>) {
    let components = &properties.components;
    let mut propagation =
        Propagation { reader, properties, components, own, any, changes: Map::default() };
    match properties.entries[..] {
        [] => propagation.missing_sparse_masks(),
        [only] => propagation.single(only),
        _ => propagation.several(below),
    }
    propagation.stubs();
    propagation.barriers_of_old_objects();
    let stub_languages = propagation.stub_languages();
    (propagation.changes, stub_languages)
}

/// By component: what the device functions reached from it contribute.
pub(super) fn reached(
    cx: Analysis<'_, '_>,
    own: &[OwnProperties],
    components: &Components,
) -> Vec<Contribution> {
    let graph = cx.graph.successors();
    let mut below: Vec<Contribution> = Vec::with_capacity(components.len());
    for component in 0..components.len() {
        let mut joint = Contribution::default();
        let own = &own[components.range(component)];
        for (&node, own) in components.members(component).iter().zip(own) {
            if !own.is_entry {
                joint.add(&own.contribution);
            }
            for &callee in graph.of(node) {
                let callee = components.of[callee as usize] as usize;
                if callee != component {
                    joint.add(&below[callee]);
                }
            }
        }
        below.push(joint);
    }
    below
}

pub(super) struct Propagation<'a, 'o> {
    pub(super) reader: Reader<'a, 'o>,
    properties: &'o Properties,
    components: &'o Components,
    /// By position in the list of all nodes.
    pub(super) own: Vec<OwnProperties>,
    any: Any,
    changes: Map<FunctionId, Changes>,
}

impl Propagation<'_, '_> {
    /// A function's own attributes.
    pub(super) fn all_own(&self, function: FunctionId) -> &OwnProperties {
        const NOTHING: &OwnProperties = &OwnProperties::NOTHING;
        self.components.position(function.as_u32()).map_or(NOTHING, |at| &self.own[at])
    }

    pub(super) fn own(&self, function: FunctionId) -> &Contribution {
        &self.all_own(function).contribution
    }

    /// What the device functions reached from a function contribute.
    fn below<'b>(&self, function: FunctionId, below: &'b [Contribution]) -> &'b Contribution {
        &below[self.components.of[function.index()] as usize]
    }

    pub(super) fn change(&mut self, function: FunctionId) -> &mut Changes {
        self.changes.entry(function).or_default()
    }

    /// Old objects have the barrier count in the text section's flags. At the end it becomes a
    /// record of the function, unless the function has one by then (quirk: then the flags stay),
    /// and those of device functions count for the kernels that reach them.
    /// [`barriers-of-old-objects`]
    fn barriers_of_old_objects(&mut self) {
        if !self.any.barriers_in_flags {
            return;
        }
        let code = Attr::NUM_BARRIERS;
        let with: Vec<(FunctionId, u16)> = (self.reader.merged.function_order.iter())
            .map(|&f| (f, self.all_own(f).barriers_in_flags))
            .filter(|(f, value)| *value > 0 && self.barriers(*f).is_none())
            .collect();
        for &(function, value) in &with {
            let changes = self.change(function);
            changes.tail.push(Record::Value { format: Format::BVAL, code, value });
            changes.took_barriers = true;
        }
        let with: Vec<(FunctionId, u16)> =
            with.into_iter().filter(|(f, _)| !self.all_own(*f).is_entry).collect();
        if with.is_empty() {
            return;
        }
        let cx = self.reader.cx;
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        for (function, value) in with {
            for entry in callers.entries_reaching(&[function]) {
                let value = value.max(self.barriers(entry).unwrap_or(0));
                self.set(entry, Record::Value { format: Format::BVAL, code, value });
            }
        }
    }

    /// The current NUM_BARRIERS of a function.
    fn barriers(&self, function: FunctionId) -> Option<u16> {
        let made = self.changes.get(&function).and_then(|c| c.value(Attr::NUM_BARRIERS));
        made.or(self.own(function).code(slot(Attr::NUM_BARRIERS)))
    }

    /// Sets a code of a function that has it (in its section or already in the tail), or appends
    /// it.
    pub(super) fn set(&mut self, function: FunctionId, record: Record) {
        let mut changes = std::mem::take(self.change(function));
        self.set_in(&mut changes, function, record);
        *self.change(function) = changes;
    }

    fn set_in(&self, changes: &mut Changes, function: FunctionId, record: Record) {
        let code = record.code();
        let in_section = self.reader.has_own(function, code);
        let list = if in_section { &mut changes.replaced } else { &mut changes.tail };
        match list.iter_mut().find(|r| r.code() == code) {
            Some(known) => *known = record,
            None => list.push(record),
        }
    }

    /// If some functions have a SPARSE_MMA_MASK and some do not, those without get 0x8000 (stubs of
    /// unified functions get none, except in a record).
    pub(super) fn missing_sparse_masks(&mut self) {
        if !self.any.lacks_masks() {
            return;
        }
        let order = &self.reader.merged.function_order;
        let own = |f: &FunctionId| self.all_own(*f);
        if !order.iter().any(|f| own(f).has_mask()) {
            return;
        }
        let lacking: Vec<FunctionId> =
            order.iter().filter(|f| own(f).assumes_mask).copied().collect();
        for function in lacking {
            // An alias counts for its function.
            let function = self.reader.section_owner(function);
            let value = self.reader.missing_sparse_mask(function);
            if let Some(at) = self.components.position(function.as_u32()) {
                let own = &mut self.own[at].contribution;
                let mask = own.code(sparse_slot()).map(|mask| mask | value);
                own.set_code(sparse_slot(), mask);
            }
            let record = Record::Value { format: Format::HVAL, code: Attr::SPARSE_MMA_MASK, value };
            self.change(function).tail.push(record);
        }
    }

    /// Quirk: with one kernel, masks are combined only if the link knows more functions (including
    /// dead and undefined ones) than masks. [`sparse-mma-one-kernel`]
    pub(super) fn lacks_some_sparse_mask(&self) -> bool {
        let count = self.own.iter().filter(|own| own.has_mask()).count();
        let graph = self.reader.cx.graph;
        let is_nested = |&f: &u32| self.reader.is_nested(FunctionId::from(f));
        let nested = || (0..graph.len() as u32).filter(is_nested).count();
        count > 0 && count < graph.len() && count + nested() < graph.len()
    }

    /// CRS_STACK_SIZE: unbounded under recursion, otherwise the deepest sum.
    pub(super) fn stack_record(&self, entry: FunctionId) -> Option<Record> {
        let depth = self.properties.depth(entry);
        let value = if depth.recursive { u32::MAX } else { depth.crs };
        (value != 0).then(|| Record::Words(Attr::CRS_STACK_SIZE, vec![value]))
    }

    /// Two or more kernels. The caller may already know what they reach.
    fn several(&mut self, below: Option<Vec<Contribution>>) {
        self.missing_sparse_masks();
        let below = below.unwrap_or_else(|| self.reached());
        let sums = self.sums();
        let fragments = self.fragments();
        let externs = self.external_lists();
        let inherited = Inherited {
            places: self.places(&below, !externs.is_empty()),
            below,
            sums,
            fragments,
            externs,
            languages: self.new_languages(),
        };
        let entries = self.properties.entries.par_iter().with_min_len(FUNCTIONS_AT_ONCE);
        let changes_of = |&entry: &FunctionId| Some((entry, self.entry(entry, &inherited)?));
        let made: Vec<_> = entries.filter_map(changes_of).collect();
        self.changes.extend(made);
    }

    fn reached(&self) -> Vec<Contribution> {
        reached(self.reader.cx, &self.own, self.components)
    }

    /// Device functions that satisfy a condition, with the kernels reaching each.
    fn with_entries(
        &self,
        wanted: impl Fn(&Contribution) -> bool,
    ) -> Vec<(FunctionId, Vec<FunctionId>)> {
        let mut with: Vec<FunctionId> = (self.components.nodes().iter().zip(&self.own))
            .filter(|(_, own)| wanted(&own.contribution) && !own.is_entry)
            .map(|(&f, _)| FunctionId::from(f))
            .collect();
        with.sort_unstable();
        if with.is_empty() {
            return Vec::new();
        }
        let cx = self.reader.cx;
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        with.into_iter().map(|f| (f, callers.entries_reaching(&[f]))).collect()
    }

    /// The positions of the codes that some kernel inherits without having them.
    fn places(&self, below: &[Contribution], externs: bool) -> FirstRecords {
        let mut lacking = Contribution::default();
        for &entry in &self.properties.entries {
            lacking.add(&self.below(entry, below).without(self.own(entry)));
        }
        let mut codes: Vec<Attr> = (CODES.iter().enumerate())
            .filter(|(slot, _)| lacking.code(*slot).is_some())
            .map(|(_, &(code, ..))| code)
            .collect();
        if externs && lacking.has_externs() {
            codes.push(Attr::EXTERNS);
        }
        FirstRecords(codes.into_iter().map(|code| (code, self.first_places(code))).collect())
    }

    /// By component: the first record of a code in the device functions reached.
    fn first_places(&self, code: Attr) -> Vec<Key> {
        let graph = self.reader.cx.graph.successors();
        let mut first = vec![Key::MISSING; self.components.len()];
        for component in 0..self.components.len() {
            let mut joint = Key::MISSING;
            let own = &self.own[self.components.range(component)];
            for (&node, own) in self.components.members(component).iter().zip(own) {
                if own.contribution.has_code(code) && !own.is_entry {
                    let key = self.reader.first(FunctionId::from(node), code);
                    joint = joint.min(key.unwrap_or(Key::MISSING));
                }
                for &callee in graph.of(node) {
                    joint = joint.min(first[self.components.of[callee as usize] as usize]);
                }
            }
            first[component] = joint;
        }
        first
    }

    /// NUM_MBARRIERS adds up over the distinct functions a kernel reaches.
    fn sums(&self) -> Map<FunctionId, (u16, Key)> {
        let slot = slot(Attr::NUM_MBARRIERS);
        let mut out: Map<FunctionId, (u16, Key)> = Map::default();
        if !self.any.has(slot) {
            return out;
        }
        for (function, entries) in self.with_entries(|c| c.code(slot).is_some()) {
            let Some(value) = self.own(function).code(slot) else { continue };
            let key = self.reader.first(function, Attr::NUM_MBARRIERS).unwrap_or(Key::MISSING);
            for entry in entries {
                let sum = out.entry(entry).or_insert((0, key));
                *sum = (combine(Combine::Sum, sum.0, value), sum.1.min(key));
            }
        }
        out
    }

    /// AT_ENTRY_FRAGMENTS moves from functions to the kernels that reach them.
    fn fragments(&mut self) -> Map<FunctionId, (Vec<u32>, Key)> {
        let mut out: Map<FunctionId, (Vec<u32>, Key)> = Map::default();
        if !self.any.has_fragments() {
            return out;
        }
        for (function, entries) in self.with_entries(Contribution::has_fragments) {
            let Some((words, key)) = self.reader.fragments(function) else { continue };
            for entry in entries {
                let union = out.entry(entry).or_insert((Vec::new(), key));
                union.0.extend(words.iter().copied());
                union.1 = union.1.min(key);
            }
            self.change(function).removed.push(Attr::AT_ENTRY_FRAGMENTS);
        }
        out
    }

    /// By kernel: external functions that its callees name, in order of first mention.
    fn external_lists(&self) -> Map<FunctionId, Vec<SymbolId>> {
        if !self.any.names_external {
            return Map::default();
        }
        let mut users: Map<SymbolId, Vec<Mention>> = Map::default();
        for &function in &self.reader.merged.function_order {
            let own = self.all_own(function);
            if !own.names_external || own.is_entry {
                continue;
            }
            for (i, (key, id)) in self.reader.externs(function).into_iter().enumerate() {
                if self.reader.stays_external(id) {
                    users.entry(id).or_default().push((function, (key, i as u32)));
                }
            }
        }
        let mut found: Map<FunctionId, Vec<(NamePosition, SymbolId)>> = Map::default();
        for (&id, users) in &users {
            for (entry, key) in self.first_mention(users) {
                found.entry(entry).or_default().push((key, id));
            }
        }
        found
            .into_iter()
            .map(|(entry, mut list)| {
                list.sort_unstable();
                (entry, list.into_iter().map(|(_, id)| id).collect())
            })
            .collect()
    }

    /// For one external function: the kernels whose callees name it, with the first position.
    fn first_mention(&self, users: &[Mention]) -> Vec<Mention> {
        let graph = self.reader.cx.graph.successors();
        let components = self.components;
        let mut first: Vec<Option<NamePosition>> = vec![None; components.len()];
        let earlier = |slot: &mut Option<NamePosition>, key| {
            *slot = Some(slot.map_or(key, |known| known.min(key)));
        };
        for &(function, key) in users {
            earlier(&mut first[components.of[function.index()] as usize], key);
        }
        for component in 0..components.len() {
            for &node in components.members(component) {
                for &callee in graph.of(node) {
                    if let Some(key) = first[components.of[callee as usize] as usize] {
                        earlier(&mut first[component], key);
                    }
                }
            }
        }
        let of_entry = |&e: &FunctionId| first[components.of[e.index()] as usize].map(|k| (e, k));
        self.properties.entries.iter().filter_map(of_entry).collect()
    }

    /// The changes to a kernel, including those made so far, if there are new ones.
    fn entry(&self, entry: FunctionId, inherited: &Inherited) -> Option<Changes> {
        let own = self.all_own(entry);
        let component = self.components.of[entry.index()] as usize;
        let mut replaced: SmallVec<[Record; 2]> = self.stack_record(entry).into_iter().collect();
        let mut new: SmallVec<[(Key, Record); 2]> = SmallVec::new();
        let mut reached = inherited.below[component];
        let sum = inherited.sums.get(&entry).copied();
        reached.set_code(slot(Attr::NUM_MBARRIERS), sum.map(|(value, _)| value));
        for (i, value) in reached.codes() {
            let (code, format, rule) = CODES[i];
            let mine = own.contribution.code(i);
            let value = mine.map_or(value, |mine| combine(rule, mine, value));
            let record = Record::Value { format, code, value };
            match mine {
                Some(_) if own.is_already(i, value) => {}
                Some(_) => replaced.push(record),
                None => {
                    let sum = sum.filter(|_| rule == Combine::Sum).map(|(_, key)| key);
                    let key = sum.unwrap_or_else(|| inherited.places.of(code, component));
                    new.push((key, record));
                }
            }
        }
        if let Some((words, key)) = inherited.fragments.get(&entry) {
            let mine = own.contribution.has_fragments().then(|| self.reader.fragments(entry));
            let mine = mine.flatten().map(|(words, _)| words);
            let record = fragments_record(mine.as_deref(), words);
            match mine {
                Some(_) => replaced.push(record),
                None => new.push((*key, record)),
            }
        }
        if let Some((languages, key)) = inherited.languages.get(&entry) {
            let record = Record::Words(Attr::LANGUAGE, languages.clone());
            match own.languages {
                Languages::None => new.push((*key, record)),
                _ => replaced.push(record),
            }
        }
        let callees = inherited.externs.get(&entry).map_or(&[][..], |list| list);
        match self.externs_of(entry, callees) {
            Some(list) if own.contribution.has_externs() => replaced.push(Record::Externs(list)),
            Some(list) => {
                let key = inherited.places.of(Attr::EXTERNS, component);
                new.push((key, Record::Externs(list)));
            }
            None => {}
        }
        if replaced.is_empty() && new.is_empty() {
            return None;
        }
        let mut changes = self.changes.get(&entry).cloned().unwrap_or_default();
        replaced.into_iter().for_each(|record| self.set_in(&mut changes, entry, record));
        new.sort_by_key(|(key, _)| *key);
        changes.tail.extend(new.into_iter().map(|(_, record)| record));
        Some(changes)
    }

    /// The external functions that a kernel and its callees name, unless the kernel's records
    /// already say exactly that.
    fn externs_of(&self, entry: FunctionId, callees: &[SymbolId]) -> Option<Vec<SymbolId>> {
        let own = self.all_own(entry);
        if callees.is_empty() && (!own.contribution.has_externs() || own.has_plain_externs()) {
            return None;
        }
        let mut list: Vec<SymbolId> = (self.reader.externs(entry).into_iter().map(|(_, id)| id))
            .filter(|&id| self.reader.stays_external(id))
            .collect();
        for id in callees {
            if !list.contains(id) {
                list.push(*id);
            }
        }
        Some(list)
    }

    /// Stubs of unified functions that count as kernels inherit the same, except for masks and
    /// external functions. Their records are consecutive in the one section of all stubs.
    fn stubs(&mut self) {
        let cx = self.reader.cx;
        if cx.unified.stub_ids().next().is_none() {
            return;
        }
        let roots = self.reader.merged.function_order.iter().copied();
        let roots: Vec<FunctionId> = roots.filter(|&f| cx.reach.is_stub_root(f)).collect();
        let Some(&first) = roots.first() else { return };
        let (below, sums) = (self.reached(), self.sums());
        let mut new: Vec<(Key, Record)> = Vec::new();
        for (i, &(code, format, rule)) in CODES.iter().enumerate() {
            let values: Vec<(FunctionId, u16)> = (roots.iter())
                .filter_map(|&stub| Some((stub, self.below(stub, &below).code(i)?)))
                .filter(|_| code != Attr::SPARSE_MMA_MASK)
                .collect();
            let places = if values.is_empty() { Vec::new() } else { self.first_places(code) };
            let place = |stub: FunctionId| places[self.components.of[stub.index()] as usize];
            let values: Vec<(u16, Key)> = match rule {
                Combine::Sum => roots.iter().filter_map(|stub| sums.get(stub).copied()).collect(),
                _ => values.into_iter().map(|(stub, value)| (value, place(stub))).collect(),
            };
            // If one function passes to several stubs, the stub created last comes first.
            let record = |(value, key)| (key, Record::Value { format, code, value });
            new.extend(values.into_iter().rev().map(record));
        }
        new.sort_by_key(|(key, _)| *key);
        let records = new.into_iter().map(|(_, record)| record);
        self.change(first).tail.splice(0..0, records);
    }
}

/// The union of fragment kinds, the function's own first.
pub(super) fn fragments_record(own: Option<&[u32]>, more: &[u32]) -> Record {
    let mut union: Vec<u32> = own.unwrap_or_default().to_vec();
    for word in more {
        if !union.contains(word) {
            union.push(*word);
        }
    }
    Record::Words(Attr::AT_ENTRY_FRAGMENTS, union)
}
