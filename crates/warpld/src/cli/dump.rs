//! `warpld dump`: a readable view of device ELF files, as text or JSON.

use super::disassembly::Disassembler;
use super::images::{Choice, File, Image};
use crate::subcommand;
use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cubin::Cubin;
use cubin_tools::dump::{
    Disassembly, FORMAT, Filter, Options, Part, Sort, Style, describe_with, render,
};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Shows what device ELF files (cubins) contain, by themselves or in objects, archives, fatbins,
/// shared libraries and programs
#[derive(Debug, Parser)]
#[command(name = "warpld dump", version)]
pub(super) struct Args {
    /// Files to show; '-' is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    /// Show only these parts (may be repeated, or a list with commas). JSON always has all parts except lines and code
    #[arg(short, long, value_parser = parts(), value_name = "PART", value_delimiter = ',')]
    only: Vec<Part>,
    /// Show only this function and what belongs to it, by symbol or source name; '*' and '?' are
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
    /// Show which lines of the source, and of PTX, the code comes from
    #[arg(long)]
    lines: bool,
    /// Show instructions with stall count, yield, boards, waits and reuse, with the text of
    /// nvdisasm if a CUDA toolkit has it
    #[arg(long)]
    code: bool,
    /// Use this nvdisasm and search for no other
    #[arg(long, value_name = "PATH")]
    nvdisasm: Option<PathBuf>,
    /// Wrap lines to this many columns; 0 does not wrap them. By default, lines are wrapped to the
    /// width of a terminal, and not in a pipe or file
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
            subcommand::cannot_print(&error);
            1
        }
    }
}

/// Whether every file could be shown.
fn run(args: &Args) -> io::Result<bool> {
    let out = io::BufWriter::new(io::stdout().lock());
    let disassembler = args.code.then(|| Disassembler::find(args.nvdisasm.as_deref())).flatten();
    let mut dump = Dump { options: args.options(), disassembler, out, shown: 0, good: true };
    if args.json {
        write!(dump.out, "{{\"format\": {}, \"files\": [", FORMAT)?;
    }
    // Words of filters that no image had so far.
    let mut unmatched: Option<Vec<String>> = None;
    for path in &args.files {
        let file = File::open(path);
        let (images, errors) = file.images(&args.choice);
        for error in errors {
            dump.complain(file.name(), error);
        }
        let alone = args.files.len() == 1 && images.len() == 1;
        dump.options.named = !alone;
        for image in images {
            let cubin = match Cubin::parse(&image.bytes) {
                Ok(cubin) => cubin,
                Err(error) => {
                    dump.complain(&image.name, error);
                    continue;
                }
            };
            let missing: Vec<String> =
                dump.options.unmatched(&cubin).into_iter().map(str::to_owned).collect();
            let nothing = !missing.is_empty() && missing.len() == dump.options.filter_words();
            match &mut unmatched {
                Some(words) => words.retain(|word| missing.contains(word)),
                None => unmatched = Some(missing),
            }
            if alone || !nothing {
                dump.image(&image, &cubin, args.json)?;
            }
        }
        if alone {
            for word in unmatched.take().unwrap_or_default() {
                dump.complain(file.name(), format_args!("nothing in it is called '{word}'"));
            }
        }
    }
    for word in unmatched.unwrap_or_default() {
        dump.good = false;
        subcommand::error(format_args!("nothing in these images is called '{word}'"));
    }
    if args.json {
        writeln!(dump.out, "]}}")?;
    }
    dump.out.flush()?;
    Ok(dump.good)
}

/// What is being written.
struct Dump<W> {
    options: Options,
    disassembler: Option<Disassembler>,
    out: W,
    /// How many images were written.
    shown: usize,
    good: bool,
}

impl<W: Write> Dump<W> {
    fn complain(&mut self, name: &str, error: impl Display) {
        self.good = false;
        subcommand::error(format_args!("{name}: {error}"));
    }

    fn image(&mut self, image: &Image<'_>, cubin: &Cubin<'_>, json: bool) -> io::Result<()> {
        if let Some(disassembler) = &self.disassembler {
            let texts = disassembler.texts(&image.bytes);
            self.options.disassembly = texts.unwrap_or_else(|error| {
                self.complain(&image.name, error);
                Disassembly::default()
            });
        }
        self.shown += 1;
        if json {
            self.out.write_all(if self.shown > 1 { b",\n" } else { b"" })?;
            let description = describe_with(&image.name, cubin, &self.options);
            serde_json::to_writer_pretty(&mut self.out, &description)?;
            return Ok(());
        }
        if self.shown > 1 {
            writeln!(self.out)?;
        }
        render(&mut self.out, &image.name, cubin, &self.options)
    }
}
