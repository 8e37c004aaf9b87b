//! Ids that may be missing, in four bytes instead of eight: links have millions of them.

use std::fmt;
use std::marker::PhantomData;

/// A number that stands for something.
pub trait Id: Copy {
    /// The id with a number.
    fn numbered(number: u32) -> Self;
    /// Its number.
    fn number(self) -> u32;
}

/// Makes ids of types that are a number and nothing else.
macro_rules! ids {
    ($($id:ty),*) => {
        $(impl Id for $id {
            #[inline]
            fn numbered(number: u32) -> Self {
                Self(number)
            }
            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        })*
    };
}

/// Index of an input in link order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// A name of the link, or one local symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub u32);

/// Index of a function among all functions of the link, in order of first
/// mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// Index of a distinct prototype string, in order of first mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrototypeId(pub u32);

/// An output section, numbered in creation order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId(pub u32);

/// An output symbol, numbered in creation order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutSymbolId(pub u32);

ids!(ObjectId, SymbolId, FunctionId, PrototypeId, SectionId, OutSymbolId);

impl OutSymbolId {
    /// Symbol 0 of the table, which stands for what no input defines and no name joins.
    pub const NULL: Self = Self(u32::MAX - 1);
}

/// One symbol table entry of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SymbolRefId {
    /// The input.
    pub object: ObjectId,
    /// Index in its symbol table.
    pub symbol: u32,
}

/// A section of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputSection {
    /// The input.
    pub object: ObjectId,
    /// Section index there.
    pub section: u32,
}

/// An id or none. There is never as much as the highest number of anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OptId<T>(u32, PhantomData<T>);

impl<T: Id> OptId<T> {
    /// No id.
    pub const NONE: Self = Self(u32::MAX, PhantomData);

    /// The id, if there is one.
    #[inline]
    pub fn get(self) -> Option<T> {
        (self.0 != u32::MAX).then(|| T::numbered(self.0))
    }

    /// Whether there is an id.
    #[inline]
    pub fn is_some(self) -> bool {
        self.0 != u32::MAX
    }

    /// Whether there is none.
    #[inline]
    pub fn is_none(self) -> bool {
        !self.is_some()
    }
}

impl<T: Id> Default for OptId<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T: Id> From<T> for OptId<T> {
    #[inline]
    fn from(id: T) -> Self {
        Self(id.number(), PhantomData)
    }
}

impl<T: Id> From<Option<T>> for OptId<T> {
    #[inline]
    fn from(id: Option<T>) -> Self {
        id.map_or(Self::NONE, Self::from)
    }
}

impl<T: Id + fmt::Debug> fmt::Debug for OptId<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
