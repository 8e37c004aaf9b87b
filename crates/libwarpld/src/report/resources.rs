//! `--print-resources`: what each kernel needs, and which callee is responsible.

use super::{CallGraphNode, Culprit, FORMAT, KernelUse, LinkReport};
use crate::demangle::{demangle, described, readable};
use crate::json::{joined, json_option, json_string};
use cubin::words::shown;
use std::fmt::Write;

/// The report.
pub fn resources_text(report: &LinkReport) -> String {
    let mut out = String::new();
    for kernel in report.kernels.iter().rev() {
        kernel_text(&mut out, kernel, &report.callgraph);
    }
    let _ = write!(out, "image\n  global memory   {} bytes\n", report.memory.global);
    if let Some(constant) = report.memory.constant {
        let _ = writeln!(out, "  constant memory {constant} bytes");
    }
    out
}

fn kernel_text(out: &mut String, kernel: &KernelUse, nodes: &[CallGraphNode]) {
    let because = |culprit: Option<Culprit>| {
        let node = culprit.and_then(|c| nodes.get(c.function));
        node.map(|node| format!("  because of {}", short(&node.name))).unwrap_or_default()
    };
    let _ = writeln!(out, "{}", described(&kernel.name));
    let _ =
        writeln!(out, "  registers       {}{}", kernel.registers, because(kernel.registers_from));
    let _ = writeln!(out, "  barriers        {}{}", kernel.barriers, because(kernel.barriers_from));
    let _ = writeln!(out, "  stack           {}", stack(kernel, nodes));
    let _ = writeln!(out, "  shared memory   {} bytes", kernel.shared);
    for (bank, size) in &kernel.constants {
        let _ = writeln!(out, "  constant bank {bank} {size} bytes");
    }
    let images = [
        ("textures", kernel.textures),
        ("surfaces", kernel.surfaces),
        ("samplers", kernel.samplers),
    ];
    for (name, count) in images.into_iter().filter(|(_, count)| *count > 0) {
        let _ = writeln!(out, "  {name:<15} {count}");
    }
}

/// The report as JSON.
pub fn resources_json(report: &LinkReport) -> String {
    let kernels = report.kernels.iter().rev().map(|kernel| kernel_json(kernel, &report.callgraph));
    let constant = report.memory.constant.map_or("null".into(), |size| size.to_string());
    format!(
        "{{\"format\":{FORMAT},\"report\":\"resources\",\"kernels\":[{}],\
         \"memory\":{{\"global\":{},\"constant\":{constant}}}}}\n",
        joined(kernels),
        report.memory.global
    )
}

fn kernel_json(kernel: &KernelUse, nodes: &[CallGraphNode]) -> String {
    let from = |culprit: Option<Culprit>| {
        json_option(culprit.and_then(|c| nodes.get(c.function)).map(|node| &*node.name))
    };
    let frame = |node: &CallGraphNode| {
        format!("{{\"symbol\":{},\"bytes\":{}}}", json_string(&node.name), node.frame)
    };
    let constants = kernel.constants.iter().map(|(bank, size)| format!("\"{bank}\":{size}"));
    let mut fields = vec![
        ("symbol", json_string(&kernel.name)),
        ("demangled", json_option(demangle(&kernel.name).as_deref())),
        ("registers", kernel.registers.to_string()),
        ("registers_from", from(kernel.registers_from)),
        ("barriers", kernel.barriers.to_string()),
        ("barriers_from", from(kernel.barriers_from)),
        ("stack", if kernel.recursive { "null".into() } else { kernel.stack.to_string() }),
        ("frames", format!("[{}]", joined(frames(kernel, nodes).map(frame)))),
        ("shared", kernel.shared.to_string()),
        ("constants", format!("{{{}}}", joined(constants))),
    ];
    let images = [
        ("textures", kernel.textures),
        ("surfaces", kernel.surfaces),
        ("samplers", kernel.samplers),
    ];
    fields.extend(images.map(|(name, count)| (name, count.to_string())));
    let fields = fields.into_iter().map(|(name, value)| format!("\"{name}\":{value}"));
    format!("{{{}}}", joined(fields))
}

/// The functions of the deepest chain that have a frame, from the kernel on.
fn frames<'r>(
    kernel: &'r KernelUse,
    nodes: &'r [CallGraphNode],
) -> impl Iterator<Item = &'r CallGraphNode> {
    let chain = std::iter::once(&kernel.index).chain(&kernel.deepest_chain);
    chain.filter_map(|&index| nodes.get(index)).filter(|node| node.frame != 0)
}

fn stack(kernel: &KernelUse, nodes: &[CallGraphNode]) -> String {
    if kernel.recursive {
        return "not known: a function it reaches may call itself".into();
    }
    let frames: Vec<String> = frames(kernel, nodes)
        .map(|node| format!("{} in {}", node.frame, short(&node.name)))
        .collect();
    match frames.is_empty() {
        true => format!("{} bytes", kernel.stack),
        false => format!("{} bytes: {}", kernel.stack, frames.join(", ")),
    }
}

fn short(name: &str) -> String {
    shown(&readable(name)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::MemoryUse;
    use super::*;

    fn node(name: &str, frame: u32) -> CallGraphNode {
        CallGraphNode { name: name.into(), frame, ..CallGraphNode::default() }
    }

    #[test]
    fn names_who_is_responsible() {
        let report = LinkReport {
            memory: MemoryUse { global: 8, constant: Some(100) },
            callgraph: vec![node("_Z1kv", 16), node("_Z3midPi", 256)],
            kernels: vec![KernelUse {
                name: "_Z1kv".into(),
                registers: 92,
                registers_from: Some(Culprit { value: 92, function: 1 }),
                barriers: 1,
                stack: 272,
                deepest_chain: vec![1],
                shared: 1280,
                constants: vec![(0, 536)],
                ..KernelUse::default()
            }],
            ..LinkReport::default()
        };
        assert_eq!(
            resources_text(&report),
            "k() [_Z1kv]\n  registers       92  because of mid(int*)\n  barriers        1\n  \
             stack           272 bytes: 16 in k(), 256 in mid(int*)\n  \
             shared memory   1280 bytes\n  constant bank 0 536 bytes\n\
             image\n  global memory   8 bytes\n  constant memory 100 bytes\n"
        );
        assert_eq!(
            resources_json(&report),
            "{\"format\":1,\"report\":\"resources\",\"kernels\":[{\"symbol\":\"_Z1kv\",\
             \"demangled\":\"k()\",\"registers\":92,\"registers_from\":\"_Z3midPi\",\
             \"barriers\":1,\"barriers_from\":null,\"stack\":272,\"frames\":[\
             {\"symbol\":\"_Z1kv\",\"bytes\":16},{\"symbol\":\"_Z3midPi\",\"bytes\":256}],\
             \"shared\":1280,\"constants\":{\"0\":536},\"textures\":0,\"surfaces\":0,\
             \"samplers\":0}],\"memory\":{\"global\":8,\"constant\":100}}\n"
        );
    }
}
