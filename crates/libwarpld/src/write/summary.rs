//! The facts that determine section offsets, collected in one pass: there may be many sections, and
//! they are far apart in memory.

use super::numbering::Numbering;
use super::tables::relocation_size;
use super::{ToolNotes, tables};
use crate::ids::SectionId;
use crate::linked::Linked;
use crate::merge::{Content, Section, Synthetic};
use cubin::SectionType;
use cubin::consts::shf;
use cubin::raw::Sym64;
use rayon::prelude::*;

/// What is known about a section before the file is planned.
#[derive(Clone, Copy, Debug, Default)]
pub struct SectionSummary {
    /// Size, at most [`LARGE`]; for sections built early, known only after that.
    size: u32,
    /// Log2 of the alignment, [`ODD`] if it is not a power of two.
    align: u8,
    /// nvlink's sort bucket.
    pub bucket: Bucket,
    /// Where its contents come from.
    pub source: ContentSource,
    /// How the program accesses it.
    pub memory: Memory,
}

/// A link has hundreds of thousands of these.
const _: () = assert!(size_of::<SectionSummary>() <= 8);

/// The size does not fit and has to be looked up again.
const LARGE: u32 = u32::MAX;
/// The alignment is not a power of two and has to be looked up again.
const ODD: u8 = u8::MAX;

/// nvlink's sort buckets, in file order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bucket {
    /// Tables of strings and symbols.
    #[default]
    Tables,
    /// Debug tables and other PROGBITS sections that are not loaded.
    Plain,
    /// Attributes, notes and other sections that are not loaded.
    Other,
    /// Relocations.
    Relocs,
    /// Read-only data.
    Constants,
    /// Code.
    Code,
    /// Writable data.
    Data,
    /// Sections without bytes in the file.
    NoBits,
    /// Not a bucket: the section is not in the file.
    Gone,
}

/// How a program accesses a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Not loaded.
    #[default]
    Absent,
    /// Read-only.
    Readable,
    /// Readable and writable.
    Writable,
}

/// Where the contents of a section come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContentSource {
    /// Copied from inputs.
    #[default]
    Copied,
    /// From inputs' attributes, built early; dropped if empty.
    Attributes,
    /// From inputs' lists of unified functions, built early.
    Entries,
    /// Anything else that is built early.
    Early,
    /// From inputs' notes.
    ToolNotes,
    /// Emitted relocations without addend.
    Rel,
    /// Emitted relocations with addend.
    Rela,
    /// `.shstrtab`.
    SectionNames,
    /// `.strtab`.
    SymbolNames,
    /// `.symtab`.
    Symbols,
    /// `.symtab_shndx`.
    SymbolSections,
}

impl ContentSource {
    /// Where a section's contents come from.
    #[inline]
    pub fn of(section: &Section) -> Self {
        match section.content() {
            Content::Chunks(_) if section.kind.is_unified_entries() => Self::Entries,
            Content::Chunks(_) => Self::Copied,
            Content::Relocs(..) if section.kind == SectionType::RELA => Self::Rela,
            Content::Relocs(..) => Self::Rel,
            Content::Attributes(_) => Self::Attributes,
            Content::Synthetic(Synthetic::ToolNote) => Self::ToolNotes,
            Content::Synthetic(Synthetic::SectionNames) => Self::SectionNames,
            Content::Synthetic(Synthetic::SymbolNames) => Self::SymbolNames,
            Content::Synthetic(Synthetic::Symbols) => Self::Symbols,
            Content::Synthetic(Synthetic::SymbolSections) => Self::SymbolSections,
            _ => Self::Early,
        }
    }
}

/// Summarizes all sections.
pub fn collect(linked: Linked<'_, '_>) -> Vec<SectionSummary> {
    let sections = linked.merged.sections.par_iter().enumerate();
    sections.map(|(i, section)| summary(linked, SectionId::new(i), section)).collect()
}

#[inline]
fn summary(linked: Linked<'_, '_>, id: SectionId, section: &Section) -> SectionSummary {
    let source = ContentSource::of(section);
    let strings = &linked.merged.strings;
    let (size, align) = match source {
        ContentSource::Copied => extent(linked, id),
        ContentSource::Entries => (extent(linked, id).0, section.align()),
        ContentSource::Rel | ContentSource::Rela => {
            let size =
                linked.relocated.emitted(id).len() * relocation_size(source == ContentSource::Rela);
            (size as u64, section.align())
        }
        ContentSource::SectionNames => (strings.sections().len() as u64, section.align()),
        ContentSource::SymbolNames => (strings.symbols_size() as u64, section.align()),
        // Known once it is built or symbols are numbered.
        _ => (0, section.align()),
    };
    let flags = section.flags();
    let summary = SectionSummary {
        bucket: if exists(linked, id, section, size) { bucket(section) } else { Bucket::Gone },
        source,
        memory: match flags {
            _ if flags & shf::ALLOC == 0 => Memory::Absent,
            _ if flags & shf::WRITE == 0 => Memory::Readable,
            _ => Memory::Writable,
        },
        ..SectionSummary::default()
    };
    summary.with_extent(size, align)
}

impl SectionSummary {
    /// The same summary with this size and alignment.
    #[inline]
    pub(super) fn with_extent(self, size: u64, align: u64) -> Self {
        let size = u32::try_from(size).unwrap_or(LARGE);
        let align = if align.is_power_of_two() { align.trailing_zeros() as u8 } else { ODD };
        Self { size, align, ..self }
    }

    /// Whether the file has it. [`empty`, `no-kernel`]
    pub fn exists(&self) -> bool {
        self.bucket != Bucket::Gone
    }

    /// Whether it has bytes in the file, if it exists.
    pub fn has_bytes(&self) -> bool {
        self.bucket != Bucket::NoBits
    }

    /// Whether it is copied from input sections.
    pub fn is_chunks(&self) -> bool {
        matches!(self.source, ContentSource::Copied | ContentSource::Entries)
    }

    /// Whether its contents are built before the file is written.
    pub fn is_early(&self) -> bool {
        matches!(
            self.source,
            ContentSource::Attributes | ContentSource::Entries | ContentSource::Early
        )
    }

    /// Its size, if it fits.
    #[inline]
    pub fn noted_size(&self) -> Option<u64> {
        (self.size != LARGE).then_some(self.size.into())
    }

    /// Its size and the log2 of its alignment, if both fit.
    #[inline]
    pub fn noted_extent(&self) -> Option<(u64, u8)> {
        (self.align != ODD).then_some((self.noted_size()?, self.align))
    }

    /// Records the size of what was built, or of what follows from the number of symbols.
    pub fn settle(&mut self, bytes: usize, notes: &ToolNotes<'_>, numbering: &Numbering) {
        let symbols = numbering.order.len() + 1;
        let size = match self.source {
            ContentSource::Attributes | ContentSource::Entries | ContentSource::Early => bytes,
            ContentSource::ToolNotes => notes.size(),
            ContentSource::Symbols => symbols * size_of::<Sym64>(),
            ContentSource::SymbolSections => symbols * size_of::<u32>(),
            _ => return,
        };
        self.size = u32::try_from(size).unwrap_or(LARGE);
        if self.source == ContentSource::Attributes && bytes == 0 {
            self.bucket = Bucket::Gone;
        }
    }
}

/// Whether a section of this size is live; not for attribute records. [`empty`, `no-kernel`]
#[inline]
fn exists(linked: Linked<'_, '_>, id: SectionId, section: &Section, size: u64) -> bool {
    match section.content() {
        Content::Chunks(_) => are_chunks_there(linked, id, section, || size),
        Content::Synthetic(Synthetic::Prototype) => tables::has_prototypes(linked),
        Content::Synthetic(Synthetic::SymbolSections) => linked.merged.needs_symbol_sections(),
        Content::Synthetic(_) | Content::Attributes(_) => true,
        Content::Relocs(target, _) => {
            let section = linked.merged.section(target);
            let extent = || extent(linked, target).0;
            size > 0 && (!section.is_chunks() || are_chunks_there(linked, target, section, extent))
        }
        Content::ResolvedRelocs(_) => !tables::resolved(linked, id).is_empty(),
        Content::ImageRelocs(bank) => linked.layout.images.banks.contains_key(&bank),
    }
}

/// Whether a section of this size that is copied from inputs is live.
/// [`empty`, `kernel-without-parameters`, `no-kernel`]
#[inline]
fn are_chunks_there(
    linked: Linked<'_, '_>,
    id: SectionId,
    section: &Section,
    size: impl Fn() -> u64,
) -> bool {
    // Sections with bytes that belong to a function are live, except constant tables.
    if !section.is_nobits() && section.function.is_some() && section.bank() != Some(2) {
        return true;
    }
    let is_kernel_shared = section.is_nobits()
        && section
            .function
            .get()
            .and_then(|f| linked.cx.graph.function(f))
            .is_some_and(|f| linked.merged.function_sections[f].shared == id.into());
    if linked.cx.config.relocatable {
        size() > 0 || !is_kernel_shared && section.bank() != Some(2)
    } else if section.bank() == Some(2) && size() == 0 {
        false
    } else if linked.merged.constant3 == Some(id) && linked.layout.pieces.contains_key(&id) {
        size() > 0
    } else if is_kernel_shared {
        linked.layout.shared.kernels.contains_key(&id)
    } else if linked.merged.common_shared == Some(id) {
        linked.layout.shared.common.is_some()
    } else {
        true
    }
}

/// Size and alignment in the file.
#[inline]
pub fn extent(linked: Linked<'_, '_>, id: SectionId) -> (u64, u64) {
    let shared = &linked.layout.shared;
    if let Some(&extent) = shared.kernels.get(&id) {
        return extent;
    }
    if linked.merged.common_shared == Some(id)
        && let Some(extent) = shared.common
    {
        return extent;
    }
    linked.layout.extent(linked.merged, id)
}

/// The alignment of a section.
#[inline]
pub fn align(
    linked: Linked<'_, '_>,
    id: SectionId,
    section: &Section,
    source: ContentSource,
) -> u64 {
    if source == ContentSource::Copied { extent(linked, id).1 } else { section.align() }
}

/// nvlink's sort bucket of a section. [`one-kernel`, `globals`]
#[inline]
pub fn bucket(s: &Section) -> Bucket {
    let flags = s.flags();
    match s.kind {
        SectionType::STRTAB | SectionType::SYMTAB | SectionType::SYMTAB_SHNDX => Bucket::Tables,
        SectionType::REL | SectionType::RELA | SectionType::CUDA_RESOLVED_RELA => Bucket::Relocs,
        _ if s.is_nobits() => Bucket::NoBits,
        SectionType::PROGBITS if flags & shf::ALLOC == 0 => Bucket::Plain,
        _ if flags & shf::ALLOC == 0 => Bucket::Other,
        _ if flags & shf::EXECINSTR != 0 => Bucket::Code,
        _ if flags & shf::WRITE != 0 => Bucket::Data,
        _ => Bucket::Constants,
    }
}
