//! Attributes that callees pass up to kernels.
//!
//! A kernel's own record is changed in place; a code it lacks is appended, in
//! the order in which the inputs' `.nv.info.F` sections that are in force and the
//! records in them come (not that of the output's sections, which replaced copies
//! may have created). With exactly one kernel in the output nvlink takes another path:
//! all functions count, and the appended codes have a fixed order.

use super::contribution::{CODES, Combine, Contribution, Key, Reader, combine, slot, sparse_slot};
use super::scc::Components;
use super::{Map, Properties};
use crate::callgraph::{Callers, FunctionId};
use crate::merge::{Context, Merged};
use crate::object::eiattr;
use crate::resolve::SymbolId;
use hashbrown::HashSet;
use rayon::prelude::*;

/// A function that names an external one, and where.
type Mention = (FunctionId, Place);

/// Record and number of a name in it.
type Place = (Key, u32);

/// A record the linker makes; symbols are still those of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Formats 1-3.
    Value {
        /// Format byte.
        format: u8,
        /// Code.
        code: u8,
        /// Value.
        value: u16,
    },
    /// A payload of words.
    Words(u8, Vec<u32>),
    /// EXTERNS.
    Externs(Vec<SymbolId>),
}

impl Record {
    fn code(&self) -> u8 {
        match self {
            Record::Value { code, .. } | Record::Words(code, _) => *code,
            Record::Externs(_) => eiattr::EXTERNS,
        }
    }
}

/// Changes to a function's attribute section.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Records that take the place of the function's own of that code.
    pub replaced: Vec<Record>,
    /// Codes whose own records are removed.
    pub removed: Vec<u8>,
    /// Records appended, in order.
    pub tail: Vec<Record>,
    /// The barriers in the text section's flags became a record.
    pub took_barriers: bool,
}

impl Changes {
    /// The record to write instead of the function's own with this code.
    pub fn replacement(&self, code: u8) -> Option<&Record> {
        self.replaced.iter().find(|r| r.code() == code)
    }
}

/// Attribute changes of all functions.
pub fn propagate(
    cx: Context<'_, '_>,
    merged: &Merged,
    properties: &Properties,
    components: &Components,
) -> Map<FunctionId, Changes> {
    let reader = Reader { cx, merged };
    let own = (0..cx.graph.len() as u32)
        .into_par_iter()
        .map(|f| match cx.reach.is_live(FunctionId(f)) {
            true => reader.contribution(FunctionId(f)),
            false => Contribution::default(),
        })
        .collect();
    let mut propagation =
        Propagation { reader, properties, components, own, changes: Map::default() };
    match properties.entries[..] {
        [] => propagation.missing_sparse_masks(),
        [only] => propagation.single(only),
        _ => propagation.several(),
    }
    propagation.stubs();
    propagation.barriers_of_old_objects();
    propagation.changes
}

struct Propagation<'a, 'o> {
    reader: Reader<'a, 'o>,
    properties: &'o Properties,
    components: &'o Components,
    own: Vec<Contribution>,
    changes: Map<FunctionId, Changes>,
}

impl Propagation<'_, '_> {
    fn is_entry(&self, function: FunctionId) -> bool {
        let cx = self.reader.cx;
        cx.resolution.get(cx.graph.symbol(function)).entry
    }

    fn own(&self, function: FunctionId) -> &Contribution {
        &self.own[function.0 as usize]
    }

    fn change(&mut self, function: FunctionId) -> &mut Changes {
        self.changes.entry(function).or_default()
    }

    /// Old objects keep the barrier count in the text section's flags. When all
    /// else is done it becomes a record of the function, unless that has one by
    /// then (quirk: the flags then stay as they are), and those of device functions
    /// count for the kernels that reach them.
    fn barriers_of_old_objects(&mut self) {
        let code = eiattr::NUM_BARRIERS;
        let count = |f: &FunctionId| self.reader.barriers_in_flags(*f);
        let with: Vec<(FunctionId, u16)> = (self.reader.merged.function_order.par_iter())
            .map(|f| (*f, count(f)))
            .filter(|(f, value)| *value > 0 && self.barriers(*f).is_none())
            .collect();
        for &(function, value) in &with {
            let changes = self.change(function);
            changes.tail.push(Record::Value { format: 2, code, value });
            changes.took_barriers = true;
        }
        let with: Vec<(FunctionId, u16)> =
            with.into_iter().filter(|(f, _)| !self.is_entry(*f)).collect();
        if with.is_empty() {
            return;
        }
        let cx = self.reader.cx;
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        for (function, value) in with {
            for entry in callers.entries_reaching(&[function]) {
                let value = value.max(self.barriers(entry).unwrap_or(0));
                self.set(entry, Record::Value { format: 2, code, value });
            }
        }
    }

    /// NUM_BARRIERS of a function as it stands.
    fn barriers(&self, function: FunctionId) -> Option<u16> {
        let changes = self.changes.get(&function);
        let made = changes.and_then(|c| {
            let records = c.replaced.iter().chain(&c.tail);
            records.into_iter().find_map(|r| match *r {
                Record::Value { code: eiattr::NUM_BARRIERS, value, .. } => Some(value),
                _ => None,
            })
        });
        made.or(self.own(function).code(slot(eiattr::NUM_BARRIERS)).map(|(value, _)| value))
    }

    /// Sets a code of a function that has it (in its section or already in the
    /// tail), or appends it.
    fn set(&mut self, function: FunctionId, record: Record) {
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

    /// Where some functions have a SPARSE_MMA_MASK and some do not, those
    /// without get 0x8000 (stubs of unified functions nothing, but in a record).
    fn missing_sparse_masks(&mut self) {
        let order = &self.reader.merged.function_order;
        let state = |f: &&FunctionId| self.own(**f).code(sparse_slot()).map(|c| c.1);
        let any = order.iter().any(|f| state(&f).is_some_and(|key| key != Key::MISSING));
        let lacking: Vec<FunctionId> =
            order.iter().filter(|f| state(f) == Some(Key::MISSING)).copied().collect();
        if !any {
            return;
        }
        for function in lacking {
            // An alias counts for the function it stands for.
            let function = self.reader.section_owner(function);
            let value = self.reader.missing_sparse_mask(function);
            let own = &mut self.own[function.0 as usize];
            let mask = own.code(sparse_slot()).map(|(mask, key)| (mask | value, key));
            own.set_code(sparse_slot(), mask);
            let record = Record::Value { format: 3, code: eiattr::SPARSE_MMA_MASK, value };
            self.change(function).tail.push(record);
        }
    }

    /// Quirk: with one kernel, masks are combined only if the link knows more
    /// functions (removed and undefined ones count) than masks.
    fn lacks_some_sparse_mask(&self) -> bool {
        let with =
            |c: &&Contribution| c.code(sparse_slot()).is_some_and(|(_, key)| key != Key::MISSING);
        let count = self.own.iter().filter(with).count();
        count > 0 && count < self.own.len()
    }

    /// CRS_STACK_SIZE: unbounded under recursion, else the deepest sum.
    fn stack_record(&self, entry: FunctionId) -> Option<Record> {
        let depth = self.properties.depth[entry.0 as usize];
        let value = if depth.recursive { u32::MAX } else { depth.crs };
        (value != 0).then(|| Record::Words(eiattr::CRS_STACK_SIZE, vec![value]))
    }

    // ---- two or more kernels ------------------------------------------------

    fn several(&mut self) {
        self.missing_sparse_masks();
        let below = self.reached();
        let sums = self.sums();
        let fragments = self.fragments();
        let externs = self.external_lists();
        let changes_of = |&entry: &FunctionId| {
            let component = self.components.of[entry.0 as usize] as usize;
            let mut reached = below[component].clone();
            let barriers = slot(eiattr::NUM_MBARRIERS);
            reached.set_code(barriers, sums.get(&entry).copied());
            (entry, self.entry(entry, &reached, &externs, fragments.get(&entry)))
        };
        let made: Vec<_> = self.properties.entries.par_iter().map(changes_of).collect();
        self.changes.extend(made);
    }

    /// By component: what the device functions reached from it contribute.
    fn reached(&self) -> Vec<Contribution> {
        let graph = self.reader.cx.graph.successors();
        let mut below: Vec<Contribution> = Vec::with_capacity(self.components.len());
        for component in 0..self.components.len() {
            let mut joint = Contribution::default();
            for &node in self.components.members(component) {
                if let Some(own) = self.own.get(node as usize)
                    && !self.is_entry(FunctionId(node))
                {
                    joint.add(own);
                }
                for &callee in graph.of(node) {
                    let callee = self.components.of[callee as usize] as usize;
                    if callee != component {
                        joint.add(&below[callee]);
                    }
                }
            }
            below.push(joint);
        }
        below
    }

    /// Device functions that satisfy a condition, with the kernels reaching each.
    fn with_entries(
        &self,
        wanted: impl Fn(&Contribution) -> bool,
    ) -> Vec<(FunctionId, Vec<FunctionId>)> {
        let with: Vec<FunctionId> = (0..self.own.len() as u32)
            .map(FunctionId)
            .filter(|&f| wanted(self.own(f)) && !self.is_entry(f))
            .collect();
        if with.is_empty() {
            return Vec::new();
        }
        let cx = self.reader.cx;
        let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
        with.into_iter().map(|f| (f, callers.entries_reaching(&[f]))).collect()
    }

    /// NUM_MBARRIERS adds up over the distinct functions a kernel reaches.
    fn sums(&self) -> Map<FunctionId, (u16, Key)> {
        let slot = slot(eiattr::NUM_MBARRIERS);
        let mut out: Map<FunctionId, (u16, Key)> = Map::default();
        for (function, entries) in self.with_entries(|c| c.code(slot).is_some()) {
            let Some((value, key)) = self.own(function).code(slot) else { continue };
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
        for (function, entries) in self.with_entries(|c| c.fragments.is_some()) {
            let Some((words, key)) = self.own(function).fragments.as_deref().cloned() else {
                continue;
            };
            for entry in entries {
                let union = out.entry(entry).or_insert((Vec::new(), key));
                union.0.extend(words.iter().copied());
                union.1 = union.1.min(key);
            }
            self.change(function).removed.push(eiattr::AT_ENTRY_FRAGMENTS);
        }
        out
    }

    /// By kernel: external functions its callees name, in order of first mention.
    fn external_lists(&self) -> Map<FunctionId, Vec<SymbolId>> {
        let mut users: Map<SymbolId, Vec<Mention>> = Map::default();
        for &function in &self.reader.merged.function_order {
            if self.is_entry(function) || self.own(function).externs.is_none() {
                continue;
            }
            for (i, (key, id)) in self.reader.externs(function).into_iter().enumerate() {
                if self.reader.stays_external(id) {
                    users.entry(id).or_default().push((function, (key, i as u32)));
                }
            }
        }
        let mut found: Map<FunctionId, Vec<(Place, SymbolId)>> = Map::default();
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

    /// For one external function: the kernels whose callees name it, with the
    /// first place that does.
    fn first_mention(&self, users: &[Mention]) -> Vec<Mention> {
        let graph = self.reader.cx.graph.successors();
        let components = self.components;
        let mut first: Vec<Option<Place>> = vec![None; components.len()];
        let earlier = |slot: &mut Option<Place>, key| {
            *slot = Some(slot.map_or(key, |known| known.min(key)));
        };
        for &(function, key) in users {
            earlier(&mut first[components.of[function.0 as usize] as usize], key);
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
        let of_entry =
            |&e: &FunctionId| first[components.of[e.0 as usize] as usize].map(|k| (e, k));
        self.properties.entries.iter().filter_map(of_entry).collect()
    }

    /// The changes of a kernel, those made so far included.
    fn entry(
        &self,
        entry: FunctionId,
        reached: &Contribution,
        externs: &Map<FunctionId, Vec<SymbolId>>,
        fragments: Option<&(Vec<u32>, Key)>,
    ) -> Changes {
        let mut changes = self.changes.get(&entry).cloned().unwrap_or_default();
        let mut set = |record| self.set_in(&mut changes, entry, record);
        self.stack_record(entry).into_iter().for_each(&mut set);
        let mut new: Vec<(Key, Record)> = Vec::new();
        for (i, &(code, format, rule)) in CODES.iter().enumerate() {
            let Some((value, key)) = reached.code(i) else { continue };
            let mine = self.own(entry).code(i);
            let value = mine.map_or(value, |(mine, _)| combine(rule, mine, value));
            let record = Record::Value { format, code, value };
            if mine.is_some() {
                set(record);
            } else {
                new.push((key, record));
            }
        }
        let own_fragments = self.own(entry).fragments.clone();
        if let Some((words, key)) = fragments {
            let record = fragments_record(own_fragments.as_ref().map(|f| &f.0[..]), words);
            match own_fragments {
                Some(_) => set(record),
                None => new.push((*key, record)),
            }
        }
        let mut list: Vec<SymbolId> = (self.reader.externs(entry).into_iter().map(|(_, id)| id))
            .filter(|&id| self.reader.stays_external(id))
            .collect();
        for &id in externs.get(&entry).into_iter().flatten() {
            if !list.contains(&id) {
                list.push(id);
            }
        }
        if self.own(entry).externs.is_some() {
            set(Record::Externs(list));
        } else if let Some(key) = reached.externs {
            new.push((key, Record::Externs(list)));
        }
        new.sort_by_key(|(key, _)| *key);
        changes.tail.extend(new.into_iter().map(|(_, record)| record));
        changes
    }

    /// Stubs of unified functions that count as kernels inherit the same, but for masks
    /// and external functions. Their records follow each other in the one section of all
    /// stubs.
    fn stubs(&mut self) {
        let cx = self.reader.cx;
        let roots = self.reader.merged.function_order.iter().copied();
        let roots: Vec<FunctionId> = roots.filter(|&f| cx.reach.is_stub_root(f)).collect();
        let Some(&first) = roots.first() else { return };
        let (below, sums) = (self.reached(), self.sums());
        let mut new: Vec<(Key, Record)> = Vec::new();
        // The stub created last comes first where one function gives to several.
        for &stub in roots.iter().rev() {
            let component = self.components.of[stub.0 as usize] as usize;
            for (i, &(code, format, _)) in CODES.iter().enumerate() {
                let found = match code {
                    eiattr::SPARSE_MMA_MASK => None,
                    eiattr::NUM_MBARRIERS => sums.get(&stub).copied(),
                    _ => below[component].code(i),
                };
                new.extend(found.map(|(value, key)| (key, Record::Value { format, code, value })));
            }
        }
        new.sort_by_key(|(key, _)| *key);
        let records = new.into_iter().map(|(_, record)| record);
        self.change(first).tail.splice(0..0, records);
    }

    // ---- exactly one kernel -------------------------------------------------

    fn single(&mut self, entry: FunctionId) {
        self.missing_sparse_masks();
        let mixed = self.lacks_some_sparse_mask();
        let mut reached = Contribution::default();
        let mut fragments: Vec<u32> = Vec::new();
        for &function in &self.reader.merged.function_order {
            if function == entry {
                continue;
            }
            let own = self.own(function).clone();
            reached.add(&own);
            let sums = slot(eiattr::NUM_MBARRIERS);
            let sum = match (reached.code(sums), own.code(sums)) {
                (Some((a, key)), Some((b, _))) => Some((combine(Combine::Sum, a, b), key)),
                (a, b) => a.or(b),
            };
            reached.set_code(sums, sum);
            if let Some((words, _)) = own.fragments.map(|fragments| *fragments) {
                fragments.extend(words);
                self.change(function).removed.push(eiattr::AT_ENTRY_FRAGMENTS);
            }
        }
        if let Some(record) = self.stack_record(entry) {
            self.set(entry, record);
        }
        for (i, &(code, format, rule)) in CODES.iter().enumerate() {
            let Some((value, _)) = reached.code(i) else { continue };
            let mine = self.own(entry).code(i);
            // Quirks: these own records are left alone on this path.
            let fixed = matches!(code, eiattr::VRC_CTA_INIT_COUNT | eiattr::REG_RECONFIG);
            let no_barriers = code == eiattr::NUM_MBARRIERS && value == 0 && mine.is_none();
            if code == eiattr::SPARSE_MMA_MASK && !mixed || fixed && mine.is_some() || no_barriers {
                continue;
            }
            let value = match mine {
                Some((mine, _)) => combine(rule, mine, value),
                None if code == eiattr::REG_RECONFIG => 0,
                None => value,
            };
            self.set(entry, Record::Value { format, code, value });
        }
        if !fragments.is_empty() {
            let own = self.own(entry).fragments.clone();
            let record = fragments_record(own.as_ref().map(|f| &f.0[..]), &fragments);
            self.change(entry).removed.push(eiattr::AT_ENTRY_FRAGMENTS);
            self.change(entry).tail.push(record);
        }
        self.single_externs(entry);
    }

    /// All undefined functions that any record names, the one met last first as the
    /// files' attribute sections come; the kernel's own record stays if it names the
    /// same ones.
    fn single_externs(&mut self, entry: FunctionId) {
        let cx = self.reader.cx;
        let mut functions = self.reader.merged.function_order.clone();
        functions.sort_by_key(|&f| self.reader.source(f));
        let mut seen = HashSet::<SymbolId, foldhash::fast::FixedState>::default();
        let mut list: Vec<SymbolId> = functions
            .iter()
            .flat_map(|&f| self.reader.externs(f))
            .map(|(_, id)| id)
            .filter(|&id| cx.keeps(id) && cx.resolution.get(id).definition.is_none())
            .filter(|&id| seen.insert(id))
            .collect();
        list.reverse();
        let mine: Vec<SymbolId> = (self.reader.externs(entry).into_iter().map(|(_, id)| id))
            .filter(|&id| self.reader.stays_external(id))
            .collect();
        let same =
            list.iter().all(|id| mine.contains(id)) && mine.iter().all(|id| list.contains(id));
        if same {
            return;
        }
        let changes = self.change(entry);
        changes.removed.push(eiattr::EXTERNS);
        if !list.is_empty() {
            changes.tail.push(Record::Externs(list));
        }
    }
}

/// The union of fragment kinds, the function's own first.
fn fragments_record(own: Option<&[u32]>, more: &[u32]) -> Record {
    let mut union: Vec<u32> = own.unwrap_or_default().to_vec();
    for word in more {
        if !union.contains(word) {
            union.push(*word);
        }
    }
    Record::Words(eiattr::AT_ENTRY_FRAGMENTS, union)
}
