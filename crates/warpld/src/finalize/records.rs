//! The bytes of `.nv.info` and `.nv.info.F`: input records in reverse order,
//! symbols renumbered, then what the linker adds.

use super::{Numbering, Parts};
use crate::merge::{InputSection, SectionId};
use crate::object::{eiattr, words};
use crate::properties::{Changes, Record};
use crate::resolve::{Sighting, SymbolId};
use crate::turns::in_turns;
use cubin::attr::Format;
use cubin::info;

/// Record formats.
const NVAL_TO_HVAL: std::ops::RangeInclusive<u8> = 1..=3;
const SVAL: u8 = 4;
/// Version 1.0 of Mercury.
const FIRST_VERSION: u16 = 0x100;

/// How many inputs of one section are worth a task of their own.
const TASK: usize = 64;

/// Makes attribute sections.
pub struct Writer<'a, 'o> {
    pub parts: Parts<'a, 'o>,
    pub numbering: &'o Numbering,
    changes: Option<&'o Changes>,
    /// What was last found of a function. Records that follow each other often describe one.
    latest: Option<(Sighting, Option<Described>)>,
    /// The records of an input section.
    records: Vec<&'a [u8]>,
}

/// A function of the output that a record describes, and its number.
#[derive(Clone, Copy)]
struct Described {
    id: SymbolId,
    number: u32,
}

impl<'a, 'o> Writer<'a, 'o> {
    /// What makes sections one after the other.
    pub fn new(parts: Parts<'a, 'o>, numbering: &'o Numbering) -> Self {
        Self { parts, numbering, changes: None, latest: None, records: Vec::new() }
    }

    /// Appends the bytes of a section.
    pub fn section(&mut self, id: SectionId, sources: &[InputSection], out: &mut Vec<u8>) {
        let parts = self.parts;
        let function = parts.merged.section(id).function.get();
        let function = function.and_then(|f| parts.cx.graph.function(f));
        self.changes = function.and_then(|f| parts.properties.attributes.get(&f));
        if sources.len() <= TASK {
            self.sources(function.is_some(), sources, out);
        } else {
            let task = |sources: &&[InputSection]| {
                let mut out = Vec::new();
                let mut writer = Self { records: Vec::new(), ..*self };
                writer.sources(function.is_some(), sources, &mut out);
                out
            };
            in_turns(sources.rchunks(TASK), task, |list| out.extend_from_slice(&list));
        }
        for record in self.changes.map_or(&[][..], |c| &c.tail) {
            self.record(record, out);
        }
        if function.is_none() && !parts.cx.config.relocatable {
            self.minimum_stacks(out);
        }
    }

    /// Appends the records of inputs, the last one's first.
    fn sources(&mut self, of_function: bool, sources: &[InputSection], out: &mut Vec<u8>) {
        let parts = self.parts;
        let mut records = std::mem::take(&mut self.records);
        for &from in sources.iter().rev() {
            let data = parts.cx.objects[from.object.0 as usize].section_data(from.section);
            let adds_version = parts.cx.flavour.is_mercury() && of_function;
            if self.changes.is_none() && !adds_version && append_reversed(data, out) {
                continue;
            }
            records.clear();
            records.extend(info::raw_records(data));
            out.reserve(data.len());
            if adds_version && !is_versioned(&records) {
                // Objects of ptxas 12.9 do not say it.
                let code = eiattr::MERCURY_ISA_VERSION;
                info::Record::scalar(Format::HVAL, code, FIRST_VERSION).write(out);
            }
            for record in records.iter().rev() {
                self.input_record(from, record, out);
            }
        }
        self.records = records;
    }

    fn input_record(&mut self, from: InputSection, record: &[u8], out: &mut Vec<u8>) {
        let &[format, code, low, high, ref payload @ ..] = record else { return };
        if let Some(changes) = self.changes {
            if let Some(replacement) = changes.replacement(code) {
                return self.record(replacement, out);
            }
            if changes.removed.contains(&code) {
                return;
            }
        }
        match code {
            _ if format != SVAL => out.extend_from_slice(&[format, code, low, high]),
            eiattr::EXTERNS => {
                let ids = words(payload);
                let ids = ids.filter_map(|s| self.parts.cx.resolution.id(from.object, s));
                self.externs(ids, out);
            }
            eiattr::MAX_STACK_SIZE if !self.parts.cx.config.relocatable => {}
            code if describes_a_function(code) => self.function_record(from, code, payload, out),
            eiattr::PARAM_CBANK => self.parameter_bank(from, code, payload, out),
            code if names_a_symbol(code) => {
                let id =
                    words(payload).next().and_then(|s| self.parts.cx.resolution.id(from.object, s));
                if let Some(id) = id {
                    let rest = payload.get(4..).unwrap_or_default();
                    sval(code, &[&self.number(id).to_le_bytes(), rest], out);
                }
            }
            _ => out.extend_from_slice(record),
        }
    }

    /// A number that belongs to a function: gone with it or with a losing copy.
    fn function_record(&mut self, from: InputSection, code: u8, payload: &[u8], out: &mut Vec<u8>) {
        let cx = self.parts.cx;
        let mut fields = words(payload);
        let (Some(symbol), Some(mut value)) = (fields.next(), fields.next()) else { return };
        let at = Sighting { object: from.object, symbol };
        let described = match self.latest {
            Some((latest, described)) if latest == at => described,
            _ => self.described(at),
        };
        self.latest = Some((at, described));
        let Some(Described { id, number }) = described else { return };
        if code == eiattr::REGCOUNT
            && cx.resolution.get(id).entry
            && !cx.config.relocatable
            && let Some(function) = cx.graph.function(id)
            && !cx.reach.is_pruned(function)
        {
            value = self.parts.properties.depth(function).registers;
        }
        pair(code, number, value, out);
    }

    /// The function whose definition this is, if that is part of the output.
    fn described(&self, at: Sighting) -> Option<Described> {
        let cx = self.parts.cx;
        let id = cx.resolution.id(at.object, at.symbol)?;
        let stays = cx.keeps(id)
            && cx.resolution.get(id).definition == Some(at)
            && (cx.config.relocatable || !cx.unified.is_stub(id));
        stays.then(|| Described { id, number: self.number(id) })
    }

    /// Word 0 becomes the section symbol of the kernel's parameter bank.
    fn parameter_bank(&self, from: InputSection, code: u8, payload: &[u8], out: &mut Vec<u8>) {
        let owner = self.parts.cx.owner(from.object, from.section);
        let bank = owner
            .and_then(|(id, _)| self.parts.cx.graph.function(id))
            .and_then(|f| self.parts.merged.function_sections[f.0 as usize].constant0.get())
            .and_then(|s| self.parts.merged.section(s).symbol.get());
        let number = bank.map_or(0, |s| self.numbering.index[s.0 as usize]);
        let rest = payload.get(4..).unwrap_or_default();
        sval(code, &[&number.to_le_bytes(), rest], out);
    }

    fn record(&self, record: &Record, out: &mut Vec<u8>) {
        match record {
            Record::Value { format, code, value } => {
                debug_assert!(NVAL_TO_HVAL.contains(format));
                out.extend_from_slice(&[*format, *code]);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Record::Words(code, values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                sval(*code, &[&bytes], out);
            }
            Record::Externs(list) => self.externs(list.iter().copied(), out),
        }
    }

    /// Only functions that are still external, or kernels, are named; an empty
    /// list is no record.
    fn externs(&self, list: impl Iterator<Item = SymbolId>, out: &mut Vec<u8>) {
        let cx = self.parts.cx;
        let start = out.len();
        out.extend_from_slice(&[SVAL, eiattr::EXTERNS, 0, 0]);
        for id in list {
            let symbol = cx.resolution.get(id);
            if cx.keeps(id) && (symbol.definition.is_none() || symbol.entry) {
                out.extend_from_slice(&self.number(id).to_le_bytes());
            }
        }
        let length = out.len() - start - 4;
        match length {
            0 => out.truncate(start),
            _ => out[start + 2..start + 4].copy_from_slice(&(length as u16).to_le_bytes()),
        }
    }

    fn minimum_stacks(&self, out: &mut Vec<u8>) {
        let properties = self.parts.properties;
        let cx = self.parts.cx;
        let stubs = cx.unified.stub_ids().filter_map(|id| cx.graph.function(id));
        let stubs = stubs.filter(|&stub| cx.reach.is_stub_root(stub));
        let mut entries: Vec<(u32, u32)> = (properties.entries.iter().copied())
            .chain(stubs)
            .map(|f| (self.number(cx.graph.symbol(f)), properties.min_stack(f)))
            .collect();
        entries.sort_unstable();
        for (number, stack) in entries {
            pair(eiattr::MIN_STACK_SIZE, number, stack, out);
        }
    }

    fn number(&self, id: SymbolId) -> u32 {
        self.parts.merged.symbol_of[id.0 as usize]
            .get()
            .map_or(0, |s| self.numbering.index[s.0 as usize])
    }
}

/// Codes of numbers that belong to functions.
#[inline]
fn describes_a_function(code: u8) -> bool {
    matches!(
        code,
        eiattr::REGCOUNT
            | eiattr::FRAME_SIZE
            | eiattr::MIN_STACK_SIZE
            | eiattr::MAX_STACK_SIZE
            | eiattr::SAM_REGION_STACK_SIZE
    )
}

/// Whether a record that nothing replaces is written as it is.
#[inline]
fn is_plain(record: &[u8]) -> bool {
    match *record {
        [SVAL, code, ..] => {
            !describes_a_function(code)
                && !names_a_symbol(code)
                && !matches!(code, eiattr::EXTERNS | eiattr::PARAM_CBANK)
        }
        _ => true,
    }
}

/// Appends the records of an input as they are, the last first, if all are written so:
/// those of functions that are no kernels, as a rule. Otherwise nothing is appended.
fn append_reversed(data: &[u8], out: &mut Vec<u8>) -> bool {
    let sizes = info::raw_records(data).map(|record| is_plain(record).then_some(record.len()));
    let Some(size) = sizes.sum::<Option<usize>>() else { return false };
    let start = out.len();
    out.resize(start + size, 0);
    let mut left = &mut out[start..];
    for record in info::raw_records(data) {
        let (before, last) = left.split_at_mut(left.len() - record.len());
        last.copy_from_slice(record);
        left = before;
    }
    true
}

/// Other codes whose first word is a symbol: image slots and sampler settings.
fn names_a_symbol(code: u8) -> bool {
    matches!(code, 0x02 | 0x06..=0x09 | 0x13 | 0x14 | 0x26)
}

/// Whether the records say for which version of Mercury they are.
fn is_versioned(records: &[&[u8]]) -> bool {
    records.iter().any(|record| record.get(1) == Some(&eiattr::MERCURY_ISA_VERSION))
}

/// A symbol and a number that belongs to it.
fn pair(code: u8, symbol: u32, value: u32, out: &mut Vec<u8>) {
    let [a, b, c, d] = symbol.to_le_bytes();
    let [e, f, g, h] = value.to_le_bytes();
    out.extend_from_slice(&[SVAL, code, 8, 0, a, b, c, d, e, f, g, h]);
}

fn sval(code: u8, payload: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = payload.iter().map(|p| p.len()).sum();
    out.extend_from_slice(&[SVAL, code]);
    out.extend_from_slice(&(length as u16).to_le_bytes());
    for part in payload {
        out.extend_from_slice(part);
    }
}
