//! Which side of the inputs is linked.

use crate::config::Config;
use crate::diag::{Diagnostic, Diagnostics};
use crate::input::Inputs;
use crate::object::Side;
use cubin::flags::{CodeState, Flags, v8};
use cubin::{FileType, Header};

/// The side all inputs can be linked on. One input of machine code alone makes
/// the whole output machine code, with a warning (nvlink does so in any order
/// of inputs); otherwise the Mercury side is linked.
pub fn side(
    inputs: &Inputs<'_>,
    config: &Config,
    diags: &mut Diagnostics,
) -> Result<Side, Diagnostic> {
    if !config.arch.is_mercury() {
        return Ok(Side::Machine);
    }
    let mut side = Side::Mercury;
    for input in &inputs.images {
        let Ok(header) = Header::parse(&input.image) else { continue };
        let flags = Flags::decode(&header);
        match flags.state() {
            CodeState::Sass => {
                side = Side::Machine;
                diags.push(Diagnostic::warning(
                    "limited-output",
                    format_args!(
                        "Output is limited to run on SM Arch '{}' only due to limitations in \
                         input file {}",
                        config.arch.number, input.name
                    ),
                ));
            }
            CodeState::CapsuleMercury => check_capsule_file(&input.name, &header, flags)?,
            CodeState::Mercury => return Err(pure_mercury(&input.name)),
        }
    }
    Ok(side)
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
    .note("only NVIDIA's finalizer can translate it; compile for the target, or give PTX")
}
