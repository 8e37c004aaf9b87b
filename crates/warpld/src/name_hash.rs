//! Hashes of names that can be put together: that of `.text.f` follows from those
//! of `.text.` and `f`. So the names of symbols are hashed once, in parallel, and
//! the phases that number things in order need not look at them again.

/// The hash of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameHash(u64);

/// A name is a number of this base, its bytes the digits.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// The first powers of [`BASE`].
const POWERS: [u64; 128] = {
    let mut powers = [1; 128];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = BASE.wrapping_mul(powers[i - 1]);
        i += 1;
    }
    powers
};

impl NameHash {
    /// Hashes a name.
    pub fn of(name: &[u8]) -> Self {
        let mut words = name.chunks_exact(8);
        let mut hash = 0_u64;
        for word in &mut words {
            let digits = word.iter().zip(POWERS[..8].iter().rev());
            let sum = digits.fold(0, |sum: u64, (&byte, power)| {
                sum.wrapping_add(power.wrapping_mul(byte.into()))
            });
            hash = hash.wrapping_mul(POWERS[8]).wrapping_add(sum);
        }
        for &byte in words.remainder() {
            hash = hash.wrapping_mul(BASE).wrapping_add(byte.into());
        }
        Self(hash)
    }

    /// The hash of this name followed by one of `length` bytes.
    pub fn then(self, next: NameHash, length: usize) -> Self {
        let most = POWERS.len() - 1;
        let mut hash = self.0;
        for _ in 0..length / most {
            hash = hash.wrapping_mul(POWERS[most]);
        }
        Self(hash.wrapping_mul(POWERS[length % most]).wrapping_add(next.0))
    }

    /// What hash tables keep of it, so that growing them and most comparisons
    /// need not look at the names, which are cold by then.
    #[inline]
    pub fn short(self) -> ShortHash {
        let folded = u128::from(self.0 ^ BASE) * u128::from(BASE);
        ShortHash((folded >> 64) as u32 ^ folded as u32)
    }
}

/// A part of a [`NameHash`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortHash(u32);

impl ShortHash {
    /// For a hash table, which looks at the highest and the lowest bits.
    #[inline]
    pub fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(BASE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_whole_follows_from_its_parts() {
        let name: Vec<u8> = (0..1000_u32).map(|i| (i * 7 + 1) as u8).collect();
        for (start, end) in [(0, 0), (0, 5), (6, 14), (8, 300), (17, 1000)] {
            let (first, second) = (&name[..start], &name[start..end]);
            let joined = NameHash::of(first).then(NameHash::of(second), second.len());
            assert_eq!(joined, NameHash::of(&name[..end]), "{start} {end}");
        }
        assert_ne!(NameHash::of(b"ab").short(), NameHash::of(b"ba").short());
    }

    /// The case names-with-one-hash relies on that.
    #[test]
    fn different_names_may_have_one_hash() {
        let name = |a, b| -> Vec<u8> {
            (0..1024_u32).map(|i| if i.count_ones() % 2 == 0 { a } else { b }).collect()
        };
        assert_eq!(NameHash::of(&name(b'a', b'b')), NameHash::of(&name(b'b', b'a')));
    }
}
