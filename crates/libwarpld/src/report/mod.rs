//! What a link reports in addition to its output: plain data that the link collects if
//! [`ConfigBuilder::report`](crate::ConfigBuilder::report) is set, and its conversion to text.

mod callgraph;
mod collect;
mod copies;
mod detail;
mod limits;
mod map;
mod map_text;
mod memory;
mod paths;
mod resources;
mod verbose;
mod why;
mod why_json;

pub use callgraph::{CallGraphNode, dot_text, dump_text};
pub(crate) use collect::collect;
pub use copies::{Copies, DroppedCopy, SameCode};
pub use detail::Detail;
pub(crate) use detail::collect_detail;
pub use limits::{TargetLimits, limits};
pub use map::{LinkMap, MapPart, MapSection};
pub(crate) use map::{collect_map, collect_map_of_halves};
pub use map_text::{map_json, map_text};
pub use memory::{MemoryMap, MemoryPart, Occupant, Space};
pub use resources::{resources_json, resources_text};
pub use verbose::{Culprit, KernelUse, MemoryUse};
pub use why::{Question, why_dead, why_live};
pub use why_json::why_json;

/// Version of the JSON forms of reports; incremented when a key changes its meaning or is removed.
pub const FORMAT: u32 = 1;

/// Why kernels can be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Removal {
    /// No kernel is removed.
    #[default]
    Unreachable,
    /// Host code lists the kernels it launches.
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
    /// Its offset there.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// The report of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkReport {
    /// Whether the Mercury half was linked: then `-v` does not show constants and handles.
    pub mercury: bool,
    /// Memory use of the whole image.
    pub memory: MemoryUse,
    /// Kernels in the order of `-v`: last created first.
    pub kernels: Vec<KernelUse>,
    /// Functions in the order of their numbers.
    pub callgraph: Vec<CallGraphNode>,
    /// Why kernels can be missing.
    pub removal: Removal,
    /// Variables.
    pub data: Vec<Data>,
    /// Where the contents of the output come from; `None` if the link failed.
    pub map: Option<LinkMap>,
    /// What a page about the link shows besides, if the settings ask for it.
    pub detail: Option<Detail>,
}
