//! The string tables of a finalizer that writes them anew: names in the order of sections and
//! symbols, and none that nothing refers to. [`names-anew`]

use super::names::Names;
use super::sections::{Body, FileSection, GAP_AFTER_NAMES};
use crate::collections::Map;
use cubin::SectionType;
use cubin::callgraph::List;
use cubin::encode::{SHSTRTAB, STRTAB, SYMTAB};
use cubin::raw::{Pair, Sym64};
use zerocopy::FromBytes;

/// A string table, and where its strings were in the old one.
struct Strings<'a> {
    old: &'a [u8],
    new: Vec<u8>,
    places: Map<&'a [u8], u32>,
}

impl<'a> Strings<'a> {
    fn new(old: &'a [u8]) -> Self {
        Self { old, new: vec![0], places: Map::from_iter([(&b""[..], 0)]) }
    }

    fn old(&self, at: u32) -> &'a [u8] {
        let rest = self.old.get(at as usize..).unwrap_or_default();
        rest.split(|&c| c == 0).next().unwrap_or_default()
    }

    /// The new place of a string, which is added unless it is there.
    fn moved(&mut self, at: u32) -> u32 {
        let text = self.old(at);
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.new.len() as u32;
        self.new.extend_from_slice(text);
        self.new.push(0);
        self.places.insert(text, place);
        place
    }
}

/// Replaces both tables of a file whose sections are in their final order.
pub fn rebuild(names: &Names, adds_numbers: bool, sections: &mut [FileSection<'_>]) {
    let mut section_names = Strings::new(&names.section_names);
    for section in sections.iter_mut() {
        section.header.name = section_names.moved(section.header.name);
    }
    if !adds_numbers {
        // What was a gap before belongs to the table.
        let size = section_names.new.len() + GAP_AFTER_NAMES as usize;
        section_names.new.resize(size, 0);
    }
    let mut strings = Strings::new(&names.strings);
    let is_symbols = |number: usize, kind| {
        number + 1 == SYMTAB as usize || kind == SectionType::CUDA_MERCURY_SYMTAB
    };
    for (number, section) in sections.iter_mut().enumerate() {
        if is_symbols(number, section.header.kind) {
            move_symbols(&mut section.body, &mut strings);
        }
    }
    for (call_graph, prototypes) in [
        (SectionType::CUDA_CALLGRAPH, SectionType::CUDA_PROTOTYPE),
        (SectionType::CUDA_MERCURY_CALLGRAPH, SectionType::CUDA_MERCURY_PROTOTYPE),
    ] {
        for section in sections.iter_mut().filter(|s| s.header.kind == call_graph) {
            move_call_graph(&mut section.body, &mut strings);
        }
        for section in sections.iter_mut().filter(|s| s.header.kind == prototypes) {
            move_pairs(&mut section.body, &mut |_, second| strings.moved(second));
        }
    }
    for (number, bytes) in [(SHSTRTAB, section_names.new), (STRTAB, strings.new)] {
        if let Some(section) = sections.get_mut(number as usize - 1) {
            section.header.size = bytes.len() as u64;
            section.body = Body::Bytes(bytes.into());
            section.gap = 0;
        }
    }
}

fn move_symbols(body: &mut Body<'_>, strings: &mut Strings<'_>) {
    let Body::Bytes(bytes) = body else { return };
    let Ok(symbols) = <[Sym64]>::mut_from_bytes(bytes.to_mut()) else { return };
    for symbol in symbols {
        symbol.st_name = strings.moved(symbol.st_name.get()).into();
    }
}

/// Lists of prototypes name them by strings; the others are of functions.
fn move_call_graph(body: &mut Body<'_>, strings: &mut Strings<'_>) {
    let mut named = false;
    move_pairs(body, &mut |first, second| {
        let pair = Pair { first: first.into(), second: second.into() };
        if let Some(list) = List::opened_by(pair) {
            named = !list.second_is_symbol();
            return second;
        }
        if named { strings.moved(second) } else { second }
    });
}

fn move_pairs(body: &mut Body<'_>, second: &mut dyn FnMut(u32, u32) -> u32) {
    let Body::Bytes(bytes) = body else { return };
    let Ok(pairs) = <[Pair]>::mut_from_bytes(bytes.to_mut()) else { return };
    for pair in pairs {
        pair.second = second(pair.first.get(), pair.second.get()).into();
    }
}
