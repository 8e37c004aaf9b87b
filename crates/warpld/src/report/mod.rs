//! What a link has to tell beside its output: plain data, filled in by the
//! link, turned into text here.

mod callgraph;
mod verbose;

pub use callgraph::{CallGraphNode, dot_text, dump_text};
pub use verbose::{KernelUse, MemoryUse};

/// Figures and graphs of one link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkReport {
    /// Memory the whole image takes.
    pub memory: MemoryUse,
    /// Kernels in the order in which `-v` lists them: last output symbol first.
    pub kernels: Vec<KernelUse>,
    /// Functions in the order in which they got their numbers.
    pub callgraph: Vec<CallGraphNode>,
}
