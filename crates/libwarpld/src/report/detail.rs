//! What a page about a link shows beyond the other reports.

use super::{Copies, MemoryMap, SameCode, copies, memory};
use crate::linked::Linked;
use crate::stopwatch::Lap;
use crate::usage::Usage;

/// What [`ConfigBuilder::report_detail`](crate::ConfigBuilder::report_detail) adds to a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Names with more than one definition.
    pub copies: Vec<Copies>,
    /// Functions of the output with the same code.
    pub same_code: Vec<SameCode>,
    /// What is where in memory.
    pub memory: Vec<MemoryMap>,
    /// The phases of the link in order. Only these differ between two runs.
    pub phases: Vec<Lap>,
}

/// Collects everything but the times.
pub fn collect_detail(linked: Linked<'_, '_>, usage: &Usage) -> Detail {
    let ((copies, same_code), memory) = rayon::join(
        || (copies::copies(linked.cx), copies::same_code(linked.cx)),
        || memory::memory(linked, usage),
    );
    Detail { copies, same_code, memory, phases: Vec::new() }
}
