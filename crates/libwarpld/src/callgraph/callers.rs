//! Which kernels reach a function.

use super::reach::Reach;
use super::{Adjacency, CallGraph};
use crate::ids::{FunctionId, SymbolId};
use crate::resolve::Resolution;

/// Answers "which kernels reach this function" by walking calls backwards.
pub struct Callers<'g> {
    predecessors: Adjacency,
    entry: Vec<bool>,
    /// Unrequested kernels: only what their own code does counts.
    unrequested: Vec<bool>,
    seen: Vec<u32>,
    stamp: u32,
    graph: std::marker::PhantomData<&'g ()>,
}

impl<'g> Callers<'g> {
    /// Prepares for the live part of the graph.
    pub fn new(graph: &'g CallGraph<'_>, resolution: &Resolution<'_>, reach: &Reach) -> Self {
        let entries = |unrequested: bool| {
            let functions = graph.functions.enumerated();
            let is_one = |(function, &s): (FunctionId, &SymbolId)| {
                let kernel = resolution.get(s).entry || reach.is_stub_root(function);
                let live = kernel && reach.is_live(function);
                live && reach.is_unrequested(function) == unrequested
            };
            functions.map(is_one).collect()
        };
        Self {
            predecessors: graph.successors().reversed(),
            entry: entries(false),
            unrequested: entries(true),
            seen: vec![0; graph.successors().len()],
            stamp: 0,
            graph: std::marker::PhantomData,
        }
    }

    /// The kernels that reach any of `functions` (kernels among them count), in
    /// creation order.
    pub fn entries_reaching(&mut self, functions: &[FunctionId]) -> Vec<FunctionId> {
        self.stamp += 1;
        let mut found = Vec::new();
        let mut work: Vec<u32> = Vec::new();
        let visit = |node: u32, seen: &mut [u32], work: &mut Vec<u32>| {
            if std::mem::replace(&mut seen[node as usize], self.stamp) != self.stamp {
                work.push(node);
            }
        };
        for f in functions {
            visit(f.as_u32(), &mut self.seen, &mut work);
        }
        found.extend(
            work.iter().filter(|&&f| self.unrequested[f as usize]).map(|&f| FunctionId::from(f)),
        );
        while let Some(node) = work.pop() {
            if self.entry.get(node as usize) == Some(&true) {
                found.push(FunctionId::from(node));
            }
            for &caller in self.predecessors.of(node) {
                visit(caller, &mut self.seen, &mut work);
            }
        }
        found.sort_unstable();
        found
    }
}
