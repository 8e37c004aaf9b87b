//! What selection has to say.

use super::scan::READER_FAILED;
use crate::diag::Diagnostic;
use cubin::Arch;
use fatbin::{Entry, Kind};
use std::fmt::Display;

/// An entry in words: `sm_90`, `PTX for compute_90`.
pub(super) fn describe(entry: &Entry<'_>) -> String {
    match entry.kind() {
        Kind::ELF => entry.arch().to_string(),
        Kind::PTX => format!("PTX for compute_{}", number(entry.arch())),
        Kind::LTO_IR => format!("LTO-IR for compute_{}", number(entry.arch())),
        kind => format!("{kind} for {}", entry.arch()),
    }
}

/// `90a` of `sm_90a`.
fn number(arch: Arch) -> String {
    arch.to_string().trim_start_matches("sm_").to_owned()
}

pub(super) fn arch_not_found(name: &str, target: Arch, has: &str) -> Diagnostic {
    let message = format!("SM Arch ('{target}') not found in '{name}'");
    Diagnostic::warning("arch-not-found", message).note(format_args!("it has {has}"))
}

pub(super) fn damaged_fatbin(name: &str, error: impl Display) -> Diagnostic {
    Diagnostic::fatal("damaged-fatbin", READER_FAILED).note(format_args!("in '{name}': {error}"))
}

pub(super) fn damaged_payload(name: &str, error: impl Display) -> [Diagnostic; 2] {
    let code = "damaged-fatbin";
    let first = Diagnostic::error(code, "Uncompress failed");
    let last = Diagnostic::fatal(code, READER_FAILED);
    [first.note(format_args!("in '{name}': {error}")), last]
}

pub(super) fn ptx_only(name: &str, what: &str, target: Arch) -> Diagnostic {
    let message = format!("'{name}' has no machine code for {target}, only {what}");
    Diagnostic::error("ptx-only", message).note(format_args!(
        "compile it with code for {target} (nvcc -gencode arch=compute_{0},code=sm_{0}), \
         or run ptxas -c on the PTX",
        number(target)
    ))
}

pub(super) fn lto_only(name: &str) -> Diagnostic {
    Diagnostic::fatal("lto-only", "LTO objects found, use -dlto").note(format_args!(
        "'{name}' has only LTO-IR for the target; compile it without -dlto to get machine code"
    ))
}

pub(super) fn code_over_ptx(name: &str, code: &Entry<'_>, ptx: &Entry<'_>) -> Diagnostic {
    let message = format!("using the {} code of '{name}', not its newer PTX", code.arch());
    Diagnostic::warning("code-over-ptx", message)
        .note(format_args!("the {} would have to be compiled first", describe(ptx)))
}

pub(super) fn beside_whole_program(name: &str) -> Diagnostic {
    let message = format!("'{name}': -ewp compiled objects should only link with libcudadevrt");
    Diagnostic::warning("beside-whole-program", message)
}

pub(super) fn after_system_library(name: &str) -> Diagnostic {
    Diagnostic::fatal("after-system-library", "unexpected object after cudadevrt")
        .note(format_args!("name libcudadevrt.a (-lcudadevrt) after '{name}'"))
}
