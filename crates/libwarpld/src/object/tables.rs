//! Reads the tables of an input.

use super::lists::Lists;
use super::reuse::Reuse;
use super::{Bank2, FunctionInfo, MergeClass, Object};
use crate::collections::Map;
use crate::object::call_lists::{CallLists, Calls};
use crate::object::symbols::InputSymbol;
use cubin::flags::{Flags, OSABI_V7};
use cubin::raw::Pair;
use cubin::{Attr, Cubin, Header, SymbolType, attr, compat, info, note};
use std::convert::Infallible;
use zerocopy::FromBytes;

/// Objects of older toolkits (ABI 7) have no version note; bits 16-23 of their `e_flags` give the
/// virtual architecture. [`older-toolkit`]
pub(super) fn old_virtual_sm(header: &Header) -> u16 {
    match Flags::decode(header) {
        Flags::V7(flags) if header.osabi() == OSABI_V7 => flags.virtual_sm.into(),
        _ => 0,
    }
}

/// The data that symbols of bank 2 refer to, by section.
///
/// Quirk: in relinked files, the symbol of a table that a replacement cleared can remain and extend
/// past the section's end; nvlink then reads on in the file. [`bank2-past-the-end`]
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
    // Data past the ends is bounded: otherwise many small sections could each refer to the whole
    // file.
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
    /// Reads the sections that describe the whole input, after everything else.
    pub(super) fn read_tables(
        &mut self,
        reuse: &mut Reuse<'a>,
        lists: &mut Lists,
        calls: &mut Calls<'a>,
    ) -> Result<(), String> {
        let repeats = reuse.tables(lists);
        let ranges = reuse.ranges();
        let functions = lists.named.get(ranges.functions.clone()).unwrap_or_default();
        let function_info =
            lists.function_info.get_mut(ranges.function_info.clone()).unwrap_or_default();
        let mut call_lists = CallLists::default();
        for &(class, section, data) in &reuse.found().tables {
            match class {
                MergeClass::Compat => self.read_compat(data, reuse)?,
                MergeClass::VersionNote => self.read_version_note(data),
                _ if repeats => {}
                MergeClass::CallGraph => {
                    self.read_callgraph(pairs(section, data)?, &mut call_lists)?;
                }
                MergeClass::Prototype => self.read_prototypes(pairs(section, data)?, calls)?,
                _ => read_module_info(data, functions, function_info)?,
            }
        }
        match repeats {
            true => calls.repeat(reuse.previous_strings(), self.cubin.symbol_strings()),
            false => calls.add(call_lists),
        }
        reuse.keep_compat(self.compat);
        Ok(())
    }

    fn read_compat(&mut self, data: &'a [u8], reuse: &Reuse<'a>) -> Result<(), String> {
        if self.compat.is_some() {
            return Ok(());
        }
        self.compat = Some(data);
        self.repeats_compat = reuse.is_latest_compat(data);
        if !self.repeats_compat {
            // Checks only the records up to this one, which are read before an input is accepted.
            let mut records = info::records(data);
            let accelerator = compat::Compat::CUDA_ACCELERATOR_TARGET.0;
            let last = records.find(|r| r.as_ref().map_or(true, |r| r.code == accelerator));
            last.transpose().map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    fn read_version_note(&mut self, data: &'a [u8]) {
        for note in note::notes(data).flatten() {
            if note.kind == note::NoteType::CUINFO
                && let Ok(info) = note::CudaInfo::parse(note.desc)
            {
                self.virtual_sm = info.virtual_sm.get();
                if info.version.get() >= 2 {
                    self.toolkit = info.toolkit.get();
                }
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

    /// The lists of `.nv.callgraph`, read again: they are rarely needed.
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

    /// The string table ends with a NUL, so each offset in it is the start of a string.
    fn check_prototype(&self, offset: u32) -> Result<(), String> {
        match self.cubin.symtab().is_some_and(|table| table.has_string(offset)) {
            true => Ok(()),
            false => Err(super::no_prototype(offset)),
        }
    }
}

/// Records the attributes of functions in `.nv.info`; the last record of a kind counts.
fn read_module_info(
    data: &[u8],
    functions: &[InputSymbol],
    function_info: &mut [FunctionInfo],
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
        let Some(function_info) = at.and_then(|at| function_info.get_mut(at)) else { continue };
        match code {
            Attr::REGCOUNT => function_info.registers = value,
            Attr::FRAME_SIZE => function_info.frame = value,
            _ => function_info.unbounded = value == attr::UNKNOWN_STACK,
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
