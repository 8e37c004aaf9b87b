//! `--dependency-file`: what a link read, as a rule for make and ninja.

use crate::files::Files;
use crate::options::LinkSettings;
use std::collections::HashSet;
use std::path::Path;

/// The rule: the output, and all files that were read for it, in order. Each of them has an empty rule of its
/// own, so that make runs the link, and does not give up, when one is gone.
pub(super) fn text(settings: &LinkSettings, files: &Files) -> String {
    let options = settings.option_files.iter().filter(|path| !is_transient(path));
    let named = options.chain(&settings.nv_host).chain(&settings.uidx);
    let named = named.map(|path| path.to_string_lossy().into_owned());
    let mut seen = HashSet::new();
    let names = files.names().map(ToString::to_string).chain(named).map(|name| escaped(&name));
    let names: Vec<String> = names.filter(|name| seen.insert(name.clone())).collect();
    let output = settings.output.as_deref().unwrap_or(Path::new(""));
    let mut text = format!("{}:", escaped(&output.to_string_lossy()));
    for name in &names {
        text.push_str(" \\\n  ");
        text.push_str(name);
    }
    text.push('\n');
    for name in &names {
        text.push_str(name);
        text.push_str(":\n");
    }
    text
}

/// Ninja writes response files before a command and deletes them after it; what depends on one would never
/// be up to date. By convention, they are called `.rsp`.
fn is_transient(options: &Path) -> bool {
    options.extension().is_some_and(|suffix| suffix == "rsp")
}

/// A name as make reads it. There is no way to write a line end; it becomes a space that no file
/// has, so that the link is run again.
fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            ' ' | '#' => out.extend(['\\', c]),
            '$' => out.push_str("$$"),
            '\n' | '\r' => out.push_str("\\ "),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_make_wants_it() {
        assert_eq!(escaped("a b#$c\\d"), "a\\ b\\#$$c\\d");
        assert_eq!(escaped("x\ny"), "x\\ y");
    }
}
