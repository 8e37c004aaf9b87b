//! `--finalizer`: inputs that need a compiler go through NVIDIA's linker first.

use super::translator::translate;
use crate::options::LinkSettings;
use libwarpld::diag::{Diagnostic, Diagnostics, Severity};
use libwarpld::dialect::target::has_mercury;
use libwarpld::inputs::{Inputs, LinkInput};
use libwarpld::mercury::{Trace, needs_compiler};
use std::borrow::Cow;

/// The inputs, those translated that cannot be linked as they are.
pub fn inputs<'i, 'a>(
    settings: &LinkSettings,
    inputs: &'i Inputs<'a>,
    diagnostics: &mut Diagnostics,
) -> Result<Cow<'i, Inputs<'a>>, Diagnostic> {
    let (Some(tool), true) = (&settings.finalizer, has_mercury(settings.config.arch)) else {
        return Ok(Cow::Borrowed(inputs));
    };
    let (arch, debug) = (settings.config.arch, settings.config.debug);
    let mut out = Cow::Borrowed(inputs);
    for (i, input) in inputs.images.iter().enumerate() {
        let Some(reason) = needs_compiler(&input.image, arch, &mut Trace::default()) else {
            continue;
        };
        if settings.config.mercury.trace {
            let text = format!("FNLZR: {} goes to {}: {reason}", input.name, tool.display());
            diagnostics.push(Diagnostic::new(Severity::Info, "fnlzr-trace", text));
        }
        let translated = translate(tool, &input.image, arch, debug).map_err(|error| {
            let message = format!("Input file '{}' could not be translated", input.name);
            Diagnostic::fatal("finalizer-failed", message).note(error)
        })?;
        if let Some(image) = out.to_mut().images.get_mut(i) {
            *image = LinkInput { image: Cow::Owned(translated), parsed: None, ..image.clone() };
        }
    }
    Ok(out)
}
