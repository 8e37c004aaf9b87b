//! The purpose of sections and symbols, derived from their names and types.

use crate::bank::{self, Bank};
use crate::consts::{SectionType, SymbolType, shf, sto};
use crate::entries::{SectionRef, SymbolRef};
use crate::names::{self, prefix};
use crate::read::Cubin;

pub use crate::bank::NamedBank;

/// The purpose of a section, with the name of the function it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SectionClass<'a> {
    Null,
    /// `.shstrtab` or `.strtab`.
    Strings,
    /// `.symtab`.
    Symbols,
    /// `.symtab_shndx`.
    SymbolIndices,
    /// `.text.<function>`.
    Text(&'a [u8]),
    /// `.nv.constant<N>[.<function>]`.
    Constant {
        /// The bank, 0-17.
        bank: u8,
        /// Owning function; `None` for the module.
        function: Option<&'a [u8]>,
    },
    /// `.nv.constant.<bank name>[.<function>]`, a Mercury bank.
    NamedConstant {
        bank: NamedBank,
        /// Owning function; `None` for the module.
        function: Option<&'a [u8]>,
    },
    /// `.nv.global`.
    Global,
    /// `.nv.global.init`.
    GlobalInit,
    /// `.nv.local.<function>`.
    Local(&'a [u8]),
    /// `.nv.shared.<function>`, or `.nv_debug.shared` (empty name).
    Shared(&'a [u8]),
    /// `.nv.shared.reserved.<id>`.
    ReservedShared,
    /// `.nv.info[.<function>]`.
    Info(Option<&'a [u8]>),
    /// `.nv.callgraph`.
    CallGraph,
    /// `.nv.prototype`.
    Prototype,
    /// `.nv.rel.action`.
    RelAction,
    /// `.nv.resolvedrela*`.
    ResolvedRela,
    /// Relocations, with the target section's index.
    Relocations {
        target: u32,
    },
    /// `.nv.uft`, `.nv.uft.rel*`.
    FunctionTable,
    /// `.nv.uft.entry`.
    FunctionTableEntries,
    /// `.nv.udt`.
    DataTable,
    /// `.nv.udt.entry`.
    DataTableEntries,
    /// `.nv.uidx`.
    TableIndex,
    /// `.nv.metadata`.
    Metadata,
    /// `.nv.host`.
    Host,
    /// `.nv.compat`.
    Compat,
    Note(NoteClass),
    /// `.debug_*`, `.nv_debug_*`.
    Debug,
    /// `.nv.capmerc.text.<function>`.
    Capsule(&'a [u8]),
    Other,
}

/// The notes by section name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteClass {
    ToolInfo,
    CudaInfo,
    CudaVersion,
    Other,
}

/// A section's class, and whether it belongs to the Mercury half of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Classified<'a> {
    pub class: SectionClass<'a>,
    /// Whether it belongs to the Mercury half.
    pub mercury: bool,
}

/// Classifies a section.
pub fn section<'a>(s: &SectionRef<'a>) -> Classified<'a> {
    let mercury = s.flags & shf::MERCURY != 0 || s.kind == SectionType::CUDA_CAPMERC;
    let counterpart = s.name.strip_prefix(prefix::MERCURY);
    let name = match counterpart {
        Some(rest) if rest.starts_with(b".") => rest,
        _ => s.name,
    };
    let class = by_type(s, name).unwrap_or_else(|| by_name(name));
    Classified { class, mercury: mercury || counterpart.is_some() }
}

/// The class of a section whose type determines it.
fn by_type<'a>(s: &SectionRef<'a>, name: &'a [u8]) -> Option<SectionClass<'a>> {
    Some(match s.kind {
        SectionType::NULL => SectionClass::Null,
        SectionType::STRTAB => SectionClass::Strings,
        SectionType::SYMTAB | SectionType::CUDA_MERCURY_SYMTAB => SectionClass::Symbols,
        SectionType::SYMTAB_SHNDX => SectionClass::SymbolIndices,
        SectionType::RELA | SectionType::REL | SectionType::CUDA_MERCURY_RELA => {
            SectionClass::Relocations { target: s.info }
        }
        SectionType::CUDA_RESOLVED_RELA | SectionType::CUDA_MERCURY_RESOLVED_RELA => {
            SectionClass::ResolvedRela
        }
        SectionType::CUDA_INFO | SectionType::CUDA_MERCURY_INFO => {
            SectionClass::Info(name.strip_prefix(prefix::INFO))
        }
        SectionType::CUDA_CALLGRAPH | SectionType::CUDA_MERCURY_CALLGRAPH => {
            SectionClass::CallGraph
        }
        SectionType::CUDA_PROTOTYPE | SectionType::CUDA_MERCURY_PROTOTYPE => {
            SectionClass::Prototype
        }
        SectionType::CUDA_METADATA => SectionClass::Metadata,
        SectionType::CUDA_GLOBAL => SectionClass::Global,
        SectionType::CUDA_GLOBAL_INIT => SectionClass::GlobalInit,
        SectionType::CUDA_RELOCINFO => SectionClass::RelAction,
        SectionType::CUDA_UFT => SectionClass::FunctionTable,
        SectionType::CUDA_UFT_INDEX => SectionClass::TableIndex,
        SectionType::CUDA_UFT_ENTRY => SectionClass::FunctionTableEntries,
        SectionType::CUDA_UDT => SectionClass::DataTable,
        SectionType::CUDA_UDT_ENTRY => SectionClass::DataTableEntries,
        SectionType::CUDA_RESERVED_SHARED => SectionClass::ReservedShared,
        SectionType::CUDA_COMPAT_INFO => SectionClass::Compat,
        SectionType::CUDA_HOST => SectionClass::Host,
        SectionType::NOTE => SectionClass::Note(match name {
            names::NOTE_TKINFO => NoteClass::ToolInfo,
            names::NOTE_CUINFO => NoteClass::CudaInfo,
            names::NOTE_CUVER => NoteClass::CudaVersion,
            _ => NoteClass::Other,
        }),
        _ => return None,
    })
}

/// The class of other sections: those of executables are plain PROGBITS and NOBITS.
fn by_name(name: &[u8]) -> SectionClass<'_> {
    let after = |prefix: &[u8]| name.strip_prefix(prefix);
    if let Some(function) = after(prefix::TEXT) {
        return SectionClass::Text(function);
    }
    if let Some(function) = after(prefix::CAPSULE_TEXT) {
        return SectionClass::Capsule(function);
    }
    if name.starts_with(prefix::CONSTANT) {
        return constant(name);
    }
    if after(prefix::RESERVED_SHARED).is_some() {
        return SectionClass::ReservedShared;
    }
    if let Some(function) = after(prefix::SHARED) {
        return SectionClass::Shared(function);
    }
    if let Some(function) = after(prefix::LOCAL) {
        return SectionClass::Local(function);
    }
    match name {
        names::GLOBAL => SectionClass::Global,
        names::GLOBAL_INIT => SectionClass::GlobalInit,
        names::DEBUG_SHARED => SectionClass::Shared(b""),
        names::UFT_ENTRY => SectionClass::FunctionTableEntries,
        names::UDT_ENTRY => SectionClass::DataTableEntries,
        names::UFT => SectionClass::FunctionTable,
        names::UDT => SectionClass::DataTable,
        names::UIDX => SectionClass::TableIndex,
        _ if after(prefix::UFT_REL).is_some() => SectionClass::FunctionTable,
        _ if names::is_debug(name) => SectionClass::Debug,
        _ => SectionClass::Other,
    }
}

fn constant(name: &[u8]) -> SectionClass<'_> {
    match bank::parse(name) {
        Some((Bank::Numbered(bank), function)) => SectionClass::Constant { bank, function },
        Some((Bank::Named(bank), function)) => SectionClass::NamedConstant { bank, function },
        None => SectionClass::Other,
    }
}

/// The memory space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    Global,
    Shared,
    Local,
    Constant(u8),
    ReservedShared,
    /// Its section implies no space.
    Unknown,
}

/// The purpose of a symbol. [`same-named-statics`, `static-and-visible`]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolClass {
    /// Index 0, or a nameless symbol without a type.
    Null,
    Section,
    /// A kernel defined here.
    Kernel,
    /// A device function defined here.
    Function,
    /// A variable defined here.
    Data(Space),
    /// A managed variable defined here.
    Managed,
    /// A variable that the linker allocates.
    Common,
    Texture,
    Sampler,
    Surface,
    /// A function defined elsewhere.
    UndefinedFunction,
    /// Something else defined elsewhere.
    Undefined,
    /// None of these: labels, file names.
    Other,
}

/// Classifies a symbol of `cubin`.
pub fn symbol(cubin: &Cubin<'_>, s: &SymbolRef<'_>) -> SymbolClass {
    let data = || match s.other & sto::MANAGED {
        0 => SymbolClass::Data(space(cubin, s)),
        _ => SymbolClass::Managed,
    };
    match s.kind() {
        SymbolType::SECTION => SymbolClass::Section,
        SymbolType::CUDA_TEXTURE => SymbolClass::Texture,
        SymbolType::CUDA_SAMPLER => SymbolClass::Sampler,
        SymbolType::CUDA_SURFACE => SymbolClass::Surface,
        _ if s.is_common() => SymbolClass::Common,
        SymbolType::FUNC if s.is_undefined() => SymbolClass::UndefinedFunction,
        SymbolType::FUNC if s.other & sto::ENTRY != 0 => SymbolClass::Kernel,
        SymbolType::FUNC => SymbolClass::Function,
        SymbolType::NOTYPE if s.name.is_empty() => SymbolClass::Null,
        _ if s.is_undefined() => SymbolClass::Undefined,
        SymbolType::OBJECT | SymbolType::CUDA_OBJECT => data(),
        SymbolType::NOTYPE if s.other & sto::SPACE != 0 => data(),
        _ => SymbolClass::Other,
    }
}

/// In objects, `st_other` gives the space; in executables, only the section does.
fn space(cubin: &Cubin<'_>, s: &SymbolRef<'_>) -> Space {
    let class = match s.reserved {
        true => None,
        false => cubin.section(s.shndx).map(|section| self::section(&section).class),
    };
    let bank = match class {
        Some(SectionClass::Constant { bank, .. }) => bank,
        Some(SectionClass::NamedConstant { bank: NamedBank::User, .. }) => bank::USER,
        _ => 0,
    };
    match (s.other & sto::SPACE, class) {
        (sto::CONSTANT, _) => Space::Constant(bank),
        (sto::SHARED, _) => Space::Shared,
        (sto::LOCAL, _) => Space::Local,
        (sto::GLOBAL, _) => Space::Global,
        (sto::RESERVED_SHARED, _) => Space::ReservedShared,
        (_, Some(SectionClass::Constant { .. } | SectionClass::NamedConstant { .. })) => {
            Space::Constant(bank)
        }
        (_, Some(SectionClass::Global | SectionClass::GlobalInit)) => Space::Global,
        (_, Some(SectionClass::Shared(_))) => Space::Shared,
        (_, Some(SectionClass::ReservedShared)) => Space::ReservedShared,
        (_, Some(SectionClass::Local(_))) => Space::Local,
        _ => Space::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_banks() {
        let bank = |bank, function| SectionClass::Constant { bank, function };
        assert_eq!(by_name(b".nv.constant3"), bank(3, None));
        assert_eq!(by_name(b".nv.constant17.f"), bank(17, Some(b"f".as_slice())));
        assert_eq!(by_name(b".nv.constant18"), SectionClass::Other);
        assert_eq!(by_name(b".nv.constantX"), SectionClass::Other);
        assert_eq!(
            by_name(b".nv.constant.user"),
            SectionClass::NamedConstant { bank: NamedBank::User, function: None }
        );
        assert_eq!(by_name(b".nv.constant.userX"), SectionClass::Other);
    }

    #[test]
    fn names_with_functions() {
        assert_eq!(by_name(b".text.k.v2"), SectionClass::Text(b"k.v2"));
        assert_eq!(by_name(b".nv.shared.reserved.0"), SectionClass::ReservedShared);
        assert_eq!(by_name(b".nv.shared.k"), SectionClass::Shared(b"k"));
        assert_eq!(by_name(b".nv_debug_ptx_txt"), SectionClass::Debug);
        assert_eq!(by_name(b".nv_debug.shared"), SectionClass::Shared(b""));
    }
}
