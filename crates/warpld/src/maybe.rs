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

ids!(
    crate::callgraph::PrototypeId,
    crate::merge::OutSymbolId,
    crate::merge::SectionId,
    crate::object::ObjectId,
    crate::resolve::SymbolId
);

/// An id or none. There is never as much as the highest number of anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Maybe<T>(u32, PhantomData<T>);

impl<T: Id> Maybe<T> {
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

impl<T: Id> Default for Maybe<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T: Id> From<T> for Maybe<T> {
    #[inline]
    fn from(id: T) -> Self {
        Self(id.number(), PhantomData)
    }
}

impl<T: Id> From<Option<T>> for Maybe<T> {
    #[inline]
    fn from(id: Option<T>) -> Self {
        id.map_or(Self::NONE, Self::from)
    }
}

impl<T: Id + fmt::Debug> fmt::Debug for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
