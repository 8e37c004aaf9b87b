//! The results of relocation.

use super::emitted::{EmittedList, EmittedRelocs, OutReloc};
use super::functions::Functions;
use crate::ids::{InputSection, OutSymbolId, SectionId};
use cubin::RelocKind;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// A change to a section's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Patch {
    pub offset: u64,
    pub kind: RelocKind,
    pub value: u64,
    pub bank: u8,
    /// Adds to the existing value.
    pub adds: bool,
}

/// One relocation of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The relocation section.
    pub from: InputSection,
    /// Index of the entry in it.
    pub index: u32,
}

/// The results for one output section.
#[derive(Clone, Copy, Debug, Default)]
pub struct SectionRelocs<'r> {
    /// Entries of the output relocation section.
    pub emitted: EmittedRelocs<'r>,
    /// Changes to the target section.
    pub patches: &'r [Patch],
    /// Sources of the emitted relocations (Mercury only).
    pub emitted_from: &'r [Source],
    /// Sources of the patches (Mercury only).
    pub patched_from: &'r [Source],
    /// Applied relocations and their sources, for `--preserve-relocs`.
    pub resolved: &'r [(Source, OutReloc)],
}

/// The results for consecutive output sections. There may be many with few relocations each, so
/// they share lists.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub emitted: EmittedList,
    pub patches: Vec<Patch>,
    /// As long as `emitted` in the Mercury half, otherwise empty.
    pub emitted_from: Vec<Source>,
    /// As long as `patches` in the Mercury half, otherwise empty.
    pub patched_from: Vec<Source>,
    pub resolved: Vec<(Source, OutReloc)>,
    /// Ends of the emitted relocations, by section.
    ends: Vec<u32>,
    /// Ends of `patches`; empty if there are no patches, as in most blocks.
    patch_ends: Vec<u32>,
    /// The same for `resolved`.
    resolved_ends: Vec<u32>,
}

/// Lengths of a block's lists.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    emitted: u32,
    patches: u32,
}

impl Block {
    /// Empty lists for `sections` sections.
    pub fn new(sections: usize) -> Self {
        Self { ends: Vec::with_capacity(sections), ..Self::default() }
    }

    /// How long the lists are.
    pub fn mark(&self) -> Mark {
        Mark { emitted: self.emitted.len() as u32, patches: self.patches.len() as u32 }
    }

    /// Ends the list of a section.
    pub fn end_section(&mut self) {
        let sections = self.ends.len();
        let note = |ends: &mut Vec<u32>, end: usize| {
            if end != 0 {
                ends.resize(sections, 0);
                ends.push(end as u32);
            }
        };
        note(&mut self.patch_ends, self.patches.len());
        note(&mut self.resolved_ends, self.resolved.len());
        self.ends.push(self.emitted.len() as u32);
    }

    /// Drops what came after `to`: it is not part of the output.
    pub fn truncate(&mut self, to: Mark) {
        self.emitted.truncate(to.emitted as usize);
        self.emitted_from.truncate(to.emitted as usize);
        self.patches.truncate(to.patches as usize);
        self.patched_from.truncate(to.patches as usize);
    }

    /// Reverses the order of the relocations emitted since then.
    pub fn reverse_kept(&mut self, since: Mark) {
        let since = since.emitted as usize;
        self.emitted.reverse(since);
        self.emitted_from.get_mut(since..).unwrap_or_default().reverse();
    }

    /// Appends another block.
    pub fn append(&mut self, other: &mut Self) {
        self.emitted.append(&mut other.emitted);
        self.patches.append(&mut other.patches);
        self.emitted_from.append(&mut other.emitted_from);
        self.patched_from.append(&mut other.patched_from);
        self.resolved.append(&mut other.resolved);
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.emitted.shrink();
        self.patches.shrink_to_fit();
        self.emitted_from.shrink_to_fit();
        self.patched_from.shrink_to_fit();
    }

    #[inline]
    fn section(&self, i: usize) -> SectionRelocs<'_> {
        if i >= self.ends.len() {
            return SectionRelocs::default();
        }
        let (emitted, patches) = (range(&self.ends, i), range(&self.patch_ends, i));
        let resolved = range(&self.resolved_ends, i);
        SectionRelocs {
            emitted: self.emitted.part(emitted.clone()),
            patches: &self.patches[patches.clone()],
            emitted_from: self.emitted_from.get(emitted).unwrap_or_default(),
            patched_from: self.patched_from.get(patches).unwrap_or_default(),
            resolved: &self.resolved[resolved],
        }
    }
}

/// The part of a list that belongs to the section with this index, given where the parts end.
#[inline]
fn range(ends: &[u32], i: usize) -> Range<usize> {
    let end = |i: usize| ends.get(i).map_or(0, |&end| end as usize);
    i.checked_sub(1).map_or(0, end)..end(i)
}

/// The results of all relocations, by output relocation section.
#[derive(Debug)]
pub struct Relocated {
    /// In creation order of the sections, [`BLOCK`] in each.
    pub(super) blocks: Vec<Block>,
    /// The symbols that emitted relocations refer to.
    pub used: Used,
    /// What represents functions.
    pub functions: Functions,
}

/// Symbols that something refers to.
#[derive(Debug)]
pub struct Used(Vec<AtomicBool>);

impl Used {
    /// An empty set of `symbols` symbols.
    pub(super) fn new(symbols: usize) -> Self {
        Self(std::iter::repeat_with(AtomicBool::default).take(symbols).collect())
    }

    /// Adds a symbol. Most are already in the set and are not written again, because other threads
    /// read them, too.
    pub(super) fn add(&self, symbol: OutSymbolId) {
        if let Some(used) = self.0.get(symbol.index())
            && !used.load(Ordering::Relaxed)
        {
            used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether something refers to the symbol.
    pub fn has(&self, symbol: OutSymbolId) -> bool {
        self.0[symbol.index()].load(Ordering::Relaxed)
    }
}

/// Number of sections that share a block.
pub(super) const BLOCK: usize = 256;

impl Relocated {
    /// The entries of an output relocation section; empty for other sections.
    #[inline]
    pub fn emitted(&self, section: SectionId) -> EmittedRelocs<'_> {
        let section = section.index();
        let block = self.blocks.get(section / BLOCK);
        block.map_or(EmittedRelocs::default(), |block| {
            block.emitted.part(range(&block.ends, section % BLOCK))
        })
    }

    /// The changes to the target of an output relocation section.
    #[inline]
    pub fn patches(&self, section: SectionId) -> &[Patch] {
        let section = section.index();
        match self.blocks.get(section / BLOCK) {
            Some(block) if !block.patch_ends.is_empty() => {
                &block.patches[range(&block.patch_ends, section % BLOCK)]
            }
            _ => &[],
        }
    }

    /// The results for an output relocation section; empty for other sections.
    #[inline]
    pub fn of(&self, section: SectionId) -> SectionRelocs<'_> {
        let section = section.index();
        let block = self.blocks.get(section / BLOCK);
        block.map_or(SectionRelocs::default(), |block| block.section(section % BLOCK))
    }
}
