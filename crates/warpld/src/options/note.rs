//! The command line as the tool note (`.note.nv.tkinfo`) records it.

use super::parse::{CommandLine, Value, lossy};
use super::row::{Note, Row};
use super::table::{Opt, TABLE};

/// The parts of the tool note that come from the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteText {
    /// Base name of the output, in a verbose note.
    pub object_name: String,
    /// The options in the order of the table.
    pub command_line: String,
}

impl NoteText {
    /// The name of the output and the command line that libnvJitLink writes, whatever its options.
    pub const NVJITLINK: (&'static str, &'static str) =
        ("in-memory-ELF-image", "JIT API Command Line Options");

    /// Each option appears as its short name, a space, its value and a space; the value of a flag
    /// is empty. A verbose note (`-g` or `--verbose-tkinfo`) starts with the inputs and also has
    /// file names, shortened to their base names.
    pub fn new(line: &CommandLine) -> Self {
        let verbose = line.boolean(Opt::VerboseTkinfo).unwrap_or_else(|| line.has(Opt::Debug));
        let mut text = String::new();
        let mut object_name = String::new();
        if verbose {
            let inputs: Vec<_> = line.inputs.iter().map(|name| base_name(name)).collect();
            text.push_str(&inputs.join(","));
            text.push(' ');
            object_name = line.bytes(Opt::Output).map(base_name).unwrap_or_default();
        }
        for (opt, row) in TABLE {
            let shown = line.value(*opt).and_then(|value| shown_value(row, value, verbose));
            if let Some(shown) = shown {
                ["-", row.short, " ", &shown, " "].iter().for_each(|part| text.push_str(part));
            }
        }
        let text = line.text(Opt::NoteCommandLine).unwrap_or(text);
        Self { object_name, command_line: text }
    }
}

fn shown_value(row: &Row, value: &Value, verbose: bool) -> Option<String> {
    match (row.note, verbose) {
        (Note::Always, _) => Some(match value {
            Value::Flag => String::new(),
            Value::Bool(value) => value.to_string(),
            Value::Number(value) => value.to_string(),
            Value::Text(value) => lossy(value),
            Value::List(items) => items.iter().map(|i| lossy(i)).collect::<Vec<_>>().join(","),
        }),
        (Note::VerboseFile, true) => match value {
            Value::Text(value) => Some(base_name(value)),
            _ => None,
        },
        (Note::VerboseName, true) => Some(String::new()),
        _ => None,
    }
}

fn base_name(path: &[u8]) -> String {
    let start = path.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
    lossy(&path[start..])
}
