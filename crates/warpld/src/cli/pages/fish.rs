//! Completions for fish.

use super::{Command, Value};
use std::fmt::Write;

/// The script.
pub(super) fn script(commands: &[Command]) -> String {
    let mut out = String::from("# Completions of warpld for fish.\n");
    let names: Vec<&str> =
        commands.iter().map(|c| c.name).filter(|name| !name.is_empty()).collect();
    let names = names.join(" ");
    for command in commands {
        let when = match command.name {
            "" => format!("not __fish_seen_subcommand_from {names}"),
            name => format!("__fish_seen_subcommand_from {name}"),
        };
        if !command.name.is_empty() {
            // Nothing here can fail to be written to a string.
            let _ = writeln!(
                out,
                "complete -c warpld -n __fish_use_subcommand -a {} -d {}",
                command.name,
                quoted(&command.about)
            );
        }
        if !command.first.is_empty() {
            let first = quoted(&command.first.join(" "));
            let _ = writeln!(out, "complete -c warpld -n {} -x -a {first}", quoted(&when));
        }
        for word in &command.options {
            let _ = write!(out, "complete -c warpld -n {}", quoted(&when));
            for spelling in &word.spellings {
                let name = spelling.trim_start_matches('-');
                let kind = match (spelling.starts_with("--"), name.len()) {
                    (true, _) => "-l",
                    (_, 1) => "-s",
                    _ => "-o",
                };
                let _ = write!(out, " {kind} {name}");
            }
            match &word.value {
                Value::None => {}
                Value::Any => out.push_str(" -x"),
                Value::File => out.push_str(" -r -F"),
                Value::Folder => out.push_str(" -x -a '(__fish_complete_directories)'"),
                Value::OneOf(values) => {
                    let _ = write!(out, " -x -a {}", quoted(&values.join(" ")));
                }
            }
            let _ = writeln!(out, " -d {}", quoted(&word.help));
        }
    }
    out
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
