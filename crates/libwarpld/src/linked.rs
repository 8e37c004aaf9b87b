//! The result of all phases before the file is written.

use crate::context::Analysis;
use crate::ids::{SectionId, SymbolId};
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

impl Linked<'_, '_> {
    /// The function whose code is in the section.
    pub fn text_function(self, id: SectionId) -> Option<SymbolId> {
        let symbol = self.merged.section(id).function.get()?;
        let function = self.cx.graph.function(symbol)?;
        (self.merged.function_sections[function].text.get() == Some(id)).then_some(symbol)
    }
}
