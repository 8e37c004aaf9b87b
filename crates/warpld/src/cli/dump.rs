//! `warpld dump`: a readable view of device ELF files, as text or JSON.

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cubin::{Cubin, FileKind, ReadError};
use cubin_tools::dump::{FORMAT, Part, Style, describe, render};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Shows what device ELF files (cubins) contain
#[derive(Debug, Parser)]
#[command(name = "warpld dump", version)]
struct Args {
    /// Files to show; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Show only these parts (text only; may be repeated)
    #[arg(short, long, value_parser = parts(), value_name = "PART", conflicts_with = "json")]
    only: Vec<Part>,
}

/// The parts by name.
fn parts() -> impl TypedValueParser<Value = Part> {
    PossibleValuesParser::new(Part::ALL.map(Part::name)).map(|name| {
        Part::ALL.into_iter().find(|part| part.name() == name).unwrap_or(Part::Identity)
    })
}

/// Why a file cannot be shown.
#[derive(Debug, Error)]
enum DumpError<'e> {
    #[error("{0}")]
    Read(&'e io::Error),
    #[error("not a device ELF file")]
    NotElf,
    #[error("a host file; `warpld extract` gets the device images out of it")]
    Host,
    #[error("{0}")]
    Malformed(#[from] ReadError),
}

/// Runs the command with the arguments after `dump`; returns the exit status.
pub fn main(args: impl IntoIterator<Item = OsString>) -> i32 {
    let args = std::iter::once(OsString::from("warpld dump")).chain(args);
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Nothing can be done if the console is gone.
            let _ = error.print();
            return error.exit_code();
        }
    };
    match run(&args) {
        Ok(true) => 0,
        Ok(false) => 1,
        // The reader closed the pipe, which is fine.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            eprintln!("warpld dump: {error}");
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
        let name = path.display().to_string();
        let bytes = read(path);
        let parsed = bytes.as_ref().map_err(DumpError::Read).and_then(|bytes| parse(bytes));
        let cubin = match parsed {
            Ok(cubin) => cubin,
            Err(error) => {
                good = false;
                eprintln!("warpld dump: {name}: {error}");
                continue;
            }
        };
        let separator = if shown > 0 { ",\n" } else { "" };
        shown += 1;
        if args.json {
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer_pretty(&mut out, &describe(&name, &cubin))?;
        } else {
            if shown > 1 {
                writeln!(out)?;
            }
            render(&mut out, &name, &cubin, &args.only, style)?;
        }
    }
    if args.json {
        writeln!(out, "]}}")?;
    }
    out.flush()?;
    Ok(good)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path != Path::new("-") {
        return std::fs::read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Result<Cubin<'_>, DumpError<'static>> {
    match cubin::identify(bytes) {
        FileKind::NotElf => Err(DumpError::NotElf),
        FileKind::HostElf => Err(DumpError::Host),
        FileKind::DeviceElf => Ok(Cubin::parse(bytes)?),
    }
}
