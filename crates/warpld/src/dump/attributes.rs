//! Attribute records in words.

use super::names::{reference, symbol_reference};
use cubin::attr::{Attr, Format, KernelParam, ParamBank, Shape};
use cubin::classify::{self, SectionClass};
use cubin::info::Record;
use cubin::{Cubin, SectionRef, SymbolTable};
use serde_json::{Value, json};

/// The attribute's name without prefix, or its number.
pub(super) fn attribute_name(code: u8) -> String {
    Attr(code).name().map_or_else(|| format!("{code:#04x}"), str::to_owned)
}

pub(super) fn compat_name(code: u8) -> String {
    cubin::compat::Compat(code).name().map_or_else(|| format!("{code:#04x}"), str::to_owned)
}

pub(super) fn format_name(format: u8) -> String {
    Format(format).name().map_or_else(|| format!("{format:#x}"), str::to_owned)
}

/// The symbol tables of a file, checked once.
pub(super) struct Tables<'c, 'a> {
    cubin: &'c Cubin<'a>,
    all: Vec<SymbolTable<'a>>,
}

impl<'c, 'a> Tables<'c, 'a> {
    pub(super) fn of(cubin: &'c Cubin<'a>) -> Self {
        let sections = cubin.sections().iter();
        let symbols = sections.filter(|s| classify::section(s).class == SectionClass::Symbols);
        Self { cubin, all: symbols.filter_map(|s| cubin.symbol_table(s).ok()).collect() }
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = &SymbolTable<'a>> {
        self.all.iter()
    }
    /// The table in the section that `section` links to.
    pub(super) fn linked(&self, section: &SectionRef<'_>) -> Symbols<'c, 'a> {
        let table = self.all.iter().find(|t| t.section().0 == section.link).copied();
        Symbols { cubin: self.cubin, table }
    }
}

/// Names symbols of one table.
pub(super) struct Symbols<'c, 'a> {
    cubin: &'c Cubin<'a>,
    pub(super) table: Option<SymbolTable<'a>>,
}

impl Symbols<'_, '_> {
    /// `name`, or `symbol 12` where there is none.
    pub(super) fn name(&self, index: u32) -> String {
        match symbol_reference(self.cubin, self.table.as_ref(), index) {
            Some(name) if !name.is_empty() => name.into_owned(),
            _ => format!("symbol {index}"),
        }
    }
    fn json(&self, index: u32) -> Value {
        let name = symbol_reference(self.cubin, self.table.as_ref(), index);
        json!({ "symbol": index, "name": name })
    }
    /// A prototype string.
    pub(super) fn string(&self, offset: u32) -> Option<String> {
        Some(reference(self.table?.string(offset)?).into_owned())
    }
}

/// The value in words.
pub(super) fn value_text(record: &Record<'_>, symbols: &Symbols<'_, '_>) -> String {
    if record.format != Format::SVAL.0 {
        return scalar_text(record);
    }
    let list = |words: &mut dyn Iterator<Item = u32>| {
        words.map(|w| format!("{w:#x}")).collect::<Vec<_>>().join(" ")
    };
    match typed(record) {
        Typed::Param(p) => format!(
            "parameter {} at {:#x}, {} bytes{}",
            p.ordinal,
            p.offset,
            p.size(),
            if p.log2_alignment() > 0 {
                format!(", points to align {}", 1_u64 << p.log2_alignment().min(63))
            } else {
                String::new()
            }
        ),
        Typed::Bank(b) => {
            format!("{} at {:#x}, {} bytes", symbols.name(b.symbol.get()), b.offset, b.size)
        }
        Typed::SymbolValues => {
            let mut words = record.words();
            let symbol = words.next().map(|s| symbols.name(s)).unwrap_or_default();
            let values: Vec<_> = words.map(amount).collect();
            format!("{symbol}: {}", values.join(" "))
        }
        Typed::Symbols => record.words().map(|s| symbols.name(s)).collect::<Vec<_>>().join(" "),
        Typed::Words => list(&mut record.words()),
        Typed::Bytes => hex(record.payload),
    }
}

/// All ones mean: not known before run time.
fn amount(value: u32) -> String {
    if value == u32::MAX { "unknown".to_owned() } else { value.to_string() }
}

fn scalar_text(record: &Record<'_>) -> String {
    match record.attr() {
        _ if record.format == Format::NVAL.0 && record.value == 0 => String::new(),
        Attr::MERCURY_ISA_VERSION => format!("{}.{}", record.value >> 8, record.value & 0xff),
        _ => record.value.to_string(),
    }
}

/// The record for JSON: raw words, and what they mean where that is known.
pub(super) fn record_json(
    record: &Record<'_>,
    name: String,
    symbols: Option<&Symbols<'_, '_>>,
) -> Value {
    let mut out = json!({
        "code": record.code,
        "name": name,
        "format": format_name(record.format),
    });
    if record.format != Format::SVAL.0 {
        if record.format != Format::NVAL.0 || record.value != 0 {
            out["value"] = json!(record.value);
        }
        return out;
    }
    match record.payload.len() % 4 {
        0 => out["words"] = record.words().collect(),
        _ => out["bytes"] = json!(hex(record.payload)),
    }
    let Some(symbols) = symbols else { return out };
    match typed(record) {
        Typed::Param(p) => {
            out["parameter"] = json!({
                "ordinal": p.ordinal.get(),
                "offset": p.offset.get(),
                "size": p.size(),
                "log2_alignment": p.log2_alignment(),
                "space": p.space(),
                "bank": p.bank(),
            });
        }
        Typed::Bank(b) => {
            out["section"] = symbols.json(b.symbol.get());
            out["offset"] = json!(b.offset.get());
            out["size"] = json!(b.size.get());
        }
        Typed::SymbolValues => {
            out["symbols"] = record.words().take(1).map(|s| symbols.json(s)).collect();
        }
        Typed::Symbols => out["symbols"] = record.words().map(|s| symbols.json(s)).collect(),
        Typed::Words | Typed::Bytes => {}
    }
    out
}

enum Typed {
    Param(KernelParam),
    Bank(ParamBank),
    SymbolValues,
    Symbols,
    Words,
    Bytes,
}

/// How to read the payload: by the attribute's shape if the size fits it.
fn typed(record: &Record<'_>) -> Typed {
    let whole = record.payload.len().is_multiple_of(4);
    match record.attr().shape() {
        Shape::KernelParam if record.attr() == Attr::KPARAM_INFO => {
            record.payload_as().map_or(Typed::Bytes, Typed::Param)
        }
        Shape::ParamBank => record.payload_as().map_or(Typed::Bytes, Typed::Bank),
        Shape::SymbolValue if whole => Typed::SymbolValues,
        Shape::Symbols if whole => Typed::Symbols,
        Shape::Words | Shape::Scalar if whole => Typed::Words,
        _ => Typed::Bytes,
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 3);
    for (i, byte) in bytes.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    out
}
