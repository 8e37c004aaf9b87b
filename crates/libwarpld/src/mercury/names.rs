//! Names: both halves share one section name table and one string table.

use super::CapsuleFile;
use crate::ids::SectionId;
use crate::merge::Content;
use cubin::half;
use std::collections::HashSet;

/// The two string tables.
#[derive(Debug)]
pub struct Names {
    /// `.shstrtab`.
    pub section_names: Vec<u8>,
    /// `.strtab`.
    pub strings: Vec<u8>,
    /// Bytes left unused after `.strtab`, see [`reserve`].
    pub reserved: u64,
    /// Name of each parameter bank in both tables.
    pub banks: Vec<(u32, u32)>,
    /// Name of each section of the Mercury half.
    pub mercury: Vec<u32>,
    /// Name of `.nv.merc.symtab`.
    pub mercury_symtab: u32,
    /// Names of the tables of section indices, if there are any.
    pub symbol_sections: [u32; 2],
    /// Machine-code names of section symbols, by section.
    pub bank_symbols: Vec<(SectionId, u32)>,
}

/// Builds both tables. The names recorded during the link come first; banks that Mercury gives a
/// name instead of a number are renamed in place, with the shorter name padded with zeros.
pub fn names(file: &CapsuleFile<'_, '_>) -> Names {
    let (parts, plan) = (file.parts, &file.plan);
    let merged = parts.merged;
    let mut section_names = merged.strings.sections().to_vec();
    let mut strings = merged.strings.symbols();
    let mut bank_symbols = Vec::new();
    let mut reserved = 0;
    let mut renamed = HashSet::new();
    for &id in &plan.machine {
        let name = merged.section_name(id);
        let Some(short) = machine_name(name) else { continue };
        reserved += reserve(merged.section(id).content(), name, &short);
        let at = merged.section(id).name as usize;
        if let Some(slot) = section_names.get_mut(at..at + name.len()) {
            // Quirk: if two sections share the name, nvlink looks for the function's name after the
            // shortened one the second time, and it is not there any more.
            let kept = match renamed.insert(at) {
                true => short.len(),
                false => short.len() - function_name(&short),
            };
            slot.fill(0);
            slot[..kept].copy_from_slice(&short[..kept]);
        }
        if merged.section(id).symbol.is_some() {
            bank_symbols.push((id, append(&mut strings, b"", &short)));
        }
    }
    let mut symbol_sections = [0; 2];
    if plan.adds_numbers {
        symbol_sections[0] = append(&mut section_names, b"", b".symtab_shndx");
    }
    let kernel_name = |kernel| parts.cx.resolution.get(kernel).name;
    let mut banks = Vec::new();
    for bank in &plan.banks {
        let name = kernel_name(bank.kernel);
        let in_strings = append(&mut strings, b".nv.constant0.", name);
        let in_names = append(&mut section_names, b".nv.constant0.", name);
        banks.push((in_names, in_strings));
    }
    let mercury = plan.mercury.iter().map(|&id| {
        let name = merged.section_name(id);
        let prefix: &[u8] = match super::section_plan::text_function(parts, id) {
            Some(_) => b".nv.capmerc",
            None => b".nv.merc",
        };
        append(&mut section_names, prefix, name)
    });
    let mercury = mercury.collect();
    if plan.adds_numbers {
        symbol_sections[1] = append(&mut section_names, b"", b".nv.merc.symtab_shndx");
    }
    let mercury_symtab = append(&mut section_names, b"", b".nv.merc.symtab");
    Names {
        section_names,
        strings,
        reserved,
        banks,
        mercury,
        mercury_symtab,
        symbol_sections,
        bank_symbols,
    }
}

/// The room that a renamed section leaves in the string table. The table is sized for the longer
/// names without their terminating zeros, so this is what the shorter bank name does not need, or
/// all of it where no symbol needs a name (measured on 120 files with constants, jump tables and
/// images).
fn reserve(content: Content<'_>, name: &[u8], short: &[u8]) -> u64 {
    match content {
        Content::Relocs(..) | Content::ImageRelocs(_) => name.len() as u64,
        _ => (name.len() as u64).saturating_sub(short.len() as u64 + 1),
    }
}

/// The machine-code name of a Mercury bank, or of its relocation section.
fn machine_name(name: &[u8]) -> Option<Vec<u8>> {
    let (bank, rest) = half::mercury_bank(name)?;
    let prefix = name.get(..name.windows(12).position(|w| w == b".nv.constant")? + 12)?;
    Some([prefix, bank.to_string().as_bytes(), rest].concat())
}

/// Length of the function's name at the end of a bank's.
fn function_name(name: &[u8]) -> usize {
    let bank = name.windows(12).position(|w| w == b".nv.constant").unwrap_or(0) + 12;
    let dot = name.iter().skip(bank).position(|&b| b == b'.');
    dot.map_or(0, |dot| name.len().saturating_sub(bank + dot + 1))
}

fn append(table: &mut Vec<u8>, prefix: &[u8], name: &[u8]) -> u32 {
    let at = table.len() as u32;
    table.extend_from_slice(prefix);
    table.extend_from_slice(name);
    table.push(0);
    at
}
