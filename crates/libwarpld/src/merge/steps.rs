//! The steps of the merge that inputs need, in order.

use super::List;
use super::reloc_scan::Found;
use crate::ids::{FunctionId, ObjectId, SymbolId};
use crate::resolve::Role;
use cubin::SectionType;

/// One step, in the order of an input's passes.
pub(super) enum Step<'a> {
    /// The following steps are for this input.
    Input(ObjectId),
    /// A function that is referred to.
    Declare(SymbolId, FunctionId),
    /// A function that is defined.
    Define(Definition),
    /// The name of the shared memory of a kernel that is not in the output.
    MentionShared(SymbolId),
    /// The name of a section that is not in the output.
    Mention(&'a [u8]),
    /// A symbol that is not a function.
    Variable(Variable),
    /// A section of shared memory for all kernels.
    CommonShared(u32),
    /// Data that is concatenated by name.
    Data(Data<'a>),
    /// Data of one function.
    FunctionData(FunctionData),
    /// A section of a function that is not in the output.
    RemovedPart(FunctionId, Part),
    /// That many numbers of such sections that no other input creates.
    Numbers(u32),
    /// Attributes of a function, or of all.
    Attributes(Attributes),
    /// Relocations.
    Relocs(Relocs),
}

/// A definition of a function that was ever selected.
pub(super) struct Definition {
    pub id: SymbolId,
    pub function: FunctionId,
    pub list: List,
    /// Whether it counts only if the name is new.
    pub if_new: bool,
    /// Whether no other symbol has the name.
    pub single: bool,
    pub start: Start,
    pub code: Option<Code>,
}

/// The code of the definition that is selected at the end.
pub(super) struct Code {
    pub object: ObjectId,
    pub section: u32,
    pub kind: SectionType,
    pub flags: u64,
    pub align: u64,
    pub size: u64,
    /// Size and `st_other` of the function, if it is an ordinary one.
    pub ordinary: Option<(u32, u8)>,
}

/// What comes with the code of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    Plain,
    Kernel,
    /// A program's own copy of a driver function starts like a kernel.
    Builtin,
}

/// A variable, or another symbol that is not a function.
pub(super) struct Variable {
    pub id: SymbolId,
    pub list: List,
    pub emitted: Emitted,
    pub dynamic: bool,
    pub common: bool,
}

/// Whether a symbol is in the output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Emitted {
    Yes,
    No,
    /// If this section of the input is.
    WithSection(u32),
}

/// A section of data.
pub(super) struct Data<'a> {
    pub section: u32,
    pub name: &'a [u8],
    pub align: u64,
    pub size: u64,
}

/// A section of data of a function of the output.
pub(super) struct FunctionData {
    pub section: u32,
    pub id: SymbolId,
    pub function: FunctionId,
    pub role: Role,
    pub what: Kind,
    pub by_symbol: bool,
    pub kind: SectionType,
    pub flags: u64,
    pub align: u64,
    pub size: u64,
}

/// Kinds of sections of data of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Shared,
    /// Parameters; whether it is called `.nv.constant0.` and the function.
    Bank0 {
        usual: bool,
    },
    Bank2,
    OtherBank,
    Other,
}

/// A section of attributes.
pub(super) struct Attributes {
    pub section: u32,
    pub of: Option<(SymbolId, FunctionId)>,
    pub selected: bool,
}

/// A section of relocations.
pub(super) struct Relocs {
    pub section: u32,
    pub target: u32,
    pub rela: bool,
    /// The function that the target belongs to, and what its copy is.
    pub owner: Option<(FunctionId, Role)>,
    pub of_code: bool,
    pub found: Option<Found>,
}

/// Sections that a function creates once, for functions that are not in the output.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Part {
    Text = 1,
    Info = 2,
    /// The relocations of its bank 2.
    Bank2Relocs = 4,
    /// With its relocation section, which is created along with it.
    Parameters = 8,
    Bank2 = 16,
    Rela = 32,
    /// The section, or only its name.
    Rel = 64,
    /// Any other, of which there may be several.
    Other = 128,
}

/// A pass over an input, which has its own steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    Symbols,
    Attributes,
    Relocs,
}
