//! The stable codes of messages: what each means and what to do. The guide's
//! list is made from this table.

use std::fmt::{self, Write};

/// Makes the enum of codes and what is known of each from one table.
macro_rules! codes {
    ($($variant:ident, $name:literal, $meaning:literal, $advice:literal;)*) => {
        /// The stable code of a message; the guide lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs)]
        pub enum Code {
            $($variant,)*
        }

        impl Code {
            /// All codes, by name.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name that messages carry, such as `undefined-symbol`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What it means.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)*
                }
            }

            /// What to do, printed under the message; empty if that depends.
            fn advice_text(self) -> &'static str {
                match self {
                    $(Self::$variant => $advice,)*
                }
            }
        }
    };
}

codes! {
    AbiMismatch, "abi-mismatch", "A cubin has an ABI version that this linker does not know.", "";
    AfterSystemLibrary, "after-system-library", "An object with missing functions follows libcudadevrt.a.", "";
    AlreadyLinked, "already-linked", "An input is the result of a link, not relocatable.", "";
    ArchMismatch, "arch-mismatch", "A cubin was compiled for an architecture whose code does not run on the target.", "";
    ArchNotFound, "arch-not-found", "An object has no code for the target; it contributes nothing to the link.", "add the target when you compile (-gencode), or pass --suppress-arch-warning";
    BadOptionValue, "bad-option-value", "An option was given a value that it does not accept.", "";
    BadRelocation, "bad-relocation", "An input has an invalid relocation.", "";
    BadUidx, "bad-uidx", "The file given to --uidx-file is not an index.", "";
    BesideWholeProgram, "beside-whole-program", "An object compiled with -ewp is linked with others.", "";
    CannotOpenInput, "cannot-open-input", "An input does not exist, cannot be read or is too short.", "";
    CannotOpenOutput, "cannot-open-output", "The output, or a side file, cannot be created.", "";
    CodeOverPtx, "code-over-ptx", "Machine code was linked although the input also has newer PTX.", "";
    CommonTooLarge, "common-too-large", "A common symbol is larger than the definition of the same name.", "";
    CompilerFailed, "compiler-failed", "A compiler crashed, or did not do its work.", "";
    CompilerMessage, "compiler-message", "What a compiler said, word for word.", "";
    CompilerTimeout, "compiler-timeout", "A compiler did not end in time.", "allow it more time with --compiler-timeout=SECONDS";
    ConflictingOptions, "conflicting-options", "Two options exclude each other, or one needs another.", "";
    DamagedArchive, "damaged-archive", "An archive is cut off or malformed.", "";
    DamagedFatbin, "damaged-fatbin", "A fatbin is cut off, malformed or does not decompress.", "";
    DamagedImage, "damaged-image", "A cubin is cut off or malformed.", "";
    DamagedInput, "damaged-input", "A cubin has inconsistent tables.", "";
    DamagedMember, "damaged-member", "An archive member is malformed and was skipped.", "";
    DeadAlias, "dead-alias", "An alias is unused, but the function behind it is used.", "";
    EmptyOutput, "empty-output", "No input has device code, so the output is empty.", "";
    FinalizerFailed, "finalizer-failed", "Mercury code cannot be turned into machine code.", "";
    FnlzrTrace, "fnlzr-trace", "A line of --fnlzr-trace.", "";
    HandedOver, "handed-over", "The link was handed over to nvlink (`--fallback`).", "";
    HostLinkerScript, "host-linker-script", "The host linker did not print its script.", "";
    IncompatibleLibrary, "incompatible-library", "A library found by -l has nothing for this host and was skipped.", "";
    InputChanged, "input-changed", "An input was changed while it was being linked.", "";
    InputKind, "input-kind", "An input is not what its name says.", "";
    KernelMismatch, "kernel-mismatch", "A function is a kernel in one file and not in another.", "";
    LimitedOutput, "limited-output", "An input lacks the attribute that lets the output run elsewhere.", "";
    LtoFailed, "lto-failed", "The LTO-IR of the inputs could not be compiled.", "";
    LtoOnly, "lto-only", "An input holds LTO-IR and no machine code for the target.", "";
    LtoOptions, "lto-options", "Inputs with LTO-IR were compiled with different options.", "";
    LtoUnsupported, "lto-unsupported", "-dlto was given; machine code is linked in its place.", "";
    ManagedMismatch, "managed-mismatch", "A variable is __managed__ in one file and not in another.", "declare it the same way everywhere";
    MergeFailed, "merge-failed", "The link stopped because of the errors above.", "";
    MixedCtaGroups, "mixed-cta-groups", "A kernel uses tensor memory for single CTAs and, itself or in what it calls, for pairs.", "use one `.cta_group` in all that a kernel calls";
    ModuleIds, "module-ids", "A host object has invalid module ids.", "";
    MultipleDefinition, "multiple-definition", "Two inputs define the same function or variable.", "if it stands in a header, make it inline or static; if an input is named twice, name it once";
    NeedsCompiler, "needs-compiler", "The input must be compiled again for this target.", "";
    NeverCalled, "never-called", "The address of a function is taken, but no indirect call has its type.", "";
    NewerToolkit, "newer-toolkit", "An input was compiled by a newer CUDA release than the one whose rules the link follows.", "";
    NoArch, "no-arch", "No target was named.", "";
    NoCompiler, "no-compiler", "The link needs a compiler that is not there or cannot be run.", "";
    NoFatbin, "no-fatbin", "A host object announces device code but has none.", "";
    NoHostCode, "no-host-code", "A cubin or fatbin is registered, but has no host code to register it.", "";
    NoInputs, "no-inputs", "There is nothing to link.", "";
    NoLibnvvm, "no-libnvvm", "Link-time optimization was requested and there is no libnvvm.", "";
    NoOutputName, "no-output-name", "No output was named.", "";
    NoThreads, "no-threads", "The threads of the link cannot be started.", "";
    NoUidx, "no-uidx", "There are unified functions or variables and no index of them.", "";
    Not64Bit, "not-64-bit", "A device image is not 64-bit.", "";
    NotLto, "not-lto", "-dlto was given; an input has no LTO-IR, its machine code is linked.", "";
    NotToolsPatch, "not-tools-patch", "A function of a link with -astoolspatch was not compiled for it.", "compile it with ptxas -astoolspatch";
    NothingToLink, "nothing-to-link", "No input of a link has relocatable device code for the target.", "";
    OlderToolkit, "older-toolkit", "An input was compiled by a toolkit before CUDA 12.0.", "compile it again";
    OlderWholeProgram, "older-whole-program", "A whole program (`-ewp`) was compiled by a toolkit before CUDA 13.0.", "compile it again";
    OptionArgument, "option-argument", "An option lacks its value, or a flag has one.", "";
    OptionIgnored, "option-ignored", "An option has no effect because of another one.", "";
    OptionsFile, "options-file", "An options file cannot be read, or options files include each other.", "";
    OutOfMemory, "out-of-memory", "The output does not fit in memory.", "";
    OutputConflict, "output-conflict", "An output would replace an input, or another output.", "";
    ParameterMismatch, "parameter-mismatch", "Two files declare a function with different parameters.", "declare it the same way everywhere";
    PreserveRelocs, "preserve-relocs", "--preserve-relocs is incomplete for this target, as in nvlink.", "";
    PrototypeMismatch, "prototype-mismatch", "Two files declare a function with different prototypes.", "declare it the same way everywhere";
    PtxCache, "ptx-cache", "The cache of --ptx-cache cannot be used; everything was compiled.", "";
    PtxOnly, "ptx-only", "An input has PTX for the target and no machine code.", "";
    PtxRefused, "ptx-refused", "A compiler refused the PTX of an input.", "";
    PureMercury, "pure-mercury", "An input has Mercury code that only NVIDIA's finalizer can use.", "";
    RedefinedOption, "redefined-option", "An option was given twice; the last value counts.", "";
    ReservedShared, "reserved-shared", "A function uses the shared memory that --disable-smem-reservation takes away.", "";
    ResourceUsage, "resource-usage", "A line of -v.", "";
    SizeMismatch, "size-mismatch", "A variable has different sizes in two files.", "declare it the same way everywhere";
    SpaceMismatch, "space-mismatch", "A variable is in different memory spaces in two files.", "declare it the same way everywhere";
    TensorMemoryMismatch, "tensor-memory-mismatch", "Two inputs allocate tensor memory in different ways: one was compiled by CUDA 12, one by CUDA 13.", "compile the older one again";
    TooManyImages, "too-many-images", "The link has more texture, sampler or surface references than a kernel has handles for.", "use texture and surface objects (`cudaTextureObject_t`)";
    TooManyRegisters, "too-many-registers", "A callee needs more registers than the launch bounds of a kernel allow.", "";
    TooMuchConstant, "too-much-constant", "The constants of all inputs exceed 64 KiB.", "";
    TooMuchShared, "too-much-shared", "A kernel has more static shared memory than allowed.", "";
    UndefinedSymbol, "undefined-symbol", "Nothing defines a function or variable that code refers to.", "";
    UnifiedCapsules, "unified-capsules", "Unified functions or variables of a Blackwell input, whose tables warpld does not link.", "name a CUDA toolkit whose nvlink does it (`--cuda-path`)";
    UnknownArch, "unknown-arch", "A cubin names no target.", "";
    UnknownOption, "unknown-option", "No such option.", "";
    UnknownStack, "unknown-stack", "The stack size of a kernel is unknown because of recursion.", "";
    VerifyFailed, "verify-failed", "The output is malformed: a bug in the linker.", "";
    VirtualTarget, "virtual-target", "The target cannot be linked for.", "";
    WriteFailed, "write-failed", "A file could not be written completely.", "";
    WrongModeBits, "wrong-mode-bits", "A cubin claims to be machine code and Mercury code at once.", "";
}

impl Code {
    /// What to do about a message of this kind, unless that depends.
    pub fn advice(self) -> Option<&'static str> {
        Some(self.advice_text()).filter(|advice| !advice.is_empty())
    }

    /// Whether a message of this kind says that warpld lacks something which nvlink may have,
    /// and not that the program, the command line or the machine is at fault. Only such links are
    /// handed over to nvlink.
    pub fn is_missing_feature(self) -> bool {
        match self {
            Self::AbiMismatch
            | Self::FinalizerFailed
            | Self::LtoOnly
            | Self::LtoUnsupported
            | Self::NeedsCompiler
            | Self::NewerToolkit
            | Self::NoCompiler
            | Self::PtxOnly
            | Self::PureMercury
            | Self::UnifiedCapsules
            | Self::UnknownOption
            | Self::VerifyFailed => true,
            Self::AfterSystemLibrary
            | Self::AlreadyLinked
            | Self::ArchMismatch
            | Self::ArchNotFound
            | Self::BadOptionValue
            | Self::BadRelocation
            | Self::BadUidx
            | Self::BesideWholeProgram
            | Self::CannotOpenInput
            | Self::CannotOpenOutput
            | Self::CodeOverPtx
            | Self::CommonTooLarge
            | Self::CompilerFailed
            | Self::CompilerMessage
            | Self::CompilerTimeout
            | Self::ConflictingOptions
            | Self::DamagedArchive
            | Self::DamagedFatbin
            | Self::DamagedImage
            | Self::DamagedInput
            | Self::DamagedMember
            | Self::DeadAlias
            | Self::EmptyOutput
            | Self::FnlzrTrace
            | Self::HandedOver
            | Self::HostLinkerScript
            | Self::IncompatibleLibrary
            | Self::InputChanged
            | Self::InputKind
            | Self::KernelMismatch
            | Self::LimitedOutput
            | Self::LtoFailed
            | Self::LtoOptions
            | Self::ManagedMismatch
            | Self::MergeFailed
            | Self::MixedCtaGroups
            | Self::ModuleIds
            | Self::MultipleDefinition
            | Self::NeverCalled
            | Self::NoArch
            | Self::NoFatbin
            | Self::NoHostCode
            | Self::NoInputs
            | Self::NoLibnvvm
            | Self::NoOutputName
            | Self::NoThreads
            | Self::NoUidx
            | Self::Not64Bit
            | Self::NotLto
            | Self::NotToolsPatch
            | Self::NothingToLink
            | Self::OlderToolkit
            | Self::OlderWholeProgram
            | Self::OptionArgument
            | Self::OptionIgnored
            | Self::OptionsFile
            | Self::OutOfMemory
            | Self::OutputConflict
            | Self::ParameterMismatch
            | Self::PreserveRelocs
            | Self::PrototypeMismatch
            | Self::PtxCache
            | Self::PtxRefused
            | Self::RedefinedOption
            | Self::ReservedShared
            | Self::ResourceUsage
            | Self::SizeMismatch
            | Self::SpaceMismatch
            | Self::TensorMemoryMismatch
            | Self::TooManyImages
            | Self::TooManyRegisters
            | Self::TooMuchConstant
            | Self::TooMuchShared
            | Self::UndefinedSymbol
            | Self::UnknownArch
            | Self::UnknownStack
            | Self::VirtualTarget
            | Self::WriteFailed
            | Self::WrongModeBits => false,
        }
    }
}

impl Code {
    /// Whether nvlink reports these after all other errors (`register-bound`).
    pub(crate) fn is_reported_last(self) -> bool {
        self == Self::TooManyRegisters
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
/// What the guide says where a message itself says nothing, or more than that,
/// in its notes.
fn remedy(code: Code) -> &'static str {
    match code {
        Code::AbiMismatch => "compile it again with CUDA 12 or 13",
        Code::AfterSystemLibrary => "name libcudadevrt.a after all objects",
        Code::AlreadyLinked => "link the relocatable objects that it was made from",
        Code::ArchMismatch => "link for the target it was compiled for, or compile it for this one",
        Code::BadOptionValue | Code::OptionArgument | Code::UnknownOption => {
            "the notes may say what was meant; [options](options.md) lists all"
        }
        Code::BadRelocation
        | Code::DamagedArchive
        | Code::DamagedFatbin
        | Code::DamagedImage
        | Code::DamagedInput
        | Code::DamagedMember
        | Code::ModuleIds
        | Code::NoFatbin
        | Code::WrongModeBits => {
            "build the file again; if it comes from a compiler as it is, report it"
        }
        Code::BesideWholeProgram => "compile it with -rdc=true or -dc in place of -ewp",
        Code::CannotOpenInput | Code::CannotOpenOutput | Code::OptionsFile | Code::WriteFailed => {
            "the notes have the system's reason: name, rights, space"
        }
        Code::OutputConflict => "give the output another name",
        Code::PtxRefused => "the compiler's lines before it say why",
        Code::CodeOverPtx
        | Code::CompilerMessage
        | Code::FnlzrTrace
        | Code::HandedOver
        | Code::NotLto
        | Code::RedefinedOption
        | Code::ResourceUsage => "nothing, it is a remark",
        Code::CommonTooLarge => "declare it the same way everywhere",
        Code::CompilerFailed => {
            "the notes and its own messages say more; try another release of the toolkit"
        }
        Code::DeadAlias => "call the function by that name too, or take the alias away",
        Code::EmptyOutput => "compile with -dc (or -rdc=true), or leave out the link",
        Code::InputChanged => {
            "link after whatever writes it is done; the build may lack a dependency"
        }
        Code::KernelMismatch => "declare it `__global__` everywhere or nowhere",
        Code::LtoOnly | Code::NeedsCompiler | Code::PtxOnly | Code::PureMercury => {
            "compile it to machine code for the target (`-gencode arch=compute_90,code=sm_90`)"
        }
        Code::MergeFailed => "see the errors before it",
        Code::LtoOptions => "compile all files with the same options",
        Code::LtoFailed => "the compiler's lines before it say why",
        Code::NoArch | Code::VirtualTarget => "name a target, for example `-arch=sm_90`",
        Code::NothingToLink => "compile with -dc (or -rdc=true) for the target",
        Code::NoCompiler => {
            "name a CUDA toolkit (`--cuda-path`), or compile to machine code; `warpld toolkit` shows \
             what is found"
        }
        Code::NoInputs => "name the objects to link",
        Code::NoLibnvvm => "`-nvvmpath` names the nvvm folder of the CUDA toolkit",
        Code::NoOutputName => "name the output with `-o`",
        Code::OutOfMemory => "use a machine with more memory, or link fewer inputs",
        Code::TooManyRegisters => {
            "raise the kernel's bound (`-maxrregcount`, `__launch_bounds__`) or lower the callee's"
        }
        Code::TooMuchConstant => "move the largest ones to `__device__` memory",
        Code::TooMuchShared => "allocate it when the kernel is launched (`extern __shared__`)",
        Code::UndefinedSymbol => "name the object or library that defines it, compiled with `-dc`",
        Code::UnknownStack => "set `cudaLimitStackSize`, or pass `--suppress-stack-size-warning`",
        Code::VerifyFailed => "report it with the inputs",
        _ => "see the notes",
    }
}

/// The guide's list of messages in Markdown.
pub fn guide_page() -> String {
    let mut out = String::from(
        "# Messages\n\nThis page comes from the table of codes; a test keeps it current.\n\n\
         Every message is one line in nvlink's words, followed by notes that begin with `=`. \
         Under its own name warpld ends the line with the code in brackets; \
         `--error-format=json` prints one object per message with the fields `tool`, `severity`, \
         `code`, `message`, `symbol`, `demangled`, `kernel`, `target` and `notes`.\n\n\
         `fatal` messages end the link at once with exit status 1, `error` messages at its end \
         with 255. `warning` and `info` messages leave it at 0.\n\n\
         | code | meaning | what to do |\n|---|---|---|\n",
    );
    for &code in Code::ALL {
        let advice = code.advice().unwrap_or_else(|| remedy(code));
        let _ = writeln!(out, "| `{code}` | {} | {advice} |", code.meaning());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_by_name() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.name() < b.name()));
    }
}
