//! Sets of registers.

/// Registers of all files. RZ, URZ, PT and UPT are never members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterSet {
    general: [u64; 4],
    uniform: [u64; 2],
    predicates: u8,
    uniform_predicates: u8,
}

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    General,
    Uniform,
    Predicate,
    UniformPredicate,
}

/// RZ and URZ.
const ZERO: u8 = 0xff;
/// PT and UPT.
const TRUE: u8 = 7;

impl RegisterSet {
    /// Adds registers that follow each other; `None` if there are no such registers.
    pub fn add(&mut self, file: File, first: u8, width: u8) -> Option<()> {
        match file {
            File::Predicate => self.predicates |= predicate(first)?,
            File::UniformPredicate => self.uniform_predicates |= predicate(first)?,
            File::General => add(&mut self.general, first, width)?,
            File::Uniform => add(&mut self.uniform, first, width)?,
        }
        Some(())
    }

    /// Adds predicates by a mask.
    pub fn add_predicates(&mut self, mask: u8) {
        self.predicates |= mask & !(1 << TRUE);
    }

    /// The same for uniform ones.
    pub fn add_uniform_predicates(&mut self, mask: u8) {
        self.uniform_predicates |= mask & !(1 << TRUE);
    }

    /// Whether the sets intersect.
    pub fn meets(&self, other: &Self) -> bool {
        let general = self.general.iter().zip(&other.general).any(|(a, b)| a & b != 0);
        let uniform = self.uniform.iter().zip(&other.uniform).any(|(a, b)| a & b != 0);
        general
            || uniform
            || self.predicates & other.predicates != 0
            || self.uniform_predicates & other.uniform_predicates != 0
    }

    /// Whether the set contains all registers of another.
    pub fn contains(&self, other: &Self) -> bool {
        let mut both = *self;
        both.merge(other);
        both == *self
    }

    /// Adds the registers of another set.
    pub fn merge(&mut self, other: &Self) {
        self.general.iter_mut().zip(&other.general).for_each(|(a, b)| *a |= b);
        self.uniform.iter_mut().zip(&other.uniform).for_each(|(a, b)| *a |= b);
        self.predicates |= other.predicates;
        self.uniform_predicates |= other.uniform_predicates;
    }

    /// Whether the set contains no register.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it contains a uniform register.
    pub fn has_uniform(&self) -> bool {
        self.uniform != [0; 2]
    }

    /// The general registers that another set does not contain, and with `uniform` the uniform ones.
    #[must_use]
    pub fn late_without(&self, other: &Self, uniform: bool) -> Self {
        let mut out = Self::default();
        for (word, (a, b)) in out.general.iter_mut().zip(self.general.iter().zip(&other.general)) {
            *word = a & !b;
        }
        for (word, (a, b)) in out.uniform.iter_mut().zip(self.uniform.iter().zip(&other.uniform)) {
            *word = if uniform { a & !b } else { 0 };
        }
        out
    }

    /// The members, as numbers: the general registers from 0 on, the uniform ones from 256 on, then
    /// predicates of both kinds.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let predicates = u64::from(self.predicates) | u64::from(self.uniform_predicates) << 8;
        let words = self.general.iter().chain(&self.uniform).copied().chain([predicates]);
        words.enumerate().flat_map(|(i, word)| {
            let next = |rest: &u64| Some(rest & (rest - 1)).filter(|&rest| rest != 0);
            std::iter::successors(Some(word).filter(|&word| word != 0), next)
                .map(move |rest| i * 64 + rest.trailing_zeros() as usize)
        })
    }

    /// One more than the largest number of a member.
    pub const BOUND: usize = 448;
    /// The number of P0.
    pub const FIRST_PREDICATE: usize = 384;
}

fn add<const N: usize>(words: &mut [u64; N], first: u8, width: u8) -> Option<()> {
    if first == ZERO {
        return Some(());
    }
    for register in first..first.checked_add(width)? {
        if register == ZERO {
            return None;
        }
        *words.get_mut(usize::from(register / 64))? |= 1 << (register % 64);
    }
    Some(())
}

fn predicate(number: u8) -> Option<u8> {
    (number <= TRUE).then(|| 1u8.checked_shl(number.into()).unwrap_or(0) & !(1 << TRUE))
}
