//! How the link merges a section.

/// How the link merges an input section. [`cubin::classify::SectionClass`] is what a section is for,
/// by name; this goes by type and `sh_info`, as nvlink does, and names owners by symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeClass {
    /// String and symbol tables, Mercury counterparts: rebuilt or not merged.
    Skip,
    /// Code of the function with this symbol index.
    Text(u32),
    /// `.nv.info`.
    ModuleInfo,
    /// `.nv.info.F` with F's symbol index.
    Info(u32),
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
