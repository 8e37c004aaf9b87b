//! Looking into mapped files: which of them, or which parts of them, carry
//! device code, and what they say about their host code.

use super::recognise::{self, by_name_and_content, describe};
use super::search::Found;
use super::{Files, Opened};
use crate::diag::Diagnostic;
use crate::input::HostReferences;
use cubin::FileType;
use fatbin::{Archive, Container, Containers, Content, HostKind, HostObject, HostReferenceLists};
use rayon::prelude::*;
use std::path::Path;

/// Archive whose members are taken only if a function is missing.
const SYSTEM_LIBRARY: &str = "libcudadevrt.a";

/// An input without influence on the output, and why (`--trace`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// Where device code is.
#[derive(Clone, Debug)]
pub enum Body<'f> {
    /// A device ELF.
    Cubin(&'f [u8]),
    /// Containers; each yields one image.
    Fatbins(Vec<Container<'f>>),
    /// PTX text.
    Ptx(&'f [u8]),
}

/// One input with device code.
#[derive(Clone, Debug)]
pub struct Source<'f> {
    /// Name in messages: `a.o`, `libx.a:member.o`.
    pub name: String,
    /// Its device code.
    pub body: Body<'f>,
    /// Number of the archive it is a member of.
    pub archive: Option<usize>,
    /// It is a member of libcudadevrt.a.
    pub system_library: bool,
    /// Module ids for `--register-link-binaries`; the first is its own, the
    /// others come from objects that were merged into it.
    pub module_ids: Vec<String>,
}

/// What an input came to, in link order.
#[derive(Clone, Debug)]
pub enum Step<'f> {
    /// Device code.
    Source(Source<'f>),
    /// Nothing to link.
    Ignored(Ignored),
    /// Something to say at this point of the link.
    Message(Diagnostic),
}

/// What an input says about the use that host code makes of kernels.
#[derive(Clone, Copy, Debug)]
enum HostSide<'f> {
    /// Does not count.
    Neutral,
    /// Device code, or host code, that does not say.
    Silent,
    /// Lists.
    Lists(HostReferenceLists<'f>),
}

#[derive(Clone, Debug)]
struct Scanned<'f> {
    step: Step<'f>,
    host: HostSide<'f>,
    /// Modules that this input, the result of a device link, has registered.
    registered: Vec<String>,
}

/// All inputs, looked into.
#[derive(Clone, Debug, Default)]
pub struct Loaded<'f> {
    pub(crate) steps: Vec<Step<'f>>,
    pub(crate) registered_elsewhere: Vec<String>,
    host_references: Option<HostReferences>,
}

impl Files {
    /// Looks into the files.
    pub fn scan(&self) -> Loaded<'_> {
        let scanned: Vec<Vec<Scanned<'_>>> = self
            .opened
            .par_iter()
            .enumerate()
            .map(|(index, found)| match found {
                Found::Message(message) => vec![Scanned::message(message.clone())],
                Found::File(opened) => Scanner::new(index, opened, &self.working_directory).run(),
            })
            .collect();
        let host_references = host_references(scanned.iter().flatten());
        let mut loaded = Loaded { host_references, ..Loaded::default() };
        for item in scanned.into_iter().flatten() {
            loaded.registered_elsewhere.extend(item.registered);
            loaded.steps.push(item.step);
        }
        loaded
    }
}

impl<'f> Loaded<'f> {
    /// What the inputs came to, in link order.
    pub fn steps(&self) -> &[Step<'f>] {
        &self.steps
    }
    /// What host code refers to; `None` unless every input says so.
    pub fn host_references(&self) -> Option<&HostReferences> {
        self.host_references.as_ref()
    }
}

/// The names that host code uses, if they can be relied on: every input that
/// counts must have lists, and some list of kernels must have a byte beyond
/// the one that an empty list consists of.
fn host_references<'s, 'f: 's>(
    scanned: impl Iterator<Item = &'s Scanned<'f>>,
) -> Option<HostReferences> {
    let mut references = HostReferences::default();
    let mut any_kernel = false;
    let longer = |list: Option<&[u8]>| list.is_some_and(|l| l.len() > 1);
    for item in scanned {
        let lists = match &item.host {
            HostSide::Neutral => continue,
            HostSide::Silent => return None,
            HostSide::Lists(lists) => lists,
        };
        any_kernel |= longer(lists.kernels_external) || longer(lists.kernels_internal);
        let add = |into: &mut Vec<Vec<u8>>, list| {
            into.extend(HostReferenceLists::names(list).map(<[u8]>::to_vec));
        };
        add(&mut references.kernels_external, lists.kernels_external);
        add(&mut references.kernels_internal, lists.kernels_internal);
        add(&mut references.variables, lists.variables_external);
        add(&mut references.variables, lists.variables_internal);
        add(&mut references.constants, lists.constants_external);
        add(&mut references.constants, lists.constants_internal);
    }
    any_kernel.then_some(references)
}

impl<'f> Scanned<'f> {
    fn message(message: Diagnostic) -> Self {
        Self { step: Step::Message(message), host: HostSide::Neutral, registered: Vec::new() }
    }
    fn ignored(name: &str, reason: impl Into<String>, host: HostSide<'f>) -> Self {
        let ignored = Ignored { name: name.to_owned(), reason: reason.into() };
        Self { step: Step::Ignored(ignored), host, registered: Vec::new() }
    }
}

/// Looks into one file named on the command line.
struct Scanner<'f> {
    index: usize,
    opened: &'f Opened,
    working_directory: &'f Path,
    system_library: bool,
}

impl<'f> Scanner<'f> {
    fn new(index: usize, opened: &'f Opened, working_directory: &'f Path) -> Self {
        let base = Path::new(&opened.name).file_name();
        let system_library = base.is_some_and(|base| base == SYSTEM_LIBRARY);
        Self { index, opened, working_directory, system_library }
    }

    fn run(&self) -> Vec<Scanned<'f>> {
        let name = &self.opened.name;
        let data: &[u8] = match &self.opened.data {
            Ok(mapped) => mapped,
            Err(error) => return vec![Scanned::message(could_not_open(name, error))],
        };
        if recognise::is_too_short(data) {
            return vec![Scanned::message(could_not_open(name, "too short to be an input"))];
        }
        let content = Content::of(data);
        if self.opened.library && content != Content::Archive {
            return vec![Scanned::message(bad_archive(name, describe(content)))];
        }
        match by_name_and_content(name, &self.opened.suffix, content) {
            Err(refusal) => vec![Scanned::message(refusal)],
            Ok(Content::Archive) => self.archive(data),
            Ok(content) => vec![self.file(name.clone(), data, content, None)],
        }
    }

    fn archive(&self, data: &'f [u8]) -> Vec<Scanned<'f>> {
        let mut list = Vec::new();
        let archive = match Archive::parse(data) {
            Ok(archive) => archive,
            Err(e) => return vec![Scanned::message(bad_archive(&self.opened.name, e.reason))],
        };
        if archive.is_thin() {
            for member in &self.opened.members {
                list.push(match &member.data {
                    Ok(data) => self.member(&member.name, data),
                    Err(error) => Scanned::message(could_not_open(&member.name, error)),
                });
            }
            return list;
        }
        for member in archive.members() {
            list.push(match member {
                Ok(fatbin::Member { name, data: fatbin::MemberData::Inline(data) }) => {
                    self.member(&String::from_utf8_lossy(name), data)
                }
                Ok(_) => continue,
                Err(e) => Scanned::message(bad_archive(&self.opened.name, e.reason)),
            });
        }
        list
    }

    fn member(&self, member: &str, data: &'f [u8]) -> Scanned<'f> {
        let name = format!("{}:{member}", self.opened.name);
        match Content::of(data) {
            content @ (Content::Archive | Content::Ptx) => {
                let reason = format!("{} inside an archive", describe(content));
                Scanned::ignored(&name, reason, HostSide::Neutral)
            }
            content => self.file(name, data, content, Some(self.index)),
        }
    }

    /// One file or member that is no archive.
    fn file(
        &self,
        name: String,
        data: &'f [u8],
        content: Content,
        archive: Option<usize>,
    ) -> Scanned<'f> {
        match content {
            Content::DeviceElf if is_linked_cubin(data) => {
                Scanned::ignored(&name, "it has been linked already", HostSide::Neutral)
            }
            Content::DeviceElf => self.source(name, Body::Cubin(data), archive),
            Content::Fatbin => self.fatbin(name, data, archive),
            Content::HostElf | Content::HostCoff => self.host(name, data, archive),
            Content::Ptx if self.opened.suffix == "ptx" => {
                self.source(name, Body::Ptx(data), archive)
            }
            other => Scanned::ignored(&name, describe(other), HostSide::Neutral),
        }
    }

    fn source(&self, name: String, body: Body<'f>, archive: Option<usize>) -> Scanned<'f> {
        let id = path_as_module_id(self.working_directory, &name);
        let source = Source {
            name,
            body,
            archive,
            system_library: self.system_library,
            module_ids: vec![id],
        };
        Scanned {
            step: Step::Source(source),
            host: self.host_side(HostSide::Silent),
            registered: Vec::new(),
        }
    }

    fn fatbin(&self, name: String, data: &'f [u8], archive: Option<usize>) -> Scanned<'f> {
        match containers(data) {
            Ok(list) => self.source(name, Body::Fatbins(list), archive),
            Err(error) => Scanned::message(
                Diagnostic::fatal("damaged-fatbin", "elfLink fatbinary error")
                    .note(format_args!("in '{name}': {error}")),
            ),
        }
    }

    fn host(&self, name: String, data: &'f [u8], archive: Option<usize>) -> Scanned<'f> {
        let host = match HostObject::parse(data) {
            Ok(host) => host,
            Err(error) => return Scanned::message(no_fatbin(&name, error)),
        };
        if host.kind != HostKind::Relocatable {
            return Scanned::ignored(&name, "the host linker has been over it", HostSide::Neutral);
        }
        let side = match host.references.kernels_external {
            Some(_) => HostSide::Lists(host.references),
            None => HostSide::Silent,
        };
        let side = self.host_side(side);
        if !host.has_segment {
            return Scanned::ignored(&name, "it has no device code", side);
        }
        if host.relocatable.is_empty() && !host.linked.is_empty() {
            let mut ignored = Scanned::ignored(
                &name,
                "its device code is a whole program, not relocatable",
                side,
            );
            ignored.registered = registered_ids(&host);
            return ignored;
        }
        let list: Result<Vec<_>, _> =
            host.relocatable.iter().map(|section| containers(section)).collect();
        let containers = match list {
            Ok(list) if !list.is_empty() => list.concat(),
            Ok(_) => return Scanned::message(no_fatbin(&name, "it has no fatbin section")),
            Err(error) => return Scanned::message(no_fatbin(&name, error)),
        };
        let mut module_ids: Vec<_> =
            host.module_ids().map(|id| String::from_utf8_lossy(id).into_owned()).collect();
        if module_ids.is_empty() {
            module_ids.push(path_as_module_id(self.working_directory, &name));
        }
        let source = Source {
            name,
            body: Body::Fatbins(containers),
            archive,
            system_library: self.system_library,
            module_ids,
        };
        Scanned { step: Step::Source(source), host: side, registered: registered_ids(&host) }
    }

    /// The device runtime does not take part in the question.
    fn host_side(&self, side: HostSide<'f>) -> HostSide<'f> {
        if self.system_library { HostSide::Neutral } else { side }
    }
}

/// All containers of a section or file. Objects merged by `ld -r` have
/// several. Bytes after the first container that are no container are passed
/// over, as nvlink does.
fn containers(data: &[u8]) -> Result<Vec<Container<'_>>, fatbin::FatbinError> {
    let mut list = Vec::new();
    for container in Containers::new(data) {
        match container {
            Ok(container) => list.push(container),
            Err(fatbin::FatbinError::NotAContainer { .. }) if !list.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    if list.is_empty() {
        return Err(fatbin::FatbinError::NotAContainer { offset: 0 });
    }
    Ok(list)
}

fn is_linked_cubin(data: &[u8]) -> bool {
    cubin::Header::parse(data).is_ok_and(|header| header.file_type == FileType::EXEC)
}

/// The ids that an object made by a device link has registered: `def <id>`.
fn registered_ids(host: &HostObject<'_>) -> Vec<String> {
    let definition =
        |id: &[u8]| id.strip_prefix(b"def ").map(|id| String::from_utf8_lossy(id).into_owned());
    if host.module_ids().next().and_then(definition).is_none() {
        return Vec::new();
    }
    host.module_ids().filter_map(definition).collect()
}

/// The id under which an input without one is registered.
fn path_as_module_id(working_directory: &Path, name: &str) -> String {
    format!("{}/{name}", working_directory.to_string_lossy())
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

fn could_not_open(name: &str, reason: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::fatal("cannot-open-input", format_args!("Could not open input file '{name}'"))
        .note(reason)
}

fn bad_archive(name: &str, reason: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::fatal("damaged-archive", "unexpected archive format")
        .note(format_args!("in '{name}': {reason}"))
}

fn no_fatbin(name: &str, reason: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::fatal("no-fatbin", format_args!("Could not find fatbin in '{name}'")).note(reason)
}
