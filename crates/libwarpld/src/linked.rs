//! The result of all phases before the file is written.

use crate::context::Analysis;
use crate::layout::Layout;
use crate::merge::Merged;
use crate::properties::Properties;
use crate::relocate::Relocated;

/// Everything that is decided before the file is written.
#[derive(Clone, Copy)]
pub struct Linked<'a, 'o> {
    /// Earlier decisions.
    pub cx: Analysis<'a, 'o>,
    /// Sections and symbols.
    pub merged: &'o Merged,
    /// Offsets.
    pub layout: &'o Layout,
    /// Relocations.
    pub relocated: &'o Relocated,
    /// Kernel properties.
    pub properties: &'o Properties,
}
