//! Words for numbers: one place, so that text and JSON agree.

use crate::demangle::demangle;
use cubin::classify::{NamedBank, NoteClass, SectionClass, Space, SymbolClass};
use cubin::consts::{Binding, FileType, SectionType, SymbolType, shn};
use cubin::flags::CodeState;
use cubin::{Cubin, SymbolRef, SymbolTable};
use std::borrow::Cow;

/// Names in references are cut here: a short entry may refer to a name as
/// long as the file.
const LONGEST_REFERENCE: usize = 4096;

pub(super) fn lossy(name: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(name)
}

/// A name for a place that refers to it.
pub(super) fn reference(name: &[u8]) -> Cow<'_, str> {
    match name.get(..LONGEST_REFERENCE) {
        Some(start) if start.len() < name.len() => Cow::Owned(format!("{}…", lossy(start))),
        _ => lossy(name),
    }
}

/// The symbol's name; a nameless section symbol has that of its section.
pub(super) fn symbol_name<'a>(cubin: &Cubin<'a>, symbol: &SymbolRef<'a>) -> &'a [u8] {
    match cubin.section(symbol.shndx) {
        Some(s) if symbol.name.is_empty() && symbol.kind() == SymbolType::SECTION => s.name,
        _ => symbol.name,
    }
}

pub(super) fn symbol_reference<'a>(
    cubin: &Cubin<'a>,
    table: Option<&SymbolTable<'a>>,
    index: u32,
) -> Option<Cow<'a, str>> {
    let symbol = table?.get(index)?;
    Some(reference(symbol_name(cubin, &symbol)))
}

pub(super) fn demangled(name: &[u8]) -> Option<String> {
    if name.len() > LONGEST_REFERENCE {
        return None;
    }
    demangle(std::str::from_utf8(name).ok()?)
}

pub(super) fn section_type(kind: SectionType) -> String {
    match (kind.name(), kind.constant_bank()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(bank)) => format!("CUDA_CONSTANT_B{bank}"),
        (None, None) => format!("{:#x}", kind.0),
    }
}

pub(super) fn file_type(kind: FileType) -> String {
    kind.name().map_or_else(|| format!("{:#x}", kind.0), str::to_owned)
}

pub(super) fn symbol_type(kind: SymbolType) -> String {
    kind.name().map_or_else(|| kind.0.to_string(), str::to_owned)
}

pub(super) fn binding(kind: Binding) -> String {
    kind.name().map_or_else(|| kind.0.to_string(), str::to_owned)
}

pub(super) fn reserved_section(index: u32) -> String {
    match index {
        shn::ABS => "ABS".to_owned(),
        shn::COMMON => "COMMON".to_owned(),
        _ => format!("{index:#x}"),
    }
}

pub(super) fn state(state: CodeState) -> &'static str {
    match state {
        CodeState::Sass => "SASS",
        CodeState::CapsuleMercury => "SASS with Mercury capsules",
        CodeState::Mercury => "Mercury",
    }
}

pub(super) fn reloc_type(kind: u32) -> String {
    cubin::reloc::by_number(kind).map_or_else(|| format!("{kind:#x}"), |t| t.name.to_owned())
}

/// Toolkit 130 is CUDA 13.0.
pub(super) fn toolkit(number: u32) -> String {
    format!("{}.{}", number / 10, number % 10)
}

pub(super) fn section_class(class: SectionClass<'_>) -> &'static str {
    match class {
        SectionClass::Null => "null",
        SectionClass::Strings => "strings",
        SectionClass::Symbols => "symbols",
        SectionClass::SymbolIndices => "symbol-indices",
        SectionClass::Text(_) => "text",
        SectionClass::Constant { .. } => "constant",
        SectionClass::NamedConstant { bank, .. } => match bank {
            NamedBank::EntryParams => "constant-entry-params",
            NamedBank::EntryImageHeaderIndices => "constant-image-headers",
            NamedBank::Driver => "constant-driver",
            NamedBank::Optimizer => "constant-optimizer",
            NamedBank::User => "constant-user",
            NamedBank::Pic => "constant-pic",
            NamedBank::ToolsData => "constant-tools",
        },
        SectionClass::Global => "global",
        SectionClass::GlobalInit => "global-init",
        SectionClass::Local(_) => "local",
        SectionClass::Shared(_) => "shared",
        SectionClass::ReservedShared => "reserved-shared",
        SectionClass::Info(_) => "info",
        SectionClass::CallGraph => "callgraph",
        SectionClass::Prototype => "prototype",
        SectionClass::RelAction => "rel-action",
        SectionClass::ResolvedRela => "resolved-relocations",
        SectionClass::Relocations { .. } => "relocations",
        SectionClass::FunctionTable => "function-table",
        SectionClass::FunctionTableEntries => "function-table-entries",
        SectionClass::DataTable => "data-table",
        SectionClass::DataTableEntries => "data-table-entries",
        SectionClass::TableIndex => "table-index",
        SectionClass::Metadata => "metadata",
        SectionClass::Host => "host",
        SectionClass::Compat => "compat",
        SectionClass::Note(NoteClass::ToolInfo) => "note-tool",
        SectionClass::Note(NoteClass::CudaInfo) => "note-cuda",
        SectionClass::Note(NoteClass::CudaVersion) => "note-cuda-version",
        SectionClass::Note(NoteClass::Other) => "note",
        SectionClass::Debug => "debug",
        SectionClass::Capsule(_) => "capsule",
        SectionClass::Other => "other",
    }
}

pub(super) fn symbol_class(class: SymbolClass) -> String {
    match class {
        SymbolClass::Null => "null",
        SymbolClass::Section => "section",
        SymbolClass::Kernel => "kernel",
        SymbolClass::Function => "function",
        SymbolClass::Data(Space::Global) => "global",
        SymbolClass::Data(Space::Shared) => "shared",
        SymbolClass::Data(Space::Local) => "local",
        SymbolClass::Data(Space::Constant(bank)) => return format!("constant{bank}"),
        SymbolClass::Data(Space::ReservedShared) => "reserved-shared",
        SymbolClass::Data(Space::Unknown) => "data",
        SymbolClass::Managed => "managed",
        SymbolClass::Common => "common",
        SymbolClass::Texture => "texture",
        SymbolClass::Sampler => "sampler",
        SymbolClass::Surface => "surface",
        SymbolClass::UndefinedFunction => "undefined function",
        SymbolClass::Undefined => "undefined",
        SymbolClass::Other => "other",
    }
    .to_owned()
}
