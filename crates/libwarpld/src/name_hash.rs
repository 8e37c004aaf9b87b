//! Hashes of names that can be put together: that of `.text.f` follows from those
//! of `.text.` and `f`. So the names of symbols are hashed once, in parallel, and
//! the phases that number things in order need not look at them again.

/// The hash of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameHash(u64);

/// A name is a number of this base, its bytes the digits. It is small, so that [`digits`] can
/// take the bytes of a word in three steps, and has as many powers modulo 2^64 as any number.
const BASE: u64 = 251;

/// For tables, which want all bits to count.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

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

/// The number that eight digits make, the first one in the lowest byte.
#[inline]
fn digits(word: u64) -> u64 {
    const BYTES: u64 = 0x00ff_00ff_00ff_00ff;
    const PAIRS: u64 = 0x0000_ffff_0000_ffff;
    // No sum carries into the next one: 255 * 251 + 255 < 1 << 16 and so on.
    let pairs = (word & BYTES) * POWERS[1] + (word >> 8 & BYTES);
    let fours = (pairs & PAIRS) * POWERS[2] + (pairs >> 16 & PAIRS);
    (fours & u64::from(u32::MAX)) * POWERS[4] + (fours >> 32)
}

impl NameHash {
    /// Hashes a name.
    #[inline]
    pub fn of(name: &[u8]) -> Self {
        let (words, rest) = name.as_chunks();
        let whole = words.iter().fold(0_u64, |hash, &word| {
            hash.wrapping_mul(POWERS[8]).wrapping_add(digits(u64::from_le_bytes(word)))
        });
        if rest.is_empty() {
            return Self(whole);
        }
        // Zeros before the first digit do not count.
        let last = match name.last_chunk() {
            Some(&word) => u64::from_le_bytes(word) & u64::MAX << (64 - 8 * rest.len()),
            None => {
                let mut last = [0; 8];
                last[8 - rest.len()..].copy_from_slice(rest);
                u64::from_le_bytes(last)
            }
        };
        Self(whole.wrapping_mul(POWERS[rest.len()]).wrapping_add(digits(last)))
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
        let folded = u128::from(self.0 ^ SPREAD) * u128::from(SPREAD);
        ShortHash((folded >> 64) as u32 ^ folded as u32)
    }
}

/// A part of a [`NameHash`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShortHash(u32);

impl ShortHash {
    /// For a hash table, which looks at the highest and the lowest bits.
    #[inline]
    pub fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(SPREAD)
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
