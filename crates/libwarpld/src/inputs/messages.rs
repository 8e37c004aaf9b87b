//! What selection has to say.

use super::options::Traced;
use super::recognise;
use super::scan::{Ignored, READER_FAILED, Reason};
use crate::diag::Code;
use crate::diag::{Diagnostic, Severity};
use crate::dialect::Release;
use cubin::Arch;
use fatbin::{Content, Entry, Kind};
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

pub(super) fn arch_not_found(name: &str, target: Arch, has: &str, strict: bool) -> Diagnostic {
    let severity = if strict { Severity::Error } else { Severity::Warning };
    let message = format!("SM Arch ('{target}') not found in '{name}'");
    Diagnostic::new(severity, Code::ArchNotFound, message).note(format_args!("it has {has}"))
}

pub(super) fn already_linked(name: &str) -> Diagnostic {
    let message = format!("'{name}' has been linked already");
    Diagnostic::error(Code::AlreadyLinked, message)
        .note("link the relocatable objects that it was made from (nvcc -dc, ptxas -c)")
}

/// How a strict selection refuses an input that nvlink passes over. Host objects without
/// relocatable device code are none of its business, as builds hand over all they have.
pub(super) fn refusal(ignored: &Ignored, target: Arch) -> Option<Diagnostic> {
    let name = &ignored.name;
    match ignored.reason {
        Reason::AlreadyLinked | Reason::HostLinked => Some(already_linked(name)),
        Reason::Kind(Content::Ptx) => Some(ptx_only(name, "PTX text", target)),
        Reason::Kind(Content::LtoIr) => Some(lto_only(name)),
        Reason::Kind(content) => {
            let message = format!("'{name}' carries no device code");
            let is = recognise::describe(content);
            Some(Diagnostic::error(Code::InputKind, message).note(format_args!("it is {is}")))
        }
        Reason::DeviceLinkResult | Reason::NoDeviceCode | Reason::WholeProgram => None,
        Reason::InArchive(_) => None,
    }
}

/// How a strict selection refuses inputs none of which contributes.
pub(super) fn nothing_to_link(inputs: &[Traced], target: Arch) -> Diagnostic {
    let message = format!("no input has relocatable device code for {target}");
    let mut diagnostic = Diagnostic::error(Code::NothingToLink, message);
    for input in inputs {
        let reason = input.ignored.as_deref().unwrap_or("nothing in it is linked");
        diagnostic.notes.push(format!("'{}': {reason}", input.name));
    }
    diagnostic
}

pub(super) fn damaged_fatbin(name: &str, error: impl Display) -> Diagnostic {
    Diagnostic::fatal(Code::DamagedFatbin, READER_FAILED).note(format_args!("in '{name}': {error}"))
}

pub(super) fn damaged_payload(name: &str, error: impl Display) -> [Diagnostic; 2] {
    let code = Code::DamagedFatbin;
    let first = Diagnostic::error(code, "Uncompress failed");
    let last = Diagnostic::fatal(code, READER_FAILED);
    [first.note(format_args!("in '{name}': {error}")), last]
}

pub(super) fn ptx_only(name: &str, what: &str, target: Arch) -> Diagnostic {
    let message = format!("'{name}' has no machine code for {target}, only {what}");
    Diagnostic::error(Code::PtxOnly, message).note(format_args!(
        "compile it with code for {target} (nvcc -gencode arch=compute_{0},code=sm_{0}), \
         or run ptxas -c on the PTX",
        number(target)
    ))
}

/// What a compiler said, word for word. It does not know the input's name.
pub(super) fn compiler_said(name: &str, lines: &str) -> Diagnostic {
    let said = Diagnostic::info(Code::CompilerMessage, lines.trim_end());
    match lines.contains(PTX_FROM_MEMORY) {
        true => said.note(format_args!("the PTX of '{name}'")),
        false => said,
    }
}

/// How ptxas names a text that is in no file.
const PTX_FROM_MEMORY: &str = "application ptx input";

/// nvlink's line after those of the compiler: it tells texts that cannot be read from errors
/// that come later, such as too many constants.
pub(super) fn ptx_refused(name: &str, lines: &str) -> Diagnostic {
    let message = match lines.contains("fatal   : ") {
        true => READER_FAILED,
        false => "elfLink JIT compile failed",
    };
    let refused = Diagnostic::fatal(Code::PtxRefused, message);
    // The compiler's lines have named the input already.
    match lines.contains(PTX_FROM_MEMORY) {
        true => refused,
        false => refused.note(format_args!("the compiler refused the PTX of '{name}'")),
    }
}

pub(super) fn not_compiled(name: &str) -> Diagnostic {
    Diagnostic::fatal(Code::PtxRefused, READER_FAILED)
        .note(format_args!("the compiler gave no result for the PTX of '{name}'"))
}

pub(super) fn not_lto(name: &str) -> Diagnostic {
    let message = format!("requested LTO but '{name}' not built for LTO so doing partial LTO");
    Diagnostic::info(Code::NotLto, message)
}

/// Some modules were compiled with an option and others without it.
pub(super) fn lto_option_missing(name: &str, all: &str) -> Diagnostic {
    let message = format!(
        "Some objects do not have '{name}' specified but others do; will build everything with \
         '{all}'"
    );
    Diagnostic::info(Code::LtoOptions, message)
}

/// Modules were compiled with different values of an option.
pub(super) fn lto_options_differ(name: &str) -> Diagnostic {
    let message = format!("Cicc option values for '{name}' do not match");
    Diagnostic::fatal(Code::LtoOptions, message)
        .note("compile all files of the program with the same value")
}

/// LTO-IR in a file by itself, in a link without LTO.
pub(super) fn lto_not_asked_for(name: &str) -> Diagnostic {
    Diagnostic::fatal(Code::InputKind, "should only see nvvm files when -lto")
        .note(format_args!("'{name}' is LTO-IR by its name"))
}

pub(super) fn not_lto_ir(name: &str) -> Diagnostic {
    Diagnostic::fatal(Code::InputKind, "elfLink nvvm error")
        .note(format_args!("'{name}' is not LTO-IR"))
}

/// nvlink gives up after warnings that count as errors before it compiles anything.
pub(super) fn warnings_before_lto() -> Diagnostic {
    Diagnostic::fatal(Code::MergeFailed, "elfLink internal error")
}

pub(super) fn lto_only(name: &str) -> Diagnostic {
    Diagnostic::fatal(Code::LtoOnly, "LTO objects found, use -dlto").note(format_args!(
        "'{name}' has only LTO-IR for the target; compile it without -dlto to get machine code"
    ))
}

pub(super) fn code_over_ptx(name: &str, code: &Entry<'_>, ptx: &Entry<'_>) -> Diagnostic {
    let message = format!("using the {} code of '{name}', not its newer PTX", code.arch());
    Diagnostic::warning(Code::CodeOverPtx, message)
        .note(format_args!("the {} would have to be compiled first", describe(ptx)))
}

pub(super) fn beside_whole_program(name: &str) -> Diagnostic {
    let message = format!("'{name}': -ewp compiled objects should only link with libcudadevrt");
    Diagnostic::warning(Code::BesideWholeProgram, message)
}

pub(super) fn after_system_library(name: &str) -> Diagnostic {
    Diagnostic::fatal(Code::AfterSystemLibrary, "unexpected object after cudadevrt")
        .note(format_args!("name libcudadevrt.a (-lcudadevrt) after '{name}'"))
}

/// The words are nvlink's.
pub(super) fn no_host_code(name: &str) -> Diagnostic {
    let message = format!(
        "Input '{name}' has no host code, which could cause later host link error if there is a \
         reference to it"
    );
    Diagnostic::info(Code::NoHostCode, message)
}

/// An input that is linked though its toolkit is newer than the rules that are applied.
pub(super) fn newer_allowed(name: &str, toolkit: u32, release: &Release) -> Diagnostic {
    let (major, minor) = (toolkit / 10, toolkit % 10);
    let message = format!("linking '{name}' of CUDA {major}.{minor} as CUDA {}", release.version);
    Diagnostic::warning(Code::NewerToolkit, message)
        .note("what that release changed is not known: test what comes out")
}

/// Machine code alone, in a link for a target that has Mercury code.
pub(crate) fn limited_output(name: &str, target: Arch) -> Diagnostic {
    let message = format!(
        "Output is limited to run on SM Arch '{}' only due to limitations in input file {name}",
        target.number
    );
    Diagnostic::warning(Code::LimitedOutput, message)
}
