//! One input of the link: a validated cubin with the tables that several
//! phases consult, read once and in parallel.

use crate::diag::Diagnostic;
use crate::input::LinkInput;
use crate::lists::{CallLists, Prototype};
use crate::named::Named;
use crate::unified::is_entries;
use cubin::consts::sto;
use cubin::half::Halves;
use cubin::raw::Pair;
use cubin::reloc::{self, RelocType};
use cubin::{Binding, Cubin, FileType, SectionRef, SymbolRef, SymbolType, info, note};
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::sync::Arc;
use zerocopy::FromBytes;

mod classify;

pub use classify::{SectionClass, constant_bank};

use classify::classify;

/// Index of an input in link order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// Which side of its inputs a link works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Machine code, as all targets before sm_100 have it.
    Machine,
    /// Mercury, with the machine code made to follow.
    Mercury,
}

/// A parsed input.
#[derive(Debug)]
pub struct Object<'a> {
    /// Name in messages.
    pub name: &'a str,
    /// The file, or its Mercury side where both are linked.
    pub cubin: Arc<Cubin<'a>>,
    /// Both sides of a file with capsules.
    pub halves: Option<Box<Halves<'a>>>,
    /// Whether some symbol is in shared memory or refers to an image.
    pub has_shared_or_images: bool,
    /// Functions, in the order of the symbol table.
    pub functions: Box<[Named]>,
    /// Other symbols that take part in resolution, in that order.
    pub data: Box<[Named]>,
    /// Class of every section.
    pub classes: Box<[SectionClass]>,
    /// `.nv.callgraph`.
    pub callgraph: CallLists<'a>,
    /// `.nv.prototype`: functions and their prototypes.
    pub prototypes: Box<[(u32, Prototype)]>,
    /// `.nv.compat`.
    pub compat: Option<&'a [u8]>,
    /// What `.nv.info` says of functions, by symbol.
    figures: Box<[Figures]>,
    /// What the symbols of each bank 2 lead to, by section.
    bank2: Box<[(u32, &'a [u8])]>,
    /// Written by `ptxas -ewp`.
    pub whole_program: bool,
    /// Virtual architecture by `.note.nv.cuinfo`; 0 if there is none.
    pub virtual_sm: u16,
    /// Whether it has unified functions or variables.
    pub unified: bool,
    /// Whether flags of text sections count barriers, as in old objects.
    pub barriers_in_flags: bool,
}

/// EIATTR codes that this module reads.
pub mod eiattr {
    #![allow(missing_docs)]
    pub const CTAIDZ_USED: u8 = 0x04;
    pub const PARAM_CBANK: u8 = 0x0a;
    pub const SYNC_STACK: u8 = 0x0d;
    pub const EXTERNS: u8 = 0x0f;
    pub const FRAME_SIZE: u8 = 0x11;
    pub const MIN_STACK_SIZE: u8 = 0x12;
    pub const BINDLESS_TEXTURE_BANK: u8 = 0x15;
    pub const BINDLESS_SURFACE_BANK: u8 = 0x16;
    pub const MAXREG_COUNT: u8 = 0x1b;
    pub const CRS_STACK_SIZE: u8 = 0x1e;
    pub const MAX_STACK_SIZE: u8 = 0x23;
    pub const REGCOUNT: u8 = 0x2f;
    pub const NUM_MBARRIERS: u8 = 0x38;
    pub const MERCURY_ISA_VERSION: u8 = 0x5f;
    pub const SAM_REGION_STACK_SIZE: u8 = 0x3b;
    pub const RESERVED_SMEM_USED: u8 = 0x41;
    pub const VRC_CTA_INIT_COUNT: u8 = 0x4a;
    pub const NUM_BARRIERS: u8 = 0x4c;
    pub const AT_ENTRY_FRAGMENTS: u8 = 0x4f;
    pub const SPARSE_MMA_MASK: u8 = 0x50;
    pub const TCGEN05_1CTA_USED: u8 = 0x51;
    pub const TCGEN05_2CTA_USED: u8 = 0x52;
    pub const REG_RECONFIG: u8 = 0x54;
}

impl<'a> Object<'a> {
    /// Reads an input; the error is ready to be shown.
    pub fn parse(input: &'a LinkInput<'_>, side: Side) -> Result<Self, Diagnostic> {
        let damaged = |what: &dyn std::fmt::Display| {
            Diagnostic::fatal(
                "damaged-input",
                format_args!("Input file '{}' is damaged: {what}", input.name),
            )
        };
        let file = input.cubin().map_err(|e| damaged(&e))?;
        let halves = match side {
            Side::Machine => None,
            Side::Mercury if file.sections().kinds().any(is_entries) => {
                return Err(unified_capsules(&input.name));
            }
            Side::Mercury => Some(Box::new(Halves::split(&file).map_err(|e| damaged(&e))?)),
        };
        let cubin = halves.as_ref().map_or(file, |h| Arc::new(h.mercury.clone()));
        let classes = classify(&cubin).map_err(|e| damaged(&e))?;
        let symbols = Symbols::of(&cubin);
        let mut object = Object {
            name: &input.name,
            has_shared_or_images: symbols.shared_or_images,
            functions: symbols.functions.into_boxed_slice(),
            data: symbols.data.into_boxed_slice(),
            whole_program: cubin.header().file_type == FileType::EWP,
            virtual_sm: old_virtual_sm(&cubin),
            cubin,
            halves,
            classes: classes.of,
            callgraph: CallLists::default(),
            prototypes: Box::default(),
            compat: None,
            figures: Box::default(),
            bank2: Box::default(),
            unified: classes.unified,
            barriers_in_flags: classes.barriers_in_flags,
        };
        object.read_bank2(&input.image);
        object.read_tables().map_err(|e| damaged(&e))?;
        Ok(object)
    }

    /// The table entries of the symbols of a list.
    pub fn symbols<'n>(&'n self, list: &'n [Named]) -> impl Iterator<Item = SymbolRef<'a>> + 'n {
        list.iter().filter_map(|named| self.cubin.symbol(named.symbol))
    }

    /// What the symbols of a bank 2 lead to, if it has any.
    pub fn bank2_by_symbol(&self, section: u32) -> Option<&'a [u8]> {
        let at = self.bank2.binary_search_by_key(&section, |&(section, _)| section).ok()?;
        self.bank2.get(at).map(|&(_, data)| data)
    }

    /// Quirk: the symbol of a table that a replacement cleared may still be there and reach
    /// past the section's end, in relinked files; nvlink reads on in the file then.
    fn read_bank2(&mut self, file: &'a [u8]) {
        let is_bank2 =
            |c: &SectionClass| matches!(c, SectionClass::FunctionConstant { bank: 2, .. });
        if self.halves.is_some() || !self.classes.iter().any(is_bank2) {
            return;
        }
        let mut ends: HashMap<u32, u64, foldhash::fast::FixedState> = HashMap::default();
        for symbol in self.cubin.symbols().filter(|s| !s.reserved && s.size > 0) {
            if self.classes.get(symbol.shndx as usize).is_some_and(is_bank2) {
                let end = ends.entry(symbol.shndx).or_default();
                *end = (*end).max(symbol.value.saturating_add(symbol.size));
            }
        }
        // What lies past the ends is bounded, or many small sections could ask for
        // the whole file each.
        let mut budget = file.len();
        let mut bank2 = Vec::with_capacity(ends.len());
        for section in self.cubin.sections() {
            let Some(&end) = ends.get(&section.index.0) else { continue };
            let end = usize::try_from(end).unwrap_or(usize::MAX);
            let rest = usize::try_from(section.offset).ok().and_then(|at| file.get(at..));
            let rest = rest.filter(|_| !section.kind.is_nobits()).unwrap_or_default();
            let inside = section.data.len();
            let past = end.min(rest.len()).saturating_sub(inside).min(budget);
            budget -= past;
            let data = match past {
                0 => section.data.get(..end.min(inside)),
                _ => rest.get(..inside + past),
            };
            bank2.push((section.index.0, data.unwrap_or_default()));
        }
        self.bank2 = bank2.into();
    }

    /// The function's symbol that owns this section, if one does.
    pub fn owner(&self, section: u32) -> Option<u32> {
        match *self.classes.get(section as usize)? {
            SectionClass::Text(f)
            | SectionClass::KernelShared(f)
            | SectionClass::FunctionData(f)
            | SectionClass::FunctionConstant { function: f, .. }
            | SectionClass::Info(f) => Some(f),
            SectionClass::Reloc(target) => match self.classes.get(target as usize)? {
                SectionClass::Reloc(_) => None,
                _ => self.owner(target),
            },
            _ => None,
        }
    }

    /// The relocation type with this number, if the side that is linked can
    /// have it.
    pub fn reloc_type(&self, kind: u32) -> Option<&'static RelocType> {
        match self.halves {
            Some(_) => reloc::mercury(kind),
            None => reloc::cuda(kind),
        }
    }

    /// How far relocations of a section reach: its size, or for Mercury code
    /// that of the decoded stream, which only the function's symbol tells.
    pub fn reloc_limit(&self, section: u32) -> u64 {
        match (&self.halves, self.classes.get(section as usize)) {
            (Some(_), Some(&SectionClass::Text(f))) => self.cubin.symbol(f).map_or(0, |s| s.size),
            _ => self.cubin.section(section).map_or(0, |s| s.size),
        }
    }

    /// The first section of a class.
    pub fn first_of(&self, class: SectionClass) -> Option<SectionRef<'a>> {
        let at = self.classes.iter().position(|&c| c == class)?;
        self.cubin.section(at as u32)
    }

    /// Sections of some classes, in index order.
    #[inline]
    pub fn of_class(
        &self,
        wanted: impl Fn(SectionClass) -> bool,
    ) -> impl Iterator<Item = (SectionRef<'a>, SectionClass)> {
        let classes = self.classes.iter().enumerate().filter(move |&(_, &class)| wanted(class));
        classes.filter_map(|(i, &class)| Some((self.cubin.section(i as u32)?, class)))
    }

    fn read_tables(&mut self) -> Result<(), String> {
        use SectionClass::{CallGraph, Compat, ModuleInfo, Prototype, VersionNote};
        let mut figures = FigureList::new();
        for i in 0..self.classes.len() {
            let class = self.classes[i];
            if !matches!(class, CallGraph | Compat | Prototype | ModuleInfo | VersionNote) {
                continue;
            }
            let Some(section) = self.cubin.section(i as u32) else { continue };
            match class {
                CallGraph => self.read_callgraph(&section)?,
                Prototype => self.read_prototypes(&section)?,
                Compat => self.compat = self.compat.or(Some(section.data)),
                ModuleInfo => read_module_info(&section, &mut figures)?,
                _ => self.read_version_note(&section),
            }
        }
        self.figures = by_symbol(figures);
        Ok(())
    }

    /// Registers of a function: the high byte of its text section's `sh_info`
    /// where it is set, the REGCOUNT attribute elsewhere.
    pub fn registers(&self, function: u32) -> u32 {
        let text = self.cubin.symbol_section(function).and_then(|s| self.cubin.section(s));
        match text.map_or(0, |t| t.info >> 24) {
            0 => self.figures(function).registers,
            registers => registers,
        }
    }

    /// What `.nv.info` says of a function; nothing is 0.
    pub fn figures(&self, function: u32) -> Figures {
        let at = self.figures.binary_search_by_key(&function, |figures| figures.symbol);
        let known = at.ok().and_then(|at| self.figures.get(at));
        known.copied().unwrap_or_default()
    }

    fn read_version_note(&mut self, section: &SectionRef<'a>) {
        for note in note::notes(section.data).flatten() {
            if note.kind == note::NoteType::CUINFO
                && let Ok(info) = note::CudaInfo::parse(note.desc)
            {
                self.virtual_sm = info.virtual_sm.get();
            }
        }
    }

    fn read_callgraph(&mut self, section: &SectionRef<'a>) -> Result<(), String> {
        let mut lists = std::mem::take(&mut self.callgraph);
        lists.add(pairs(section)?, |list, (first, second)| {
            self.function(first)?;
            match list {
                Some(list) if list.has_prototypes() => self.prototype(second).map(|_| ()),
                Some(_) => self.function(second).map(|_| ()),
                None => Err("call graph entry before any list".into()),
            }
        })?;
        self.callgraph = lists;
        Ok(())
    }

    fn read_prototypes(&mut self, section: &SectionRef<'a>) -> Result<(), String> {
        let known = std::mem::take(&mut self.prototypes);
        let prototypes = known.into_iter().map(Ok).chain(pairs(section)?.iter().map(|pair| {
            let prototype = self.prototype(pair.second.get())?;
            Ok((self.function(pair.first.get())?, prototype))
        }));
        self.prototypes = prototypes.collect::<Result<_, String>>()?;
        Ok(())
    }

    fn function(&self, symbol: u32) -> Result<u32, String> {
        match self.cubin.symbol_kind(symbol) {
            Some(SymbolType::FUNC) => Ok(symbol),
            _ => Err(format!("call graph names symbol {symbol}, which is not a function")),
        }
    }

    /// The prototype whose name starts at an offset of the string table.
    pub fn prototype(&self, offset: u32) -> Result<Prototype, String> {
        let name = self.cubin.symbol_string(offset);
        let name = name.ok_or_else(|| format!("prototype at string offset {offset:#x}"))?;
        Ok(Prototype::new(offset, name))
    }

    /// The name of one of the input's prototypes.
    pub fn prototype_name(&self, prototype: Prototype) -> &'a [u8] {
        prototype.of(self.cubin.symbol_strings())
    }
}

/// What `.nv.info` says of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// The function's symbol.
    symbol: u32,
    /// REGCOUNT.
    pub registers: u32,
    /// FRAME_SIZE.
    pub frame: u32,
}

/// Symbol, attribute and value.
type FigureList = SmallVec<[(u32, u8, u32); 32]>;

fn read_module_info(section: &SectionRef<'_>, found: &mut FigureList) -> Result<(), String> {
    for record in info::records(section.data) {
        let record = record.map_err(|e| e.to_string())?;
        if let eiattr::REGCOUNT | eiattr::FRAME_SIZE = record.code
            && let Some((symbol, value)) = symbol_and_value(record.payload)
        {
            found.push((symbol, record.code, value));
        }
    }
    Ok(())
}

/// Figures by symbol; the last record of a kind counts.
fn by_symbol(mut found: FigureList) -> Box<[Figures]> {
    found.sort_by_key(|&(symbol, ..)| symbol);
    let functions = found.chunk_by(|a, b| a.0 == b.0).count();
    let mut out = Vec::with_capacity(functions);
    for records in found.chunk_by(|a, b| a.0 == b.0) {
        let mut figures = Figures::default();
        for &(symbol, code, value) in records {
            figures.symbol = symbol;
            match code {
                eiattr::REGCOUNT => figures.registers = value,
                _ => figures.frame = value,
            }
        }
        out.push(figures);
    }
    out.into()
}

/// The symbols of an input that take part in resolution.
struct Symbols {
    functions: SmallVec<[Named; 16]>,
    data: SmallVec<[Named; 16]>,
    /// Whether some symbol is in shared memory or refers to an image.
    shared_or_images: bool,
}

impl Symbols {
    fn of(cubin: &Cubin<'_>) -> Self {
        let (functions, data) = (SmallVec::new(), SmallVec::new());
        let mut out = Self { functions, data, shared_or_images: false };
        let Some(table) = cubin.symtab() else { return out };
        for index in 0..table.len() as u32 {
            // Most symbols are those of sections: their names are of no use.
            let Some((info, other)) = table.info_and_other(index) else { break };
            let kind = SymbolType(info & 15);
            out.shared_or_images |= other & sto::SPACE == sto::SHARED || is_image_type(kind);
            if kind == SymbolType::SECTION {
                continue;
            }
            let Some(symbol) = table.get(index) else { break };
            if kind == SymbolType::FUNC {
                out.functions.push(Named::new(&symbol));
            } else if takes_part(&symbol) {
                out.data.push(Named::new(&symbol));
            }
        }
        out
    }
}

/// Objects of older toolkits (ABI 7) have no version note; bits 16-23 of their
/// `e_flags` say the same.
fn old_virtual_sm(cubin: &Cubin<'_>) -> u16 {
    const OLD_OSABI: u8 = 0x33;
    let header = cubin.header();
    match header.ident[7] {
        OLD_OSABI => (header.flags >> 16 & 0xff) as u16,
        _ => 0,
    }
}

/// Splits an 8-byte payload of a symbol index and a number.
pub fn symbol_and_value(payload: &[u8]) -> Option<(u32, u32)> {
    let pair = Pair::ref_from_bytes(payload).ok()?;
    Some((pair.first.get(), pair.second.get()))
}

/// The little-endian words of a payload; a ragged end is ignored.
pub fn words(payload: &[u8]) -> impl DoubleEndedIterator<Item = u32> + '_ {
    payload.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
}

fn pairs<'a>(section: &SectionRef<'a>) -> Result<&'a [Pair], String> {
    <[Pair]>::ref_from_bytes(section.data)
        .map_err(|_| format!("size {:#x} of section {}", section.size, section.index.0))
}

/// The tables of unified functions are known for machine code alone.
fn unified_capsules(name: &str) -> Diagnostic {
    let message = format_args!(
        "Input file '{name}' has unified functions or variables, which are linked for sm_75 to \
         sm_90a only"
    );
    Diagnostic::fatal("unified-capsules", message)
}

/// Section symbols, nameless symbols and undefined locals (labels of debug
/// files) are not resolved.
fn takes_part(symbol: &SymbolRef<'_>) -> bool {
    symbol.kind() != SymbolType::SECTION
        && !symbol.name.is_empty()
        && !(symbol.is_undefined() && symbol.binding() == Binding::LOCAL && !is_internal(symbol))
}

/// Whether the symbol lives in shared memory.
pub fn is_shared(symbol: &SymbolRef<'_>) -> bool {
    symbol.other & sto::SPACE == sto::SHARED
}

/// Whether the symbol never leaves its object.
pub fn is_internal(symbol: &SymbolRef<'_>) -> bool {
    symbol.other & sto::VISIBILITY == sto::INTERNAL
}

/// Whether the function is a kernel.
pub fn is_entry(symbol: &SymbolRef<'_>) -> bool {
    symbol.other & sto::ENTRY != 0
}

/// Whether the symbol is a texture, sampler or surface reference.
pub fn is_image(symbol: &SymbolRef<'_>) -> bool {
    is_image_type(symbol.kind())
}

fn is_image_type(kind: SymbolType) -> bool {
    matches!(kind, SymbolType::CUDA_TEXTURE | SymbolType::CUDA_SAMPLER | SymbolType::CUDA_SURFACE)
}

/// Whether the name is the system's: reserved shared memory, sizes of texture
/// descriptors. Nobody needs to define it, and it stays even if nobody refers to it.
pub fn is_system_name(name: &[u8]) -> bool {
    name.starts_with(b".nv.")
}

/// Whether the symbol is a shared array of no given size: undefined in an
/// object, defined with size 0 in a relocatable output.
pub fn is_dynamic_array(symbol: &SymbolRef<'_>) -> bool {
    is_shared(symbol) && symbol.size == 0
}
