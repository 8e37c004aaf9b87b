//! Shell completions and man pages, made from the option table and the commands' arguments.

mod bash;
mod fish;
mod manual;
mod zsh;

use super::SUBCOMMANDS;
use super::help::print;
use super::output::write_atomically;
use crate::options::{Audience, Kind, Row, TABLE, TARGET_PREFIXES, TARGETS};
use crate::subcommand;
use clap::{Parser, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// Prints the completions for a shell
///
/// bash: source <(warpld completions bash)
/// zsh: warpld completions zsh > ~/.zfunc/_warpld
/// fish: warpld completions fish > ~/.config/fish/completions/warpld.fish
#[derive(Debug, Parser)]
#[command(name = "warpld completions", verbatim_doc_comment, version)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the man pages, or writes them to a folder
#[derive(Debug, Parser)]
#[command(name = "warpld man", version)]
pub(super) struct ManArgs {
    /// Write each page to a file in this folder, which is created if it does not exist
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

/// Runs `warpld completions`; returns the exit status.
pub(super) fn completions(args: Vec<OsString>) -> i32 {
    let args: CompletionsArgs = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let commands = commands();
    print(&match args.shell {
        Shell::Bash => bash::script(&commands),
        Shell::Zsh => zsh::script(&commands),
        Shell::Fish => fish::script(&commands),
    })
}

/// Runs `warpld man`; returns the exit status.
pub(super) fn man(args: Vec<OsString>) -> i32 {
    let args: ManArgs = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let pages = manual::pages();
    let Some(folder) = args.folder else {
        return print(&pages.iter().map(|(_, text)| text.as_str()).collect::<String>());
    };
    if let Err(error) = std::fs::create_dir_all(&folder) {
        subcommand::fatal(format_args!("'{}': {error}", folder.display()));
        return 1;
    }
    for (name, text) in pages {
        if let Err(error) = write_atomically(&folder.join(name), text.as_bytes()) {
            subcommand::fatal(format_args!("{error}: {}", error.reason()));
            return 1;
        }
    }
    0
}

/// What a shell has to know about a command.
struct Command {
    /// Empty for a link.
    name: &'static str,
    /// One line.
    about: String,
    options: Vec<Word>,
    /// The values of its first argument, if they are few.
    first: Vec<String>,
}

/// An option.
struct Word {
    /// With their dashes.
    spellings: Vec<String>,
    value: Value,
    /// One sentence.
    help: String,
}

/// What follows an option.
enum Value {
    None,
    Any,
    File,
    Folder,
    OneOf(Vec<String>),
}

/// The link, then all other commands.
fn commands() -> Vec<Command> {
    let shown = TABLE.iter().map(|(_, row)| row).filter(|row| row.audience != Audience::Hidden);
    let link = Command {
        name: "",
        about: "Links CUDA device code".into(),
        options: shown.map(word_of_row).collect(),
        first: Vec::new(),
    };
    std::iter::once(link).chain(SUBCOMMANDS.iter().map(command)).collect()
}

fn command(of: &super::Subcommand) -> Command {
    let mut described = (of.describe)();
    described.build();
    let options = described.get_arguments().filter(|arg| !arg.is_positional());
    let options = options.map(word_of_arg).collect();
    let first = described.get_positionals().next().map(possible).unwrap_or_default();
    let first = match of.name {
        "help" => SUBCOMMANDS.iter().map(|command| command.name.to_owned()).collect(),
        _ => first,
    };
    let about = described.get_about().map(ToString::to_string).unwrap_or_default();
    Command { name: of.name, about, options, first }
}

fn word_of_row(row: &Row) -> Word {
    let mut spellings = Vec::new();
    if !row.short.is_empty() {
        spellings.push(format!("-{}", row.short));
    }
    if !row.long.is_empty() {
        spellings.push(format!("--{}", row.long));
    }
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    let value = match row.kind {
        Kind::Flag | Kind::OptionalFile => Value::None,
        Kind::Bool => Value::OneOf(names(&["true", "false"])),
        Kind::Choice(values) => Value::OneOf(names(values)),
        Kind::NumberChoice(values) => Value::OneOf(values.iter().map(i32::to_string).collect()),
        Kind::Target => {
            let of = |prefix: &str| TARGETS.map(|target| format!("{prefix}{target}"));
            let real = TARGET_PREFIXES.iter().filter(|prefix| **prefix != "lto_");
            Value::OneOf(real.flat_map(|prefix| of(prefix)).collect())
        }
        _ if row.metavar.starts_with("FILE") || row.metavar == "PATH" => Value::File,
        _ if row.metavar.starts_with("DIR") => Value::Folder,
        _ => Value::Any,
    };
    Word { spellings, value, help: sentence(row.help) }
}

fn word_of_arg(arg: &clap::Arg) -> Word {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let metavar = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str());
    let value = match metavar {
        _ if !arg.get_action().takes_values() => Value::None,
        _ if !possible(arg).is_empty() => Value::OneOf(possible(arg)),
        Some("FILE") => Value::File,
        Some("DIR") => Value::Folder,
        _ => Value::Any,
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    Word { spellings: short.into_iter().chain(long).collect(), value, help: sentence(&help) }
}

fn possible(arg: &clap::Arg) -> Vec<String> {
    arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
}

/// The first sentence, without its full stop.
fn sentence(text: &str) -> String {
    text.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}
