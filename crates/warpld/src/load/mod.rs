//! From names on the command line to the device code behind them: files are
//! mapped, recognised by content, archives opened, libraries searched.
//!
//! Three steps, each borrowing the one before: [`Files::open`] maps,
//! [`Files::scan`] looks into the maps, [`Loaded::select`] picks images for a
//! target. Nothing is decompressed before the last one, and a scan serves any
//! number of targets.

pub(crate) mod guard;
pub(crate) mod host_use;
pub(crate) mod map;
mod recognise;
mod scan;
mod search;
pub(crate) mod small_files;

pub use scan::{Body, Ignored, Loaded, Source, Step};
pub(crate) use scan::{READER_FAILED, Scanned};
pub use search::CpuArch;

use crate::diag::Diagnostic;
use crate::render::Renderer;
use fatbin::Content;
use map::{FileKey, Mapped};
use memmap2::MmapMut;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What to load.
#[derive(Clone, Debug, Default)]
pub struct LoadRequest {
    /// Files as typed, in order.
    pub files: Vec<PathBuf>,
    /// `-l`: names of libraries, in order. They follow all `files`.
    pub libraries: Vec<String>,
    /// `-L`: where to look for them.
    pub library_paths: Vec<PathBuf>,
    /// The environment's `LIBRARY_PATH`, searched after `library_paths`.
    pub library_path_env: Option<OsString>,
    /// `-cpu-arch`: the host the libraries must be for.
    pub cpu_arch: CpuArch,
    /// The folder that relative names are registered under
    /// (`--register-link-binaries`).
    pub working_directory: PathBuf,
}

/// An input that was found, or the reason why not.
#[derive(Debug)]
pub(crate) struct Opened {
    /// As typed, or as the search found it.
    pub(crate) name: Arc<str>,
    pub(crate) data: Result<Mapped, map::OpenError>,
    /// Files of a thin archive, in the order of its members.
    pub(crate) members: Vec<Opened>,
    /// It was found by `-l`.
    library: bool,
    /// What it is, which is told while its first bytes are in the cache (members of a thin
    /// archive are asked later).
    content: Content,
}

impl Opened {
    /// The suffix of its name.
    fn suffix(&self) -> &str {
        // Taking a path apart is dear; most names are plain.
        let length = self.name.bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
        if let Some((stem, suffix)) = self.name.split_at_checked(self.name.len() - length)
            && let [.., last, b'.'] = stem.as_bytes()
            && last.is_ascii_alphanumeric()
            && !suffix.is_empty()
        {
            return suffix;
        }
        let suffix = Path::new(&*self.name).extension();
        suffix.and_then(|suffix| suffix.to_str()).unwrap_or_default()
    }
}

/// All files of a link, mapped.
#[derive(Debug, Default)]
pub struct Files {
    opened: Vec<search::Found>,
    /// Where images are unpacked when they are selected.
    store: OnceLock<Vec<MmapMut>>,
    working_directory: PathBuf,
}

impl Files {
    /// Opens what `request` names. What cannot be opened is reported by
    /// [`Loaded::select`] in its turn, as nvlink does.
    pub fn open(request: &LoadRequest) -> Self {
        let mut opened: Vec<_> = Mapped::open_all(&request.files, |path, data| {
            search::Found::File(Opened::found(path, data, false))
        });
        opened.extend(search::libraries(request));
        take_archives_once(&mut opened);
        let working_directory = request.working_directory.clone();
        Self { opened, store: OnceLock::new(), working_directory }
    }

    /// The name of a file that has changed since it was opened.
    pub fn changed(&self) -> Option<&str> {
        let maps: Vec<_> = self.maps().collect();
        let changed = maps.par_iter().find_first(|(_, data, _)| !data.is_unchanged());
        changed.map(|&(name, ..)| &**name)
    }

    /// From now on, a file that is cut short while it is mapped ends the process with
    /// `message` of its name on standard error.
    pub fn guard(&self, renderer: &Renderer, message: impl Fn(&str) -> Diagnostic) {
        let maps = self.maps().map(|(name, _, addresses)| {
            let name = match renderer.spelt(name) {
                Cow::Borrowed(_) => name.clone(),
                Cow::Owned(spelt) => spelt.into(),
            };
            guard::Watched { addresses, name }
        });
        let message = renderer.render(&message(guard::NAME), true);
        guard::watch(maps.collect(), &message.unwrap_or_default());
    }

    /// All files that are mapped, with their names and where they lie in memory.
    fn maps(&self) -> impl Iterator<Item = (&Arc<str>, &Mapped, Range<usize>)> {
        let files = self.opened.iter().filter_map(|found| match found {
            search::Found::File(file) => Some(file),
            search::Found::Message(_) => None,
        });
        let all = files.flat_map(|file| std::iter::once(file).chain(&file.members));
        all.filter_map(|file| {
            let data = file.data.as_ref().ok()?;
            Some((&file.name, data, data.mapped_at()?))
        })
    }
}

/// An archive given twice, under whatever names, is linked once: builds name
/// libraries repeatedly. Objects given twice are linked twice (and clash).
fn take_archives_once(opened: &mut Vec<search::Found>) {
    let mut seen: HashSet<FileKey> = HashSet::new();
    opened.retain(|found| match found {
        search::Found::File(Opened {
            name, data: Ok(mapped), content: Content::Archive, ..
        }) => mapped.key(name).is_none_or(|key| seen.insert(key)),
        _ => true,
    });
}
