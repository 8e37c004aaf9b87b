//! String tables in creation order: exact duplicates share an entry, nothing is
//! sorted, suffixes are not merged.

use hashbrown::HashTable;
use smallvec::SmallVec;
use std::hash::BuildHasher;

/// One run of strings. Offsets are relative to the run.
#[derive(Debug)]
pub struct StringRun {
    bytes: Vec<u8>,
    /// Offsets with half of the text's hash: growing the table and most
    /// comparisons then never look at the text, which is cold by now.
    index: HashTable<(u32, u32)>,
    hasher: foldhash::fast::FixedState,
}

impl Default for StringRun {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            index: HashTable::new(),
            hasher: foldhash::fast::FixedState::with_seed(0),
        }
    }
}

impl StringRun {
    /// Adds the concatenation of `parts`; the offset of the one entry it has.
    pub fn add(&mut self, parts: [&[u8]; 2]) -> u32 {
        self.add_hashed(parts, self.hash(parts))
    }

    /// The hash of a concatenation, the same in every run.
    pub fn hash(&self, parts: [&[u8]; 2]) -> u32 {
        // As a rule one part is a prefix of few kinds; where the border lies must
        // not matter, so that the whole is hashed.
        if parts[1].is_empty() {
            return self.hasher.hash_one(parts[0]) as u32;
        }
        let mut whole: SmallVec<[u8; 256]> = SmallVec::new();
        whole.extend_from_slice(parts[0]);
        whole.extend_from_slice(parts[1]);
        self.hasher.hash_one(&whole[..]) as u32
    }

    /// [`StringRun::add`] for a text whose hash is known.
    pub fn add_hashed(&mut self, parts: [&[u8]; 2], half: u32) -> u32 {
        let bytes = &self.bytes;
        let same = |&(other, at): &(u32, u32)| other == half && entry_is(bytes, at, parts);
        if let Some(&(_, found)) = self.index.find(spread(half), same) {
            return found;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(parts[0]);
        self.bytes.extend_from_slice(parts[1]);
        self.bytes.push(0);
        self.index.insert_unique(spread(half), (half, start as u32), |&(half, _)| spread(half));
        start as u32
    }

    /// Takes back what [`StringRun::add`] returned this offset for; by how much later
    /// offsets fall.
    pub fn remove(&mut self, offset: u32) -> u32 {
        let length = self.get(offset).len() as u32 + 1;
        self.bytes.drain(offset as usize..(offset + length) as usize);
        self.index.retain(|(_, at)| *at != offset);
        for (_, at) in self.index.iter_mut() {
            *at -= if *at > offset { length } else { 0 };
        }
        length
    }

    /// The strings so far, each with its NUL.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The string at an offset that [`StringRun::add`] returned.
    pub fn get(&self, offset: u32) -> &[u8] {
        entry(&self.bytes, offset)
    }
}

/// A hash for the table, which looks at the highest and the lowest bits.
fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn entry(bytes: &[u8], at: u32) -> &[u8] {
    let rest = &bytes[at as usize..];
    let end = rest.iter().position(|&b| b == 0).unwrap_or(rest.len());
    &rest[..end]
}

fn entry_is(bytes: &[u8], at: u32, [first, second]: [&[u8]; 2]) -> bool {
    let rest = bytes[at as usize..].strip_prefix(first);
    let rest = rest.and_then(|rest| rest.strip_prefix(second));
    rest.is_some_and(|rest| rest.first() == Some(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_an_entry_and_suffixes_do_not() {
        let mut run = StringRun::default();
        let text_f = run.add([b".text.", b"f"]);
        let f = run.add([b"", b"f"]);
        assert_eq!(run.add([b"", b".text.f"]), text_f);
        assert_ne!(f, text_f);
        assert_eq!(run.bytes(), b".text.f\0f\0");
        assert_eq!(run.get(f), b"f");
    }

    #[test]
    fn a_removed_string_leaves_no_gap() {
        let mut run = StringRun::default();
        let [a, b, c] = [&b"first"[..], b"second", b"third"].map(|text| run.add([text, b""]));
        assert_eq!(run.remove(b), 7);
        assert_eq!(run.bytes(), b"first\0third\0");
        assert_eq!((run.add([b"first", b""]), run.add([b"thi", b"rd"])), (a, c - 7));
        assert_eq!(run.add([b"second", b""]), 12);
    }
}
