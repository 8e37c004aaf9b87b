//! What the commands besides linking share: how arguments are read, and what messages look like.

use crate::render::{Format, Renderer};
use clap::Parser;
use clap::error::ErrorKind;
use libwarpld::{Code, Diagnostic, Severity};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Reads the arguments of a command. The error is the exit status, after help or a message was
/// printed.
pub(crate) fn parse<A: Parser>(args: impl IntoIterator<Item = OsString>) -> Result<A, i32> {
    let name = A::command().get_name().to_owned();
    let args = std::iter::once(OsString::from(&name)).chain(args);
    A::try_parse_from(args).map_err(|error| {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // Nothing can be done if the console is gone.
                let _ = error.print();
            }
            _ => print(&wrong_arguments(&name, &error.to_string())),
        }
        error.exit_code()
    })
}

/// Prints an error that keeps one file, or one part of the work, from being done.
pub(crate) fn error(message: impl Display) {
    print(&Diagnostic::error(Code::CannotOpenInput, message));
}

/// Prints an error that ends the command.
pub(crate) fn fatal(message: impl Display) {
    print(&Diagnostic::fatal(Code::CannotOpenInput, message));
}

/// Prints why standard output could not be written.
pub(crate) fn cannot_print(error: &io::Error) {
    fatal(format_args!("cannot write to standard output: {error}"));
}

/// Prints a warning.
pub(crate) fn warning(message: impl Display) {
    print(&Diagnostic::new(Severity::Warning, Code::CannotOpenInput, message));
}

/// Prints a message in the form that messages of a link have. Codes are for links only.
fn print(diagnostic: &Diagnostic) {
    let colored = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let format = if colored { Format::ColoredText } else { Format::Text };
    let renderer = Renderer { tool: "warpld".into(), format, ..Renderer::default() };
    let text = renderer.render(diagnostic, false).unwrap_or_default();
    // Nothing can be done if the console is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The message for what clap says in several paragraphs.
fn wrong_arguments(name: &str, text: &str) -> Diagnostic {
    let mut paragraphs = text.trim_end().split("\n\n");
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = paragraphs.next().unwrap_or_default();
    let message = joined(first.strip_prefix("error: ").unwrap_or(first));
    let mut diagnostic = Diagnostic::fatal(Code::OptionArgument, message);
    for paragraph in paragraphs {
        let paragraph = joined(paragraph);
        if let Some(tip) = paragraph.strip_prefix("tip: ") {
            diagnostic = diagnostic.note(tip);
        } else if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            diagnostic = diagnostic.note(format_args!("usage: {usage}"));
        }
    }
    let command = name.strip_prefix("warpld ").unwrap_or(name);
    diagnostic.note(format_args!("see 'warpld help {command}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_notes() {
        let text = "error: unexpected argument '--jsn' found\n\n  tip: a similar argument exists: \
                    '--json'\n\nUsage: warpld dump [OPTIONS] <FILE>...\n\nFor more information, \
                    try '--help'.\n";
        let diagnostic = wrong_arguments("warpld dump", text);
        assert_eq!(diagnostic.message, "unexpected argument '--jsn' found");
        let notes = [
            "a similar argument exists: '--json'",
            "usage: warpld dump [OPTIONS] <FILE>...",
            "see 'warpld help dump'",
        ];
        assert_eq!(diagnostic.notes, notes);
    }
}
