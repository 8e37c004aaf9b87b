//! `warpld diff A B`: what differs between two device ELF files. The exit
//! status is that of diff(1): 0 the same, 1 different, 2 trouble.

use super::images::{Choice, File, Image};
use crate::subcommand;
use clap::Parser;
use cubin::{Cubin, ReadError};
use cubin_tools::diff::{self, Input, Options, Report, Side};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use thiserror::Error;

const SAME: i32 = 0;
const DIFFERENT: i32 = 1;
const TROUBLE: i32 = 2;

/// Shows what differs between two device ELF files (cubins)
///
/// Files may be containers; --arch and --image choose one image of each.
/// References are compared by what they refer to, not by number. The exit
/// status is 0 if the files are the same, 1 if they differ, 2 if there was
/// trouble.
#[derive(Debug, Parser)]
#[command(name = "warpld diff", version)]
pub(super) struct Args {
    /// The first file
    a: PathBuf,
    /// The second file
    b: PathBuf,
    /// Ignore the note that names the tool that wrote each file
    #[arg(long)]
    ignore_tool_note: bool,
    /// The cubins that both files were linked from, to show where bytes come from
    #[arg(long, num_args = 1.., value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Show no more than this many differences
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    limit: usize,
    #[command(flatten)]
    choice: Choice,
}

/// Why two files cannot be compared.
#[derive(Debug, Error)]
enum CompareError {
    #[error("{name}: {reason}")]
    NoImage { name: String, reason: String },
    #[error("{name}: {source}")]
    Malformed { name: String, source: ReadError },
}

/// Runs the command with the arguments after `diff`; returns the exit status.
pub(super) fn main(args: Vec<OsString>) -> i32 {
    let args: Args = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let (report, names) = match compare(&args) {
        Ok(compared) => compared,
        Err(error) => {
            subcommand::fatal(error);
            return TROUBLE;
        }
    };
    match write(&args, &report, [&names[0], &names[1]]) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            subcommand::cannot_print(&error);
            TROUBLE
        }
        _ if report.is_same() => SAME,
        _ => DIFFERENT,
    }
}

/// What differs, and what the two images are called.
fn compare(args: &Args) -> Result<(Report, [String; 2]), CompareError> {
    let files = [&args.a, &args.b].map(|path| File::open(path));
    let [a, b] = [0, 1].map(|side| one_image(&files[side], &args.choice));
    let (a, b) = (a?, b?);
    let sources: Vec<File> = args.inputs.iter().map(|path| File::open(path)).collect();
    let images = sources.iter().map(|file| one_image(file, &args.choice));
    let images = images.collect::<Result<Vec<_>, _>>()?;
    let mut inputs = Vec::with_capacity(images.len());
    for image in &images {
        let malformed = |source| CompareError::Malformed { name: image.name.clone(), source };
        let cubin = Cubin::parse(&image.bytes).map_err(malformed)?;
        inputs.push(Input { name: image.name.clone(), cubin });
    }
    let options = Options { ignore_tool_note: args.ignore_tool_note, inputs: &inputs };
    let report = diff::compare(&a.bytes, &b.bytes, &options).map_err(|error| {
        let name = if error.side == Side::A { &a.name } else { &b.name };
        CompareError::Malformed { name: name.clone(), source: error.source }
    })?;
    Ok((report, [a.name, b.name]))
}

fn one_image<'f>(file: &'f File, choice: &Choice) -> Result<Image<'f>, CompareError> {
    let failed = |reason| CompareError::NoImage { name: file.name().to_owned(), reason };
    file.one_image(choice).map_err(failed)
}

fn write(args: &Args, report: &Report, names: [&str; 2]) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report.to_json(names, args.limit))?;
        writeln!(out)?;
    } else {
        report.write_text(&mut out, names, args.limit)?;
    }
    out.flush()
}
