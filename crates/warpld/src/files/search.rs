//! Opening files and finding `-l` libraries.

use super::map::{Mapped, OpenError};
use super::{LoadRequest, Opened, whole};
use fatbin::{Archive, Content, MemberData};
use libwarpld::Code;
use libwarpld::Diagnostic;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A host architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub enum CpuArch {
    /// The one warpld runs on.
    #[default]
    Native,
    X86,
    X86_64,
    ArmV7,
    Aarch64,
    Ppc64Le,
    RiscV64,
}

impl CpuArch {
    /// Its `e_machine`.
    pub fn machine(self) -> u16 {
        match self {
            Self::X86 => 3,
            Self::Ppc64Le => 21,
            Self::ArmV7 => 40,
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
            Self::RiscV64 => 243,
            Self::Native if cfg!(target_arch = "aarch64") => Self::Aarch64.machine(),
            Self::Native if cfg!(target_arch = "powerpc64") => Self::Ppc64Le.machine(),
            Self::Native => Self::X86_64.machine(),
        }
    }
}

/// A step of the search: a file, or a remark about one that was skipped.
#[derive(Debug)]
pub(super) enum Found {
    File(Opened),
    Message(Box<Diagnostic>),
}

/// A library that `-l` names and the link goes without.
#[derive(Debug)]
pub(crate) struct Skipped {
    /// As `-l` names it.
    pub(crate) library: String,
    /// The shared library that hides it, with what it hides; `None` if nothing was found.
    pub(crate) hidden: Option<(PathBuf, PathBuf)>,
}

impl Opened {
    /// Opens `path`, and what a thin archive points to.
    pub(crate) fn file(path: &Path, library: bool) -> Self {
        Self::found(path, Mapped::open(path), library)
    }

    /// A file that was opened, and what a thin archive points to.
    pub(super) fn found(path: &Path, data: Result<Mapped, OpenError>, library: bool) -> Self {
        let data = data.map_err(|error| unread_response_file(path).unwrap_or(error));
        let members = match &data {
            Ok(mapped) => open_thin_members(path, mapped),
            Err(_) => Vec::new(),
        };
        let content = data.as_ref().map_or(Content::Empty, |data| Content::of(data));
        // Nearly all names are valid UTF-8, and checking costs less than a lossy conversion.
        let name = path.to_str().map_or_else(|| path.to_string_lossy().into(), Arc::from);
        Self { name, data, members, library, content }
    }
}

/// Why `@file` could not be read. It is then an input, as in nvlink, and there is none of that name.
fn unread_response_file(path: &Path) -> Option<OpenError> {
    let name = path.to_str()?.strip_prefix('@')?;
    whole::read(Path::new(name)).err().map(OpenError)
}

/// The files of a thin archive. Their paths are relative to the archive's directory, as `ar` writes
/// them; nvlink resolves them against the working directory, which is tried second.
fn open_thin_members(archive: &Path, data: &[u8]) -> Vec<Opened> {
    let Some(archive_reader) = thin_archive(data) else { return Vec::new() };
    let folder = archive.parent().unwrap_or(Path::new(""));
    let mut opened = Vec::new();
    for member in archive_reader.members().map_while(Result::ok) {
        if member.data != MemberData::External {
            continue;
        }
        let name: Arc<str> = String::from_utf8_lossy(member.name).into();
        let relative = Path::new(&*name);
        let data = Mapped::open(&folder.join(relative))
            .or_else(|error| Mapped::open(relative).map_err(|_| error));
        let content = Content::Unknown;
        opened.push(Opened { name, data, members: Vec::new(), library: false, content });
    }
    opened
}

fn thin_archive(data: &[u8]) -> Option<Archive<'_>> {
    if !data.starts_with(b"!<thin>\n") {
        return None;
    }
    Archive::parse(data).ok()
}

/// All `-l` libraries, in order.
pub(super) fn libraries(request: &LoadRequest) -> (Vec<Found>, Vec<Skipped>) {
    let folders = folders(request);
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for library in &request.libraries {
        let before = found.len();
        let shared = search(library, &folders, request.cpu_arch.machine(), &mut found);
        if found.len() == before {
            let archive = |folder: &PathBuf| folder.join(format!("lib{library}.a"));
            let hidden = folders.iter().map(archive).find(|path| path.exists());
            // A library that exists only as a shared one is the host linker's alone.
            if shared.is_none() || hidden.is_some() {
                skipped.push(Skipped { library: library.clone(), hidden: shared.zip(hidden) });
            }
        }
    }
    (found, skipped)
}

fn folders(request: &LoadRequest) -> Vec<PathBuf> {
    let mut folders = request.library_paths.clone();
    if let Some(list) = &request.library_path_env {
        folders.extend(std::env::split_paths(list).filter(|p| !p.as_os_str().is_empty()));
    }
    folders
}

/// Looks for one library; the result is the shared library that ended the search. `libX.so` in any directory hides `libX.a` in all of them, because the
/// host linker will use the former, which already has its device code linked. A library that is not
/// found is not an error: it may be for the host linker only.
fn search(
    library: &str,
    folders: &[PathBuf],
    machine: u16,
    found: &mut Vec<Found>,
) -> Option<PathBuf> {
    let shared = format!("lib{library}.so");
    let shared = folders.iter().map(|folder| folder.join(&shared)).find(|path| path.exists());
    if shared.is_some() {
        return shared;
    }
    let file = format!("lib{library}.a");
    for folder in folders {
        let path = folder.join(&file);
        if !path.exists() {
            continue;
        }
        let opened = Opened::file(&path, true);
        let Ok(data) = &opened.data else {
            found.push(Found::File(opened));
            return None;
        };
        // A file that is not an archive is kept too, to be refused by name.
        if opened.content != Content::Archive || fits_host(data, &opened.members, machine) {
            found.push(Found::File(opened));
            return None;
        }
        found.push(Found::Message(Box::new(Diagnostic::warning(
            Code::IncompatibleLibrary,
            format_args!("Skipping incompatible '{}' when searching for -l{library}", opened.name),
        ))));
    }
    None
}

/// Whether some member is for the wanted host, or is device code.
fn fits_host(data: &[u8], external: &[Opened], machine: u16) -> bool {
    let fits = |bytes: &[u8]| {
        fatbin::host::elf_machine(bytes).is_some_and(|m| m == machine || m == cubin::EM_CUDA)
    };
    if external.iter().filter_map(|m| m.data.as_ref().ok()).any(|m| fits(m)) {
        return true;
    }
    let Ok(archive) = Archive::parse(data) else { return true };
    // Damaged archives are kept, to be refused by name.
    archive.members().any(|member| match member {
        Ok(member) => matches!(member.data, MemberData::Inline(bytes) if fits(bytes)),
        Err(_) => true,
    })
}
