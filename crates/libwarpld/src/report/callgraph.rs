//! `--dump-callgraph` and `-dot`.

use super::LinkReport;
use crate::demangle::demangle;
use cubin::words::shown;
use std::fmt::Write;

/// One function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallGraphNode {
    /// The symbol.
    pub name: String,
    /// Whether it was removed as unreachable.
    pub removed: bool,
    /// A kernel.
    pub entry: bool,
    /// Its address is taken.
    pub address_taken: bool,
    /// Registers of the function alone; `None` if it is not defined here.
    pub registers: Option<u32>,
    /// Bytes of stack of the function alone.
    pub frame: u32,
    /// Barriers of the function alone.
    pub barriers: u32,
    /// Bytes of code.
    pub size: u64,
    /// The input that defines it.
    pub file: Option<String>,
    /// Indices of the functions it may call, in print order.
    pub callees: Vec<usize>,
}

const LEGEND: &str = "# A: s -> B // s (number A) potentially calls B\n\
                      # s [N]     // s uses N registers\n\
                      # ^s        // s is entry point\n\
                      # &s        // s has address taken\n";

/// The text of `--dump-callgraph`. Functions are numbered from 1; removed functions have a number
/// but no line.
pub fn dump_text(arch_number: u16, report: &LinkReport, demangled: bool) -> String {
    let nodes = &report.callgraph;
    let mut out = format!("callgraph for sm_{arch_number}:\n{LEGEND}");
    for (index, node) in nodes.iter().enumerate() {
        let _ = write!(out, "{}: ", index + 1);
        if !node.removed {
            node_text(&mut out, node, demangled);
        }
        out.push('\n');
    }
    for raise in raises(report) {
        let name = |index: usize| nodes.get(index).map_or("", |node| &node.name);
        let (from, to) =
            (spelt(name(raise.callee), demangled), spelt(name(raise.kernel), demangled));
        let _ = writeln!(out, "regcount {} for {from} propagated to entry {to}", raise.registers);
    }
    out
}

/// A kernel that needs more registers because of a callee.
struct Raise {
    registers: u32,
    callee: usize,
    kernel: usize,
}

/// Callees in order, and for each the kernels that reach it, last first; a kernel's count never
/// decreases.
fn raises(report: &LinkReport) -> Vec<Raise> {
    let nodes = &report.callgraph;
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| !node.removed) {
        for &callee in &node.callees {
            if let Some(list) = callers.get_mut(callee) {
                list.push(index);
            }
        }
    }
    let mut current: Vec<u32> = nodes.iter().map(|node| node.registers.unwrap_or(0)).collect();
    let lowest = report.kernels.iter().filter_map(|k| current.get(k.index)).min().copied();
    let mut raises = Vec::new();
    for (callee, node) in nodes.iter().enumerate().filter(|(_, n)| !n.removed && !n.entry) {
        let registers = node.registers.unwrap_or(0);
        if lowest.is_none_or(|lowest| registers <= lowest) {
            continue;
        }
        let mut seen = vec![false; nodes.len()];
        let mut work = vec![callee];
        while let Some(at) = work.pop() {
            if seen.get_mut(at).is_some_and(|slot| !std::mem::replace(slot, true)) {
                work.extend(callers.get(at).into_iter().flatten());
            }
        }
        for kernel in &report.kernels {
            let Some(count) = current.get_mut(kernel.index) else { continue };
            if seen.get(kernel.index) == Some(&true) && registers > *count {
                *count = registers;
                raises.push(Raise { registers, callee, kernel: kernel.index });
            }
        }
    }
    raises
}

fn spelt(name: &str, demangled: bool) -> String {
    let spelt = match demangle(name).filter(|_| demangled) {
        Some(source) => nvlink_style(name, &source),
        None => name.to_owned(),
    };
    shown(&spelt).into_owned()
}

fn node_text(out: &mut String, node: &CallGraphNode, demangled: bool) {
    if node.entry {
        out.push('^');
    }
    if node.address_taken {
        out.push('&');
    }
    out.push_str(&spelt(&node.name, demangled));
    if let Some(registers) = node.registers {
        let _ = write!(out, " [{registers}]");
    }
    out.push_str(" ->");
    for callee in &node.callees {
        let _ = write!(out, " {}", callee + 1);
    }
}

/// Pointers with a space before the star, `const` before a one-word type: nvlink's spelling of the
/// common cases. A deleting destructor is marked.
fn nvlink_style(symbol: &str, name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 8);
    let mut previous = ' ';
    for c in name.chars() {
        if c == '*' && (previous.is_alphanumeric() || matches!(previous, '_' | '>')) {
            words.push(' ');
        }
        words.push(c);
        previous = c;
    }
    let deleting = if symbol.contains("D0Ev") { " [deleting]" } else { "" };
    move_const(&words).replace("(anonymous namespace)", "<unnamed>").replace(") [", ")[") + deleting
}

/// Rewrites `char const *` and `X const&` as `const char *` and `const X&`.
fn move_const(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(" const") {
        let after = &rest[at + " const".len()..];
        let before = &rest[..at];
        if !after.starts_with([' ', '&', '*'])
            || before.ends_with(')')
            || after.starts_with(" volatile")
        {
            out.push_str(&rest[..at + " const".len()]);
            rest = after;
            continue;
        }
        let start = type_start(before);
        out.push_str(&before[..start]);
        out.push_str("const ");
        out.push_str(&before[start..]);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Start of the type at the end of `text`: after the last separator outside of angle brackets.
fn type_start(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            '>' => depth += 1,
            '<' | '(' | ',' if depth == 0 => {
                let blanks = text[at + 1..].len() - text[at + 1..].trim_start().len();
                return at + 1 + blanks;
            }
            '<' => depth -= 1,
            _ => {}
        }
    }
    0
}

/// The text of `-dot`.
pub fn dot_text(nodes: &[CallGraphNode]) -> String {
    let mut out = String::from("digraph callgraph {\n");
    for node in nodes.iter().filter(|node| !node.removed) {
        for callee in node.callees.iter().filter_map(|&callee| nodes.get(callee)) {
            let _ = writeln!(out, "{} -> {};", node.name, callee.name);
        }
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, registers: Option<u32>, callees: &[usize]) -> CallGraphNode {
        CallGraphNode {
            name: name.into(),
            registers,
            callees: callees.to_vec(),
            ..Default::default()
        }
    }

    fn sample() -> Vec<CallGraphNode> {
        vec![
            node("_Z3reci", Some(24), &[1, 0]),
            CallGraphNode { address_taken: true, ..node("_Z3fooi", Some(24), &[]) },
            CallGraphNode { entry: true, ..node("_Z2kuPi", Some(24), &[4, 1]) },
            CallGraphNode { removed: true, ..node("_Z4deadv", Some(8), &[1]) },
            node("_Z4missi", None, &[]),
        ]
    }

    #[test]
    fn dump() {
        let report = LinkReport { callgraph: sample(), ..LinkReport::default() };
        let text = dump_text(90, &report, true);
        assert!(text.starts_with("callgraph for sm_90:\n# A: s -> B //"));
        assert!(text.ends_with(
            "\n1: rec(int) [24] -> 2 1\n2: &foo(int) [24] ->\n3: ^ku(int *) [24] -> 5 2\n4: \n5: miss(int) ->\n"
        ));
        assert!(dump_text(90, &report, false).contains("\n3: ^_Z2kuPi [24] -> 5 2\n"));
    }

    #[test]
    fn dot() {
        assert_eq!(
            dot_text(&sample()),
            "digraph callgraph {\n_Z3reci -> _Z3fooi;\n_Z3reci -> _Z3reci;\n_Z2kuPi -> _Z4missi;\n_Z2kuPi -> _Z3fooi;\n}\n"
        );
    }

    /// Spellings from nvlink's dumps.
    #[test]
    fn spelling() {
        for (gnu, nvlink) in [
            ("f(int*)", "f(int *)"),
            ("f(char const*, unsigned long)", "f(const char *, unsigned long)"),
            ("V<float>::get(V<float> const&)", "V<float>::get(const V<float>&)"),
            ("f(int const*, int (&) [3])", "f(const int *, int (&)[3])"),
            ("D::m() const", "D::m() const"),
        ] {
            assert_eq!(nvlink_style("", gnu), nvlink);
        }
    }
}
