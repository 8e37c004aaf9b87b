//! Reading the tables of an input.

use super::batch::Lists;
use super::{Figures, Object, SectionClass, eiattr, is_image_type, is_internal, symbol_and_value};
use crate::lists::Prototype;
use crate::named::Named;
use cubin::consts::sto;
use cubin::raw::Pair;
use cubin::{Binding, Cubin, Header, SectionRef, SymbolRef, SymbolType, compat, info, note};
use hashbrown::HashMap;
use std::ops::Range;
use zerocopy::FromBytes;

/// What a look at all symbols tells.
pub(super) struct Symbols {
    /// How many functions there are.
    pub(super) functions: usize,
    /// Whether some symbol is in shared memory or refers to an image.
    pub(super) shared_or_images: bool,
}

/// Adds the symbols that take part in resolution: functions, then others.
pub(super) fn add_symbols(cubin: &Cubin<'_>, lists: &mut Lists) -> Symbols {
    let Lists { named, others, .. } = lists;
    let start = named.len();
    let mut out = Symbols { functions: 0, shared_or_images: false };
    let Some(table) = cubin.symtab() else { return out };
    for (index, (info, other)) in (0..).zip(table.infos_and_others()) {
        let kind = SymbolType(info & 15);
        out.shared_or_images |= other & sto::SPACE == sto::SHARED || is_image_type(kind);
        // Most symbols are those of sections: their names are of no use.
        if kind == SymbolType::SECTION {
            continue;
        }
        let Some(symbol) = table.get(index) else { continue };
        if kind == SymbolType::FUNC {
            named.push(Named::new(&symbol));
        } else if takes_part(&symbol) {
            others.push(Named::new(&symbol));
        }
    }
    out.functions = named.len() - start;
    named.append(others);
    out
}

/// Nameless symbols and undefined locals (labels of debug files) are not resolved.
fn takes_part(symbol: &SymbolRef<'_>) -> bool {
    let is_label = symbol.is_undefined() && symbol.binding() == Binding::LOCAL;
    !symbol.name.is_empty() && (!is_label || is_internal(symbol))
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
) -> Box<[(u32, &'a [u8])]> {
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
    bank2.into()
}

impl<'a> Object<'a> {
    /// Reads sections that tell of the whole input, whose functions lie there in the
    /// list.
    pub(super) fn read_tables(
        &mut self,
        tables: &[(u32, SectionClass)],
        functions: Range<usize>,
        lists: &mut Lists,
    ) -> Result<(), String> {
        let first = lists.figures.len();
        lists.figures.resize(first + functions.len(), Figures::default());
        let functions = lists.named.get(functions).unwrap_or_default();
        let figures = lists.figures.get_mut(first..).unwrap_or_default();
        for &(section, class) in tables {
            let Some(section) = self.cubin.unnamed_section(section) else { continue };
            match class {
                SectionClass::CallGraph => self.read_callgraph(&section)?,
                SectionClass::Prototype => self.read_prototypes(&section, &mut lists.prototypes)?,
                SectionClass::Compat => self.read_compat(&section)?,
                SectionClass::ModuleInfo => read_module_info(&section, functions, figures)?,
                _ => self.read_version_note(&section),
            }
        }
        Ok(())
    }

    fn read_compat(&mut self, section: &SectionRef<'a>) -> Result<(), String> {
        if self.compat.is_none() {
            // Up to this record it is read before an input takes part, if anything hangs on it.
            let mut records = info::records(section.data);
            let accelerator = compat::Compat::CUDA_ACCELERATOR_TARGET.0;
            let last = records.find(|r| r.as_ref().map_or(true, |r| r.code == accelerator));
            last.transpose().map_err(|e| e.to_string())?;
            self.compat = Some(section.data);
        }
        Ok(())
    }

    fn read_version_note(&mut self, section: &SectionRef<'a>) {
        for note in note::notes(section.data).flatten() {
            if note.kind == note::NoteType::CUINFO
                && let Ok(info) = note::CudaInfo::parse(note.desc)
            {
                self.virtual_sm = info.virtual_sm.get();
            }
        }
    }

    fn read_callgraph(&mut self, section: &SectionRef<'a>) -> Result<(), String> {
        let mut lists = std::mem::take(&mut self.callgraph);
        lists.add(pairs(section)?, |list, (first, second)| {
            self.check_function(first)?;
            match list {
                Some(list) if list.has_prototypes() => self.check_prototype(second),
                Some(_) => self.check_function(second),
                None => Err("call graph entry before any list".into()),
            }
        })?;
        self.callgraph = lists;
        Ok(())
    }

    fn read_prototypes(
        &self,
        section: &SectionRef<'a>,
        prototypes: &mut Vec<(u32, Prototype)>,
    ) -> Result<(), String> {
        for pair in pairs(section)? {
            let prototype = self.prototype(pair.second.get())?;
            self.check_function(pair.first.get())?;
            prototypes.push((pair.first.get(), prototype));
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
    section: &SectionRef<'_>,
    functions: &[Named],
    figures: &mut [Figures],
) -> Result<(), String> {
    let mut read = 0;
    for record in info::raw_records(section.data) {
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
    if read == section.data.len() {
        return Ok(());
    }
    match info::records(section.data).find_map(Result::err) {
        Some(error) => Err(error.to_string()),
        None => Ok(()),
    }
}

fn pairs<'a>(section: &SectionRef<'a>) -> Result<&'a [Pair], String> {
    <[Pair]>::ref_from_bytes(section.data)
        .map_err(|_| format!("size {:#x} of section {}", section.size, section.index.0))
}
