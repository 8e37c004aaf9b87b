//! What `merge` produces: output sections and symbols in creation order.

use super::section::{Content, Section, Synthetic};
use super::strings::StringTables;
use crate::align::align_up;
use crate::collections::Map;
use crate::context::Analysis;
use crate::ids::{
    FunctionId, IdVec, InputSection, ObjectId, OptId, OutSymbolId, SectionId, SymbolId,
};
use crate::usage::CodeOrder;
use cubin::Binding;
use cubin::consts::shn;

/// Which part of the symbol table a symbol was appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// LOCAL and WEAK symbols.
    Local,
    /// GLOBAL and undefined symbols.
    Global,
}

/// The meaning of an output symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A section.
    Section(SectionId),
    /// A resolved symbol.
    Symbol(SymbolId),
    /// A kernel's instance of the dynamic shared array, in a relocatable file.
    DynamicInstance(FunctionId),
}

/// An output symbol; its fields are derived from its meaning at the end.
#[derive(Clone, Copy, Debug)]
pub struct OutSymbol {
    /// Offset of the name in `.strtab`.
    pub name: u32,
    /// The id of its meaning; the highest bits hold the kind of meaning and the list.
    what: u32,
}

/// Marks symbols of [`List::Global`].
const GLOBAL: u32 = 1 << 31;

/// Position of the kind of a [`Meaning`]. Ids of sections and symbols never reach that bit.
const KIND: u32 = 29;

impl OutSymbol {
    #[inline]
    pub(super) fn new(name: u32, list: List, meaning: Meaning) -> Self {
        let (kind, id) = match meaning {
            Meaning::Section(id) => (0, id.as_u32()),
            Meaning::Symbol(id) => (1, id.as_u32()),
            Meaning::DynamicInstance(kernel) => (2, kernel.as_u32()),
        };
        let list = if list == List::Global { GLOBAL } else { 0 };
        Self { name, what: list | kind << KIND | id }
    }

    /// Part of the table.
    #[inline]
    pub fn list(&self) -> List {
        if self.what & GLOBAL != 0 { List::Global } else { List::Local }
    }

    /// What it stands for.
    #[inline]
    pub fn meaning(&self) -> Meaning {
        let id = self.what & ((1 << KIND) - 1);
        match (self.what & !GLOBAL) >> KIND {
            0 => Meaning::Section(SectionId::from(id)),
            1 => Meaning::Symbol(SymbolId::from(id)),
            _ => Meaning::DynamicInstance(FunctionId::from(id)),
        }
    }
}

/// Place of an input section in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Output section.
    pub section: SectionId,
    /// Offset there.
    pub offset: u64,
}

/// Offsets of all input sections in four bytes each: most are alone in their output section.
#[derive(Debug)]
pub struct Placements {
    /// Where the sections of each input start in `sections`.
    starts: Vec<usize>,
    /// Output section plus one; 0 for none. Flagged with [`INSIDE`] if it has an offset there.
    sections: Vec<u32>,
    /// The offsets of those, by index in `sections`.
    offsets: Vec<(usize, u64)>,
    /// Where those of each input start, once all are recorded.
    first_offsets: Vec<u32>,
}

/// Flags input sections with an offset. Ids of output sections never reach that bit.
const INSIDE: u32 = 1 << 31;

impl Placements {
    /// For inputs with these numbers of sections.
    pub(super) fn new(counts: impl ExactSizeIterator<Item = usize>) -> Self {
        let (mut starts, mut total) = (Vec::with_capacity(counts.len() + 1), 0);
        starts.push(0);
        for count in counts {
            total += count;
            starts.push(total);
        }
        let (offsets, first_offsets) = (Vec::new(), Vec::new());
        Self { starts, sections: vec![0; total], offsets, first_offsets }
    }

    #[inline]
    fn index(&self, object: ObjectId, section: u32) -> Option<usize> {
        let start = *self.starts.get(object.index())?;
        let end = *self.starts.get(object.index() + 1)?;
        Some(start + section as usize).filter(|&index| index < end)
    }

    /// Where an input section went.
    #[inline]
    pub fn get(&self, object: ObjectId, section: u32) -> Option<Placement> {
        let index = self.index(object, section)?;
        let noted = self.sections[index];
        let section = SectionId::from((noted & !INSIDE).checked_sub(1)?);
        let offset = if noted & INSIDE != 0 { self.offset(object, index) } else { 0 };
        Some(Placement { section, offset })
    }

    /// The output section that an input section went to.
    #[inline]
    pub(super) fn section(&self, object: ObjectId, section: u32) -> Option<SectionId> {
        let noted = self.sections[self.index(object, section)?];
        Some(SectionId::from((noted & !INSIDE).checked_sub(1)?))
    }

    /// Records where an input section went.
    pub(super) fn set(&mut self, from: InputSection, at: Placement) {
        let Some(index) = self.index(from.object, from.section) else { return };
        let inside = at.offset != 0;
        self.sections[index] = (at.section.as_u32() + 1) | if inside { INSIDE } else { 0 };
        if !inside {
            return;
        }
        // Inputs come in order, and their sections nearly so.
        let after = match self.offsets.last() {
            Some(&(last, _)) if last >= index => self.offsets.partition_point(|o| o.0 < index),
            _ => self.offsets.len(),
        };
        match self.offsets.get_mut(after) {
            Some((known, offset)) if *known == index => *offset = at.offset,
            _ => self.offsets.insert(after, (index, at.offset)),
        }
    }

    /// Records where the offsets of each input start. Nothing is added after that.
    pub(super) fn close(&mut self) {
        let mut first = Vec::with_capacity(self.starts.len());
        let mut at = 0;
        for &start in &self.starts {
            let before = self.offsets[at..].iter().take_while(|&&(index, _)| index < start);
            at += before.count();
            first.push(at as u32);
        }
        self.first_offsets = first;
    }

    fn offset(&self, object: ObjectId, index: usize) -> u64 {
        // Most inputs have one.
        let object = object.index();
        let own = match self.first_offsets.get(object..object + 2) {
            Some(&[start, end]) => &self.offsets[start as usize..end as usize],
            _ => &self.offsets,
        };
        let at = own.binary_search_by_key(&index, |&(index, _)| index);
        at.map_or(0, |at| own[at].1)
    }
}

/// Output sections of one function.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionSections {
    /// `.text.F`
    pub text: OptId<SectionId>,
    /// `.nv.info.F`
    pub info: OptId<SectionId>,
    /// `.nv.shared.F`
    pub shared: OptId<SectionId>,
    /// `.nv.constant0.F`
    pub constant0: OptId<SectionId>,
}

/// The code of an ordinary function, which has its section to itself, and properties of the
/// definition.
#[derive(Clone, Copy, Debug, Default)]
pub struct Code {
    /// The output section; none if the function is not ordinary.
    pub section: OptId<SectionId>,
    /// Its size.
    pub size: u32,
    /// `st_other` of the definition.
    pub other: u8,
    /// `st_other` where the function is first seen.
    pub first_other: u8,
    /// Its binding, as the link has it.
    pub binding: Binding,
}

const _: () = assert!(size_of::<Code>() <= 12);

/// Constant bank 2 contributions of one device function.
#[derive(Clone, Debug, Default)]
pub struct Bank2Parts {
    /// The section it was created with, replaced or not.
    pub first: Option<InputSection>,
    /// The selected copy and the discarded ones after it.
    pub parts: Vec<InputSection>,
    /// Better definitions of which the first part begins with the data (`bank2-kept`).
    pub laid_over: Vec<InputSection>,
    /// Largest alignment ever seen, replaced copies included.
    pub align: u64,
    /// Relocation sections for the data, in input order, and the data's offset when each was read;
    /// those of replaced copies stay.
    pub relocs: Vec<(InputSection, u64)>,
}

impl Bank2Parts {
    /// The parts with their offsets, one after the other.
    pub fn offsets(&self, cx: Analysis<'_, '_>) -> Vec<(InputSection, u64)> {
        let mut end: u64 = 0;
        let place = |&from: &InputSection| {
            let object = &cx.objects[from.object];
            let input = object.cubin.section(from.section)?;
            let offset = align_up(end, input.align);
            end = offset.saturating_add(cx.linked_size(from.object, &input));
            Some((from, offset))
        };
        self.parts.iter().filter_map(place).collect()
    }
}

/// Everything created by `merge`.
#[derive(Debug)]
pub struct Merged {
    /// Sections in creation order.
    pub sections: IdVec<SectionId, Section>,
    /// Symbols in creation order (both lists).
    pub symbols: IdVec<OutSymbolId, OutSymbol>,
    /// Output symbol of each resolved symbol.
    pub symbol_of: IdVec<SymbolId, OptId<OutSymbolId>>,
    /// `.shstrtab`, and `.strtab`: prototypes, then section and local names in
    /// creation order, then what global names add.
    pub strings: StringTables,
    /// Number of the section created or mentioned last.
    pub creation_index: u32,
    /// Where each input section went.
    pub placements: Placements,
    /// Sections of each function.
    pub function_sections: IdVec<FunctionId, FunctionSections>,
    /// Code of each function.
    pub code: IdVec<FunctionId, Code>,
    /// `.nv.constant2.F` of the functions that have it.
    pub constant2: Map<FunctionId, SectionId>,
    /// Live functions in creation order.
    pub function_order: Vec<FunctionId>,
    /// The shared-memory section of device functions, if any input has one.
    pub common_shared: Option<SectionId>,
    /// Constant bank 2 contributions of each function, see `layout::bank2`.
    pub bank2: std::collections::BTreeMap<FunctionId, Bank2Parts>,
    /// The keys of `bank2` in the order in which they came.
    pub bank2_order: Vec<FunctionId>,
    /// Device functions with bank 2 data, last first, and the kernels that reach
    /// each, last first.
    pub bank2_users: Vec<(FunctionId, Vec<FunctionId>)>,
    /// `.nv.constant3`.
    pub constant3: Option<SectionId>,
    /// If the bank overflows and unused constants are dropped: those that stay, in order.
    pub used_constants: Option<Vec<SymbolId>>,
    /// `.nv.global`, if a common symbol needs it.
    pub common_storage: Option<SectionId>,
    /// Instances of dynamic arrays, by kernel.
    pub instances: Map<FunctionId, OutSymbolId>,
    /// Symbols ever seen as common, in order.
    pub commons: Vec<SymbolId>,
    /// Inputs up to which (exclusive) debug relocations against a replaced weak
    /// function are dropped.
    pub debug_cut: Map<SymbolId, ObjectId>,
}

impl Merged {
    /// Whether the file has `.symtab_shndx`. nvlink decides that by the number of sections it ever
    /// created, including those it drops at the end.
    pub fn needs_symbol_sections(&self) -> bool {
        self.creation_index >= shn::LORESERVE
    }

    /// The section with this id.
    pub fn section(&self, id: SectionId) -> &Section {
        &self.sections[id]
    }

    /// The section that the linker creates for this purpose, if there is one.
    pub fn synthetic(&self, what: Synthetic) -> Option<SectionId> {
        self.sections.iter().position(|s| s.is_synthetic(what)).map(SectionId::new)
    }

    /// The code of an ordinary function.
    #[inline]
    pub fn code_of(&self, cx: Analysis<'_, '_>, id: SymbolId) -> Option<(SectionId, Code)> {
        let function = cx.graph.function(id)?;
        let code = self.code[function];
        Some((code.section.get()?, code))
    }

    /// The resolved symbols that the output has, last first.
    pub fn symbols_last_first(&self) -> impl Iterator<Item = SymbolId> {
        self.symbols.iter().rev().filter_map(|symbol| match symbol.meaning() {
            Meaning::Symbol(id) => Some(id),
            _ => None,
        })
    }

    /// Where an input section went.
    pub fn placement(&self, object: ObjectId, section: u32) -> Option<Placement> {
        self.placements.get(object, section)
    }

    /// Name of a section.
    pub fn section_name(&self, id: SectionId) -> &[u8] {
        self.strings.section_name(self.section(id).name)
    }
}

impl CodeOrder for Merged {
    fn text(&self, function: FunctionId) -> Option<SectionId> {
        self.function_sections[function].text.get()
    }

    fn first_relocs(&self, function: FunctionId) -> Option<(ObjectId, u32)> {
        let text = self.section(self.text(function)?);
        let first = |relocs: SectionId| {
            let Content::Relocs(_, sources) = self.section(relocs).content() else { return None };
            sources.iter().map(|from| (from.object, from.section)).min()
        };
        text.rel().into_iter().chain(text.rela()).filter_map(first).min()
    }
}
