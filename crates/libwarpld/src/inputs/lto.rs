//! Link-time optimization: the LTO-IR of all inputs becomes one text of PTX, and that either the
//! whole program or one more object of the link.
//!
//! The rules are in docs/rules/lto.md.

use super::compiled::Compilations;
use super::options::{LtoOptions, SelectOptions};
use super::scan::{Loaded, Source, Step};
use super::source_images::{How, LtoIr, Pick};
use super::{check, lto_options, messages};
use crate::compile::{
    Compiled, Compiler, Failure, LtoModule, LtoProgram, PtxModule, UsedByHost, lacks_function,
};
use crate::diag::{Diagnostic, Severity};
use crate::inputs::{HostReferences, LinkInput};
use cubin::{Arch, Variant};
use std::borrow::Cow;

/// The output of a link that is not made by linking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Optimized {
    /// The whole program, compiled.
    Program {
        /// The cubin.
        image: Vec<u8>,
        /// Whether the device runtime is the last input. nvlink wants it to be.
        ends_with_system_library: bool,
    },
    /// PTX text.
    Ptx(Vec<u8>),
}

/// What came of the LTO-IR of a link.
#[derive(Debug, Default)]
pub(super) struct Outcome<'f> {
    /// What there is to say after all inputs.
    pub(super) messages: Vec<Diagnostic>,
    /// The step of the last source with LTO-IR, and the object that takes its place.
    pub(super) object: Option<(usize, LinkInput<'f>)>,
    pub(super) optimized: Option<Optimized>,
    /// Host references count as names, see [`HostReferences::by_name`].
    pub(super) by_name: bool,
}

/// What messages call the code that was made of LTO-IR.
const OBJECT: &str = "lto.cubin";

/// What `-time` and messages call its text.
const TEXT: &str = "lto.ptx";

/// Compiles the LTO-IR among `picks`; nothing if there is none.
pub(super) fn compile<'f>(
    loaded: &Loaded<'f>,
    sources: &[Option<&Source<'f>>],
    picks: &[Option<Pick<'f>>],
    compilations: &mut Compilations<'_>,
    how: How<'_>,
) -> Option<Outcome<'f>> {
    let options = how.options.lto?;
    let ir = |(step, pick): (usize, &Option<Pick<'f>>)| match pick {
        Some(Pick::Other(picked)) => Some((step, picked.lto?)),
        _ => None,
    };
    let modules: Vec<(usize, LtoIr<'f>)> = picks.iter().enumerate().filter_map(ir).collect();
    let (last, _) = *modules.last()?;
    // nvlink takes files of LTO-IR by themselves for a whole program, whatever is missing.
    let only_files = modules.iter().all(|(_, ir)| ir.options.is_none());
    // A selection that will fail compiles nothing.
    if stops(loaded, picks, options) {
        return Some(Outcome::default());
    }
    let name = |step: usize| sources.get(step).copied().flatten().map(|source| &source.name);
    let stored = lto_options::merge(modules.iter().filter_map(|(_, ir)| ir.options), options);
    let mut outcome = Outcome { messages: stored.messages, ..Outcome::default() };
    if is_fatal(&outcome.messages) {
        return Some(outcome);
    }
    let modules = modules.iter().filter_map(|&(step, ir)| {
        let options = Cow::Borrowed(ir.options.unwrap_or_default());
        Some(LtoModule { name: name(step)?.clone(), data: ir.data, options })
    });
    let partial = options.partial || picks.iter().flatten().any(has_images);
    let decides = !options.whole && loaded.has_system_library && !only_files;
    let program = LtoProgram {
        modules: modules.collect(),
        target: how.options.arch,
        partial,
        partial_if_undefined: decides,
        registers: stored.registers,
        used: used(loaded, how.options),
    };
    let compiler = compilations.compiler?;
    let text = compilations.lto_text(|| compiler.lto(&program)).clone();
    let Some(text) = take(text, &mut outcome.messages) else { return Some(outcome) };
    if options.ptx_only {
        outcome.optimized = Some(Optimized::Ptx(text));
        return Some(outcome);
    }
    outcome.by_name = !partial && decides && lacks_function(&text);
    let partial = partial || outcome.by_name;
    let module = module(text, &program, partial);
    let image = compilations.lto_image(|| assemble(compiler, module)).clone();
    let Some(image) = take(image, &mut outcome.messages) else { return Some(outcome) };
    if partial {
        match check::check(OBJECT, &image, how.options.arch, how.limits) {
            Ok(_) => {
                outcome.object = Some((last, LinkInput::new(OBJECT.into(), Cow::Owned(image))));
            }
            Err(message) => outcome.messages.push(message),
        }
    } else {
        let ends_with_system_library = ends_with_system_library(loaded);
        outcome.optimized = Some(Optimized::Program { image, ends_with_system_library });
    }
    Some(outcome)
}

/// Whether the selection ends with an error before it gets to LTO-IR.
fn stops(loaded: &Loaded<'_>, picks: &[Option<Pick<'_>>], options: LtoOptions) -> bool {
    let counts = |message: &Diagnostic| {
        message.severity == Severity::Fatal
            || options.warnings_fail && message.severity == Severity::Warning
    };
    let said = loaded.scanned.iter().any(|item| match &item.step {
        Step::Messages(list) => list.iter().any(counts),
        _ => false,
    });
    said || picks.iter().flatten().any(|pick| match pick {
        Pick::Image(_) => false,
        Pick::Other(picked) => picked.messages.iter().any(counts),
    })
}

fn is_fatal(messages: &[Diagnostic]) -> bool {
    messages.iter().any(|message| message.severity == Severity::Fatal)
}

fn has_images(pick: &Pick<'_>) -> bool {
    match pick {
        Pick::Image(_) => true,
        Pick::Other(picked) => !picked.images.is_empty(),
    }
}

/// What host code uses, for compilers that cannot read the host sections.
fn used(loaded: &Loaded<'_>, options: &SelectOptions) -> Option<UsedByHost> {
    if options.ignore_host_info {
        return None;
    }
    let HostReferences {
        mut kernels_external,
        kernels_internal,
        mut variables,
        constants_external,
        constants_internal,
        by_name: _,
    } = loaded.host_references(options)?;
    kernels_external.extend(kernels_internal);
    variables.extend(constants_external);
    variables.extend(constants_internal);
    Some(UsedByHost { kernels: kernels_external, variables })
}

/// The text to assemble. nvlink up to 13.1 leaves the letter of the target out of it, and up to
/// 13.2 that of a family; then ptxas takes `a` from the command line, and `f` is lost.
/// (`lto-accelerated`, `lto-family`)
fn module<'f>(text: Vec<u8>, program: &LtoProgram<'_>, relocatable: bool) -> PtxModule<'f> {
    let target = program.target;
    let plain = Arch { variant: Variant::Plain, ..target };
    let is_lost = target.variant == Variant::Family && names_target(&text, plain);
    let target = if is_lost { plain } else { target };
    let options = match program.registers {
        Some(count) => format!("-maxrregcount={count}").into_bytes(),
        None => Vec::new(),
    };
    PtxModule {
        name: TEXT.into(),
        text: Cow::Owned(text),
        options: Cow::Owned(options),
        target,
        relocatable,
    }
}

/// Assembles a text as it is, so that debug information quotes it as nvlink's does. A text for an
/// accelerated target that does not say so may be refused for its instructions, as in nvlink; it
/// gets its letter then.
fn assemble(compiler: &dyn Compiler, module: PtxModule<'_>) -> Compiled {
    let compile = |module: &PtxModule<'_>| {
        let result = compiler.ptx(std::slice::from_ref(module)).pop();
        let refused = || Compiled { output: Err(Failure::Refused), messages: String::new() };
        result.unwrap_or_else(refused)
    };
    let first = compile(&module);
    let target = module.target;
    let plain = Arch { variant: Variant::Plain, ..target };
    let lacks_letter = target.variant == Variant::Accelerated && names_target(&module.text, plain);
    if !matches!(first.output, Err(Failure::Refused)) || !lacks_letter {
        return first;
    }
    let text = retarget(module.text.into_owned(), plain, target);
    let second = compile(&PtxModule { text: Cow::Owned(text), ..module });
    if second.output.is_ok() { second } else { first }
}

/// The output of a compiler, or nothing; what it said, and why there is none, goes to `messages`.
fn take(compiled: Compiled, messages: &mut Vec<Diagnostic>) -> Option<Vec<u8>> {
    if !compiled.messages.is_empty() {
        messages.push(messages::compiler_said(TEXT, &compiled.messages));
    }
    match compiled.output {
        Ok(output) => Some(output),
        Err(Failure::Refused) => {
            messages.push(messages::ptx_refused(TEXT, &compiled.messages));
            None
        }
        Err(Failure::Unavailable(reason)) => {
            messages.push(*reason);
            None
        }
    }
}

/// Whether the device runtime is the last input with device code.
fn ends_with_system_library(loaded: &Loaded<'_>) -> bool {
    let last = loaded.scanned.iter().rev().find_map(|item| match &item.step {
        Step::Source(source) => Some(source.system_library),
        _ => None,
    });
    last.unwrap_or(false)
}

/// The line of a text that names its target, without what follows the name.
fn target_line(text: &[u8]) -> Option<(usize, &[u8])> {
    let mut at = 0;
    for line in text.split(|&byte| byte == b'\n') {
        if let Some(rest) = line.strip_prefix(b".target ") {
            let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_');
            return Some((at + b".target ".len(), rest.get(..length.count())?));
        }
        at += line.len() + 1;
    }
    None
}

fn names_target(text: &[u8], arch: Arch) -> bool {
    target_line(text).is_some_and(|(_, name)| name == arch.to_string().as_bytes())
}

/// Puts another target in place of the one that is named.
fn retarget(mut text: Vec<u8>, from: Arch, to: Arch) -> Vec<u8> {
    if let Some((at, _)) = target_line(&text) {
        text.splice(at..at + from.to_string().len(), to.to_string().into_bytes());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_get_their_letter() {
        let (plain, accelerated) = ("sm_90".parse().unwrap(), "sm_90a".parse().unwrap());
        let text = b".version 9.0\n.target sm_90, debug\n".to_vec();
        assert!(names_target(&text, plain) && !names_target(&text, accelerated));
        let text = retarget(text, plain, accelerated);
        assert_eq!(text, b".version 9.0\n.target sm_90a, debug\n");
    }
}
