//! Where reports go, and in which form.

use super::parse::CommandLine;
use super::table::Opt;
use std::path::{Path, PathBuf};

/// Where a report goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Beside the messages.
    #[default]
    StandardError,
    /// `-`.
    StandardOutput,
    /// A file, which is replaced.
    File(PathBuf),
}

/// Where a report goes, and in which form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sink {
    /// Where it goes.
    pub place: Place,
    /// Whether it is JSON.
    pub json: bool,
}

impl Sink {
    /// What an option that names a file, or none, says about its report.
    pub(super) fn of(line: &CommandLine, opt: Opt) -> Self {
        let name = line.path(opt);
        let by_name = || name.as_ref().is_some_and(|name| has_json_suffix(name));
        let json = match line.bytes(Opt::ReportFormat) {
            Some(format) => format == b"json",
            None => by_name(),
        };
        let place = match name {
            None => Place::StandardError,
            Some(name) if name == Path::new("-") => Place::StandardOutput,
            Some(name) => Place::File(name),
        };
        Self { place, json }
    }

    /// The same, if the option was given.
    pub(super) fn asked(line: &CommandLine, opt: Opt) -> Option<Self> {
        line.has(opt).then(|| Self::of(line, opt))
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::StandardError | Place::StandardOutput => None,
        }
    }
}

fn has_json_suffix(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(words: &str) -> Option<Sink> {
        let words = words.split_whitespace().map(Into::into);
        Sink::asked(&CommandLine::parse(words, &|_| Ok(Vec::new())).unwrap(), Opt::Trace)
    }

    #[test]
    fn names_and_formats() {
        let (file, json) = (|name: &str| Place::File(name.into()), true);
        for (words, place, is_json) in [
            ("--trace", Place::StandardError, false),
            ("--trace a.o", Place::StandardError, false),
            ("--trace=-", Place::StandardOutput, false),
            ("--trace=t", file("t"), false),
            ("--trace=t.json", file("t.json"), json),
            ("--trace=t.json --report-format=text", file("t.json"), false),
            ("--trace=- --report-format=json", Place::StandardOutput, json),
            ("--trace --report-format=json", Place::StandardError, json),
        ] {
            assert_eq!(sink(words), Some(Sink { place, json: is_json }), "{words}");
        }
        assert_eq!(sink("--report-format=json"), None);
    }
}
