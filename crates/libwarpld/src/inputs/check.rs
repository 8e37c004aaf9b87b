//! Whether a device ELF may take part in a link for a target.

use crate::diag::Code;
use crate::diag::Diagnostic;
use crate::dialect::Release;
use crate::dialect::target::{asks_for_oldest_toolkit, has_accelerated};
use crate::inputs::fit::is_accelerated;
use cubin::consts::shf;
use cubin::flags::{self, Flags, FlagsV8, Identity, OSABI_V7, OSABI_V8};
use cubin::names::{self, prefix};
use cubin::{Arch, Class, Cubin, Header, ReadError, SectionType, Variant, compat, note};

/// The releases whose code may take part.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The release that the link stands for.
    pub release: &'static Release,
    /// The number of the newest toolkit.
    pub newest: u32,
}

/// Whether a look at its header and at the note that names its toolkit shows that `image`
/// may take part, provided that it can be read: so it is with what compilers of the last
/// years wrote for the target. All others are to be checked.
pub fn is_plainly_fit(image: &[u8], target: Arch, limits: Limits) -> Option<PlainlyFit> {
    let (header, info) = flags::glance(image)?;
    let fits = header.class == Class::Elf64
        && has_known_abi(&header)
        && Flags::decode(&header).sm() == target.number
        && info.version.get() >= note::VERSION
        && (oldest(&header, limits.release)..=limits.newest).contains(&info.toolkit.get())
        && !(limits.release.refuses_accelerated_for(target) && may_be_accelerated(image, &header));
    let toolkit = info.toolkit.get();
    fits.then_some(PlainlyFit { toolkit, is_whole_program: header.is_whole_program() })
}

/// What a look at an image tells that may take part.
pub struct PlainlyFit {
    /// The number of the toolkit that compiled it.
    pub toolkit: u32,
    /// Whether it is a whole program for others to extend.
    pub is_whole_program: bool,
}

/// Says that a file cannot be read. nvlink drops such without a word. Losing code that way
/// is no service, so warpld stops.
#[cold]
pub fn unreadable(name: &str, error: &ReadError) -> Diagnostic {
    match error {
        ReadError::NotElf | ReadError::NotDevice { .. } => wrong_size(name),
        _ => damaged(name),
    }
    .note(error)
}

fn wrong_size(name: &str) -> Diagnostic {
    let message = format!("Input file '{name}' size does not match target '-m64'");
    Diagnostic::fatal(Code::Not64Bit, message)
}

fn damaged(name: &str) -> Diagnostic {
    Diagnostic::fatal(Code::DamagedImage, format!("Input file '{name}' is damaged"))
}

/// Checks `image` as nvlink does before it merges it; what it is.
pub fn check<'i>(
    name: &str,
    image: &'i [u8],
    target: Arch,
    limits: Limits,
) -> Result<Cubin<'i>, Diagnostic> {
    let fatal = |code, rest: String| Diagnostic::fatal(code, format!("Input file '{name}' {rest}"));
    let cubin = Cubin::parse(image).map_err(|error| unreadable(name, &error))?;
    if cubin.header().class != Class::Elf64 {
        return Err(wrong_size(name));
    }
    if !has_known_abi(&cubin.header()) {
        return Err(fatal(Code::AbiMismatch, "abi does not match".into()));
    }
    let identity = Identity::of(&cubin).map_err(|error| damaged(name).note(error))?;
    let arch = identity.arch;
    if arch.number == 0 {
        return Err(Diagnostic::fatal(Code::UnknownArch, "Unknown arch name 'sm_0'")
            .note(format_args!("in '{name}'")));
    }
    let accelerated = arch.variant == Variant::Accelerated;
    // It comes before all else. (`accelerated-mix`)
    if accelerated && limits.release.refuses_accelerated_for(target) {
        return Err(accelerated_mix(name, arch, target));
    }
    if !limits.release.links_machine_code(arch.number, accelerated, target) {
        let message = format!("arch does not match target '{target}'");
        return Err(
            fatal(Code::ArchMismatch, message).note(format_args!("it was compiled for {arch}"))
        );
    }
    let Limits { release, newest } = limits;
    match identity.toolkit.filter(|_| points_to_note(&cubin, identity.flags)) {
        Some(toolkit) if toolkit > newest => {
            let message = format!("newer than toolkit ({toolkit} vs {newest})");
            Err(fatal(Code::NewerToolkit, message).note(newer_remedy(toolkit)))
        }
        Some(toolkit) if toolkit >= oldest(&cubin.header(), release) => Ok(cubin),
        None if has_first_note(&cubin) && !cubin.header().is_whole_program() => Ok(cubin),
        _ if cubin.header().is_whole_program() => {
            let message = "linking with -ewp objects requires using current toolkit";
            Err(Diagnostic::fatal(Code::OlderWholeProgram, message)
                .note(format_args!("'{name}' was compiled by an older one")))
        }
        _ if !asks_for_oldest_toolkit(arch) && !has_untyped_data(&cubin) => Ok(cubin),
        _ => Err(fatal(Code::OlderToolkit, "must be recompiled with toolkit >= Cuda 12.0".into())),
    }
}

/// Whether code may be for an `a` target, as far as a look at one section shows.
fn may_be_accelerated(image: &[u8], header: &Header) -> bool {
    has_accelerated(Flags::decode(header).sm())
        && compat::glance(image, header).is_none_or(is_accelerated)
}

#[cold]
fn accelerated_mix(name: &str, arch: Arch, target: Arch) -> Diagnostic {
    let message = "cannot link accelerated arch to non-accelerated";
    let diagnostic = Diagnostic::fatal(Code::ArchMismatch, message)
        .note(format_args!("'{name}' was compiled for {arch}"));
    match arch.number == target.number {
        true => diagnostic.note(format_args!("link for {arch}, or compile it for {target}")),
        false => diagnostic,
    }
}

/// What to do about code of a newer toolkit.
fn newer_remedy(toolkit: u32) -> String {
    let release = format!("{}.{}", toolkit / 10, toolkit % 10);
    match Release::named(&release) {
        Some(_) => format!("it was compiled by CUDA {release}: link with --cuda-release={release}"),
        None => format!(
            "it was compiled by CUDA {release}; the newest release that is known here is {}, whose \
             rules --allow-newer-inputs applies",
            Release::NEWEST.version
        ),
    }
}

/// Oldest toolkit whose code of this kind is linked.
fn oldest(header: &Header, release: &Release) -> u32 {
    if header.is_whole_program() { release.toolkit } else { release.oldest_toolkit }
}

/// Whether data for the device is in sections of ordinary types, as CUDA 11.0 wrote it. nvlink
/// tells what they are by their names; the later phases here go by types, so such files are refused.
#[cold]
fn has_untyped_data(cubin: &Cubin<'_>) -> bool {
    cubin.sections().iter().any(|section| {
        matches!(section.kind, SectionType::PROGBITS | SectionType::NOBITS)
            && section.flags & (shf::ALLOC | shf::EXECINSTR) == shf::ALLOC
            && (section.name.starts_with(prefix::NV) || section.name == names::DEBUG_SHARED)
    })
}

fn has_known_abi(header: &Header) -> bool {
    matches!((header.osabi(), header.abi_version()), (OSABI_V7, 7) | (OSABI_V8, 8))
}

/// Whether the file has the note of CUDA 12.8 and 12.9, which names no toolkit
/// (capsule files only; nvlink takes them).
fn has_first_note(cubin: &Cubin<'_>) -> bool {
    cubin.header().osabi() == OSABI_V8 && cubin.section_by_name(names::NOTE_CUVER).is_some()
}

/// Whether the flags point to the note that names the toolkit. Where they
/// point elsewhere nvlink takes the file for one without the note.
fn points_to_note(cubin: &Cubin<'_>, flags: Flags) -> bool {
    match flags {
        Flags::V8(flags) if flags.cuinfo != FlagsV8::CUINFO_ELSEWHERE => cubin
            .section(flags.cuinfo.into())
            .is_some_and(|section| section.name == names::NOTE_CUINFO),
        _ => true,
    }
}
