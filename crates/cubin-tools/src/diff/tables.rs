//! The tables inside sections as entries, with names in place of indices.

use super::file::File;
use super::list::Entry;
use cubin::attr::{Attr, Format};
use cubin::capsule::{Capsule, ItemForm};
use cubin::consts::sto;
use cubin::info::{self, Record};
use cubin::note::{CudaInfo, Note, NoteType, ToolInfo};
use cubin::relaction::RelActions;
use cubin::words::{self, Symbols, Typed};
use cubin::{Binding, RelocKind, SectionRef, SymbolRef, SymbolType, callgraph, note};

pub(crate) fn symbols(file: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    let table = file.tables.iter().find(|t| t.section() == s.index)?;
    Some(table.iter().map(|symbol| symbol_entry(file, &symbol)).collect())
}

fn symbol_entry(file: &File<'_, '_>, symbol: &SymbolRef<'_>) -> Entry {
    let section = match (symbol.reserved, symbol.is_undefined()) {
        (true, _) => words::reserved_section(symbol.shndx),
        (_, true) => "undefined".to_owned(),
        _ => file.section_name(symbol.shndx),
    };
    let name = match (symbol.name.is_empty(), symbol.kind()) {
        (true, SymbolType::SECTION) => section.clone(),
        _ => words::reference(symbol.name).into_owned(),
    };
    let key = match (symbol.kind(), symbol.binding()) {
        (SymbolType::SECTION, Binding::LOCAL) => format!("of section {name}"),
        _ => name,
    };
    Entry::new(key)
        .with("type", words::symbol_type(symbol.kind()))
        .with("binding", words::binding(symbol.binding()))
        .with("flags", other(symbol.other))
        .with("section", section)
        .with("value", format!("{:#x}", symbol.value))
        .with("size", format!("{:#x}", symbol.size))
}

/// `st_other` in words.
fn other(byte: u8) -> String {
    let mut out = format!("{byte:#x}");
    let space = match byte & sto::SPACE {
        sto::GLOBAL => "global",
        sto::SHARED => "shared",
        sto::LOCAL => "local",
        sto::CONSTANT => "constant",
        sto::RESERVED_SHARED => "reserved shared",
        _ => "",
    };
    let bits = [(sto::ENTRY, "kernel"), (sto::MANAGED, "managed"), (sto::OBSCURE, "obscure")];
    let bits = bits.iter().filter(|(bit, _)| byte & bit != 0).map(|(_, word)| *word);
    let words: Vec<_> = bits.chain([space]).filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        out.push_str(&format!(" ({})", words.join(", ")));
    }
    out
}

pub(crate) fn strings(_: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    let strings = s.data.strip_suffix(b"\0").unwrap_or(s.data).split(|&byte| byte == 0);
    Some(strings.map(|string| Entry::new(format!("\"{}\"", words::lossy(string)))).collect())
}

pub(crate) fn relocations(file: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    let symbols = file.tables.linked(s);
    let entries = file.cubin.relocs(s).ok()?.into_iter().map(|r| {
        let entry = Entry::new(format!("at {:#x}", r.offset))
            .with("type", words::reloc_kind(r.kind))
            .with("symbol", symbols.name(r.symbol.0));
        match r.addend {
            Some(addend) => entry.with("addend", addend.to_string()),
            None => entry,
        }
    });
    Some(entries.collect())
}

pub(crate) fn attributes(file: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    let symbols = file.tables.linked(s);
    records(s, |record| attribute(record, &symbols))
}

fn records(s: &SectionRef<'_>, entry: impl Fn(&Record<'_>) -> Entry) -> Option<Vec<Entry>> {
    info::records(s.data).map(|record| Some(entry(&record.ok()?))).collect()
}

/// Attributes of a symbol or a parameter are keyed by that, too.
fn attribute(record: &Record<'_>, symbols: &Symbols<'_, '_>) -> Entry {
    let name = words::attribute_name(record.code);
    let typed = (record.format == Format::SVAL.0).then(|| words::typed(record));
    let entry = match typed {
        Some(Typed::SymbolValues) => {
            let symbol = record.word(0).map(|s| symbols.name(s)).unwrap_or_default();
            Entry::new(format!("{name} of {symbol}")).with("value", words::amounts(record))
        }
        Some(Typed::Param(p)) => Entry::new(format!("{name} of parameter {}", p.ordinal))
            .with("value", words::value_text(record, symbols))
            .with("word", format!("{:#x}", p.packed)),
        _ => Entry::new(name).with("value", words::value_text(record, symbols)),
    };
    match record.attr().usual_format() {
        Some(Format(usual)) if usual == record.format => entry,
        _ if record.attr() == Attr::PAD => entry,
        _ => entry.with("format", words::format_name(record.format)),
    }
}

pub(crate) fn compat(_: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    records(s, |record| {
        let value = match record.format == Format::SVAL.0 {
            true => words::hex(record.payload),
            false => format!("{:#x}", record.value),
        };
        Entry::new(words::compat_name(record.code))
            .with("value", value)
            .with("format", words::format_name(record.format))
    })
}

pub(crate) fn notes(_: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    note::notes(s.data).map(|note| Some(note_entry(s, &note.ok()?))).collect()
}

fn note_entry(s: &SectionRef<'_>, note: &Note<'_>) -> Entry {
    let text = |bytes: &[u8]| format!("\"{}\"", words::reference(bytes));
    let owner = text(note.owner.strip_suffix(b"\0").unwrap_or(note.owner));
    let tool = (note.kind == NoteType::TKINFO).then(|| ToolInfo::parse(note.desc).ok()).flatten();
    let cuda = (note.kind == NoteType::CUINFO).then(|| CudaInfo::parse(note.desc).ok()).flatten();
    match (tool, cuda) {
        (Some(tool), _) => Entry::new("of a tool")
            .with("owner", owner)
            .with("version", tool.version.to_string())
            .with("object", text(tool.object))
            .with("tool", text(tool.tool))
            .with("release", text(tool.release))
            .with("build", text(tool.build))
            .with("options", text(tool.options)),
        (_, Some(cuda)) => Entry::new(format!("{} of CUDA", words::reference(s.name)))
            .with("owner", owner)
            .with("version", cuda.version.to_string())
            .with("virtual architecture", cuda.virtual_sm.to_string())
            .with("toolkit", words::toolkit(cuda.toolkit.get())),
        _ => Entry::new(format!("{} of type {}", words::reference(s.name), note.kind.0))
            .with("owner", owner)
            .with("content", words::hex(note.desc)),
    }
}

pub(crate) fn call_graph(file: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    let symbols = file.tables.linked(s);
    let edge = |edge: Result<_, _>| {
        let (list, pair): (_, cubin::raw::Pair) = edge.ok()?;
        Some(Entry::new(words::edge(list, pair.first.get(), pair.second.get(), &symbols)))
    };
    callgraph::entries(s.data).ok()?.map(edge).collect()
}

pub(crate) fn prototypes(file: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    let symbols = file.tables.linked(s);
    let entry = |pair: &cubin::raw::Pair| {
        let prototype = symbols.string(pair.second.get()).unwrap_or_default();
        Entry::new(format!("of {}", symbols.name(pair.first.get()))).with("text", prototype)
    };
    Some(callgraph::pairs(s.data).ok()?.iter().map(entry).collect())
}

pub(crate) fn actions(_: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    let actions = RelActions::parse(s.data).ok()?;
    let first = Entry::new("").with("first type", actions.first.to_string());
    let entry = |(i, action)| {
        let kind = actions.first.saturating_add(i as u64);
        let name = words::reloc_kind(RelocKind(u32::try_from(kind).unwrap_or(u32::MAX)));
        Entry::new(format!("for {name}")).with("recipe", format!("{action:?}"))
    };
    Some(std::iter::once(first).chain(actions.actions.iter().enumerate().map(entry)).collect())
}

pub(crate) fn capsule(file: &File<'_, '_>, s: &SectionRef<'_>) -> Option<Vec<Entry>> {
    let capsule = Capsule::parse(s.data).ok()?;
    let head = Entry::new("")
        .with("code section", file.section_name(capsule.text_section))
        .with("header", format!("{:?}", capsule.header))
        .with("instructions", capsule.count.to_string())
        .with("mask", words::hex(capsule.mask))
        .with("tail", words::hex(capsule.tail));
    let item = |(i, item): (usize, &cubin::capsule::Item<'_>)| {
        let (form, content) = match item.form {
            ItemForm::Full(bytes) => ("whole instruction", words::hex(bytes)),
            ItemForm::Short(bytes) => ("short form", words::hex(bytes)),
            ItemForm::Note(bytes) => ("note", words::hex(bytes)),
            ItemForm::Filler(count) => ("filler", count.to_string()),
        };
        Entry::new(format!("item {i}"))
            .with("form", form)
            .with("content", content)
            .with("expands to", item.expands_to.map(|n| n.to_string()).unwrap_or_default())
    };
    Some(std::iter::once(head).chain(capsule.items.iter().enumerate().map(item)).collect())
}
