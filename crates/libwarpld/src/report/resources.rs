//! `--print-resources`: what each kernel needs, and which callee is responsible.

use super::{CallGraphNode, Culprit, KernelUse, LinkReport};
use crate::demangle::{described, readable};
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
}

fn stack(kernel: &KernelUse, nodes: &[CallGraphNode]) -> String {
    if kernel.recursive {
        return "not known: a function it reaches may call itself".into();
    }
    let frames: Vec<String> = std::iter::once(&kernel.index)
        .chain(&kernel.deepest_chain)
        .filter_map(|&index| nodes.get(index))
        .filter(|node| node.frame != 0)
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
    }
}
