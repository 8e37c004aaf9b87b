//! The Mercury half of a capsule file, as a file of its own.
//!
//! Capsule files contain everything twice: machine code with its tables, and their Mercury
//! counterparts at the end of the file, with a symbol table that has the same indices. The Mercury
//! half is a view of the same bytes: the counterparts have the names and types of ordinary
//! sections, and the machine-code sections are hidden. Section indices are the same in both views.

use crate::bank;
use crate::consts::{SectionType, shf};
use crate::entries::{Reloc, SectionRef};
use crate::error::ReadError;
use crate::label::Label;
use crate::names::{prefix, without_mercury_prefix};
use crate::read::Cubin;
use crate::reloc::RelocKind;
use hashbrown::HashMap;
use std::cell::OnceCell;

pub use crate::label::is_mercury;

/// The two halves of a capsule file.
#[derive(Clone, Debug)]
pub struct Halves<'a> {
    /// The Mercury half under ordinary names.
    pub mercury: Cubin<'a>,
    /// The file as it is.
    pub sass: Cubin<'a>,
    /// By section of the Mercury half: its machine-code section, or 0.
    counterparts: Vec<u32>,
    /// Text sections of kernels and their parameter banks, sorted.
    banks: Vec<(u32, u32)>,
}

impl<'a> Halves<'a> {
    /// Splits a file with capsules.
    pub fn split(file: &Cubin<'a>) -> Result<Self, ReadError> {
        let sections = file.sections();
        let missing =
            ReadError::BadField { field: "Mercury symbol table", section: None, value: 0 };
        let table = sections.find(SectionType::CUDA_MERCURY_SYMTAB).ok_or(missing)?;
        let symtab = file.symbol_table(&table)?;
        let machine = MachineHalf::of(file);
        let mut counterparts = vec![0; sections.len()];
        for section in sections.iter().filter(is_mercury) {
            counterparts[section.index.0 as usize] = machine.counterpart(file, &section)?;
        }
        let banks = sections.iter().filter(is_parameter_bank);
        let mut banks: Vec<_> = banks.map(|s| (s.info, s.index.0)).collect();
        banks.sort_unstable();
        // Sections that belong to code (`.nv.shared.K`) refer to the machine-code section.
        let mut behind = vec![0; sections.len()];
        for (section, &counterpart) in counterparts.iter().enumerate() {
            if let Some(place) = behind.get_mut(counterpart as usize) {
                *place = section as u32;
            }
        }
        let label = |s: SectionRef<'_>| match (is_mercury(&s), behind[s.index.0 as usize]) {
            (true, _) => Label::PLAIN,
            (false, mercury) if mercury != 0 || is_machine_only(&s) => Label::HIDDEN,
            _ if s.flags & shf::INFO_LINK != 0 => {
                behind.get(s.info as usize).map_or(Label::PLAIN, |&info| Label::with_info(info))
            }
            _ => Label::PLAIN,
        };
        let mercury = file.relabelled(sections.iter().map(label).collect(), symtab);
        Ok(Self { mercury, sass: file.clone(), counterparts, banks })
    }

    /// The parameter bank of the kernel whose machine code is in section `text`.
    pub fn parameter_bank(&self, text: u32) -> Option<SectionRef<'a>> {
        let after = self.banks.partition_point(|&(code, _)| code <= text);
        let &(code, bank) = self.banks.get(after.checked_sub(1)?)?;
        self.sass.section(bank).filter(|_| code == text)
    }

    /// The machine-code section of a section of the Mercury half.
    pub fn counterpart(&self, section: u32) -> Option<SectionRef<'a>> {
        match self.counterparts.get(section as usize) {
            None | Some(0) => None,
            Some(&counterpart) => self.sass.section(counterpart),
        }
    }
}

/// Whether the Mercury half hides the section even if it has no counterpart.
fn is_machine_only(s: &SectionRef<'_>) -> bool {
    matches!(
        s.kind,
        SectionType::SYMTAB | SectionType::REL | SectionType::RELA | SectionType::CUDA_INFO
    ) || s.flags & shf::EXECINSTR != 0
        || is_parameter_bank(s)
}

/// Whether the section is a kernel's parameter bank, which the Mercury half does not have.
pub fn is_parameter_bank(s: &SectionRef<'_>) -> bool {
    s.kind.constant_bank() == Some(0) || s.name.starts_with(prefix::CONSTANT0)
}

/// Pairs the relocations of a section of the Mercury half with those of its counterpart; also
/// returns the first machine-code relocation that is left over. Both lists have the same order and
/// the same symbol indices; some Mercury relocations have no counterpart (jump tables, the size of
/// reserved shared memory).
pub fn pair_relocs(
    mercury: Vec<Reloc>,
    machine: Vec<Reloc>,
) -> (Vec<(Reloc, Option<Reloc>)>, Option<Reloc>) {
    let mut rest: Vec<Option<Reloc>> = machine.into_iter().map(Some).collect();
    let mut first = 0;
    let list = mercury.into_iter().map(|reloc| {
        let open = rest.get_mut(first..).unwrap_or_default();
        let found = open.iter_mut().find(|r| r.is_some_and(|r| are_counterparts(&reloc, &r)));
        let counterpart = found.and_then(Option::take);
        first += rest.iter().skip(first).take_while(|r| r.is_none()).count();
        (reloc, counterpart)
    });
    let list: Vec<_> = list.collect();
    (list, rest.into_iter().flatten().next())
}

/// Whether a Mercury relocation can be paired with a machine-code relocation.
pub fn are_counterparts(mercury: &Reloc, machine: &Reloc) -> bool {
    let clears = mercury.kind == RelocKind::MERCURY_UNUSED_CLEAR64;
    let machine_clears = machine.kind == RelocKind::CUDA_UNUSED_CLEAR64;
    mercury.symbol == machine.symbol && clears == machine_clears
}

/// Indexes of the sections of the machine-code half.
struct MachineHalf<'a> {
    /// Attribute and relocation sections by the section they describe; 0 if there is none.
    infos: Vec<u32>,
    relocs: Vec<u32>,
    /// The first section of each name, built on first use.
    names: OnceCell<HashMap<&'a [u8], u32, foldhash::fast::RandomState>>,
    /// `.nv.info`.
    module_info: Option<u32>,
}

impl<'a> MachineHalf<'a> {
    fn of(file: &Cubin<'a>) -> Self {
        let count = file.sections().len();
        let (infos, relocs) = (vec![0; count], vec![0; count]);
        let mut out = Self { infos, relocs, names: OnceCell::new(), module_info: None };
        for section in file.sections().iter_unnamed().filter(|s| s.flags & shf::MERCURY == 0) {
            let index = section.index.0;
            let tables = match section.kind {
                SectionType::CUDA_INFO if section.flags & shf::INFO_LINK == 0 => {
                    out.module_info.get_or_insert(index);
                    continue;
                }
                SectionType::CUDA_INFO => &mut out.infos,
                SectionType::RELA => &mut out.relocs,
                _ => continue,
            };
            if let Some(table) = tables.get_mut(section.info as usize).filter(|t| **t == 0) {
                *table = index;
            }
        }
        out
    }

    /// The first section of a name.
    fn named(&self, file: &Cubin<'a>, name: &[u8]) -> Option<u32> {
        let names = self.names.get_or_init(|| {
            let mut names = HashMap::default();
            for section in file.sections().iter().filter(|s| !is_mercury(s)) {
                names.entry(section.name).or_insert(section.index.0);
            }
            names
        });
        names.get(name).copied()
    }

    /// The counterpart of a Mercury section: a capsule gives the index of its text section, a table
    /// describes the counterpart of the section it is about, data has the same name (constant banks
    /// have a name in one half and a number in the other).
    fn counterpart(&self, file: &Cubin<'a>, section: &SectionRef<'a>) -> Result<u32, ReadError> {
        let found = match section.kind {
            SectionType::CUDA_MERCURY_SYMTAB => None,
            SectionType::CUDA_CAPMERC => Some(text_of(file, section)?),
            SectionType::CUDA_MERCURY_INFO if section.flags & shf::INFO_LINK == 0 => {
                self.module_info
            }
            SectionType::CUDA_MERCURY_INFO => self.table(file, &self.infos, section)?,
            SectionType::CUDA_MERCURY_RELA => self.table(file, &self.relocs, section)?,
            _ => self.data(file, section),
        };
        Ok(found.unwrap_or(0))
    }

    fn table(
        &self,
        file: &Cubin<'a>,
        tables: &[u32],
        section: &SectionRef<'a>,
    ) -> Result<Option<u32>, ReadError> {
        let target = match file.section(section.info) {
            Some(target) if is_mercury(&target) && !is_table(&target) => {
                self.counterpart(file, &target)?
            }
            _ => section.info,
        };
        Ok(tables.get(target as usize).copied())
    }

    fn data(&self, file: &Cubin<'a>, section: &SectionRef<'a>) -> Option<u32> {
        match bank::mercury(section.name) {
            Some((bank, function)) => {
                let bank = bank.to_string();
                self.named(file, &[prefix::CONSTANT, bank.as_bytes(), function].concat())
            }
            None => self.named(file, without_mercury_prefix(section.name)),
        }
    }
}

fn is_table(s: &SectionRef<'_>) -> bool {
    matches!(s.kind, SectionType::CUDA_MERCURY_INFO | SectionType::CUDA_MERCURY_RELA)
}

/// The text section of a capsule, from its first word.
fn text_of(file: &Cubin<'_>, capsule: &SectionRef<'_>) -> Result<u32, ReadError> {
    let bad = |value| ReadError::BadField {
        field: "text section of a capsule",
        section: Some(capsule.index.0),
        value,
    };
    let Some(&[a, b, c, d]) = capsule.data.get(..4) else { return Err(bad(0)) };
    let index = u32::from_le_bytes([a, b, c, d]);
    match file.section(index) {
        Some(text)
            if text.flags & shf::EXECINSTR != 0
                && without_mercury_prefix(capsule.name) == text.name
                && text.kind == SectionType::PROGBITS =>
        {
            Ok(index)
        }
        _ => Err(bad(index.into())),
    }
}
