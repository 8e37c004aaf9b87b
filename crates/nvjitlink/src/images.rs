//! The device code of an input for the target of a link.

use crate::input::{Input, Kind};
use crate::options::Options;
use crate::result::{Code, Refusal};
use cubin::flags::{self, Identity};
use cubin::{Cubin, Variant};
use fatbin::{Archive, Content, MemberData};
use libwarpld::compile::Compiler;
use libwarpld::driver::{
    Diagnostics, Found, InputFile, Limits, SelectOptions, Store, check_image, needs_compiler,
    run_on_threads, scan,
};
use libwarpld::{Arch, Config, Diagnostic, Release, Severity};
use std::borrow::Cow;
use std::sync::Arc;

/// A relocatable device ELF to link.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) data: Arc<[u8]>,
    /// That of the input, also for members of an archive.
    pub(crate) name: Arc<str>,
    /// The number of the toolkit that compiled it; 0 if it is not known.
    pub(crate) toolkit: u32,
}

/// What an input has for the target.
pub(crate) enum Looked {
    /// Machine code, or nothing.
    Images(Vec<Image>),
    /// Something to compile, and why.
    NeedsCompiler(String),
    /// Healthy code that cannot be linked here; another library may know more of it.
    Unfit(Refusal),
}

/// Looks for code that is not PTX, LTO-IR or an index by its type.
pub(crate) fn look_into(
    input: &Input,
    options: &Options,
    release: Option<&'static Release>,
) -> Result<Looked, Refusal> {
    match input.kind {
        Kind::Cubin => cubin(input, options, release),
        // It has no host code for device code to be in.
        Kind::Object if is_device_elf(&input.data) => Ok(Looked::Images(Vec::new())),
        _ => container(input, options, release),
    }
}

/// LTO-IR in a link that compiles none.
pub(crate) fn lto_not_enabled() -> Refusal {
    let line = "ERROR 1: LTO-IR input cannot be used without LTO enabled (-lto)";
    Refusal::new(Code::LtoNotEnabled, line)
}

fn is_device_elf(data: &[u8]) -> bool {
    Content::of(data) == Content::DeviceElf
}

/// A cubin is looked at without threads, as small links have little time.
fn cubin(
    input: &Input,
    options: &Options,
    release: Option<&'static Release>,
) -> Result<Looked, Refusal> {
    let (data, arch) = (&input.data, options.arch);
    let toolkit = flags::glance(data).map_or(0, |(_, info)| info.toolkit.get());
    let limits = match release {
        Some(release) => Limits { release, newest: release.toolkit },
        None => {
            let first = Release::first_with(arch).unwrap_or(Release::OLDEST);
            let release = Release::of_toolkit(toolkit.max(first.toolkit));
            Limits { release, newest: Release::NEWEST.toolkit }
        }
    };
    let name: Arc<str> = input.name.text().into();
    let header = match check_image(&name, data, arch, limits) {
        Ok(cubin) => cubin.header(),
        Err(error) => return refused_cubin(input, &error),
    };
    if header.file_type == cubin::FileType::EXEC {
        return Ok(Looked::Images(Vec::new()));
    }
    if let Some(reason) = needs_compiler(data, arch) {
        return Ok(Looked::NeedsCompiler(format!("'{name}': {reason}")));
    }
    Ok(Looked::Images(vec![Image { data: data.clone(), name, toolkit }]))
}

/// A cubin that cannot be linked.
fn refused_cubin(input: &Input, error: &Diagnostic) -> Result<Looked, Refusal> {
    let name = input.name.text();
    let is_damaged = is_damage(error);
    let line = match is_damaged {
        true => format!("ERROR 1: bad input: malformed cubin ELF{name}"),
        false => format!("ERROR 4: bad input:{name}"),
    };
    let refusal = Refusal::new(Code::InvalidInput, with_reason(line, error));
    if is_damaged { Err(refusal) } else { Ok(Looked::Unfit(refusal)) }
}

/// Whether a message is about a file that is cut off or malformed.
fn is_damage(message: &Diagnostic) -> bool {
    use libwarpld::Code::*;
    matches!(
        message.code,
        CannotOpenInput
            | DamagedArchive
            | DamagedFatbin
            | DamagedImage
            | DamagedInput
            | NoFatbin
            | Not64Bit
    )
}

/// A line of libnvJitLink, which gives no reason, and the reason.
fn with_reason(mut line: String, error: &Diagnostic) -> String {
    for reason in std::iter::once(&error.message).chain(&error.notes) {
        line.push_str("\n    = ");
        line.push_str(&without_stand_in(reason));
    }
    line
}

/// Fatbins, host objects and archives.
fn container(
    input: &Input,
    options: &Options,
    release: Option<&'static Release>,
) -> Result<Looked, Refusal> {
    let mut said = Vec::new();
    let looked = run_on_threads(1, || select(input, options, release, None, &mut said));
    looked.unwrap_or_else(|_| Err(Refusal::silent(Code::Threadpool)))
}

/// PTX, or a container with some, compiled here. Adds what the compiler says to `said`.
pub(crate) fn compile(
    input: &Input,
    options: &Options,
    release: Option<&'static Release>,
    compiler: &dyn Compiler,
    said: &mut Vec<String>,
) -> Result<Vec<Image>, Refusal> {
    let looked = run_on_threads(1, || select(input, options, release, Some(compiler), said));
    match looked.unwrap_or_else(|_| Err(Refusal::silent(Code::Threadpool)))? {
        Looked::Images(images) => Ok(images),
        Looked::Unfit(refusal) => Err(refusal),
        Looked::NeedsCompiler(reason) => Err(Refusal::new(Code::PtxCompile, reason)),
    }
}

/// PTX that the compiler refuses, in the words of libnvJitLink.
fn refused_ptx(input: &Input, messages: &[Diagnostic]) -> Option<Refusal> {
    use libwarpld::Code::{CompilerFailed, CompilerMessage, CompilerTimeout, PtxRefused};
    let failed = |m: &&Diagnostic| matches!(m.code, CompilerFailed | CompilerTimeout | PtxRefused);
    messages.iter().find(failed)?;
    let mut lines: Vec<String> = messages
        .iter()
        .filter(|m| matches!(m.code, CompilerMessage | CompilerFailed | CompilerTimeout))
        .map(|m| without_stand_in(&m.message))
        .collect();
    let name = input.name.text();
    lines.push(format!("ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX ({name})"));
    Some(Refusal::new(Code::PtxCompile, lines.join("\n")))
}

/// In place of the name, whose suffix promises nothing here.
const STAND_IN: &str = "input";
/// The same for PTX, which is known by its suffix.
const PTX_STAND_IN: &str = "input.ptx";

/// PTX without the NUL that callers close it with or not. nvlink reads no file that is shorter than a header;
/// libnvJitLink reads any text, so a short one gets empty lines.
fn ptx_text(data: &[u8]) -> Cow<'_, [u8]> {
    const SHORTEST: usize = 64;
    let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    let text = data.get(..end).unwrap_or_default();
    if text.len() >= SHORTEST {
        return text.into();
    }
    let mut text = text.to_vec();
    text.resize(SHORTEST, b'\n');
    text.into()
}

/// A message without the name that stands in for the input's.
fn without_stand_in(message: &str) -> String {
    message.replace(&format!("'{STAND_IN}'"), "it").replace(&format!("'{PTX_STAND_IN}'"), "it")
}

fn select(
    input: &Input,
    options: &Options,
    release: Option<&'static Release>,
    compiler: Option<&dyn Compiler>,
    said: &mut Vec<String>,
) -> Result<Looked, Refusal> {
    let store = Store::default();
    let name: Arc<str> = input.name.text().into();
    let text = if input.kind == Kind::Ptx { ptx_text(&input.data) } else { Cow::default() };
    let found: Vec<Found<'_>> = match input.kind {
        Kind::Library => members(input)?.into_iter().map(file).collect(),
        Kind::Ptx => vec![Found::File(InputFile::new(PTX_STAND_IN, &text))],
        _ => vec![file(&input.data)],
    };
    let loaded = scan(&found, &store, "");
    let config = Config::builder(options.arch).build();
    let select = SelectOptions { release, ..SelectOptions::of(&config) };
    let mut diagnostics = Diagnostics::default();
    let selected = match loaded.select_with(compiler, &select, &mut diagnostics) {
        Ok(selected) => selected,
        Err(error) => {
            let messages = error.diagnostics();
            return match refused_ptx(input, messages) {
                Some(refusal) => Err(refusal),
                None => refused_container(input, options, messages),
            };
        }
    };
    let of_compiler = |d: &&Diagnostic| d.code == libwarpld::Code::CompilerMessage;
    said.extend(diagnostics.as_slice().iter().filter(of_compiler).map(|d| d.message.clone()));
    if let Some(found) = compiler_wanted(diagnostics.as_slice()) {
        return Ok(Looked::NeedsCompiler(format!("'{name}': {}", found.message)));
    }
    let images = selected.inputs.images;
    let unfit = |d: &&Diagnostic| d.code == libwarpld::Code::ArchNotFound;
    if let Some(unfit) = diagnostics.as_slice().iter().find(unfit) {
        return Ok(Looked::Unfit(bad_container(&name, unfit)));
    }
    for image in &images {
        if let Some(arch) = accelerated(&image.image, options.arch) {
            let error = format!("it was compiled for {arch}");
            let error = Diagnostic::fatal(libwarpld::Code::ArchMismatch, error);
            return Ok(Looked::Unfit(bad_container(&name, &error)));
        }
        if let Some(reason) = needs_compiler(&image.image, options.arch) {
            return Ok(Looked::NeedsCompiler(format!("'{name}': {reason}")));
        }
    }
    let images = images.into_iter().map(|image| Image {
        data: image.image.as_ref().into(),
        name: name.clone(),
        toolkit: image.toolkit,
    });
    Ok(Looked::Images(images.collect()))
}

/// The target of code for an `a` target in a link for another one. Unlike nvlink 13.0, libnvJitLink takes none
/// out of containers.
fn accelerated(image: &[u8], target: Arch) -> Option<Arch> {
    if target.number < 90 || target.variant == Variant::Accelerated {
        return None;
    }
    let identity = Identity::of(&Cubin::parse(image).ok()?).ok()?;
    Some(identity.arch).filter(|arch| arch.variant == Variant::Accelerated)
}

fn file(data: &[u8]) -> Found<'_> {
    Found::File(InputFile::new(STAND_IN, data))
}

/// The members of an archive that are taken: each as an object, so that others add nothing.
fn members(input: &Input) -> Result<Vec<&[u8]>, Refusal> {
    let refuse = |reason: &str| {
        let line = format!("ERROR 1: library processing:{}\n    = {reason}", input.name.text());
        Refusal::new(Code::Internal, line)
    };
    let archive = Archive::parse(&input.data).map_err(|error| refuse(&error.reason))?;
    let mut members = Vec::new();
    for member in archive.members() {
        match member.map_err(|error| refuse(&error.reason))?.data {
            MemberData::Inline(data) => members.push(data),
            MemberData::External => return Err(refuse("the members are not in the archive")),
        }
    }
    members.retain(|data| matches!(Content::of(data), Content::HostElf | Content::HostCoff));
    Ok(members)
}

/// The message that says that PTX would be compiled, if there is one.
fn compiler_wanted(messages: &[Diagnostic]) -> Option<&Diagnostic> {
    use libwarpld::Code::{CodeOverPtx, NeedsCompiler, PtxOnly};
    messages.iter().find(|m| matches!(m.code, CodeOverPtx | NeedsCompiler | PtxOnly))
}

fn refused_container(
    input: &Input,
    options: &Options,
    messages: &[Diagnostic],
) -> Result<Looked, Refusal> {
    let name = input.name.text();
    if let Some(found) = compiler_wanted(messages) {
        return Ok(Looked::NeedsCompiler(format!("'{name}': {}", found.message)));
    }
    let fatal = messages.iter().find(|message| message.severity == Severity::Fatal);
    match fatal {
        Some(message) if message.code == libwarpld::Code::LtoOnly && options.lto => {
            Ok(Looked::NeedsCompiler(format!("'{name}' has LTO-IR")))
        }
        Some(message) if message.code == libwarpld::Code::LtoOnly => Err(lto_not_enabled()),
        Some(message) if is_damage(message) => Err(bad_container(&name, message)),
        Some(message) => Ok(Looked::Unfit(bad_container(&name, message))),
        None => Err(Refusal::silent(Code::Internal)),
    }
}

fn bad_container(name: &str, error: &Diagnostic) -> Refusal {
    let line = match error.code {
        libwarpld::Code::DamagedFatbin => format!("ERROR 5: bad input:{name}"),
        _ => format!("ERROR 3: bad input: {name}"),
    };
    Refusal::new(Code::InvalidInput, with_reason(line, error))
}
