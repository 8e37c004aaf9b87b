//! Names of sections and symbols with a meaning for compilers, linkers and the driver.
//!
//! Constants are byte strings and can be used as patterns. Complete names are in this module
//! ([`INFO`] is `.nv.info`), prefixes of the name of a function or of another section in [`prefix`]
//! ([`prefix::INFO`] is `.nv.info.`), names of symbols in [`symbol`].

macro_rules! names {
    ($($name:ident = $value:literal $(: $doc:literal)?,)*) => {
        $(
            #[doc = concat!("`", $value, "`", $(": ", $doc)?)]
            pub const $name: &[u8] = $value.as_bytes();
        )*
    };
}

names! {
    SHSTRTAB = ".shstrtab",
    STRTAB = ".strtab",
    SYMTAB = ".symtab",
    SYMTAB_SHNDX = ".symtab_shndx",
    NOTE_TKINFO = ".note.nv.tkinfo": "the tools that wrote the file",
    NOTE_CUINFO = ".note.nv.cuinfo": "toolkit and virtual architecture",
    NOTE_CUVER = ".note.nv.cuver": "the same from CUDA 12.8 and 12.9, without the toolkit",
    INFO = ".nv.info": "attributes of the whole file",
    COMPAT = ".nv.compat": "other targets that the code can run on",
    CALLGRAPH = ".nv.callgraph",
    PROTOTYPE = ".nv.prototype": "functions and their prototypes",
    REL_ACTION = ".nv.rel.action": "relocation types that drivers may not know",
    HOST = ".nv.host": "a file embedded by the linker on request",
    GLOBAL = ".nv.global",
    GLOBAL_INIT = ".nv.global.init",
    DEBUG_SHARED = ".nv_debug.shared": "shared memory that belongs to no single kernel",
    RESERVED_SHARED = ".nv.shared.reserved.0": "shared memory that the system reserves",
    UFT = ".nv.uft": "stubs of unified functions",
    UFT_ENTRY = ".nv.uft.entry",
    UFT_INFO = ".nv.info..nv.uft": "attributes of the stubs",
    UDT = ".nv.udt": "unified variables",
    UDT_ENTRY = ".nv.udt.entry",
    UIDX = ".nv.uidx": "the index of unified functions and variables",
    CONSTANT_USER = ".nv.constant3": "constants that the program declares",
    MERCURY_CONSTANT_USER = ".nv.constant.user": "the same in the Mercury half of a file",
    MERCURY_CONSTANT_PIC = ".nv.constant.pic": "addresses that Mercury code loads from a bank",
    MERCURY_SYMTAB = ".nv.merc.symtab": "the symbol table of the Mercury half",
    MERCURY_SYMTAB_SHNDX = ".nv.merc.symtab_shndx",
    DEBUG_FRAME = ".debug_frame",
    DEBUG_INFO = ".debug_info",
    DEBUG_LINE = ".debug_line",
    REL_DEBUG_LINE = ".rel.debug_line",
    RELA_DEBUG_LINE = ".rela.debug_line",
    NV_DEBUG_LINE_SASS = ".nv_debug_line_sass": "PTX lines by machine-code offset",
    NV_DEBUG_INFO_REG_SASS = ".nv_debug_info_reg_sass": "registers by machine-code offset",
}

/// Prefixes of section names, followed by the name of a function or of another section.
pub mod prefix {
    names! {
        TEXT = ".text.": "code of a function",
        INFO = ".nv.info.": "attributes of a function",
        SHARED = ".nv.shared.": "shared memory of a kernel",
        RESERVED_SHARED = ".nv.shared.reserved.": "shared memory that the system reserves",
        LOCAL = ".nv.local.": "local memory of a function",
        CONSTANT = ".nv.constant": "a constant bank by number",
        MERCURY_CONSTANT = ".nv.constant.": "a constant bank of Mercury code, by name",
        CONSTANT0 = ".nv.constant0.": "parameters of a kernel",
        CONSTANT2 = ".nv.constant2.": "compiler-generated constants of a function",
        MERCURY_CONSTANT_OPTIMIZER = ".nv.constant.optimizer.": "the same in the Mercury half",
        MERCURY_CONSTANT_IMAGE_HEADERS = ".nv.constant.entry_image_header_indices.":
            "texture, sampler and surface handles of a kernel, in the Mercury half",
        REL = ".rel": "relocations of a section",
        RELA = ".rela": "relocations of a section, with addends",
        REL_TEXT = ".rel.text.",
        RELA_TEXT = ".rela.text.",
        REL_CONSTANT0 = ".rel.nv.constant0.",
        RELA_CONSTANT0 = ".rela.nv.constant0.",
        RESOLVED_RELA = ".nv.resolvedrela": "relocations of a section that the linker applied",
        UFT_REL = ".nv.uft.rel": "stubs of unified functions in an object",
        CAPSULE = ".nv.capmerc": "the Mercury code of a text section",
        CAPSULE_TEXT = ".nv.capmerc.text.": "the Mercury code of a function",
        MERCURY = ".nv.merc": "any other section of the Mercury half",
        DEBUG = ".debug_": "DWARF",
        NV_DEBUG = ".nv_debug_": "NVIDIA's own debug tables",
        NV = ".nv.": "sections and symbols reserved for NVIDIA's tools",
    }
}

/// Names of symbols.
pub mod symbol {
    names! {
        RESERVED_SHARED_PREFIX = ".nv.reservedSmem.": "of shared memory that the system reserves",
        RESERVED_SHARED_CAP = ".nv.reservedSmem.cap": "its end",
        UFT_PREFIX = "__UFT": "of the table of unified functions",
        UDT_PREFIX = "__UDT": "of the table of unified variables",
    }

    /// Whether the symbol refers to the table of unified functions.
    #[inline]
    pub fn is_of_function_table(name: &[u8]) -> bool {
        name.starts_with(UFT_PREFIX)
    }

    /// Whether the symbol refers to the table of unified functions or variables.
    #[inline]
    pub fn is_of_unified_table(name: &[u8]) -> bool {
        is_of_function_table(name) || name.starts_with(UDT_PREFIX)
    }

    /// Whether the system defines the symbol: reserved shared memory, sizes of texture descriptors.
    /// Inputs need not define it.
    #[inline]
    pub fn is_system(name: &[u8]) -> bool {
        name.starts_with(super::prefix::NV)
    }

    /// Whether the symbol is in the shared memory that the system reserves.
    #[inline]
    pub fn is_reserved_shared(name: &[u8]) -> bool {
        name.starts_with(RESERVED_SHARED_PREFIX)
    }
}

/// Whether the section holds the constants that the program declares, in either half.
#[inline]
pub fn is_user_constants(name: &[u8]) -> bool {
    matches!(name, CONSTANT_USER | MERCURY_CONSTANT_USER)
}

/// Whether the section is a debug table (`.nv_debug.shared` is not).
#[inline]
pub fn is_debug(name: &[u8]) -> bool {
    name.starts_with(prefix::DEBUG) || name.starts_with(prefix::NV_DEBUG)
}

/// The name without the prefix that sections of the Mercury half have.
#[inline]
pub fn without_mercury_prefix(name: &[u8]) -> &[u8] {
    let capsule = name.strip_prefix(prefix::CAPSULE);
    capsule.or_else(|| name.strip_prefix(prefix::MERCURY)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_mercury_half_lose_their_prefix() {
        assert_eq!(without_mercury_prefix(b".nv.capmerc.text.f"), b".text.f");
        assert_eq!(without_mercury_prefix(b".nv.merc.rela.text.f"), b".rela.text.f");
        assert_eq!(without_mercury_prefix(MERCURY_SYMTAB), SYMTAB);
        assert_eq!(without_mercury_prefix(MERCURY_SYMTAB_SHNDX), SYMTAB_SHNDX);
        assert_eq!(without_mercury_prefix(GLOBAL), GLOBAL);
    }

    #[test]
    fn joined_prefixes_are_those_of_their_parts() {
        for (joined, first, second) in [
            (prefix::REL_TEXT, prefix::REL, prefix::TEXT),
            (prefix::RELA_TEXT, prefix::RELA, prefix::TEXT),
            (prefix::REL_CONSTANT0, prefix::REL, prefix::CONSTANT0),
            (prefix::RELA_CONSTANT0, prefix::RELA, prefix::CONSTANT0),
            (prefix::CAPSULE_TEXT, prefix::CAPSULE, prefix::TEXT),
            (REL_DEBUG_LINE, prefix::REL, DEBUG_LINE),
            (RELA_DEBUG_LINE, prefix::RELA, DEBUG_LINE),
            (UFT_INFO, prefix::INFO, UFT),
        ] {
            assert_eq!(joined, [first, second].concat());
        }
    }

    #[test]
    fn symbols_and_sections_are_told_by_name() {
        assert!(symbol::is_of_unified_table(b"__UDT_CANONICAL"));
        assert!(!symbol::is_of_function_table(b"__UDT_CANONICAL"));
        assert!(symbol::is_of_function_table(b"__UFT_OFFSET"));
        assert!(is_debug(b".nv_debug_ptx_txt") && is_debug(DEBUG_INFO) && !is_debug(DEBUG_SHARED));
        assert!(is_user_constants(b".nv.constant3") && !is_user_constants(b".nv.constant3.f"));
    }
}
