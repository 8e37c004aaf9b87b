//! Symbols of an input in the list that phases walk: enough to decide most questions about a symbol
//! without reading its table entry and its name, which are cold by then.

use crate::name_hash::NameHash;
use cubin::consts::sto;
use cubin::{Binding, SymbolRef, SymbolType, string_at};
use std::ops::Range;

/// A symbol of an input that has a name.
#[derive(Clone, Copy, Debug)]
pub struct InputSymbol {
    /// The hash of its name.
    pub hash: NameHash,
    /// Index in the symbol table.
    pub symbol: u32,
    /// Offset of its name in the string table.
    name: u32,
    length: u16,
    info: u8,
    /// `st_other`.
    pub other: u8,
    /// Where it is.
    pub place: Place,
    /// Its size, if it fits.
    size: u8,
    /// Whether it is undefined and identical to the symbol at this position in the previous input's
    /// list: inputs of one compiler name the compiler's variables in the same order.
    pub repeats: bool,
}

/// Instead of a length: it does not fit.
const LONG: u16 = u16::MAX;

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

    #[inline]
    fn with_name(symbol: &SymbolRef<'_>, hash: NameHash, length: u16) -> Self {
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

    /// Records a symbol if both that and this one are undefined and identical, with the same name,
    /// which is then not hashed again.
    #[inline]
    pub fn repeated(&self, strings: &[u8], symbol: &SymbolRef<'_>, others: &[u8]) -> Option<Self> {
        if self.place != Place::Undefined || !symbol.is_undefined() || self.length == LONG {
            return None;
        }
        let rest = others.get(symbol.name_offset as usize..)?;
        let (name, rest) = rest.split_at_checked(self.length.into())?;
        if rest.first() != Some(&0) || name != self.name(strings) {
            return None;
        }
        let named = Self::with_name(symbol, self.hash, self.length);
        let (this, that) = ((self.info, self.other), (named.info, named.other));
        let repeats = this == that && self.size == named.size && named.size != u8::MAX;
        Some(Self { repeats, ..named })
    }

    /// Whether a list is identical to the previous one, including symbol indices.
    pub fn are_repeated(before: &[Self], list: &[Self]) -> bool {
        let same = |(old, new): (&Self, &Self)| new.repeats && old.symbol == new.symbol;
        before.len() == list.len() && before.iter().zip(list).all(same)
    }

    /// The range of the symbols' names in the string table, including their ends, if all of them
    /// can be repeated.
    pub fn names(list: &[Self]) -> Option<Range<usize>> {
        let end = |named: &Self| named.name as usize + usize::from(named.length) + 1;
        let can_be = |named: &Self| {
            named.place == Place::Undefined && named.length != LONG && named.size != u8::MAX
        };
        let start = list.iter().map(|named| named.name).min()?;
        let range = start as usize..list.iter().map(end).max()?;
        list.iter().all(can_be).then_some(range)
    }

    /// The distance between the name offsets of two symbols.
    #[inline]
    pub fn shift(&self, symbol: &SymbolRef<'_>) -> isize {
        symbol.name_offset as isize - self.name as isize
    }

    /// Whether a symbol of the same kind has the same size, and its name is at the same distance as
    /// those of its neighbors.
    #[inline]
    pub fn is_repeated_by(&self, symbol: &SymbolRef<'_>, shift: isize) -> bool {
        self.shift(symbol) == shift && symbol.size == u64::from(self.size)
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
