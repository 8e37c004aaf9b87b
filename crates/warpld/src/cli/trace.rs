//! `--trace`: what became of every input.

use crate::load::{Loaded, Step};
use crate::select::Selected;
use std::collections::HashMap;
use std::fmt::Write;

/// One line per input, in link order.
pub fn text(loaded: &Loaded<'_>, selected: &Selected<'_>) -> String {
    let mut images: HashMap<&str, usize> = HashMap::new();
    for image in &selected.inputs.images {
        *images.entry(&image.name).or_default() += 1;
    }
    let passed_over: HashMap<&str, &str> =
        selected.ignored.iter().map(|i| (i.name.as_str(), i.reason.as_str())).collect();
    let mut out = String::new();
    for step in loaded.steps() {
        let _ = match step {
            Step::Ignored(ignored) => {
                writeln!(out, "trace: {}: ignored, {}", ignored.name, ignored.reason)
            }
            Step::Source(source) => {
                match (images.get(source.name.as_str()), passed_over.get(source.name.as_str())) {
                    (Some(1), _) => writeln!(out, "trace: {}: linked", source.name),
                    (Some(n), _) => writeln!(out, "trace: {}: linked, {n} images", source.name),
                    (None, Some(reason)) => {
                        writeln!(out, "trace: {}: ignored, {reason}", source.name)
                    }
                    (None, None) => writeln!(out, "trace: {}: nothing taken", source.name),
                }
            }
            Step::Messages(_) => Ok(()),
        };
    }
    out
}
