//! Reading the tables of an input.

use super::batch::Lists;
use super::{
    Bank2, Figures, Object, SectionClass, eiattr, is_image_type, is_internal, is_shared,
    symbol_and_value,
};
use crate::lists::{CallLists, Calls};
use crate::named::Named;
use cubin::raw::Pair;
use cubin::tables::string_at;
use cubin::{Binding, Cubin, Header, SymbolRef, SymbolType, compat, info, note};
use hashbrown::HashMap;
use std::convert::Infallible;
use std::ops::Range;
use zerocopy::FromBytes;

/// What a look at all symbols tells.
pub(super) struct Symbols {
    /// How many functions there are.
    pub(super) functions: usize,
    /// Whether some symbol is in shared memory or refers to an image.
    pub(super) shared_or_images: bool,
    /// Whether others are just those of the input before, and not added.
    pub(super) repeat_data: bool,
}

/// What is not a function among the symbols of the input before, or of the one whose list
/// that repeats.
#[derive(Default)]
pub(super) struct Before<'a> {
    /// Where they are in the list.
    data: Range<usize>,
    /// Their names.
    strings: &'a [u8],
}

/// Adds the symbols that take part in resolution: functions, then others.
pub(super) fn add_symbols<'a>(
    cubin: &Cubin<'a>,
    lists: &mut Lists,
    before: &mut Before<'a>,
) -> Symbols {
    let start = lists.named.len();
    let mut out = Symbols { functions: 0, shared_or_images: false, repeat_data: false };
    let Some(table) = cubin.symtab() else { return out };
    let strings = table.strings();
    match table.plain_unnamed() {
        Some(symbols) => symbols.for_each(|symbol| out.add(symbol, strings, lists, before)),
        None => table.iter_unnamed().for_each(|symbol| out.add(symbol, strings, lists, before)),
    }
    let Lists { named, others, .. } = lists;
    out.functions = named.len() - start;
    let others_before = named.get(before.data.clone()).unwrap_or_default();
    if !others.is_empty() && Named::are_repeated(others_before, others) {
        out.repeat_data = true;
        others.clear();
        return out;
    }
    *before = Before { data: named.len()..named.len() + others.len(), strings };
    named.append(others);
    out
}

impl Symbols {
    /// Takes the next symbol, which is never put together in memory.
    #[inline(always)]
    fn add(
        &mut self,
        symbol: SymbolRef<'_>,
        strings: &[u8],
        Lists { named, others, .. }: &mut Lists,
        before: &Before<'_>,
    ) {
        let kind = symbol.kind();
        self.shared_or_images |= is_shared(&symbol) || is_image_type(kind);
        // Most symbols are those of sections: their names are of no use.
        if kind == SymbolType::SECTION {
            return;
        }
        if kind == SymbolType::FUNC {
            named.push(Named::new(&symbol, name(&symbol, strings)));
        } else if takes_part(&symbol, strings) {
            let other = match others.len() < before.data.len() {
                true => named.get(before.data.start + others.len()),
                false => None,
            };
            let repeated = other.and_then(|o| o.repeated(before.strings, &symbol, strings));
            others.push(repeated.unwrap_or_else(|| Named::new(&symbol, name(&symbol, strings))));
        }
    }
}

#[inline]
fn name<'a>(symbol: &SymbolRef<'_>, strings: &'a [u8]) -> &'a [u8] {
    string_at(strings, symbol.name_offset).unwrap_or_default()
}

/// Nameless symbols and undefined locals (labels of debug files) are not resolved.
#[inline]
fn takes_part(symbol: &SymbolRef<'_>, strings: &[u8]) -> bool {
    let is_label = symbol.is_undefined() && symbol.binding() == Binding::LOCAL;
    let has_name = strings.get(symbol.name_offset as usize).is_some_and(|&first| first != 0);
    has_name && (!is_label || is_internal(symbol))
}

/// Objects of older toolkits (ABI 7) have no version note; bits 16-23 of their
/// `e_flags` say the same.
pub(super) fn old_virtual_sm(header: &Header) -> u16 {
    const OLD_OSABI: u8 = 0x33;
    match header.ident[7] {
        OLD_OSABI => (header.flags >> 16 & 0xff) as u16,
        _ => 0,
    }
}

/// What the symbols of each bank 2 lead to, by section.
///
/// Quirk: the symbol of a table that a replacement cleared may still be there and reach
/// past the section's end, in relinked files; nvlink reads on in the file then.
pub(super) fn bank2<'a>(
    cubin: &Cubin<'a>,
    classes: &[SectionClass],
    file: &'a [u8],
) -> Option<Box<Bank2<'a>>> {
    let mut ends: HashMap<u32, u64, foldhash::fast::FixedState> = HashMap::default();
    for symbol in cubin.symbols().filter(|s| !s.reserved && s.size > 0) {
        let class = classes.get(symbol.shndx as usize);
        if let Some(SectionClass::FunctionConstant { bank: 2, .. }) = class {
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
    /// Reads sections that tell of the whole input, whose functions lie there in the
    /// list.
    pub(super) fn read_tables(
        &mut self,
        tables: &[(SectionClass, u32, &'a [u8])],
        functions: Range<usize>,
        lists: &mut Lists,
        calls: &mut Calls<'a>,
    ) -> Result<(), String> {
        let mut call_lists = CallLists::default();
        let first = lists.figures.len();
        lists.figures.resize(first + functions.len(), Figures::default());
        let functions = lists.named.get(functions).unwrap_or_default();
        let figures = lists.figures.get_mut(first..).unwrap_or_default();
        for &(class, section, data) in tables {
            match class {
                SectionClass::CallGraph => {
                    self.read_callgraph(pairs(section, data)?, &mut call_lists)?;
                }
                SectionClass::Prototype => self.read_prototypes(pairs(section, data)?, calls)?,
                SectionClass::Compat => self.read_compat(data)?,
                SectionClass::ModuleInfo => read_module_info(data, functions, figures)?,
                _ => self.read_version_note(data),
            }
        }
        calls.add(call_lists);
        Ok(())
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
                Some(list) if list.has_prototypes() => self.check_prototype(second),
                Some(_) => self.check_function(second),
                None => Err("call graph entry before any list".into()),
            }
        })
    }

    /// The lists of `.nv.callgraph`, read again: few ask for them.
    pub fn call_lists(&self) -> CallLists<'a> {
        let mut lists = CallLists::default();
        for (section, _) in self.of_class(|class| class == SectionClass::CallGraph) {
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
    functions: &[Named],
    figures: &mut [Figures],
) -> Result<(), String> {
    let mut read = 0;
    for record in info::raw_records(data) {
        read += record.len();
        let &[_, code @ (eiattr::REGCOUNT | eiattr::FRAME_SIZE), _, _, ref payload @ ..] = record
        else {
            continue;
        };
        let Some((symbol, value)) = symbol_and_value(payload) else { continue };
        let at = super::position(functions, symbol);
        let Some(figures) = at.and_then(|at| figures.get_mut(at)) else { continue };
        match code {
            eiattr::REGCOUNT => figures.registers = value,
            _ => figures.frame = value,
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
