//! `--trace`: what happened to every input.

use libwarpld::driver::{Selected, Traced, shown};
use warpld_compilers::ToolkitCompiler;

/// One line per input, in link order, and one on each compiler that there was need of.
pub fn text(selected: &Selected<'_>, compiler: &ToolkitCompiler) -> String {
    let mut text: String = selected.trace.iter().map(line).collect();
    if let Some(compiler) = compiler.used_for_lto() {
        text.push_str(&format!("trace: optimized by {}\n", compiler.display()));
    }
    if let Some(compiler) = compiler.used() {
        text.push_str(&format!("trace: compiled by {}\n", shown(&compiler.display().to_string())));
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
    format!("trace: {}: {}\n", shown(&input.name), shown(&fate))
}
