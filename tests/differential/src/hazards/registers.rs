//! Sets of registers.

use std::ops::{BitAnd, BitOr, BitOrAssign};

/// Registers of all files that an instruction can name: R, UR, P, UP and B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Registers([u64; 9]);

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// `R0` to `R254`.
    General,
    /// `UR0` and so on.
    Uniform,
    /// `P0` to `P6`.
    Predicate,
    /// `UP0` to `UP6`.
    UniformPredicate,
    /// `B0` to `B15`: barriers of convergence.
    Barrier,
}

impl File {
    const ALL: [(Self, usize, &'static str); 5] = [
        (Self::General, 0, "R"),
        (Self::Uniform, 256, "UR"),
        (Self::Predicate, 512, "P"),
        (Self::UniformPredicate, 528, "UP"),
        (Self::Barrier, 544, "B"),
    ];

    fn base(self) -> usize {
        Self::ALL.iter().find(|(file, ..)| *file == self).map_or(0, |(_, base, _)| *base)
    }

    fn size(self) -> usize {
        if matches!(self, Self::General | Self::Uniform) { 256 } else { 16 }
    }
}

impl Registers {
    /// None.
    pub const NONE: Self = Self([0; 9]);

    /// Adds one; numbers that the file does not have are ignored.
    pub fn add(&mut self, file: File, number: usize) {
        if number < file.size() {
            let at = file.base() + number;
            self.0[at / 64] |= 1 << (at % 64);
        }
    }

    /// Whether there is one in both.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// Those that are not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        let mut left = *self;
        left.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
        left
    }

    /// Those of one file.
    pub fn of(&self, file: File) -> Self {
        let mut some = Self::NONE;
        for number in 0..file.size() {
            let at = file.base() + number;
            some.0[at / 64] |= self.0[at / 64] & (1 << (at % 64));
        }
        some
    }
}

impl BitAnd for Registers {
    type Output = Self;
    fn bitand(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
        self
    }
}

impl BitOr for Registers {
    type Output = Self;
    fn bitor(mut self, other: Self) -> Self {
        self |= other;
        self
    }
}

impl BitOrAssign for Registers {
    fn bitor_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

impl Registers {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        File::ALL.into_iter().flat_map(|(file, base, prefix)| {
            let held = |at: &usize| self.0[at / 64] >> (at % 64) & 1 != 0;
            let all = (base..base + file.size()).filter(held);
            all.map(move |at| format!("{prefix}{}", at - base))
        })
    }
}

impl std::fmt::Display for Registers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_do_not_overlap() {
        let mut all = Registers::NONE;
        for (file, ..) in File::ALL {
            let mut one = Registers::NONE;
            one.add(file, 0);
            one.add(file, file.size() - 1);
            one.add(file, file.size());
            assert!(!one.meets(&all), "{file:?}");
            assert_eq!(one.of(file), one);
            all |= one;
        }
        assert_eq!(all.to_string(), "R0 R255 UR0 UR255 P0 P15 UP0 UP15 B0 B15");
        assert!(all.without(&all).is_empty());
    }
}
