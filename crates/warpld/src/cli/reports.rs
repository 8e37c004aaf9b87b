//! Reports of a link: `--trace`, `--why-live`, `--why-dead`, `--print-resources`, `--map`, `--stats`.
//! Each goes to standard error, standard output or a file of its own, as text or JSON.

use super::output::write_atomically;
use super::{Console, Outcome};
use crate::options::{LinkSettings, Place, Sink};
use libwarpld::report::{
    LinkReport, Question, map_json, map_text, resources_json, resources_text, why_json,
};
use libwarpld::{Code, Diagnostic};
use std::io::{self, Write};

/// What reports of one link share: what was written to standard output.
#[derive(Debug, Default)]
pub(super) struct Reports {
    printed: bool,
}

impl Reports {
    /// Writes a report to its place. On standard output, texts are separated by an empty line.
    pub(super) fn put(
        &mut self,
        sink: &Sink,
        text: &str,
        console: &Console,
    ) -> Result<(), Diagnostic> {
        match &sink.place {
            Place::StandardError => console.raw(text),
            Place::File(path) => write_atomically(path, text.as_bytes())?,
            Place::StandardOutput => {
                let separator = if self.printed && !sink.json { "\n" } else { "" };
                self.printed = true;
                print(&[separator, text])?;
            }
        }
        Ok(())
    }

    /// The reports on inputs and symbols, which are made of failed links too.
    pub(super) fn before_output(
        &mut self,
        settings: &LinkSettings,
        outcome: &Outcome,
        console: &Console,
    ) -> Result<(), Diagnostic> {
        let side = &settings.side;
        if let (Some(sink), Some(trace)) = (&side.trace, &outcome.trace) {
            self.put(sink, trace, console)?;
        }
        let Some(report) = &outcome.report else { return Ok(()) };
        let questions = questions(settings);
        if !questions.is_empty() {
            self.put(&side.why, &why(report, &questions, side.why.json), console)?;
        }
        if let Some(sink) = &side.print_resources {
            let text = if sink.json { resources_json(report) } else { resources_text(report) };
            self.put(sink, &text, console)?;
        }
        Ok(())
    }

    /// The map of an output.
    pub(super) fn map(
        &mut self,
        settings: &LinkSettings,
        outcome: &Outcome,
        console: &Console,
    ) -> Result<(), Diagnostic> {
        let (Some(sink), Some(report)) = (&settings.side.map, &outcome.report) else {
            return Ok(());
        };
        let text = if sink.json { map_json(report) } else { map_text(report) };
        self.put(sink, &text, console)
    }
}

fn print(parts: &[&str]) -> Result<(), Diagnostic> {
    print_with(|out| parts.iter().try_for_each(|part| out.write_all(part.as_bytes())))
}

/// Writes to standard output. A reader that has seen enough is no failure.
pub(super) fn print_with(
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Diagnostic> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match fill(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Diagnostic::fatal(
            Code::WriteFailed,
            format_args!("cannot write to standard output: {error}"),
        )),
        _ => Ok(()),
    }
}

/// What is asked about symbols, in order.
fn questions(settings: &LinkSettings) -> Vec<(Question, &str)> {
    let live = settings.side.why_live.iter().map(|name| (Question::WhyLive, name.as_str()));
    let dead = settings.side.why_dead.iter().map(|name| (Question::WhyDead, name.as_str()));
    live.chain(dead).collect()
}

fn why(report: &LinkReport, questions: &[(Question, &str)], json: bool) -> String {
    match json {
        true => why_json(report, questions),
        false => questions.iter().map(|(question, name)| question.text(report, name)).collect(),
    }
}
