//! The `warpld` command.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::exit;

fn main() {
    let mut args = std::env::args_os();
    let program = args.next().unwrap_or_else(|| OsString::from("warpld"));
    let args: Vec<OsString> = args.collect();
    exit(dispatch(&program, args));
}

/// Under the name `nvlink` there are no subcommands: `dump` is an input then.
fn dispatch(program: &OsString, args: Vec<OsString>) -> i32 {
    let word = args.first().and_then(|word| word.to_str()).unwrap_or_default();
    let subcommand = warpld::cli::SUBCOMMANDS.iter().find(|command| command.name == word);
    let is_nvlink = || warpld::cli::tool_name(program) == "nvlink";
    match subcommand {
        Some(command) if !is_nvlink() => (command.main)(args.into_iter().skip(1).collect()),
        None if args.is_empty() && !is_nvlink() => warpld::cli::usage(),
        _ => warpld::cli::run(program, args),
    }
}
