//! Reading the tables of an input.

use super::classify::owner;
use super::lists::Lists;
use super::reuse::{Others, PreviousInput, Symbols};
use super::{Bank2, FunctionInfo, MergeClass, Object};
use crate::collections::Map;
use crate::object::call_lists::{CallLists, Calls};
use crate::object::symbols::InputSymbol;
use cubin::consts::sto;
use cubin::flags::{Flags, OSABI_V7};
use cubin::raw::Pair;
use cubin::{Attr, Binding, Cubin, Header, SymbolRef, SymbolType, attr, compat, info, note};
use std::convert::Infallible;
use zerocopy::FromBytes;

/// Adds the symbols that take part in resolution: functions, then others; whether others are
/// just those of the input before, and not added.
pub(super) fn add_symbols<'a>(
    cubin: &Cubin<'a>,
    lists: &mut Lists,
    before: &mut PreviousInput<'a>,
) -> bool {
    let start = lists.named.len();
    let mut found = Symbols::default();
    let strings = cubin.symbol_strings();
    if let Some(table) = cubin.symtab() {
        let mut add = |symbol| found.add(symbol, strings, lists, before);
        match table.plain_unnamed() {
            Some(symbols) => symbols.for_each(&mut add),
            None => table.iter_unnamed().for_each(&mut add),
        }
    }
    before.symbols = found;
    let Lists { named, others, .. } = lists;
    before.functions = start..named.len();
    let others_before = named.get(before.others.list.clone()).unwrap_or_default();
    if !others.is_empty() && InputSymbol::are_repeated(others_before, others) {
        others.clear();
        return true;
    }
    let list = named.len()..named.len() + others.len();
    named.append(others);
    before.others = Others::new(named, list, strings);
    false
}

impl Symbols {
    /// Takes the next symbol, which is never put together in memory.
    #[inline(always)]
    fn add(
        &mut self,
        symbol: SymbolRef<'_>,
        strings: &[u8],
        Lists { named, others, classes, .. }: &mut Lists,
        before: &PreviousInput<'_>,
    ) {
        let kind = symbol.kind();
        self.shared_or_images |= symbol.is_shared() || kind.is_image();
        // Most symbols are those of sections: their names are of no use.
        if kind == SymbolType::SECTION || is_label(&symbol) {
            return;
        }
        if kind == SymbolType::FUNC {
            let classes = classes.get(before.classes.clone()).unwrap_or_default();
            self.shares_code |=
                !symbol.is_undefined() && owner(classes, symbol.shndx) != Some(symbol.index.0);
            named.push(InputSymbol::of(&symbol, strings));
        } else if is_mark(&symbol) {
            // It says that a whole program was compiled for a target with reserved memory. The
            // next input may have something there.
            self.left_out = true;
        } else if has_name(&symbol, strings) {
            let other = match others.len() < before.others.list.len() {
                true => named.get(before.others.list.start + others.len()),
                false => None,
            };
            let repeated = other.and_then(|o| o.repeated(before.others.strings, &symbol, strings));
            others.push(repeated.unwrap_or_else(|| InputSymbol::of(&symbol, strings)));
        } else {
            self.left_out = true;
        }
    }
}

/// Undefined locals (labels of debug files) are not resolved.
#[inline]
fn is_label(symbol: &SymbolRef<'_>) -> bool {
    let is_local = symbol.is_undefined() && symbol.binding() == Binding::LOCAL;
    is_local && symbol.kind() != SymbolType::FUNC && !symbol.is_internal()
}

/// Places in reserved shared memory that hold nothing (`ptxas -ewp`) are not resolved.
/// [`reserved-shared`]
#[inline]
fn is_mark(symbol: &SymbolRef<'_>) -> bool {
    symbol.size == 0 && !symbol.is_undefined() && symbol.space() == sto::RESERVED_SHARED
}

/// Nameless symbols are not resolved.
#[inline]
fn has_name(symbol: &SymbolRef<'_>, strings: &[u8]) -> bool {
    strings.get(symbol.name_offset as usize).is_some_and(|&first| first != 0)
}

/// Objects of older toolkits (ABI 7) have no version note; bits 16-23 of their
/// `e_flags` say the same. [`older-toolkit`]
pub(super) fn old_virtual_sm(header: &Header) -> u16 {
    match Flags::decode(header) {
        Flags::V7(flags) if header.osabi() == OSABI_V7 => flags.virtual_sm.into(),
        _ => 0,
    }
}

/// What the symbols of each bank 2 lead to, by section.
///
/// Quirk: the symbol of a table that a replacement cleared may still be there and reach
/// past the section's end, in relinked files; nvlink reads on in the file then.
/// [`bank2-past-the-end`]
pub(super) fn bank2<'a>(
    cubin: &Cubin<'a>,
    classes: &[MergeClass],
    file: &'a [u8],
) -> Option<Box<Bank2<'a>>> {
    let mut ends: Map<u32, u64> = Map::default();
    for symbol in cubin.symbols().filter(|s| !s.reserved && s.size > 0) {
        let class = classes.get(symbol.shndx as usize);
        if let Some(MergeClass::FunctionConstant { bank: 2, .. }) = class {
            let end = ends.entry(symbol.shndx).or_default();
            *end = (*end).max(symbol.value.saturating_add(symbol.size));
        }
    }
    // What lies past the ends is bounded, or many small sections could ask for
    // the whole file each.
    let mut budget = file.len();
    let mut bank2 = Vec::with_capacity(ends.len());
    for section in cubin.sections() {
        let Some(&end) = ends.get(&section.index.0) else { continue };
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        let rest = usize::try_from(section.offset).ok().and_then(|at| file.get(at..));
        let rest = rest.filter(|_| !section.kind.is_nobits()).unwrap_or_default();
        let inside = section.data.len();
        let past = end.min(rest.len()).saturating_sub(inside).min(budget);
        budget -= past;
        let data = match past {
            0 => section.data.get(..end.min(inside)),
            _ => rest.get(..inside + past),
        };
        bank2.push((section.index.0, data.unwrap_or_default()));
    }
    (!bank2.is_empty()).then(|| Box::new(Bank2(bank2)))
}

impl<'a> Object<'a> {
    /// Reads sections that tell of the whole input, of which all else has been read. Those of
    /// the input before may say the same, if it has the same sections and symbols; whether the
    /// figures of functions are its own then.
    pub(super) fn read_tables(
        &mut self,
        before: &mut PreviousInput<'a>,
        is_like: bool,
        lists: &mut Lists,
        calls: &mut Calls<'a>,
    ) -> Result<bool, String> {
        let extents = lists.extents.get(before.extents.clone()).unwrap_or_default();
        let repeats = before.find_tables(self.cubin, extents) && is_like;
        let mut call_lists = CallLists::default();
        let first = lists.figures.len();
        if !repeats {
            lists.figures.resize(first + before.functions.len(), FunctionInfo::default());
        }
        let functions = lists.named.get(before.functions.clone()).unwrap_or_default();
        let figures = lists.figures.get_mut(first..).unwrap_or_default();
        for &(class, section, data) in &before.found.tables {
            match class {
                MergeClass::Compat => self.read_compat(data)?,
                MergeClass::VersionNote => self.read_version_note(data),
                _ if repeats => {}
                MergeClass::CallGraph => {
                    self.read_callgraph(pairs(section, data)?, &mut call_lists)?;
                }
                MergeClass::Prototype => self.read_prototypes(pairs(section, data)?, calls)?,
                _ => read_module_info(data, functions, figures)?,
            }
        }
        match repeats {
            true => calls.repeat(before.strings, self.cubin.symbol_strings()),
            false => calls.add(call_lists),
        }
        before.strings = self.cubin.symbol_strings();
        Ok(repeats)
    }

    fn read_compat(&mut self, data: &'a [u8]) -> Result<(), String> {
        if self.compat.is_none() {
            // Up to this record it is read before an input takes part, if anything hangs on it.
            let mut records = info::records(data);
            let accelerator = compat::Compat::CUDA_ACCELERATOR_TARGET.0;
            let last = records.find(|r| r.as_ref().map_or(true, |r| r.code == accelerator));
            last.transpose().map_err(|e| e.to_string())?;
            self.compat = Some(data);
        }
        Ok(())
    }

    fn read_version_note(&mut self, data: &'a [u8]) {
        for note in note::notes(data).flatten() {
            if note.kind == note::NoteType::CUINFO
                && let Ok(info) = note::CudaInfo::parse(note.desc)
            {
                self.virtual_sm = info.virtual_sm.get();
            }
        }
    }

    fn read_callgraph(&self, pairs: &'a [Pair], lists: &mut CallLists<'a>) -> Result<(), String> {
        lists.add(pairs, |list, (first, second)| {
            self.check_function(first)?;
            match list {
                Some(list) if !list.second_is_symbol() => self.check_prototype(second),
                Some(_) => self.check_function(second),
                None => Err("call graph entry before any list".into()),
            }
        })
    }

    /// The lists of `.nv.callgraph`, read again: few ask for them.
    pub fn call_lists(&self) -> CallLists<'a> {
        let mut lists = CallLists::default();
        for (section, _) in self.of_class(|class| class == MergeClass::CallGraph) {
            let pairs = pairs(section.index.0, section.data).unwrap_or_default();
            let Ok(()) = lists.add(pairs, |_, _| Ok::<(), Infallible>(()));
        }
        lists
    }

    fn read_prototypes(&self, pairs: &[Pair], calls: &mut Calls<'a>) -> Result<(), String> {
        for pair in pairs {
            let prototype = self.prototype(pair.second.get())?;
            self.check_function(pair.first.get())?;
            calls.add_prototype(pair.first.get(), prototype);
        }
        Ok(())
    }

    fn check_function(&self, symbol: u32) -> Result<(), String> {
        match self.cubin.symbol_kind(symbol) {
            Some(SymbolType::FUNC) => Ok(()),
            _ => Err(format!("call graph names symbol {symbol}, which is not a function")),
        }
    }

    /// Strings end, so there is one wherever one can start.
    fn check_prototype(&self, offset: u32) -> Result<(), String> {
        match self.cubin.symtab().is_some_and(|table| table.has_string(offset)) {
            true => Ok(()),
            false => Err(super::no_prototype(offset)),
        }
    }
}

/// Notes what `.nv.info` says of functions; the last record of a kind counts.
fn read_module_info(
    data: &[u8],
    functions: &[InputSymbol],
    figures: &mut [FunctionInfo],
) -> Result<(), String> {
    let mut read = 0;
    for record in info::raw_records(data) {
        read += record.len();
        let &[_, code, _, _, ref payload @ ..] = record else { continue };
        let code = Attr(code);
        if !matches!(code, Attr::REGCOUNT | Attr::FRAME_SIZE | Attr::MIN_STACK_SIZE) {
            continue;
        }
        let Some((symbol, value)) = info::symbol_and_value(payload) else { continue };
        let at = super::position(functions, symbol);
        let Some(figures) = at.and_then(|at| figures.get_mut(at)) else { continue };
        match code {
            Attr::REGCOUNT => figures.registers = value,
            Attr::FRAME_SIZE => figures.frame = value,
            _ => figures.unbounded = value == attr::UNKNOWN_STACK,
        }
    }
    if read == data.len() {
        return Ok(());
    }
    match info::records(data).find_map(Result::err) {
        Some(error) => Err(error.to_string()),
        None => Ok(()),
    }
}

fn pairs(section: u32, data: &[u8]) -> Result<&[Pair], String> {
    let pairs = <[Pair]>::ref_from_bytes(data);
    pairs.map_err(|_| format!("size {:#x} of section {section}", data.len()))
}
