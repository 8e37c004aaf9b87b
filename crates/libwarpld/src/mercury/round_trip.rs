//! `--self-check`: parsing the output and writing it again with [`cubin`] must reproduce it.

use super::eligibility::{Summary, check_header};
use super::{MercuryError, Mismatch, Trace};
use crate::config::{Config, Fastpath};
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::dialect::{Half, Release};
use cubin::capsule::Capsule;
use cubin::half::Halves;
use cubin::model::Image;
use cubin::names;
use cubin::note::{NoteType, ToolInfo, notes};
use cubin::{Arch, Cubin, SectionRef, SectionType};
use std::fmt::Display;

/// Checks the output of a link, if requested.
pub fn check_output(
    image: &[u8],
    config: &Config,
    release: &Release,
    diags: &mut Diagnostics,
) -> Result<(), Diagnostic> {
    let mut trace = Trace::of(&config.mercury);
    let result = match config.mercury.self_check {
        true => round_trip(image, config.arch, release, &mut trace),
        false => Ok(()),
    };
    trace.report(diags);
    result.map_err(|error| {
        Diagnostic::fatal(Code::FinalizerFailed, "Internal FNLZR error in the output").note(error)
    })
}

/// Parses a capsule file, checks it like an input of a link for the same target, writes it again,
/// and compares sections, relocations and symbols.
pub fn round_trip(
    image: &[u8],
    target: Arch,
    release: &Release,
    trace: &mut Trace,
) -> Result<(), MercuryError> {
    // nvlink's finalizer reports for a file in memory: its name, when it runs, and whether capsules
    // or machine code alone are wanted.
    const NAME: &str = "self-check";
    trace.line(format_args!("Input ELF: {NAME}"));
    trace.line("Post-Link Mode");
    trace.line("Flags [ 1 | 0 ]");
    trace.line(format_args!("Starting {NAME}"));
    let again = rewrite(image, target, release, trace);
    match &again {
        Ok(_) => trace.line(format_args!("Ending {NAME}")),
        Err(error) => trace.line(format_args!("Failed {NAME}: {} ({error})", error.code())),
    }
    compare(image, &again?)
}

/// Checks the file and writes it again.
fn rewrite(
    image: &[u8],
    target: Arch,
    release: &Release,
    trace: &mut Trace,
) -> Result<Vec<u8>, MercuryError> {
    let cubin = Cubin::parse(image).map_err(|e| damaged(&e))?;
    let header = cubin.header();
    if check_header(&header)? != Half::Mercury {
        return Err(MercuryError::NotCapsule);
    }
    let summary = Summary::of_cubin(&cubin, target, release);
    summary.check(release, Fastpath::Off, &mut Trace::default())?;
    check_capsules(&Halves::split(&cubin).map_err(|e| damaged(&e))?)?;
    if let Some(linker) = linker(&cubin) {
        trace.line(format_args!("Linked before by {linker:?}"));
    }
    let again = Image::from_cubin(&cubin).map_err(|e| damaged(&e))?;
    again.to_bytes().map_err(|e| damaged(&e))
}

fn damaged(what: &dyn Display) -> MercuryError {
    MercuryError::Damaged(what.to_string())
}

/// Every capsule must account for every instruction of its function.
fn check_capsules(halves: &Halves<'_>) -> Result<(), MercuryError> {
    for section in halves.sass.sections() {
        if section.kind != SectionType::CUDA_CAPMERC {
            continue;
        }
        let bad = |what: &dyn Display| {
            damaged(&format_args!("capsule in section {}: {what}", section.index.0))
        };
        let capsule = Capsule::parse(section.data).map_err(|e| bad(&e))?;
        let code = halves.counterpart(section.index.0).map_or(0, |t| t.size);
        if !capsule.fills(code) {
            return Err(bad(&format_args!("its instructions do not fill {code:#x} bytes")));
        }
    }
    Ok(())
}

/// A linker that left its note in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linker {
    /// NVIDIA's command.
    Nvlink,
    /// NVIDIA's library.
    NvJit,
    /// warpld.
    Warpld,
}

/// The linker that wrote the file, if it was linked.
pub fn linker(cubin: &Cubin<'_>) -> Option<Linker> {
    let section = cubin.section_by_name(names::NOTE_TKINFO)?;
    notes(section.data).map_while(Result::ok).filter(|n| n.kind == NoteType::TKINFO).find_map(
        |note| match ToolInfo::parse(note.desc).ok()?.tool {
            b"nvlink" => Some(Linker::Nvlink),
            b"nvJIT API" => Some(Linker::NvJit),
            b"warpld" => Some(Linker::Warpld),
            _ => None,
        },
    )
}

/// The first difference between two files, by kind.
pub fn compare(first: &[u8], second: &[u8]) -> Result<(), MercuryError> {
    let parse = |image| Cubin::parse(image).map_err(|e| damaged(&e));
    let (a, b) = (parse(first)?, parse(second)?);
    let missing = a.section(b.sections().len() as u32);
    for (x, y) in a.sections().iter().zip(b.sections()) {
        if x.name != y.name || x.size != y.size || x.data != y.data {
            return Err(MercuryError::RoundTrip(mismatch(&x)));
        }
    }
    match missing {
        Some(section) => Err(MercuryError::RoundTrip(mismatch(&section))),
        None => Ok(()),
    }
}

fn mismatch(section: &SectionRef<'_>) -> Mismatch {
    let name = text(section.name);
    match section.kind {
        SectionType::RELA | SectionType::REL | SectionType::CUDA_MERCURY_RELA => {
            Mismatch::Relocations(name)
        }
        SectionType::SYMTAB | SectionType::CUDA_MERCURY_SYMTAB => Mismatch::Symbols(name),
        _ => Mismatch::Section(name),
    }
}
