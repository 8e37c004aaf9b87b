//! Layer 3: strings, symbols, relocations and metadata are consistent.

use super::{Layer, Problem, Violation, in_header, in_section};
use crate::attr::SymbolWords;
use crate::callgraph::{self, List};
use crate::classify::{self, SectionClass};
use crate::consts::{SectionType, shf, shn};
use crate::entries::SectionRef;
use crate::error::ReadError;
use crate::info;
use crate::read::Cubin;
use crate::tables::SymbolTable;

const LAYER: Layer = Layer::Tables;

pub(super) fn check(data: &[u8]) -> Result<Cubin<'_>, Violation> {
    let cubin = Cubin::parse(data).map_err(|e| from_read_error(data, &e))?;
    let mut symbols = Vec::new();
    for section in cubin.sections() {
        let table = match classify::section(&section).class {
            SectionClass::Symbols => {
                Some(cubin.symbol_table(&section).map_err(|e| from_read_error(data, &e))?)
            }
            _ => None,
        };
        symbols.push(table);
    }
    for section in cubin.sections() {
        Check { cubin: &cubin, symbols: &symbols, section: &section }.all()?;
    }
    Ok(cubin)
}

fn from_read_error(data: &[u8], error: &ReadError) -> Violation {
    let header = crate::Header::parse(data).ok();
    match (error, header) {
        (ReadError::BadField { field, section: Some(index), value }, Some(header)) => {
            let problem = match *field {
                "sh_entsize" => Problem::Expected { expected: header.class.symbol_size() },
                "sh_size" => Problem::Ragged { entry: header.class.symbol_size() },
                "sh_link" => Problem::WrongSection,
                "st_shndx" => Problem::Index { limit: header.shnum.into() },
                _ => Problem::Unterminated,
            };
            in_section(LAYER, &header, field, *index, *value, problem)
        }
        (ReadError::BadField { field, section: None, value }, Some(header)) => {
            in_header(LAYER, header.class, field, *value, Problem::WrongSection)
        }
        (ReadError::Names { section, limit }, Some(header)) => {
            in_section(LAYER, &header, "sh_size", *section, *limit, Problem::Unsupported)
        }
        _ => Violation {
            layer: LAYER,
            field: "e_ident",
            section: None,
            offset: 0,
            value: data.len() as u64,
            problem: Problem::NotElf,
        },
    }
}

struct Check<'c, 'a> {
    cubin: &'c Cubin<'a>,
    /// By section index.
    symbols: &'c [Option<SymbolTable<'a>>],
    section: &'c SectionRef<'a>,
}

impl<'a> Check<'_, 'a> {
    fn all(&self) -> Result<(), Violation> {
        self.indices()?;
        match classify::section(self.section).class {
            SectionClass::Strings => self.strings(),
            SectionClass::Symbols => self.symbols(),
            SectionClass::SymbolIndices => self.symbol_indices(),
            SectionClass::Relocations { .. } | SectionClass::ResolvedRela => self.relocations(),
            SectionClass::CallGraph => self.call_graph(),
            SectionClass::Prototype => self.prototypes(),
            SectionClass::Info(_) => self.info(),
            SectionClass::Compat => self.records().map(|_| ()),
            _ => Ok(()),
        }
    }

    fn field(&self, field: &'static str, value: u64, problem: Problem) -> Violation {
        in_section(LAYER, &self.cubin.header(), field, self.section.index.0, value, problem)
    }

    /// A violation of something in the section's bytes.
    fn inside(&self, field: &'static str, at: usize, value: u64, problem: Problem) -> Violation {
        let offset = self.section.offset.saturating_add(at as u64);
        let section = Some(self.section.index.0);
        Violation { layer: LAYER, field, section, offset, value, problem }
    }

    fn indices(&self) -> Result<(), Violation> {
        let limit = self.cubin.sections().len() as u64;
        // Section 0 holds counts here if there are very many sections.
        if self.section.index.0 == 0 {
            return Ok(());
        }
        if u64::from(self.section.link) >= limit {
            let value = self.section.link.into();
            return Err(self.field("sh_link", value, Problem::Index { limit }));
        }
        if self.section.flags & shf::INFO_LINK != 0 && u64::from(self.section.info) >= limit {
            let value = self.section.info.into();
            return Err(self.field("sh_info", value, Problem::Index { limit }));
        }
        Ok(())
    }

    fn strings(&self) -> Result<(), Violation> {
        match self.section.data.last() {
            Some(&last) if last != 0 => {
                let at = self.section.data.len() - 1;
                Err(self.inside("string table", at, last.into(), Problem::Unterminated))
            }
            _ => Ok(()),
        }
    }

    /// The symbol table that this section's indices refer to.
    fn linked_symbols(&self) -> Result<SymbolTable<'a>, Violation> {
        let table = self.symbols.get(self.section.link as usize).cloned().flatten();
        table.ok_or_else(|| self.field("sh_link", self.section.link.into(), Problem::WrongSection))
    }

    fn symbols(&self) -> Result<(), Violation> {
        let own = self.symbols.get(self.section.index.0 as usize).cloned().flatten();
        let Some(table) = own else { return Ok(()) };
        let limit = table.len() as u64;
        if u64::from(self.section.info) > limit {
            let value = self.section.info.into();
            return Err(self.field("sh_info", value, Problem::Index { limit }));
        }
        let entry = self.section.entsize as usize;
        for symbol in table.iter() {
            let known = [shn::ABS, shn::COMMON].contains(&symbol.shndx);
            if symbol.reserved && !known {
                let at = symbol.index.0 as usize * entry;
                return Err(self.inside("st_shndx", at, symbol.shndx.into(), Problem::Unsupported));
            }
        }
        Ok(())
    }

    fn symbol_indices(&self) -> Result<(), Violation> {
        let expected = self.linked_symbols()?.len() as u64 * 4;
        match self.section.size == expected {
            true => Ok(()),
            false => Err(self.field("sh_size", self.section.size, Problem::Expected { expected })),
        }
    }

    fn relocations(&self) -> Result<(), Violation> {
        let class = self.cubin.header().class;
        let relocs = self.cubin.relocs(self.section).map_err(|_| {
            let entry = class.reloc_size(self.section.kind != SectionType::REL);
            match self.section.entsize == entry {
                true => self.field("sh_size", self.section.size, Problem::Ragged { entry }),
                false => self.field(
                    "sh_entsize",
                    self.section.entsize,
                    Problem::Expected { expected: entry },
                ),
            }
        })?;
        let limit = self.linked_symbols()?.len() as u64;
        let info = self.section.info;
        let target = self.cubin.section(info).filter(|_| info != 0).ok_or_else(|| {
            let limit = self.cubin.sections().len() as u64;
            self.field("sh_info", info.into(), Problem::Index { limit })
        })?;
        // Offsets in Mercury code refer to the decoded stream, whose size the section does not
        // give.
        let decoded = target.kind == SectionType::CUDA_CAPMERC;
        // Applied relocations are recorded by name: the section of one static function also has
        // those of others with the same name, which may be longer.
        let shared = self.section.kind == SectionType::CUDA_RESOLVED_RELA;
        for (i, r) in relocs.iter().enumerate() {
            let at = i.saturating_mul(self.section.entsize as usize);
            if u64::from(r.symbol.0) >= limit {
                let value = r.symbol.0.into();
                return Err(self.inside("r_info", at, value, Problem::Index { limit }));
            }
            if !decoded && !shared && r.offset >= target.size {
                let problem = Problem::PastSection { size: target.size };
                return Err(self.inside("r_offset", at, r.offset, problem));
            }
        }
        Ok(())
    }

    fn symbol_word(
        &self,
        field: &'static str,
        at: usize,
        value: u32,
        limit: u64,
    ) -> Result<(), Violation> {
        match u64::from(value) < limit {
            true => Ok(()),
            false => Err(self.inside(field, at, value.into(), Problem::Index { limit })),
        }
    }

    fn call_graph(&self) -> Result<(), Violation> {
        let ragged = || self.field("sh_size", self.section.size, Problem::Ragged { entry: 8 });
        let pairs = callgraph::pairs(self.section.data).map_err(|_| ragged())?;
        let table = self.linked_symbols()?;
        let limit = table.len() as u64;
        let mut list = None;
        for (i, &pair) in pairs.iter().enumerate() {
            let (at, second) = (i * 8, pair.second.get());
            if let Some(opened) = List::opened_by(pair) {
                list = Some(opened);
                continue;
            }
            let Some(list) = list else {
                return Err(self.inside("call graph", at, second.into(), Problem::Record));
            };
            self.symbol_word("caller", at, pair.first.get(), limit)?;
            if list.second_is_symbol() {
                self.symbol_word("callee", at + 4, second, limit)?;
            } else if !table.has_string(second) {
                let problem = Problem::Unterminated;
                return Err(self.inside("prototype", at + 4, second.into(), problem));
            }
        }
        Ok(())
    }

    fn prototypes(&self) -> Result<(), Violation> {
        let ragged = || self.field("sh_size", self.section.size, Problem::Ragged { entry: 8 });
        let pairs = callgraph::pairs(self.section.data).map_err(|_| ragged())?;
        let table = self.linked_symbols()?;
        for (i, pair) in pairs.iter().enumerate() {
            self.symbol_word("function", i * 8, pair.first.get(), table.len() as u64)?;
            let second = pair.second.get();
            if !table.has_string(second) {
                let problem = Problem::Unterminated;
                return Err(self.inside("prototype", i * 8 + 4, second.into(), problem));
            }
        }
        Ok(())
    }

    fn records(&self) -> Result<Vec<(usize, info::Record<'a>)>, Violation> {
        let mut at = 0;
        let mut all = Vec::new();
        for record in info::records(self.section.data) {
            let record = record.map_err(|_| self.inside("record", at, 0, Problem::Record))?;
            all.push((at, record));
            at += record.size();
        }
        Ok(all)
    }

    fn info(&self) -> Result<(), Violation> {
        let records = self.records()?;
        // Some tools leave sh_link of the module's section empty.
        let limit = match self.section.link {
            0 => self.cubin.symbol_count() as u64,
            _ => self.linked_symbols()?.len() as u64,
        };
        for (at, record) in records {
            let words = match record.attr().symbol_words() {
                SymbolWords::None => 0,
                SymbolWords::First => 1,
                SymbolWords::All => usize::MAX,
            };
            for (i, word) in record.words().take(words).enumerate() {
                self.symbol_word("attribute symbol", at + 4 + 4 * i, word, limit)?;
            }
        }
        Ok(())
    }
}
