//! Links of machine code, by libwarpld.

use crate::images::Image;
use crate::log::Log;
use crate::options::Options;
use crate::result::Code;
use crate::settings;
use libwarpld::driver::{
    Diagnostics, Inputs, LinkInput, Memory, link_images, run_on_threads, thread_count,
};
use libwarpld::{Config, Diagnostic, Identity, Release, Severity};
use std::borrow::Cow;

/// What a link came to.
pub(crate) struct Linked {
    pub(crate) cubin: Option<Vec<u8>>,
    pub(crate) code: Code,
}

/// What libnvJitLink writes into the tool note, whatever the options.
const OBJECT_NAME: &str = "in-memory-ELF-image";
const COMMAND_LINE: &str = "JIT API Command Line Options";

/// Links, and says what there is to say.
pub(crate) fn link(
    images: &[Image],
    options: &Options,
    release: Option<&'static Release>,
    error_log: &mut Log,
    info_log: &mut Log,
) -> Linked {
    let config = config(options, release);
    let newest = images.iter().map(|image| image.toolkit).max().unwrap_or(0);
    let first = Release::first_with(options.arch).unwrap_or(Release::OLDEST);
    let inputs = Inputs {
        images: images.iter().map(input).collect(),
        host_references: None,
        release: Some(Release::of_toolkit(newest.max(first.toolkit))),
    };
    let mut diagnostics = Diagnostics::default();
    let mut cubin = Vec::new();
    let bytes = images.iter().map(|image| image.data.len()).sum();
    let count = thread_count(0, images.len(), bytes);
    let linked = run_on_threads(count, || {
        link_images(&inputs, &config, &mut diagnostics, &mut cubin, Memory::Freed)
    });
    let mut logs =
        Logs { error: error_log, info: info_log, notes: settings::wants_notes(), is_fatal: false };
    match linked {
        Err(error) => {
            logs.message(&error);
            Linked { cubin: None, code: Code::Threadpool }
        }
        Ok(Err(error)) => {
            error.diagnostics().iter().for_each(|message| logs.message(message));
            Linked { cubin: None, code: logs.failed(&inputs) }
        }
        Ok(Ok(written)) => {
            diagnostics.as_slice().iter().for_each(|message| logs.message(message));
            if options.verbose && !logs.is_fatal {
                written.report.verbose().iter().for_each(|line| logs.message(line));
            }
            match written.complete {
                true => Linked { cubin: Some(cubin), code: Code::Success },
                false => Linked { cubin: None, code: logs.failed(&inputs) },
            }
        }
    }
}

fn input(image: &Image) -> LinkInput<'_> {
    LinkInput {
        name: image.name.clone(),
        image: Cow::Borrowed(&image.data),
        parsed: None,
        toolkit: image.toolkit,
        system_library: false,
    }
}

fn config(options: &Options, release: Option<&'static Release>) -> Config {
    let mut builder = Config::builder(options.arch)
        .identity(Identity::nvjitlink())
        .note(OBJECT_NAME, COMMAND_LINE)
        .relocatable(options.relocatable)
        .debug(options.debug)
        .ignore_host_info(true)
        .report(options.verbose)
        .explain(settings::wants_notes())
        .keep_first_definition(!settings::is_strict());
    if !options.kernels_used.is_empty() {
        builder = builder.kernels_used(options.kernels_used.iter().cloned());
    }
    if !options.variables_used.is_empty() {
        builder = builder.variables_used(options.variables_used.iter().cloned());
    }
    if let Some(release) = release {
        builder = builder.release(release);
    }
    builder.build()
}

/// Where messages go.
struct Logs<'l> {
    error: &'l mut Log,
    info: &'l mut Log,
    notes: bool,
    /// A message has ended the link.
    is_fatal: bool,
}

impl Logs<'_> {
    /// Writes a message as nvlink prints it, without its name.
    fn message(&mut self, message: &Diagnostic) {
        // A second definition is an error that libnvJitLink passes over.
        let is_duplicate = message.code == libwarpld::Code::MultipleDefinition;
        let severity = if is_duplicate { Severity::Error } else { message.severity };
        self.is_fatal |= severity == Severity::Fatal;
        let (log, label) = match severity {
            Severity::Info => (&mut *self.info, "info"),
            Severity::Warning => (&mut *self.info, "warning"),
            Severity::Error => (&mut *self.error, "error"),
            Severity::Fatal => (&mut *self.error, "fatal"),
        };
        log.line(&format!("{label:<8}: {}", message.message));
        if self.notes {
            message.notes.iter().for_each(|note| log.line(&format!("    = {note}")));
        }
    }

    /// Ends the log of a link that failed.
    fn failed(&mut self, inputs: &Inputs<'_>) -> Code {
        let toolkit = inputs.release.map_or(0, |release| release.toolkit);
        let step = if toolkit > Release::CUDA_13_0.toolkit { "complete" } else { "finish" };
        // A fatal message ends the link at once; other errors are counted at its end.
        let number = if self.is_fatal { 1 } else { 9 };
        self.error.line(&format!("ERROR {number}: {step}"));
        Code::Internal
    }
}
