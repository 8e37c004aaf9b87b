//! `warpld dump`: a readable view of device ELF files, as text or JSON.

use super::images::{Choice, File};
use crate::subcommand;
use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cubin::Cubin;
use cubin_tools::dump::{FORMAT, Part, Style, describe, render};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Shows what device ELF files (cubins) contain, by themselves or in objects, archives, fatbins,
/// shared libraries and programs
#[derive(Debug, Parser)]
#[command(name = "warpld dump", version)]
pub(super) struct Args {
    /// Files to show; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Show only these parts (text only; may be repeated)
    #[arg(short, long, value_parser = parts(), value_name = "PART", conflicts_with = "json")]
    only: Vec<Part>,
    #[command(flatten)]
    choice: Choice,
}

/// The parts by name.
fn parts() -> impl TypedValueParser<Value = Part> {
    PossibleValuesParser::new(Part::ALL.map(Part::name)).map(|name| {
        Part::ALL.into_iter().find(|part| part.name() == name).unwrap_or(Part::Identity)
    })
}

/// Runs the command with the arguments after `dump`; returns the exit status.
pub(super) fn main(args: Vec<OsString>) -> i32 {
    let args: Args = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    match run(&args) {
        Ok(true) => 0,
        Ok(false) => 1,
        // The reader closed the pipe, which is fine.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            subcommand::fatal(error);
            1
        }
    }
}

/// Whether every file could be shown.
fn run(args: &Args) -> io::Result<bool> {
    let stdout = io::stdout();
    let style = match stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => Style::Colour,
        false => Style::Plain,
    };
    let mut out = io::BufWriter::new(stdout.lock());
    let mut good = true;
    if args.json {
        write!(out, "{{\"format\": {}, \"files\": [", FORMAT)?;
    }
    let mut shown = 0;
    for path in &args.files {
        let file = File::open(path);
        let (images, errors) = file.images(&args.choice);
        for error in errors {
            good = false;
            subcommand::error(format_args!("{}: {error}", file.name()));
        }
        for image in images {
            let cubin = match Cubin::parse(&image.bytes) {
                Ok(cubin) => cubin,
                Err(error) => {
                    good = false;
                    subcommand::error(format_args!("{}: {error}", image.name));
                    continue;
                }
            };
            let separator = if shown > 0 { ",\n" } else { "" };
            shown += 1;
            if args.json {
                out.write_all(separator.as_bytes())?;
                serde_json::to_writer_pretty(&mut out, &describe(&image.name, &cubin))?;
            } else {
                if shown > 1 {
                    writeln!(out)?;
                }
                render(&mut out, &image.name, &cubin, &args.only, style)?;
            }
        }
    }
    if args.json {
        writeln!(out, "]}}")?;
    }
    out.flush()?;
    Ok(good)
}
