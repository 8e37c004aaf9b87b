//! Which side of the inputs is linked.

use crate::config::Config;
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::dialect::{Half, target};
use crate::inputs::{Inputs, LinkInput};
use crate::mercury::code::{self, BinaryKind, Fastpath, FinalizerError, Mode, Trace};
use cubin::flags::{CodeState, Flags, v8};
use cubin::{Cubin, FileType, Header};
use rayon::prelude::*;

/// The side all inputs can be linked on. One input of machine code alone makes
/// the whole output machine code, with a warning (nvlink does so in any order
/// of inputs); otherwise the Mercury side is linked.
pub fn half_of(
    inputs: &Inputs<'_>,
    config: &Config,
    diags: &mut Diagnostics,
) -> Result<Half, Diagnostic> {
    if !target::has_mercury(config.arch) {
        return Ok(Half::Machine);
    }
    let finalizer = &config.finalizer;
    let mut trace = Trace::new(finalizer.trace, finalizer.trace_compatibility);
    let mut side = match finalizer.binary_kind {
        BinaryKind::CapsuleMercury => Half::Mercury,
        BinaryKind::Sass => Half::Machine,
    };
    let facts: Vec<Option<SectionSummary>> =
        inputs.images.par_iter().map(SectionSummary::of).collect();
    for (input, facts) in inputs.images.iter().zip(facts) {
        let Ok(header) = Header::parse(&input.image) else { continue };
        let flags = Flags::decode(&header);
        trace.line(format_args!("Input ELF: {}", input.name));
        trace.line(Mode::PreLink.title());
        match flags.state() {
            CodeState::Sass => {
                side = Half::Machine;
                diags.push(Diagnostic::warning(
                    "limited-output",
                    format_args!(
                        "Output is limited to run on SM Arch '{}' only due to limitations in \
                         input file {}",
                        config.arch.number, input.name
                    ),
                ));
            }
            CodeState::CapsuleMercury => {
                check_capsule_file(&input.name, &header, flags)?;
                check_target(input, flags, facts, config, &mut trace)?;
            }
            CodeState::Mercury => return Err(pure_mercury(&input.name)),
        }
    }
    for line in trace.lines {
        diags.push(Diagnostic::new(Severity::Info, "fnlzr-trace", line));
    }
    Ok(side)
}

/// What an input says about where it runs.
struct SectionSummary {
    version: u16,
    declared_targets: u64,
}

impl SectionSummary {
    fn of(input: &LinkInput<'_>) -> Option<Self> {
        let cubin = Cubin::parse(&input.image).ok()?;
        let version = code::version(&cubin);
        Some(Self { version, declared_targets: code::declared_targets(&cubin) })
    }
}

/// Code for another number of the family is linked where it declares itself fit
/// for the target; no compiler is at hand to schedule it anew. A version above
/// the ceiling is refused as nvlink does.
fn check_target(
    input: &LinkInput<'_>,
    flags: Flags,
    facts: Option<SectionSummary>,
    config: &Config,
    trace: &mut Trace,
) -> Result<(), Diagnostic> {
    let Some(facts) = facts else { return Ok(()) };
    let name = &input.name;
    let failed = |error: FinalizerError| {
        let message = format_args!("Internal FNLZR error '{name}'");
        Diagnostic::fatal("finalizer-failed", message).note(error)
    };
    let (found, newest) = (facts.version, config.release.newest_mercury);
    if found > newest {
        return Err(failed(FinalizerError::VersionTooHigh { found, newest }));
    }
    let (from, to) = (flags.sm(), config.arch.number);
    let declared = facts.declared_targets;
    let off = config.finalizer.fastpath == Fastpath::Off && from != to;
    if off || !code::can_finalize_with_mask(declared, from, to, trace) {
        let error = FinalizerError::NeedsCompiler { from, to };
        let message = format!("Input file '{name}' cannot be linked for sm_{to}");
        return Err(Diagnostic::fatal("needs-compiler", message).note(error));
    }
    Ok(())
}

/// Capsules and machine code alone exclude each other (nvlink: `Internal
/// error` for 0x06); a file type no tool writes is the finalizer's error 6.
fn check_capsule_file(name: &str, header: &Header, flags: Flags) -> Result<(), Diagnostic> {
    if matches!(flags, Flags::V8(f) if f.kind & v8::SASS != 0) {
        return Err(Diagnostic::fatal(
            "wrong-mode-bits",
            format_args!("Input file '{name}' claims to be both machine code and Mercury"),
        ));
    }
    match header.file_type {
        FileType::REL | FileType::EXEC | FileType::EWP => Ok(()),
        other => Err(Diagnostic::fatal(
            "finalizer-failed",
            format_args!("Internal FNLZR error '{name}'"),
        )
        .note(format_args!("the file's type {:#x} is none that can be finalized", other.0))),
    }
}

fn pure_mercury(name: &str) -> Diagnostic {
    Diagnostic::fatal(
        "pure-mercury",
        format_args!("Input file '{name}' has Mercury code without machine code"),
    )
    .note(FinalizerError::PureMercury)
}
