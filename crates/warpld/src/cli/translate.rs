//! Inputs that need a compiler go through NVIDIA's linker first, if the whole link cannot: the one that
//! `--finalizer` names, or that of the user's toolkit.

use super::fallback::{self, Fallback};
use super::translator::translate;
use crate::options::LinkSettings;
use libwarpld::Code;
use libwarpld::driver::{Diagnostics, Inputs, LinkInput, is_scheduled_anew, needs_compiler};
use libwarpld::{Diagnostic, Severity};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::Path;
use warpld_compilers::toolkit::{Search, Tool};

/// The inputs, after translating those that cannot be linked unchanged. Without a linker that
/// translates, they stay as they are, and the link refuses them.
pub fn inputs<'i, 'a>(
    settings: &LinkSettings,
    inputs: &'i Inputs<'a>,
    diagnostics: &mut Diagnostics,
) -> Result<Cow<'i, Inputs<'a>>, Diagnostic> {
    let (arch, debug) = (settings.target.arch(), settings.debug);
    let limit = settings.compile.time_limit;
    if let Some(refusal) = for_nvlink(settings, inputs) {
        return Err(refusal);
    }
    let search = OnceCell::new();
    let mut out = Cow::Borrowed(inputs);
    for (i, input) in inputs.images.iter().enumerate() {
        let Some(reason) = needs_compiler(&input.image, arch) else {
            continue;
        };
        let Some(tool) = tool(settings, &search) else {
            break;
        };
        if settings.mercury_trace || settings.side.verbose {
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

/// Refuses a link that may be handed over and has code which runs on the target as it is, but which nvlink schedules
/// anew. Without an nvlink warpld links it.
fn for_nvlink(settings: &LinkSettings, inputs: &Inputs<'_>) -> Option<Diagnostic> {
    let arch = settings.target.arch();
    let input = inputs.images.iter().find(|input| is_scheduled_anew(input, arch))?;
    let fallback = Fallback::unasked(settings).filter(|_| settings.finalizer.is_none())?;
    fallback.nvlink().ok()?;
    let (name, number) = (&input.name, arch.number);
    let message = format!("Input file '{name}' is scheduled anew for sm_{number} by nvlink");
    Some(Diagnostic::fatal(Code::NeedsCompiler, message))
}

/// The linker that translates. A toolkit is looked for when the first input needs one.
fn tool<'s>(settings: &'s LinkSettings, search: &'s OnceCell<Option<Search>>) -> Option<&'s Path> {
    match &settings.finalizer {
        Some(named) => Some(named),
        None => search.get_or_init(|| toolkit(settings)).as_ref()?.nvlink().ok().map(Tool::path),
    }
}

/// Where a linker is looked for. A link that may be handed over is better handed over as a whole:
/// its output is then nvlink's own, byte for byte.
fn toolkit(settings: &LinkSettings) -> Option<Search> {
    let hands_over = Fallback::unasked(settings).is_some();
    (!hands_over).then(|| Search::new(settings.toolkit.clone()))
}

/// Where a linker was looked for that translates an input which these messages refuse.
pub fn missing(settings: &LinkSettings, messages: &[Diagnostic]) -> Option<Diagnostic> {
    if settings.finalizer.is_some() || !fallback::needs_compiler(messages) {
        return None;
    }
    let missing = toolkit(settings)?.nvlink().err()?;
    let message = "there is no nvlink that could translate this input".into();
    Some(Diagnostic { message, severity: Severity::Info, ..*missing })
}
