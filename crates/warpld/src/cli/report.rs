//! `--report`: gathers what the page tells and writes it.

use super::output;
use crate::options::LinkSettings;
use crate::report_page::{Page, Times};
use libwarpld::driver::{Selected, Traced};
use libwarpld::report::{LinkReport, PhaseTime, Stopwatch};
use libwarpld::{Code, Diagnostic};
use std::io::{self, Write};
use std::path::Path;
use warpld_compilers::ToolkitCompiler;
use warpld_compilers::compile::Timed;

/// What the page tells besides the report of the link.
pub(super) struct Facts {
    inputs: Vec<Traced>,
    before: Vec<PhaseTime>,
    compilers: Vec<Timed>,
}

impl Facts {
    /// What is known before the link.
    pub(super) fn new(
        selected: &Selected<'_>,
        compiler: &ToolkitCompiler,
        watch: Stopwatch,
    ) -> Self {
        Self { inputs: selected.trace.clone(), before: watch.finish(), compilers: compiler.times() }
    }
}

/// The page.
pub(super) fn text(settings: &LinkSettings, facts: &Facts, report: &LinkReport) -> String {
    let times = Times {
        before: facts.before.clone(),
        link: report.detail.as_ref().map_or_else(Vec::new, |detail| detail.phases.clone()),
        compilers: facts.compilers.clone(),
    };
    let output = settings.output.as_deref().unwrap_or(Path::new("")).display().to_string();
    let page = Page {
        tool: concat!("warpld ", env!("CARGO_PKG_VERSION")),
        target: settings.target.arch(),
        output: &output,
        relocatable: settings.relocatable,
        inputs: &facts.inputs,
        report,
        times: &times,
    };
    page.html()
}

/// Writes the page to a file or, for `-`, to standard output.
pub(super) fn write(path: &Path, page: &str) -> Result<(), Diagnostic> {
    if path.as_os_str() != "-" {
        return Ok(output::write_atomically(path, page.as_bytes())?);
    }
    io::stdout().lock().write_all(page.as_bytes()).map_err(|error| {
        let message = "Could not write the report to standard output";
        Diagnostic::fatal(Code::WriteFailed, message).note(error)
    })
}
