//! Functions of device files as bytes, with what a listing of them needs: relocations and the targets of jump
//! tables.

use super::listing::CONTROL;
use cubin::flags::Identity;
use cubin::{Arch, Attr, Cubin, SectionRef, SectionType, info};

/// Size of an instruction.
pub const INSTRUCTION: usize = 16;

/// Control bits without a scoreboard: nvdisasm takes some instructions that say they set one, and cannot, for illegal.
const NEUTRAL: u128 = 1 << 105 | 0x3f << 110;

/// Where a file leaves a field open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Relocation {
    /// In the section.
    pub offset: u64,
    /// Its number.
    pub kind: u32,
    /// The address within the function itself; none for another symbol's.
    pub own: Option<i64>,
}

/// A function without its name: two of them that are equal have the same listing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Raw {
    /// The target.
    pub arch: Arch,
    /// Instructions, padding at the end included.
    pub code: Vec<u128>,
    /// In the order of the file.
    pub relocations: Vec<Relocation>,
    /// Records of jump tables.
    pub jumps: Vec<u8>,
    /// Registers that the file says it has.
    pub registers: u32,
}

impl Raw {
    /// The function without control bits, which a listing does not show.
    pub fn shape(&self) -> Self {
        let code = self.code.iter().map(|bits| bits & !CONTROL | NEUTRAL).collect();
        Self { code, ..self.clone() }
    }

    /// Its bytes and tables, for a key.
    pub fn bytes(&self) -> Vec<u8> {
        let mut all = self.arch.to_string().into_bytes();
        all.extend(self.code.iter().flat_map(|bits| bits.to_le_bytes()));
        for relocation in &self.relocations {
            all.extend(relocation.offset.to_le_bytes());
            all.extend(relocation.kind.to_le_bytes());
            all.extend(relocation.own.map_or([0xff; 8], i64::to_le_bytes));
        }
        all.extend(&self.jumps);
        all
    }
}

/// The functions of a file by name; none if it has no machine code.
pub fn functions(image: &[u8]) -> Result<Vec<(String, Raw)>, String> {
    let file = Cubin::parse(image).map_err(|e| e.to_string())?;
    let arch = Identity::of(&file).map_err(|e| e.to_string())?.arch;
    let registers = registers(&file);
    let is_code = |s: &SectionRef<'_>| s.name.starts_with(b".text.") && s.data.len() >= INSTRUCTION;
    let mut all = Vec::new();
    for text in file.sections().iter().filter(is_code) {
        let name = String::from_utf8_lossy(&text.name[b".text.".len()..]).into_owned();
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, &b| n << 8 | u128::from(b));
        let mut raw = Raw {
            arch,
            code: text.data.chunks_exact(INSTRUCTION).map(word).collect(),
            relocations: Vec::new(),
            jumps: Vec::new(),
            registers: registers
                .iter()
                .find(|(at, _)| *at == text.index.0)
                .map_or(254, |(_, n)| *n),
        };
        let about = |s: &SectionRef<'_>| s.info == text.index.0;
        for section in file.sections().iter().filter(about) {
            match section.kind {
                SectionType::REL | SectionType::RELA if section.name.starts_with(b".rel") => {
                    raw.relocations.extend(relocations(&file, &section, text.index.0)?);
                }
                _ if section.name.starts_with(b".nv.info.") => {
                    let jumps = info::raw_records(section.data)
                        .filter(|record| record.get(1) == Some(&Attr::INDIRECT_BRANCH_TARGETS.0));
                    raw.jumps = jumps.flatten().copied().collect();
                }
                _ => {}
            }
        }
        all.push((name, raw));
    }
    Ok(all)
}

/// Sections of functions and their numbers of registers.
fn registers(file: &Cubin<'_>) -> Vec<(u32, u32)> {
    let sections = file.sections().iter().filter(|s| s.name == b".nv.info");
    let records = sections.flat_map(|s| info::readable_records(s.data).collect::<Vec<_>>());
    let counts = records.filter(|record| record.attr() == Attr::REGCOUNT);
    counts
        .filter_map(|record| {
            let (symbol, count) = record.symbol_and_value()?;
            Some((file.symbol(symbol)?.shndx, count))
        })
        .collect()
}

fn relocations(
    file: &Cubin<'_>,
    section: &SectionRef<'_>,
    text: u32,
) -> Result<Vec<Relocation>, String> {
    let all = file.relocs(section).map_err(|e| e.to_string())?;
    let own = |r: &cubin::Reloc| {
        let symbol = file.symbol(r.symbol.0).filter(|symbol| symbol.shndx == text)?;
        Some((symbol.value as i64).wrapping_add(r.addend.unwrap_or(0)))
    };
    let read = |r: cubin::Reloc| Relocation { offset: r.offset, kind: r.kind.0, own: own(&r) };
    Ok(all.into_iter().map(read).collect())
}
