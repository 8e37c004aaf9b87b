//! Diagnostics and report as JSON. Keys are stable; new ones may be added.

use libwarpld::driver::readable;
use libwarpld::report::{CallGraphNode, Culprit, Data, KernelUse, LinkReport, limits, map_json};
use libwarpld::{Arch, Diagnostic, Severity};
use serde_json::{Map, Value, json};

/// Version of the form; incremented when a key changes its meaning or is removed.
const FORMAT: u32 = 1;

/// Messages, in order, with the keys of `--error-format=json`.
pub fn diagnostics(list: &[Diagnostic]) -> String {
    list.iter().map(diagnostic).collect::<Value>().to_string()
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let mut out = Map::new();
    let severity = match diagnostic.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
        Severity::Fatal => "fatal",
    };
    out.insert("severity".into(), severity.into());
    out.insert("code".into(), diagnostic.code.name().into());
    out.insert("message".into(), diagnostic.message.as_str().into());
    if let Some(symbol) = &diagnostic.symbol {
        out.insert("symbol".into(), symbol.as_str().into());
        out.insert("demangled".into(), readable(symbol).into());
    }
    if let Some(kernel) = &diagnostic.kernel {
        out.insert("kernel".into(), kernel.as_str().into());
    }
    let notes = diagnostic.notes.iter().map(String::as_str).chain(diagnostic.code.advice());
    out.insert("notes".into(), notes.collect());
    Value::Object(out)
}

/// The report of a link.
pub fn report(arch: Arch, report: &LinkReport) -> String {
    let limits = limits(arch);
    let nodes = &report.callgraph;
    json!({
        "format": FORMAT,
        "target": {
            "name": arch.to_string(),
            "registers": limits.registers,
            "barriers": limits.barriers,
            "static_shared": limits.static_shared,
            "extended_shared": limits.extended_shared,
            "reserved_shared": limits.reserved_shared,
        },
        "memory": {"global": report.memory.global, "constant": report.memory.constant},
        "kernels": report.kernels.iter().rev().map(|kernel| kernel_json(kernel, nodes)).collect::<Value>(),
        "functions": nodes.iter().map(|node| function(node, nodes)).collect::<Value>(),
        "variables": report.data.iter().map(variable).collect::<Value>(),
        "map": serde_json::from_str::<Value>(&map_json(report)).unwrap_or_default(),
    })
    .to_string()
}

fn kernel_json(kernel: &KernelUse, nodes: &[CallGraphNode]) -> Value {
    let because = |culprit: Option<Culprit>| name(nodes, culprit?.function);
    let constants = kernel.constants.iter().map(|(bank, size)| (bank.to_string(), (*size).into()));
    json!({
        "name": kernel.name,
        "demangled": readable(&kernel.name),
        "registers": kernel.registers,
        "registers_from": because(kernel.registers_from),
        "barriers": kernel.barriers,
        "barriers_from": because(kernel.barriers_from),
        "stack": (!kernel.recursive).then_some(kernel.stack),
        "own_stack": kernel.own_stack,
        "deepest_chain": kernel.deepest_chain.iter().filter_map(|at| name(nodes, *at)).collect::<Value>(),
        "shared": kernel.shared,
        "constants": constants.collect::<Map<String, Value>>(),
        "local": kernel.local,
        "textures": kernel.textures,
        "surfaces": kernel.surfaces,
        "samplers": kernel.samplers,
    })
}

fn function(node: &CallGraphNode, nodes: &[CallGraphNode]) -> Value {
    json!({
        "name": node.name,
        "demangled": readable(&node.name),
        "file": node.file,
        "live": !node.removed,
        "kernel": node.entry,
        "address_taken": node.address_taken,
        "registers": node.registers,
        "frame": node.frame,
        "barriers": node.barriers,
        "size": node.size,
        "callees": node.callees.iter().filter_map(|at| name(nodes, *at)).collect::<Value>(),
    })
}

fn variable(data: &Data) -> Value {
    json!({
        "name": data.name,
        "demangled": readable(&data.name),
        "file": data.file,
        "section": data.section,
    })
}

fn name(nodes: &[CallGraphNode], at: usize) -> Option<&str> {
    nodes.get(at).map(|node| node.name.as_str())
}
