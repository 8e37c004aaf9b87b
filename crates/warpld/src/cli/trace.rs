//! `--trace`: what happened to every input.

use super::libraries;
use crate::files::Skipped;
use libwarpld::driver::{Selected, Traced, joined, json_option, json_string, shown};
use libwarpld::report::FORMAT;
use warpld_compilers::ToolkitCompiler;

/// What happened, as text or as JSON.
pub fn report(
    selected: &Selected<'_>,
    compiler: &ToolkitCompiler,
    skipped: &[Skipped],
    json: bool,
) -> String {
    match json {
        true => object(selected, compiler, skipped),
        false => text(selected, compiler) + &libraries::trace(skipped),
    }
}

fn object(selected: &Selected<'_>, compiler: &ToolkitCompiler, skipped: &[Skipped]) -> String {
    let input = |input: &Traced| {
        format!(
            "{{\"name\":{},\"images\":{},\"compiled\":{},\"optimized\":{},\"ignored\":{}}}",
            json_string(&input.name),
            input.images,
            input.compiled,
            input.optimized,
            json_option(input.ignored.as_deref())
        )
    };
    let library = |library: &Skipped| {
        let (shared, archive) = match &library.hidden {
            Some((shared, archive)) => (Some(shared), Some(archive)),
            None => (None, None),
        };
        let path = |path: Option<&std::path::PathBuf>| {
            json_option(path.map(|path| path.to_string_lossy()).as_deref())
        };
        format!(
            "{{\"library\":{},\"archive\":{},\"hidden_by\":{}}}",
            json_string(&library.library),
            path(archive),
            path(shared)
        )
    };
    let tool = |tool: Option<&std::path::Path>| {
        json_option(tool.map(|tool| tool.to_string_lossy()).as_deref())
    };
    format!(
        "{{\"format\":{FORMAT},\"report\":\"trace\",\"inputs\":[{}],\"libraries_left_out\":[{}],\
         \"compiler\":{},\"optimizer\":{}}}\n",
        joined(selected.trace.iter().map(input)),
        joined(skipped.iter().map(library)),
        tool(compiler.used()),
        tool(compiler.used_for_lto())
    )
}

/// One line per input, in link order, and one on each compiler that there was need of.
fn text(selected: &Selected<'_>, compiler: &ToolkitCompiler) -> String {
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
