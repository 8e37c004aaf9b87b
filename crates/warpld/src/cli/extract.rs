//! `warpld extract`: lists and extracts the device images of fatbins, host
//! objects, archives, libraries and programs.

use super::help::{print, print_bytes};
use super::images::File;
use super::output::write_atomically;
use crate::files::FileKey;
use crate::subcommand;
use clap::{Parser, ValueEnum};
use cubin::Arch;
use cubin::words::shown;
use cubin_tools::extract::{NamedImage, Sections, Walk, image_json, line, name_images};
use fatbin::Kind;
use rayon::prelude::*;
use serde_json::json;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Lists or extracts the device images inside fatbins, host objects, archives, shared libraries and
/// programs
#[derive(Debug, Parser)]
#[command(name = "warpld extract", version)]
pub(super) struct Args {
    /// Files to look into; '-' is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// List the images instead of writing them to files
    #[arg(short, long)]
    list: bool,
    /// Write the list as JSON
    #[arg(long, requires = "list")]
    json: bool,
    /// Only images of this kind (may be repeated, or a list with commas)
    #[arg(short, long, value_enum, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<ImageType>,
    /// Only images for this architecture, such as sm_90 (may be repeated, or a list with
    /// commas)
    #[arg(short, long, value_name = "ARCH", value_delimiter = ',')]
    arch: Vec<Arch>,
    /// Only images whose file name contains this text (may be repeated)
    #[arg(short, long, value_name = "TEXT")]
    name: Vec<String>,
    /// Look into relocatable code too where a file has linked code
    #[arg(long)]
    all: bool,
    /// Folder to write to; it is created if it does not exist
    #[arg(short = 'd', long, value_name = "DIR", default_value = ".")]
    output_dir: PathBuf,
    /// Write the only image found to this file; '-' is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["output_dir", "list"])]
    output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(short, long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ImageType {
    /// Device ELF files
    Elf,
    /// PTX text
    Ptx,
    /// LTO-IR
    Ltoir,
}

impl ImageType {
    fn kind(self) -> Kind {
        match self {
            Self::Elf => Kind::ELF,
            Self::Ptx => Kind::PTX,
            Self::Ltoir => Kind::LTO_IR,
        }
    }
}

/// Runs the command with the arguments after `extract`; returns the exit status.
pub(super) fn main(args: Vec<OsString>) -> i32 {
    let args: Args = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let mut report = Report::default();
    let mut found = 0;
    let opened: Vec<_> = args.files.iter().map(|path| File::open(path)).collect();
    if args.output.is_some() {
        found = one_file(&args, &opened, &mut report);
    } else if args.json {
        found = list_json(&args, &opened, &mut report);
    } else {
        for file in &opened {
            found += each_file(&args, file, &mut report);
        }
    }
    if found == 0 && report.failures == 0 {
        let chosen = !(args.kind.is_empty() && args.arch.is_empty() && args.name.is_empty());
        let hint =
            if chosen { " that fits --kind, --arch and --name; --list shows all" } else { "" };
        report.fail(format!("no image found{hint}"));
    }
    report.print()
}

/// What to print at the end.
#[derive(Default)]
struct Report {
    out: String,
    /// The image for standard output.
    bytes: Vec<u8>,
    errors: Vec<String>,
    failures: usize,
}

impl Report {
    fn fail(&mut self, message: String) {
        self.failures += 1;
        self.errors.push(message);
    }
    fn print(&self) -> i32 {
        let status = print(&self.out).max(print_bytes(&self.bytes));
        self.errors.iter().for_each(subcommand::error);
        status.max(i32::from(self.failures > 0))
    }
}

fn each_file(args: &Args, opened: &File, report: &mut Report) -> usize {
    let images = named_images(args, opened, report);
    if args.list {
        let mut member = None;
        for named in &images {
            if named.image.member != member {
                member.clone_from(&named.image.member);
                let _ = writeln!(
                    report.out,
                    "{}:{}",
                    shown(opened.name()),
                    shown(member.as_deref().unwrap_or(""))
                );
            }
            let _ = writeln!(report.out, "{}", line(named));
        }
        return images.len();
    }
    if !images.is_empty()
        && let Err(error) = std::fs::create_dir_all(&args.output_dir)
    {
        report.fail(format!("'{}': {error}", args.output_dir.display()));
        return images.len();
    }
    let results: Vec<Result<String, String>> = images
        .par_iter()
        .map(|named| {
            write(named, &args.output_dir.join(&named.name), args)?;
            Ok(format!("{}\n", shown(&named.name)))
        })
        .collect();
    for result in results {
        match result {
            Ok(line) => report.out.push_str(&line),
            Err(message) => report.fail(message),
        }
    }
    images.len()
}

/// The list as JSON. Its keys are stable; new ones may be added.
fn list_json(args: &Args, opened: &[File], report: &mut Report) -> usize {
    let mut images = Vec::new();
    for file in opened {
        for named in &named_images(args, file, report) {
            let mut image = image_json(named);
            image["file"] = json!(file.name());
            images.push(image);
        }
    }
    let count = images.len();
    report.out = format!("{:#}\n", json!({ "format": 1, "images": images }));
    count
}

/// Writes the only image in all files.
fn one_file(args: &Args, opened: &[File], report: &mut Report) -> usize {
    let mut images = Vec::new();
    for file in opened {
        images.extend(named_images(args, file, report));
    }
    match (images.as_slice(), &args.output) {
        ([only], Some(path)) => {
            if path.as_os_str() == "-" {
                match only.image.payload() {
                    Ok(payload) => report.bytes = payload.into_owned(),
                    Err(error) => report.fail(format!("{}: {error}", only.name)),
                }
            } else if let Err(message) = write(only, path, args) {
                report.fail(message);
            }
        }
        ([], _) => {}
        (several, _) => {
            report.fail(format!("{} images found, --output takes one", several.len()));
        }
    }
    images.len()
}

/// Writes a file. What exists is replaced only on request, an input never, and a link is not followed.
fn write(named: &NamedImage<'_>, path: &Path, args: &Args) -> Result<(), String> {
    if let Ok(found) = std::fs::symlink_metadata(path) {
        let name = path.display();
        if !args.force {
            return Err(format!("'{name}' exists; --force replaces it"));
        }
        if found.is_symlink() {
            return Err(format!("'{name}' is a link, which is not followed"));
        }
        let key = FileKey::of(path);
        if key.is_some() && args.files.iter().any(|file| FileKey::of(file) == key) {
            return Err(format!("'{name}' is also an input"));
        }
    }
    let payload = named.image.payload().map_err(|error| format!("{}: {error}", named.name))?;
    write_atomically(path, &payload).map_err(|error| format!("{error}: {}", error.reason()))
}

fn named_images<'f>(args: &Args, opened: &'f File, report: &mut Report) -> Vec<NamedImage<'f>> {
    let sections = if args.all { Sections::All } else { Sections::LinkedFirst };
    let walk = Walk::new(&opened.input(), sections);
    for error in walk.errors {
        report.fail(format!("{}: {error}", opened.name()));
    }
    name_images(&opened.stem(), walk.images)
        .into_iter()
        .filter(|named| is_wanted(args, named))
        .collect()
}

fn is_wanted(args: &Args, named: &NamedImage<'_>) -> bool {
    let NamedImage { name, image, .. } = named;
    (args.kind.is_empty() || args.kind.iter().any(|wanted| wanted.kind() == image.kind))
        && (args.arch.is_empty() || args.arch.contains(&image.arch))
        && (args.name.is_empty() || args.name.iter().any(|text| name.contains(text)))
}
