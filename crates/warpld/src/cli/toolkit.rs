//! `warpld toolkit`: the compilers that a link would use, and what each is for. The exit status is
//! 0 if there are any, 1 if not.

use super::help::print;
use crate::subcommand;
use clap::Parser;
use libwarpld::driver::shown;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use warpld_compilers::toolkit::{
    FrontEnd, Hints, Library, LtoTools, Origin, Place, Search, Tool, Toolkit,
};

const FOUND: i32 = 0;
const NOTHING: i32 = 1;

/// The version of the JSON: increased when a key changes its meaning or goes.
const JSON_FORMAT: u32 = 1;

/// Shows the CUDA toolkit whose compilers a link would use
///
/// A link of machine code needs none. PTX and LTO-IR are compiled by programs
/// of the toolkit, and --fallback runs its nvlink. The exit status is 0 if
/// any of these programs was found, 1 if not.
#[derive(Debug, Parser)]
#[command(name = "warpld toolkit", version)]
pub(super) struct Args {
    /// Look in this toolkit only
    #[arg(long, value_name = "DIR")]
    cuda_path: Option<PathBuf>,
    /// Also look in the toolkit of this folder, as links with -nvvmpath do
    #[arg(long, value_name = "DIR")]
    nvvmpath: Option<PathBuf>,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command with the arguments after `toolkit`; returns the exit status.
pub(super) fn main(args: Vec<OsString>) -> i32 {
    let args: Args = match subcommand::parse(args) {
        Ok(args) => args,
        Err(status) => return status,
    };
    let search = Search::new(Hints {
        cuda_path: args.cuda_path,
        nvvm_path: args.nvvmpath,
        ..Hints::default()
    });
    let text = match args.json {
        true => format!("{:#}\n", as_json(&search)),
        false => as_text(&search),
    };
    match print(&text) {
        0 if search.toolkit().is_some() => FOUND,
        _ => NOTHING,
    }
}

/// Whether its nvlink can compile LTO-IR.
fn is_whole(toolkit: &Toolkit) -> bool {
    toolkit.nvlink().is_some() && toolkit.libnvvm().is_some()
}

fn as_text(search: &Search) -> String {
    let mut out = match search.toolkit() {
        Some(toolkit) => contents(search, toolkit),
        None => "No CUDA toolkit was found.\n".into(),
    };
    out.push_str("\nWhat can be linked\n");
    let mut row = |what: &str, how: String| {
        let _ = writeln!(out, "  {what:<14} {}", shown(&how));
    };
    row("machine code", "yes, without a toolkit".into());
    row(
        "PTX",
        search.ptxas().map_or_else(
            |_| "no: needs ptxas (pip install nvidia-cuda-nvcc)".into(),
            |ptxas| format!("yes, by {}", named("ptxas", ptxas.version())),
        ),
    );
    row("LTO-IR", lto(search));
    row(
        "--fallback",
        search.nvlink().map_or_else(
            |_| "no: needs nvlink (pip install nvidia-cuda-nvcc)".into(),
            |nvlink| {
                let name = named("nvlink", nvlink.version());
                format!("yes, to {name} in '{}'", folder_of(nvlink.path()))
            },
        ),
    );
    out.push_str("\nPlaces searched, in order\n");
    for place in search.places() {
        let origin = place.origin.to_string();
        let _ = writeln!(out, "  {:<28} {}", shown(&origin), shown(&state(place)));
    }
    if search.places().len() == 1 {
        out.push_str("  No other place is searched when one is named.\n");
    } else {
        out.push_str("  --cuda-path=DIR or WARPLD_CUDA_PATH replaces all of them.\n");
    }
    out
}

/// The toolkit, and a line for each thing in it.
fn contents(search: &Search, toolkit: &Toolkit) -> String {
    let is_it = |place: &&Place| place.toolkit.as_ref().is_some_and(|t| t.root() == toolkit.root());
    let origin = search.places().iter().find(is_it).map(|place| place.origin.to_string());
    let origin = origin.filter(|origin| Path::new(origin) != toolkit.root());
    let origin = origin.map(|origin| format!(" (by {origin})")).unwrap_or_default();
    let head = format!("CUDA toolkit in '{}'{origin}", toolkit.root().display());
    let mut out = format!("{}\n", shown(&head));
    let mut row = |name: &str, version: Option<String>, path: Option<&Path>| {
        let path = path.map(|path| path.strip_prefix(toolkit.root()).unwrap_or(path));
        let path = path.map_or("not there".into(), |path| path.display().to_string());
        let version = version.unwrap_or("-".into());
        let _ = writeln!(out, "  {name:<14} {:<10} {}", shown(&version), shown(&path));
    };
    for (name, tool) in [("ptxas", toolkit.ptxas()), ("nvlink", toolkit.nvlink())] {
        row(name, tool.and_then(Tool::version), tool.map(Tool::path));
    }
    let library = toolkit.nvjitlink();
    row("libnvJitLink", library.and_then(Library::version), library.map(|l| &*l.path));
    row("libnvvm", None, toolkit.libnvvm().map(|l| &*l.path));
    out
}

fn lto(search: &Search) -> String {
    let LtoTools { front_end, ptxas } = match search.lto_tools() {
        Ok(tools) => tools,
        // Only the program that loads libnvJitLink is missing.
        Err(missing) if search.nvjitlink().is_ok() && search.ptxas().is_ok() => {
            return format!("no: {} ({})", missing.message, missing.notes.join("; "));
        }
        Err(_) => {
            return "no: needs nvlink and ptxas (pip install nvidia-cuda-nvcc nvidia-nvvm)".into();
        }
    };
    let (name, version, limits) = match front_end {
        FrontEnd::Nvlink(nvlink) => {
            if !search.lto_toolkit().is_ok_and(is_whole) {
                return "no: nvlink needs libnvvm (pip install nvidia-nvvm)".into();
            }
            ("nvlink", nvlink.version(), "")
        }
        FrontEnd::NvJitLink { library, .. } => {
            ("libnvJitLink", library.version(), "; not together with other code")
        }
    };
    let by = named(name, version.clone());
    let mut text = format!("yes, by {by} and {}{limits}", named("ptxas", ptxas.version()));
    // A ptxas refuses the PTX of a newer release.
    let differ = version.zip(ptxas.version()).is_some_and(|(a, b)| release(&a) != release(&b));
    if differ {
        text.push_str(", though of different releases");
    }
    text
}

/// `13.4` of `13.4.92`.
fn release(version: &str) -> Vec<&str> {
    version.split('.').take(2).collect()
}

/// `ptxas 13.4.92`.
fn named(name: &str, version: Option<String>) -> String {
    match version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

fn folder_of(path: &Path) -> String {
    path.parent().unwrap_or(path).display().to_string()
}

/// What a place has.
fn state(place: &Place) -> String {
    let Some(folder) = &place.folder else {
        let is_variable = matches!(place.origin, Origin::Variable(_));
        return if is_variable { "not set" } else { "none" }.into();
    };
    let is_name = Path::new(&place.origin.to_string()) == folder;
    let folder = if is_name { String::new() } else { format!("'{}' ", folder.display()) };
    match &place.toolkit {
        None => format!("{folder}does not exist"),
        Some(toolkit) => {
            let has: Vec<&str> = [
                ("ptxas", toolkit.ptxas().is_some()),
                ("nvlink", toolkit.nvlink().is_some()),
                ("libnvJitLink", toolkit.nvjitlink().is_some()),
            ]
            .iter()
            .filter(|(_, there)| *there)
            .map(|(name, _)| *name)
            .collect();
            match has.as_slice() {
                [] => format!("{folder}has no compiler"),
                _ => format!("{folder}has {}", has.join(", ")),
            }
        }
    }
}

fn as_json(search: &Search) -> Value {
    let tool = |tool: Option<&Tool>| match tool {
        Some(tool) => json!({ "path": tool.path(), "version": tool.version() }),
        None => Value::Null,
    };
    let contents = |toolkit: &Toolkit| {
        json!({
            "root": toolkit.root(),
            "ptxas": tool(toolkit.ptxas()),
            "nvlink": tool(toolkit.nvlink()),
            "libnvJitLink": toolkit.nvjitlink().map(
                |l| json!({ "path": l.path, "major": l.major, "version": l.version() })
            ),
            "libnvvm": toolkit.libnvvm().map(
                |l| json!({ "path": l.path, "nvvmPath": l.nvvm_path })
            ),
        })
    };
    let lto = search.lto_tools().ok().and_then(|tools| {
        let toolkit = tools.ptxas.path().ancestors().nth(2).map(Path::to_owned);
        match tools.front_end {
            FrontEnd::Nvlink(_) => {
                let toolkit = search.lto_toolkit().ok().filter(|toolkit| is_whole(toolkit))?;
                Some(json!({ "by": "nvlink", "toolkit": toolkit.root() }))
            }
            FrontEnd::NvJitLink { library, helper } => Some(json!({
                "by": "libnvJitLink", "toolkit": toolkit, "library": library.path, "helper": helper,
            })),
        }
    });
    let places = search.places().iter().map(|place| {
        json!({
            "place": place.origin.to_string(),
            "folder": place.folder,
            "found": place.toolkit.as_ref().filter(|t| t.has_compiler()).map(contents),
        })
    });
    json!({
        "format": JSON_FORMAT,
        "toolkit": search.toolkit().map(contents),
        "links": {
            "ptx": tool(search.ptxas().ok()),
            "lto": lto,
            "fallback": tool(search.nvlink().ok()),
        },
        "places": places.collect::<Vec<_>>(),
    })
}
