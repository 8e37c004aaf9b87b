//! `--print-input-hash`: a number that is the same for links that write the same bytes.

use super::output::write_atomically;
use super::{Console, print_out};
use crate::files::{Files, Opened, whole};
use crate::options::{LinkSettings, Place};
use libwarpld::{Code, Diagnostic};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// What the hash is of. A change of the list below is a change of this.
const KIND: &str = "warpld input hash 1";

/// Hashes the options and all files; returns the exit status.
pub(super) fn print(
    settings: &LinkSettings,
    files: &Files,
    place: &Place,
    console: &mut Console,
) -> i32 {
    let done = hash(settings, files).and_then(|hash| match place {
        Place::File(path) => Ok(write_atomically(path, hash.as_bytes()).map(|()| None)?),
        Place::StandardOutput | Place::StandardError => Ok(Some(hash)),
    });
    match done {
        Ok(None) => console.status(),
        Ok(Some(hash)) => print_out(console, hash.as_bytes()),
        Err(diagnostic) => {
            console.print(&diagnostic);
            console.status()
        }
    }
}

/// The hash as a line of text.
fn hash(settings: &LinkSettings, files: &Files) -> Result<String, Diagnostic> {
    let mut hasher = Hasher(Sha256::new());
    hasher.item(KIND.as_bytes());
    hasher.item(env!("CARGO_PKG_VERSION").as_bytes());
    let words = settings.replay.as_ref().map(|replay| replay.deciding_words()).unwrap_or_default();
    hasher.list(words.iter().map(Vec::as_slice));
    for path in [&settings.uidx, &settings.nv_host] {
        let bytes = path.as_deref().map(|path| {
            whole::read(path).map_err(|error| no_input(&path.to_string_lossy(), &error))
        });
        hasher.item(&bytes.transpose()?.unwrap_or_default());
    }
    for input in files.opened() {
        hasher.item(if input.library { b"library" } else { b"file" });
        hasher.file(input)?;
        hasher.number(input.members.len());
        input.members.iter().try_for_each(|member| hasher.file(member))?;
    }
    let mut text = String::new();
    for byte in hasher.0.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text + "\n")
}

fn no_input(name: &str, error: &dyn std::fmt::Display) -> Diagnostic {
    let message = format!("Could not open input file '{name}'");
    Diagnostic::fatal(Code::CannotOpenInput, message).note(error)
}

/// Each item is preceded by its length: no two lists look alike.
struct Hasher(Sha256);

impl Hasher {
    fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    fn item(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.update(bytes);
    }

    fn list<'i>(&mut self, items: impl ExactSizeIterator<Item = &'i [u8]>) {
        self.number(items.len());
        items.for_each(|item| self.item(item));
    }

    /// The name without its folder, as the suffix is a promise, and some libraries are known by
    /// name; then the bytes.
    fn file(&mut self, file: &Opened) -> Result<(), Diagnostic> {
        let data = file.data.as_deref().map_err(|error| no_input(&file.name, error))?;
        let name = Path::new(&*file.name).file_name().unwrap_or_default();
        self.item(name.as_encoded_bytes());
        self.item(data);
        Ok(())
    }
}
