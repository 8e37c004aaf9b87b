//! Contents of `.nv.info` and `.nv.info.F`: input records in reverse order with renumbered symbols,
//! then the linker's records.

use super::numbering::Numbering;
use crate::ids::{InputSection, SectionId, SymbolId, SymbolRefId};
use crate::linked::Linked;
use crate::par_ordered::map_in_order;
use crate::properties::{Changes, Record};
use cubin::info;
use cubin::{Attr, Format};
use std::hint::black_box;

const SVAL: u8 = Format::SVAL.0;
/// Version 1.0 of Mercury.
const FIRST_VERSION: u16 = 0x100;

/// Fits most records.
const USUAL_SIZE: usize = 64;

/// Number of inputs of one section that justifies a separate task.
const TASK: usize = 64;

/// Builds attribute sections.
pub struct Writer<'a, 'o> {
    pub linked: Linked<'a, 'o>,
    pub numbering: &'o Numbering,
    changes: Option<&'o Changes>,
    /// The function looked up last. Consecutive records often describe the same one.
    latest: Option<(SymbolRefId, Option<Described>)>,
    /// The current record's new contents.
    bytes: Vec<u8>,
}

/// A function of the output that a record describes, and its index.
#[derive(Clone, Copy)]
struct Described {
    id: SymbolId,
    number: u32,
}

impl<'a, 'o> Writer<'a, 'o> {
    /// Builds sections in order.
    pub fn new(linked: Linked<'a, 'o>, numbering: &'o Numbering) -> Self {
        Self {
            linked,
            numbering,
            changes: None,
            latest: None,
            bytes: Vec::with_capacity(USUAL_SIZE),
        }
    }

    /// Appends the contents of a section.
    pub fn section(&mut self, id: SectionId, sources: &[InputSection], out: &mut Vec<u8>) {
        let linked = self.linked;
        let function = linked.merged.section(id).function.get();
        let function = function.and_then(|f| linked.cx.graph.function(f));
        self.changes = function.and_then(|f| linked.properties.attributes.get(&f));
        if sources.len() <= TASK {
            self.sources(function.is_some(), sources, out);
        } else {
            let task = |sources: &&[InputSection]| {
                let mut out = Vec::with_capacity(ask_for(linked, sources));
                let mut writer = Self { bytes: Vec::new(), ..*self };
                writer.sources(function.is_some(), sources, &mut out);
                out
            };
            out.reserve(sources.iter().map(|&from| linked.cx.data_of(from).len()).sum());
            map_in_order(sources.rchunks(TASK), task, |list| out.extend_from_slice(&list));
        }
        for record in self.changes.map_or(&[][..], |c| &c.tail) {
            self.record(record, out);
        }
        if function.is_none() && !linked.cx.config.relocatable {
            self.minimum_stacks(out);
        }
    }

    /// Appends the records of inputs, last input first. [`barriers`, `launch-bounds`]
    fn sources(&mut self, of_function: bool, sources: &[InputSection], out: &mut Vec<u8>) {
        let linked = self.linked;
        let adds_version = linked.cx.dialect.adds_mercury_version() && of_function;
        let is_usual = self.changes.is_none() && !adds_version;
        for &from in sources.iter().rev() {
            let data = linked.cx.data_of(from);
            if !is_usual || !self.reversed(from, data, out) {
                self.changed(from, data, adds_version, out);
            }
        }
    }

    /// Appends the records of an input in reverse order if only their symbols change: then none
    /// grows, and each is written to its final offset at once. Otherwise appends nothing.
    fn reversed(&mut self, from: InputSection, data: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        out.resize(start + data.len(), 0);
        let mut left = &mut out[start..];
        for record in info::raw_records(data) {
            let Some(unused) = self.put_last(from, record, left) else {
                out.truncate(start);
                return false;
            };
            left = unused;
        }
        let unused = left.len();
        if unused > 0 {
            out.drain(start..start + unused);
        }
        true
    }

    /// Writes a translated record to the end of a buffer and returns the rest; `None` if it does
    /// not fit.
    #[inline]
    fn put_last<'p>(
        &mut self,
        from: InputSection,
        record: &[u8],
        place: &'p mut [u8],
    ) -> Option<&'p mut [u8]> {
        match *record {
            [format, code, low, high] if format != SVAL => put(&[format, code, low, high], place),
            [_, code, _, _, ref payload @ ..] if describes_a_function(Attr(code)) => {
                match self.function_record(from, Attr(code), payload) {
                    Some(pair) => put(&pair, place),
                    None => Some(place),
                }
            }
            [_, code, _, _, _, _, _, _, ..] if Attr(code) == Attr::PARAM_CBANK => {
                let at = place.len().checked_sub(record.len())?;
                let (rest, last) = place.split_at_mut(at);
                last.copy_from_slice(record);
                last[4..8].copy_from_slice(&self.parameter_bank(from).to_le_bytes());
                Some(rest)
            }
            [_, code, ..] if is_plain(Attr(code)) => put(record, place),
            _ => {
                let mut bytes = std::mem::take(&mut self.bytes);
                bytes.clear();
                self.input_record(from, record, &mut bytes);
                let left = put(&bytes, place);
                self.bytes = bytes;
                left
            }
        }
    }

    /// Appends the records of an input in reverse order, with the properties' decisions applied.
    fn changed(&mut self, from: InputSection, data: &[u8], adds_version: bool, out: &mut Vec<u8>) {
        let records: Vec<_> = info::raw_records(data).collect();
        out.reserve(data.len());
        if adds_version && !is_versioned(&records) {
            // Objects of ptxas 12.9 lack it.
            let code = Attr::MERCURY_ISA_VERSION;
            info::Record::scalar(Format::HVAL, code, FIRST_VERSION).write(out);
        }
        for record in records.iter().rev() {
            self.input_record(from, record, out);
        }
    }

    fn input_record(&mut self, from: InputSection, record: &[u8], out: &mut Vec<u8>) {
        let &[format, code, low, high, ref payload @ ..] = record else { return };
        let code = Attr(code);
        if let Some(changes) = self.changes {
            if let Some(replacement) = changes.replacement(code) {
                return self.record(replacement, out);
            }
            if changes.removed.contains(&code) {
                return;
            }
        }
        match code {
            _ if format != SVAL => out.extend_from_slice(&[format, code.0, low, high]),
            Attr::EXTERNS => {
                let ids = info::words(payload);
                let ids = ids.filter_map(|s| self.linked.cx.resolution.id(from.object, s));
                self.externs(ids, out);
            }
            code if describes_a_function(code) => {
                let pair = self.function_record(from, code, payload);
                out.extend_from_slice(pair.as_ref().map_or(&[], |pair| &pair[..]));
            }
            Attr::PARAM_CBANK => {
                let number = self.parameter_bank(from).to_le_bytes();
                sval(code, &[&number, payload.get(4..).unwrap_or_default()], out);
            }
            code if names_a_symbol(code) => {
                let id = info::words(payload)
                    .next()
                    .and_then(|s| self.linked.cx.resolution.id(from.object, s));
                if let Some(id) = id {
                    let rest = payload.get(4..).unwrap_or_default();
                    sval(code, &[&self.number(id).to_le_bytes(), rest], out);
                }
            }
            _ => out.extend_from_slice(record),
        }
    }

    /// A number that belongs to a function: dropped if the function is dead or this copy was
    /// discarded.
    #[inline]
    fn function_record(&mut self, from: InputSection, code: Attr, payload: &[u8]) -> Option<Pair> {
        let cx = self.linked.cx;
        let is_stack = matches!(code, Attr::MAX_STACK_SIZE | Attr::MIN_STACK_SIZE);
        if is_stack && !cx.config.relocatable {
            return None;
        }
        let &[a, b, c, d, e, f, g, h, ..] = payload else { return None };
        let (symbol, mut value) =
            (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        let at = SymbolRefId { object: from.object, symbol };
        let described = match self.latest {
            Some((latest, described)) if latest == at => described,
            _ => {
                let described = self.described(at);
                self.latest = Some((at, described));
                described
            }
        };
        let Described { id, number } = described?;
        if code == Attr::REGCOUNT
            && cx.resolution.get(id).entry
            && !cx.config.relocatable
            && let Some(function) = cx.graph.function(id)
            && !cx.reach.is_unrequested(function)
        {
            value = self.linked.properties.depth(function).registers;
        }
        Some(pair(code, number, value))
    }

    /// The function that this defines, if it is live.
    fn described(&self, at: SymbolRefId) -> Option<Described> {
        let cx = self.linked.cx;
        let id = cx.resolution.id(at.object, at.symbol)?;
        let stays = cx.keeps(id)
            && cx.resolution.get(id).definition == Some(at)
            && (cx.config.relocatable || !cx.unified.is_stub(id));
        stays.then(|| Described { id, number: self.number(id) })
    }

    /// The new word 0: the section symbol of the kernel's parameter bank.
    #[inline]
    fn parameter_bank(&self, from: InputSection) -> u32 {
        let owner = self.linked.cx.owner(from.object, from.section);
        let bank = owner
            .and_then(|(id, _)| self.linked.cx.graph.function(id))
            .and_then(|f| self.linked.merged.function_sections[f].constant0.get())
            .and_then(|s| self.linked.merged.section(s).symbol.get());
        bank.map_or(0, |s| self.numbering.index[s.index()])
    }

    fn record(&self, record: &Record, out: &mut Vec<u8>) {
        match record {
            Record::Value { format, code, value } => {
                debug_assert!(*format != Format::SVAL);
                out.extend_from_slice(&[format.0, code.0]);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Record::Words(code, values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                sval(*code, &[&bytes], out);
            }
            Record::Externs(list) => self.externs(list.iter().copied(), out),
        }
    }

    /// Lists only functions that are still external, or kernels; an empty list makes no record.
    fn externs(&self, list: impl Iterator<Item = SymbolId>, out: &mut Vec<u8>) {
        let cx = self.linked.cx;
        let start = out.len();
        out.extend_from_slice(&[SVAL, Attr::EXTERNS.0, 0, 0]);
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
        let properties = self.linked.properties;
        let cx = self.linked.cx;
        let stubs = cx.unified.stub_ids().filter_map(|id| cx.graph.function(id));
        let stubs = stubs.filter(|&stub| cx.reach.is_stub_root(stub));
        let mut entries: Vec<(u32, u32)> = (properties.entries.iter().copied())
            .chain(stubs)
            .map(|f| (self.number(cx.graph.symbol(f)), properties.min_stack(f)))
            .collect();
        entries.sort_unstable();
        for (number, stack) in entries {
            out.extend_from_slice(&pair(Attr::MIN_STACK_SIZE, number, stack));
        }
        self.stub_languages(out);
    }

    /// Adds words to the last record, a pair of words. [`unified-roots`]
    fn stub_languages(&self, out: &mut Vec<u8>) {
        const PAIR: usize = 8;
        let words = &self.linked.properties.stub_languages;
        let Some(start) = out.len().checked_sub(PAIR).filter(|_| !words.is_empty()) else { return };
        for word in words {
            let word = word.to_le_bytes();
            if !out[start..].chunks_exact(4).any(|known| known == word) {
                out.extend_from_slice(&word);
            }
        }
        let length = (out.len() - start) as u16;
        if let Some(place) = start.checked_sub(2).and_then(|at| out.get_mut(at..at + 2)) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }

    fn number(&self, id: SymbolId) -> u32 {
        self.linked.merged.symbol_of[id].get().map_or(0, |s| self.numbering.index[s.index()])
    }
}

/// Prefetches the records of inputs, which are no longer in any cache, and returns their size. They
/// are short: prefetching those of many inputs before the first is needed lets the processor
/// overlap the cache misses.
pub fn ask_for(linked: Linked<'_, '_>, sources: &[InputSection]) -> usize {
    let mut size = 0;
    for &from in sources {
        let data = linked.cx.data_of(from);
        black_box((data.first().copied(), data.last().copied()));
        size += data.len();
    }
    size
}

/// Codes of numbers that belong to functions.
#[inline]
fn describes_a_function(code: Attr) -> bool {
    matches!(
        code,
        Attr::REGCOUNT
            | Attr::FRAME_SIZE
            | Attr::MIN_STACK_SIZE
            | Attr::MAX_STACK_SIZE
            | Attr::SAM_REGION_STACK_SIZE
    )
}

/// Whether a record with a payload is copied unchanged if nothing replaces it.
#[inline]
fn is_plain(code: Attr) -> bool {
    !describes_a_function(code)
        && !names_a_symbol(code)
        && !matches!(code, Attr::EXTERNS | Attr::PARAM_CBANK)
}

/// Writes bytes to the end of a buffer and returns the rest; `None` if they do not fit.
#[inline]
fn put<'p>(bytes: &[u8], place: &'p mut [u8]) -> Option<&'p mut [u8]> {
    let (rest, last) = place.split_at_mut(place.len().checked_sub(bytes.len())?);
    last.copy_from_slice(bytes);
    Some(rest)
}

/// Other codes whose first word is a symbol: image slots and sampler settings.
/// [`sampler-references`]
fn names_a_symbol(code: Attr) -> bool {
    matches!(
        code,
        Attr::IMAGE_SLOT
            | Attr::IMAGE_OFFSET
            | Attr::IMAGE_SIZE
            | Attr::TEXTURE_NORMALIZED
            | Attr::SAMPLER_INIT
            | Attr::SAMPLER_FORCE_UNNORMALIZED
            | Attr::BINDLESS_IMAGE_OFFSETS
            | Attr::LOAD_CACHE_REQUEST
    )
}

/// Whether the records give the Mercury version. [`older-compiler-without-version`]
fn is_versioned(records: &[&[u8]]) -> bool {
    records.iter().any(|record| record.get(1) == Some(&Attr::MERCURY_ISA_VERSION.0))
}

/// The record of a symbol and its number.
type Pair = [u8; 12];

fn pair(code: Attr, symbol: u32, value: u32) -> Pair {
    let [a, b, c, d] = symbol.to_le_bytes();
    let [e, f, g, h] = value.to_le_bytes();
    [SVAL, code.0, 8, 0, a, b, c, d, e, f, g, h]
}

fn sval(code: Attr, payload: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = payload.iter().map(|p| p.len()).sum();
    out.extend_from_slice(&[SVAL, code.0]);
    out.extend_from_slice(&(length as u16).to_le_bytes());
    for part in payload {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::attr::SymbolWords;

    /// Each attribute with symbols in its payload is handled by one of the rules here.
    #[test]
    fn all_symbols_are_renumbered() {
        for code in (0..=u8::MAX).map(Attr) {
            let expected = match code.symbol_words() {
                SymbolWords::None => (false, true),
                SymbolWords::First => (code != Attr::PARAM_CBANK, false),
                SymbolWords::All => (false, false),
            };
            let by_rule = describes_a_function(code) || names_a_symbol(code);
            assert_eq!((by_rule, is_plain(code)), expected, "{code:?}");
            assert!(!(describes_a_function(code) && names_a_symbol(code)), "{code:?}");
        }
        assert_eq!(Attr::EXTERNS.symbol_words(), SymbolWords::All);
    }
}
