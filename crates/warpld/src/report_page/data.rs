//! The report as JSON for the page's script: strings by number, columns instead of objects.
//! `js/model.js` reads what this writes.

use super::Page;
use super::strings::Strings;
use libwarpld::driver::{Traced, demangle};
use libwarpld::report::{
    CallGraphNode, Copies, Detail, KernelUse, LinkMap, LinkReport, MemoryMap, Occupant, Removal,
    Space, limits,
};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The version of the format.
const FORMAT: u32 = 1;

/// Everything but the times.
pub fn json(page: &Page<'_>) -> Value {
    let report = page.report;
    let no_map = LinkMap::default();
    let no_detail = Detail::default();
    let map = report.map.as_ref().unwrap_or(&no_map);
    let detail = report.detail.as_ref().unwrap_or(&no_detail);
    let mut writer = Writer::new(map);
    let functions = writer.functions(report);
    let sections = writer.sections(map, &report.callgraph);
    let memory: Vec<Value> = detail.memory.iter().map(|map| writer.memory(map)).collect();
    let copies: Vec<Value> = detail.copies.iter().map(|copies| writer.copies(copies)).collect();
    let inputs: Vec<Value> = page.inputs.iter().map(|input| writer.input(input)).collect();
    let objects: Vec<usize> = map.inputs.iter().map(|name| writer.strings.add(name)).collect();
    let limits = limits(page.target);
    json!({
        "format": FORMAT,
        "tool": writer.strings.add(page.tool),
        "target": page.target.to_string(),
        "output": writer.strings.add(page.output),
        "size": map.size,
        "relocatable": page.relocatable,
        "mercury": report.mercury,
        "global": report.memory.global,
        "constant": report.memory.constant,
        "limits": {
            "registers": limits.registers,
            "barriers": limits.barriers,
            "shared": limits.static_shared,
            "reserved": limits.reserved_shared,
        },
        "objects": objects,
        "inputs": inputs,
        "functions": functions,
        "sections": sections,
        "kernels": report.kernels.iter().rev().map(kernel).collect::<Vec<_>>(),
        "memory": memory,
        "copies": copies,
        "same": column(&detail.same_code, |same| json!([same.size, same.functions])),
        "strings": writer.strings.into_list(),
    })
}

/// In place of an index that is not there.
const NONE: i64 = -1;

fn index(index: Option<usize>) -> i64 {
    index.and_then(|index| i64::try_from(index).ok()).unwrap_or(NONE)
}

struct Writer<'a> {
    strings: Strings,
    /// The first object of each name.
    objects: HashMap<&'a str, usize>,
}

impl<'a> Writer<'a> {
    fn new(map: &'a LinkMap) -> Self {
        let mut objects = HashMap::new();
        for (index, name) in map.inputs.iter().enumerate() {
            objects.entry(name.as_str()).or_insert(index);
        }
        Self { strings: Strings::default(), objects }
    }

    fn object(&self, name: Option<&str>) -> i64 {
        index(name.and_then(|name| self.objects.get(name).copied()))
    }

    /// Columns.
    fn functions(&mut self, report: &LinkReport) -> Value {
        let nodes = &report.callgraph;
        let (calls, lists) = call_lists(nodes);
        let flags = nodes.iter().zip(called(nodes)).map(|(node, called)| {
            let why = why(node, called, report.removal);
            flags(node) | why << 4
        });
        let flags: Vec<u32> = flags.collect();
        let names: Vec<usize> = nodes.iter().map(|node| self.strings.add(&node.name)).collect();
        let source =
            |node: &CallGraphNode| demangle(&node.name).map(|name| self.strings.add(&name));
        let sources: Vec<i64> = nodes.iter().map(source).map(index).collect();
        let objects = nodes.iter().map(|node| self.object(node.file.as_deref()));
        json!({
            "name": names,
            "source": sources,
            "flags": flags,
            "registers": column(nodes, |node| node.registers.unwrap_or(0)),
            "frame": column(nodes, |node| node.frame),
            "barriers": column(nodes, |node| node.barriers),
            "size": column(nodes, |node| node.size),
            "object": objects.collect::<Vec<_>>(),
            "calls": calls,
            "lists": lists,
        })
    }

    /// Columns of sections, and of their parts. A name that ends in that of its function is stored
    /// without it.
    fn sections(&mut self, map: &LinkMap, nodes: &[CallGraphNode]) -> Value {
        let mut names = Vec::with_capacity(map.sections.len());
        let (mut counts, mut parts) = (Vec::new(), Vec::new());
        for section in &map.sections {
            let function = section.function.and_then(|function| nodes.get(function));
            let kind = function.and_then(|node| section.name.strip_suffix(node.name.as_str()));
            let kind = kind.filter(|kind| !kind.is_empty());
            names.push((self.strings.add(kind.unwrap_or(&section.name)), kind.is_some()));
            counts.push(section.parts.len());
            for part in &section.parts {
                let name = (part.section != section.name).then(|| self.strings.add(&part.section));
                parts.push((self.object(Some(&part.file)), index(name), part));
            }
        }
        let sections = &map.sections;
        json!({
            "name": column(&names, |name| name.0),
            "suffix": column(&names, |name| u8::from(name.1)),
            "function": column(sections, |section| index(section.function)),
            "offset": column(sections, |section| section.offset),
            "size": column(sections, |section| section.size),
            "inFile": column(sections, |section| u8::from(section.in_file)),
            "parts": counts,
            "part": {
                "object": column(&parts, |part| part.0),
                "name": column(&parts, |part| part.1),
                "offset": column(&parts, |part| part.2.offset),
                "size": column(&parts, |part| part.2.size),
                "copied": column(&parts, |part| u8::from(part.2.copied)),
            },
        })
    }

    /// `[section, space, kernel, size, [name, occupant, object, offset, size, ...]]`
    fn memory(&mut self, map: &MemoryMap) -> Value {
        let mut parts = Vec::with_capacity(map.parts.len() * 5);
        for part in &map.parts {
            let shown = demangle(&part.name).unwrap_or_else(|| part.name.clone());
            parts.push(json!(self.strings.add(&shown)));
            parts.push(json!(occupant(part.occupant)));
            parts.push(json!(index(part.input)));
            parts.push(json!(part.offset));
            parts.push(json!(part.size));
        }
        let space = match map.space {
            Space::Constant(bank) => i64::from(bank),
            Space::Shared => -1,
            Space::Global => -2,
        };
        json!([self.strings.add(&map.section), space, index(map.kernel), map.size, parts])
    }

    /// `[name, function, kept, registers, [object, bytes, registers, replaced, ...]]`
    fn copies(&mut self, copies: &Copies) -> Value {
        let dropped = copies.dropped.iter().flat_map(|copy| {
            let input = u64::try_from(copy.input).unwrap_or(u64::MAX);
            [input, copy.bytes, copy.registers.into(), copy.replaced.into()]
        });
        json!([
            self.strings.add(&demangle(&copies.name).unwrap_or_else(|| copies.name.clone())),
            index(copies.function),
            index(copies.kept),
            copies.registers,
            dropped.collect::<Vec<_>>(),
        ])
    }

    /// `[name, images, fate, reason]`
    fn input(&mut self, input: &Traced) -> Value {
        let fate = match (input.images, input.compiled, input.optimized) {
            (0, _, true) => "optimized",
            (0, ..) => "ignored",
            (_, true, _) => "compiled",
            _ => "linked",
        };
        let reason = input.ignored.as_deref().filter(|_| input.images == 0).unwrap_or_default();
        json!([self.strings.add(&input.name), input.images, fate, self.strings.add(reason)])
    }
}

fn column<T, U>(rows: &[T], value: impl Fn(&T) -> U) -> Vec<U> {
    rows.iter().map(value).collect()
}

/// The callees of each function as the number of a list, and the lists. Kernels that call through
/// one table have the same callees; in ascending order their lists are the same too.
fn call_lists(nodes: &[CallGraphNode]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut numbers: HashMap<Vec<usize>, usize> = HashMap::new();
    let mut calls = Vec::with_capacity(nodes.len());
    for node in nodes {
        let mut callees = node.callees.clone();
        callees.sort_unstable();
        callees.dedup();
        let new = numbers.len();
        calls.push(*numbers.entry(callees).or_insert(new));
    }
    let mut lists: Vec<(Vec<usize>, usize)> = numbers.into_iter().collect();
    lists.sort_unstable_by_key(|&(_, number)| number);
    (calls, lists.into_iter().map(|(list, _)| list).collect())
}

/// Whether anything calls each function.
fn called(nodes: &[CallGraphNode]) -> Vec<bool> {
    let mut called = vec![false; nodes.len()];
    for (caller, node) in nodes.iter().enumerate() {
        for &callee in node.callees.iter().filter(|&&callee| callee != caller) {
            if let Some(called) = called.get_mut(callee) {
                *called = true;
            }
        }
    }
    called
}

fn flags(node: &CallGraphNode) -> u32 {
    u32::from(node.entry)
        | u32::from(node.removed) << 1
        | u32::from(node.address_taken) << 2
        | u32::from(node.registers.is_some()) << 3
}

/// Why a function is not in the output: 1 no host code names the kernel, 2 `--kernels-used` does
/// not, 3 nothing calls it, 4 its callers were removed too; 0 if it is, or for another reason.
fn why(node: &CallGraphNode, called: bool, removal: Removal) -> u32 {
    match (node.removed, node.entry, removal) {
        (false, ..) | (true, true, Removal::Unreachable) => 0,
        (true, true, Removal::HostReferences) => 1,
        (true, true, Removal::ByName) => 2,
        (true, false, _) if !called => 3,
        (true, false, _) => 4,
    }
}

fn occupant(occupant: Occupant) -> u32 {
    match occupant {
        Occupant::Variable => 0,
        Occupant::Common => 1,
        Occupant::Dynamic => 2,
        Occupant::System => 3,
        Occupant::Parameter => 4,
        Occupant::Handle => 5,
        Occupant::Compiler => 6,
    }
}

/// `[function, registers, from, barriers, from, stack, own stack, recursive, chain, shared, bank 0,
/// bank 2, local, textures, surfaces, samplers]`
fn kernel(kernel: &KernelUse) -> Value {
    let bank = |number| {
        let found = kernel.constants.iter().find(|(bank, _)| *bank == number);
        found.map_or(0, |(_, size)| *size)
    };
    json!([
        kernel.index,
        kernel.registers,
        index(kernel.registers_from.map(|from| from.function)),
        kernel.barriers,
        index(kernel.barriers_from.map(|from| from.function)),
        kernel.stack,
        kernel.own_stack,
        u8::from(kernel.recursive),
        kernel.deepest_chain,
        kernel.shared,
        bank(0),
        bank(2),
        kernel.local,
        kernel.textures,
        kernel.surfaces,
        kernel.samplers,
    ])
}
