//! `warpld diff A B`: what differs between two device ELF files. The exit
//! status is that of diff(1): 0 the same, 1 different, 2 trouble.

use clap::Parser;
use cubin::{Cubin, ReadError};
use cubin_tools::diff::{self, Input, Options, Report, Side};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

const SAME: i32 = 0;
const DIFFERENT: i32 = 1;
const TROUBLE: i32 = 2;

/// Says what differs between two device ELF files (cubins)
///
/// References are compared by what they refer to, not by number. The exit
/// status is 0 if the files are the same, 1 if they differ, 2 in trouble.
#[derive(Debug, Parser)]
#[command(name = "warpld diff", version)]
struct Args {
    /// The first file
    a: PathBuf,
    /// The second file
    b: PathBuf,
    /// Leave out the note that names the tool which wrote each file
    #[arg(long)]
    ignore_tool_note: bool,
    /// The cubins both files were linked from, to tell where bytes come from
    #[arg(long, num_args = 1.., value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Show no more than this many differences
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
}

/// Why two files cannot be compared.
#[derive(Debug, Error)]
enum CompareError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Malformed { path: PathBuf, source: ReadError },
}

/// Runs the command with the arguments after `diff`; returns the exit status.
pub fn main(args: impl IntoIterator<Item = OsString>) -> i32 {
    let args = std::iter::once(OsString::from("warpld diff")).chain(args);
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Nothing can be done if the console is gone.
            let _ = error.print();
            return error.exit_code();
        }
    };
    let report = match compare(&args) {
        Ok(report) => report,
        Err(error) => {
            let _ = writeln!(io::stderr(), "warpld diff: {error}");
            return TROUBLE;
        }
    };
    match write(&args, &report) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "warpld diff: {error}");
            TROUBLE
        }
        _ if report.is_same() => SAME,
        _ => DIFFERENT,
    }
}

fn compare(args: &Args) -> Result<Report, CompareError> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let files = args.inputs.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let mut inputs = Vec::with_capacity(files.len());
    for (path, data) in args.inputs.iter().zip(&files) {
        let malformed = |source| CompareError::Malformed { path: path.clone(), source };
        let cubin = Cubin::parse(data).map_err(malformed)?;
        inputs.push(Input { name: path.display().to_string(), cubin });
    }
    let options = Options { ignore_tool_note: args.ignore_tool_note, inputs: &inputs };
    diff::compare(&a, &b, &options).map_err(|error| {
        let path = if error.side == Side::A { &args.a } else { &args.b };
        CompareError::Malformed { path: path.clone(), source: error.source }
    })
}

fn read(path: &Path) -> Result<Vec<u8>, CompareError> {
    std::fs::read(path).map_err(|source| CompareError::Read { path: path.to_owned(), source })
}

fn write(args: &Args, report: &Report) -> io::Result<()> {
    let names = [args.a.display().to_string(), args.b.display().to_string()];
    let names = [names[0].as_str(), names[1].as_str()];
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report.to_json(names, args.limit))?;
        writeln!(out)?;
    } else {
        report.write_text(&mut out, names, args.limit)?;
    }
    out.flush()
}
