//! What a link has to tell beside its output: plain data, filled in by the
//! link when [`ConfigBuilder::report`](crate::ConfigBuilder::report) asks for it, turned into
//! text here.

mod callgraph;
mod collect;
mod map;
mod resources;
mod verbose;
mod why;

pub use callgraph::{CallGraphNode, dot_text, dump_text};
pub(crate) use collect::collect;
pub use map::{LinkMap, MapPart, MapSection, map_json, map_text};
pub(crate) use map::{collect_map, collect_map_of_halves};
pub use resources::resources_text;
pub use verbose::{Culprit, KernelUse, MemoryUse};
pub use why::{why_dead, why_live};

/// What decided which kernels are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Removal {
    /// Kernels are never missing.
    #[default]
    Unreachable,
    /// Host code names the kernels it launches.
    HostReferences,
    /// `--kernels-used` and `--variables-used`.
    ByName,
}

/// A variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// The symbol.
    pub name: String,
    /// The input that defines it.
    pub file: Option<String>,
    /// The output section it is in.
    pub section: Option<String>,
}

/// Figures and graphs of one link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkReport {
    /// The link worked on Mercury: `-v` says nothing about constants and handles.
    pub mercury: bool,
    /// Memory the whole image takes.
    pub memory: MemoryUse,
    /// Kernels in the order in which `-v` lists them: last created first.
    pub kernels: Vec<KernelUse>,
    /// Functions in the order in which they got their numbers.
    pub callgraph: Vec<CallGraphNode>,
    /// What decided which kernels are missing.
    pub removal: Removal,
    /// Variables.
    pub data: Vec<Data>,
    /// What the output is made of; `None` if the link failed.
    pub map: Option<LinkMap>,
}
