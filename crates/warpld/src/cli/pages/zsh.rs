//! Completions for zsh.

use super::{Command, Value, Word};
use std::fmt::Write;

/// The script.
pub(super) fn script(commands: &[Command]) -> String {
    let mut out = String::from("#compdef warpld\n# Completions of warpld for zsh.\n\n");
    for command in commands {
        // Nothing here can fail to be written to a string.
        let _ = writeln!(out, "{}() {{\n  _arguments -S \\", function(command.name));
        for word in &command.options {
            for spelling in &word.spellings {
                let _ = writeln!(out, "    {} \\", spec(word, spelling));
            }
        }
        match command.first.is_empty() {
            true => out.push_str("    '*:file:_files'\n}\n\n"),
            false => {
                let _ = writeln!(out, "    '1: :({})'\n}}\n", command.first.join(" "));
            }
        }
    }
    out.push_str("_warpld() {\n  local -a commands=(\n");
    for command in commands.iter().filter(|command| !command.name.is_empty()) {
        let about = command.about.replace(':', "\\:");
        let _ = writeln!(out, "    {}", quoted(&format!("{}:{about}", command.name)));
    }
    out.push_str(
        "  )\n  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n    \
         _describe -t commands command commands\n    _files\n    return\n  fi\n  case $words[2] in\n",
    );
    for command in commands.iter().filter(|command| !command.name.is_empty()) {
        let name = command.name;
        let _ = writeln!(out, "    {name}) shift words; (( CURRENT-- )); {} ;;", function(name));
    }
    out.push_str("    *) _warpld_link ;;\n  esac\n}\n\n_warpld \"$@\"\n");
    out
}

fn function(command: &str) -> String {
    format!("_warpld_{}", if command.is_empty() { "link" } else { command })
}

/// What `_arguments` is told about a spelling of an option.
fn spec(word: &Word, spelling: &str) -> String {
    let escape = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
        text.replace(':', "\\:")
    };
    let help = escape(&word.help);
    let action = match &word.value {
        Value::None => return quoted(&format!("*{spelling}[{help}]")),
        Value::Any => "value: ".to_owned(),
        Value::File => "file:_files".to_owned(),
        Value::Folder => "folder:_files -/".to_owned(),
        Value::OneOf(values) => format!("value:({})", values.join(" ")),
    };
    quoted(&format!("*{spelling}=[{help}]:{action}"))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
