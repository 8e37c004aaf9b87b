//! Sets of registers.

/// Registers of all files: general ones, uniform ones, and both kinds of predicates in the last word. RZ, URZ, PT
/// and UPT are never members of what an instruction reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterSet([u64; 7]);

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

/// Where the words of each file are.
const GENERAL: usize = 0;
const UNIFORM: usize = 4;
const PREDICATES: usize = 6;
/// Where uniform predicates start in their word.
const UNIFORM_PREDICATES: u32 = 8;

impl RegisterSet {
    /// Adds registers that follow each other; `None` if there are no such registers.
    pub fn add(&mut self, file: File, first: u8, width: u8) -> Option<()> {
        match file {
            File::Predicate => self.0[PREDICATES] |= predicate(first)?,
            File::UniformPredicate => self.0[PREDICATES] |= predicate(first)? << UNIFORM_PREDICATES,
            File::General => add(&mut self.0[GENERAL..UNIFORM], first, width)?,
            File::Uniform => add(&mut self.0[UNIFORM..PREDICATES], first, width)?,
        }
        Some(())
    }

    /// Adds predicates by a mask.
    pub fn add_predicates(&mut self, mask: u8) {
        self.0[PREDICATES] |= u64::from(mask & !(1 << TRUE));
    }

    /// Adds RZ.
    pub fn add_zero(&mut self) {
        self.0[UNIFORM - 1] |= 1 << (ZERO % 64);
    }

    /// The same for uniform ones.
    pub fn add_uniform_predicates(&mut self, mask: u8) {
        self.0[PREDICATES] |= u64::from(mask & !(1 << TRUE)) << UNIFORM_PREDICATES;
    }

    /// Whether the sets intersect.
    pub fn meets(&self, other: &Self) -> bool {
        // Without a branch for each word.
        self.0.iter().zip(&other.0).fold(0, |both, (a, b)| both | a & b) != 0
    }

    /// Whether a register is a member.
    pub fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Bits of which two sets that intersect have one in common, as a quick test.
    pub fn signature(&self) -> u64 {
        let mix = |bits: u64, (at, word): (u32, &u64)| bits | word.rotate_left(9 * at);
        (0..).zip(&self.0).fold(0, mix)
    }

    /// The predicates that are not uniform, one bit each.
    pub fn predicate_bits(&self) -> u8 {
        self.0[PREDICATES] as u8
    }

    /// Whether the set contains all registers of another.
    pub fn contains(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |missing, (a, b)| missing | b & !a) == 0
    }

    /// Adds the registers of another set.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Whether the set contains no register.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The predicates, of both kinds.
    #[must_use]
    pub fn predicates(&self) -> Self {
        let mut out = Self::default();
        out.0[PREDICATES] = self.0[PREDICATES];
        out
    }

    /// The registers that another set does not contain.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut out = *self;
        out.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
        out
    }

    /// Whether it contains a uniform register.
    pub fn has_uniform(&self) -> bool {
        self.0[UNIFORM..PREDICATES] != [0; PREDICATES - UNIFORM]
    }

    /// The general registers that another set does not contain, and with `uniform` the uniform ones.
    #[must_use]
    pub fn late_without(&self, other: &Self, uniform: bool) -> Self {
        let mut out = Self::default();
        let end = if uniform { PREDICATES } else { UNIFORM };
        for ((word, a), b) in out.0[..end].iter_mut().zip(&self.0).zip(&other.0) {
            *word = a & !b;
        }
        out
    }

    /// The members, as numbers: the general registers from 0 on, the uniform ones from 256 on, then
    /// predicates of both kinds.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let (mut at, mut rest) = (0, self.0[0]);
        std::iter::from_fn(move || {
            while rest == 0 {
                at += 1;
                rest = *self.0.get(at)?;
            }
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(at * 64 + bit)
        })
    }

    /// One more than the largest number of a member.
    pub const BOUND: usize = 448;
    /// The number of UP0.
    pub const UNIFORM_PREDICATE: usize = PREDICATES * 64 + UNIFORM_PREDICATES as usize;
}

fn add(words: &mut [u64], first: u8, width: u8) -> Option<()> {
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

fn predicate(number: u8) -> Option<u64> {
    (number <= TRUE).then(|| 1u64 << number & !(1 << TRUE))
}
