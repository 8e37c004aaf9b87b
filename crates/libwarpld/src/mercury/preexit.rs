//! Functions that let dependent grids start before they end (`griddepcontrol.launch_dependents`).

use super::functions::input_code;
use crate::callgraph::Adjacency;
use crate::ids::FunctionId;
use crate::linked::Linked;
use cubin::attr::Attr;
use rayon::prelude::*;

const PREEXIT: u16 = 0x82d;

/// Whether each function does, by its number; empty if nobody asks.
#[derive(Debug, Default)]
pub struct PreexitUse(Vec<bool>);

impl PreexitUse {
    /// Looks at all code. A kernel of an executable also does what the functions do that it calls
    /// or takes the address of, directly or through others; indirect calls do not count.
    /// [`preexit-reached`]
    pub fn find(linked: Linked<'_, '_>) -> Self {
        let graph = linked.cx.graph;
        if linked.cx.dialect.newest_attribute() < Attr::PREEXIT_USED {
            return Self::default();
        }
        let sections = &linked.merged.function_sections;
        let texts: Vec<_> = (0..graph.len())
            .map(|i| sections.get(FunctionId::new(i)).and_then(|f| f.text.get()))
            .collect();
        let does = |text: Option<_>| text.is_some_and(|text| has_preexit(input_code(linked, text)));
        let mut uses: Vec<bool> = texts.into_par_iter().map(does).collect();
        if linked.cx.config.relocatable || !uses.contains(&true) {
            return Self(uses);
        }
        let edges = graph.calls.iter().chain(&graph.takes_address);
        let callers = edges.map(|&(from, to)| (to.as_u32(), from.as_u32()));
        let callers = Adjacency::new(graph.len(), callers);
        let mut reaching = uses.clone();
        let mut open: Vec<u32> = (0..graph.len() as u32).filter(|&f| uses[f as usize]).collect();
        while let Some(function) = open.pop() {
            for &caller in callers.of(function) {
                if !std::mem::replace(&mut reaching[caller as usize], true) {
                    open.push(caller);
                }
            }
        }
        for (function, reaches) in reaching.into_iter().enumerate() {
            uses[function] |= reaches && graph.is_entry(FunctionId::new(function));
        }
        Self(uses)
    }

    /// Whether the function does.
    pub fn of(&self, function: FunctionId) -> bool {
        self.0.get(function.index()).copied().unwrap_or(false)
    }
}

fn has_preexit(code: &[u8]) -> bool {
    let mut operations = code.chunks_exact(16).map(|i| u16::from_le_bytes([i[0], i[1]]) & 0xfff);
    operations.any(|operation| operation == PREEXIT)
}
