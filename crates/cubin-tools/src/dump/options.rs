//! What is shown, and how.

use super::names;
use cubin::classify::{self, SectionClass};
use cubin::{Cubin, SectionRef, SymbolRef};
use libwarpld::driver::is_meant;
use std::collections::HashMap;

/// Whether to colour headings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    #[default]
    Plain,
    /// With escape sequences for a terminal.
    Colour,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Part {
    Identity,
    Sections,
    Symbols,
    Relocations,
    Attributes,
    Callgraph,
    Capsules,
    Functions,
    Segments,
    Actions,
    Lines,
    Code,
    Hex,
}

impl Part {
    /// All parts that have a name in options.
    pub const ALL: [Self; 12] = [
        Self::Identity,
        Self::Sections,
        Self::Symbols,
        Self::Relocations,
        Self::Attributes,
        Self::Callgraph,
        Self::Capsules,
        Self::Functions,
        Self::Segments,
        Self::Actions,
        Self::Lines,
        Self::Code,
    ];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Sections => "sections",
            Self::Symbols => "symbols",
            Self::Relocations => "relocations",
            Self::Attributes => "attributes",
            Self::Callgraph => "callgraph",
            Self::Capsules => "capsules",
            Self::Functions => "functions",
            Self::Segments => "segments",
            Self::Actions => "actions",
            Self::Lines => "lines",
            Self::Code => "code",
            Self::Hex => "hex",
        }
    }

    /// Whether it is long, and shown on request only.
    fn is_long(self) -> bool {
        matches!(self, Self::Capsules | Self::Lines | Self::Code | Self::Hex)
    }
}

/// The order of functions, sections and symbols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// As in the file.
    #[default]
    File,
    /// By name.
    Name,
    /// The largest first.
    Size,
    /// Functions with the most registers first; all else as in the file.
    Registers,
}

impl Sort {
    /// All orders.
    pub const ALL: [Self; 4] = [Self::File, Self::Name, Self::Size, Self::Registers];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Name => "name",
            Self::Size => "size",
            Self::Registers => "registers",
        }
    }

    /// Sorts sections or symbols.
    pub(super) fn apply<'n, T>(self, items: &mut [T], key: impl Fn(&T) -> (&'n [u8], u64)) {
        match self {
            Self::Name => items.sort_by_key(|item| key(item).0),
            Self::Size => items.sort_by_key(|item| std::cmp::Reverse(key(item).1)),
            Self::File | Self::Registers => {}
        }
    }
}

/// What is left out. Words of one list are alternatives, in which `*` and `?` are wildcards; lists
/// that are empty leave nothing out.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Functions, by symbol or source name: they, and what belongs to them.
    pub functions: Vec<String>,
    /// Names of sections: they, and symbols in them.
    pub sections: Vec<String>,
    /// Kinds of sections and of symbols, as JSON names them.
    pub kinds: Vec<String>,
}

impl Filter {
    /// Whether nothing is left out.
    pub(super) fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.sections.is_empty() && self.kinds.is_empty()
    }

    pub(super) fn has_name(&self, name: &[u8]) -> bool {
        self.functions.is_empty() || is_meant(&names::lossy(name), &self.functions)
    }

    pub(super) fn has_kind(&self, kind: &str) -> bool {
        self.kinds.is_empty() || is_meant(kind, &self.kinds)
    }

    /// Whether a section is shown, whatever its kind.
    fn has_place(&self, cubin: &Cubin<'_>, section: &SectionRef<'_>) -> bool {
        let named = self.sections.is_empty()
            || is_meant(&names::lossy(section.name), &self.sections)
            || target(cubin, section)
                .is_some_and(|of| is_meant(&names::lossy(of.name), &self.sections));
        let owned = || owner(cubin, section).is_some_and(|function| self.has_name(function));
        named && (self.functions.is_empty() || owned())
    }

    /// Whether a section is shown.
    pub(super) fn has_section(&self, cubin: &Cubin<'_>, section: &SectionRef<'_>) -> bool {
        self.has_kind(names::section_class(classify::section(section).class))
            && self.has_place(cubin, section)
    }

    /// Whether a symbol is shown.
    pub(super) fn has_symbol(&self, cubin: &Cubin<'_>, symbol: &SymbolRef<'_>) -> bool {
        if self.is_empty() {
            return true;
        }
        let kind = names::symbol_class(classify::symbol(cubin, symbol));
        let section = cubin.section(symbol.shndx).filter(|_| !symbol.reserved);
        let named = !self.functions.is_empty() && self.has_name(symbol.name);
        let place = section.is_some_and(|section| self.has_place(cubin, &section));
        self.has_kind(&kind) && (place || named && self.sections.is_empty() || self.is_of_kinds())
    }

    /// Whether only kinds are asked for.
    fn is_of_kinds(&self) -> bool {
        self.functions.is_empty() && self.sections.is_empty()
    }

    /// Whether a function is shown.
    pub(super) fn has_function(&self, name: &[u8], kernel: bool, text: Option<&[u8]>) -> bool {
        let is_in = |text: &[u8]| is_meant(&names::lossy(text), &self.sections);
        self.has_name(name)
            && self.has_kind(if kernel { "kernel" } else { "function" })
            && (self.sections.is_empty() || text.is_some_and(is_in))
    }
}

/// The section that relocations are for.
fn target<'a>(cubin: &Cubin<'a>, section: &SectionRef<'_>) -> Option<SectionRef<'a>> {
    match classify::section(section).class {
        SectionClass::Relocations { target } => cubin.section(target),
        SectionClass::ResolvedRela => cubin.section(section.info),
        _ => None,
    }
}

/// The function that a section belongs to.
fn owner<'a>(cubin: &Cubin<'a>, section: &SectionRef<'a>) -> Option<&'a [u8]> {
    let section = target(cubin, section).unwrap_or(*section);
    match classify::section(&section).class {
        SectionClass::Text(function)
        | SectionClass::Local(function)
        | SectionClass::Shared(function)
        | SectionClass::Capsule(function) => Some(function),
        SectionClass::Info(function)
        | SectionClass::Constant { function, .. }
        | SectionClass::NamedConstant { function, .. } => function,
        _ => None,
    }
}

/// Instructions as a disassembler wrote them: by section, then by offset.
pub type Disassembly = HashMap<String, HashMap<u64, String>>;

/// What is shown, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The parts; if there are none, all that are not long.
    pub only: Vec<Part>,
    /// Whether text begins with the file's name even without the identity: for one of several.
    pub named: bool,
    /// What is left out.
    pub filter: Filter,
    /// The order of lists.
    pub sort: Sort,
    /// Names of sections to show as hexadecimal numbers.
    pub hex: Vec<String>,
    /// Texts of instructions.
    pub disassembly: Disassembly,
    /// Whether to colour headings.
    pub style: Style,
    /// Columns of the terminal; lines that are longer are wrapped.
    pub width: Option<usize>,
}

impl Options {
    /// How many names there are in filters.
    pub fn filter_words(&self) -> usize {
        self.filter.functions.len() + self.filter.sections.len() + self.hex.len()
    }

    /// The names of filters that nothing in a file has.
    pub fn unmatched(&self, cubin: &Cubin<'_>) -> Vec<&str> {
        let sections = || cubin.sections().iter().map(|s| names::lossy(s.name).into_owned());
        let symbols = || cubin.symbols().map(|s| names::lossy(s.name).into_owned());
        let functions = missing(&self.filter.functions, symbols);
        let named = missing(&self.filter.sections, sections);
        functions.into_iter().chain(named).chain(missing(&self.hex, sections)).collect()
    }

    pub(super) fn wants(&self, part: Part) -> bool {
        self.only.contains(&part) || self.only.is_empty() && !part.is_long()
    }
}

/// The words that none of the names answers to.
fn missing<I: Iterator<Item = String>>(words: &[String], names: impl Fn() -> I) -> Vec<&str> {
    let is_missing =
        |word: &&String| !names().any(|name| is_meant(&name, std::slice::from_ref(*word)));
    words.iter().filter(is_missing).map(String::as_str).collect()
}
