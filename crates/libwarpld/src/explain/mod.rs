//! Notes that make messages actionable: what refers to a missing symbol, which name may be meant,
//! what takes up a memory, where a recursion is.
//!
//! Phases report an error in one line. This runs only if there is something to explain, so it can
//! examine everything again.

pub mod definitions;
mod limits;
mod lines;
mod recursion;
mod references;
mod suggest;

pub use lines::LineTable;
pub use suggest::closest;

use crate::context::Analysis;
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::linked::Linked;
use references::References;

/// Maximum number of references, names or contributors in a note.
const LISTED: usize = 5;

/// Maximum number of missing symbols to explain; if there are many, they usually have one cause.
const EXPLAINED: usize = 20;

/// Adds notes to the messages of a link.
pub fn explain(linked: Linked<'_, '_>, diagnostics: &mut Diagnostics) {
    let cx = linked.cx;
    merge_stack_warnings(cx, diagnostics);
    merge_register_errors(diagnostics);
    let missing: Vec<String> = diagnostics
        .as_slice()
        .iter()
        .filter(|d| d.code == Code::UndefinedSymbol)
        .filter_map(|d| d.symbol.clone())
        .take(EXPLAINED)
        .collect();
    let references = References::collect(cx, &missing);
    for diagnostic in diagnostics.as_mut_slice() {
        let notes = match diagnostic.code {
            Code::UndefinedSymbol => undefined(cx, diagnostic, &references),
            Code::TooMuchShared => limits::shared(linked, diagnostic),
            Code::TooMuchConstant => limits::constants(linked),
            Code::TooManyRegisters => limits::register_chain(cx, diagnostic),
            _ => continue,
        };
        diagnostic.notes.extend(notes);
    }
}

fn undefined(
    cx: Analysis<'_, '_>,
    diagnostic: &Diagnostic,
    references: &References,
) -> Vec<String> {
    let Some(symbol) = diagnostic.symbol.as_deref() else { return Vec::new() };
    let mut notes = references.notes(symbol);
    if notes.is_empty() {
        return notes;
    }
    notes.extend(suggest::did_you_mean(cx, symbol));
    notes.extend(suggest::missing_library(symbol));
    notes
}

/// Merges the warnings of kernels with the same cause.
fn merge_stack_warnings(cx: Analysis<'_, '_>, diagnostics: &mut Diagnostics) {
    for (at, others) in diagnostics.merge(Code::UnknownStack, |_| ()) {
        let Some(warning) = diagnostics.as_mut_slice().get_mut(at) else { continue };
        let kernel = warning.kernel.clone().unwrap_or_default();
        warning.notes.extend(recursion::notes(cx, &kernel));
        warning.notes.extend(same_holds_for(&others));
        warning.notes.push(
            "set cudaLimitStackSize for such kernels, or pass --suppress-stack-size-warning".into(),
        );
    }
}

/// One error per callee, not one per kernel that reaches it.
fn merge_register_errors(diagnostics: &mut Diagnostics) {
    for (at, others) in diagnostics.merge(Code::TooManyRegisters, |d| d.symbol.clone()) {
        if let Some(error) = diagnostics.as_mut_slice().get_mut(at) {
            error.notes.extend(same_holds_for(&others));
        }
    }
}

fn same_holds_for(kernels: &[String]) -> Option<String> {
    (!kernels.is_empty()).then(|| format!("the same holds for {}", listed(kernels, "kernel")))
}

/// The first names, and how many more there are.
fn listed(names: &[String], what: &str) -> String {
    let shown: Vec<String> =
        names.iter().take(LISTED).map(|name| crate::demangle::readable(name)).collect();
    let more = names.len().saturating_sub(LISTED);
    match more {
        0 => shown.join(", "),
        1 => format!("{} and 1 more {what}", shown.join(", ")),
        _ => format!("{} and {more} more {what}s", shown.join(", ")),
    }
}

/// The id of a function by name.
fn function_named(cx: Analysis<'_, '_>, name: &str) -> Option<crate::ids::FunctionId> {
    let graph = cx.graph;
    graph.functions.ids().find(|&f| cx.resolution.get(graph.symbol(f)).name == name.as_bytes())
}

/// Sizes, largest first, as notes.
fn largest(mut items: Vec<(u64, String)>) -> Vec<String> {
    items.sort_by(|a, b| b.cmp(a));
    let more = items.len().saturating_sub(LISTED);
    let mut notes: Vec<String> = items
        .into_iter()
        .take(LISTED)
        .map(|(size, what)| format!("{size} bytes: {what}"))
        .collect();
    if more > 0 {
        notes.push(format!("and {more} smaller ones"));
    }
    notes
}
