//! Ids of everything that a link numbers, the vectors that they index, and ids that may be
//! missing.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// An index of one kind of thing, in four bytes: links have millions of them.
pub trait Id: Copy {
    /// The id with an index.
    fn new(index: usize) -> Self;

    /// Its index.
    fn index(self) -> usize;
}

/// Defines id types.
macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $id(u32);

            impl $id {
                /// The id with an index.
                #[inline]
                pub const fn new(index: usize) -> Self {
                    Self(index as u32)
                }

                /// Its index.
                #[inline]
                pub const fn index(self) -> usize {
                    self.0 as usize
                }

                /// Its index in 32 bits.
                #[inline]
                pub const fn as_u32(self) -> u32 {
                    self.0
                }
            }

            impl From<u32> for $id {
                #[inline]
                fn from(index: u32) -> Self {
                    Self(index)
                }
            }

            impl Id for $id {
                #[inline]
                fn new(index: usize) -> Self {
                    Self::new(index)
                }

                #[inline]
                fn index(self) -> usize {
                    self.index()
                }
            }
        )*
    };
}

ids! {
    /// An input, numbered in link order.
    ObjectId;
    /// A name of the link, or one local symbol.
    SymbolId;
    /// A function, numbered in the order in which the inputs first name them.
    FunctionId;
    /// A distinct prototype string, numbered likewise.
    PrototypeId;
    /// An output section, numbered in creation order.
    SectionId;
    /// An output symbol, numbered in creation order.
    OutSymbolId;
}

/// An id and all that follow it.
pub fn onward<I: Id>(first: I) -> impl Iterator<Item = I> {
    (first.index()..).map(I::new)
}

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InputSection {
    /// The input.
    pub object: ObjectId,
    /// Section index there.
    pub section: u32,
}

/// An id or none. `u32::MAX` is never a valid id.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OptId<T>(u32, PhantomData<T>);

impl<T: Id> OptId<T> {
    /// No id.
    pub const NONE: Self = Self(u32::MAX, PhantomData);

    /// The id, if there is one.
    #[inline]
    pub fn get(self) -> Option<T> {
        (self.0 != u32::MAX).then(|| T::new(self.0 as usize))
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
        Self(id.index() as u32, PhantomData)
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

/// A vector with one element for each id, indexed by ids alone.
#[derive(Clone, Debug)]
pub struct IdVec<I, T>(Vec<T>, PhantomData<fn(I)>);

impl<I: Id, T> IdVec<I, T> {
    /// No elements.
    pub const fn new() -> Self {
        Self(Vec::new(), PhantomData)
    }

    /// No elements, with room for some.
    pub fn with_capacity(count: usize) -> Self {
        Self::from(Vec::with_capacity(count))
    }

    /// The same element for each of `count` ids.
    pub fn filled(element: T, count: usize) -> Self
    where
        T: Clone,
    {
        Self::from(vec![element; count])
    }

    /// Adds the element of the next id, which is returned.
    #[inline]
    pub fn push(&mut self, element: T) -> I {
        let id = self.next_id();
        self.0.push(element);
        id
    }

    /// The id of the element that is added next.
    #[inline]
    pub fn next_id(&self) -> I {
        I::new(self.0.len())
    }

    /// The element of an id, if there is one.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.0.get(id.index())
    }

    /// All ids.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.0.len()).map(I::new)
    }

    /// All elements with their ids.
    pub fn enumerated(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.0.iter().enumerate().map(|(index, element)| (I::new(index), element))
    }

    /// The elements from an id on, with their ids. `skip` would go through all before it.
    pub fn enumerated_from(&self, first: I) -> impl Iterator<Item = (I, &T)> {
        let rest = self.0.get(first.index()..).unwrap_or_default();
        (first.index()..).zip(rest).map(|(index, element)| (I::new(index), element))
    }

    /// As many elements as there are ids, up to a number of them.
    pub fn resize(&mut self, count: usize, element: T)
    where
        T: Clone,
    {
        self.0.resize(count, element);
    }

    /// Makes room for more.
    pub fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// Makes room for more, and no more than that.
    pub fn reserve_exact(&mut self, more: usize) {
        self.0.reserve_exact(more);
    }

    /// How many elements there is room for.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self(Vec::new(), PhantomData)
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(elements: Vec<T>) -> Self {
        Self(elements, PhantomData)
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<E: IntoIterator<Item = T>>(elements: E) -> Self {
        Self(elements.into_iter().collect(), PhantomData)
    }
}

impl<I, T> Deref for IdVec<I, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<I, T> DerefMut for IdVec<I, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.0[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.0[id.index()]
    }
}

impl<'v, I, T> IntoIterator for &'v IdVec<I, T> {
    type Item = &'v T;
    type IntoIter = std::slice::Iter<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'v, I, T> IntoIterator for &'v mut IdVec<I, T> {
    type Item = &'v mut T;
    type IntoIter = std::slice::IterMut<'v, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_or_none_takes_four_bytes() {
        assert_eq!(size_of::<OptId<ObjectId>>(), 4);
        assert_eq!(OptId::<ObjectId>::from(None).get(), None);
        assert_eq!(OptId::from(ObjectId::new(7)).get(), Some(ObjectId::new(7)));
        assert!(OptId::<ObjectId>::default().is_none());
    }

    #[test]
    fn elements_are_found_by_the_ids_they_were_given() {
        let mut names = IdVec::<SectionId, &str>::new();
        let ids = ["a", "b"].map(|name| names.push(name));
        assert_eq!(names[ids[1]], "b");
        assert_eq!(names.ids().collect::<Vec<_>>(), ids);
        assert_eq!(names.enumerated().last(), Some((ids[1], &"b")));
        assert!(names.enumerated_from(ids[1]).eq([(ids[1], &"b")]));
        assert_eq!(names.enumerated_from(names.next_id()).next(), None);
        assert_eq!(names.get(names.next_id()), None);
    }
}
