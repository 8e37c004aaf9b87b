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
    if warpld::cli::tool_name(program) != "nvlink" && args.first().is_some_and(|a| a == "extract") {
        return warpld::extract::main(args.into_iter().skip(1));
    }
    warpld::cli::run(program, args)
}
