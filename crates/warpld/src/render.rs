//! Messages as text for people and scripts, or as JSON for programs.

use libwarpld::Code;
use libwarpld::driver::{demangle, json_string, readable, shown};
use libwarpld::{Diagnostic, Severity};
use std::borrow::Cow;
use std::fmt::Write;

/// The version of the JSON: increased when a key changes its meaning or goes.
const JSON_FORMAT: u32 = 1;

/// The format of printed messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// nvlink's line, then notes.
    #[default]
    Text,
    /// The same in colour.
    ColoredText,
    /// One JSON object per line.
    Json,
}

/// Which messages are printed, and how.
///
/// `-w` and `--disable-infos` hide what nvlink's help says they hide. The exit status follows
/// nvlink's behavior: `-Werror` turns warnings into errors even with `-w`, but not with
/// `--disable-infos`.
#[derive(Clone, Debug, Default)]
pub struct Renderer {
    /// The program's name, which starts every message.
    pub tool: String,
    /// The target to name after every message (`-report-arch`).
    pub target: Option<String>,
    /// The shape.
    pub format: Format,
    /// Whether text shows the message's code; not under nvlink's name, where
    /// scripts expect nvlink's lines.
    pub show_codes: bool,
    /// `-w`.
    pub hide_warnings: bool,
    /// `--disable-infos`.
    pub hide_infos: bool,
    /// `-Werror`.
    pub warnings_are_errors: bool,
}

impl Renderer {
    /// Whether the command stands in for nvlink, whose scripts know nvlink's messages.
    pub fn is_nvlink(&self) -> bool {
        !self.show_codes
    }

    /// The severity a message has under these settings.
    pub fn severity(&self, diagnostic: &Diagnostic) -> Severity {
        // `redefined-option` is the only warning that nvlink neither silences nor promotes: it is
        // printed while options are still being parsed. `empty-output` is a warning of ours, which
        // does not fail a link that nvlink lets pass.
        let promoted = self.warnings_are_errors
            && !self.hide_infos
            && diagnostic.severity == Severity::Warning
            && !matches!(diagnostic.code, Code::RedefinedOption | Code::EmptyOutput);
        if promoted { Severity::Error } else { diagnostic.severity }
    }

    /// The message ready to print, with its final newline; `None` if it is hidden. Advice for its
    /// kind is printed only if not yet `advised`; JSON always has it.
    pub fn render(&self, diagnostic: &Diagnostic, advised: bool) -> Option<String> {
        let severity = self.severity(diagnostic);
        let hidden = match severity {
            Severity::Info => self.hide_infos,
            Severity::Warning => self.hide_warnings,
            Severity::Error | Severity::Fatal => false,
        };
        // A compiler's lines are not the linker's to hide. [ptxas under nvlink -w, -disable-infos]
        let quoted = diagnostic.code == Code::CompilerMessage;
        if hidden && !quoted {
            return None;
        }
        Some(match self.format {
            Format::Json => self.json(severity, diagnostic),
            Format::Text if quoted => self.quote(diagnostic, &Palette::PLAIN),
            Format::ColoredText if quoted => self.quote(diagnostic, &Palette::ANSI),
            Format::Text => self.text(severity, diagnostic, advised, &Palette::PLAIN),
            Format::ColoredText => self.text(severity, diagnostic, advised, &Palette::ANSI),
        })
    }

    fn text(
        &self,
        severity: Severity,
        diagnostic: &Diagnostic,
        advised: bool,
        palette: &Palette,
    ) -> String {
        let mut out = String::new();
        let color = palette.severity(severity);
        let _ = write!(
            out,
            "{}{} {color}{:<8}{}: {}{}",
            palette.bold,
            shown(&self.tool),
            label(severity),
            palette.reset,
            shown(self.message(diagnostic)),
            self.target_suffix(),
        );
        if self.show_codes && severity > Severity::Info {
            let _ = write!(out, " {}[{}]{}", palette.faint, diagnostic.code, palette.reset);
        }
        out.push('\n');
        let notes = all_notes(diagnostic, advised);
        write_notes(&mut out, &notes, quotes_programs(diagnostic.code), palette);
        out
    }

    /// The message. nvlink takes a full disk for an internal error, and scripts that call it by
    /// name may look for that.
    fn message<'d>(&self, diagnostic: &'d Diagnostic) -> &'d str {
        match diagnostic.code {
            Code::WriteFailed if !self.show_codes => "Internal error: writing file",
            _ => &diagnostic.message,
        }
    }

    /// What a compiler said, line by line.
    fn quote(&self, diagnostic: &Diagnostic, palette: &Palette) -> String {
        let mut out = String::new();
        let mut lines = diagnostic.message.lines().peekable();
        while let Some(line) = lines.next() {
            // A line that begins with blanks goes on with the message before it.
            let goes_on = lines.peek().is_some_and(|next| next.starts_with(' '));
            let suffix = if goes_on { String::new() } else { self.target_suffix() };
            let _ = writeln!(out, "{}{suffix}", shown(line));
        }
        write_notes(&mut out, &diagnostic.notes, true, palette);
        out
    }

    /// A text in the form it has inside messages.
    pub fn spelt<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.format {
            Format::Json => {
                let quoted = json_string(text);
                Cow::Owned(quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned())
            }
            Format::Text | Format::ColoredText => shown(text),
        }
    }

    fn target_suffix(&self) -> String {
        self.target.as_ref().map(|target| format!(" (target: {target})")).unwrap_or_default()
    }

    fn json(&self, severity: Severity, diagnostic: &Diagnostic) -> String {
        let mut out = format!("{{\"format\":{JSON_FORMAT}");
        let _ = write!(out, ",\"tool\":{}", json_string(&self.tool));
        let _ = write!(out, ",\"severity\":\"{}\"", label(severity));
        let _ = write!(out, ",\"code\":{}", json_string(diagnostic.code.name()));
        if let Some(target) = &self.target {
            let _ = write!(out, ",\"target\":{}", json_string(target));
        }
        let _ = write!(out, ",\"message\":{}", json_string(&diagnostic.message));
        if let Some(symbol) = &diagnostic.symbol {
            let _ = write!(out, ",\"symbol\":{}", json_string(symbol));
            let _ = write!(out, ",\"demangled\":{}", json_string(&readable(symbol)));
        }
        if let Some(kernel) = &diagnostic.kernel {
            let _ = write!(out, ",\"kernel\":{}", json_string(kernel));
        }
        let notes: Vec<_> = diagnostic
            .notes
            .iter()
            .map(String::as_str)
            .chain(diagnostic.code.advice())
            .map(json_string)
            .collect();
        let _ = writeln!(out, ",\"notes\":[{}]}}", notes.join(","));
        out
    }
}

/// Whether notes are what another program said, in lines. All others are one line, and a line end
/// in them is part of a name.
fn quotes_programs(code: Code) -> bool {
    matches!(code, Code::CompilerMessage | Code::FinalizerFailed)
}

/// The lines under a message: names, notes, advice.
fn write_notes(out: &mut String, notes: &[String], in_lines: bool, palette: &Palette) {
    for note in notes {
        let mut lines = note.split(|c| in_lines && c == '\n');
        let first = lines.next().unwrap_or("");
        let _ = writeln!(out, "    {}={} {}", palette.note, palette.reset, shown(first));
        for line in lines {
            let _ = writeln!(out, "      {}", shown(line));
        }
    }
}

fn all_notes(diagnostic: &Diagnostic, advised: bool) -> Vec<String> {
    let mut notes = source_names(diagnostic);
    notes.extend(diagnostic.notes.iter().cloned());
    notes.extend(diagnostic.code.advice().filter(|_| advised).map(str::to_owned));
    notes
}

/// The names in the message as they are in the source.
fn source_names(diagnostic: &Diagnostic) -> Vec<String> {
    let names = [&diagnostic.kernel, &diagnostic.symbol];
    names
        .into_iter()
        .flatten()
        .filter_map(|symbol| Some(format!("{symbol} is {}", demangle(symbol)?)))
        .collect()
}

fn label(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
        Severity::Fatal => "fatal",
    }
}

struct Palette {
    bold: &'static str,
    faint: &'static str,
    note: &'static str,
    reset: &'static str,
    colors: [&'static str; 4],
}

impl Palette {
    const PLAIN: Self = Self { bold: "", faint: "", note: "", reset: "", colors: [""; 4] };
    const ANSI: Self = Self {
        bold: "\x1b[1m",
        faint: "\x1b[2m",
        note: "\x1b[1;34m",
        reset: "\x1b[0m",
        colors: ["\x1b[36m", "\x1b[35m", "\x1b[31m", "\x1b[31m"],
    };

    fn severity(&self, severity: Severity) -> &'static str {
        match severity {
            Severity::Info => self.colors[0],
            Severity::Warning => self.colors[1],
            Severity::Error => self.colors[2],
            Severity::Fatal => self.colors[3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nvlink() -> Renderer {
        Renderer { tool: "nvlink".into(), ..Renderer::default() }
    }

    #[test]
    fn lines_look_like_nvlinks() {
        for (severity, line) in [
            (Severity::Info, "nvlink info    : m\n"),
            (Severity::Warning, "nvlink warning : m\n"),
            (Severity::Error, "nvlink error   : m\n"),
            (Severity::Fatal, "nvlink fatal   : m\n"),
        ] {
            let diagnostic = Diagnostic::new(severity, Code::MergeFailed, "m");
            assert_eq!(nvlink().render(&diagnostic, true).as_deref(), Some(line));
        }
    }

    #[test]
    fn names_are_spelt_as_messages_have_them() {
        let name = "a\\b\n\"c\"";
        for format in [Format::Text, Format::Json] {
            let renderer = Renderer { format, ..nvlink() };
            let of = |name: &str| {
                renderer.render(&Diagnostic::fatal(Code::MergeFailed, name), true).unwrap()
            };
            assert_eq!(of("{name}").replace("{name}", &renderer.spelt(name)), of(name));
        }
    }

    #[test]
    fn targets_codes_and_notes() {
        let renderer = Renderer { target: Some("sm_90a".into()), show_codes: true, ..nvlink() };
        for (code, text) in [
            (Code::UndefinedSymbol, "[undefined-symbol]\n    = a\\nb\n"),
            (Code::FinalizerFailed, "[finalizer-failed]\n    = a\n      b\n"),
        ] {
            let diagnostic = Diagnostic::error(code, "m").note("a\nb");
            let rendered = renderer.render(&diagnostic, false).unwrap();
            assert_eq!(rendered, format!("nvlink error   : m (target: sm_90a) {text}"));
        }
    }

    /// Names of symbols, files and tools are anybody's.
    #[test]
    fn nothing_in_a_message_moves_the_cursor() {
        let hostile = "a\u{1b}[2J\nwarpld info    : fine\r\u{202e}";
        let renderer = Renderer { tool: hostile.into(), ..nvlink() };
        let diagnostic =
            Diagnostic::error(Code::UndefinedSymbol, hostile).note(hostile).about(hostile);
        let text = renderer.render(&diagnostic, false).unwrap();
        assert_eq!(text.matches('\n').count(), 2, "{text:?}");
        assert!(text.chars().all(|c| c == '\n' || matches!(c, ' '..='~')), "{text:?}");
    }

    #[test]
    fn json_is_one_line() {
        let renderer = Renderer { format: Format::Json, ..nvlink() };
        let diagnostic = Diagnostic::warning(Code::BadUidx, "say \"hi\"\n\u{1}").note("n");
        assert_eq!(
            renderer.render(&diagnostic, true).as_deref(),
            Some(concat!(
                r#"{"format":1,"tool":"nvlink","severity":"warning","code":"bad-uidx","#,
                r#""message":"say \"hi\"\n\u0001","notes":["n"]}"#,
                "\n"
            ))
        );
    }

    #[test]
    fn what_is_hidden_and_what_is_promoted() {
        let warning = Diagnostic::warning(Code::BadUidx, "m");
        let info = Diagnostic::info(Code::NotLto, "m");
        let quiet = Renderer { hide_warnings: true, ..nvlink() };
        assert_eq!(quiet.render(&warning, true), None);
        assert!(quiet.render(&info, true).is_some());
        let no_infos = Renderer { hide_infos: true, warnings_are_errors: true, ..nvlink() };
        assert_eq!(no_infos.render(&info, true), None);
        assert_eq!(no_infos.severity(&warning), Severity::Warning);
        let strict = Renderer { warnings_are_errors: true, hide_warnings: true, ..nvlink() };
        assert_eq!(strict.severity(&warning), Severity::Error);
        assert_eq!(strict.render(&warning, true).as_deref(), Some("nvlink error   : m\n"));
        assert_eq!(
            strict.severity(&Diagnostic::warning(Code::RedefinedOption, "m")),
            Severity::Warning
        );
    }
}
