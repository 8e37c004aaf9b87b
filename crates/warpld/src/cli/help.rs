//! `warpld help`, `warpld version`, and what `warpld` alone prints.

use super::{SUBCOMMANDS, version};
use crate::options::{COMMANDS, help_text};
use crate::subcommand;
use clap::Parser;
use libwarpld::driver::closest;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Explains warpld, or one of its commands
#[derive(Debug, Parser)]
#[command(name = "warpld help", version)]
pub(super) struct Args {
    /// The command to explain; without one, links are explained
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// Prints the version, and the CUDA releases that links can follow
#[derive(Debug, Parser)]
#[command(name = "warpld version", version)]
pub(super) struct VersionArgs {}

/// What somebody may call a link, which is what there is no command for.
const LINK: &str = "link";

/// Runs `warpld help`; returns the exit status.
pub(super) fn main(args: Vec<OsString>) -> i32 {
    let args: Args = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let name = args.command.filter(|name| name != LINK);
    let Some(name) = name else { return print(&help_text("warpld")) };
    match SUBCOMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.main)(vec!["--help".into()]),
        None => {
            let names = SUBCOMMANDS.iter().map(|command| command.name);
            let near = closest(&name, names).map(|near| format!("; did you mean '{near}'?"));
            subcommand::fatal(format_args!("no command '{name}'{}", near.unwrap_or_default()));
            2
        }
    }
}

/// Runs `warpld version`; returns the exit status.
pub(super) fn version(args: Vec<OsString>) -> i32 {
    match subcommand::parse::<VersionArgs>(args) {
        Ok(_) => print(&version::text(None)),
        Err(status) => status,
    }
}

/// What `warpld` without arguments prints. The status is that of a link without a target.
pub fn usage() -> i32 {
    let mut text = String::from(
        "Usage: warpld [options] -arch=TARGET -o OUTPUT INPUT...\n       warpld COMMAND ...\n\n\
         Links CUDA device code, for example:\n\n  warpld -arch=sm_90 a.o b.o -o out.cubin\n\n\
         Commands:\n",
    );
    for (command, what) in COMMANDS {
        let _ = writeln!(text, "  {command:<20} {what}");
    }
    text.push_str("\n'warpld help' lists all options, 'warpld help COMMAND' explains a command.\n");
    let _ = io::stderr().lock().write_all(text.as_bytes());
    super::FATAL_STATUS
}

/// Prints to standard output; returns the exit status.
pub(super) fn print(text: &str) -> i32 {
    print_bytes(text.as_bytes())
}

/// The same for what need not be text. As for any program, a reader that has gone is no error.
pub(super) fn print_bytes(bytes: &[u8]) -> i32 {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            subcommand::cannot_print(&error);
            1
        }
        _ => 0,
    }
}
