//! `--trace`: what happened to every input.

use libwarpld::driver::{Selected, Traced};

/// One line per input, in link order.
pub fn text(selected: &Selected<'_>) -> String {
    selected.trace.iter().map(line).collect()
}

fn line(input: &Traced) -> String {
    let fate = match (input.images, &input.ignored) {
        (0, Some(reason)) => format!("ignored, {reason}"),
        (0, None) => "nothing taken".into(),
        (1, _) => "linked".into(),
        (n, _) => format!("linked, {n} images"),
    };
    let fate = if input.compiled { format!("PTX compiled and {fate}") } else { fate };
    format!("trace: {}: {fate}\n", input.name)
}
