//! What becomes of relocations.

use crate::merge::{InputSection, OutSymbolId, SectionId};

/// A relocation of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct OutReloc {
    pub offset: u64,
    pub kind: u32,
    pub symbol: OutSymbolId,
    pub addend: i64,
}

/// Bytes to change in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Patch {
    pub offset: u64,
    pub kind: u32,
    pub value: u64,
    pub bank: u8,
    /// Added to what is there.
    pub adds: bool,
}

/// One relocation of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The relocation section.
    pub from: InputSection,
    /// The entry's number there.
    pub index: u32,
}

/// What became of the relocations for one output section.
#[derive(Debug)]
pub struct SectionRelocs {
    /// Entries of the output relocation section.
    pub kept: Vec<OutReloc>,
    /// Changes of the target section.
    pub patches: Vec<Patch>,
    /// What few links need to know.
    pub(super) origins: Option<Box<Origins>>,
}

/// Where relocations of the output come from.
#[derive(Debug)]
pub struct Origins {
    /// The kept ones, in the same order (Mercury only).
    pub kept: Vec<Source>,
    /// The patches, in the same order (Mercury only).
    pub patches: Vec<Source>,
    /// Applied relocations and where they come from, for `--preserve-relocs`.
    pub resolved: Vec<(Source, OutReloc)>,
}

impl Origins {
    const NONE: Self = Self { kept: Vec::new(), patches: Vec::new(), resolved: Vec::new() };
}

impl SectionRelocs {
    pub(super) const NONE: Self = Self { kept: Vec::new(), patches: Vec::new(), origins: None };

    /// Where they come from.
    pub fn origins(&self) -> &Origins {
        static NOTHING: Origins = Origins::NONE;
        self.origins.as_deref().unwrap_or(&NOTHING)
    }

    pub(super) fn kept_from(&mut self, source: Option<Source>) {
        if let Some(source) = source {
            self.origins_mut().kept.push(source);
        }
    }

    pub(super) fn patched_from(&mut self, source: Option<Source>) {
        if let Some(source) = source {
            self.origins_mut().patches.push(source);
        }
    }

    pub(super) fn origins_mut(&mut self) -> &mut Origins {
        self.origins.get_or_insert_with(|| Box::new(Origins::NONE))
    }
}

/// Outcome of all relocations, by output relocation section.
#[derive(Debug)]
pub struct Relocated {
    /// In creation order of the relocation sections.
    pub(super) lists: Vec<SectionRelocs>,
    /// By output section: the number of its list.
    pub(super) list_of: Vec<u32>,
    /// Whether a kept relocation refers to the symbol.
    pub used: Vec<bool>,
}

impl Relocated {
    /// What became of the relocations of an output relocation section; nothing
    /// for others.
    pub fn of(&self, section: SectionId) -> &SectionRelocs {
        static NOTHING: SectionRelocs = SectionRelocs::NONE;
        let list = self.list_of.get(section.0 as usize);
        list.and_then(|&list| self.lists.get(list as usize)).unwrap_or(&NOTHING)
    }
}
