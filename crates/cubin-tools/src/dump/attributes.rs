//! Attribute records for JSON.

use super::names::symbol_reference;
use cubin::attr::Format;
use cubin::info::Record;
pub(super) use cubin::words::{
    Symbols, Tables, attribute_name, compat_name, edge, hex, value_text,
};
use cubin::words::{Typed, format_name, typed};
use serde_json::{Value, json};

fn symbol_json(symbols: &Symbols<'_, '_>, index: u32) -> Value {
    let name = symbol_reference(symbols.cubin, symbols.table.as_ref(), index);
    json!({ "symbol": index, "name": name })
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
            out["section"] = symbol_json(symbols, b.symbol.get());
            out["offset"] = json!(b.offset.get());
            out["size"] = json!(b.size.get());
        }
        Typed::SymbolValues => {
            out["symbols"] = record.words().take(1).map(|s| symbol_json(symbols, s)).collect();
        }
        Typed::Symbols => {
            out["symbols"] = record.words().map(|s| symbol_json(symbols, s)).collect()
        }
        Typed::Words | Typed::Bytes => {}
    }
    out
}
