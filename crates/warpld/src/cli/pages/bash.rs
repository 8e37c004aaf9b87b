//! Completions for bash.

use super::{Command, Value};
use std::fmt::Write;

const BODY: &str = r#"# Completions of warpld for bash.
_warpld() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= words=
    # bash takes '=' for a word of its own.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case ${COMP_WORDS[1]} in
"#;

const END: &str = r#"    esac
    if [[ $current == -* && $previous != "$current" ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        return
    fi
    if ((COMP_CWORD == 1 || (COMP_CWORD == 2 && ${#command}))); then
        words=$first
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"; compgen -f -- "$current")
}
complete -o filenames -o bashdefault -F _warpld warpld
"#;

/// The script.
pub(super) fn script(commands: &[Command]) -> String {
    let mut out = String::from(BODY);
    let names: Vec<&str> =
        commands.iter().map(|c| c.name).filter(|name| !name.is_empty()).collect();
    // Nothing here can fail to be written to a string.
    let _ = writeln!(out, "    {}) command=${{COMP_WORDS[1]}} ;;", names.join("|"));
    out.push_str("    esac\n    local options= first=\n    case $command in\n");
    for command in commands {
        let all = command.options.iter().flat_map(|word| &word.spellings);
        let all: Vec<&str> = all.map(String::as_str).collect();
        let first = match command.name {
            "" => names.join(" "),
            _ => command.first.join(" "),
        };
        let _ =
            writeln!(out, "    '{}') options='{}' first='{first}' ;;", command.name, all.join(" "));
    }
    out.push_str("    esac\n    case $command:$previous in\n");
    for command in commands {
        for word in &command.options {
            let reply = match &word.value {
                Value::None => continue,
                Value::Any => "COMPREPLY=()".to_owned(),
                Value::File => r#"mapfile -t COMPREPLY < <(compgen -f -- "$current")"#.to_owned(),
                Value::Folder => r#"mapfile -t COMPREPLY < <(compgen -d -- "$current")"#.to_owned(),
                Value::OneOf(values) => {
                    let values = values.join(" ");
                    format!(r#"mapfile -t COMPREPLY < <(compgen -W '{values}' -- "$current")"#)
                }
            };
            let cases = word.spellings.iter().map(|word| format!("{}:{word}", command.name));
            let cases: Vec<String> = cases.collect();
            let _ = writeln!(out, "    {}) {reply}; return ;;", cases.join("|"));
        }
    }
    out.push_str(END);
    out
}
