//! Words for numbers, and for names.

use cubin::SegmentType;
use cubin::classify::{NamedBank, NoteClass, SectionClass, Space, SymbolClass};
pub(super) use cubin::words::{
    LONGEST_REFERENCE, binding, file_type, lossy, reference, reloc_kind, reserved_section,
    section_type, state, symbol_reference, symbol_type, toolkit,
};
use libwarpld::driver::demangle;

pub(super) fn demangled(name: &[u8]) -> Option<String> {
    if name.len() > LONGEST_REFERENCE {
        return None;
    }
    demangle(std::str::from_utf8(name).ok()?)
}

pub(super) fn segment_type(kind: SegmentType) -> String {
    kind.name().map_or_else(|| format!("{:#x}", kind.0), str::to_owned)
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
