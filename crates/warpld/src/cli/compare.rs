//! `warpld compare OLD NEW`: what grew between two links. The exit status is that of diff(1).

use super::help::print;
use super::images::{Choice, File, Image};
use crate::subcommand;
use clap::Parser;
use cubin::Cubin;
use cubin_tools::compare::{Growth, growth};
use std::ffi::OsString;
use std::path::PathBuf;

/// Shows which kernels, functions and sections grew or shrank between two links
///
/// Files may be containers; --arch and --image choose one image of each. The exit status is 0 if
/// all sizes are the same, 1 if not, 2 if there was trouble.
#[derive(Debug, Parser)]
#[command(name = "warpld compare", version)]
pub(super) struct Args {
    /// The earlier file
    old: PathBuf,
    /// The later file
    new: PathBuf,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Write Markdown tables, for reviews
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    #[command(flatten)]
    choice: Choice,
}

/// Runs the command with the arguments after `compare`; returns the exit status.
pub(super) fn main(args: Vec<OsString>) -> i32 {
    let args: Args = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let files = [&args.old, &args.new].map(|path| File::open(path));
    let (growth, names) = match compare(&files, &args.choice) {
        Ok(compared) => compared,
        Err(message) => {
            subcommand::fatal(message);
            return 2;
        }
    };
    let names = [&*names[0], &*names[1]];
    let text = match args.json {
        true => format!("{:#}\n", growth.to_json(names)),
        false => growth.to_text(names, args.markdown),
    };
    match print(&text) {
        0 => i32::from(!growth.is_empty()),
        _ => 2,
    }
}

/// What grew, and what the two images are called.
fn compare(files: &[File; 2], choice: &Choice) -> Result<(Growth, [String; 2]), String> {
    let image =
        |file| File::one_image(file, choice).map_err(|reason| format!("{}: {reason}", file.name()));
    let (old, new) = (image(&files[0])?, image(&files[1])?);
    let growth = growth(&parsed(&old)?, &parsed(&new)?);
    Ok((growth, [old.name, new.name]))
}

fn parsed<'i>(image: &'i Image<'_>) -> Result<Cubin<'i>, String> {
    Cubin::parse(&image.bytes).map_err(|error| format!("{}: {error}", image.name))
}
