//! Capsules: their header, mask and items, and where Mercury's relocations are in machine code.

use super::attributes::{Tables, hex};
use super::names;
use cubin::capsule::{Capsule, CapsuleHeader, ItemForm};
use cubin::classify::{self, SectionClass};
use cubin::half::pair_relocs;
use cubin::{Cubin, Reloc, SectionRef, SectionType};
use serde_json::{Value, json};

/// An item and the machine instructions it stands for.
pub(super) struct Placed<'c> {
    /// Index of the Mercury instruction.
    pub instruction: u32,
    /// Offset in machine code.
    pub offset: u64,
    /// Number of machine instructions.
    pub count: u64,
    /// `full`, `short` or `filler`.
    pub form: &'static str,
    /// Its bytes.
    pub bytes: &'c [u8],
}

/// A capsule and its function.
pub(super) struct Shown<'a> {
    pub section: u32,
    pub function: String,
    pub capsule: Capsule<'a>,
    /// Relocations of the Mercury half, their offsets in machine code if it has them too, and their
    /// symbols.
    pub relocs: Vec<(Reloc, Option<u64>, String)>,
}

/// The capsule in a section, if it holds one.
pub(super) fn shown<'a>(
    cubin: &Cubin<'a>,
    tables: &Tables<'_, '_>,
    section: &SectionRef<'a>,
) -> Option<Shown<'a>> {
    let SectionClass::Capsule(function) = classify::section(section).class else { return None };
    let capsule = Capsule::parse(section.data).ok()?;
    let relocs = relocations(cubin, tables, section.index.0, capsule.text_section);
    let function = names::reference(function).into_owned();
    Some(Shown { section: section.index.0, function, capsule, relocs })
}

fn relocations(
    cubin: &Cubin<'_>,
    tables: &Tables<'_, '_>,
    capsule: u32,
    text: u32,
) -> Vec<(Reloc, Option<u64>, String)> {
    let of = |kind: SectionType, target: u32| {
        let section = cubin.sections().iter().find(|s| s.kind == kind && s.info == target)?;
        Some((section, cubin.relocs(&section).ok()?))
    };
    let Some((section, mercury)) = of(SectionType::CUDA_MERCURY_RELA, capsule) else {
        return Vec::new();
    };
    let machine = of(SectionType::RELA, text).map(|(_, relocs)| relocs).unwrap_or_default();
    let symbols = tables.linked(&section);
    let named = |(reloc, counterpart): (Reloc, Option<Reloc>)| {
        let name = names::symbol_reference(cubin, symbols.table.as_ref(), reloc.symbol.0);
        let name = name.map_or(String::new(), |n| n.into_owned());
        (reloc, counterpart.map(|t| t.offset), name)
    };
    pair_relocs(mercury, machine).0.into_iter().map(named).collect()
}

impl<'a> Shown<'a> {
    /// The items with their offsets.
    pub(super) fn items(&self) -> Vec<Placed<'a>> {
        const INSTRUCTION: u64 = 16;
        let mut items = self.capsule.items.iter();
        let (mut out, mut first) = (Vec::new(), 0_u64);
        for instruction in 0..self.capsule.count {
            if self.capsule.is_sass_only(instruction) {
                first += 1;
                continue;
            }
            let Some(item) = items.next() else { break };
            let count = u64::from(item.sass_instructions());
            let (form, bytes) = match item.form {
                ItemForm::Full(bytes) => ("full", bytes),
                ItemForm::Short(bytes) => ("short", bytes),
                ItemForm::Note(bytes) => ("note", bytes),
                ItemForm::Filler(_) => ("filler", &[][..]),
            };
            let offset = first.saturating_mul(INSTRUCTION);
            out.push(Placed { instruction, offset, count, form, bytes });
            first = first.saturating_add(count);
        }
        out
    }

    /// The word after the section index, if there is one.
    pub(super) fn header(&self) -> Option<u32> {
        match self.capsule.header {
            CapsuleHeader::Long(word) => Some(word),
            CapsuleHeader::Short => None,
        }
    }

    /// The JSON form.
    pub(super) fn json(&self) -> Value {
        let count = |wanted: fn(&ItemForm<'_>) -> bool| {
            self.capsule.items.iter().filter(|item| wanted(&item.form)).count()
        };
        let item = |p: Placed<'_>| {
            json!({
                "instruction": p.instruction,
                "sass_offset": p.offset,
                "sass_instructions": p.count,
                "form": p.form,
                "bytes": hex(p.bytes),
            })
        };
        let reloc = |(reloc, place, name): &(Reloc, Option<u64>, String)| {
            json!({
                "offset": reloc.offset,
                "type": names::reloc_kind(reloc.kind),
                "name": name,
                "sass_offset": place,
            })
        };
        json!({
            "section": self.section,
            "function": self.function,
            "text_section": self.capsule.text_section,
            "header": self.header(),
            "instructions": self.capsule.count,
            "sass_instructions": self.capsule.sass_instructions(),
            "full_items": count(|f| matches!(f, ItemForm::Full(_))),
            "short_items": count(|f| matches!(f, ItemForm::Short(_))),
            "notes": count(|f| matches!(f, ItemForm::Note(_))),
            "fillers": count(|f| matches!(f, ItemForm::Filler(_))),
            "mask": hex(self.capsule.mask),
            "items": self.items().into_iter().map(item).collect::<Value>(),
            "relocations": self.relocs.iter().map(reloc).collect::<Value>(),
        })
    }
}
