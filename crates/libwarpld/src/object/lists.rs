//! The lists that the objects of a batch refer to, while they grow.

use super::merge_class::MergeClass;
use super::sections::{Extent, Shapes};
use super::symbols::InputSymbol;
use super::{FunctionInfo, Object};
use std::ops::Range;

/// The lists of all objects of a batch.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Functions of an object, then its other symbols.
    pub(super) named: Vec<InputSymbol>,
    /// Other symbols of the object being parsed.
    pub(super) others: Vec<InputSymbol>,
    pub(super) classes: Vec<MergeClass>,
    pub(super) extents: Vec<Extent>,
    pub(super) shapes: Shapes,
    pub(super) figures: Vec<FunctionInfo>,
    /// Number of sections of the objects still to be parsed.
    pub(super) sections_left: usize,
}

/// An object's entries of the lists. Objects may share entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    pub(super) functions: Range<usize>,
    /// Of the list of symbols, as functions are.
    pub(super) data: Range<usize>,
    pub(super) classes: Range<usize>,
    pub(super) extents: Range<usize>,
    pub(super) figures: Range<usize>,
}

/// Limit for reserving memory: the first input may be larger than the others.
pub(super) const ROOM_AT_MOST: usize = 1 << 14;

impl Lists {
    /// No entries yet for these.
    pub(super) fn of(objects: &[Object<'_>]) -> Self {
        let sections_left = objects.iter().map(|object| object.cubin.sections().len()).sum();
        Self { sections_left, ..Self::default() }
    }

    /// Reserves room for the classes and extents of an input with this many sections: for those of
    /// all remaining inputs, except at the first one, which others may repeat. Lists that grow are
    /// copied into fresh memory, while unused room costs one page at its end.
    pub(super) fn make_room(&mut self, sections: usize) {
        let room = if self.classes.is_empty() { sections } else { self.sections_left };
        if self.classes.capacity() - self.classes.len() < sections {
            self.classes.reserve_exact(room);
        }
        if self.extents.capacity() - self.extents.len() < sections {
            self.extents.reserve_exact(room);
        }
    }

    /// Reserves room for the inputs after the first, assuming that all have as many functions.
    pub(super) fn make_room_after_first(&mut self, inputs: usize) {
        self.named.reserve_exact(self.named.len().saturating_mul(inputs).min(ROOM_AT_MOST));
    }

    /// Adds a record without figures for each of so many functions, and returns their range.
    pub(super) fn add_figures(&mut self, functions: usize) -> Range<usize> {
        let start = self.figures.len();
        self.figures.resize(start + functions, FunctionInfo::default());
        start..self.figures.len()
    }
}
