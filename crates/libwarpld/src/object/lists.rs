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
    pub(super) function_info: Vec<FunctionInfo>,
    /// Number of sections of the objects still to be parsed.
    pub(super) sections_left: usize,
}

/// An object's entries of the lists. Objects may share entries.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    pub(super) functions: Range<usize>,
    /// In the list of symbols, like functions.
    pub(super) data: Range<usize>,
    pub(super) classes: Range<usize>,
    pub(super) extents: Range<usize>,
    pub(super) function_info: Range<usize>,
}

/// Limit for reserving memory: the first input may be larger than the others.
pub(super) const MAX_RESERVE: usize = 1 << 14;

impl Lists {
    /// Empty lists for these objects.
    pub(super) fn of(objects: &[Object<'_>]) -> Self {
        let sections_left = objects.iter().map(|object| object.cubin.sections().len()).sum();
        Self { sections_left, ..Self::default() }
    }

    /// Reserves memory for the classes and extents of an input with this many sections: for those
    /// of all remaining inputs, except at the first one, which others may repeat. Lists that grow
    /// are copied into fresh memory, while unused memory costs one page at its end.
    pub(super) fn reserve_sections(&mut self, sections: usize) {
        let room = if self.classes.is_empty() { sections } else { self.sections_left };
        if self.classes.capacity() - self.classes.len() < sections {
            self.classes.reserve_exact(room);
        }
        if self.extents.capacity() - self.extents.len() < sections {
            self.extents.reserve_exact(room);
        }
    }

    /// Reserves memory for the inputs after the first, assuming that all have as many functions.
    pub(super) fn reserve_after_first(&mut self, inputs: usize) {
        self.named.reserve_exact(self.named.len().saturating_mul(inputs).min(MAX_RESERVE));
    }

    /// Adds an empty record for each of this many functions, and returns their range.
    pub(super) fn add_function_info(&mut self, functions: usize) -> Range<usize> {
        let start = self.function_info.len();
        self.function_info.resize(start + functions, FunctionInfo::default());
        start..self.function_info.len()
    }
}
