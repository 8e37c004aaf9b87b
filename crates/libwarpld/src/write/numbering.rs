//! Indices in the file.

use crate::ids::OutSymbolId;

/// Indices of the output symbols.
#[derive(Debug)]
pub struct Numbering {
    /// By output symbol; 0 if it is dropped.
    pub index: Vec<u32>,
    /// Symbols in table order, without the null symbol.
    pub order: Vec<OutSymbolId>,
    /// Number of local symbols, including the null symbol.
    pub local_count: u32,
}

impl Numbering {
    /// The index of a symbol that something refers to.
    #[inline]
    pub fn of(&self, symbol: OutSymbolId) -> u32 {
        self.index.get(symbol.index()).copied().unwrap_or(0)
    }
}

/// What a reference of the link is in the file.
#[derive(Clone, Copy)]
pub struct Indices<'p> {
    /// Of symbols.
    pub symbols: &'p Numbering,
    /// Of each merged section, 0 if it is dropped.
    pub sections: &'p [u32],
}
