//! `--dependency-file`: what a link read, as a rule for make and ninja.

use crate::files::Files;
use crate::options::LinkSettings;
use std::collections::HashSet;
use std::path::Path;

/// The rule: the output, and all files that were read for it, in order.
pub(super) fn text(settings: &LinkSettings, files: &Files) -> String {
    let named = settings.option_files.iter().chain(&settings.nv_host).chain(&settings.uidx);
    let named = named.map(|path| path.to_string_lossy().into_owned());
    let mut seen = HashSet::new();
    let output = settings.output.as_deref().unwrap_or(Path::new(""));
    let mut text = format!("{}:", escaped(&output.to_string_lossy()));
    for name in files.names().map(ToString::to_string).chain(named) {
        let name = escaped(&name);
        if seen.insert(name.clone()) {
            text.push_str(" \\\n  ");
            text.push_str(&name);
        }
    }
    text.push('\n');
    text
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
