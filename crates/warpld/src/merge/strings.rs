//! String tables in creation order: exact duplicates share an entry, nothing is
//! sorted, suffixes are not merged.

use hashbrown::HashTable;
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
        let start = self.bytes.len();
        self.bytes.extend_from_slice(parts[0]);
        self.bytes.extend_from_slice(parts[1]);
        let (known, new) = self.bytes.split_at(start);
        let half = self.hasher.hash_one(new) as u32;
        let same = |&(other, at): &(u32, u32)| other == half && entry_is(known, at, new);
        if let Some(&(_, found)) = self.index.find(spread(half), same) {
            self.bytes.truncate(start);
            return found;
        }
        self.bytes.push(0);
        self.index.insert_unique(spread(half), (half, start as u32), |&(half, _)| spread(half));
        start as u32
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

fn entry_is(bytes: &[u8], at: u32, text: &[u8]) -> bool {
    let rest = &bytes[at as usize..];
    rest.len() > text.len() && rest[text.len()] == 0 && rest.starts_with(text)
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
}
