//! One input of the link: a validated cubin with the tables that several phases use, parsed once
//! and in parallel.

use crate::ids::{IdVec, ObjectId};
use crate::object::call_lists::Prototype;
use crate::object::symbols::{InputSymbol, Place};
use cubin::half::Halves;
use cubin::{Cubin, SectionRef, SymbolRef};

mod batch;
pub mod call_lists;
mod classify;
mod lists;
mod merge_class;
mod reuse;
mod scan;
mod sections;
pub mod symbols;
mod tables;

pub use batch::{ObjectBatch, Parts};
pub use merge_class::MergeClass;
pub use sections::Section;
use sections::{Extent, Shapes};

/// A parsed input.
#[derive(Debug)]
pub struct Object<'a> {
    /// Name in messages.
    pub name: &'a str,
    /// The file, or its Mercury half where both are linked.
    pub cubin: &'a Cubin<'a>,
    /// Both halves of a capsule file.
    pub halves: Option<&'a Halves<'a>>,
    /// Whether some symbol is in shared memory or refers to an image.
    pub has_shared_or_images: bool,
    /// Whether some function is in another function's section: an alias, or a function that `ptxas
    /// -ewp` put into a kernel.
    pub shares_code: bool,
    /// Functions, in the order of the symbol table.
    pub functions: &'a [InputSymbol],
    /// Other symbols that take part in resolution, in that order.
    pub data: &'a [InputSymbol],
    /// Whether that is the previous input's list, because both are identical.
    pub repeats_data: bool,
    /// Class of every section.
    pub classes: &'a [MergeClass],
    /// Where every section is.
    extents: &'a [Extent],
    shapes: &'a Shapes,
    /// The whole file.
    file: &'a [u8],
    /// `.nv.compat`.
    pub compat: Option<&'a [u8]>,
    /// Whether that is the latest one of the inputs before, byte for byte.
    pub repeats_compat: bool,
    /// The functions' `.nv.info` records, in their order.
    function_info: &'a [FunctionInfo],
    /// Contents of each bank 2 that symbols refer to, by section; few inputs have any.
    bank2: Option<Box<Bank2<'a>>>,
    /// Written by `ptxas -ewp`.
    pub whole_program: bool,
    /// Virtual architecture by `.note.nv.cuinfo`; 0 if there is none.
    pub virtual_sm: u16,
    /// The toolkit that made it, by the same note; 0 if that does not tell.
    pub toolkit: u32,
    /// Whether it has unified functions or variables.
    pub unified: bool,
    /// Whether flags of text sections count barriers, as in old objects.
    pub barriers_in_flags: bool,
}

/// All inputs, in link order.
pub type Objects<'a> = IdVec<ObjectId, Object<'a>>;

/// Sections with the contents that symbols refer to.
#[derive(Debug)]
struct Bank2<'a>(Vec<(u32, &'a [u8])>);

impl<'a> Object<'a> {
    /// Whether the symbols of some bank 2 refer to anything.
    #[inline]
    pub fn has_bank2(&self) -> bool {
        self.bank2.is_some()
    }

    /// The name of a symbol of the lists.
    #[inline]
    pub fn name_of(&self, named: &InputSymbol) -> &'a [u8] {
        if self.repeats_data && named.place == Place::Undefined && !named.is_function() {
            return self.own_name_of(named);
        }
        named.name(self.cubin.symbol_strings())
    }

    /// The name of a symbol that is recorded where another input has it.
    #[cold]
    fn own_name_of(&self, named: &InputSymbol) -> &'a [u8] {
        self.cubin.symbol(named.symbol).map_or(&[], |symbol| symbol.name)
    }

    /// Whether its classes are just this list, which inputs with the same sections share.
    #[inline]
    pub fn shares_classes(&self, classes: &[MergeClass]) -> bool {
        std::ptr::eq(self.classes, classes)
    }

    /// The contents of a bank 2 that symbols refer to, if it has symbols.
    pub fn bank2_by_symbol(&self, section: u32) -> Option<&'a [u8]> {
        let Bank2(list) = self.bank2.as_deref()?;
        let at = list.binary_search_by_key(&section, |&(section, _)| section).ok()?;
        list.get(at).map(|&(_, data)| data)
    }

    /// The function's symbol that owns this section, if one does.
    pub fn owner(&self, section: u32) -> Option<u32> {
        classify::owner(self.classes, section)
    }

    /// Whether nothing in a kernel's shared memory has a name, as in whole programs, or where a
    /// relocatable link reserved it for arrays.
    pub fn is_nameless_shared(&self, section: u32) -> bool {
        let is_in = |symbol: SymbolRef<'_>| symbol.shndx == section && symbol.is_shared();
        self.whole_program || !self.cubin.symbols().any(is_in)
    }

    /// The alignment of a shared object, which is its value until it has an offset. In a whole
    /// program (`ptxas -ewp`) it has one (`whole-programs-debug`).
    pub fn shared_alignment(&self, symbol: &SymbolRef<'_>) -> u64 {
        if self.whole_program { 1 } else { symbol.value }
    }

    /// The section that a relocation section applies to.
    #[inline]
    pub fn relocated(&self, relocs: u32) -> Option<u32> {
        match *self.classes.get(relocs as usize)? {
            MergeClass::Reloc(target) => Some(target),
            _ => None,
        }
    }

    /// The limit for relocation offsets in a section: its size, or for Mercury code that of the
    /// decoded stream, which only the function's symbol gives.
    pub fn reloc_limit(&self, section: u32) -> u64 {
        match (&self.halves, self.classes.get(section as usize)) {
            (Some(_), Some(&MergeClass::Text(f))) => self.cubin.symbol(f).map_or(0, |s| s.size),
            _ => self.section(section).map_or(0, |s| s.size),
        }
    }

    /// The first section of a class.
    pub fn first_of(&self, class: MergeClass) -> Option<SectionRef<'a>> {
        let at = self.classes.iter().position(|&c| c == class)?;
        self.cubin.section(at as u32)
    }

    /// Sections of some classes, in index order.
    #[inline]
    pub fn of_class(
        &self,
        wanted: impl Fn(MergeClass) -> bool,
    ) -> impl Iterator<Item = (SectionRef<'a>, MergeClass)> {
        let classes = self.classes.iter().enumerate().filter(move |&(_, &class)| wanted(class));
        classes.filter_map(|(i, &class)| Some((self.cubin.section(i as u32)?, class)))
    }

    /// Registers of a function: the high byte of its text section's `sh_info`
    /// where it is set, the REGCOUNT attribute elsewhere.
    pub fn registers(&self, function: u32) -> u32 {
        let text = self.cubin.symbol_section(function).and_then(|s| self.cubin.section(s));
        match text.map_or(0, |t| t.info >> 24) {
            0 => self.function_info(function).registers,
            registers => registers,
        }
    }

    /// A function's `.nv.info` records; 0 if absent.
    pub fn function_info(&self, function: u32) -> FunctionInfo {
        let known = position(self.functions, function).and_then(|at| self.function_info.get(at));
        known.copied().unwrap_or_default()
    }

    /// The prototype whose name starts at an offset of the string table.
    pub fn prototype(&self, offset: u32) -> Result<Prototype, String> {
        let name = self.cubin.symbol_string(offset);
        let name = name.ok_or_else(|| no_prototype(offset))?;
        Ok(Prototype::new(offset, name))
    }

    /// The name of one of the input's prototypes.
    pub fn prototype_name(&self, prototype: Prototype) -> &'a [u8] {
        prototype.of(self.cubin.symbol_strings())
    }
}

/// The position of the function with this symbol. The symbols of functions are usually consecutive.
fn position(functions: &[InputSymbol], symbol: u32) -> Option<usize> {
    let guess = symbol.checked_sub(functions.first()?.symbol)? as usize;
    match functions.get(guess) {
        Some(function) if function.symbol == symbol => Some(guess),
        _ => functions.binary_search_by_key(&symbol, |function| function.symbol).ok(),
    }
}

#[cold]
fn no_prototype(offset: u32) -> String {
    format!("prototype at string offset {offset:#x}")
}

/// A function's `.nv.info` records.
#[derive(Clone, Copy, Debug, Default)]
pub struct FunctionInfo {
    /// REGCOUNT.
    pub registers: u32,
    /// FRAME_SIZE.
    pub frame: u32,
    /// Its MIN_STACK_SIZE is unknown.
    pub unbounded: bool,
}

/// Whether the symbol is a shared array of unknown size: undefined in an object, defined with size
/// 0 in a relocatable output.
pub fn is_dynamic_array(symbol: &SymbolRef<'_>) -> bool {
    symbol.is_shared() && symbol.size == 0
}
