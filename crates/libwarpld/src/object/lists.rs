//! The lists that the objects of a batch refer to, while they grow.

use super::merge_class::MergeClass;
use super::sections::{Extent, Shapes};
use super::symbols::InputSymbol;
use super::{FunctionInfo, Object};
use cubin::Cubin;
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

    /// Records the sections of an input that has the same ones as another, whose extents are known,
    /// and returns their range. `None` if one of them is unusual.
    pub(super) fn repeat_extents(
        &mut self,
        cubin: &Cubin<'_>,
        others: Range<usize>,
    ) -> Option<Range<usize>> {
        let sections = cubin.sections().plain_unnamed()?;
        let start = self.extents.len();
        self.make_room(others.len());
        self.extents.extend_from_within(others);
        let extents = self.extents.get_mut(start..).unwrap_or_default();
        let is_usual = extents.iter_mut().zip(sections).all(|(extent, section)| {
            let moved = extent.moved(&section);
            moved.map(|moved| *extent = moved).is_some()
        });
        if !is_usual {
            self.extents.truncate(start);
            return None;
        }
        Some(start..self.extents.len())
    }
}
