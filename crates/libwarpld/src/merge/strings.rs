//! String tables in creation order: exact duplicates share an entry, nothing is
//! sorted, suffixes are not merged.
//!
//! Nearly all strings are section names built from the name of a function, `.text.f`, which are
//! added only once and cannot equal anything else: those are appended without looking at the index.
//! Only if a string of that form comes from elsewhere (a symbol may be called `.text.f`) is the
//! index completed.

use super::shared_strings::SharedStrings;
use crate::name_hash::{NameHash, ShortHash};
use bstr::ByteSlice;
use cubin::names::prefix;
use hashbrown::HashTable;
use std::ops::Range;

/// A string about to be added, in two parts.
#[derive(Clone, Copy, Debug)]
pub struct Text<'n> {
    parts: [&'n [u8]; 2],
    hash: NameHash,
    origin: Origin,
}

/// What is known about a string in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Nothing.
    Any,
    /// Built from the name of a function.
    Function,
    /// The same, and it is added only once.
    Once,
}

/// What precedes the names of functions in strings that are added once.
const FUNCTION_PREFIXES: [&[u8]; 8] = [
    prefix::TEXT,
    prefix::INFO,
    prefix::SHARED,
    prefix::CONSTANT0,
    prefix::REL_TEXT,
    prefix::RELA_TEXT,
    prefix::REL_CONSTANT0,
    prefix::RELA_CONSTANT0,
];

impl<'n> Text<'n> {
    /// A string whose hash is not known.
    pub fn new(text: &'n [u8]) -> Self {
        Self::hashed(text, NameHash::of(text))
    }

    /// A string whose hash is known.
    pub fn hashed(text: &'n [u8], hash: NameHash) -> Self {
        Self { parts: [b"", text], hash, origin: Origin::Any }
    }

    /// A string after a prefix.
    pub fn prefixed(prefix: &'n [u8], text: &'n [u8], hash: NameHash) -> Self {
        let hash = NameHash::of(prefix).then(hash, text.len());
        Self { parts: [prefix, text], hash, origin: Origin::Any }
    }

    /// The name of a function, which no other symbol has, after one of the known prefixes. It must
    /// not be added a second time.
    pub fn once(prefix: &'static [u8], function: &'n [u8]) -> Self {
        debug_assert!(FUNCTION_PREFIXES.contains(&prefix));
        Self { parts: [prefix, function], hash: NameHash::default(), origin: Origin::Once }
    }

    /// The name of a function, which others may have too, after such a prefix.
    pub fn of_function(prefix: &'static [u8], function: &'n [u8], hash: NameHash) -> Self {
        Self { origin: Origin::Function, ..Self::prefixed(prefix, function, hash) }
    }

    /// The string with its hash, which one that is added once does not have.
    fn with_hash(self) -> Self {
        match self.origin {
            Origin::Once => {
                Self::prefixed(self.parts[0], self.parts[1], NameHash::of(self.parts[1]))
            }
            _ => self,
        }
    }

    /// Whether it looks like one built from the name of a function.
    fn is_like_functions(&self) -> bool {
        let starts_with = |prefix: &&[u8]| {
            let own = self.parts[0].len().min(prefix.len());
            self.parts[0].starts_with(&prefix[..own]) && self.parts[1].starts_with(&prefix[own..])
        };
        self.starts_with_dot() && FUNCTION_PREFIXES.iter().any(starts_with)
    }

    fn starts_with_dot(&self) -> bool {
        self.parts[0].first().or(self.parts[1].first()) == Some(&b'.')
    }

    #[inline]
    fn append_to(&self, table: &mut Vec<u8>) -> u32 {
        let start = table.len();
        table.extend_from_slice(self.parts[0]);
        table.extend_from_slice(self.parts[1]);
        table.push(0);
        start as u32
    }

    fn append_shared(&self, table: &mut SharedStrings) -> u32 {
        table.add_own(&[self.parts[0], self.parts[1], b"\0"])
    }

    /// Its size in a table.
    fn size(&self) -> usize {
        self.parts[0].len() + self.parts[1].len() + 1
    }

    /// Whether the rest of a table starts with it.
    fn is_at(&self, table: &[u8]) -> bool {
        let rest = table.strip_prefix(self.parts[0]);
        let rest = rest.and_then(|rest| rest.strip_prefix(self.parts[1]));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }
}

/// `.shstrtab` and `.strtab`. Most section names are in both, so one index serves
/// both.
#[derive(Debug)]
pub struct StringTables {
    sections: Vec<u8>,
    symbols: SharedStrings,
    index: HashTable<Entry>,
    /// Whether all strings are in the index.
    complete: bool,
}

/// The offsets of a string; 0, the offset of the leading NUL, if it is absent.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: ShortHash,
    in_sections: u32,
    in_symbols: u32,
}

impl Entry {
    /// Whether it is the entry of a string.
    fn is_of(&self, text: &Text<'_>, sections: &[u8], symbols: &SharedStrings) -> bool {
        match self.in_sections {
            0 => text.is_at(symbols.from(sections, self.in_symbols)),
            at => text.is_at(&sections[at as usize..]),
        }
    }

    /// Adds its string to `.strtab` and returns the offset of its only entry.
    fn add_symbol(&mut self, text: &Text<'_>, symbols: &mut SharedStrings) -> u32 {
        self.in_symbols = match (self.in_symbols, self.in_sections) {
            (0, 0) => text.append_shared(symbols),
            (0, at) => symbols.add_shared(at, text.size()),
            (known, _) => known,
        };
        self.in_symbols
    }
}

impl Default for StringTables {
    fn default() -> Self {
        let symbols = SharedStrings::of(vec![0]);
        Self { sections: vec![0], symbols, index: HashTable::new(), complete: false }
    }
}

impl StringTables {
    /// Reserves this many bytes for section names.
    pub fn reserve(&mut self, sections: usize) {
        self.sections.reserve(sections);
    }

    /// Adds a string to `.strtab` and returns the offset of its only entry.
    pub fn add_symbol(&mut self, text: Text<'_>) -> u32 {
        if self.is_new(&text) {
            return text.append_shared(&mut self.symbols);
        }
        let (entry, _, symbols) = self.entry(text);
        entry.add_symbol(&text, symbols)
    }

    /// The same for a string at this offset of `.shstrtab`.
    #[inline]
    pub fn add_symbol_of_section(&mut self, text: Text<'_>, at: u32) -> u32 {
        match self.is_new(&text) {
            true => self.symbols.add_shared(at, text.size()),
            false => self.add_symbol(text),
        }
    }

    /// Adds a string to `.shstrtab` and returns the offset of its only entry.
    #[inline]
    pub fn add_section(&mut self, text: Text<'_>) -> u32 {
        match self.is_new(&text) {
            true => text.append_to(&mut self.sections),
            false => self.find_or_add(text, false).0,
        }
    }

    /// Adds a string to both; its offsets in `.shstrtab` and in `.strtab`.
    #[inline]
    pub fn add(&mut self, text: Text<'_>) -> (u32, u32) {
        if self.is_new(&text) {
            let at = text.append_to(&mut self.sections);
            return (at, self.symbols.add_shared(at, text.size()));
        }
        self.find_or_add(text, true)
    }

    /// The same for a string that may be there, in `.strtab` only if it is to be there.
    #[inline(never)]
    fn find_or_add(&mut self, text: Text<'_>, in_symbols: bool) -> (u32, u32) {
        let (entry, sections, symbols) = self.entry(text);
        if entry.in_sections == 0 {
            entry.in_sections = text.append_to(sections);
        }
        let at = if in_symbols { entry.add_symbol(&text, symbols) } else { entry.in_symbols };
        (entry.in_sections, at)
    }

    /// Adds symbol names to `.strtab` that are all new and added only once, and returns the offset
    /// of the first.
    pub fn add_last(&mut self, names: Vec<u8>) -> u32 {
        self.symbols.add_list(names)
    }

    /// The offset of a symbol's name in `.strtab`, unless it starts with a dot: only such names may
    /// be there without being in the index.
    pub fn find_symbol(&self, name: Text<'_>) -> Option<u32> {
        let hash = name.hash.short();
        let Self { sections, symbols, index, .. } = self;
        let same =
            |e: &Entry| e.hash == hash && e.in_symbols != 0 && e.is_of(&name, sections, symbols);
        Some(index.find(hash.spread(), same)?.in_symbols)
    }

    /// Whether the string is known to be new and is never looked up again.
    #[inline]
    fn is_new(&self, text: &Text<'_>) -> bool {
        text.origin == Origin::Once && !self.complete
    }

    /// Puts all strings into the index.
    fn complete(&mut self) {
        self.complete = true;
        self.index.clear();
        let (sections, symbols) = (self.sections.clone(), self.symbols());
        for (is_section, table) in [(true, &sections), (false, &symbols)] {
            let mut at = 1;
            while let Some(length) = table[at..].find_byte(0) {
                let (entry, _, _) = self.entry(Text::new(&table[at..at + length]));
                *(if is_section { &mut entry.in_sections } else { &mut entry.in_symbols }) =
                    at as u32;
                at += length + 1;
            }
        }
    }

    /// The entry of a string, which may be new, and both tables.
    fn entry(&mut self, text: Text<'_>) -> (&mut Entry, &mut Vec<u8>, &mut SharedStrings) {
        if !self.complete && text.origin == Origin::Any && text.is_like_functions() {
            self.complete();
        }
        let text = text.with_hash();
        let Self { sections, symbols, index, .. } = self;
        let hash = text.hash.short();
        let same = |e: &Entry| e.hash == hash && e.is_of(&text, sections, symbols);
        let entry = index.entry(hash.spread(), same, |entry| entry.hash.spread());
        let new = Entry { hash, in_sections: 0, in_symbols: 0 };
        (entry.or_insert(new).into_mut(), sections, symbols)
    }

    /// Removes a string from both tables and returns its offsets. What follows moves up.
    pub fn remove(&mut self, text: Text<'_>) -> (u32, u32) {
        let (in_sections, in_symbols) = self.add(text);
        let length = text.size() as u32;
        let mut symbols = self.symbols();
        symbols.drain(in_symbols as usize..(in_symbols + length) as usize);
        self.symbols = SharedStrings::of(symbols);
        self.sections.drain(in_sections as usize..(in_sections + length) as usize);
        self.index.retain(|entry| entry.in_symbols != in_symbols);
        for entry in self.index.iter_mut() {
            entry.in_sections -= if entry.in_sections > in_sections { length } else { 0 };
            entry.in_symbols -= if entry.in_symbols > in_symbols { length } else { 0 };
        }
        (in_sections, in_symbols)
    }

    /// Removes strings from `.strtab` that are at these ascending offsets and in no other table;
    /// the result maps old offsets to new ones.
    pub fn remove_symbols(&mut self, offsets: &[u32]) -> impl Fn(u32) -> u32 + use<> {
        let (mut removed, symbols) = (Vec::new(), self.symbols());
        let (mut kept, mut total, mut end) = (Vec::with_capacity(symbols.len()), 0, 0);
        for &start in offsets {
            kept.extend_from_slice(&symbols[end..start as usize]);
            let rest = &symbols[start as usize..];
            let size = rest.find_byte(0).map_or(rest.len(), |length| length + 1);
            end = start as usize + size;
            total += size as u32;
            removed.push((start, total));
        }
        kept.extend_from_slice(&symbols[end..]);
        self.symbols = SharedStrings::of(kept);
        let after = move |offset: u32| match removed.partition_point(|&(at, _)| at < offset) {
            0 => offset,
            before => offset - removed[before - 1].1,
        };
        self.index.retain(|entry| offsets.binary_search(&entry.in_symbols).is_err());
        self.index.iter_mut().for_each(|entry| entry.in_symbols = after(entry.in_symbols));
        after
    }

    /// Frees what is needed only for adding.
    pub fn close(&mut self) {
        self.index = HashTable::new();
    }

    /// `.shstrtab`.
    pub fn sections(&self) -> &[u8] {
        &self.sections
    }

    /// `.strtab`.
    pub fn symbols(&self) -> Vec<u8> {
        self.symbols.to_vec(&self.sections)
    }

    /// The size of `.strtab`.
    pub fn symbols_size(&self) -> usize {
        self.symbols.len()
    }

    /// Writes a part of `.strtab`.
    pub fn write_symbols(&self, part: Range<usize>, out: &mut [u8]) {
        self.symbols.write(&self.sections, part, out);
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
    fn a_string_like_one_that_was_added_once_is_found() {
        let mut tables = StringTables::default();
        let f = tables.add(Text::once(b".text.", b"f"));
        let g = tables.add(Text::once(b".nv.info.", b"g"));
        assert_eq!(tables.add(Text::new(b".text.f")), f);
        assert_eq!(tables.add(Text::prefixed(b".nv", b".info.g", NameHash::of(b".info.g"))), g);
        // From now on all are looked up.
        let h = tables.add(Text::once(b".text.", b"h"));
        assert_eq!(tables.add(Text::new(b".text.h")), h);
        assert_eq!(tables.symbols(), b"\0.text.f\0.nv.info.g\0.text.h\0");
        assert_eq!(tables.sections(), tables.symbols());
    }

    #[test]
    fn last_names_follow_all_others() {
        let mut tables = StringTables::default();
        let local = tables.add_symbol(Text::new(b"local"));
        tables.add(Text::once(b".text.", b"f"));
        tables.add_section(Text::new(b"odd"));
        assert_eq!(tables.find_symbol(Text::new(b"local")), Some(local));
        assert_eq!(tables.find_symbol(Text::new(b"odd")), None);
        assert_eq!(tables.add_last(b"odd\0f\0".to_vec()), 15);
        assert_eq!(tables.symbols(), b"\0local\0.text.f\0odd\0f\0");
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
