//! Where the bytes of a linked file come from: the inputs' sections and the relocations applied to
//! them.

use cubin::classify::{self, SectionClass};
use cubin::words::{self, Tables};
use cubin::{Cubin, Reloc, SectionRef, SymbolRef};
use std::collections::HashMap;

/// A relocation changes at most one instruction.
const WIDEST: u64 = 16;
/// How many relocations of a run are shown.
const SHOWN: usize = 3;

/// An input of a link.
#[derive(Clone, Debug)]
pub struct Input<'i> {
    /// Its name in reports.
    pub name: String,
    /// The file.
    pub cubin: Cubin<'i>,
}

/// The inputs by the symbols they define.
pub(crate) struct Origins<'o> {
    inputs: &'o [Input<'o>],
    relocations: Vec<Relocations<'o, 'o>>,
    by_symbol: HashMap<&'o [u8], Vec<(usize, SymbolRef<'o>)>>,
}

impl<'o> Origins<'o> {
    pub(crate) fn new(inputs: &'o [Input<'o>]) -> Self {
        let mut by_symbol: HashMap<_, Vec<_>> = HashMap::new();
        for (at, input) in inputs.iter().enumerate() {
            let defined =
                |s: &SymbolRef<'_>| !s.reserved && !s.is_undefined() && !s.name.is_empty();
            for symbol in input.cubin.symbols().filter(defined) {
                by_symbol.entry(symbol.name).or_default().push((at, symbol));
            }
        }
        let relocations = inputs.iter().map(|input| Relocations::of(&input.cubin)).collect();
        Self { inputs, relocations, by_symbol }
    }

    /// The origin of byte `offset` of a symbol with these bytes in the output. If several inputs
    /// define it, the one most like the output.
    pub(crate) fn of_symbol(
        &self,
        name: &[u8],
        size: u64,
        offset: u64,
        output: &[u8],
    ) -> Vec<String> {
        let candidates = self.by_symbol.get(name).into_iter().flatten();
        let alike = |(at, symbol): &&(usize, SymbolRef<'o>)| {
            let section = self.inputs[*at].cubin.section(symbol.shndx);
            let start = usize::try_from(symbol.value).unwrap_or(usize::MAX);
            let bytes = section.and_then(|s| s.data.get(start..)).unwrap_or_default();
            let count = usize::try_from(size).unwrap_or(usize::MAX);
            let equal = bytes.iter().zip(output).take(count).filter(|(x, y)| x == y).count();
            (symbol.size == size, equal, std::cmp::Reverse(*at))
        };
        let Some((at, symbol)) = candidates.max_by_key(alike) else { return Vec::new() };
        let input = &self.inputs[*at];
        let place = symbol.value.saturating_add(offset);
        match input.cubin.section(symbol.shndx) {
            Some(section) => self.describe(*at, &section, place),
            None => Vec::new(),
        }
    }

    /// The origin of a byte of a section that is the concatenation of the inputs' sections of that
    /// name.
    pub(crate) fn of_section(&self, output: &SectionRef<'_>, offset: u64) -> Vec<String> {
        let mut start = 0_u64;
        let mut found = None;
        for (at, input) in self.inputs.iter().enumerate() {
            for section in input.cubin.sections().iter().filter(|s| s.name == output.name) {
                let Some(begin) = start.checked_next_multiple_of(section.align.max(1)) else {
                    return Vec::new();
                };
                start = begin.saturating_add(section.size);
                if (begin..start).contains(&offset) {
                    found = Some((at, section, offset - begin));
                }
            }
        }
        // Otherwise the section is built in some other way.
        match found.filter(|_| start == output.size) {
            Some((at, section, place)) => self.describe(at, &section, place),
            None => Vec::new(),
        }
    }

    fn describe(&self, at: usize, section: &SectionRef<'_>, place: u64) -> Vec<String> {
        let name = &self.inputs[at].name;
        let from = format!("from {name}, {}+{place:#x}", words::reference(section.name));
        let over = self.relocations.get(at).map(|r| r.at(section, place, 1)).unwrap_or_default();
        std::iter::once(from).chain(over).collect()
    }
}

/// The relocations of a file by target.
pub(crate) struct Relocations<'c, 'a> {
    tables: Tables<'c, 'a>,
    /// For each target: the section of relocations, and these by offset.
    by_target: HashMap<u32, Vec<(SectionRef<'a>, Vec<Reloc>)>>,
}

impl<'c, 'a> Relocations<'c, 'a> {
    pub(crate) fn of(cubin: &'c Cubin<'a>) -> Self {
        let mut by_target: HashMap<_, Vec<_>> = HashMap::new();
        for s in cubin.sections() {
            if let SectionClass::Relocations { target } = classify::section(&s).class
                && let Ok(mut relocs) = cubin.relocs(&s)
            {
                relocs.sort_by_key(|r| r.offset);
                by_target.entry(target).or_default().push((s, relocs));
            }
        }
        Self { tables: Tables::of(cubin), by_target }
    }

    /// The relocations between `offset` and `offset + size` of a section, the first few in words.
    pub(crate) fn at(&self, section: &SectionRef<'_>, offset: u64, size: u64) -> Vec<String> {
        let mut out = Vec::new();
        let end = offset.saturating_add(size);
        for (s, relocs) in self.by_target.get(&section.index.0).into_iter().flatten() {
            let first = relocs.partition_point(|r| r.offset < offset.saturating_sub(WIDEST));
            let near = relocs.iter().skip(first).take_while(|r| r.offset < end);
            let over = near.filter(|r| {
                let span = r.kind.info().map_or(1, |t| t.span().max(1) as u64);
                offset < r.offset.saturating_add(span)
            });
            let symbols = self.tables.linked(s);
            out.extend(over.take(SHOWN).map(|r| {
                format!("under {} of {}", words::reloc_kind(r.kind), symbols.name(r.symbol.0))
            }));
        }
        out
    }
}
