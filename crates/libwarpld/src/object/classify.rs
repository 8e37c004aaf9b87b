//! The roles of an input's sections in the link.

use super::MergeClass;
use super::lists::Lists;
use super::sections::Extent;
use cubin::consts::{shf, text_info};
use cubin::names;
use cubin::{Cubin, SectionRef, SectionType, SymbolType, bank};
use smallvec::SmallVec;

/// Results of scanning all sections, besides their classes.
#[derive(Default)]
pub(super) struct Found<'a> {
    /// Whether there are tables of unified functions or variables.
    pub(super) unified: bool,
    /// Whether flags of text sections count barriers.
    pub(super) barriers_in_flags: bool,
    /// Whether there is a function's bank 2.
    pub(super) bank2: bool,
    /// Sections about the whole input, with their indices and bytes.
    pub(super) tables: SmallVec<[(MergeClass, u32, &'a [u8]); 6]>,
    /// Sections whose classes depend on their names.
    pub(super) by_name: SmallVec<[u32; 6]>,
    /// The largest alignment.
    pub(super) most_aligned: u64,
}

/// Classifies all sections.
pub(super) fn classify<'a>(cubin: &Cubin<'a>, lists: &mut Lists) -> Result<Found<'a>, String> {
    let most = most_alignment(cubin);
    let mut found = Found::default();
    match cubin.sections().plain_unnamed() {
        Some(mut sections) => {
            sections.try_for_each(|section| found.add(cubin, section, most, lists))
        }
        None => cubin
            .sections()
            .iter_unnamed()
            .try_for_each(|section| found.add_unusual(cubin, &section, most, lists)),
    }?;
    Ok(found)
}

/// Compilers start sections at multiples of their alignment, so no alignment is larger than the
/// file (ptxas pads a file to a gigabyte for `.align 1073741824`). A larger one would make the
/// output grow out of proportion.
pub(super) fn most_alignment(cubin: &Cubin<'_>) -> u64 {
    const PAGE: u64 = 4096;
    (cubin.bytes().len() as u64).max(PAGE)
}

impl<'a> Found<'a> {
    /// Takes the next section. It is never put together in memory where this is expanded.
    #[inline(always)]
    fn add(
        &mut self,
        cubin: &Cubin<'_>,
        section: SectionRef<'a>,
        most: u64,
        lists: &mut Lists,
    ) -> Result<(), String> {
        use MergeClass::{CallGraph, Compat, ModuleInfo, Prototype, VersionNote};
        if section.align > most {
            return Err(too_aligned(section.index.0, section.align));
        }
        self.most_aligned = self.most_aligned.max(section.align);
        self.unified |= section.kind.is_unified_entries();
        self.barriers_in_flags |=
            section.flags & shf::EXECINSTR != 0 && section.flags & shf::BARRIERS_MASK != 0;
        let class = classify_one(cubin, &section)?;
        match class {
            MergeClass::FunctionConstant { bank: 2, .. } => self.bank2 = true,
            CallGraph | Compat | Prototype | ModuleInfo | VersionNote => {
                self.tables.push((class, section.index.0, section.data));
            }
            _ => {}
        }
        if is_told_by_name(section.kind, class) {
            self.by_name.push(section.index.0);
        }
        lists.classes.push(class);
        lists.extents.push(Extent::new(&section, &mut lists.shapes));
        Ok(())
    }

    /// The same for a small file, or for the Mercury half.
    #[inline(never)]
    fn add_unusual(
        &mut self,
        cubin: &Cubin<'_>,
        section: &SectionRef<'a>,
        most: u64,
        lists: &mut Lists,
    ) -> Result<(), String> {
        self.add(cubin, *section, most, lists)
    }
}

#[cold]
fn too_aligned(section: u32, align: u64) -> String {
    format!("alignment {align:#x} of section {section}")
}

/// The function's symbol that owns a section of these classes, if one does.
pub(super) fn owner(classes: &[MergeClass], section: u32) -> Option<u32> {
    match *classes.get(section as usize)? {
        MergeClass::Text(f)
        | MergeClass::KernelShared(f)
        | MergeClass::FunctionData(f)
        | MergeClass::FunctionConstant { function: f, .. }
        | MergeClass::Info(f) => Some(f),
        MergeClass::Reloc(target) => match classes.get(target as usize)? {
            MergeClass::Reloc(_) => None,
            _ => owner(classes, target),
        },
        _ => None,
    }
}

/// The class of the section with this index, if it can have one.
pub(super) fn class_of(cubin: &Cubin<'_>, index: u32) -> Option<MergeClass> {
    classify_one(cubin, &cubin.unnamed_section(index)?).ok()
}

/// The class of a section.
#[inline(always)]
fn classify_one(cubin: &Cubin<'_>, section: &SectionRef<'_>) -> Result<MergeClass, String> {
    if section.flags & shf::MERCURY != 0 {
        return Ok(MergeClass::Skip);
    }
    Ok(match section.kind {
        SectionType::NULL
        | SectionType::SYMTAB
        | SectionType::STRTAB
        | SectionType::SYMTAB_SHNDX
        | SectionType::CUDA_RELOCINFO
        | SectionType::CUDA_RESOLVED_RELA => MergeClass::Skip,
        SectionType::REL | SectionType::RELA => {
            if section.info as usize >= cubin.sections().len() {
                return Err(format!("sh_info of relocation section {}", section.index.0));
            }
            MergeClass::Reloc(section.info)
        }
        SectionType::NOTE if is_tool_note(cubin, section) => MergeClass::ToolNote,
        SectionType::NOTE => MergeClass::VersionNote,
        SectionType::CUDA_COMPAT_INFO => MergeClass::Compat,
        SectionType::CUDA_CALLGRAPH => MergeClass::CallGraph,
        SectionType::CUDA_PROTOTYPE => MergeClass::Prototype,
        SectionType::CUDA_INFO if !is_owned(section.info) => MergeClass::ModuleInfo,
        SectionType::CUDA_SHARED if !is_owned(section.info) => MergeClass::CommonShared,
        kind if is_text(kind, section.flags) => {
            MergeClass::Text(text_owner(cubin, section.index.0, section.info)?)
        }
        kind if is_owned(section.info) => {
            classify_owned(cubin, section.index.0, kind, section.info)
        }
        _ => MergeClass::Data,
    })
}

#[inline]
fn is_text(kind: SectionType, flags: u64) -> bool {
    matches!(kind, SectionType::PROGBITS | SectionType::CUDA_UFT)
        && flags & (shf::EXECINSTR | shf::MERCURY) == shf::EXECINSTR
}

/// Whether the section belongs to another, usually to code. Compilers up to 12.2 do not set
/// `SHF_INFO_LINK`, and nvlink ignores it: without the flag the output is the same, without the
/// index attributes count as the module's.
#[inline]
fn is_owned(info: u32) -> bool {
    info != 0
}

/// The class of a section that belongs to another: that of a text section's function, whose symbol
/// is checked with that section.
fn classify_owned(cubin: &Cubin<'_>, section: u32, kind: SectionType, owner: u32) -> MergeClass {
    let owner = cubin.sections().owner_of(owner);
    let Some((.., info)) = owner.filter(|&(kind, flags, _)| is_text(kind, flags)) else {
        return MergeClass::Data;
    };
    let function = info & text_info::FUNCTION;
    match kind {
        SectionType::CUDA_INFO => MergeClass::Info(function),
        SectionType::CUDA_SHARED => MergeClass::KernelShared(function),
        kind => match bank_of(cubin, section, kind) {
            Some(bank) => MergeClass::FunctionConstant { bank, function },
            None => MergeClass::FunctionData(function),
        },
    }
}

/// Whether the class of a section of this type depends on its name.
#[inline]
fn is_told_by_name(kind: SectionType, class: MergeClass) -> bool {
    match class {
        MergeClass::ToolNote | MergeClass::VersionNote => true,
        MergeClass::FunctionConstant { .. } | MergeClass::FunctionData(_) => {
            kind.constant_bank().is_none()
        }
        _ => false,
    }
}

/// The bank of a section; reads its name only if its type does not give it.
fn bank_of(cubin: &Cubin<'_>, section: u32, kind: SectionType) -> Option<u8> {
    match kind.constant_bank() {
        Some(bank) => u8::try_from(bank).ok(),
        None => bank::number_of(cubin.section(section)?.name, kind),
    }
}

fn is_tool_note(cubin: &Cubin<'_>, section: &SectionRef<'_>) -> bool {
    cubin.sections().is_named(section.name_offset, names::NOTE_TKINFO)
}

fn text_owner(cubin: &Cubin<'_>, section: u32, info: u32) -> Result<u32, String> {
    let symbol = info & text_info::FUNCTION;
    match cubin.unnamed_symbol(symbol) {
        Some(owner) if owner.kind() == SymbolType::FUNC && owner.shndx == section => Ok(symbol),
        _ => Err(format!("text section {section} names no function of its own")),
    }
}
