//! Attributes that callees pass up to kernels.
//!
//! A kernel's own record is changed in place; a code it lacks is appended, in
//! the order in which the functions' `.nv.info.F` sections and the records in
//! them come. With exactly one kernel in the output nvlink takes another path:
//! all functions count, and the appended codes have a fixed order.

use super::Properties;
use super::scc::Components;
use crate::callgraph::{Callers, FunctionId};
use crate::merge::{Content, Context, InputSection, Merged};
use crate::object::{eiattr, words};
use crate::resolve::SymbolId;
use cubin::info;
use hashbrown::HashMap;

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
    /// A payload of one word.
    Word(u8, u32),
    /// EXTERNS.
    Externs(Vec<SymbolId>),
}

impl Record {
    fn code(&self) -> u8 {
        match self {
            Record::Value { code, .. } | Record::Word(code, _) => *code,
            Record::Externs(_) => eiattr::EXTERNS,
        }
    }
}

/// Changes to a function's attribute section.
#[derive(Clone, Debug, Default)]
pub struct EntryAttributes {
    /// Records that take the place of the function's own of that code.
    pub replaced: Vec<Record>,
    /// Codes whose own records are removed.
    pub removed: Vec<u8>,
    /// Records appended, in order.
    pub tail: Vec<Record>,
}

impl EntryAttributes {
    /// The record to write instead of the function's own with this code.
    pub fn replacement(&self, code: u8) -> Option<&Record> {
        self.replaced.iter().find(|r| r.code() == code)
    }
}

/// How values of a code combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combine {
    Flag,
    Max,
    Or,
    Sum,
}

/// Code, format and rule; the order is that of the single-kernel tail.
const CODES: [(u8, u8, Combine); 9] = [
    (eiattr::CTAIDZ_USED, 1, Combine::Flag),
    (eiattr::RESERVED_SMEM_USED, 1, Combine::Flag),
    (eiattr::VRC_CTA_INIT_COUNT, 2, Combine::Max),
    (eiattr::TCGEN05_1CTA_USED, 1, Combine::Flag),
    (eiattr::TCGEN05_2CTA_USED, 1, Combine::Flag),
    (eiattr::REG_RECONFIG, 1, Combine::Flag),
    (eiattr::NUM_BARRIERS, 2, Combine::Max),
    (eiattr::NUM_MBARRIERS, 3, Combine::Sum),
    (eiattr::SPARSE_MMA_MASK, 3, Combine::Or),
];

fn slot(code: u8) -> Option<usize> {
    CODES.iter().position(|c| c.0 == code)
}

fn combine(rule: Combine, a: u16, b: u16) -> u16 {
    match rule {
        Combine::Flag => a,
        Combine::Max => a.max(b),
        Combine::Or => a | b,
        Combine::Sum => a.saturating_add(b),
    }
}

/// Position of a record among all functions' records.
type Key = (u32, u32);

/// What a function (or all it reaches) contributes: value and first position
/// by code, and CRS.
#[derive(Clone, Debug, Default)]
struct Contribution {
    codes: [Option<(u16, Key)>; CODES.len()],
    externs: Option<Key>,
    crs: u32,
}

impl Contribution {
    fn add(&mut self, other: &Contribution, with_sums: bool) {
        for (i, theirs) in other.codes.iter().enumerate() {
            let rule = CODES[i].2;
            if rule == Combine::Sum && !with_sums {
                continue;
            }
            let Some((value, key)) = *theirs else { continue };
            self.codes[i] = Some(match self.codes[i] {
                Some((mine, first)) => (combine(rule, mine, value), first.min(key)),
                None => (value, key),
            });
        }
        self.externs = match (self.externs, other.externs) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.crs = self.crs.max(other.crs);
    }
}

/// Attribute changes of all kernels.
pub fn propagate(
    cx: Context<'_, '_>,
    merged: &Merged,
    properties: &Properties,
    components: &Components,
) -> HashMap<FunctionId, EntryAttributes, foldhash::fast::FixedState> {
    let propagation = Propagation { cx, merged, properties };
    match properties.entries[..] {
        [] => HashMap::default(),
        [only] => propagation.single(only),
        _ => propagation.several(components),
    }
}

struct Propagation<'a, 'o> {
    cx: Context<'a, 'o>,
    merged: &'o Merged,
    properties: &'o Properties,
}

impl Propagation<'_, '_> {
    fn is_entry(&self, function: FunctionId) -> bool {
        self.cx.resolution.get(self.cx.graph.symbol(function)).entry
    }

    /// The input sections of `.nv.info.F`.
    fn sources(&self, function: FunctionId) -> &[InputSection] {
        let section = self.merged.function_sections[function.0 as usize].info;
        match section.map(|s| &self.merged.section(s).content) {
            Some(Content::Attributes(sources)) => sources,
            _ => &[],
        }
    }

    fn records(
        &self,
        function: FunctionId,
    ) -> impl Iterator<Item = (InputSection, info::Record<'_>)> {
        self.sources(function).iter().flat_map(|&from| {
            let section = self.cx.objects[from.object.0 as usize].cubin.section(from.section);
            let data = section.map_or(&[][..], |s| s.data);
            info::records(data).map_while(Result::ok).map(move |r| (from, r))
        })
    }

    fn contribution(&self, function: FunctionId) -> Contribution {
        let mut out = Contribution::default();
        let Some(section) = self.merged.function_sections[function.0 as usize].info else {
            return out;
        };
        let mut count = 0;
        for (i, (_, record)) in self.records(function).enumerate() {
            let key = (section.0, i as u32);
            count = i as u32 + 1;
            match record.code {
                eiattr::EXTERNS => out.externs = Some(out.externs.unwrap_or(key)),
                eiattr::CRS_STACK_SIZE => {
                    out.crs = out.crs.max(words(record.payload).next().unwrap_or(0));
                }
                code => {
                    if let Some(i) = slot(code) {
                        let rule = CODES[i].2;
                        let value = out.codes[i]
                            .map_or(record.value, |(mine, _)| combine(rule, mine, record.value));
                        out.codes[i] = Some((value, out.codes[i].map_or(key, |(_, k)| k)));
                    }
                }
            }
        }
        let sparse = slot(eiattr::SPARSE_MMA_MASK);
        if let Some(i) = sparse
            && out.codes[i].is_none()
            && self.cx.flavour.missing_sparse_mask_counts()
        {
            out.codes[i] = Some((0x8000, (section.0, count)));
        }
        out
    }

    fn externs(&self, function: FunctionId) -> Vec<(u32, SymbolId)> {
        let mut out = Vec::new();
        for (i, (from, record)) in self.records(function).enumerate() {
            if record.code == eiattr::EXTERNS {
                let ids = words(record.payload)
                    .filter_map(|symbol| self.cx.resolution.id(from.object, symbol));
                out.extend(ids.map(|id| (i as u32, id)));
            }
        }
        out
    }

    /// Whether EXTERNS may still name the function at the end.
    fn stays_external(&self, id: SymbolId) -> bool {
        let symbol = self.cx.resolution.get(id);
        symbol.function && self.cx.keeps(id) && (symbol.definition.is_none() || symbol.entry)
    }

    // ---- two or more kernels ----------------------------------------------

    fn several(
        &self,
        components: &Components,
    ) -> HashMap<FunctionId, EntryAttributes, foldhash::fast::FixedState> {
        let own: Vec<Contribution> = (0..self.cx.graph.len() as u32)
            .map(|f| self.live_contribution(FunctionId(f)))
            .collect();
        let below = self.reached(components, &own);
        let sums = self.sums(&own);
        let externs = self.external_lists(components);
        let mut out = HashMap::default();
        for &entry in &self.properties.entries {
            let component = components.of[entry.0 as usize] as usize;
            let mut reached = below[component].clone();
            let i = slot(eiattr::NUM_MBARRIERS).unwrap_or(0);
            reached.codes[i] = sums.get(&entry).copied();
            let changes = self.entry(entry, &own[entry.0 as usize], &reached, &externs);
            out.insert(entry, changes);
        }
        out
    }

    fn live_contribution(&self, function: FunctionId) -> Contribution {
        if self.cx.reach.is_live(function) {
            self.contribution(function)
        } else {
            Contribution::default()
        }
    }

    /// By component: everything the device functions reached from it contribute.
    fn reached(&self, components: &Components, own: &[Contribution]) -> Vec<Contribution> {
        let graph = self.cx.graph.successors();
        let mut below: Vec<Contribution> = Vec::with_capacity(components.len());
        for component in 0..components.len() {
            let mut joint = Contribution::default();
            for &node in components.members(component) {
                if let Some(own) = own.get(node as usize)
                    && !self.is_entry(FunctionId(node))
                {
                    joint.add(own, false);
                }
                for &callee in graph.of(node) {
                    let callee = components.of[callee as usize] as usize;
                    if callee != component {
                        joint.add(&below[callee], false);
                    }
                }
            }
            below.push(joint);
        }
        below
    }

    /// NUM_MBARRIERS adds up over the distinct functions a kernel reaches.
    fn sums(
        &self,
        own: &[Contribution],
    ) -> HashMap<FunctionId, (u16, Key), foldhash::fast::FixedState> {
        let mut out: HashMap<FunctionId, (u16, Key), foldhash::fast::FixedState> =
            HashMap::default();
        let i = slot(eiattr::NUM_MBARRIERS).unwrap_or(0);
        let with: Vec<FunctionId> = (0..own.len() as u32)
            .map(FunctionId)
            .filter(|&f| own[f.0 as usize].codes[i].is_some() && !self.is_entry(f))
            .collect();
        if with.is_empty() {
            return out;
        }
        let mut callers = Callers::new(self.cx.graph, self.cx.resolution, self.cx.reach);
        for function in with {
            let Some((value, key)) = own[function.0 as usize].codes[i] else { continue };
            for entry in callers.entries_reaching(&[function]) {
                let sum = out.entry(entry).or_insert((0, key));
                *sum = (sum.0.saturating_add(value), sum.1.min(key));
            }
        }
        out
    }

    /// By kernel: external functions its callees name, in order of first mention.
    fn external_lists(
        &self,
        components: &Components,
    ) -> HashMap<FunctionId, Vec<SymbolId>, foldhash::fast::FixedState> {
        let mut users: HashMap<
            SymbolId,
            Vec<(FunctionId, (Key, u32))>,
            foldhash::fast::FixedState,
        > = HashMap::default();
        for &function in &self.merged.function_order {
            let Some(section) = self.merged.function_sections[function.0 as usize].info else {
                continue;
            };
            if self.is_entry(function) {
                continue;
            }
            for (i, (record, id)) in self.externs(function).into_iter().enumerate() {
                if self.stays_external(id) {
                    users.entry(id).or_default().push((function, ((section.0, record), i as u32)));
                }
            }
        }
        let mut found: HashMap<
            FunctionId,
            Vec<((Key, u32), SymbolId)>,
            foldhash::fast::FixedState,
        > = HashMap::default();
        for (&id, users) in &users {
            for (component, key) in self.first_mention(components, users) {
                found.entry(component).or_default().push((key, id));
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
    fn first_mention(
        &self,
        components: &Components,
        users: &[(FunctionId, (Key, u32))],
    ) -> Vec<(FunctionId, (Key, u32))> {
        let graph = self.cx.graph.successors();
        let mut first: Vec<Option<(Key, u32)>> = vec![None; components.len()];
        for &(function, key) in users {
            let slot = &mut first[components.of[function.0 as usize] as usize];
            *slot = Some(slot.map_or(key, |k| k.min(key)));
        }
        for component in 0..components.len() {
            for &node in components.members(component) {
                for &callee in graph.of(node) {
                    let below = first[components.of[callee as usize] as usize];
                    if let Some(key) = below {
                        let slot = &mut first[component];
                        *slot = Some(slot.map_or(key, |k| k.min(key)));
                    }
                }
            }
        }
        let of_entry =
            |&e: &FunctionId| first[components.of[e.0 as usize] as usize].map(|k| (e, k));
        self.properties.entries.iter().filter_map(of_entry).collect()
    }

    fn entry(
        &self,
        entry: FunctionId,
        own: &Contribution,
        reached: &Contribution,
        externs: &HashMap<FunctionId, Vec<SymbolId>, foldhash::fast::FixedState>,
    ) -> EntryAttributes {
        let mut out = EntryAttributes::default();
        self.stack_record(entry, reached, &mut out);
        let mut tail: Vec<(Key, Record)> = Vec::new();
        for (i, &(code, format, rule)) in CODES.iter().enumerate() {
            let Some((value, key)) = reached.codes[i] else { continue };
            let own = own.codes[i].filter(|_| self.has_own(entry, code));
            match own {
                Some((mine, _)) => {
                    let value = combine(rule, mine, value);
                    out.replaced.push(Record::Value { format, code, value });
                }
                None => tail.push((key, Record::Value { format, code, value })),
            }
        }
        let mut list: Vec<SymbolId> = self
            .externs(entry)
            .into_iter()
            .map(|(_, id)| id)
            .filter(|&id| self.stays_external(id))
            .collect();
        for &id in externs.get(&entry).into_iter().flatten() {
            if !list.contains(&id) {
                list.push(id);
            }
        }
        if own.externs.is_some() {
            out.replaced.push(Record::Externs(list));
        } else if let Some(key) = reached.externs {
            tail.push((key, Record::Externs(list)));
        }
        tail.sort_by_key(|(key, _)| *key);
        out.tail.extend(tail.into_iter().map(|(_, record)| record));
        out
    }

    /// Whether the function's own section has a record of this code.
    fn has_own(&self, function: FunctionId, code: u8) -> bool {
        self.records(function).any(|(_, r)| r.code == code)
    }

    /// CRS_STACK_SIZE: unbounded under recursion, else the largest of the callees'.
    fn stack_record(&self, entry: FunctionId, reached: &Contribution, out: &mut EntryAttributes) {
        let recursive = self.properties.depth[entry.0 as usize].recursive;
        let value = if recursive { u32::MAX } else { reached.crs };
        if value == 0 {
            return;
        }
        let record = Record::Word(eiattr::CRS_STACK_SIZE, value);
        if self.has_own(entry, eiattr::CRS_STACK_SIZE) {
            out.replaced.push(record);
        } else {
            out.tail.push(record);
        }
    }

    // ---- exactly one kernel -------------------------------------------------

    fn single(
        &self,
        entry: FunctionId,
    ) -> HashMap<FunctionId, EntryAttributes, foldhash::fast::FixedState> {
        let own = self.contribution(entry);
        let mut reached = Contribution::default();
        for &function in &self.merged.function_order {
            if function != entry {
                reached.add(&self.contribution(function), true);
            }
        }
        let mut out = EntryAttributes::default();
        self.stack_record(entry, &reached, &mut out);
        for (i, &(code, format, rule)) in CODES.iter().enumerate() {
            let Some((value, _)) = reached.codes[i] else { continue };
            if self.has_own(entry, code) {
                let mine = own.codes[i].map_or(0, |(v, _)| v);
                let value = combine(rule, mine, value);
                out.replaced.push(Record::Value { format, code, value });
            } else {
                let value = if code == eiattr::REG_RECONFIG { 0 } else { value };
                out.tail.push(Record::Value { format, code, value });
            }
        }
        self.single_externs(entry, &mut out);
        HashMap::from_iter([(entry, out)])
    }

    /// All undefined functions, last symbol first; the kernel's own record stays
    /// if it names the same ones.
    fn single_externs(&self, entry: FunctionId, out: &mut EntryAttributes) {
        let mut list: Vec<SymbolId> = (self.merged.function_order.iter())
            .map(|&f| self.cx.graph.symbol(f))
            .filter(|&id| self.cx.resolution.get(id).definition.is_none())
            .collect();
        // The output's symbol order is creation order within each list, and
        // undefined functions are all in the global one.
        list.reverse();
        let mine: Vec<SymbolId> = self.externs(entry).into_iter().map(|(_, id)| id).collect();
        let kept: Vec<SymbolId> =
            mine.iter().copied().filter(|&id| self.stays_external(id)).collect();
        let same = kept.len() == list.len() && list.iter().all(|id| kept.contains(id));
        if same {
            return;
        }
        out.removed.push(eiattr::EXTERNS);
        if !list.is_empty() {
            out.tail.push(Record::Externs(list));
        }
    }
}
