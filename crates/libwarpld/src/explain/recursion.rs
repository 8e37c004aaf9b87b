//! Cycles in the call graph.

use super::function_named;
use crate::callgraph::scc::Components;
use crate::context::Analysis;
use crate::demangle::{readable, text};
use crate::ids::FunctionId;
use std::collections::VecDeque;

/// The calls that make the stack size of `kernel` unknown.
pub fn notes(cx: Analysis<'_, '_>, kernel: &str) -> Vec<String> {
    let graph = cx.graph.successors();
    let Some(start) = function_named(cx, kernel) else { return Vec::new() };
    let components = Components::new(graph);
    let component = |node: u32| components.of.get(node as usize).copied();
    let mut seen = vec![false; graph.len()];
    let mut queue = VecDeque::from([start.as_u32()]);
    while let Some(node) = queue.pop_front() {
        if seen.get_mut(node as usize).is_none_or(|slot| std::mem::replace(slot, true)) {
            continue;
        }
        for &callee in graph.of(node) {
            if component(callee) == component(node) {
                return vec![cycle(cx, node, |n| component(n) == component(node))];
            }
            queue.push_back(callee);
        }
    }
    Vec::new()
}

/// The shortest cycle through `start` within its component.
fn cycle(cx: Analysis<'_, '_>, start: u32, inside: impl Fn(u32) -> bool) -> String {
    let graph = cx.graph.successors();
    let mut from: Vec<Option<u32>> = vec![None; graph.len()];
    let mut queue = VecDeque::from([start]);
    let mut path = vec![start];
    'search: while let Some(node) = queue.pop_front() {
        for &callee in graph.of(node).iter().filter(|&&callee| inside(callee)) {
            if callee == start {
                let mut at = node;
                while at != start {
                    path.push(at);
                    at = from.get(at as usize).copied().flatten().unwrap_or(start);
                }
                break 'search;
            }
            if let Some(slot @ None) = from.get_mut(callee as usize) {
                *slot = Some(node);
                queue.push_back(callee);
            }
        }
    }
    path[1..].reverse();
    describe(cx, &path)
}

/// Prototype nodes represent calls through pointers.
fn describe(cx: Analysis<'_, '_>, path: &[u32]) -> String {
    let functions = cx.graph.len();
    let names: Vec<String> = path
        .iter()
        .filter(|&&node| (node as usize) < functions)
        .map(|&node| {
            readable(&text(cx.resolution.get(cx.graph.symbol(FunctionId::from(node))).name))
        })
        .collect();
    let indirect = names.len() < path.len();
    let how = if indirect { ", through a function pointer," } else { "" };
    match names.as_slice() {
        [only] => format!("{only} may{how} call itself"),
        [first, rest @ ..] => {
            format!("{first} may{how} call itself by way of {}", rest.join(", "))
        }
        [] => String::new(),
    }
}
