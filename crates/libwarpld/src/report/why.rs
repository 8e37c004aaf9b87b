//! `--why-live` and `--why-dead`: what keeps a symbol live, or why it is dead.

use super::paths::Paths;
use super::{CallGraphNode, Data, LinkReport, Removal};
use crate::demangle::{described, meant};
use cubin::words::shown;

/// What is asked about a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// `--why-live`.
    WhyLive,
    /// `--why-dead`.
    WhyDead,
}

impl Question {
    /// The answer as text.
    pub fn text(self, report: &LinkReport, wanted: &str) -> String {
        match self {
            Self::WhyLive => why_live(report, wanted),
            Self::WhyDead => why_dead(report, wanted),
        }
    }
}

/// Answers `--why-live`.
pub fn why_live(report: &LinkReport, wanted: &str) -> String {
    let functions = meant(&report.callgraph, |node| &node.name, wanted);
    let data = meant(&report.data, |data| &data.name, wanted);
    if functions.is_empty() && data.is_empty() {
        return unknown(wanted);
    }
    let paths = Paths::new(&report.callgraph);
    let mut out = String::new();
    for (index, node) in functions {
        out.push_str(&match node.removed {
            true => {
                let (name, reason) = (described(&node.name), reason(report, &paths, index, node));
                format!("{name} is not in the output\n{reason}")
            }
            false => kept(report, &paths, index, node),
        });
    }
    for (_, data) in data {
        out.push_str(&data_text(data));
    }
    out
}

/// Answers `--why-dead`.
pub fn why_dead(report: &LinkReport, wanted: &str) -> String {
    let functions = meant(&report.callgraph, |node| &node.name, wanted);
    let data = meant(&report.data, |data| &data.name, wanted);
    if functions.is_empty() && data.is_empty() {
        return unknown(wanted);
    }
    let paths = Paths::new(&report.callgraph);
    let mut out = String::new();
    for (index, node) in functions {
        out.push_str(&match node.removed {
            true => {
                format!(
                    "{} was removed\n{}",
                    described(&node.name),
                    reason(report, &paths, index, node)
                )
            }
            false => format!("{} is in the output\n", described(&node.name)),
        });
    }
    for (_, data) in data {
        out.push_str(&data_text(data));
    }
    out
}

fn unknown(wanted: &str) -> String {
    format!("{}: no input mentions it\n", shown(wanted))
}

fn data_text(data: &Data) -> String {
    let name = described(&data.name);
    match (&data.file, &data.section) {
        (Some(file), Some(section)) => {
            let (section, file) = (shown(section), shown(file));
            format!("{name} is in {section}, from {file}\n  variables are never removed\n")
        }
        (Some(file), None) => {
            format!("{name} is defined by {} and has no place of its own\n", shown(file))
        }
        (None, _) => format!("{name} is not defined by any input\n"),
    }
}

fn reason(report: &LinkReport, paths: &Paths, index: usize, node: &CallGraphNode) -> String {
    if !node.entry {
        let callers = paths.callers(index).iter().filter_map(|&at| report.callgraph.get(at));
        let callers: Vec<String> = callers.map(|caller| described(&caller.name)).collect();
        return match callers.is_empty() {
            true => "  no kernel reaches it: nothing calls it or takes its address\n".into(),
            false => format!(
                "  no kernel reaches it: its callers were removed too ({})\n",
                callers.join(", ")
            ),
        };
    }
    match report.removal {
        Removal::HostReferences => {
            "  no host code in the inputs names this kernel; --ignore-host-info keeps it\n".into()
        }
        Removal::ByName => "  --kernels-used does not name this kernel\n".into(),
        Removal::Unreachable => String::new(),
    }
}

/// The chain from a root to the function.
fn kept(report: &LinkReport, paths: &Paths, index: usize, node: &CallGraphNode) -> String {
    let name = described(&node.name);
    if node.entry {
        return format!(
            "{name} is a kernel\n  kernels are kept{}\n",
            why_kernels_stay(report.removal)
        );
    }
    let chain = paths.chain(index);
    if chain.is_empty() {
        return match node.address_taken {
            true => format!("{name} is kept because its address is taken\n"),
            false => format!("{name} is kept: this link removes nothing\n"),
        };
    }
    let mut out = format!("{name} is reached from a kernel\n");
    for (depth, &step) in chain.iter().enumerate() {
        let Some(node) = report.callgraph.get(step) else { continue };
        let what = if depth == 0 { "kernel" } else { "calls" };
        let file = node.file.as_deref().map(|f| format!("  ({})", shown(f))).unwrap_or_default();
        out.push_str(&format!("  {what:<6} {}{file}\n", described(&node.name)));
    }
    out
}

fn why_kernels_stay(removal: Removal) -> &'static str {
    match removal {
        Removal::Unreachable => "",
        Removal::HostReferences => " when host code names them",
        Removal::ByName => " when --kernels-used names them",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn report(removal: Removal) -> LinkReport {
        let node = |name: &str, entry, removed, callees: &[usize]| CallGraphNode {
            name: name.into(),
            entry,
            removed,
            callees: callees.to_vec(),
            file: Some("a.o".into()),
            ..CallGraphNode::default()
        };
        LinkReport {
            callgraph: vec![
                node("_Z1kv", true, false, &[1]),
                node("_Z3midv", false, false, &[2]),
                node("_Z3fooi", false, false, &[]),
                node("_Z4deadv", false, true, &[4]),
                node("_Z5dead2v", false, true, &[]),
                node("_Z2k2v", true, true, &[]),
            ],
            data: vec![Data {
                name: "gv".into(),
                file: Some("a.o".into()),
                section: Some(".nv.global".into()),
                ..Data::default()
            }],
            removal,
            ..LinkReport::default()
        }
    }

    #[test]
    fn chains() {
        let report = report(Removal::HostReferences);
        assert_eq!(
            why_live(&report, "foo"),
            "foo(int) [_Z3fooi] is reached from a kernel\n  kernel k() [_Z1kv]  (a.o)\n  \
             calls  mid() [_Z3midv]  (a.o)\n  calls  foo(int) [_Z3fooi]  (a.o)\n"
        );
        assert!(why_live(&report, "_Z1kv").starts_with("k() [_Z1kv] is a kernel\n"));
        assert!(why_live(&report, "gv").starts_with("gv is in .nv.global, from a.o\n"));
        assert_eq!(
            why_live(&report, "?*v"),
            ["_Z1kv", "_Z3midv", "_Z4deadv", "_Z5dead2v", "_Z2k2v", "gv"]
                .map(|name| why_live(&report, name))
                .concat()
        );
        assert_eq!(why_live(&report, "nope"), "nope: no input mentions it\n");
    }

    #[test]
    fn reasons() {
        let report = report(Removal::HostReferences);
        assert!(why_dead(&report, "k2").contains("--ignore-host-info"));
        assert!(why_dead(&report, "dead()").contains("nothing calls it"));
        assert!(why_dead(&report, "dead2").contains("dead() [_Z4deadv]"));
        assert_eq!(why_dead(&report, "mid"), "mid() [_Z3midv] is in the output\n");
    }
}
