//! `--finalizer`: inputs that need a compiler go through NVIDIA's linker first.

use super::translator::translate;
use crate::options::LinkSettings;
use libwarpld::Code;
use libwarpld::driver::{Diagnostics, Inputs, LinkInput, needs_compiler};
use libwarpld::{Diagnostic, Severity};
use std::borrow::Cow;

/// The inputs, after translating those that cannot be linked unchanged.
pub fn inputs<'i, 'a>(
    settings: &LinkSettings,
    inputs: &'i Inputs<'a>,
    diagnostics: &mut Diagnostics,
) -> Result<Cow<'i, Inputs<'a>>, Diagnostic> {
    let Some(tool) = &settings.finalizer else {
        return Ok(Cow::Borrowed(inputs));
    };
    let (arch, debug) = (settings.target.arch(), settings.debug);
    let limit = settings.compile.time_limit;
    let mut out = Cow::Borrowed(inputs);
    for (i, input) in inputs.images.iter().enumerate() {
        let Some(reason) = needs_compiler(&input.image, arch) else {
            continue;
        };
        if settings.mercury_trace {
            let text = format!("FNLZR: {} goes to {}: {reason}", input.name, tool.display());
            diagnostics.push(Diagnostic::new(Severity::Info, Code::FnlzrTrace, text));
        }
        let translated = translate(tool, &input.image, arch, debug, limit).map_err(|error| {
            let message = format!("Input file '{}' could not be translated", input.name);
            Diagnostic::fatal(Code::FinalizerFailed, message).note(error)
        })?;
        if let Some(image) = out.to_mut().images.get_mut(i) {
            *image = LinkInput { image: Cow::Owned(translated), parsed: None, ..image.clone() };
        }
    }
    Ok(out)
}
