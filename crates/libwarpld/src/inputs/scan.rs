//! Looking into mapped files: which of them, or which parts of them, carry
//! device code, and what they say about their host code.

use super::host_use::HostSide;
use super::recognise::{
    self, NOT_RECOGNISED, Refusal, by_name_and_content, describe, is_lto_suffix,
};
use super::{Found, InputFile, Store};
use crate::collections::Set;
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::Diagnostic;
use cubin::FileType;
use fatbin::{
    Archive, ArchiveError, Container, Containers, Content, FatbinError, HostKind, HostObject,
    Member, MemberData,
};
use rayon::prelude::*;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The fatal line after errors of the fatbin reader.
pub(crate) const READER_FAILED: &str = "elfLink fatbinary error";

/// Archive whose members are taken only if a function is missing.
const SYSTEM_LIBRARY: &str = "libcudadevrt.a";

/// An input without influence on the output, and why (`--trace`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Its name.
    pub name: Arc<str>,
    /// Why.
    pub reason: Reason,
    /// It is a member of an archive.
    pub member: bool,
    /// Modules that it, the result of a device link, has registered.
    pub(crate) registered: Vec<String>,
}

/// Why an input has no influence on the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A cubin that is the result of a link.
    AlreadyLinked,
    /// A host program or shared library.
    HostLinked,
    /// A host object that a device link has made.
    DeviceLinkResult,
    /// A host object without device code.
    NoDeviceCode,
    /// A host object whose device code is linked by itself.
    WholeProgram,
    /// No kind of file that carries device code.
    Kind(Content),
    /// A kind of file that archives do not carry device code in.
    InArchive(Content),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyLinked => "it has been linked already",
            Self::HostLinked => "the host linker has been over it",
            Self::DeviceLinkResult => "a device link has made it",
            Self::NoDeviceCode => "it has no device code",
            Self::WholeProgram => "its device code is a whole program, not relocatable",
            Self::Kind(content) => describe(*content),
            Self::InArchive(content) => {
                return write!(f, "{} inside an archive", describe(*content));
            }
        })
    }
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
    /// A file that is LTO-IR by its name.
    LtoIr(&'f [u8]),
}

/// One input with device code.
#[derive(Clone, Debug)]
pub struct Source<'f> {
    /// Name in messages: `a.o`, `libx.a:member.o`.
    pub name: Arc<str>,
    /// Its device code.
    pub body: Body<'f>,
    /// Number of the archive it is a member of.
    pub archive: Option<usize>,
    /// It is a member of libcudadevrt.a.
    pub system_library: bool,
    /// Module ids for `--register-link-binaries`; the first is its own, the
    /// others come from objects that were merged into it. What has none is
    /// registered by its path.
    pub module_ids: Vec<String>,
    /// It is a fatbin file, or LTO-IR. Those are registered only if they have an image
    /// for the target; objects in any case.
    pub fatbin_file: bool,
}

/// What an input came to, in link order.
#[derive(Clone, Debug)]
pub enum Step<'f> {
    /// Device code.
    Source(Source<'f>),
    /// Nothing to link.
    Ignored(Ignored),
    /// Something to say at this point of the link.
    Messages(Vec<Diagnostic>),
}

/// An input that was looked into.
#[derive(Clone, Debug)]
pub(crate) struct Scanned<'f> {
    pub(crate) step: Step<'f>,
    /// What it says about the use of kernels.
    pub(crate) host: HostSide<'f>,
}

/// All inputs, looked into.
#[derive(Clone, Debug, Default)]
pub struct Loaded<'f> {
    pub(crate) scanned: Vec<Scanned<'f>>,
    /// Modules that an earlier device link has linked and registered.
    pub(crate) linked_elsewhere: Set<String>,
    /// Whether a member of the system library is among the steps.
    pub(crate) has_system_library: bool,
    /// Where images are unpacked.
    pub(crate) store: Option<&'f Store>,
    /// The folder that relative names are registered under.
    working_directory: String,
}

/// What a file came to.
#[derive(Debug)]
enum Steps<'f> {
    One(Scanned<'f>),
    /// One for each member of an archive.
    Several(Vec<Scanned<'f>>),
}

impl<'f> Steps<'f> {
    fn one(self) -> Option<Scanned<'f>> {
        match self {
            Self::One(scanned) => Some(scanned),
            Self::Several(_) => None,
        }
    }
    fn several(self) -> Vec<Scanned<'f>> {
        match self {
            Self::One(scanned) => vec![scanned],
            Self::Several(list) => list,
        }
    }
}

/// Looks into the inputs, in parallel. Images that must be unpacked later go to `store`.
/// `working_directory` is the folder that inputs without a module id are registered under.
pub fn scan<'f>(found: &[Found<'f>], store: &'f Store, working_directory: &str) -> Loaded<'f> {
    let steps = found.par_iter().enumerate().map(|(index, found)| match found {
        Found::Message(message) => Steps::One(Scanned::message((**message).clone())),
        Found::File(file) => Scanner::new(index, file).run(),
    });
    let steps: Vec<Steps<'f>> = steps.collect();
    let scanned = match steps.iter().all(|steps| matches!(steps, Steps::One(_))) {
        // These stay where they are in memory: links of many files have no archives.
        true => steps.into_iter().filter_map(Steps::one).collect(),
        false => steps.into_iter().flat_map(Steps::several).collect(),
    };
    let working_directory = working_directory.to_owned();
    let mut loaded = Loaded { working_directory, store: Some(store), ..Loaded::default() };
    loaded.take(scanned);
    loaded
}

impl<'f> Loaded<'f> {
    fn take(&mut self, scanned: Vec<Scanned<'f>>) {
        for item in &scanned {
            match &item.step {
                Step::Source(source) => self.has_system_library |= source.system_library,
                Step::Ignored(ignored) => {
                    self.linked_elsewhere.extend(ignored.registered.iter().cloned());
                }
                Step::Messages(_) => {}
            }
        }
        self.scanned = scanned;
    }

    /// What the inputs came to, in link order.
    pub fn steps(&self) -> impl Iterator<Item = &Step<'f>> {
        self.scanned.iter().map(|item| &item.step)
    }

    /// The id under which a source is registered.
    pub(crate) fn module_id(&self, source: &Source<'f>) -> String {
        match source.module_ids.first() {
            Some(id) => id.clone(),
            None => path_as_module_id(&self.working_directory, &source.name),
        }
    }
}

impl<'f> Scanned<'f> {
    fn message(message: Diagnostic) -> Self {
        Self::messages(vec![message])
    }
    /// An error of the fatbin reader, which nvlink lets a fatal line follow.
    fn reader_error(code: Code, error: &str, name: &str, reason: impl fmt::Display) -> Self {
        let error = Diagnostic::error(code, error).note(format_args!("in '{name}': {reason}"));
        Self::messages(vec![error, Diagnostic::fatal(code, READER_FAILED)])
    }
    fn messages(list: Vec<Diagnostic>) -> Self {
        Self { step: Step::Messages(list), host: HostSide::Neutral }
    }
    fn ignored(name: Arc<str>, reason: Reason, member: bool, host: HostSide<'f>) -> Self {
        let ignored = Ignored { name, reason, member, registered: Vec::new() };
        Self { step: Step::Ignored(ignored), host }
    }
}

/// Looks into one file named on the command line.
struct Scanner<'f, 's> {
    index: usize,
    opened: &'s InputFile<'f>,
    system_library: bool,
}

impl<'f, 's> Scanner<'f, 's> {
    fn new(index: usize, opened: &'s InputFile<'f>) -> Self {
        // Taking a path apart is dear.
        let system_library = opened.name.ends_with(SYSTEM_LIBRARY)
            && Path::new(&*opened.name).file_name().is_some_and(|base| base == SYSTEM_LIBRARY);
        Self { index, opened, system_library }
    }

    fn run(&self) -> Steps<'f> {
        let data = match &self.opened.data {
            Ok(data) => *data,
            Err(error) => {
                return Steps::One(Scanned::message(could_not_open(&self.opened.name, error)));
            }
        };
        match self.refusal(data, self.opened.content) {
            Ok(Content::Archive) => self.archive(data),
            Ok(content) => Steps::One(self.file(self.opened.name.clone(), data, content, None)),
            Err(scanned) => Steps::One(*scanned),
        }
    }

    /// The content to treat a file as, or what is said instead.
    fn refusal(&self, data: &[u8], content: Content) -> Result<Content, Box<Scanned<'f>>> {
        let name = &self.opened.name;
        let scanned = if recognise::is_too_short(data, content) {
            Scanned::message(could_not_open(name, "too short to be an input"))
        } else if self.opened.library && content != Content::Archive {
            Scanned::message(bad_archive(name, describe(content)))
        } else {
            match by_name_and_content(self.opened.suffix(), content) {
                Ok(content) => return Ok(content),
                Err(Refusal::Fatal(message)) => {
                    let message = Diagnostic::fatal(Code::InputKind, message);
                    Scanned::message(
                        message.note(format_args!("'{name}' is {}", describe(content))),
                    )
                }
                Err(Refusal::Unrecognised) => {
                    let is = describe(content);
                    Scanned::reader_error(Code::InputKind, NOT_RECOGNISED, name, is)
                }
            }
        };
        Err(Box::new(scanned))
    }

    fn archive(&self, data: &'f [u8]) -> Steps<'f> {
        let archive = match Archive::parse(data) {
            Ok(archive) => archive,
            Err(e) => {
                return Steps::One(Scanned::message(bad_archive(&self.opened.name, e.reason)));
            }
        };
        let mut files = self.opened.members.iter();
        let members: Vec<_> = archive.members().map(|m| (m, files.next())).collect();
        let scanned = members.into_par_iter().map(|(member, file)| self.any_member(member, file));
        Steps::Several(scanned.collect())
    }

    /// A member, with the file it stands for in a thin archive. [`archive`]
    fn any_member(
        &self,
        member: Result<Member<'f>, ArchiveError>,
        file: Option<&'s InputFile<'f>>,
    ) -> Scanned<'f> {
        match (member, file) {
            (Ok(Member { name, data: MemberData::Inline(data) }), _) => {
                self.member(&text(name), data)
            }
            (Ok(_), Some(InputFile { name, data: Ok(data), .. })) => self.member(name, data),
            (Ok(_), Some(InputFile { name, data: Err(error), .. })) => {
                Scanned::message(could_not_open(name, error))
            }
            (Ok(Member { name, .. }), None) => {
                Scanned::message(could_not_open(&text(name), "not opened"))
            }
            (Err(e), _) => Scanned::message(bad_archive(&self.opened.name, e.reason)),
        }
    }

    fn member(&self, member: &str, data: &'f [u8]) -> Scanned<'f> {
        let name: Arc<str> = format!("{}:{member}", self.opened.name).into();
        match Content::of(data) {
            content @ (Content::Archive | Content::Ptx) => {
                Scanned::ignored(name, Reason::InArchive(content), true, HostSide::Neutral)
            }
            content => self.file(name, data, content, Some(self.index)),
        }
    }

    /// One file or member that is no archive.
    fn file(
        &self,
        name: Arc<str>,
        data: &'f [u8],
        content: Content,
        archive: Option<usize>,
    ) -> Scanned<'f> {
        match content {
            Content::DeviceElf if is_linked_cubin(data) => {
                let (reason, member) = (Reason::AlreadyLinked, archive.is_some());
                Scanned::ignored(name, reason, member, HostSide::Neutral)
            }
            Content::DeviceElf => self.source(name, Body::Cubin(data), archive),
            Content::Fatbin => self.fatbin(name, data, archive),
            Content::HostElf | Content::HostCoff => self.host(name, data, archive),
            Content::LtoIr if archive.is_none() && is_lto_suffix(self.opened.suffix()) => {
                let scanned = self.source(name, Body::LtoIr(data), archive);
                Scanned { host: HostSide::Neutral, ..scanned }
            }
            Content::Ptx if self.opened.suffix() == "ptx" => {
                self.source(name, Body::Ptx(data), archive)
            }
            other => {
                let (reason, member) = (Reason::Kind(other), archive.is_some());
                Scanned::ignored(name, reason, member, HostSide::Neutral)
            }
        }
    }

    fn source(&self, name: Arc<str>, body: Body<'f>, archive: Option<usize>) -> Scanned<'f> {
        let source = Source {
            name,
            fatbin_file: matches!(body, Body::Fatbins(_) | Body::LtoIr(_)),
            body,
            archive,
            system_library: self.system_library,
            module_ids: Vec::new(),
        };
        Scanned { step: Step::Source(source), host: HostSide::Silent }
    }

    fn fatbin(&self, name: Arc<str>, data: &'f [u8], archive: Option<usize>) -> Scanned<'f> {
        match containers(data) {
            Ok(list) => self.source(name, Body::Fatbins(list), archive),
            Err(error @ FatbinError::Version { .. }) => {
                Scanned::reader_error(Code::InputKind, NOT_RECOGNISED, &name, error)
            }
            Err(error) => Scanned::message(
                Diagnostic::fatal(Code::DamagedFatbin, READER_FAILED)
                    .note(format_args!("in '{name}': {error}")),
            ),
        }
    }

    fn host(&self, name: Arc<str>, data: &'f [u8], archive: Option<usize>) -> Scanned<'f> {
        let host = match HostObject::parse(data) {
            Ok(host) => host,
            Err(error) if archive.is_some() => {
                return Scanned::message(damaged_member(&name, error));
            }
            Err(error) => return Scanned::message(no_fatbin(&name, error)),
        };
        let member = archive.is_some();
        if host.kind != HostKind::Relocatable {
            return Scanned::ignored(name, Reason::HostLinked, member, HostSide::Neutral);
        }
        let side = match host.references.kernels_external {
            Some(_) => HostSide::Lists(Box::new(host.references)),
            None => HostSide::Silent,
        };
        if !host.has_segment {
            return Scanned::ignored(name, Reason::NoDeviceCode, member, side);
        }
        let elsewhere = match linked_ids(&host) {
            Ok(ids) => ids,
            Err(message) => return Scanned::message(message),
        };
        if !elsewhere.is_empty() {
            let reason = Reason::DeviceLinkResult;
            let ignored = Ignored { name, reason, member, registered: elsewhere };
            return Scanned { step: Step::Ignored(ignored), host: side };
        }
        if host.relocatable.is_empty() && !host.linked.is_empty() {
            return Scanned::ignored(name, Reason::WholeProgram, member, side);
        }
        self.relocatable(name, &host, side, archive)
    }

    /// An object with relocatable device code.
    fn relocatable(
        &self,
        name: Arc<str>,
        host: &HostObject<'f>,
        side: HostSide<'f>,
        archive: Option<usize>,
    ) -> Scanned<'f> {
        let list: Result<Vec<_>, _> =
            host.relocatable.iter().map(|section| containers(section)).collect();
        let containers = match list {
            Ok(list) if !list.is_empty() => list.concat(),
            Ok(_) => return Scanned::message(no_fatbin(&name, "it has no fatbin section")),
            Err(error) => return Scanned::message(no_fatbin(&name, error)),
        };
        let module_ids = host.module_ids().map(text).collect();
        let source = Source {
            name,
            body: Body::Fatbins(containers),
            archive,
            system_library: self.system_library,
            module_ids,
            fatbin_file: false,
        };
        Scanned { step: Step::Source(source), host: side }
    }
}

/// All containers of a section or file. Objects merged by `ld -r` have
/// several. Bytes after the first container that are no container are passed
/// over, as nvlink does. [`fatbin-inputs`]
fn containers(data: &[u8]) -> Result<Vec<Container<'_>>, FatbinError> {
    let mut list = Vec::new();
    for container in Containers::new(data) {
        match container {
            Ok(container) => list.push(container),
            Err(FatbinError::NotAContainer { .. }) if !list.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    if list.is_empty() {
        return Err(FatbinError::NotAContainer { offset: 0 });
    }
    Ok(list)
}

/// Whether a device ELF is the result of a link.
pub(super) fn is_linked_cubin(data: &[u8]) -> bool {
    cubin::Header::parse(data).is_ok_and(|header| header.file_type == FileType::EXEC)
}

/// The modules that went into an object made by a device link: `def <id>`.
/// Such strings count only where the first string is one, and then all must
/// be.
fn linked_ids(host: &HostObject<'_>) -> Result<Vec<String>, Diagnostic> {
    let definition = |id: &[u8]| id.strip_prefix(b"def ").map(text);
    if host.module_ids().next().and_then(definition).is_none() {
        return Ok(Vec::new());
    }
    let ids: Option<Vec<_>> = host.module_ids().map(definition).collect();
    ids.ok_or_else(|| Diagnostic::fatal(Code::ModuleIds, "unexpected data in module_ids"))
}

/// The id under which an input without one is registered.
fn path_as_module_id(folder: &str, name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let mut id = String::with_capacity(folder.len() + 1 + name.len());
    id.extend(folder.chars().map(plain));
    id.push('_');
    id.extend(name.chars().map(plain));
    id
}

fn could_not_open(name: &str, reason: impl fmt::Display) -> Diagnostic {
    Diagnostic::fatal(Code::CannotOpenInput, format_args!("Could not open input file '{name}'"))
        .note(reason)
}

fn bad_archive(name: &str, reason: impl fmt::Display) -> Diagnostic {
    Diagnostic::fatal(Code::DamagedArchive, "unexpected archive format")
        .note(format_args!("in '{name}': {reason}"))
}

fn no_fatbin(name: &str, reason: impl fmt::Display) -> Diagnostic {
    Diagnostic::fatal(Code::NoFatbin, format_args!("Could not find fatbin in '{name}'"))
        .note(reason)
}

/// nvlink passes over damaged members; warpld at least says so.
fn damaged_member(name: &str, reason: impl fmt::Display) -> Diagnostic {
    Diagnostic::warning(Code::DamagedMember, format_args!("'{name}' is damaged and not linked"))
        .note(reason)
}
