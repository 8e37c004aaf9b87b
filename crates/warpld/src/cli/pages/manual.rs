//! Man pages: one for links, one for each other command.

use super::super::Subcommand;
use super::SUBCOMMANDS;
use crate::options::{COMMANDS, man_page, roff};
use std::fmt::Write;

/// What a page has besides the arguments.
struct More {
    command: &'static str,
    status: &'static str,
    environment: &'static [(&'static str, &'static str)],
    examples: &'static [(&'static str, &'static str)],
}

const NO_COLOR: (&str, &str) = ("NO_COLOR", "If set, nothing is colored.");

const MORE: &[More] = &[
    More {
        command: "compare",
        status: "0 if all sizes are the same, 1 if not, 2 if the files cannot be compared.",
        environment: &[],
        examples: &[(
            "warpld compare --markdown old.cubin new.cubin",
            "writes a table for a review",
        )],
    },
    More {
        command: "completions",
        status: "0, or 2 for wrong arguments.",
        environment: &[],
        examples: &[("source <(warpld completions bash)", "completes words in this bash")],
    },
    More {
        command: "diff",
        status: "0 if the files are the same, 1 if they differ, 2 if they cannot be compared.",
        environment: &[],
        examples: &[
            ("warpld diff old.cubin new.cubin", "lists all differences"),
            ("warpld diff --ignore-tool-note a.cubin b.cubin", "ignores who linked them"),
        ],
    },
    More {
        command: "dump",
        status: "0 if all files could be shown, 1 if not, 2 for wrong arguments.",
        environment: &[NO_COLOR],
        examples: &[
            ("warpld dump out.cubin", "shows everything"),
            ("warpld dump --only functions out.cubin", "shows the resources of all kernels"),
            ("warpld dump --json out.cubin", "writes JSON"),
        ],
    },
    More {
        command: "extract",
        status: "0 if images were found and written, 1 if not, 2 for wrong arguments.",
        environment: &[],
        examples: &[
            ("warpld extract --list libcublas.so", "lists the images of a library"),
            ("warpld extract --arch sm_90 --kind elf a.o -d images", "writes those for sm_90"),
        ],
    },
    More {
        command: "help",
        status: "0, or 2 if there is no such command.",
        environment: &[],
        examples: &[("warpld help dump", "explains warpld dump")],
    },
    More {
        command: "man",
        status: "0, or 1 if a page cannot be written.",
        environment: &[],
        examples: &[("warpld man ~/.local/share/man/man1", "installs all pages")],
    },
    More {
        command: "shim",
        status: "0, or 1 if the shim cannot be made.",
        environment: &[],
        examples: &[("warpld shim /usr/local/cuda ~/cuda-warpld", "then use its bin/nvcc")],
    },
    More {
        command: "toolkit",
        status: "0 if there is a toolkit, 1 if not.",
        environment: &[
            ("WARPLD_CUDA_PATH", "Search only this toolkit."),
            ("CUDA_HOME, CUDA_PATH", "A toolkit."),
            ("PATH", "Folders of programs, which may be those of a toolkit."),
        ],
        examples: &[("warpld toolkit --json", "shows what is found, as JSON")],
    },
    More {
        command: "version",
        status: "0.",
        environment: &[],
        examples: &[("warpld version", "prints the version")],
    },
];

/// All pages, with the names of their files.
pub(super) fn pages() -> Vec<(String, String)> {
    let link = ("warpld.1".to_owned(), man_page());
    let others = SUBCOMMANDS.iter().map(|of| (format!("warpld-{}.1", of.name), page(of)));
    std::iter::once(link).chain(others).collect()
}

fn page(of: &Subcommand) -> String {
    let mut command = (of.describe)();
    command.build();
    let text = |styled: Option<&clap::builder::StyledStr>| {
        styled.map(|text| text.to_string()).unwrap_or_default()
    };
    let about = text(command.get_about());
    // What apropos(1) lists: short, and in small letters.
    let is_it = |usage: &str| usage.split(' ').next() == Some(of.name);
    let summary = COMMANDS.iter().find(|(usage, _)| is_it(usage)).map_or(&*about, |(_, what)| what);
    let mut out = format!(
        ".TH WARPLD\\-{} 1 \"\" \"warpld {}\"\n.SH NAME\nwarpld\\-{} \\- {}\n",
        of.name.to_uppercase(),
        env!("CARGO_PKG_VERSION"),
        of.name,
        roff(summary)
    );
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    // Nothing here can fail to be written to a string.
    let _ = writeln!(out, ".SH SYNOPSIS\n{}\n.SH DESCRIPTION", roff(usage));
    let long = text(command.get_long_about());
    let mut lines = if long.is_empty() { &about } else { &long }.lines();
    // Help has no full stop after its first sentence.
    let _ = writeln!(out, "{}.", roff(lines.next().unwrap_or_default().trim_end_matches('.')));
    for line in lines {
        let _ = writeln!(out, "{}", if line.is_empty() { ".PP".into() } else { roff(line) });
    }
    out.push_str(".SH OPTIONS\n");
    for arg in command.get_arguments() {
        let spelled = arg.to_string();
        let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
        let help = text(arg.get_long_help().or(arg.get_help()));
        let values: Vec<String> = super::possible(arg);
        let values = match values.is_empty() || !arg.get_action().takes_values() {
            true => String::new(),
            false => format!(". Values: {}", values.join(", ")),
        };
        let _ = writeln!(
            out,
            ".TP\n.B {}\n{}.",
            roff(&format!("{short}{spelled}")),
            roff(&format!("{}{values}", help.trim_end_matches('.').replace('\n', " ")))
        );
    }
    let Some(more) = MORE.iter().find(|more| more.command == of.name) else { return out };
    let _ = writeln!(out, ".SH EXIT STATUS\n{}", roff(more.status));
    if !more.environment.is_empty() {
        out.push_str(".SH ENVIRONMENT\n");
    }
    for (name, what) in more.environment {
        let _ = writeln!(out, ".TP\n.B {}\n{}", roff(name), roff(what));
    }
    out.push_str(".SH EXAMPLES\n");
    for (line, what) in more.examples {
        let _ = writeln!(out, ".TP\n.B {}\n{}", roff(line), roff(what));
    }
    out.push_str(".SH SEE ALSO\n.BR warpld (1)\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_whole_page() {
        for (name, page) in pages() {
            for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "EXAMPLES"] {
                assert!(page.contains(&format!("\n.SH {heading}\n")), "{name}: {heading}");
            }
        }
        let names: Vec<_> = MORE.iter().map(|more| more.command).collect();
        let known: Vec<_> = SUBCOMMANDS.iter().map(|of| of.name).collect();
        assert_eq!(names, known);
    }
}
