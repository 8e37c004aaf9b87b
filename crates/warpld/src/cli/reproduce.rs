//! `--reproduce`: a tar file with all that is needed to repeat a link elsewhere.
//!
//! Files are stored under `files`, by their full names, so that a thin archive finds its members.
//! Nothing in the tar depends on when or by whom it was made.

use super::output::write_atomically_with;
use super::reports::print_with;
use super::version;
use crate::files::{Files, Opened, whole};
use crate::options::{LinkSettings, Opt, Replay, Sink, response_file, with_path};
use libwarpld::Diagnostic;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use tar::{Builder, EntryType, Header};

/// Writes the tar file. Its folder has the name of the file.
pub(super) fn write(
    sink: &Sink,
    replay: &Replay,
    settings: &LinkSettings,
    files: &Files,
) -> Result<(), Diagnostic> {
    let mut stored = Stored::new(std::env::current_dir().unwrap_or_default());
    let response = response_file(&stored.words(replay, settings, files));
    let folder = sink.file().and_then(Path::file_stem).unwrap_or(OsStr::new("reproduce"));
    let fill = |out: &mut dyn Write| {
        let mut tar = Builder::new(out);
        let folder = Path::new(folder);
        append(&mut tar, &folder.join("response.txt"), &response)?;
        let about = format!("{}{}", version::text(settings.release.release()), HOW_TO);
        append(&mut tar, &folder.join("version.txt"), about.as_bytes())?;
        for (label, bytes) in &stored.files {
            append(&mut tar, &folder.join(label), bytes)?;
        }
        tar.into_inner()?.flush()
    };
    match sink.file() {
        Some(path) => Ok(write_atomically_with(path, fill)?),
        None => print_with(fill),
    }
}

const HOW_TO: &str = "\nTo repeat the link, run 'warpld @response.txt' in this folder, with the \
                      environment variable LIBRARY_PATH unset.\n";

fn append<W: Write>(tar: &mut Builder<W>, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(bytes.len() as u64);
    header.set_mtime(0);
    tar.append_data(&mut header, path, bytes)
}

/// A file's bytes.
#[derive(Clone, Debug)]
enum Bytes<'f> {
    Input(&'f [u8]),
    Read(Arc<[u8]>),
}

impl std::ops::Deref for Bytes<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Input(bytes) => bytes,
            Self::Read(bytes) => bytes,
        }
    }
}

/// The files of the tar.
struct Stored<'f> {
    working_directory: PathBuf,
    files: BTreeMap<PathBuf, Bytes<'f>>,
}

impl<'f> Stored<'f> {
    fn new(working_directory: PathBuf) -> Self {
        Self { working_directory, files: BTreeMap::new() }
    }

    /// The command line for the unpacked folder. Stores all files that it names.
    fn words(
        &mut self,
        replay: &Replay,
        settings: &LinkSettings,
        files: &'f Files,
    ) -> Vec<Vec<u8>> {
        let mut words = replay.words();
        if let Some(output) = settings.output.as_deref().and_then(Path::file_name) {
            words.push(with_path(Opt::Output, Path::new(output)));
        }
        for (opt, path) in [(Opt::UidxFile, &settings.uidx), (Opt::NvHost, &settings.nv_host)] {
            let Some(path) = path else { continue };
            let bytes = whole::read(path).ok().map(|bytes| Bytes::Read(bytes.into()));
            words.push(with_path(opt, &self.store(path, bytes)));
        }
        let (libraries, inputs): (Vec<_>, Vec<_>) = files.opened().partition(|file| file.library);
        for input in inputs {
            words.push(self.input(input).into_os_string().into_encoded_bytes());
        }
        let mut folders: Vec<PathBuf> = Vec::new();
        for library in libraries {
            let label = self.input(library);
            let name = label.file_stem().map(OsStr::as_encoded_bytes).unwrap_or_default();
            words.push([b"-l", name.strip_prefix(b"lib").unwrap_or(name)].concat());
            let folder = label.parent().unwrap_or(Path::new("")).to_owned();
            if !folders.contains(&folder) {
                words.push([b"-L", folder.as_os_str().as_encoded_bytes()].concat());
                folders.push(folder);
            }
        }
        words
    }

    /// Stores an input with the files of a thin archive; returns its name in the tar.
    fn input(&mut self, input: &'f Opened) -> PathBuf {
        let path = Path::new(&*input.name);
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut labels = Vec::with_capacity(input.members.len());
        for member in &input.members {
            let bytes = member.data.as_deref().ok().map(Bytes::Input);
            labels.push(self.store(&folder.join(&*member.name), bytes));
        }
        let place = Path::new("files").join(self.full_name(folder));
        let mut members = input.members.iter().zip(&labels);
        let are_found = members.all(|(member, label)| is_found(&place, &member.name, label));
        let mut bytes = input.data.as_deref().ok().map(Bytes::Input);
        if !are_found {
            let to_top = "../".repeat(place.components().count());
            let paths = labels.iter().map(|label| format!("{to_top}{}", label.display()));
            bytes = bytes.map(|_| Bytes::Read(thin_archive(paths).into()));
        }
        self.store(path, bytes)
    }

    /// Stores a file, unless it does not exist; returns its name in the tar. Two files whose full
    /// names are the same, by links of folders, get different ones.
    fn store(&mut self, path: &Path, bytes: Option<Bytes<'f>>) -> PathBuf {
        let full = self.full_name(path);
        let mut label = Path::new("files").join(&full);
        let Some(bytes) = bytes else { return label };
        for number in 2.. {
            match self.files.get(&label) {
                Some(other) if **other != *bytes => {
                    label = Path::new(&format!("files-{number}")).join(&full);
                }
                _ => break,
            }
        }
        self.files.insert(label.clone(), bytes);
        label
    }

    /// The full name without the root, and without `.` and `..`.
    fn full_name(&self, path: &Path) -> PathBuf {
        let mut full = PathBuf::new();
        for component in self.working_directory.join(path).components() {
            match component {
                Component::Normal(name) => full.push(name),
                Component::ParentDir => {
                    full.pop();
                }
                Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
            }
        }
        full
    }
}

/// Whether a member of a thin archive in this folder of the tar is found by its own name. One with
/// an absolute name would be looked for outside.
fn is_found(folder: &Path, member: &str, label: &Path) -> bool {
    let mut path = folder.to_owned();
    Path::new(member).components().all(|component| match component {
        Component::Normal(name) => {
            path.push(name);
            true
        }
        Component::ParentDir => path.pop(),
        Component::CurDir => true,
        Component::Prefix(_) | Component::RootDir => false,
    }) && path == label
}

/// An archive whose members are these files.
fn thin_archive(paths: impl Iterator<Item = String>) -> Vec<u8> {
    let header = |name: &str, size: usize| {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644)
    };
    let (mut names, mut members) = (String::new(), String::new());
    for path in paths {
        members.push_str(&header(&format!("/{}", names.len()), 0));
        names.push_str(&format!("{path}/\n"));
    }
    if names.len() % 2 == 1 {
        names.push('\n');
    }
    format!("!<thin>\n{}{names}{members}", header("//", names.len())).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_the_folder() {
        let mut stored = Stored::new("/work/dir".into());
        let bytes = |text: &'static str| Some(Bytes::Input(text.as_bytes()));
        for (path, text, label) in [
            ("a.o", "1", "files/work/dir/a.o"),
            ("./x/../a.o", "1", "files/work/dir/a.o"),
            ("../../../../a.o", "2", "files/a.o"),
            ("/work/dir/a.o", "3", "files-2/work/dir/a.o"),
            ("/work/dir/a.o", "4", "files-3/work/dir/a.o"),
        ] {
            assert_eq!(stored.store(Path::new(path), bytes(text)), Path::new(label), "{path}");
        }
        assert_eq!(stored.files.len(), 4);
    }
}
