//! The finalizer: duties between Mercury code and code that a driver loads,
//! as far as no compiler is needed.
//!
//! A link does these duties while it writes the file (see `mercury`). This
//! module holds the rules by themselves, and an engine that applies them to one
//! file in memory: bytes, target and settings in, bytes out. It is ordered like
//! NVIDIA's: mode and guards, validation, fast path, emission, self-check.

mod bits;
mod compatibility;
mod config;
mod edits;
mod emission;
mod fastpath;
pub mod frame_moves;
pub mod frame_rows;
mod instruction;
pub mod line_rows;
mod mercury_map;
mod mode;
mod moves;
mod recount;
mod rescoreboard;
mod result;
mod selfcheck;
mod tkinfo;
mod trace;
mod validate;

pub use compatibility::needs_compiler;
pub use compatibility::{
    can_finalize, can_finalize_with_mask, capability_bit, declared_targets, remapped,
};
pub use config::{BinaryKind, Fastpath, FinalizerConfig};
pub use edits::{Edited, Purpose, edit};
pub use mercury_map::MercuryMap;
pub use mode::Mode;
pub use moves::Moves;
pub use rescoreboard::rescoreboard;
pub use result::{FinalizerError, Mismatch};
pub use selfcheck::{compare, self_check};
pub use tkinfo::{EarlierLinker, earlier_linker};
pub use trace::Trace;
pub use validate::version;

use cubin::Arch;

/// The name in the trace of a file that has none.
pub const IN_MEMORY: &str = "in-memory-ELF-image";

/// Finalizes one file for `target`. Code is never translated: a file for the
/// target is checked and written anew, one for a target that it declares itself
/// fit for is copied, and everything else is an error that says why.
pub fn finalize(
    image: &[u8],
    name: Option<&str>,
    target: Arch,
    config: &FinalizerConfig,
    trace: &mut Trace,
) -> Result<Vec<u8>, FinalizerError> {
    let name = name.unwrap_or(IN_MEMORY);
    trace.line(format_args!("Input ELF: {name}"));
    trace.line(config.mode.title());
    let flags = [config.is_capsule(), config.is_machine_code()].map(u8::from);
    trace.line(format_args!("Flags [ {} | {} ]", flags[0], flags[1]));
    trace.line(format_args!("Starting {name}"));
    let result = engine(image, target, config, trace);
    match &result {
        Ok(_) => trace.line(format_args!("Ending {name}")),
        Err(error) => trace.line(format_args!("Failed {name}: {} ({error})", error.code())),
    }
    result
}

fn engine(
    image: &[u8],
    target: Arch,
    config: &FinalizerConfig,
    trace: &mut Trace,
) -> Result<Vec<u8>, FinalizerError> {
    let input = validate::validate(image, config)?;
    if let Some(earlier) = earlier_linker(&input.cubin) {
        trace.line(format_args!("Linked before by {earlier:?}"));
    }
    if let Some(copy) = fastpath::try_copy(&input, target, config, trace) {
        return Ok(copy);
    }
    if input.arch != target.number {
        return Err(FinalizerError::NeedsCompiler { from: input.arch, to: target.number });
    }
    let output = emission::emit(&input, config)?;
    if config.self_check {
        self_check(&output, target, config, trace)?;
    }
    Ok(output)
}
