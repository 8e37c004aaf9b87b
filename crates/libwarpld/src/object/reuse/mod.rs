//! What inputs take over from the previous one. Usually one compiler built them all, and many have
//! the same sections and symbols in the same order. Only this module compares inputs with each
//! other; docs/performance.md says what each part saves.

mod variables;

use super::classify::{Found, class_of, classify, most_alignment};
use super::lists::{Lists, Ranges};
use super::scan::{Symbols, scan};
use super::symbols::InputSymbol;
use cubin::{Cubin, Likeness, ReadError, SymbolRef};
use variables::Variables;

#[cfg(test)]
mod tests;

/// The analysis of the latest input of a batch, and what the next one takes over from it.
///
/// **Invariant: with reuse and without it, a link has the same result**, bytes and messages. All
/// that is taken over follows from bytes or fields of the previous input that were compared with
/// those of this one and are equal:
///
/// - checks of section headers and symbols, from headers and symbols (in [`Cubin::parse_after`]);
/// - classes of sections, and kinds of symbols, from all fields of section headers and symbols
///   except names, offsets and sizes ([`Cubin::likeness`]), and from the few names that matter;
/// - extents of sections, from whole section headers;
/// - the list of variables, from symbols and names;
/// - the call graph, prototypes and `.nv.info`, from the bytes of these sections;
/// - that `.nv.compat` adds nothing, from its bytes.
///
/// Later phases compare nothing. They go by what is set here: `resolve` by
/// [`repeats_data`](super::Object::repeats_data) and [`InputSymbol::repeats`], `compat` by
/// [`repeats_compat`](super::Object::repeats_compat), `merge` by
/// [`shares_classes`](super::Object::shares_classes). A batch whose switch is off forgets each
/// input before the next, so none of them saves anything then (`tests/reuse.rs` of the command
/// compares).
#[derive(Default)]
pub(super) struct Reuse<'a> {
    on: bool,
    /// The input being parsed, then the previous one.
    cubin: Option<&'a Cubin<'a>>,
    previous: Option<&'a Cubin<'a>>,
    /// How they compare, as long as sections and symbols can be taken over.
    likeness: Option<Likeness>,
    /// The input's entries of the lists.
    ranges: Ranges,
    found: Found<'a>,
    symbols: Symbols,
    variables: Variables<'a>,
    /// The latest `.nv.compat`.
    compat: Option<&'a [u8]>,
}

impl<'a> Reuse<'a> {
    /// No input yet; inputs take over nothing unless this is on.
    pub(super) fn new(on: bool) -> Self {
        Self { on, ..Self::default() }
    }

    /// Parses a file, without checking again what the previous one has, too.
    pub(super) fn parse(
        on: bool,
        file: &'a [u8],
        previous: Option<&Cubin<'a>>,
    ) -> Result<Cubin<'a>, ReadError> {
        match previous.filter(|_| on) {
            Some(previous) => Cubin::parse_after(file, previous),
            None => Cubin::parse(file),
        }
    }

    /// Goes on to the next input.
    pub(super) fn start(&mut self, cubin: &'a Cubin<'a>) {
        if !self.on {
            *self = Self::default();
        }
        self.previous = self.cubin.replace(cubin);
        self.likeness = self.previous.and_then(|previous| cubin.likeness(previous));
    }

    /// The input's entries of the lists, as far as it was parsed.
    pub(super) fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// Adds the sections to the lists.
    pub(super) fn sections(&mut self, lists: &mut Lists) -> Result<&Found<'a>, String> {
        let Some(cubin) = self.cubin else { return Ok(&self.found) };
        if !self.take_over_sections(cubin, lists) {
            self.likeness = None;
            let (classes, extents) = (lists.classes.len(), lists.extents.len());
            lists.reserve_sections(cubin.sections().len());
            self.found = classify(cubin, lists)?;
            self.ranges.classes = classes..lists.classes.len();
            self.ranges.extents = extents..lists.extents.len();
        }
        Ok(&self.found)
    }

    fn take_over_sections(&mut self, cubin: &Cubin<'_>, lists: &mut Lists) -> bool {
        match self.likeness {
            Some(likeness) if self.has_same_classes(cubin, lists) => {
                likeness.same_sections || self.move_extents(cubin, lists).is_some()
            }
            _ => false,
        }
    }

    /// Whether the sections of an input with like headers have the same classes: a few depend on
    /// names, and alignments are limited by the size of the file.
    fn has_same_classes(&self, cubin: &Cubin<'_>, lists: &Lists) -> bool {
        let classes = lists.classes.get(self.ranges.classes.clone()).unwrap_or_default();
        let is_same = |&index: &u32| {
            let class = class_of(cubin, index);
            class.is_some() && class.as_ref() == classes.get(index as usize)
        };
        self.found.most_aligned <= most_alignment(cubin) && self.found.by_name.iter().all(is_same)
    }

    /// Records sections with like headers at other offsets or with other sizes; `None` if one of
    /// them is unusual.
    fn move_extents(&mut self, cubin: &Cubin<'_>, lists: &mut Lists) -> Option<()> {
        let sections = cubin.sections().plain_unnamed()?;
        let (start, previous) = (lists.extents.len(), self.ranges.extents.clone());
        lists.reserve_sections(previous.len());
        lists.extents.extend_from_within(previous);
        let extents = lists.extents.get_mut(start..).unwrap_or_default();
        let is_usual = extents.iter_mut().zip(sections).all(|(extent, section)| {
            let moved = extent.moved(&section);
            moved.map(|moved| *extent = moved).is_some()
        });
        if !is_usual {
            lists.extents.truncate(start);
            return None;
        }
        self.ranges.extents = start..lists.extents.len();
        Some(())
    }

    /// Adds the symbols to the lists, and returns whether those that are not functions are just
    /// the previous input's, and not added.
    pub(super) fn symbols(&mut self, lists: &mut Lists) -> (Symbols, bool) {
        let Some(cubin) = self.cubin else { return Default::default() };
        let repeats_data = match self.take_over_symbols(cubin, lists) {
            Some(repeats_data) => repeats_data,
            None => self.scan_symbols(cubin, lists),
        };
        (self.symbols, repeats_data)
    }

    /// Adds functions alone; `None` if the other symbols differ.
    fn take_over_symbols(&mut self, cubin: &Cubin<'a>, lists: &mut Lists) -> Option<bool> {
        let (table, same) = (cubin.symtab()?, self.likeness?.same_symbols);
        let data = lists.named.get(self.ranges.data.clone()).unwrap_or_default();
        if self.symbols.left_out || !self.variables.are_repeated(data, table, same) {
            return None;
        }
        let start = lists.named.len();
        for at in self.ranges.functions.clone() {
            let function = lists.named.get(at)?.symbol;
            let function = table.get_unnamed(function)?;
            lists.named.push(InputSymbol::of(&function, table.strings()));
        }
        self.ranges.functions = start..lists.named.len();
        Some(!self.ranges.data.is_empty())
    }

    fn scan_symbols(&mut self, cubin: &Cubin<'a>, lists: &mut Lists) -> bool {
        let (start, strings) = (lists.named.len(), cubin.symbol_strings());
        let (variables, data) = (&self.variables, self.ranges.data.clone());
        let record = |named: &[InputSymbol], position: usize, symbol: &SymbolRef<'_>| {
            let previous = match position < data.len() {
                true => named.get(data.start + position),
                false => None,
            };
            variables.record(previous, symbol, strings)
        };
        self.symbols = scan(cubin, self.ranges.classes.clone(), lists, record);
        let Lists { named, others, .. } = lists;
        self.ranges.functions = start..named.len();
        let previous = named.get(self.ranges.data.clone()).unwrap_or_default();
        if !others.is_empty() && variables::are_all_repeated(previous, others) {
            others.clear();
            return true;
        }
        self.variables = Variables::new(others, strings);
        self.ranges.data = named.len()..named.len() + others.len();
        named.append(others);
        false
    }

    /// Finds the tables that the input has as a whole, and returns whether they and what they
    /// refer to are the previous input's. If not, adds room for the functions' records.
    pub(super) fn tables(&mut self, lists: &mut Lists) -> bool {
        if self.likeness.is_some() && self.find_tables(lists) {
            return true;
        }
        self.ranges.function_info = lists.add_function_info(self.ranges.functions.len());
        false
    }

    fn find_tables(&mut self, lists: &Lists) -> bool {
        let Some(cubin) = self.cubin else { return false };
        let extents = lists.extents.get(self.ranges.extents.clone()).unwrap_or_default();
        // Name offsets are in bounds if they were before.
        let mut same = cubin.symbol_strings().len() >= self.previous_strings().len();
        for (_, section, table) in &mut self.found.tables {
            let extent = extents.get(*section as usize);
            let data = match extent.and_then(|extent| extent.bytes(cubin.bytes())) {
                Some(data) => data,
                None => cubin.unnamed_section(*section).map_or(&[][..], |s| s.data),
            };
            // The first of equal tables is kept: it is in the cache.
            if data != *table {
                (*table, same) = (data, false);
            }
        }
        same
    }

    /// Sections about the whole input.
    pub(super) fn found(&self) -> &Found<'a> {
        &self.found
    }

    /// The string table of the previous input.
    pub(super) fn previous_strings(&self) -> &'a [u8] {
        self.previous.map_or(&[], Cubin::symbol_strings)
    }

    /// Whether a `.nv.compat` is just the latest one.
    pub(super) fn is_latest_compat(&self, data: &[u8]) -> bool {
        self.compat == Some(data)
    }

    /// Remembers a `.nv.compat`.
    pub(super) fn keep_compat(&mut self, data: Option<&'a [u8]>) {
        self.compat = data.or(self.compat);
    }
}
