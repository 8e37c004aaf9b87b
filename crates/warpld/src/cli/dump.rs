//! `warpld dump`: a readable view of device ELF files, as text or JSON.

use super::disassembly::Disassembler;
use super::images::{Choice, File};
use crate::subcommand;
use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cubin::Cubin;
use cubin_tools::dump::{
    Disassembly, FORMAT, Filter, Options, Part, Sort, Style, describe_with, render,
};
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
    /// Show only these parts (may be repeated); JSON has all but lines and code anyway
    #[arg(short, long, value_parser = parts(), value_name = "PART")]
    only: Vec<Part>,
    /// Show only this function and what belongs to it, by symbol or source name; `*` and `?` are
    /// wildcards (may be repeated)
    #[arg(short, long, value_name = "NAME")]
    function: Vec<String>,
    /// Show only sections of this name, and symbols in them; wildcards as above
    #[arg(short, long, value_name = "NAME")]
    section: Vec<String>,
    /// Show only sections and symbols of this kind, such as text, constant, kernel or global;
    /// wildcards as above
    #[arg(short, long, value_name = "KIND")]
    kind: Vec<String>,
    /// The order of functions, sections and symbols
    #[arg(long, value_parser = orders(), value_name = "ORDER", default_value = "file")]
    sort: Sort,
    /// Show the bytes of this section; wildcards as above
    #[arg(short = 'x', long, value_name = "SECTION")]
    hex: Vec<String>,
    /// Show which source lines, and lines of PTX, code comes from
    #[arg(long)]
    lines: bool,
    /// Show instructions with stall count, yield, boards, waits and reuse, with the text of
    /// nvdisasm if a CUDA toolkit has it
    #[arg(long)]
    code: bool,
    /// The nvdisasm to use; nothing is looked for elsewhere
    #[arg(long, value_name = "PATH")]
    nvdisasm: Option<PathBuf>,
    /// Wrap lines to this many columns; 0 does not wrap them. By default they are wrapped on a
    /// terminal, to its width
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
    #[command(flatten)]
    choice: Choice,
}

/// The parts by name.
fn parts() -> impl TypedValueParser<Value = Part> {
    PossibleValuesParser::new(Part::ALL.map(Part::name)).map(|name| {
        Part::ALL.into_iter().find(|part| part.name() == name).unwrap_or(Part::Identity)
    })
}

/// The orders by name.
fn orders() -> impl TypedValueParser<Value = Sort> {
    PossibleValuesParser::new(Sort::ALL.map(Sort::name))
        .map(|name| Sort::ALL.into_iter().find(|order| order.name() == name).unwrap_or_default())
}

impl Args {
    /// What is shown, and how.
    fn options(&self) -> Options {
        let mut only = self.only.clone();
        only.extend(self.lines.then_some(Part::Lines));
        only.extend(self.code.then_some(Part::Code));
        only.extend((!self.hex.is_empty()).then_some(Part::Hex));
        let terminal = io::stdout().is_terminal();
        let width = match self.width {
            Some(width) => Some(width).filter(|width| *width > 0),
            None if terminal => terminal_size::terminal_size().map(|(width, _)| width.0.into()),
            None => None,
        };
        let coloured = terminal && std::env::var_os("NO_COLOR").is_none();
        Options {
            only,
            filter: Filter {
                functions: self.function.clone(),
                sections: self.section.clone(),
                kinds: self.kind.clone(),
            },
            sort: self.sort,
            hex: self.hex.clone(),
            style: if coloured { Style::Colour } else { Style::Plain },
            width,
            ..Options::default()
        }
    }
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
    let mut options = args.options();
    let disassembler = args.code.then(|| Disassembler::find(args.nvdisasm.as_deref())).flatten();
    let mut out = io::BufWriter::new(io::stdout().lock());
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
            if let Some(disassembler) = &disassembler {
                options.disassembly = disassembler.texts(&image.bytes).unwrap_or_else(|error| {
                    good = false;
                    subcommand::error(format_args!("{}: {error}", image.name));
                    Disassembly::default()
                });
            }
            for word in options.unmatched(&cubin) {
                good = false;
                subcommand::error(format_args!("{}: nothing in it is called '{word}'", image.name));
            }
            let separator = if shown > 0 { ",\n" } else { "" };
            shown += 1;
            if args.json {
                out.write_all(separator.as_bytes())?;
                serde_json::to_writer_pretty(
                    &mut out,
                    &describe_with(&image.name, &cubin, &options),
                )?;
            } else {
                if shown > 1 {
                    writeln!(out)?;
                }
                render(&mut out, &image.name, &cubin, &options)?;
            }
        }
    }
    if args.json {
        writeln!(out, "]}}")?;
    }
    out.flush()?;
    Ok(good)
}
