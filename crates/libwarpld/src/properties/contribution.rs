//! What one function's attribute records mean, for itself and for its callers.

use crate::collections::Map;
use crate::context::Analysis;
use crate::ids::{FunctionId, InputSection, ObjectId, SymbolId, SymbolRefId};
use crate::merge::{Content, Merged};
use cubin::consts::shf;
use cubin::info;
use cubin::{Attr, Format};
use rayon::prelude::*;

/// The languages of a kernel, and the position of the first record that adds one.
pub(super) type NewLanguages = Map<FunctionId, (Vec<u32>, Key)>;

/// How values of a code combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// Only presence counts; the last value seen stays.
    Flag,
    /// Largest.
    Max,
    /// Bits of all.
    Or,
    /// Total; 0xffff is "unknown" and stays so.
    Sum,
}

/// Code, format and rule; the order is that of the single-kernel tail.
pub const CODES: [(Attr, Format, Combine); 11] = [
    (Attr::CTAIDZ_USED, Format::NVAL, Combine::Flag),
    (Attr::RESERVED_SMEM_USED, Format::NVAL, Combine::Flag),
    (Attr::CLUSTER_LAUNCH_CONTROL_USED, Format::NVAL, Combine::Flag),
    (Attr::VRC_CTA_INIT_COUNT, Format::BVAL, Combine::Max),
    (Attr::TCGEN05_1CTA_USED, Format::NVAL, Combine::Flag),
    (Attr::TCGEN05_2CTA_USED, Format::NVAL, Combine::Flag),
    (Attr::NUM_BARRIERS, Format::BVAL, Combine::Max),
    (Attr::REG_RECONFIG, Format::NVAL, Combine::Flag),
    (Attr::NUM_MBARRIERS, Format::HVAL, Combine::Sum),
    (Attr::SPARSE_MMA_MASK, Format::HVAL, Combine::Or),
    (Attr::GRID_ATTRIBUTES, Format::HVAL, Combine::Or),
];

/// Index in [`CODES`] of a code known to be there.
pub const fn slot(code: Attr) -> usize {
    BITS[code.0 as usize] as usize
}

/// Index of SPARSE_MMA_MASK.
pub const fn sparse_slot() -> usize {
    slot(Attr::SPARSE_MMA_MASK)
}

/// Bit of EXTERNS in a set of codes; those of [`CODES`] are their indices.
const EXTERNS: usize = CODES.len();
/// Bit of AT_ENTRY_FRAGMENTS.
const FRAGMENTS: usize = CODES.len() + 1;
/// Bits of CRS_STACK_SIZE and SYNC_STACK, and of MAXREG_COUNT, which are in no set.
const CRS: usize = CODES.len() + 2;
const LIMIT: usize = CODES.len() + 3;
/// Bit of LANGUAGE, which is a list.
const LANGUAGE: usize = CODES.len() + 4;

/// Bit of CLUSTER_LAUNCH_CONTROL_USED, which not all releases pass on.
const LAUNCH_CONTROL: usize = slot(Attr::CLUSTER_LAUNCH_CONTROL_USED);

/// The bit of every code that counts, [`NO_BIT`] for others.
const BITS: [u8; 256] = {
    let mut bits = [NO_BIT; 256];
    let mut i = 0;
    while i < CODES.len() {
        bits[CODES[i].0.0 as usize] = i as u8;
        i += 1;
    }
    bits[Attr::EXTERNS.0 as usize] = EXTERNS as u8;
    bits[Attr::AT_ENTRY_FRAGMENTS.0 as usize] = FRAGMENTS as u8;
    bits[Attr::CRS_STACK_SIZE.0 as usize] = CRS as u8;
    bits[Attr::SYNC_STACK.0 as usize] = CRS as u8;
    bits[Attr::MAXREG_COUNT.0 as usize] = LIMIT as u8;
    bits[Attr::LANGUAGE.0 as usize] = LANGUAGE as u8;
    bits
};
const NO_BIT: u8 = u8::MAX;

/// Combines a kernel's value (`a`) with one from below (`b`). [`clusters`, `ctaid-z`]
pub fn combine(rule: Combine, a: u16, b: u16) -> u16 {
    match rule {
        Combine::Flag => b,
        Combine::Max => a.max(b),
        Combine::Or => a | b,
        Combine::Sum if a == u16::MAX || b == u16::MAX => u16::MAX,
        Combine::Sum => a.wrapping_add(b),
    }
}

/// Position of a record among the selected ones: the input, its attribute section and the index in
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub ObjectId, pub u32, pub u32);

impl Key {
    /// Stands for a missing record.
    pub const MISSING: Key = Key(ObjectId::new(u32::MAX as usize), u32::MAX, u32::MAX);
}

/// A set of codes with the values of those in [`CODES`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Contribution {
    present: u16,
    values: [u16; CODES.len()],
}

impl Contribution {
    /// Value of the code with this index in [`CODES`].
    pub fn code(&self, slot: usize) -> Option<u16> {
        self.has(slot).then(|| self.values[slot])
    }

    /// Indices in [`CODES`] and values.
    pub fn codes(&self) -> impl Iterator<Item = (usize, u16)> + '_ {
        let mut left = self.present & ((1 << CODES.len()) - 1);
        std::iter::from_fn(move || {
            let slot = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some((slot, self.values[slot]))
        })
    }

    /// Sets or removes a code.
    pub fn set_code(&mut self, slot: usize, value: Option<u16>) {
        self.present &= !(1 << slot);
        if let Some(value) = value {
            self.present |= 1 << slot;
            self.values[slot] = value;
        }
    }

    /// Whether there are EXTERNS records.
    pub fn has_externs(&self) -> bool {
        self.has(EXTERNS)
    }

    /// Whether there are AT_ENTRY_FRAGMENTS records.
    pub fn has_fragments(&self) -> bool {
        self.has(FRAGMENTS)
    }

    /// Whether there are records of a code that counts.
    pub fn has_code(&self, code: Attr) -> bool {
        let bit = BITS[usize::from(code.0)];
        bit != NO_BIT && self.has(bit.into())
    }

    /// The codes that another one lacks.
    pub fn without(mut self, other: &Contribution) -> Self {
        self.present &= !other.present;
        self
    }

    fn has(&self, bit: usize) -> bool {
        self.present >> bit & 1 != 0
    }

    /// Adds what another function contributes. Sums are left to the caller, because a function
    /// counts once however often it is reached.
    pub fn add(&mut self, other: &Contribution) {
        const SUMS: u16 = 1 << slot(Attr::NUM_MBARRIERS);
        if self.present == 0 {
            // The first one, and usually the only one.
            *self = *other;
            self.present &= !SUMS & !(1 << FRAGMENTS);
            return;
        }
        for (slot, theirs) in other.codes() {
            let rule = CODES[slot].2;
            if rule != Combine::Sum {
                let value = self.code(slot).map_or(theirs, |mine| combine(rule, mine, theirs));
                self.set_code(slot, Some(value));
            }
        }
        self.present |= other.present & (1 << EXTERNS);
    }
}

/// The source languages of a function, if they are passed to callers at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Languages {
    /// It lists none.
    None,
    /// This one.
    One(u32),
    /// More.
    Several,
}

impl Languages {
    /// These and others.
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, only) | (only, Self::None) => only,
            (a, b) if a == b => a,
            _ => Self::Several,
        }
    }
}

/// A function's own records and tables.
#[derive(Clone, Copy, Debug)]
pub struct OwnProperties {
    /// Registers.
    pub registers: u32,
    /// Size of its frame.
    pub frame: u32,
    /// CRS_STACK_SIZE (or SYNC_STACK).
    pub crs: u32,
    /// MAXREG_COUNT of a kernel, if it has a limit.
    pub limit: Option<u16>,
    /// Barriers that an old object has in its text section's flags.
    pub barriers_in_flags: u16,
    /// What it contributes to its callers.
    pub contribution: Contribution,
    /// Codes with exactly one record that already has the linker's form.
    plain: u16,
    /// The SPARSE_MMA_MASK is not in a record but the default for a missing one.
    pub assumes_mask: bool,
    /// Some EXTERNS record names a function that stays external.
    pub names_external: bool,
    /// What it is written in.
    pub languages: Languages,
    /// It is a kernel.
    pub is_entry: bool,
    /// It is a kernel whose stack is unbounded according to the compiler: something that `ptxas
    /// -ewp` put into it recurses.
    pub unbounded: bool,
}

impl OwnProperties {
    /// For functions unknown to the link.
    pub const NOTHING: OwnProperties = OwnProperties {
        registers: 0,
        frame: 0,
        crs: 0,
        limit: None,
        barriers_in_flags: 0,
        contribution: Contribution { present: 0, values: [0; CODES.len()] },
        plain: 0,
        assumes_mask: false,
        names_external: false,
        languages: Languages::None,
        is_entry: false,
        unbounded: false,
    };

    /// Whether the function's records of the code already have this value.
    pub fn is_already(&self, slot: usize, value: u16) -> bool {
        self.plain >> slot & 1 != 0 && self.contribution.code(slot) == Some(value)
    }

    /// Whether there is a SPARSE_MMA_MASK record.
    pub fn has_mask(&self) -> bool {
        self.contribution.has(sparse_slot()) && !self.assumes_mask
    }

    /// Reverts the default for a missing SPARSE_MMA_MASK.
    pub fn forget_assumed_mask(&mut self) {
        if std::mem::take(&mut self.assumes_mask) {
            self.contribution.set_code(sparse_slot(), None);
        }
    }

    /// Whether the EXTERNS records need no change to list only what is still external.
    pub fn has_plain_externs(&self) -> bool {
        self.plain >> EXTERNS & 1 != 0
    }

    fn note(&mut self, bit: usize, record: &info::Record<'_>) {
        let Some(&(_, format, rule)) = CODES.get(bit) else {
            self.contribution.present |= 1 << bit;
            return;
        };
        let known = self.contribution.code(bit);
        let value = known.map_or(record.value, |mine| combine(rule, mine, record.value));
        self.contribution.set_code(bit, Some(value));
        self.set_plain(bit, known.is_none() && record.format == format.0);
    }

    fn set_plain(&mut self, bit: usize, plain: bool) {
        self.plain = self.plain & !(1 << bit) | u16::from(plain) << bit;
    }
}

/// What the functions of the link have at all: most links have little of it, and can skip the
/// passes for the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Any {
    present: u16,
    masks: bool,
    assumes_mask: bool,
    /// See [`OwnProperties`].
    pub names_external: bool,
    /// See [`OwnProperties`].
    pub barriers_in_flags: bool,
}

impl Any {
    /// The union over these functions.
    pub fn of(own: &[OwnProperties]) -> Self {
        let add = |any: Any, own: &OwnProperties| Any {
            present: any.present | own.contribution.present,
            masks: any.masks | own.has_mask(),
            assumes_mask: any.assumes_mask | own.assumes_mask,
            names_external: any.names_external | own.names_external,
            barriers_in_flags: any.barriers_in_flags | (own.barriers_in_flags > 0),
        };
        let join = |a: Any, b: Any| Any {
            present: a.present | b.present,
            masks: a.masks | b.masks,
            assumes_mask: a.assumes_mask | b.assumes_mask,
            names_external: a.names_external | b.names_external,
            barriers_in_flags: a.barriers_in_flags | b.barriers_in_flags,
        };
        own.par_iter().with_min_len(ANY_AT_ONCE).fold(Any::default, add).reduce(Any::default, join)
    }

    /// Whether there are records of the code with this index in [`CODES`].
    pub fn has(&self, slot: usize) -> bool {
        self.present >> slot & 1 != 0
    }

    /// Whether there are AT_ENTRY_FRAGMENTS records.
    pub fn has_fragments(&self) -> bool {
        self.has(FRAGMENTS)
    }

    /// Whether functions lack a SPARSE_MMA_MASK and none has one, as in objects of compilers up to
    /// 12.2: then missing ones have no default.
    pub fn has_no_masks(&self) -> bool {
        self.assumes_mask && !self.masks
    }

    /// Whether some have a SPARSE_MMA_MASK and others lack it.
    pub fn lacks_masks(&self) -> bool {
        self.masks && self.assumes_mask
    }
}

/// Fewer are not worth another thread.
const ANY_AT_ONCE: usize = 1 << 13;

/// Reads the attribute records of functions.
#[derive(Clone, Copy)]
pub struct Reader<'a, 'o> {
    /// Earlier decisions.
    pub cx: Analysis<'a, 'o>,
    /// Sections.
    pub merged: &'o Merged,
}

impl<'o> Reader<'_, 'o> {
    /// The input sections of `.nv.info.F`.
    fn sources(&self, function: FunctionId) -> &'o [InputSection] {
        let section = self.merged.function_sections[function].info.get();
        match section.map(|s| self.merged.section(s).content()) {
            Some(Content::Attributes(sources)) => sources,
            _ => &[],
        }
    }

    /// The file and section that the function's attributes come from.
    pub fn source(&self, function: FunctionId) -> Option<(ObjectId, u32)> {
        self.sources(function).first().map(|from| (from.object, from.section))
    }

    /// The records of a function with their positions.
    fn records(
        &self,
        function: FunctionId,
    ) -> impl Iterator<Item = (Key, info::Record<'o>)> + use<'o> {
        let objects = self.cx.objects;
        let sources = self.sources(function).iter();
        let records = sources.flat_map(move |&from| {
            let data = objects[from.object].section_data(from.section);
            info::readable_records(data).map(move |r| (from, r))
        });
        records.enumerate().map(|(i, (from, r))| (Key(from.object, from.section, i as u32), r))
    }

    /// Whether the function's own section has a record of this code.
    pub fn has_own(&self, function: FunctionId, code: Attr) -> bool {
        self.first(function, code).is_some()
    }

    /// Position of the function's first record of a code.
    pub fn first(&self, function: FunctionId, code: Attr) -> Option<Key> {
        self.records(function).find(|(_, r)| r.attr() == code).map(|(key, _)| key)
    }

    /// AT_ENTRY_FRAGMENTS of a function.
    pub fn fragments(&self, function: FunctionId) -> Option<(Vec<u32>, Key)> {
        let records = self.records(function).filter(|(_, r)| r.attr() == Attr::AT_ENTRY_FRAGMENTS);
        records.last().map(|(key, r)| (info::words(r.payload).collect(), key))
    }

    /// What LANGUAGE of a function lists, and the position of the record.
    pub fn languages(&self, function: FunctionId) -> (Vec<u32>, Key) {
        let mut records = self.records(function).filter(|(_, r)| r.attr() == Attr::LANGUAGE);
        let found = records.next().map(|(key, r)| (info::words(r.payload).collect(), key));
        found.unwrap_or((Vec::new(), Key::MISSING))
    }

    /// A call graph node's own attributes; prototypes have none.
    pub fn own_of_node(&self, node: u32) -> OwnProperties {
        match (node as usize) < self.cx.graph.len() {
            true => self.own(FunctionId::from(node)),
            false => OwnProperties::NOTHING,
        }
    }

    /// All of a function's own attributes, in one pass.
    fn own(&self, function: FunctionId) -> OwnProperties {
        let cx = self.cx;
        let symbol = cx.resolution.get(cx.graph.symbol(function));
        let mut out = OwnProperties { is_entry: symbol.entry, ..OwnProperties::NOTHING };
        if let Some(at) = symbol.definition {
            let object = &cx.objects[at.object];
            let function_info = object.function_info(at.symbol);
            (out.registers, out.frame) = (function_info.registers, function_info.frame);
            out.unbounded = symbol.entry && function_info.unbounded;
            out.barriers_in_flags = self.barriers_in_flags(at);
        }
        let mut has_limit = None;
        for &from in self.sources(function) {
            let data = cx.objects[from.object].section_data(from.section);
            for raw in info::raw_records(data) {
                let &[format, code, low, high, ref payload @ ..] = raw else { continue };
                let bit = BITS[usize::from(code)];
                // Most records do not matter.
                if bit == NO_BIT {
                    continue;
                }
                let value = u16::from_le_bytes([low, high]);
                let record = info::Record { format, code, value, payload };
                match usize::from(bit) {
                    CRS => out.crs = info::words(record.payload).next().unwrap_or(out.crs),
                    LIMIT => has_limit = has_limit.or(Some(record.value)),
                    EXTERNS => self.note_externs(&mut out, from.object, &record),
                    LANGUAGE if !cx.dialect.passes_languages_up() => {}
                    LAUNCH_CONTROL if !cx.dialect.passes_launch_control_up() => {}
                    LANGUAGE => {
                        let all = info::words(record.payload).map(Languages::One);
                        out.languages = all.fold(out.languages, Languages::with);
                    }
                    bit => out.note(bit, &record),
                }
            }
        }
        out.limit = has_limit.filter(|&limit| limit != NO_LIMIT);
        if !cx.reach.is_live(function) {
            out.contribution = Contribution::default();
            out.languages = Languages::None;
        } else if symbol.definition.is_some()
            && !out.contribution.has(sparse_slot())
            && cx.dialect.missing_sparse_mask_counts()
            && !self.is_nested(function)
        {
            out.contribution.set_code(sparse_slot(), Some(self.missing_sparse_mask(function)));
            out.assumes_mask = true;
        }
        out
    }

    fn note_externs(&self, out: &mut OwnProperties, object: ObjectId, record: &info::Record<'_>) {
        let mut plain = !out.contribution.has_externs() && record.format == Format::SVAL.0;
        out.contribution.present |= 1 << EXTERNS;
        for id in info::words(record.payload).filter_map(|s| self.cx.resolution.id(object, s)) {
            let is_function = self.cx.resolution.get(id).function;
            out.names_external |= self.stays_external(id);
            plain &= is_function;
        }
        out.set_plain(EXTERNS, plain);
    }

    /// The default mask of a function without a record about sparse instructions.
    pub fn missing_sparse_mask(&self, function: FunctionId) -> u16 {
        let stub = self.cx.unified.is_stub(self.cx.graph.symbol(function));
        if stub { 0 } else { 0x8000 }
    }

    fn barriers_in_flags(&self, at: SymbolRefId) -> u16 {
        let object = &self.cx.objects[at.object];
        if !object.barriers_in_flags {
            return 0;
        }
        let flags = (object.cubin.symbol(at.symbol))
            .and_then(|symbol| Some(object.section(symbol.shndx)?.flags));
        flags.map_or(0, |f| (f & shf::BARRIERS_MASK) >> shf::BARRIERS_SHIFT) as u16
    }

    /// External functions the function's records name, with their position.
    /// [`externs-of-replaced`, `externs`]
    pub fn externs(&self, function: FunctionId) -> Vec<(Key, SymbolId)> {
        let mut out = Vec::new();
        for (key, record) in self.records(function).filter(|(_, r)| r.attr() == Attr::EXTERNS) {
            let ids = info::words(record.payload)
                .filter_map(|symbol| self.cx.resolution.id(key.0, symbol));
            out.extend(ids.map(|id| (key, id)));
        }
        out
    }

    /// Whether EXTERNS may still name the function in the output.
    pub fn stays_external(&self, id: SymbolId) -> bool {
        let symbol = self.cx.resolution.get(id);
        symbol.function && self.cx.keeps(id) && (symbol.definition.is_none() || symbol.entry)
    }

    /// Whether the function is inside a kernel.
    pub fn is_nested(&self, function: FunctionId) -> bool {
        let cx = self.cx;
        cx.resolution.kernel_around(cx.objects, cx.graph.symbol(function)).is_some()
    }

    /// The function that owns an alias's section; others own theirs.
    /// [`alias-across-files`, `alias`]
    pub fn section_owner(&self, function: FunctionId) -> FunctionId {
        let owner = self.cx.owner_of_code(self.cx.graph.symbol(function));
        owner.and_then(|owner| self.cx.graph.function(owner)).unwrap_or(function)
    }
}

/// MAXREG_COUNT of kernels without a limit.
const NO_LIMIT: u16 = 0xff;
