//! Lists that have one member as a rule, in as little memory as that takes.

use std::ops::Deref;

/// A list of few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Few<T> {
    /// Nothing.
    #[default]
    None,
    /// One, in place.
    One(T),
    /// Two or more.
    Many(Box<Vec<T>>),
}

impl<T: Copy> Few<T> {
    /// Adds to the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        match self {
            Few::None => *self = Few::One(item),
            Few::One(first) => *self = Few::Many(Box::new(vec![*first, item])),
            Few::Many(items) => items.push(item),
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Few::None => &[],
            Few::One(item) => std::slice::from_ref(item),
            Few::Many(items) => items,
        }
    }
}

impl<'f, T> IntoIterator for &'f Few<T> {
    type Item = &'f T;
    type IntoIter = std::slice::Iter<'f, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_order() {
        let mut few = Few::default();
        for i in 0..4 {
            assert_eq!(few.len(), i);
            few.push(i);
            assert!(few.iter().copied().eq(0..=i));
        }
    }
}
