//! The command line: from arguments to an exit status.

mod compare;
mod conflicts;
mod dependencies;
mod diff;
mod disassembly;
mod dump;
mod extract;
mod fallback;
mod help;
mod host_script;
mod images;
mod input_hash;
mod libraries;
mod link;
mod lto;
pub(crate) mod output;
mod pages;
mod progress;
mod register;
mod release;
mod report;
mod reports;
mod reproduce;
mod stats;
mod timing;
mod toolkit;
mod trace;
mod translate;
mod translator;
mod version;

pub use self::help::usage;

use self::fallback::Fallback;
use self::output::PendingFile;
use self::stats::Stats;
use crate::files::whole;
use crate::options::{CommandLine, Opt, ParseError, ReleaseOrigin, Request, help_text};
use crate::render::{Format, Renderer};
use crate::shim::Shim;
use clap::CommandFactory;
use libwarpld::Code;
use libwarpld::driver::{Optimized, Registration, closest};
use libwarpld::report::LinkReport;
use libwarpld::{Diagnostic, Severity};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// What a shell reports for a program that SIGPIPE ended.
const BROKEN_PIPE_STATUS: i32 = 141;

/// Exit status of a link that found errors in its inputs.
const ERRORS_STATUS: i32 = 255;

/// Exit status of a link that could not be run.
const FATAL_STATUS: i32 = 1;

/// How many messages of a kind are printed unless `--error-limit` says otherwise: a flood of them
/// has one cause.
const MESSAGES_OF_A_KIND: usize = 20;

/// Runs a command; the result is the exit status.
type Main = fn(Vec<OsString>) -> i32;

/// A command besides linking.
pub struct Subcommand {
    /// Its name.
    pub name: &'static str,
    /// Runs it with the arguments after its name; returns the exit status.
    pub main: Main,
    /// Its arguments, for help, completions and man pages.
    describe: fn() -> clap::Command,
}

impl Subcommand {
    const fn new(name: &'static str, main: Main, describe: fn() -> clap::Command) -> Self {
        Self { name, main, describe }
    }
}

/// The commands besides linking, by name.
pub const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand::new("compare", compare::main, compare::Args::command),
    Subcommand::new("completions", pages::completions, pages::CompletionsArgs::command),
    Subcommand::new("diff", diff::main, diff::Args::command),
    Subcommand::new("dump", dump::main, dump::Args::command),
    Subcommand::new("extract", extract::main, extract::Args::command),
    Subcommand::new("help", help::main, help::Args::command),
    Subcommand::new("man", pages::man, pages::ManArgs::command),
    Subcommand::new("shim", crate::shim::main, crate::shim::Args::command),
    Subcommand::new("toolkit", toolkit::main, toolkit::Args::command),
    Subcommand::new("version", help::version, help::VersionArgs::command),
];

/// Prints messages and remembers the worst.
pub struct Console {
    renderer: Renderer,
    worst: Option<Severity>,
    /// How many messages of a kind are printed, at most.
    limit: usize,
    /// The kinds for which advice has been printed.
    advised: HashSet<Code>,
}

impl Console {
    fn new(renderer: Renderer) -> Self {
        Self { renderer, worst: None, limit: usize::MAX, advised: HashSet::new() }
    }
    /// Prints one message to standard error.
    pub fn print(&mut self, diagnostic: &Diagnostic) {
        self.worst = self.worst.max(Some(self.renderer.severity(diagnostic)));
        let advised = self.advised.insert(diagnostic.code);
        if let Some(text) = self.renderer.render(diagnostic, advised) {
            self.raw(&text);
        }
    }
    /// Prints the messages of a link, up to the limit for each kind; the last line says how many
    /// more there are.
    pub fn print_all(&mut self, diagnostics: &[Diagnostic]) {
        let mut counts: HashMap<Code, (usize, usize)> = HashMap::new();
        for diagnostic in diagnostics {
            counts.entry(diagnostic.code).or_default().1 += 1;
        }
        for diagnostic in diagnostics {
            let (printed, all) = counts.entry(diagnostic.code).or_default();
            *printed += 1;
            let limit = if diagnostic.severity == Severity::Info { usize::MAX } else { self.limit };
            if *printed > limit {
                self.worst = self.worst.max(Some(self.renderer.severity(diagnostic)));
            } else if *printed == limit && *all > limit {
                let more = *all - limit;
                self.print(
                    &diagnostic.clone().note(format_args!(
                        "and {more} more of this kind; --error-limit=0 shows all"
                    )),
                );
            } else {
                self.print(diagnostic);
            }
        }
    }
    /// Prints text that is not a message. Failing to write to standard error does not fail a link.
    pub fn raw(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }
    /// Whether messages are text.
    pub fn for_people(&self) -> bool {
        self.renderer.format != Format::Json
    }
    /// Whether the link has failed.
    pub fn failed(&self) -> bool {
        self.worst >= Some(Severity::Error)
    }
    /// The exit status: nvlink's.
    pub fn status(&self) -> i32 {
        match self.worst {
            Some(Severity::Fatal) => FATAL_STATUS,
            Some(Severity::Error) => ERRORS_STATUS,
            _ => 0,
        }
    }
}

/// The results of a link.
struct Outcome {
    /// The output; `None` after errors and for a virtual target.
    output: Option<PendingFile>,
    /// The output of link-time optimization, in its place.
    optimized: Option<Optimized>,
    /// The report; `None` for a virtual target.
    report: Option<LinkReport>,
    /// What happened to the inputs, if requested.
    trace: Option<String>,
    /// What the page of `--report` tells besides, if requested.
    page: Option<report::Facts>,
    /// What was read, if requested.
    dependencies: Option<String>,
    /// What to register.
    registration: Registration,
    /// What was measured, if requested.
    stats: Stats,
}

/// Runs link mode: `program` is the name the command was called by, `args` the rest. Returns the
/// exit status.
pub fn run(program: &OsStr, args: impl IntoIterator<Item = OsString>) -> i32 {
    let name = tool_name(program);
    let shim = Shim::called_by(program);
    let parsed = CommandLine::parse(args, &|path| whole::read(path));
    let (mut line, error) = match parsed {
        Ok(line) => (line, None),
        Err(rejected) => (rejected.line, Some(rejected.error)),
    };
    // What the release does not know it would have rejected before anything else.
    let release = ReleaseOrigin::new(&line, shim.as_ref()).ok().and_then(|o| o.release());
    let unknown = release.and_then(|release| line.rejected_by(release)).cloned();
    // nvlink of that release does so, too.
    let is_final = unknown.is_some();
    let status = match unknown.or(error) {
        Some(error) if is_final => reject(&name, &line, &error),
        Some(error) => hand_over(&name, &line, shim.as_ref(), &error)
            .unwrap_or_else(|| reject(&name, &line, &error)),
        None => obey(&name, &mut line, shim.as_ref()),
    };
    // The process exits now, which frees all memory at once.
    std::mem::forget(line);
    status
}

/// The program's name in messages: `nvlink` if it stands in for it.
pub fn tool_name(program: &OsStr) -> String {
    match Path::new(program).file_stem() {
        Some(stem) if stem == "nvlink" => "nvlink".into(),
        _ => "warpld".into(),
    }
}

/// Hands over a command line that nvlink may know; returns the exit status unless there is nobody
/// to hand it to.
fn hand_over(
    name: &str,
    line: &CommandLine,
    shim: Option<&Shim>,
    error: &ParseError,
) -> Option<i32> {
    if !error.is_missing_feature() {
        return None;
    }
    let fallback = Fallback::permitted(&line.hints(shim))?;
    let nvlink = fallback.nvlink().ok()?;
    let done = fallback.hand_over(nvlink, early_renderer(name, line), &error.to_string());
    Some(done.unwrap_or_else(|failed| {
        early_console(name, line).print(&failed);
        reject(name, line, error)
    }))
}

fn reject(name: &str, line: &CommandLine, error: &ParseError) -> i32 {
    let mut console = early_console(name, line);
    print_redefined(&mut console, line);
    let diagnostic = Diagnostic::fatal(error.code(), error);
    console.print(&match error.advice() {
        Some(advice) => diagnostic.note(advice),
        None => diagnostic,
    });
    console.status()
}

fn obey(name: &str, line: &mut CommandLine, shim: Option<&Shim>) -> i32 {
    print_redefined(&mut early_console(name, line), line);
    let mut console = Console { limit: limit(line), ..Console::new(renderer(name, line)) };
    match Request::under(line, shim) {
        Err(error) => {
            let hint = (name != "nvlink").then(|| command_hint(line)).flatten();
            let diagnostic = Diagnostic::from(error);
            console.print(&match hint {
                Some(hint) => diagnostic.note(hint),
                None => diagnostic,
            });
            console.status()
        }
        Ok(Request::Help) => print_out(&mut console, help_text(name).as_bytes()),
        Ok(Request::Version(release)) => print_out(&mut console, version::text(release).as_bytes()),
        Ok(Request::HostScript(request)) => host_script::write(&request, &mut console),
        // The process exits after the link, which frees all memory at once.
        Ok(Request::Link(settings)) => {
            if name != "nvlink"
                && let Err(conflict) = conflicts::check(&settings)
            {
                console.print(&conflict);
                return console.status();
            }
            link::link(Box::leak(settings), &mut console)
        }
    }
}

/// On a first word that is no file and may have been meant as a subcommand.
fn command_hint(line: &CommandLine) -> Option<String> {
    let word = std::str::from_utf8(line.inputs.first()?).ok()?;
    if Path::new(word).exists() {
        return None;
    }
    let names = SUBCOMMANDS.iter().map(|command| command.name);
    match closest(word, names) {
        Some(command) => Some(format!("did you mean 'warpld {command}'?")),
        // A name with a suffix or a folder is that of a file.
        None if word.contains(['.', '/', '\\']) => None,
        None => {
            Some(format!("'{word}' is neither a file nor a command; 'warpld help' lists commands"))
        }
    }
}

fn early_console(name: &str, line: &CommandLine) -> Console {
    Console::new(early_renderer(name, line))
}

/// For messages about the command line itself: `--tool-name` and
/// `-report-arch` do not change them.
fn early_renderer(name: &str, line: &CommandLine) -> Renderer {
    Renderer {
        tool: name.to_owned(),
        format: format(line),
        show_codes: name != "nvlink",
        ..Renderer::default()
    }
}

fn print_redefined(console: &mut Console, line: &CommandLine) {
    for opt in &line.redefined {
        console.print(&Diagnostic::warning(
            Code::RedefinedOption,
            format_args!(
                "incompatible redefinition for option '{}', the last value of this option was used",
                opt.row().name()
            ),
        ));
    }
}

fn renderer(name: &str, line: &CommandLine) -> Renderer {
    Renderer {
        tool: line.text(Opt::ToolName).unwrap_or_else(|| name.to_owned()),
        target: line.text(Opt::Arch).filter(|_| line.has(Opt::ReportArch)),
        format: format(line),
        show_codes: name != "nvlink",
        hide_warnings: line.has(Opt::DisableWarnings),
        hide_infos: line.has(Opt::DisableInfos),
        warnings_are_errors: line.has(Opt::WarningAsError),
    }
}

/// How many messages of a kind are printed. JSON has all.
fn limit(line: &CommandLine) -> usize {
    let asked = line.number(Opt::ErrorLimit).map(|n| usize::try_from(n).unwrap_or(0));
    match (format(line), asked) {
        (Format::Json, _) | (_, Some(0)) => usize::MAX,
        (_, limit) => limit.unwrap_or(MESSAGES_OF_A_KIND),
    }
}

fn format(line: &CommandLine) -> Format {
    let colored = match line.bytes(Opt::Color) {
        Some(b"always") => true,
        Some(b"never") => false,
        _ => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    match (line.bytes(Opt::ErrorFormat), colored) {
        (Some(b"json"), _) => Format::Json,
        (_, true) => Format::ColoredText,
        _ => Format::Text,
    }
}

/// Prints to standard output; returns the exit status.
fn print_out(console: &mut Console, text: &[u8]) -> i32 {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Ok(()) => 0,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => BROKEN_PIPE_STATUS,
        Err(error) => {
            console.print(&Diagnostic::fatal(
                Code::WriteFailed,
                format_args!("cannot write to standard output: {error}"),
            ));
            console.status()
        }
    }
}
