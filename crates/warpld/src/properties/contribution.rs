//! What one function's attribute records contribute to its callers.

use crate::callgraph::FunctionId;
use crate::merge::{Content, Context, InputSection, Merged};
use crate::object::{ObjectId, eiattr, words};
use crate::resolve::SymbolId;
use cubin::consts::shf;
use cubin::info;
use smallvec::SmallVec;

/// How values of a code combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Presence is all; the last value seen stays.
    Flag,
    /// Largest.
    Max,
    /// Bits of all.
    Or,
    /// Total; 0xffff is "unknown" and stays so.
    Sum,
}

/// Code, format and rule; the order is that of the single-kernel tail.
pub const CODES: [(u8, u8, Combine); 9] = [
    (eiattr::CTAIDZ_USED, 1, Combine::Flag),
    (eiattr::RESERVED_SMEM_USED, 1, Combine::Flag),
    (eiattr::VRC_CTA_INIT_COUNT, 2, Combine::Max),
    (eiattr::TCGEN05_1CTA_USED, 1, Combine::Flag),
    (eiattr::TCGEN05_2CTA_USED, 1, Combine::Flag),
    (eiattr::NUM_BARRIERS, 2, Combine::Max),
    (eiattr::REG_RECONFIG, 1, Combine::Flag),
    (eiattr::NUM_MBARRIERS, 3, Combine::Sum),
    (eiattr::SPARSE_MMA_MASK, 3, Combine::Or),
];

/// Position in [`CODES`] of a code known to be there.
pub fn slot(code: u8) -> usize {
    CODES.iter().position(|c| c.0 == code).unwrap_or(CODES.len() - 1)
}

/// Position of SPARSE_MMA_MASK.
pub fn sparse_slot() -> usize {
    slot(eiattr::SPARSE_MMA_MASK)
}

/// Combines a kernel's value (`a`) with one from below (`b`).
pub fn combine(rule: Combine, a: u16, b: u16) -> u16 {
    match rule {
        Combine::Flag => b,
        Combine::Max => a.max(b),
        Combine::Or => a | b,
        Combine::Sum if a == u16::MAX || b == u16::MAX => u16::MAX,
        Combine::Sum => a.wrapping_add(b),
    }
}

/// Position of a record among those in force: the input, its attribute section and
/// the number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub ObjectId, pub u32, pub u32);

impl Key {
    /// A value that stands for a missing record.
    pub const MISSING: Key = Key(ObjectId(u32::MAX), u32::MAX, u32::MAX);
}

/// Values and first positions by code. Few functions have any.
#[derive(Clone, Debug, Default)]
pub struct Contribution {
    codes: SmallVec<[Coded; 2]>,
    /// Position of the first EXTERNS record.
    pub externs: Option<Key>,
    /// AT_ENTRY_FRAGMENTS.
    pub fragments: Option<Box<(Vec<u32>, Key)>>,
}

/// The value of a code.
#[derive(Clone, Copy, Debug)]
struct Coded {
    /// The code's position in [`CODES`].
    slot: u8,
    value: u16,
    key: Key,
}

impl Contribution {
    /// Value and first position of the code with this position in [`CODES`].
    pub fn code(&self, slot: usize) -> Option<(u16, Key)> {
        let known = self.codes.iter().find(|c| usize::from(c.slot) == slot);
        known.map(|c| (c.value, c.key))
    }

    /// Sets or removes a code.
    pub fn set_code(&mut self, slot: usize, code: Option<(u16, Key)>) {
        self.codes.retain(|c| usize::from(c.slot) != slot);
        self.codes.extend(code.map(|(value, key)| Coded { slot: slot as u8, value, key }));
    }

    /// Adds what another function contributes; sums are the caller's business,
    /// as a function counts once however often it is reached.
    pub fn add(&mut self, other: &Contribution) {
        for theirs in &other.codes {
            let rule = CODES[usize::from(theirs.slot)].2;
            if rule == Combine::Sum {
                continue;
            }
            match self.codes.iter_mut().find(|c| c.slot == theirs.slot) {
                Some(mine) => {
                    mine.value = combine(rule, mine.value, theirs.value);
                    mine.key = mine.key.min(theirs.key);
                }
                None => self.codes.push(*theirs),
            }
        }
        self.externs = match (self.externs, other.externs) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// Reads the attribute records of functions.
#[derive(Clone, Copy)]
pub struct Reader<'a, 'o> {
    /// Earlier decisions.
    pub cx: Context<'a, 'o>,
    /// Sections.
    pub merged: &'o Merged,
}

impl<'o> Reader<'_, 'o> {
    /// The input sections of `.nv.info.F`.
    fn sources(&self, function: FunctionId) -> &'o [InputSection] {
        let section = self.merged.function_sections[function.0 as usize].info;
        match section.map(|s| &self.merged.section(s).content) {
            Some(Content::Attributes(sources)) => sources,
            _ => &[],
        }
    }

    /// The file and section that the function's attributes come from.
    pub fn source(&self, function: FunctionId) -> Option<(ObjectId, u32)> {
        self.sources(function).first().map(|from| (from.object, from.section))
    }

    fn records(
        &self,
        function: FunctionId,
    ) -> impl Iterator<Item = (InputSection, info::Record<'o>)> + use<'o> {
        let objects = self.cx.objects;
        self.sources(function).iter().flat_map(move |&from| {
            let section = objects[from.object.0 as usize].cubin.section(from.section);
            let data = section.map_or(&[][..], |s| s.data);
            info::records(data).map_while(Result::ok).map(move |r| (from, r))
        })
    }

    /// Whether the function's own section has a record of this code.
    pub fn has_own(&self, function: FunctionId, code: u8) -> bool {
        self.records(function).any(|(_, r)| r.code == code)
    }

    /// What the function itself contributes.
    pub fn contribution(&self, function: FunctionId) -> Contribution {
        let mut out = Contribution::default();
        for (i, (from, record)) in self.records(function).enumerate() {
            let key = Key(from.object, from.section, i as u32);
            match record.code {
                eiattr::EXTERNS => out.externs = Some(out.externs.unwrap_or(key)),
                eiattr::AT_ENTRY_FRAGMENTS => {
                    out.fragments = Some(Box::new((words(record.payload).collect(), key)));
                }
                code => {
                    if let Some(i) = CODES.iter().position(|c| c.0 == code) {
                        let known = out.code(i);
                        let value = known.map_or(record.value, |(mine, _)| {
                            combine(CODES[i].2, mine, record.value)
                        });
                        out.set_code(i, Some((value, known.map_or(key, |(_, k)| k))));
                    }
                }
            }
        }
        let defined = self.cx.resolution.get(self.cx.graph.symbol(function)).definition.is_some();
        let lacks = out.code(sparse_slot()).is_none();
        if defined && lacks && self.cx.flavour.missing_sparse_mask_counts() {
            let mask = self.missing_sparse_mask(function);
            out.set_code(sparse_slot(), Some((mask, Key::MISSING)));
        }
        out
    }

    /// What a function counts for that says nothing about sparse instructions.
    pub fn missing_sparse_mask(&self, function: FunctionId) -> u16 {
        let stub = self.cx.unified.is_stub(self.cx.graph.symbol(function));
        if stub { 0 } else { 0x8000 }
    }

    /// Barriers that an old object has in its text section's flags.
    pub fn barriers_in_flags(&self, function: FunctionId) -> u16 {
        let definition = self.cx.resolution.get(self.cx.graph.symbol(function)).definition;
        let flags = definition.and_then(|at| {
            let symbol = self.cx.input_symbol(at)?;
            Some(self.cx.objects[at.object.0 as usize].cubin.section(symbol.shndx)?.flags)
        });
        flags.map_or(0, |f| (f & shf::BARRIERS_MASK) >> shf::BARRIERS_SHIFT) as u16
    }

    /// External functions the function's records name, with their position.
    pub fn externs(&self, function: FunctionId) -> Vec<(Key, SymbolId)> {
        let mut out = Vec::new();
        for (i, (from, record)) in self.records(function).enumerate() {
            if record.code == eiattr::EXTERNS {
                let ids = words(record.payload)
                    .filter_map(|symbol| self.cx.resolution.id(from.object, symbol));
                let key = Key(from.object, from.section, i as u32);
                out.extend(ids.map(|id| (key, id)));
            }
        }
        out
    }

    /// Whether EXTERNS may still name the function at the end.
    pub fn stays_external(&self, id: SymbolId) -> bool {
        let symbol = self.cx.resolution.get(id);
        symbol.function && self.cx.keeps(id) && (symbol.definition.is_none() || symbol.entry)
    }

    /// The function whose section an alias lives in; others own theirs.
    pub fn section_owner(&self, function: FunctionId) -> FunctionId {
        let cx = self.cx;
        let definition = cx.resolution.get(cx.graph.symbol(function)).definition;
        let owner = definition.and_then(|at| {
            let symbol = cx.input_symbol(at)?;
            let owner = cx.objects[at.object.0 as usize].owner(symbol.shndx)?;
            cx.graph.function(cx.resolution.id(at.object, owner)?)
        });
        owner.unwrap_or(function)
    }

    /// CRS_STACK_SIZE (or SYNC_STACK) of a function alone.
    pub fn crs(&self, function: FunctionId) -> u32 {
        let records = self.records(function);
        let stack = records
            .filter(|(_, r)| matches!(r.code, eiattr::CRS_STACK_SIZE | eiattr::SYNC_STACK))
            .filter_map(|(_, r)| words(r.payload).next());
        stack.last().unwrap_or(0)
    }

    /// MAXREG_COUNT of a kernel, if it has a limit.
    pub fn register_limit(&self, function: FunctionId) -> Option<u32> {
        const NO_LIMIT: u16 = 0xff;
        self.records(function)
            .find(|(_, r)| r.code == eiattr::MAXREG_COUNT)
            .map(|(_, r)| r.value)
            .filter(|&limit| limit != NO_LIMIT)
            .map(u32::from)
    }
}
