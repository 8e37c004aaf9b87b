//! Symbols of an input in the list that phases walk: enough to decide most questions about a symbol
//! without reading its table entry and its name, which are cold by then.

use crate::name_hash::NameHash;
use cubin::consts::sto;
use cubin::{Binding, SymbolRef, SymbolType, string_at};

/// A symbol of an input that has a name.
#[derive(Clone, Copy, Debug)]
pub struct InputSymbol {
    /// The hash of its name.
    pub hash: NameHash,
    /// Index in the symbol table.
    pub symbol: u32,
    /// Offset of its name in the string table.
    pub(super) name: u32,
    /// The length of its name, if it fits.
    pub(super) length: u16,
    /// `st_info`.
    pub(super) info: u8,
    /// `st_other`.
    pub other: u8,
    /// Where it is.
    pub place: Place,
    /// Its size, if it fits.
    pub(super) size: u8,
    /// Whether it is undefined and identical to the symbol at this position in the previous input's
    /// list, as `reuse` found: inputs of one compiler name the compiler's variables in the same
    /// order.
    pub repeats: bool,
}

/// Instead of a length: it does not fit.
pub(super) const LONG: u16 = u16::MAX;

/// Where a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Elsewhere.
    Undefined,
    /// Where the linker puts it.
    Common,
    /// In a section, or at a fixed address.
    Defined,
}

impl InputSymbol {
    /// Records a symbol with this name.
    #[inline]
    pub fn new(symbol: &SymbolRef<'_>, name: &[u8]) -> Self {
        let length = u16::try_from(name.len()).unwrap_or(LONG);
        Self::with_name(symbol, NameHash::of(name), length)
    }

    /// Records a symbol whose name is in this string table.
    #[inline]
    pub fn of(symbol: &SymbolRef<'_>, strings: &[u8]) -> Self {
        Self::new(symbol, string_at(strings, symbol.name_offset).unwrap_or_default())
    }

    /// Records a symbol whose name has this hash and length.
    #[inline]
    pub(super) fn with_name(symbol: &SymbolRef<'_>, hash: NameHash, length: u16) -> Self {
        let place = match symbol {
            s if s.is_undefined() => Place::Undefined,
            s if s.is_common() => Place::Common,
            _ => Place::Defined,
        };
        Self {
            hash,
            symbol: symbol.index.0,
            name: symbol.name_offset,
            length,
            info: symbol.info,
            other: symbol.other,
            place,
            size: u8::try_from(symbol.size).unwrap_or(u8::MAX),
            repeats: false,
        }
    }

    /// Its name in the string table.
    #[inline]
    pub fn name<'a>(&self, strings: &'a [u8]) -> &'a [u8] {
        let start = self.name as usize;
        let name = match self.length {
            LONG => string_at(strings, self.name),
            length => strings.get(start..start.saturating_add(length.into())),
        };
        name.unwrap_or_default()
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

    /// Whether it lives in shared memory.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.other & sto::SPACE == sto::SHARED
    }

    /// Its size, if it is small.
    #[inline]
    pub fn small_size(&self) -> Option<u8> {
        (self.size != u8::MAX).then_some(self.size)
    }
}
