//! Ways through the call graph, found once for all questions about it.

use super::CallGraphNode;
use std::collections::VecDeque;

/// Who reaches, and who calls, each function.
pub(super) struct Paths {
    /// The function before each one on a shortest way from a live kernel; kernels are their own.
    from: Vec<Option<usize>>,
    callers: Vec<Vec<usize>>,
}

impl Paths {
    pub(super) fn new(nodes: &[CallGraphNode]) -> Self {
        let mut callers = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            for &callee in &node.callees {
                if let Some(list) = callers.get_mut(callee).filter(|l| l.last() != Some(&index)) {
                    list.push(index);
                }
            }
        }
        Self { from: reached(nodes), callers }
    }

    /// The shortest call chain from a live kernel, including both ends; empty if there is none.
    pub(super) fn chain(&self, target: usize) -> Vec<usize> {
        let from = |step: usize| self.from.get(step).copied().flatten();
        if from(target).is_none() {
            return Vec::new();
        }
        let mut chain = vec![target];
        let mut step = target;
        while let Some(previous) = from(step).filter(|&previous| previous != step) {
            chain.push(previous);
            step = previous;
        }
        chain.reverse();
        chain
    }

    /// The functions that call this one.
    pub(super) fn callers(&self, index: usize) -> &[usize] {
        self.callers.get(index).map(Vec::as_slice).unwrap_or_default()
    }
}

fn reached(nodes: &[CallGraphNode]) -> Vec<Option<usize>> {
    let mut from: Vec<Option<usize>> = vec![None; nodes.len()];
    let roots = nodes.iter().enumerate().filter(|(_, node)| node.entry && !node.removed);
    let mut queue: VecDeque<usize> = roots.map(|(index, _)| index).collect();
    for &root in &queue {
        if let Some(slot) = from.get_mut(root) {
            *slot = Some(root);
        }
    }
    while let Some(at) = queue.pop_front() {
        for &callee in nodes.get(at).map(|node| node.callees.as_slice()).unwrap_or_default() {
            if let Some(slot @ None) = from.get_mut(callee) {
                *slot = Some(at);
                queue.push_back(callee);
            }
        }
    }
    from
}
