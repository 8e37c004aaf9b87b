//! One input of the link: a validated cubin with the tables that several
//! phases consult, read once and in parallel.

use crate::diag::Diagnostic;
use crate::input::LinkInput;
use crate::named::Named;
use crate::unified::is_entries;
use cubin::consts::{shf, sto};
use cubin::half::{self, Halves};
use cubin::raw::Pair;
use cubin::reloc::{self, RelocType};
use cubin::{Binding, Cubin, FileType, SectionRef, SectionType, SymbolRef, SymbolType, info, note};
use hashbrown::HashMap;
use zerocopy::FromBytes;

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

/// What a section of an input is to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionClass {
    /// String and symbol tables, Mercury twins: rebuilt or not merged.
    Skip,
    /// Code of the function with this symbol index.
    Text(u32),
    /// `.nv.info`, or `.nv.info.F` with F's symbol index.
    Info(Option<u32>),
    /// `.nv.compat`.
    Compat,
    /// `.note.nv.tkinfo`.
    ToolNote,
    /// `.note.nv.cuinfo` and `.note.nv.cuver`.
    VersionNote,
    /// `.nv.callgraph`.
    CallGraph,
    /// `.nv.prototype`.
    Prototype,
    /// Relocations of the section with this index.
    Reloc(u32),
    /// Constant bank of one function.
    FunctionConstant {
        /// Bank number.
        bank: u8,
        /// Symbol of the owner.
        function: u32,
    },
    /// `.nv.shared.K`, the kernel's own shared memory.
    KernelShared(u32),
    /// `.nv_debug.shared`: shared memory not owned by one kernel.
    CommonShared,
    /// Anything else that belongs to one function (`.nv.local.F`).
    FunctionData(u32),
    /// Data that is concatenated by name.
    Data,
}

/// The four lists of `.nv.callgraph`.
#[derive(Debug, Default)]
pub struct CallGraphLists<'a> {
    /// (caller, callee)
    pub calls: Vec<(u32, u32)>,
    /// (function, its prototype)
    pub address_taken: Vec<(u32, &'a [u8])>,
    /// (caller, prototype called)
    pub indirect: Vec<(u32, &'a [u8])>,
    /// (function, function whose address it takes)
    pub takes_address: Vec<(u32, u32)>,
}

/// A parsed input.
#[derive(Debug)]
pub struct Object<'a> {
    /// Name in messages.
    pub name: &'a str,
    /// The file, or its Mercury side where both are linked.
    pub cubin: Cubin<'a>,
    /// Both sides of a file with capsules.
    pub halves: Option<Box<Halves<'a>>>,
    /// Whether some symbol is in shared memory or refers to an image.
    pub has_shared_or_images: bool,
    /// Functions, in the order of the symbol table.
    pub functions: Box<[Named]>,
    /// Other symbols that take part in resolution, in that order.
    pub data: Box<[Named]>,
    /// Class of every section.
    pub classes: Vec<SectionClass>,
    /// Call graph.
    pub callgraph: CallGraphLists<'a>,
    /// `.nv.prototype`: (function, prototype).
    pub prototypes: Vec<(u32, &'a [u8])>,
    /// REGCOUNT by function symbol.
    pub regcount: HashMap<u32, u32, foldhash::fast::FixedState>,
    /// What the symbols of each bank 2 lead to.
    bank2: HashMap<u32, &'a [u8], foldhash::fast::FixedState>,
    /// FRAME_SIZE by function symbol.
    pub frame_size: HashMap<u32, u32, foldhash::fast::FixedState>,
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
        let unified = file.sections().kinds().any(is_entries);
        let halves = match side {
            Side::Machine => None,
            Side::Mercury if unified => return Err(unified_capsules(&input.name)),
            Side::Mercury => Some(Box::new(Halves::split(&file).map_err(|e| damaged(&e))?)),
        };
        let cubin = halves.as_ref().map_or(file, |h| h.mercury.clone());
        let classes = classify(&cubin).map_err(|e| damaged(&e))?;
        let is_function = |s: &SymbolRef<'_>| s.kind() == SymbolType::FUNC;
        let functions = cubin.symbols().filter(is_function).map(|s| Named::new(&s)).collect();
        let data = cubin.symbols().filter(|s| !is_function(s) && takes_part(s));
        let data = data.map(|s| Named::new(&s)).collect();
        let has_shared_or_images = cubin.symbols().any(|s| is_shared(&s) || is_image(&s));
        let counts_barriers =
            |s: SectionRef<'_>| s.flags & shf::EXECINSTR != 0 && s.flags & shf::BARRIERS_MASK != 0;
        let barriers_in_flags = cubin.sections().iter().any(counts_barriers);
        let mut object = Object {
            name: &input.name,
            has_shared_or_images,
            functions,
            data,
            whole_program: cubin.header().file_type == FileType::EWP,
            cubin,
            halves,
            classes,
            callgraph: CallGraphLists::default(),
            prototypes: Vec::new(),
            regcount: HashMap::default(),
            frame_size: HashMap::default(),
            bank2: HashMap::default(),
            virtual_sm: 0,
            unified,
            barriers_in_flags,
        };
        object.read_bank2(&input.image);
        object.virtual_sm = old_virtual_sm(&object.cubin);
        object.read_tables().map_err(|e| damaged(&e))?;
        Ok(object)
    }

    /// The table entries of the symbols of a list.
    pub fn symbols<'n>(&'n self, list: &'n [Named]) -> impl Iterator<Item = SymbolRef<'a>> + 'n {
        list.iter().filter_map(|named| self.cubin.symbol(named.symbol))
    }

    /// What the symbols of a bank 2 lead to, if it has any.
    pub fn bank2_by_symbol(&self, section: u32) -> Option<&'a [u8]> {
        self.bank2.get(&section).copied()
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
            self.bank2.insert(section.index.0, data.unwrap_or_default());
        }
    }

    /// The function's symbol that owns this section, if one does.
    pub fn owner(&self, section: u32) -> Option<u32> {
        match *self.classes.get(section as usize)? {
            SectionClass::Text(f)
            | SectionClass::KernelShared(f)
            | SectionClass::FunctionData(f)
            | SectionClass::FunctionConstant { function: f, .. }
            | SectionClass::Info(Some(f)) => Some(f),
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
        let is_table = |class: SectionClass| {
            matches!(
                class,
                SectionClass::CallGraph
                    | SectionClass::Prototype
                    | SectionClass::Info(None)
                    | SectionClass::VersionNote
            )
        };
        for i in 0..self.classes.len() {
            let class = self.classes[i];
            let section = self.cubin.section(i as u32).filter(|_| is_table(class));
            let Some(section) = section else { continue };
            match class {
                SectionClass::CallGraph => self.read_callgraph(&section)?,
                SectionClass::Prototype => {
                    for pair in pairs(&section)? {
                        let proto = self.prototype_string(pair.second.get())?;
                        self.prototypes.push((self.function(pair.first.get())?, proto));
                    }
                }
                SectionClass::Info(None) => self.read_module_info(&section)?,
                SectionClass::VersionNote => self.read_version_note(&section),
                _ => {}
            }
        }
        Ok(())
    }

    /// Registers of a function: the high byte of its text section's `sh_info`
    /// where it is set, the REGCOUNT attribute elsewhere.
    pub fn registers(&self, function: u32) -> u32 {
        let text = self.cubin.symbol(function).and_then(|s| self.cubin.section(s.shndx));
        match text.map_or(0, |t| t.info >> 24) {
            0 => self.regcount.get(&function).copied().unwrap_or(0),
            registers => registers,
        }
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
        let mut list = 0;
        for pair in pairs(section)? {
            let (first, second) = (pair.first.get(), pair.second.get());
            if first == 0 && (-4..0).contains(&(second as i32)) {
                list = second as i32;
                continue;
            }
            let function = self.function(first)?;
            match list {
                -1 => self.callgraph.calls.push((function, self.function(second)?)),
                -2 => {
                    let proto = self.prototype_string(second)?;
                    self.callgraph.address_taken.push((function, proto));
                }
                -3 => {
                    let proto = self.prototype_string(second)?;
                    self.callgraph.indirect.push((function, proto));
                }
                -4 => self.callgraph.takes_address.push((function, self.function(second)?)),
                _ => return Err("call graph entry before any list".into()),
            }
        }
        Ok(())
    }

    fn function(&self, symbol: u32) -> Result<u32, String> {
        match self.cubin.symbol(symbol) {
            Some(s) if s.kind() == SymbolType::FUNC => Ok(symbol),
            _ => Err(format!("call graph names symbol {symbol}, which is not a function")),
        }
    }

    fn prototype_string(&self, offset: u32) -> Result<&'a [u8], String> {
        self.cubin
            .symbol_string(offset)
            .ok_or_else(|| format!("prototype at string offset {offset:#x}"))
    }

    fn read_module_info(&mut self, section: &SectionRef<'a>) -> Result<(), String> {
        for record in info::records(section.data) {
            let record = record.map_err(|e| e.to_string())?;
            let table = match record.code {
                eiattr::REGCOUNT => &mut self.regcount,
                eiattr::FRAME_SIZE => &mut self.frame_size,
                _ => continue,
            };
            if let Some((symbol, value)) = symbol_and_value(record.payload) {
                table.insert(symbol, value);
            }
        }
        Ok(())
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

fn classify(cubin: &Cubin<'_>) -> Result<Vec<SectionClass>, String> {
    let sections = cubin.sections();
    let mut classes = Vec::with_capacity(sections.len());
    for section in sections {
        check_alignment(cubin, &section)?;
        classes.push(classify_alone(cubin, &section)?);
    }
    // Second round: sections that belong to the function of a text section.
    for i in 0..classes.len() {
        if classes[i] != SectionClass::Data {
            continue;
        }
        let linked = |s: &SectionRef<'_>| s.flags & shf::INFO_LINK != 0;
        let Some(section) = sections.get(i as u32).filter(linked) else { continue };
        let Some(SectionClass::Text(function)) = classes.get(section.info as usize).copied() else {
            continue;
        };
        classes[i] = match section.kind {
            SectionType::CUDA_INFO => SectionClass::Info(Some(function)),
            SectionType::CUDA_SHARED => SectionClass::KernelShared(function),
            kind => match constant_bank(section.name, kind) {
                Some(bank) => SectionClass::FunctionConstant { bank, function },
                None => SectionClass::FunctionData(function),
            },
        };
    }
    Ok(classes)
}

/// Compilers start sections at multiples of their alignment, so none is larger
/// than the file (ptxas pads a file to a gigabyte for `.align 1073741824`). What
/// is would make the output grow out of proportion.
fn check_alignment(cubin: &Cubin<'_>, section: &SectionRef<'_>) -> Result<(), String> {
    const PAGE: u64 = 4096;
    match section.align > (cubin.bytes().len() as u64).max(PAGE) {
        true => Err(format!("alignment {:#x} of section {}", section.align, section.index.0)),
        false => Ok(()),
    }
}

fn classify_alone(cubin: &Cubin<'_>, section: &SectionRef<'_>) -> Result<SectionClass, String> {
    if section.flags & shf::MERCURY != 0 {
        return Ok(SectionClass::Skip);
    }
    Ok(match section.kind {
        SectionType::NULL
        | SectionType::SYMTAB
        | SectionType::STRTAB
        | SectionType::SYMTAB_SHNDX
        | SectionType::CUDA_RELOCINFO
        | SectionType::CUDA_RESOLVED_RELA => SectionClass::Skip,
        SectionType::REL | SectionType::RELA => {
            if section.info as usize >= cubin.sections().len() {
                return Err(format!("sh_info of relocation section {}", section.index.0));
            }
            SectionClass::Reloc(section.info)
        }
        SectionType::NOTE if section.name == b".note.nv.tkinfo" => SectionClass::ToolNote,
        SectionType::NOTE => SectionClass::VersionNote,
        SectionType::CUDA_COMPAT_INFO => SectionClass::Compat,
        SectionType::CUDA_CALLGRAPH => SectionClass::CallGraph,
        SectionType::CUDA_PROTOTYPE => SectionClass::Prototype,
        SectionType::CUDA_INFO if section.flags & shf::INFO_LINK == 0 => SectionClass::Info(None),
        SectionType::CUDA_SHARED if section.flags & shf::INFO_LINK == 0 => {
            SectionClass::CommonShared
        }
        SectionType::PROGBITS | SectionType::CUDA_UFT if section.flags & shf::EXECINSTR != 0 => {
            SectionClass::Text(text_owner(cubin, section)?)
        }
        _ => SectionClass::Data,
    })
}

/// The tables of unified functions are known for machine code alone.
fn unified_capsules(name: &str) -> Diagnostic {
    let message = format_args!(
        "Input file '{name}' has unified functions or variables, which are linked for sm_75 to \
         sm_90a only"
    );
    Diagnostic::fatal("unified-capsules", message)
}

/// `sh_info` of a text section names its function's symbol in the low 24 bits.
fn text_owner(cubin: &Cubin<'_>, section: &SectionRef<'_>) -> Result<u32, String> {
    let symbol = section.info & 0x00ff_ffff;
    match cubin.symbol(symbol) {
        Some(s) if s.kind() == SymbolType::FUNC && s.shndx == section.index.0 => Ok(symbol),
        _ => Err(format!("text section {} names no function of its own", section.index.0)),
    }
}

/// The bank of a constant section, by type or by name.
pub fn constant_bank(name: &[u8], kind: SectionType) -> Option<u8> {
    if let Some(bank) = kind.constant_bank() {
        return u8::try_from(bank).ok();
    }
    if let Some((bank, _)) = half::mercury_bank(name) {
        return Some(bank);
    }
    let digits = name.strip_prefix(b".nv.constant")?;
    let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
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
    matches!(
        symbol.kind(),
        SymbolType::CUDA_TEXTURE | SymbolType::CUDA_SAMPLER | SymbolType::CUDA_SURFACE
    )
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
