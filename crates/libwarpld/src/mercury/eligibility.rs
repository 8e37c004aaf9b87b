//! Which files can be linked, judged by their kind of code, type, version and target; and which
//! half of the inputs is linked.

use super::code::lacks_optimisation;
use super::compatibility::{self, can_finalize_with_mask, usable_targets};
use super::{MercuryError, Trace};
use crate::collections::Map;
use crate::config::{BinaryKind, Config, Fastpath};
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::dialect::{Half, Release, target};
use crate::inputs::messages::limited_output;
use crate::inputs::{Inputs, LinkInput};
use cubin::consts::shf;
use cubin::flags::{CodeState, Flags, v8};
use cubin::names::{self, prefix};
use cubin::{Arch, Cubin, FileType, Header, SectionRef, info};
use rayon::prelude::*;

/// The half that all inputs have. A single input with only machine code makes the whole output
/// machine code, with a warning (nvlink does so in any input order); otherwise the Mercury half is
/// linked.
pub fn half_of(
    inputs: &Inputs<'_>,
    config: &Config,
    release: &Release,
    diags: &mut Diagnostics,
) -> Result<Half, Diagnostic> {
    if !target::has_mercury(config.arch) {
        return Ok(Half::Machine);
    }
    let mut trace = Trace::of(&config.mercury);
    let mut half = match config.mercury.binary_kind {
        BinaryKind::CapsuleMercury => Half::Mercury,
        BinaryKind::Sass => Half::Machine,
    };
    let summaries: Vec<Option<Summary>> =
        inputs.images.par_iter().map(|input| Summary::of(input, config.arch, release)).collect();
    for (input, summary) in inputs.images.iter().zip(summaries) {
        let Ok(header) = Header::parse(&input.image) else { continue };
        trace.line(format_args!("Input ELF: {}", input.name));
        trace.line("Pre-Link Mode");
        let checked = check_header(&header).and_then(|half| {
            if half == Half::Mercury
                && let Some(summary) = summary
            {
                summary.check(release, config.mercury.fastpath, &mut trace)?;
            }
            Ok(half)
        });
        let checked = checked.map_err(|error| match error.reason() {
            Some(reason) if release.explains_finalizer => explained(reason, &error, diags),
            _ => refusal(&input.name, config.arch, &error),
        });
        if checked? == Half::Machine {
            half = Half::Machine;
            diags.push(limited_output(&input.name, config.arch));
        }
    }
    trace.report(diags);
    Ok(half)
}

/// The half that a file with this header can be linked in. Capsules and machine code alone exclude
/// each other (nvlink: `Internal error` for 0x06); a file type that no tool writes is error 6 of
/// nvlink's finalizer.
pub(super) fn check_header(header: &Header) -> Result<Half, MercuryError> {
    let flags = Flags::decode(header);
    match flags.state() {
        CodeState::Sass => return Ok(Half::Machine),
        CodeState::Mercury => return Err(MercuryError::PureMercury),
        CodeState::CapsuleMercury => {}
    }
    if matches!(flags, Flags::V8(f) if f.kind & v8::SASS != 0) {
        return Err(MercuryError::BothKinds);
    }
    match header.file_type {
        FileType::REL | FileType::EXEC | FileType::EWP => Ok(Half::Mercury),
        other => Err(MercuryError::FileType(other.0)),
    }
}

/// What a file says about where it runs.
pub(super) struct Summary {
    version: u16,
    /// The targets it was compiled for and is linked for.
    from: u16,
    to: u16,
    usable_targets: u64,
}

impl Summary {
    /// `None` if the file cannot be parsed; the parser reports that.
    fn of(input: &LinkInput<'_>, target: Arch, release: &Release) -> Option<Self> {
        match &input.parsed {
            Some(cubin) => Some(Self::of_cubin(cubin, target, release)),
            None => Some(Self::of_cubin(&Cubin::parse(&input.image).ok()?, target, release)),
        }
    }

    pub(super) fn of_cubin(cubin: &Cubin<'_>, target: Arch, release: &Release) -> Self {
        let (from, to) = (Flags::decode(&cubin.header()).sm(), target.number);
        let usable_targets = usable_targets(cubin, from, to);
        Self { version: version(cubin, release), from, to, usable_targets }
    }

    /// Code for another member of the family can be linked if it declares itself fit for the
    /// target; there is no compiler to reschedule it. A version above the maximum is refused, as
    /// nvlink does.
    pub(super) fn check(
        &self,
        release: &Release,
        fastpath: Fastpath,
        trace: &mut Trace,
    ) -> Result<(), MercuryError> {
        let (found, newest) = (self.version, release.newest_mercury);
        if found > newest {
            return Err(MercuryError::VersionTooHigh { found, newest });
        }
        let (from, to) = (self.from, self.to);
        let off = fastpath == Fastpath::Off && from != to;
        match !off && can_finalize_with_mask(self.usable_targets, from, to, trace) {
            true => Ok(()),
            false => Err(MercuryError::NeedsCompiler { from, to }),
        }
    }
}

/// The highest version in any record.
fn version(cubin: &Cubin<'_>, release: &Release) -> u16 {
    let Some(section) = cubin.section_by_name(names::COMPAT) else { return 0 };
    let records = info::records(section.data).map_while(Result::ok);
    let versions = records.filter(|r| r.compat() == release.mercury_version);
    versions.map(|r| r.value).max().unwrap_or(0)
}

/// Why an image has to be compiled again to run on the target; `None` if it need not be, or if it
/// is not a capsule file for a related target.
pub fn needs_compiler(image: &[u8], target: Arch, trace: &mut Trace) -> Option<MercuryError> {
    let flags = Flags::decode(&Header::parse(image).ok()?);
    match flags.state() {
        CodeState::Sass => None,
        CodeState::Mercury => Some(MercuryError::PureMercury),
        CodeState::CapsuleMercury => {
            let (from, to) = (flags.sm(), target.number);
            if from == to {
                return None;
            }
            let usable = usable_targets(&Cubin::parse(image).ok()?, from, to);
            let fits = can_finalize_with_mask(usable, from, to, trace);
            (!fits).then_some(MercuryError::NeedsCompiler { from, to })
        }
    }
}

/// Whether nvlink schedules the code of a file anew for the target, be it needed or not.
pub fn is_scheduled_anew(cubin: &Cubin<'_>, target: Arch) -> bool {
    let flags = Flags::decode(&cubin.header());
    let (from, to) = (flags.sm(), target.number);
    flags.state() == CodeState::CapsuleMercury
        && match from == to {
            true => mixes_levels(cubin),
            false => compatibility::is_scheduled_anew(cubin, from, to),
        }
}

/// Whether a file that was linked before has functions of one name of which some are code of `-O0`: nvlink finds the
/// attributes of the first for all, and schedules the others as that one was compiled.
/// (`namesakes_of_another_level_are_scheduled_anew`)
fn mixes_levels(cubin: &Cubin<'_>) -> bool {
    // Names are the most expensive part to read.
    let is_code = |s: &SectionRef<'_>| s.flags & shf::EXECINSTR != 0 && !s.data.is_empty();
    if cubin.sections().iter_unnamed().filter(is_code).nth(1).is_none() {
        return false;
    }
    let mut first = Map::default();
    let code = cubin.sections().iter().filter(|s| s.name.starts_with(prefix::TEXT));
    code.filter(|s| !s.data.is_empty()).any(|section| {
        let unoptimised = lacks_optimisation(section.data);
        *first.entry(section.name).or_insert(unoptimised) != unoptimised
    })
}

/// What is said from 13.1 on where the finalizer refuses a file.
fn explained(reason: &str, error: &MercuryError, diags: &mut Diagnostics) -> Diagnostic {
    let failed =
        Diagnostic::error(Code::FinalizerFailed, format_args!("Finalization failed: '{reason}'"));
    diags.push(failed.note(error));
    Diagnostic::fatal(Code::FinalizerFailed, "elfLink error finalization failed")
}

/// The diagnostic for an input that cannot be linked.
pub(super) fn refusal(name: &str, target: Arch, error: &MercuryError) -> Diagnostic {
    match error {
        MercuryError::PureMercury => Diagnostic::fatal(
            Code::PureMercury,
            format_args!("Input file '{name}' has Mercury code without machine code"),
        )
        .note(error),
        MercuryError::BothKinds => Diagnostic::fatal(
            Code::WrongModeBits,
            format_args!("Input file '{name}' claims to be both machine code and Mercury"),
        ),
        MercuryError::NeedsCompiler { .. } => Diagnostic::fatal(
            Code::NeedsCompiler,
            format_args!("Input file '{name}' cannot be linked for sm_{}", target.number),
        )
        .note(error),
        _ => {
            Diagnostic::fatal(Code::FinalizerFailed, format_args!("Internal FNLZR error '{name}'"))
                .note(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of one name, all optimised and then the first one not, by compilers up to 13.2 and by later ones.
    #[test]
    fn namesakes_of_another_level_are_scheduled_anew() {
        const SIZE_OF_HEADER: usize = 64;
        const CONTROL: usize = 13;
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/weak.sm_100.cubin");
        let mut image = std::fs::read(path).unwrap();
        let cubin = Cubin::parse(&image).unwrap();
        let is_code = |name: &[u8]| name.starts_with(prefix::TEXT);
        let code: Vec<_> = cubin.sections().iter().filter(|s| is_code(s.name)).collect();
        let target: Arch = "sm_100".parse().unwrap();
        let at = code[0].offset as usize;
        let headers = [code[0], code[1]].map(|s| s.index.0 as usize * SIZE_OF_HEADER);
        let table = u64::from_le_bytes(image[0x28..0x30].try_into().unwrap()) as usize;
        let [first, second] = headers.map(|header| table + header);
        image.copy_within(first..first + 4, second);
        assert!(!is_scheduled_anew(&Cubin::parse(&image).unwrap(), target));
        for control in [[0xde, 0x3f, 0], [0xc0, 0x0f, 0]] {
            image[at + CONTROL..at + CONTROL + 3].copy_from_slice(&control);
            assert!(is_scheduled_anew(&Cubin::parse(&image).unwrap(), target));
        }
    }
}
