//! What a link needs compiled, and who compiles it. The linker starts no process and loads no
//! library: the caller brings a [`Compiler`].
//!
//! nvlink compiles PTX and LTO-IR with a compiler inside of it. The compilers of a CUDA toolkit
//! make the same code: `ptxas` from PTX; `nvlink -dlto -emit-ptx` or libnvJitLink make PTX from
//! LTO-IR. The command `warpld` runs them; a program that links in memory may use others.

use crate::builtins::is_builtin_function;
use crate::diag::Diagnostic;
use cubin::Arch;
use std::borrow::Cow;
use std::sync::Arc;

/// Makes machine code of what inputs have in place of it. A link asks only if it must.
pub trait Compiler: Sync {
    /// Whether PTX can be compiled. Asked where an input has both newer PTX and older machine
    /// code: nvlink takes the PTX, a link without a compiler the machine code.
    fn compiles_ptx(&self) -> bool;

    /// Compiles PTX modules, each by itself; one result for each, in their order.
    fn ptx(&self, modules: &[PtxModule<'_>]) -> Vec<Compiled>;

    /// Whether LTO-IR can be compiled. Asked where `-dlto` was given and an input has it: a link
    /// without such a compiler takes machine code, if there is some.
    fn compiles_lto(&self) -> bool;

    /// Makes one PTX text of the LTO-IR of all inputs.
    fn lto(&self, program: &LtoProgram<'_>) -> Compiled;
}

/// PTX to compile.
#[derive(Clone, Debug)]
pub struct PtxModule<'a> {
    /// The input it comes from, as messages name it.
    pub name: Arc<str>,
    /// The text, without a closing NUL.
    pub text: Cow<'a, [u8]>,
    /// Options that stand beside the text in a fatbin, separated by blanks.
    pub options: Cow<'a, [u8]>,
    /// The target of the link.
    pub target: Arch,
    /// Whether an object is wanted that can be linked with others (`ptxas -c`), or a program.
    pub relocatable: bool,
}

/// LTO-IR to compile, in link order, and what must stay visible.
#[derive(Clone, Debug)]
pub struct LtoProgram<'a> {
    /// The inputs with LTO-IR.
    pub modules: Vec<LtoModule<'a>>,
    /// The target of the link.
    pub target: Arch,
    /// Whether other code is linked to the result.
    pub partial: bool,
    /// Whether that is also so if functions stay undefined: the device runtime may have them.
    pub partial_if_undefined: bool,
    /// How many registers the inputs allow, unless the link says.
    pub registers: Option<u32>,
    /// What host code uses, if all inputs say; else everything stays.
    pub used: Option<UsedByHost>,
}

/// Names of what host code uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedByHost {
    /// Kernels.
    pub kernels: Vec<Vec<u8>>,
    /// Variables, constants among them.
    pub variables: Vec<Vec<u8>>,
}

/// An input with LTO-IR.
#[derive(Clone, Debug)]
pub struct LtoModule<'a> {
    /// Its name in messages.
    pub name: Arc<str>,
    /// LTO-IR by itself, or a fatbin that holds some.
    pub data: &'a [u8],
    /// Options of the compilation that the fatbin keeps beside the LTO-IR.
    pub options: Cow<'a, [u8]>,
}

/// What came of a compilation.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The cubin or the text.
    pub output: Result<Vec<u8>, Failure>,
    /// What the compiler said, line by line, word for word.
    pub messages: String,
}

/// Why there is no output.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The compiler refused its input. Its messages say why.
    Refused,
    /// It could not be run, or did not do its work.
    Unavailable(Box<Diagnostic>),
}

/// Whether the text calls for a function that is not in it and that the driver does not have.
/// nvlink then leaves the code linkable, if the device runtime is there to be linked
/// (`lto-missing-function`).
pub fn lacks_function(text: &[u8]) -> bool {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let mut declared = lines.filter_map(|line| {
        let rest = line.strip_prefix(b".extern")?.trim_ascii_start();
        Some(rest.strip_prefix(b".func")?.trim_ascii_start())
    });
    declared.any(|rest| !is_builtin_function(function_name(rest)))
}

/// The name of a function: behind the result in parentheses, if there is one.
fn function_name(declaration: &[u8]) -> &[u8] {
    let after_result = match declaration.strip_prefix(b"(") {
        Some(rest) => {
            let close = rest.iter().position(|&byte| byte == b')').map_or(rest.len(), |at| at + 1);
            rest.get(close..).unwrap_or_default().trim_ascii_start()
        }
        None => declaration,
    };
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%');
    let length = after_result.iter().take_while(|byte| is_name(byte)).count();
    after_result.get(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_are_missing() {
        for (text, lacks) in [
            (".visible .func f()\n", false),
            (".extern .func  (.param .b32 func_retval0) vprintf\n(\n", false),
            (".extern .func malloc\n", false),
            (".extern .func  (.param .b32 func_retval0) _Z3fooi\n(\n", true),
            (".extern .func _Z3fooi\n", true),
            (".extern .global .align 4 .u32 x;\n", false),
        ] {
            assert_eq!(lacks_function(text.as_bytes()), lacks, "{text}");
        }
    }
}
