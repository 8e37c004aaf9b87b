//! What the sections of an input are to the link.

use crate::unified::is_entries;
use cubin::consts::shf;
use cubin::sections::Head;
use cubin::{Cubin, SectionType, SymbolType, half};

/// What a section of an input is to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionClass {
    /// String and symbol tables, Mercury twins: rebuilt or not merged.
    Skip,
    /// Code of the function with this symbol index.
    Text(u32),
    /// `.nv.info`.
    ModuleInfo,
    /// `.nv.info.F` with F's symbol index.
    Info(u32),
    /// `.nv.compat`.
    Compat,
    /// `.note.nv.tkinfo`.
    ToolNote,
    /// `.note.nv.cuinfo` and `.note.nv.cuver`.
    VersionNote,
    /// `.nv.callgraph`.
    CallGraph,
    /// `.nv.prototype`.
    Prototype,
    /// Relocations of the section with this index.
    Reloc(u32),
    /// Constant bank of one function.
    FunctionConstant {
        /// Bank number.
        bank: u8,
        /// Symbol of the owner.
        function: u32,
    },
    /// `.nv.shared.K`, the kernel's own shared memory.
    KernelShared(u32),
    /// `.nv_debug.shared`: shared memory not owned by one kernel.
    CommonShared,
    /// Anything else that belongs to one function (`.nv.local.F`).
    FunctionData(u32),
    /// Data that is concatenated by name.
    Data,
}

/// The classes of all sections, and what else a look at all of them tells.
pub(super) struct Classes {
    pub(super) of: Box<[SectionClass]>,
    /// Whether there are tables of unified functions or variables.
    pub(super) unified: bool,
    /// Whether flags of text sections count barriers.
    pub(super) barriers_in_flags: bool,
}

/// Classifies all sections.
pub(super) fn classify(cubin: &Cubin<'_>) -> Result<Classes, String> {
    let sections = cubin.sections();
    // Compilers start sections at multiples of their alignment, so none is larger
    // than the file (ptxas pads a file to a gigabyte for `.align 1073741824`). What
    // is would make the output grow out of proportion.
    const PAGE: u64 = 4096;
    let most = (cubin.bytes().len() as u64).max(PAGE);
    let mut of = Vec::with_capacity(sections.len());
    let (mut unified, mut barriers_in_flags, mut owned) = (false, false, false);
    for section in sections.heads() {
        if section.align > most {
            return Err(format!("alignment {:#x} of section {}", section.align, section.index.0));
        }
        unified |= is_entries(section.kind);
        barriers_in_flags |=
            section.flags & shf::EXECINSTR != 0 && section.flags & shf::BARRIERS_MASK != 0;
        let class = classify_alone(cubin, &section)?;
        owned |= class == SectionClass::Data && is_owned(section.flags);
        of.push(class);
    }
    if owned {
        find_owners(cubin, &mut of);
    }
    Ok(Classes { of: of.into(), unified, barriers_in_flags })
}

/// Whether the section belongs to another, as a rule to code.
fn is_owned(flags: u64) -> bool {
    flags & shf::INFO_LINK != 0
}

/// Second round: sections that belong to the function of a text section.
fn find_owners(cubin: &Cubin<'_>, classes: &mut [SectionClass]) {
    for i in 0..classes.len() {
        if classes[i] != SectionClass::Data {
            continue;
        }
        let Some(section) = cubin.section(i as u32).filter(|s| is_owned(s.flags)) else { continue };
        let Some(&SectionClass::Text(function)) = classes.get(section.info as usize) else {
            continue;
        };
        classes[i] = match section.kind {
            SectionType::CUDA_INFO => SectionClass::Info(function),
            SectionType::CUDA_SHARED => SectionClass::KernelShared(function),
            kind => match constant_bank(section.name, kind) {
                Some(bank) => SectionClass::FunctionConstant { bank, function },
                None => SectionClass::FunctionData(function),
            },
        };
    }
}

/// The class of a section by its header alone.
fn classify_alone(cubin: &Cubin<'_>, section: &Head) -> Result<SectionClass, String> {
    if section.flags & shf::MERCURY != 0 {
        return Ok(SectionClass::Skip);
    }
    Ok(match section.kind {
        SectionType::NULL
        | SectionType::SYMTAB
        | SectionType::STRTAB
        | SectionType::SYMTAB_SHNDX
        | SectionType::CUDA_RELOCINFO
        | SectionType::CUDA_RESOLVED_RELA => SectionClass::Skip,
        SectionType::REL | SectionType::RELA => {
            if section.info as usize >= cubin.sections().len() {
                return Err(format!("sh_info of relocation section {}", section.index.0));
            }
            SectionClass::Reloc(section.info)
        }
        SectionType::NOTE if is_tool_note(cubin, section) => SectionClass::ToolNote,
        SectionType::NOTE => SectionClass::VersionNote,
        SectionType::CUDA_COMPAT_INFO => SectionClass::Compat,
        SectionType::CUDA_CALLGRAPH => SectionClass::CallGraph,
        SectionType::CUDA_PROTOTYPE => SectionClass::Prototype,
        SectionType::CUDA_INFO if section.flags & shf::INFO_LINK == 0 => SectionClass::ModuleInfo,
        SectionType::CUDA_SHARED if section.flags & shf::INFO_LINK == 0 => {
            SectionClass::CommonShared
        }
        SectionType::PROGBITS | SectionType::CUDA_UFT if section.flags & shf::EXECINSTR != 0 => {
            SectionClass::Text(text_owner(cubin, section)?)
        }
        _ => SectionClass::Data,
    })
}

fn is_tool_note(cubin: &Cubin<'_>, head: &Head) -> bool {
    cubin.section(head.index.0).is_some_and(|section| section.name == b".note.nv.tkinfo")
}

/// `sh_info` of a text section names its function's symbol in the low 24 bits.
fn text_owner(cubin: &Cubin<'_>, section: &Head) -> Result<u32, String> {
    let symbol = section.info & 0x00ff_ffff;
    let is_function = cubin.symbol_kind(symbol) == Some(SymbolType::FUNC);
    match cubin.symbol_section(symbol) {
        Some(at) if is_function && at == section.index.0 => Ok(symbol),
        _ => Err(format!("text section {} names no function of its own", section.index.0)),
    }
}

/// The bank of a constant section, by type or by name.
pub fn constant_bank(name: &[u8], kind: SectionType) -> Option<u8> {
    if let Some(bank) = kind.constant_bank() {
        return u8::try_from(bank).ok();
    }
    if let Some((bank, _)) = half::mercury_bank(name) {
        return Some(bank);
    }
    let digits = name.strip_prefix(b".nv.constant")?;
    let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}
