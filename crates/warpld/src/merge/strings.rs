//! String tables in creation order: exact duplicates share an entry, nothing is
//! sorted, suffixes are not merged.

use crate::name_hash::{NameHash, ShortHash};
use bstr::ByteSlice;
use hashbrown::HashTable;

/// A string about to be added, in two parts.
#[derive(Clone, Copy, Debug)]
pub struct Text<'n> {
    parts: [&'n [u8]; 2],
    hash: NameHash,
}

impl<'n> Text<'n> {
    /// A string whose hash is not known.
    pub fn new(text: &'n [u8]) -> Self {
        Self::hashed(text, NameHash::of(text))
    }

    /// A string whose hash is known.
    pub fn hashed(text: &'n [u8], hash: NameHash) -> Self {
        Self { parts: [b"", text], hash }
    }

    /// A string after a prefix.
    pub fn prefixed(prefix: &'n [u8], text: &'n [u8], hash: NameHash) -> Self {
        let hash = NameHash::of(prefix).then(hash, text.len());
        Self { parts: [prefix, text], hash }
    }

    fn append_to(&self, table: &mut Vec<u8>) -> u32 {
        let start = table.len();
        table.extend_from_slice(self.parts[0]);
        table.extend_from_slice(self.parts[1]);
        table.push(0);
        start as u32
    }

    fn is_at(&self, table: &[u8], at: u32) -> bool {
        let rest = table[at as usize..].strip_prefix(self.parts[0]);
        let rest = rest.and_then(|rest| rest.strip_prefix(self.parts[1]));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }
}

/// `.shstrtab` and `.strtab`. Most section names are in both, so one index serves
/// both.
#[derive(Debug)]
pub struct StringTables {
    sections: Vec<u8>,
    symbols: Vec<u8>,
    index: HashTable<Entry>,
}

/// Where a string is; 0, the place of the leading NUL, if it is not there.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: ShortHash,
    in_sections: u32,
    in_symbols: u32,
}

impl Default for StringTables {
    fn default() -> Self {
        Self { sections: vec![0], symbols: vec![0], index: HashTable::new() }
    }
}

impl StringTables {
    /// Adds a string to `.strtab`; the offset of the one entry it has.
    pub fn add_symbol(&mut self, text: Text<'_>) -> u32 {
        let (entry, _, symbols) = self.entry(text);
        if entry.in_symbols == 0 {
            entry.in_symbols = text.append_to(symbols);
        }
        entry.in_symbols
    }

    /// Adds a string to `.shstrtab`; the offset of the one entry it has.
    pub fn add_section(&mut self, text: Text<'_>) -> u32 {
        let (entry, sections, _) = self.entry(text);
        if entry.in_sections == 0 {
            entry.in_sections = text.append_to(sections);
        }
        entry.in_sections
    }

    /// Adds a string to both; its offsets in `.shstrtab` and in `.strtab`.
    pub fn add(&mut self, text: Text<'_>) -> (u32, u32) {
        let (entry, sections, symbols) = self.entry(text);
        if entry.in_sections == 0 {
            entry.in_sections = text.append_to(sections);
        }
        if entry.in_symbols == 0 {
            entry.in_symbols = text.append_to(symbols);
        }
        (entry.in_sections, entry.in_symbols)
    }

    /// The entry of a string, which may be new, and both tables.
    fn entry(&mut self, text: Text<'_>) -> (&mut Entry, &mut Vec<u8>, &mut Vec<u8>) {
        let Self { sections, symbols, index } = self;
        let hash = text.hash.short();
        let same = |entry: &Entry| {
            entry.hash == hash
                && match entry.in_symbols {
                    0 => text.is_at(sections, entry.in_sections),
                    at => text.is_at(symbols, at),
                }
        };
        let entry = index.entry(hash.spread(), same, |entry| entry.hash.spread());
        let new = Entry { hash, in_sections: 0, in_symbols: 0 };
        (entry.or_insert(new).into_mut(), sections, symbols)
    }

    /// Takes a string back from both tables; where it was. What follows moves up.
    pub fn remove(&mut self, text: Text<'_>) -> (u32, u32) {
        let (in_sections, in_symbols) = self.add(text);
        let length = text.parts.concat().len() as u32 + 1;
        self.sections.drain(in_sections as usize..(in_sections + length) as usize);
        self.symbols.drain(in_symbols as usize..(in_symbols + length) as usize);
        self.index.retain(|entry| entry.in_symbols != in_symbols);
        for entry in self.index.iter_mut() {
            entry.in_sections -= if entry.in_sections > in_sections { length } else { 0 };
            entry.in_symbols -= if entry.in_symbols > in_symbols { length } else { 0 };
        }
        (in_sections, in_symbols)
    }

    /// Frees what only adding needs.
    pub fn close(&mut self) {
        self.index = HashTable::new();
    }

    /// `.shstrtab`.
    pub fn sections(&self) -> &[u8] {
        &self.sections
    }

    /// `.strtab`.
    pub fn symbols(&self) -> &[u8] {
        &self.symbols
    }

    /// The string at an offset of `.shstrtab`.
    pub fn section_name(&self, offset: u32) -> &[u8] {
        let rest = &self.sections[offset as usize..];
        &rest[..rest.find_byte(0).unwrap_or(rest.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_share_an_entry_and_suffixes_do_not() {
        let mut tables = StringTables::default();
        let text_f = tables.add_symbol(Text::prefixed(b".text.", b"f", NameHash::of(b"f")));
        let f = tables.add_symbol(Text::new(b"f"));
        assert_eq!(tables.add_symbol(Text::new(b".text.f")), text_f);
        assert_ne!(f, text_f);
        assert_eq!(tables.add(Text::new(b"f")), (1, f));
        assert_eq!(tables.symbols(), b"\0.text.f\0f\0");
        assert_eq!(tables.sections(), b"\0f\0");
        assert_eq!(tables.section_name(1), b"f");
    }

    #[test]
    fn a_removed_string_leaves_no_gap() {
        let mut tables = StringTables::default();
        let [first, second, third] = [b"first", b"other", b"third"].map(|text| Text::new(text));
        let [a, b, c] = [first, second, third].map(|text| tables.add(text));
        assert_eq!(tables.remove(second), b);
        assert_eq!(tables.symbols(), b"\0first\0third\0");
        assert_eq!(tables.sections(), tables.symbols());
        assert_eq!((tables.add(first), tables.add(third)), (a, (c.0 - 6, c.1 - 6)));
        assert_eq!(tables.add(second), (13, 13));
    }
}
