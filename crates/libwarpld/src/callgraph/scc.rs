//! Strongly connected components, without recursion.

use crate::callgraph::Adjacency;

/// Components of a graph; callees have smaller numbers than their callers.
#[derive(Debug)]
pub struct Components {
    /// Component of each node; [`UNSEEN`] for unreached ones.
    pub of: Vec<u32>,
    /// Index of each node in `nodes`; [`UNSEEN`] likewise.
    at: Vec<u32>,
    nodes: Vec<u32>,
    starts: Vec<u32>,
}

/// `u32::MAX` is never a valid index.
const UNSEEN: u32 = u32::MAX;

impl Components {
    /// The components of the whole graph.
    pub fn new(graph: &Adjacency) -> Self {
        Self::reached_from(graph, 0..graph.len() as u32)
    }

    /// The components of the nodes reachable from the roots. Tarjan's algorithm with an explicit
    /// stack: call chains a million deep are fine.
    pub fn reached_from(graph: &Adjacency, roots: impl Iterator<Item = u32>) -> Self {
        let nodes = graph.len();
        let mut index = vec![UNSEEN; nodes];
        let mut low = vec![0u32; nodes];
        let mut of = vec![UNSEEN; nodes];
        // Usually all nodes, and no cycles.
        let mut members = Vec::with_capacity(nodes);
        let mut starts = Vec::with_capacity(nodes + 1);
        starts.push(0u32);
        let mut open: Vec<u32> = Vec::new();
        let mut calls: Vec<(u32, usize)> = Vec::new();
        let mut next = 0;
        for root in roots {
            if index[root as usize] != UNSEEN {
                continue;
            }
            calls.push((root, 0));
            while let Some((node, edge)) = calls.pop() {
                let n = node as usize;
                if edge == 0 {
                    index[n] = next;
                    low[n] = next;
                    next += 1;
                    open.push(node);
                }
                let targets = graph.of(node);
                let mut edge = edge;
                let mut descended = false;
                while let Some(&to) = targets.get(edge) {
                    let t = to as usize;
                    edge += 1;
                    if index[t] == UNSEEN {
                        calls.push((node, edge));
                        calls.push((to, 0));
                        descended = true;
                        break;
                    }
                    if of[t] == UNSEEN {
                        low[n] = low[n].min(index[t]);
                    }
                }
                if descended {
                    continue;
                }
                if low[n] == index[n] {
                    let component = starts.len() as u32 - 1;
                    while let Some(member) = open.pop() {
                        of[member as usize] = component;
                        // The other index is needed only for nodes without a component.
                        index[member as usize] = members.len() as u32;
                        members.push(member);
                        if member == node {
                            break;
                        }
                    }
                    starts.push(members.len() as u32);
                }
                if let Some(&(parent, _)) = calls.last() {
                    low[parent as usize] = low[parent as usize].min(low[n]);
                }
            }
        }
        Self { of, at: index, nodes: members, starts }
    }

    /// All nodes, grouped by component.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The index of a node in that list.
    #[inline]
    pub fn position(&self, node: u32) -> Option<usize> {
        self.at.get(node as usize).filter(|&&at| at != UNSEEN).map(|&at| at as usize)
    }

    /// Number of components.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Nodes of a component.
    #[inline]
    pub fn members(&self, component: usize) -> &[u32] {
        &self.nodes[self.range(component)]
    }

    /// The range of these in the list of all nodes.
    #[inline]
    pub fn range(&self, component: usize) -> std::ops::Range<usize> {
        self.starts[component] as usize..self.starts[component + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32)]) -> Adjacency {
        Adjacency::new(nodes, edges.iter().copied())
    }

    #[test]
    fn cycles_are_one_component_and_callees_come_first() {
        let graph = graph(5, &[(0, 1), (1, 2), (2, 1), (2, 3), (4, 4)]);
        let scc = Components::new(&graph);
        assert_eq!(scc.of[1], scc.of[2]);
        assert_ne!(scc.of[0], scc.of[1]);
        assert!(scc.of[3] < scc.of[1] && scc.of[1] < scc.of[0]);
        assert_eq!(scc.len(), 4);
        assert_eq!(scc.members(scc.of[1] as usize).len(), 2);
    }

    #[test]
    fn nodes_that_nobody_reaches_cost_nothing() {
        let graph = graph(5, &[(0, 1), (3, 2), (2, 3), (3, 4), (4, 4)]);
        let scc = Components::reached_from(&graph, [2, 4].into_iter());
        assert_eq!(scc.len(), 2);
        assert_eq!([0, 1, 4].map(|node| scc.position(node)), [None, None, Some(0)]);
        assert_eq!(scc.range(scc.of[2] as usize), 1..3);
        assert_eq!(scc.nodes()[scc.position(3).unwrap_or(9)], 3);
    }

    #[test]
    fn a_million_deep_chain_needs_no_stack() {
        let nodes = 1_000_000;
        let edges: Vec<(u32, u32)> = (0..nodes - 1).map(|i| (i, i + 1)).collect();
        assert_eq!(Components::new(&graph(nodes as usize, &edges)).len(), nodes as usize);
    }
}
