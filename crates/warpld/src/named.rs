//! Symbols of an input as the list that phases walk has them: what decides most
//! questions about a symbol, so that its table entry and its name, which are cold by
//! then, need not be looked at.

use crate::name_hash::NameHash;
use cubin::consts::sto;
use cubin::{Binding, SymbolRef, SymbolType};

/// A symbol of an input that has a name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The hash of its name.
    pub hash: NameHash,
    /// Index in the symbol table.
    pub symbol: u32,
    info: u8,
    /// `st_other`.
    pub other: u8,
    /// Where it is.
    pub place: Place,
    /// Its size as far as that fits.
    size: u8,
}

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Elsewhere.
    Undefined,
    /// Wherever the linker puts it.
    Common,
    /// In a section, or at a fixed address.
    Defined,
}

impl Named {
    /// Notes a symbol.
    #[inline]
    pub fn new(symbol: &SymbolRef<'_>) -> Self {
        let place = match symbol {
            s if s.is_undefined() => Place::Undefined,
            s if s.is_common() => Place::Common,
            _ => Place::Defined,
        };
        Self {
            hash: NameHash::of(symbol.name),
            symbol: symbol.index.0,
            info: symbol.info,
            other: symbol.other,
            place,
            size: u8::try_from(symbol.size).unwrap_or(u8::MAX),
        }
    }

    /// Its binding.
    #[inline]
    pub fn binding(&self) -> Binding {
        Binding(self.info >> 4)
    }

    /// Whether it is a function.
    #[inline]
    pub fn is_function(&self) -> bool {
        SymbolType(self.info & 15) == SymbolType::FUNC
    }

    /// Whether it is a kernel, if it is a function.
    #[inline]
    pub fn is_entry(&self) -> bool {
        self.other & sto::ENTRY != 0
    }

    /// Whether it never leaves its object.
    #[inline]
    pub fn is_internal(&self) -> bool {
        self.other & sto::VISIBILITY == sto::INTERNAL
    }

    /// Its size, if that is a small number.
    #[inline]
    pub fn small_size(&self) -> Option<u8> {
        (self.size != u8::MAX).then_some(self.size)
    }
}
