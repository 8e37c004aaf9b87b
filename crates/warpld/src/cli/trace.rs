//! `--trace`: what happened to every input.

use libwarpld::driver::{Selected, Traced};
use std::path::Path;

/// One line per input, in link order, and one on the compiler if there was need of one.
pub fn text(selected: &Selected<'_>, compiler: Option<&Path>) -> String {
    let mut text: String = selected.trace.iter().map(line).collect();
    if let Some(compiler) = compiler {
        text.push_str(&format!("trace: compiled by {}\n", compiler.display()));
    }
    text
}

fn line(input: &Traced) -> String {
    let fate = match (input.images, &input.ignored) {
        (0, Some(reason)) => format!("ignored, {reason}"),
        (0, None) if input.optimized => "optimized with all other LTO-IR".into(),
        (0, None) => "nothing taken".into(),
        (1, _) => "linked".into(),
        (n, _) => format!("linked, {n} images"),
    };
    let fate = if input.compiled { format!("PTX compiled and {fate}") } else { fate };
    format!("trace: {}: {fate}\n", input.name)
}
