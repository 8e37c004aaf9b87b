//! The results of the phases before `merge`, for all later ones.

use crate::callgraph::CallGraph;
use crate::callgraph::reach::Reach;
use crate::config::Config;
use crate::dialect::Dialect;
use crate::ids::{InputSection, ObjectId, SymbolId, SymbolRefId};
use crate::object::Objects;
use crate::resolve::Resolution;
use crate::unified::Unified;
use cubin::{SectionRef, SymbolRef};

/// The decisions of earlier phases.
#[derive(Clone, Copy)]
pub struct Analysis<'a, 'o> {
    /// Inputs.
    pub objects: &'o Objects<'a>,
    /// Names.
    pub resolution: &'o Resolution<'a>,
    /// Call graph.
    pub graph: &'o CallGraph<'a>,
    /// Live functions.
    pub reach: &'o Reach,
    /// Unified functions and variables.
    pub unified: &'o Unified,
    /// Settings.
    pub config: &'o Config,
    /// Dialect of the target.
    pub dialect: Dialect,
}

impl<'a> Analysis<'a, '_> {
    /// Whether the symbol is data or a live function.
    pub fn keeps(&self, symbol: SymbolId) -> bool {
        self.reach.keeps(self.graph, symbol)
    }

    /// The input symbol of a reference.
    pub fn input_symbol(&self, at: SymbolRefId) -> Option<SymbolRef<'a>> {
        self.objects[at.object].cubin.symbol(at.symbol)
    }

    /// The same without its name.
    pub fn unnamed_symbol(&self, at: SymbolRefId) -> Option<SymbolRef<'a>> {
        self.objects[at.object].cubin.unnamed_symbol(at.symbol)
    }

    /// Size of the part of a section that is linked.
    pub fn linked_size(&self, object: ObjectId, section: &SectionRef<'a>) -> u64 {
        self.size_of_linked(object, section.index.0, section.size)
    }

    /// The same for a section of this size.
    #[inline]
    pub fn size_of_linked(&self, object: ObjectId, section: u32, size: u64) -> u64 {
        match self.objects[object].has_bank2() {
            true => self.cut_bank2(object, section).map_or(size, |data| data.len() as u64),
            false => size,
        }
    }

    /// The bytes of a section that are linked: of bank 2 only what has symbols, if any of it has.
    /// (A file that is linked again may have tables of discarded copies there.)
    #[inline]
    pub fn linked_bytes(&self, from: InputSection) -> &'a [u8] {
        let object = &self.objects[from.object];
        let cut = match object.has_bank2() {
            true => self.cut_bank2(from.object, from.section),
            false => None,
        };
        cut.unwrap_or_else(|| object.section_data(from.section))
    }

    /// All bytes of an input section.
    #[inline]
    pub fn data_of(&self, from: InputSection) -> &'a [u8] {
        self.objects[from.object].section_data(from.section)
    }

    /// The bank of a discarded copy is taken by its name, as a whole.
    fn cut_bank2(&self, object: ObjectId, section: u32) -> Option<&'a [u8]> {
        let data = self.objects[object].bank2_by_symbol(section)?;
        let (id, at) = self.owner(object, section)?;
        self.resolution.ever_selected(id, at).then_some(data)
    }

    /// The owner of an input section as a resolved function.
    pub fn owner(&self, object: ObjectId, section: u32) -> Option<(SymbolId, SymbolRefId)> {
        let symbol = self.objects[object].owner(section)?;
        let id = self.resolution.id(object, symbol)?;
        Some((id, SymbolRefId { object, symbol }))
    }

    /// The function whose code a function's name refers to.
    pub fn owner_of_code(&self, function: SymbolId) -> Option<SymbolId> {
        self.resolution.owner_of_code(self.objects, function)
    }
}
