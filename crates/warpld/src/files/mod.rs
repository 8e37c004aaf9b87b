//! From names on the command line to bytes: small files are read, large ones mapped, thin archives
//! opened, libraries searched. [`Files`] owns all of it, and the library scans it.

mod blocks;
pub(crate) mod guard;
pub(crate) mod map;
mod search;
pub(crate) mod small_files;
pub(crate) mod whole;

pub use search::CpuArch;
pub(crate) use search::Skipped;

use crate::render::Renderer;
use fatbin::Content;
use libwarpld::Diagnostic;
use libwarpld::driver::{Found, InputFile, Loaded, Store, scan};
pub(crate) use map::FileKey;
use map::Mapped;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// The directory that relative names are registered under (`--register-link-binaries`).
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
    pub(crate) library: bool,
    /// Its content type, determined while its first bytes are in the cache (members of a thin
    /// archive are checked later).
    content: Content,
}

impl Opened {
    /// The file as the linker sees it.
    pub(crate) fn input(&self) -> InputFile<'_> {
        InputFile {
            name: self.name.clone(),
            data: self.data.as_deref().map_err(ToString::to_string),
            members: self.members.iter().map(Self::input).collect(),
            library: self.library,
            content: self.content,
        }
    }
}

/// All files of a link, mapped.
#[derive(Debug, Default)]
pub struct Files {
    opened: Vec<search::Found>,
    /// Libraries that the link goes without.
    skipped: Vec<search::Skipped>,
    /// Where selected images are unpacked.
    store: Store,
    working_directory: String,
}

impl Files {
    /// Opens the files of `request`. [`Loaded::select`] reports a file that cannot be opened when
    /// it comes to it in link order, as nvlink does.
    pub fn open(request: &LoadRequest) -> Self {
        let mut opened: Vec<_> = Mapped::open_all(&request.files, |path, data| {
            search::Found::File(Opened::found(path, data, false))
        });
        let (libraries, skipped) = search::libraries(request);
        opened.extend(libraries);
        take_archives_once(&mut opened);
        let working_directory = request.working_directory.to_string_lossy().into_owned();
        Self { opened, skipped, store: Store::new(blocks::allocate), working_directory }
    }

    /// Scans the files.
    pub fn scan(&self) -> Loaded<'_> {
        let found = self.opened.par_iter().map(|found| match found {
            search::Found::File(opened) => Found::File(opened.input()),
            search::Found::Message(message) => Found::Message(message.clone()),
        });
        let found: Vec<Found<'_>> = found.collect();
        scan(&found, &self.store, &self.working_directory)
    }

    /// All files that were found, in link order. Those of thin archives are with their archives.
    pub(crate) fn opened(&self) -> impl Iterator<Item = &Opened> {
        self.opened.iter().filter_map(|found| match found {
            search::Found::File(file) => Some(file),
            search::Found::Message(_) => None,
        })
    }

    /// The names of all files that were read.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let all = self.opened().flat_map(|file| std::iter::once(file).chain(&file.members));
        all.map(|file| &*file.name)
    }

    /// The names of files that the command line does not name: libraries that `-l` found, members of thin
    /// archives.
    pub(crate) fn found(&self) -> impl Iterator<Item = &str> {
        let files = self.opened.iter().filter_map(|found| match found {
            search::Found::File(file) => Some(file),
            search::Found::Message(_) => None,
        });
        let found =
            files.flat_map(|file| file.library.then_some(file).into_iter().chain(&file.members));
        found.map(|file| &*file.name)
    }

    /// The libraries that `-l` names and the link goes without.
    pub(crate) fn skipped(&self) -> &[search::Skipped] {
        &self.skipped
    }

    /// The name of a file that has changed since it was opened.
    pub fn changed(&self) -> Option<&str> {
        let maps: Vec<_> = self.maps().collect();
        let changed = maps.par_iter().find_first(|(_, data, _)| !data.is_unchanged());
        changed.map(|&(name, ..)| &**name)
    }

    /// From now on, truncating a mapped file ends the process; `message` for that file goes to
    /// standard error.
    pub fn guard(&self, renderer: &Renderer, message: impl Fn(&str) -> Diagnostic) {
        let maps = self.maps().map(|(name, _, addresses)| {
            let name = match renderer.spelt(name) {
                Cow::Borrowed(_) => name.clone(),
                Cow::Owned(spelt) => spelt.into(),
            };
            guard::Watched { addresses, name }
        });
        let maps: Vec<_> = maps.collect();
        // Files of a small link are read, not mapped.
        if !maps.is_empty() {
            let message = renderer.render(&message(guard::NAME), true);
            guard::watch(maps, &message.unwrap_or_default());
        }
    }

    /// All mapped files, with their names and address ranges.
    fn maps(&self) -> impl Iterator<Item = (&Arc<str>, &Mapped, Range<usize>)> {
        let all = self.opened().flat_map(|file| std::iter::once(file).chain(&file.members));
        all.filter_map(|file| {
            let data = file.data.as_ref().ok()?;
            Some((&file.name, data, data.mapped_at()?))
        })
    }
}

/// An archive given twice, under any names, is linked once: builds name libraries repeatedly.
/// Objects given twice are linked twice (and clash).
fn take_archives_once(opened: &mut Vec<search::Found>) {
    let mut seen: HashSet<FileKey> = HashSet::new();
    opened.retain(|found| match found {
        search::Found::File(Opened {
            name, data: Ok(mapped), content: Content::Archive, ..
        }) => mapped.key(name).is_none_or(|key| seen.insert(key)),
        _ => true,
    });
}
