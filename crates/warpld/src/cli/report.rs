//! `--report`: gathers what the page tells.

use crate::options::LinkSettings;
use crate::report_page::{Page, Times};
use libwarpld::driver::{Lap, Selected, Stopwatch, Traced};
use libwarpld::report::LinkReport;
use std::path::Path;
use warpld_compilers::ToolkitCompiler;
use warpld_compilers::compile::Timed;

/// What the page tells besides the report of the link.
pub(super) struct Facts {
    inputs: Vec<Traced>,
    before: Vec<Lap>,
    compilers: Vec<Timed>,
}

impl Facts {
    /// What is known before the link.
    pub(super) fn new(
        selected: &Selected<'_>,
        compiler: &ToolkitCompiler,
        clock: &Stopwatch,
    ) -> Self {
        Self {
            inputs: selected.trace.clone(),
            before: clock.clone().laps(),
            compilers: compiler.times(),
        }
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
