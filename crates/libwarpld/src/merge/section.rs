//! Output sections. Links have hundreds of thousands, and every phase after the merge walks them,
//! so rare properties are stored separately.

use super::NewSection;
use crate::align::align_up;
use crate::ids::{InputSection, ObjectId, OptId, OutSymbolId, SectionId, SymbolId};
use cubin::SectionType;
use std::ops::Deref;

/// An input section's bytes at an offset of an output section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where the bytes come from.
    pub from: InputSection,
    /// Where they go.
    pub offset: u64,
}

/// The chunks of an output section.
#[derive(Clone, Copy, Debug)]
pub enum Chunks<'m> {
    /// One, as a rule.
    One(Chunk),
    /// Any number of them.
    Many(&'m [Chunk]),
}

impl Deref for Chunks<'_> {
    type Target = [Chunk];

    #[inline]
    fn deref(&self) -> &[Chunk] {
        match self {
            Chunks::One(chunk) => std::slice::from_ref(chunk),
            Chunks::Many(chunks) => chunks,
        }
    }
}

/// The contents of an output section.
#[derive(Clone, Copy, Debug)]
pub enum Content<'m> {
    /// `.shstrtab`, `.strtab`, `.symtab`, notes, compat, call graph, prototype,
    /// relocation actions: made by the linker.
    Synthetic(Synthetic),
    /// Bytes of inputs.
    Chunks(Chunks<'m>),
    /// Attribute records of inputs.
    Attributes(&'m [InputSection]),
    /// Relocations of inputs for the target section.
    Relocs(SectionId, &'m [InputSection]),
    /// Relocations that were applied, kept on request (`--preserve-relocs`), for
    /// all sections of one name.
    ResolvedRelocs(&'m [SectionId]),
    /// Texture, sampler and surface handles in a kernel's parameter bank.
    ImageRelocs(SectionId),
}

/// Sections the linker itself writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Synthetic {
    SectionNames,
    SymbolNames,
    Symbols,
    SymbolSections,
    ToolNote,
    VersionNote,
    Compat,
    CallGraph,
    Prototype,
    RelAction,
    HostFile,
    UnifiedIndex,
}

/// The contents of an output section, see [`Content`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewContent {
    Synthetic(Synthetic),
    Chunks,
    Attributes,
    Relocs { target: SectionId },
    ResolvedRelocs,
    ImageRelocs { target: SectionId },
}

/// [`NewContent`] without what is elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Synthetic(Synthetic),
    Chunks,
    Attributes,
    Relocs,
    ResolvedRelocs,
    ImageRelocs,
}

/// An output section.
#[derive(Debug)]
pub struct Section {
    /// Offset of the name in `.shstrtab`.
    pub name: u32,
    /// Index by creation, counting mentions of other names; see
    /// [`super::Merged::needs_symbol_sections`].
    pub creation_index: u32,
    /// Type in the output.
    pub kind: SectionType,
    /// Function it belongs to (`.text.F`, `.nv.info.F` …).
    pub function: OptId<SymbolId>,
    /// Its section symbol.
    pub symbol: OptId<OutSymbolId>,
    /// Output sections of its relocations, without and with addends; of relocations for
    /// another section, that one.
    relocs: [OptId<SectionId>; 2],
    content: Kind,
    // The fields from here on are unused if there is a `rest`.
    flags: u32,
    size: u32,
    /// 0 if it is 0, otherwise log2 plus one.
    align: u8,
    entsize: u8,
    /// [`NO_BANK`] if there is none.
    bank: u8,
    /// The only input section in it, at offset 0; [`NOTHING`] before it comes.
    only: InputSection,
    rest: Option<Box<Rest>>,
}

const _: () = assert!(size_of::<Section>() <= 56);

const NO_BANK: u8 = u8::MAX;

const NOTHING: InputSection = InputSection { object: ObjectId::new(u32::MAX as usize), section: 0 };

/// A section made of several others, or with odd properties (which nothing needs, but inputs may
/// have).
#[derive(Debug)]
struct Rest {
    flags: u64,
    size: u64,
    align: u64,
    entsize: u64,
    bank: Option<u8>,
    chunks: Vec<Chunk>,
    sources: Vec<InputSection>,
    targets: Vec<SectionId>,
}

impl Section {
    #[inline]
    pub(super) fn new(
        name: u32,
        creation_index: u32,
        symbol: Option<OutSymbolId>,
        new: &NewSection<'_>,
    ) -> Self {
        let (content, target) = match new.content {
            NewContent::Synthetic(what) => (Kind::Synthetic(what), None),
            NewContent::Chunks => (Kind::Chunks, None),
            NewContent::Attributes => (Kind::Attributes, None),
            NewContent::Relocs { target } => (Kind::Relocs, Some(target)),
            NewContent::ResolvedRelocs => (Kind::ResolvedRelocs, None),
            NewContent::ImageRelocs { target } => (Kind::ImageRelocs, Some(target)),
        };
        let mut section = Self {
            name,
            creation_index,
            kind: new.kind,
            function: new.function.into(),
            symbol: symbol.into(),
            relocs: [target.into(), OptId::NONE],
            content,
            flags: 0,
            size: 0,
            align: 0,
            entsize: 0,
            bank: NO_BANK,
            only: NOTHING,
            rest: None,
        };
        match (u32::try_from(new.flags), u8::try_from(new.entsize)) {
            (Ok(flags), Ok(entsize)) => (section.flags, section.entsize) = (flags, entsize),
            _ => {
                let rest = section.rest();
                (rest.flags, rest.entsize) = (new.flags, new.entsize);
            }
        }
        section.set_align(new.align);
        section
    }

    /// Whether the section has no bytes in the file.
    #[inline]
    pub fn is_nobits(&self) -> bool {
        self.kind.is_nobits()
    }

    /// Flags.
    #[inline]
    pub fn flags(&self) -> u64 {
        self.rest.as_ref().map_or(self.flags.into(), |rest| rest.flags)
    }

    /// Size of the chunks; layout and relocate know the final size of the rest.
    #[inline]
    pub fn size(&self) -> u64 {
        self.rest.as_ref().map_or(self.size.into(), |rest| rest.size)
    }

    /// Alignment.
    #[inline]
    pub fn align(&self) -> u64 {
        let own = || self.align.checked_sub(1).map_or(0, |power| 1 << power);
        self.rest.as_ref().map_or_else(own, |rest| rest.align)
    }

    /// Entry size.
    #[inline]
    pub fn entsize(&self) -> u64 {
        self.rest.as_ref().map_or(self.entsize.into(), |rest| rest.entsize)
    }

    /// Constant bank.
    #[inline]
    pub fn bank(&self) -> Option<u8> {
        let own = || Some(self.bank).filter(|&bank| bank != NO_BANK);
        self.rest.as_ref().map_or_else(own, |rest| rest.bank)
    }

    /// The output section of its relocations without addends.
    #[inline]
    pub fn rel(&self) -> Option<SectionId> {
        self.relocs[0].get().filter(|_| !self.is_relocs())
    }

    /// The same with addends.
    #[inline]
    pub fn rela(&self) -> Option<SectionId> {
        self.relocs[1].get()
    }

    fn is_relocs(&self) -> bool {
        matches!(self.content, Kind::Relocs | Kind::ImageRelocs)
    }

    /// What it is made of.
    #[inline]
    pub fn content(&self) -> Content<'_> {
        match self.content {
            Kind::Synthetic(what) => Content::Synthetic(what),
            Kind::Chunks => Content::Chunks(self.chunks()),
            Kind::Attributes => Content::Attributes(self.sources()),
            Kind::Relocs => Content::Relocs(self.target(), self.sources()),
            Kind::ResolvedRelocs => {
                Content::ResolvedRelocs(self.rest.as_ref().map_or(&[], |rest| &rest.targets))
            }
            Kind::ImageRelocs => Content::ImageRelocs(self.target()),
        }
    }

    /// Whether it is made of bytes of inputs.
    #[inline]
    pub fn is_chunks(&self) -> bool {
        self.content == Kind::Chunks
    }

    /// Whether it is made of attribute records of inputs.
    #[inline]
    pub fn is_attributes(&self) -> bool {
        self.content == Kind::Attributes
    }

    /// The section it relocates, if it holds emitted relocations.
    #[inline]
    pub fn relocates(&self) -> Option<SectionId> {
        self.is_relocs().then(|| self.target())
    }

    /// Whether the linker makes it for this purpose.
    #[inline]
    pub fn is_synthetic(&self, what: Synthetic) -> bool {
        self.content == Kind::Synthetic(what)
    }

    /// The target of relocations, which is known since they were created.
    #[inline]
    fn target(&self) -> SectionId {
        self.relocs[0].get().unwrap_or(SectionId::new(0))
    }

    #[inline]
    pub(super) fn chunks(&self) -> Chunks<'_> {
        match &self.rest {
            Some(rest) => Chunks::Many(&rest.chunks),
            None if self.only == NOTHING => Chunks::Many(&[]),
            None => Chunks::One(Chunk { from: self.only, offset: 0 }),
        }
    }

    #[inline]
    fn sources(&self) -> &[InputSection] {
        match &self.rest {
            Some(rest) => &rest.sources,
            None if self.only == NOTHING => &[],
            None => std::slice::from_ref(&self.only),
        }
    }

    /// Appends bytes of an input with this size and alignment, and returns their offset.
    #[inline]
    pub(super) fn append(&mut self, from: InputSection, align: u64, size: u64) -> u64 {
        // Most sections are made of one.
        if let (None, NOTHING, 0, Ok(size), true) =
            (&self.rest, self.only, self.size, u32::try_from(size), align.is_power_of_two())
        {
            (self.only, self.size) = (from, size);
            self.align = self.align.max(align.trailing_zeros() as u8 + 1);
            return 0;
        }
        let offset = align_up(self.size(), align);
        self.set_size(offset.saturating_add(size));
        self.set_align(self.align().max(align));
        self.add_chunk(Chunk { from, offset });
        offset
    }

    #[inline]
    fn add_chunk(&mut self, chunk: Chunk) {
        match self.rest.is_none() && self.only == NOTHING && chunk.offset == 0 {
            true => self.only = chunk.from,
            false => push(&mut self.rest().chunks, chunk),
        }
    }

    /// Drops all chunks.
    pub(super) fn clear_chunks(&mut self) {
        self.set_size(0);
        self.only = NOTHING;
        if let Some(rest) = &mut self.rest {
            rest.chunks.clear();
        }
    }

    /// Appends attributes or relocations of an input.
    #[inline]
    pub(super) fn add_source(&mut self, from: InputSection) {
        match self.rest.is_none() && self.only == NOTHING {
            true => self.only = from,
            false => push(&mut self.rest().sources, from),
        }
    }

    /// Appends relocations that were applied to a section.
    pub(super) fn add_resolved(&mut self, target: SectionId) {
        self.rest().targets.push(target);
    }

    #[inline]
    fn set_size(&mut self, size: u64) {
        match u32::try_from(size) {
            Ok(size) if self.rest.is_none() => self.size = size,
            _ => self.rest().size = size,
        }
    }

    #[inline]
    fn set_align(&mut self, align: u64) {
        let power = match align {
            0 => Some(0),
            _ => align.is_power_of_two().then(|| align.trailing_zeros() as u8 + 1),
        };
        match power {
            Some(power) if self.rest.is_none() => self.align = power,
            _ => self.rest().align = align,
        }
    }

    pub(super) fn set_bank(&mut self, bank: Option<u8>) {
        match bank.unwrap_or(NO_BANK) {
            own if self.rest.is_none() && bank != Some(NO_BANK) => self.bank = own,
            _ => self.rest().bank = bank,
        }
    }

    /// Records the section of its relocations, with or without addends.
    pub(super) fn set_relocs(&mut self, rela: bool, relocs: SectionId) {
        self.relocs[usize::from(rela)] = relocs.into();
    }

    /// Moves what does not fit the section itself into a `rest`.
    #[cold]
    fn rest(&mut self) -> &mut Rest {
        let full = self.rest.take().unwrap_or_else(|| {
            let is_chunks = self.content == Kind::Chunks;
            Box::new(Rest {
                flags: self.flags(),
                size: self.size(),
                align: self.align(),
                entsize: self.entsize(),
                bank: self.bank(),
                chunks: if is_chunks { self.chunks().to_vec() } else { Vec::new() },
                sources: if is_chunks { Vec::new() } else { self.sources().to_vec() },
                targets: Vec::new(),
            })
        });
        self.rest.insert(full)
    }
}

/// Appends to a list. A link has few long ones, usually with a member for each input. Growing
/// copies it into fresh memory; unused room costs nothing.
fn push<T>(list: &mut Vec<T>, item: T) {
    const LONG: usize = 64;
    if list.len() == list.capacity() && list.len() >= LONG {
        list.reserve(list.len() * 7);
    }
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::super::Text;
    use super::*;

    fn section(content: NewContent, flags: u64, align: u64, entsize: u64) -> Section {
        let (name, kind) = (Text::new(b""), SectionType::PROGBITS);
        let (has_symbol, function) = (false, None);
        let new = NewSection { name, kind, flags, align, entsize, content, has_symbol, function };
        Section::new(1, 1, None, &new)
    }

    fn chunk(section: u32, offset: u64) -> Chunk {
        Chunk { from: InputSection { object: ObjectId::new(7), section }, offset }
    }

    #[test]
    fn odd_properties_survive() {
        for flags in [0, 6, u32::MAX.into(), u64::MAX] {
            for align in [0, 1, 3, 128, 1 << 63, u64::MAX] {
                for entsize in [0, 24, 256, u64::MAX] {
                    let mut section = section(NewContent::Chunks, flags, align, entsize);
                    assert_eq!(section.bank(), None);
                    for bank in [Some(0), Some(3), None, Some(u8::MAX), Some(2)] {
                        section.set_bank(bank);
                        assert_eq!(section.bank(), bank);
                    }
                    section.set_size(u64::MAX);
                    section.add_chunk(chunk(1, 0));
                    let all = (section.flags(), section.align(), section.entsize(), section.size());
                    assert_eq!(all, (flags, align, entsize, u64::MAX));
                    assert_eq!(*section.chunks(), [chunk(1, 0)]);
                }
            }
        }
    }

    /// As large and as aligned as all that is in it, however odd that is.
    #[test]
    fn sections_grow() {
        for aligns in [[4, 8, 4], [0, 3, 16], [128, 1, 0], [1 << 40, 4, 24]] {
            let mut section = section(NewContent::Chunks, 6, 2, 0);
            let (mut end, mut most) = (0, 2);
            for (i, align) in (1..).zip(aligns) {
                let from = InputSection { object: ObjectId::new(7), section: i };
                let offset = section.append(from, align, 10);
                assert_eq!(offset, align_up(end, align));
                (end, most) = (offset + 10, align.max(most));
                assert_eq!((section.size(), section.align()), (end, most));
                assert_eq!(section.chunks().last(), Some(&chunk(i, offset)));
            }
        }
    }

    #[test]
    fn members_come_in_order() {
        let mut section = section(NewContent::Chunks, 6, 4, 0);
        assert!(section.chunks().is_empty());
        let chunks = [chunk(3, 0), chunk(1, 4), chunk(2, 8)];
        for (i, chunk) in chunks.iter().enumerate() {
            section.add_chunk(*chunk);
            assert_eq!(*section.chunks(), chunks[..=i]);
        }
        section.clear_chunks();
        assert!(section.chunks().is_empty());
        section.add_chunk(chunks[1]);
        assert_eq!(*section.chunks(), [chunks[1]]);
    }

    #[test]
    fn relocations_know_their_target() {
        let mut section = section(NewContent::Relocs { target: SectionId::new(9) }, 0, 8, 24);
        assert_eq!(section.rel(), None);
        let sources = [4, 5].map(|section| InputSection { object: ObjectId::new(1), section });
        for (i, from) in sources.into_iter().enumerate() {
            section.add_source(from);
            let Content::Relocs(target, from) = section.content() else { panic!() };
            assert_eq!((target, from), (SectionId::new(9), &sources[..=i]));
        }
    }
}
