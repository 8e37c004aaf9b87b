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
    let subcommand = warpld::cli::SUBCOMMANDS.iter().find(|(name, _)| *name == word);
    match subcommand {
        Some((_, main)) if warpld::cli::tool_name(program) != "nvlink" => {
            main(args.into_iter().skip(1).collect())
        }
        _ => warpld::cli::run(program, args),
    }
}
