//! The option table as text: `--help`, the man page, the guide's reference.

use super::row::{Audience, Group, Kind, Row};
use super::table::{TABLE, TARGET_PREFIXES, TARGETS, value_since};
use libwarpld::Release;
use std::fmt::Write;

const SUMMARY: &str = "Links relocatable CUDA device code (cubins, fatbins, host objects and \
                       archives from nvcc or clang) into one executable cubin.";

/// The commands besides linking, with what each does.
pub const COMMANDS: &[(&str, &str)] = &[
    ("dump FILE...", "show the contents of cubins and their containers"),
    ("extract FILE...", "extract device images from their containers"),
    ("diff A B", "compare two cubins, structure by structure"),
    ("compare OLD NEW", "show what grew between two links"),
    ("shim CUDA_DIR DEST", "create a toolkit of links whose nvlink is warpld"),
    ("toolkit", "show the compilers that a link would use"),
    ("help [COMMAND]", "list all options, or explain a command"),
    ("version", "print the version"),
    ("completions SHELL", "print completions for bash, zsh or fish"),
    ("man [DIR]", "print the man pages, or write them to a folder"),
];

/// The environment variables that a link reads.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("LIBRARY_PATH", "Folders to search for libraries (-l), after those of -L."),
    ("WARPLD_CUDA_PATH", "Use the compilers of this CUDA toolkit, as --cuda-path does."),
    (
        "CUDA_HOME, CUDA_PATH, PATH",
        "Where a CUDA toolkit is looked for if a link needs a compiler.",
    ),
    ("WARPLD_PTX_CACHE", "Keep compiled PTX in this folder, as --ptx-cache does."),
    ("MAKEFLAGS", "A link under make takes its threads from make's jobserver."),
    ("NO_COLOR", "If set, messages are not colored."),
    ("CAN_FINALIZE_DEBUG", "If set to anything but 0, messages of --fnlzr-trace are printed."),
];

const EXAMPLES: &[(&str, &str)] = &[
    ("warpld -arch=sm_90 a.o b.o libc.a -o out.cubin", "links three inputs for sm_90"),
    ("warpld -arch=sm_90 @inputs.txt -o out.cubin", "reads the names of the inputs from a file"),
    ("warpld -arch=sm_90 a.o -o out.cubin --map=out.map", "writes what each input contributed"),
];

const WIDTH: usize = 80;

fn rows(group: Group) -> Vec<&'static Row> {
    let mut rows: Vec<_> =
        TABLE.iter().map(|(_, row)| row).filter(|row| row.group == group).collect();
    rows.sort_by_key(|row| row.name());
    rows
}

fn spellings(row: &Row) -> String {
    let value = match row.kind {
        Kind::OptionalFile => format!("[={}]", row.metavar),
        _ if row.metavar.is_empty() => String::new(),
        _ => format!("={}", row.metavar),
    };
    let long = format!("--{}{value}", row.long);
    let short = match (row.glued, row.metavar) {
        (true, metavar) => format!("-{}{metavar}", row.short),
        (false, "") => format!("-{}", row.short),
        (false, metavar) => format!("-{} {metavar}", row.short),
    };
    match (row.long, row.short) {
        ("", _) => short,
        (_, "") => long,
        _ => format!("{short}, {long}"),
    }
}

/// The allowed values of an option, as a sentence.
fn allowed(row: &Row) -> Option<String> {
    match row.kind {
        Kind::Choice(values) => Some(format!("Values: {}.", values.join(", "))),
        Kind::Target => {
            let prefixes = TARGET_PREFIXES.join(", ");
            Some(format!("Values: one of {prefixes} followed by one of {}.", TARGETS.join(", ")))
        }
        _ => None,
    }
}

/// Which releases of CUDA have an option, or some of its values, if not all have.
fn since(row: &Row) -> Option<String> {
    let name = |release: &Release| format!("{}.{}", release.toolkit / 10, release.toolkit % 10);
    if row.since.toolkit > Release::OLDEST.toolkit {
        return Some(format!("Since CUDA {}.", name(row.since)));
    }
    let values: Vec<String> = match row.kind {
        Kind::Choice(values) => values.iter().map(|value| value.to_string()).collect(),
        Kind::Target => TARGETS.iter().map(|target| format!("sm_{target}")).collect(),
        _ => return None,
    };
    let since = |value: &String| value_since(row, value.as_bytes());
    let is_new = |value: &&String| since(value).toolkit > Release::OLDEST.toolkit;
    let new: Vec<&String> = values.iter().filter(is_new).collect();
    let first = since(new.first()?);
    let new: Vec<&str> = new.iter().map(|value| value.trim_start_matches("sm_")).collect();
    Some(format!("{} since CUDA {}.", new.join(", "), name(first)))
}

fn explained(row: &Row) -> String {
    let parts = [Some(row.help.to_owned()), allowed(row), since(row)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn wrap(out: &mut String, text: &str, indent: usize) {
    let mut column = 0;
    for word in text.split(' ') {
        if column > indent && column + 1 + word.len() > WIDTH {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
}

/// The text of `--help`.
pub fn help_text(program: &str) -> String {
    let mut out = format!("Usage: {program} [options] -arch=TARGET -o OUTPUT INPUT...\n");
    // Under nvlink's name there are no commands.
    if program == "warpld" {
        let _ = writeln!(out, "       {program} COMMAND ...");
    }
    out.push('\n');
    wrap(&mut out, SUMMARY, 0);
    if program == "warpld" {
        out.push_str("\nCommands:\n");
        for (command, what) in COMMANDS {
            let _ = writeln!(out, "  {command:<20} {what}");
        }
    }
    for group in Group::ALL {
        let _ = writeln!(out, "\n{}:", group.title());
        for row in rows(group).into_iter().filter(|row| row.audience != Audience::Hidden) {
            let _ = writeln!(out, "  {}", spellings(row));
            wrap(&mut out, &explained(row), 8);
        }
    }
    out.push('\n');
    wrap(
        &mut out,
        "@FILE reads more arguments from FILE. Any value may follow its option as the next \
         argument or after '='.",
        0,
    );
    out
}

/// Text for a man page.
pub fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    match escaped.starts_with(['.', '\'']) {
        true => format!("\\&{escaped}"),
        false => escaped,
    }
}

/// The man page in roff.
pub fn man_page() -> String {
    let mut out = format!(
        ".TH WARPLD 1 \"\" \"warpld {}\"\n.SH NAME\nwarpld \\- CUDA device linker\n.SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION")
    );
    out.push_str(".B warpld\n[options] \\-arch=TARGET \\-o OUTPUT INPUT...\n.SH DESCRIPTION\n");
    let _ = writeln!(out, "{}", roff(SUMMARY));
    for (command, what) in COMMANDS {
        let _ = writeln!(out, ".TP\n.B warpld {}\n{}", roff(command), roff(what));
    }
    for group in Group::ALL {
        let _ = writeln!(out, ".SH {}", group.title().to_uppercase());
        for row in rows(group) {
            let _ = writeln!(out, ".TP\n.B {}\n{}", roff(&spellings(row)), roff(&explained(row)));
        }
    }
    out.push_str(
        ".SH EXIT STATUS\n0 if the link succeeded, 255 if the inputs cannot be linked, 1 if the \
         link could not be carried out.\n",
    );
    for (heading, rows) in [("ENVIRONMENT", ENVIRONMENT), ("EXAMPLES", EXAMPLES)] {
        let _ = writeln!(out, ".SH {heading}");
        for (name, what) in rows {
            let _ = writeln!(out, ".TP\n.B {}\n{}", roff(name), roff(what));
        }
    }
    out.push_str(".SH SEE ALSO\n");
    let names: Vec<&str> =
        COMMANDS.iter().filter_map(|(usage, _)| usage.split(' ').next()).collect();
    for (at, name) in names.iter().enumerate() {
        let comma = if at + 1 < names.len() { "," } else { "" };
        let _ = writeln!(out, ".BR {} (1){comma}", roff(&format!("warpld-{name}")));
    }
    out
}

/// The reference page of the guide in Markdown.
pub fn guide_page() -> String {
    let mut out = String::from(
        "# Options\n\nThis page is generated from the option table; a test keeps it current.\n\n",
    );
    out.push_str(
        "Every value may follow its option as the next argument or after `=`. Long names take two \
         dashes, short names one. `-l`, `-L` and `-m` also take their value without a space. Lists \
         are separated by commas; double quotes quote commas; repeated options add up. `@FILE` \
         reads more arguments from FILE.\n",
    );
    for group in Group::ALL {
        let _ = writeln!(out, "\n## {}\n\n| option | meaning |\n|---|---|", group.title());
        for row in rows(group) {
            let mark = match row.audience {
                Audience::Documented => "",
                Audience::Hidden => " *(nvlink accepts it without documenting it)*",
                Audience::Own => " *(warpld only)*",
            };
            let spelled = spellings(row).replace(", --", "`, `--").replace('|', "\\|");
            let _ = writeln!(out, "| `{spelled}` | {}{mark} |", explained(row).replace('|', "\\|"));
        }
    }
    out
}
