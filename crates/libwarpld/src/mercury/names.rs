//! Names: both halves share one section name table and one string table.

use super::CapsuleFile;
use crate::collections::Set;
use crate::ids::SectionId;
use crate::merge::Content;
use cubin::bank;
use cubin::names::{self, prefix};

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
    /// Name of each function that only machine code calls, and of each section of such calls.
    pub calls: (Vec<u32>, Vec<u32>),
    /// Machine-code names of section symbols, by section.
    pub bank_symbols: Vec<(SectionId, u32)>,
}

/// Builds both tables. The names recorded during the link come first; banks that Mercury gives a
/// name instead of a number are renamed in place, with the shorter name padded with zeros.
pub fn names(file: &CapsuleFile<'_, '_>) -> Names {
    let (linked, plan) = (file.linked, &file.plan);
    let merged = linked.merged;
    let mut section_names = merged.strings.sections().to_vec();
    let mut strings = merged.strings.symbols();
    let mut bank_symbols = Vec::new();
    let mut reserved = 0;
    let mut renamed = Set::default();
    for &id in &plan.machine {
        let name = merged.section_name(id);
        let Some(short) = bank::machine_name(name) else { continue };
        reserved += reserve(merged.section(id).content(), name, &short);
        let at = merged.section(id).name as usize;
        if let Some(slot) = section_names.get_mut(at..at + name.len()) {
            // Quirk: if two sections share the name, nvlink looks for the function's name after the
            // shortened one the second time, and it is not there any more. [`bank2-strays`]
            let kept = match renamed.insert(at) {
                true => short.len(),
                false => short.len() - bank::function(&short).map_or(0, <[u8]>::len),
            };
            slot.fill(0);
            slot[..kept].copy_from_slice(&short[..kept]);
        }
        // A finalizer that writes names anew leaves symbols of functions' banks alone, but for
        // those of handles.
        let keeps_name = linked.cx.dialect.rebuilds_names()
            && bank::function(&short).is_some()
            && !short.starts_with(prefix::CONSTANT0);
        if merged.section(id).symbol.is_some() && !keeps_name {
            bank_symbols.push((id, append(&mut strings, b"", &short)));
        }
    }
    let mut symbol_sections = [0; 2];
    if plan.adds_numbers {
        symbol_sections[0] = append(&mut section_names, b"", names::SYMTAB_SHNDX);
    }
    let kernel_name = |kernel| linked.cx.resolution.get(kernel).name;
    let mut banks = Vec::new();
    for bank in &plan.banks {
        let name = kernel_name(bank.kernel);
        let in_strings = append(&mut strings, prefix::CONSTANT0, name);
        let in_names = append(&mut section_names, prefix::CONSTANT0, name);
        banks.push((in_names, in_strings));
    }
    let mercury = plan.mercury.iter().map(|&id| {
        let name = merged.section_name(id);
        let prefix: &[u8] = match linked.text_function(id) {
            Some(_) => prefix::CAPSULE,
            None => prefix::MERCURY,
        };
        append(&mut section_names, prefix, name)
    });
    let mercury = mercury.collect();
    if plan.adds_numbers {
        symbol_sections[1] = append(&mut section_names, b"", names::MERCURY_SYMTAB_SHNDX);
    }
    let mercury_symtab = append(&mut section_names, b"", names::MERCURY_SYMTAB);
    let functions = plan.calls.functions.iter();
    let functions = functions.map(|function| append(&mut strings, b"", function.name)).collect();
    let relocs = plan.calls.alone.iter();
    let relocs = relocs
        .map(|&code| append(&mut section_names, prefix::RELA, merged.section_name(code)))
        .collect();
    Names {
        section_names,
        strings,
        reserved,
        banks,
        mercury,
        mercury_symtab,
        symbol_sections,
        calls: (functions, relocs),
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

fn append(table: &mut Vec<u8>, prefix: &[u8], name: &[u8]) -> u32 {
    let at = table.len() as u32;
    table.extend_from_slice(prefix);
    table.extend_from_slice(name);
    table.push(0);
    at
}
