//! The option table.
//!
//! Rows have the order in which nvlink's tool note lists the options, as observed by giving all of
//! them in one link and reading the note. Rows of options that no note lists follow.

use super::row::Group::{Basic, General, Lto, Messages, Output, Reports, Search};
use super::row::{Kind, Note, Row};
use cubin::Arch;
use libwarpld::Release;

/// All targets without prefix, by number.
pub const TARGETS: [&str; 26] = [
    "75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f",
    "107", "107a", "107f", "110", "110a", "110f", "120", "120a", "120f", "121", "121a", "121f",
];

/// Prefixes of targets.
pub const TARGET_PREFIXES: [&str; 3] = ["sm_", "compute_", "lto_"];

const CPUS: &[&str] = &["AARCH64", "ARMv7", "PPC64LE", "RISCV64", "X86", "X86_64", "unknown"];

/// The first release that knows a value of an option.
pub fn value_since(row: &Row, value: &[u8]) -> &'static Release {
    let target = || -> Option<&'static Release> {
        let (_, name) = std::str::from_utf8(value).ok()?.split_once('_')?;
        Release::first_with(format!("sm_{name}").parse::<Arch>().ok()?)
    };
    match (row.kind, value) {
        (Kind::Target, _) => target().unwrap_or(Release::OLDEST),
        (Kind::Choice(CPUS), b"RISCV64") => &Release::CUDA_13_3,
        _ => Release::OLDEST,
    }
}

macro_rules! options {
    ($($id:ident: $row:expr;)*) => {
        /// Names the rows of [`TABLE`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Opt { $($id),* }

        /// All options, in the order of the tool note.
        pub const TABLE: &[(Opt, Row)] = &[$((Opt::$id, $row)),*];
    };
}

options! {
    SuppressStackSizeWarning: Row::both("suppress-stack-size-warning", Messages)
        .note(Note::Always)
        .help("Do not warn about kernels whose stack size is unknown.");
    SuppressArchWarning: Row::both("suppress-arch-warning", Messages)
        .note(Note::Always)
        .help("Do not warn about inputs without code for the target.");
    Output: Row::new("output-file", "o", Basic)
        .takes(Kind::Text, "FILE")
        .note(Note::VerboseFile)
        .help("Write the linked cubin to FILE. FILE is replaced atomically when the link succeeds; a failed link does not change it.");
    Debug: Row::new("debug", "g", Output)
        .note(Note::Always)
        .help("Link for debugging: keep unreachable code and record file names in the tool note.");
    Arch: Row::both("arch", Basic)
        .takes(Kind::Target, "TARGET")
        .note(Note::Always)
        .help("Link for TARGET, such as sm_90a. From each input, the image that fits it best is linked. With compute_NN, inputs are read and registered, but nothing is linked.");
    Machine: Row::new("machine", "m", Output)
        .takes(Kind::NumberChoice(&[64]), "BITS")
        .glued()
        .note(Note::Always)
        .help("Width of addresses; only 64 is supported.");
    Library: Row::new("library", "l", Search)
        .takes(Kind::List, "NAME,...")
        .glued()
        .note(Note::Always)
        .help("Link libNAME.a from the search path. Libraries follow all other inputs. A library that is not found, or that exists as libNAME.so, is ignored, because host libraries are passed here as well.");
    LibraryPath: Row::new("library-path", "L", Search)
        .takes(Kind::List, "DIR,...")
        .glued()
        .note(Note::Always)
        .help("Search DIR for libraries. The directories in the environment variable LIBRARY_PATH are searched afterwards.");
    RegisterLinkBinaries: Row::new("register-link-binaries", "", Reports)
        .takes(Kind::Text, "FILE")
        .note(Note::VerboseFile)
        .help("Write the names of the registration functions of all linked objects to FILE, a C header for nvcc's link stub.");
    Verbose: Row::new("verbose", "v", Reports)
        .note(Note::Always)
        .help("Report the memory use of the image, and the registers, barriers, stack and memory of each kernel.");
    Verbose2: Row::new("verbose2", "v2", Reports)
        .note(Note::Always)
        .since(&Release::CUDA_13_2)
        .help("Report what the compiler does. A link without a compiler has nothing to add.");
    PreserveRelocs: Row::both("preserve-relocs", Output)
        .note(Note::Always)
        .help("Keep the relocations that were applied.");
    DisableWarnings: Row::new("disable-warnings", "w", Messages)
        .note(Note::Always)
        .help("Print no warnings.");
    WarningAsError: Row::new("warning-as-error", "Werror", Messages)
        .note(Note::Always)
        .help("Treat warnings as errors.");
    DisableInfos: Row::both("disable-infos", Messages)
        .note(Note::Always)
        .help("Print no info messages. As in nvlink, this also disables --warning-as-error.");
    KeepSystemLibraries: Row::both("keep-system-libraries", Search)
        .note(Note::Always)
        .help("Link libcudadevrt.a even if nothing needs it.");
    KernelsUsed: Row::both("kernels-used", Output)
        .takes(Kind::List, "PATTERN,...")
        .note(Note::Always)
        .help("Keep only the kernels whose mangled name contains PATTERN; '*' in it matches any text.");
    VariablesUsed: Row::both("variables-used", Output)
        .takes(Kind::List, "PATTERN,...")
        .note(Note::Always)
        .help("Keep only the variables whose mangled name contains PATTERN. Without --kernels-used, all kernels are dropped.");
    CpuArch: Row::both("cpu-arch", Search)
        .takes(Kind::Choice(CPUS), "CPU")
        .note(Note::Always)
        .help("Archives found through -l must contain objects for CPU; 'unknown' is this machine.");
    ReportArch: Row::both("report-arch", Messages)
        .note(Note::Always)
        .help("Print the target at the end of every message.");
    Time: Row::both("time", Reports)
        .takes(Kind::Text, "FILE")
        .note(Note::VerboseFile)
        .help("Append times as comma-separated values to FILE, or to standard output if FILE is '-'. Only links that compile PTX or LTO-IR have phases to time.");
    EmitPtx: Row::both("emit-ptx", Lto)
        .note(Note::Always)
        .help("Write the optimized PTX instead of a cubin.");
    ExtraWarnings: Row::new("extra-warnings", "extrawarn", Messages)
        .note(Note::Always)
        .help("Also warn about functions whose address is taken but that are never called indirectly.");
    LinkTimeOpt: Row::new("link-time-opt", "lto", Lto)
        .note(Note::Always)
        .help("Optimize at link time.");
    Dlto: Row::both("dlto", Lto)
        .note(Note::Always)
        .help("The same as -lto.");
    NvvmPath: Row::both("nvvmpath", Lto)
        .takes(Kind::Text, "DIR")
        .note(Note::Always)
        .help("Use DIR/lib64/libnvvm.so.");
    SplitCompile: Row::both("split-compile", Lto)
        .takes(Kind::Number, "N")
        .note(Note::Always)
        .help("Number of threads for optimizing.");
    SplitCompileExtended: Row::both("split-compile-extended", Lto)
        .takes(Kind::Number, "N")
        .note(Note::Always)
        .help("Number of threads for optimizing and assembling.");
    OfastCompile: Row::new("Ofast-compile", "Ofc", Lto)
        .takes(Kind::Text, "0|min|mid|max")
        .note(Note::Always)
        .help("Trade code quality for compile time.");
    SuppressDebugInfo: Row::both("suppress-debug-info", Output)
        .note(Note::Always)
        .help("Omit the debug information of recompiled code; requires -g.");
    LinkAsToolsPatch: Row::new("link-as-tools-patch", "astoolspatch", Output)
        .note(Note::Always)
        .since(&Release::CUDA_13_3)
        .help("Link code that was compiled with the option of ptxas of this name, to be loaded into programs by CUDA's tools: keep all of it, and refuse functions without the mark.");
    Xptxas: Row::both("Xptxas", Lto)
        .takes(Kind::List, "OPTION,...")
        .note(Note::Always)
        .help("Options for the assembler.");
    Xnvvm: Row::both("Xnvvm", Lto)
        .takes(Kind::List, "OPTION,...")
        .note(Note::Always)
        .help("Options for libnvvm.");
    MaxRregCount: Row::both("maxrregcount", Lto)
        .takes(Kind::Number, "N")
        .note(Note::Always)
        .help("Maximum number of registers of recompiled code.");
    DumpCallgraph: Row::both("dump-callgraph", Reports)
        .note(Note::Always)
        .help("Print the call graph with demangled names to standard error.");
    DumpCallgraphNoDemangle: Row::both("dump-callgraph-no-demangle", Reports)
        .note(Note::Always)
        .help("Print the call graph with mangled names to standard error.");
    UseHostInfo: Row::both("use-host-info", Output)
        .note(Note::Always)
        .help("Drop kernels that no host code refers to, if all inputs list the kernels they refer to. This is the default.");
    IgnoreHostInfo: Row::both("ignore-host-info", Output)
        .note(Note::Always)
        .help("Keep all kernels, even those that no host code refers to.");
    RelocatableLink: Row::new("relocatable-link", "r", Output)
        .note(Note::Always)
        .help("Combine the inputs into one relocatable object.");
    DeviceStackProtector: Row::both("device-stack-protector", Lto)
        .takes(Kind::Bool, "true|false")
        .note(Note::Always)
        .help("Enable stack protection in recompiled code.");
    OptionsFile: Row::new("options-file", "optf", Basic)
        .takes(Kind::OptionsFiles, "FILE,...")
        .note(Note::VerboseName)
        .help("Read more options and inputs from FILE, as if they were given here. Whitespace separates words, double quotes quote, a backslash escapes the next character.");
    GenHostLinkerScript: Row::new("gen-host-linker-script", "ghls", General)
        .takes(Kind::Choice(&["lcs-abs", "lcs-aug"]), "KIND")
        .help("Write a script for the host linker: 'lcs-aug' augments its built-in script, 'lcs-abs' replaces it. Nothing is linked.");
    UidxFile: Row::new("uidx-file", "uidx", Output)
        .takes(Kind::Text, "FILE")
        .note(Note::Always)
        .help("Use FILE as the index of unified functions and variables.");
    Help: Row::new("help", "h", General)
        .help("Print a summary of all options.");
    Version: Row::new("version", "V", General)
        .help("Print the version, and the version of nvlink that it is compatible with.");

    HostCcbin: Row::both("host-ccbin", General)
        .takes(Kind::Text, "COMPILER")
        .hidden()
        .help("The host compiler that provides the linker script for -ghls=lcs-abs; nvcc always passes it.");
    Shared: Row::both("shared", Output)
        .hidden()
        .help("The host link produces a shared library; has no effect.");
    ForceRela: Row::both("force-rela", Output)
        .hidden()
        .help("Write relocations with addends on targets that normally have none.");
    ReserveNullPointer: Row::both("reserve-null-pointer", Output)
        .hidden()
        .help("Leave the first bytes of shared memory unused.");
    DisableSmemReservation: Row::both("disable-smem-reservation", Output)
        .takes(Kind::Bool, "true|false")
        .hidden()
        .help("Do not reserve the shared memory that sm_90 and later reserve by default.");
    EnableExtendedSmem: Row::both("enable-extended-smem", Output)
        .takes(Kind::Bool, "true|false")
        .hidden()
        .help("Allow as much static shared memory as the hardware provides.");
    AllowUndefinedGlobals: Row::both("allow-undefined-globals", Output)
        .hidden()
        .help("Leave undefined variables in global memory for the loader to resolve.");
    VerboseTkinfo: Row::both("verbose-tkinfo", Output)
        .takes(Kind::Bool, "true|false")
        .hidden()
        .help("Record file names in the tool note (true, the default with -g) or not (false).");
    ToolName: Row::both("tool-name", Messages)
        .takes(Kind::Text, "NAME")
        .hidden()
        .help("Use NAME as the linker's name in messages and in the tool note.");
    Dot: Row::new("", "dot", Reports)
        .takes(Kind::Text, "FILE")
        .hidden()
        .help("Write the call graph to FILE in Graphviz format.");
    ForcePartialLto: Row::both("force-partial-lto", Lto)
        .hidden()
        .help("Link optimized code as an additional object.");
    ForceWholeLto: Row::both("force-whole-lto", Lto)
        .hidden()
        .help("Treat optimized code as the whole program.");
    Uumn: Row::both("uumn", Output)
        .hidden()
        .help("Accepted for compatibility; has no effect.");
    SyscallConstOffset: Row::both("syscall-const-offset", Output)
        .takes(Kind::Number, "N")
        .hidden()
        .help("Accepted for compatibility; has no effect.");
    NvHost: Row::both("nv-host", Output)
        .takes(Kind::Text, "FILE")
        .hidden()
        .help("Embed the contents of FILE as the section .nv.host of the output.");

    Identity: Row::new("identity", "", Output)
        .takes(Kind::Choice(&["warpld", "nvlink", "nvjitlink"]), "WHO")
        .own()
        .help("The linker that the tool note names. With 'nvlink', outputs can be compared with nvlink's byte for byte; with 'nvjitlink', with those of libnvJitLink. The default is 'warpld'.");
    NoteCommandLine: Row::new("note-command-line", "", Output)
        .takes(Kind::Text, "TEXT")
        .own()
        .help("Record TEXT as the command line in the tool note, instead of the options that are given. Response files of --reproduce have it.");
    CudaRelease: Row::new("cuda-release", "", Output)
        .takes(Kind::Text, "13.N")
        .own()
        .help("Link like nvlink of this CUDA release; 13.N.P selects one of its updates. The default is the release of the toolkit that a shim was created from, otherwise the newest release among the inputs.");
    CudaPath: Row::new("cuda-path", "", Lto)
        .takes(Kind::Text, "DIR")
        .own()
        .help("Use the compilers, and for --fallback the nvlink, of the CUDA toolkit in DIR and search no other place. A link of machine code needs no toolkit.");
    Fallback: Row::new("fallback", "", General)
        .takes(Kind::Choice(&["nvlink"]), "WHO")
        .own()
        .help("Hand a link over to the nvlink of the toolkit, with the same arguments, if it needs something that warpld lacks: an unknown option, target or CUDA release, or a kind of link-time optimization. A line on standard error says so. Links with errors in their inputs are not handed over. This is the default when warpld is called through a shim, and for Blackwell links that only nvlink makes, if there is an nvlink of the release in question.");
    NoFallback: Row::new("no-fallback", "", General)
        .own()
        .help("Never hand a link over to nvlink.");
    AllowNewerInputs: Row::new("allow-newer-inputs", "", Output)
        .own()
        .help("Link objects of an unknown, newer CUDA release by the rules of the newest known one, with a warning.");
    PrintCudaRelease: Row::new("print-cuda-release", "", Reports)
        .own()
        .help("Print the CUDA release whose rules apply, and how it was determined.");
    Map: Row::new("map", "", Reports)
        .takes(Kind::Text, "FILE")
        .own()
        .help("Write to FILE what each input contributed to each section, where each variable is, and what was dropped; as JSON if FILE ends in .json. '-' is standard output.");
    Report: Row::new("report", "", Reports)
        .takes(Kind::Text, "FILE")
        .own()
        .help("Write to FILE, or to standard output if FILE is '-', a page for a browser: what fills the output, what each kernel needs and why, the call graph, memory maps, what was dropped, and times. The page is one file and loads nothing else.");
    DependencyFile: Row::new("dependency-file", "", Reports)
        .takes(Kind::Text, "FILE")
        .own()
        .help("Write to FILE, as a rule for make and ninja, all files that the link read: inputs, libraries that were found, files of thin archives, options files. '-' is standard output.");
    WhyLive: Row::new("why-live", "", Reports)
        .takes(Kind::Repeated, "SYMBOL")
        .own()
        .help("Print the chain of references that keeps SYMBOL in the output. SYMBOL is a mangled name, a name as in the source, or one without its parameters; '*' and '?' in it stand for any text and any character.");
    WhyDead: Row::new("why-dead", "", Reports)
        .takes(Kind::Repeated, "SYMBOL")
        .own()
        .help("Print why SYMBOL is not in the output.");
    WhyFile: Row::new("why-file", "", Reports)
        .takes(Kind::Text, "FILE")
        .own()
        .help("Write the answers of --why-live and --why-dead to FILE instead of standard error; as JSON if FILE ends in .json. '-' is standard output.");
    Trace: Row::new("trace", "", Reports)
        .takes(Kind::OptionalFile, "FILE")
        .own()
        .help("Print each input and what is done with it, to standard error or to FILE; as JSON if FILE ends in .json. '-' is standard output.");
    PrintResources: Row::new("print-resources", "", Reports)
        .takes(Kind::OptionalFile, "FILE")
        .own()
        .help("Print the resources that each kernel needs and which of its callees is responsible, to standard error or to FILE, as --trace does.");
    Stats: Row::new("stats", "", Reports)
        .takes(Kind::OptionalFile, "FILE")
        .own()
        .help("Print where the link spent its time and memory: phases, bytes read and unpacked, images, sections, symbols, threads, peak memory; to standard error or to FILE, as --trace does.");
    ReportFormat: Row::new("report-format", "", Reports)
        .takes(Kind::Choice(&["text", "json"]), "FORMAT")
        .own()
        .help("Write reports as text or as JSON, whatever the names of their files. JSON is one object per report and line; 'format' in it is increased when a key changes its meaning or goes.");
    Reproduce: Row::new("reproduce", "", Reports)
        .takes(Kind::Text, "FILE.tar")
        .own()
        .help("Write to FILE.tar all that is needed to repeat the link elsewhere: inputs, libraries that were found, and response.txt for 'warpld @response.txt' in the unpacked folder, which writes the same bytes. It is written even if the link fails. Compilers are not part of it. '-' is standard output.");
    PrintInputHash: Row::new("print-input-hash", "", Reports)
        .takes(Kind::OptionalFile, "FILE")
        .own()
        .help("Print the SHA-256 of all that decides the output: version, options, CUDA release, the bytes of all inputs in order; to standard output or to FILE. Nothing is linked. Build caches can use it as a key.");
    ErrorFormat: Row::new("error-format", "", Messages)
        .takes(Kind::Choice(&["text", "json"]), "FORMAT")
        .own()
        .help("Print messages as text or as one JSON object per line.");
    ErrorLimit: Row::new("error-limit", "", Messages)
        .takes(Kind::Number, "N")
        .own()
        .help("Print at most N messages of a kind (20 by default) and the number of further ones; 0 prints all.");
    Color: Row::new("color", "", Messages)
        .takes(Kind::Choice(&["auto", "always", "never"]), "WHEN")
        .own()
        .help("Color messages; by default only on a terminal.");
    LazyArchives: Row::new("lazy-archives", "", Search)
        .own()
        .help("Link only those archive members that are needed.");
    BinaryKind: Row::new("binary-kind", "", Output)
        .takes(Kind::Choice(&["capmerc", "sass"]), "KIND")
        .own()
        .help("For sm_100 and later: write machine code with Mercury capsules (capmerc, the default) or only machine code (sass).");
    Fastpath: Row::new("fastpath", "", Output)
        .takes(Kind::Choice(&["auto", "off"]), "WHEN")
        .own()
        .help("For sm_100 and later: link code for another target of the same family unchanged if the code declares itself compatible (auto, the default), or never (off).");
    Finalizer: Row::new("finalizer", "", Output)
        .takes(Kind::Text, "PATH")
        .own()
        .help("For sm_100 and later: use the nvlink at PATH, not that of the toolkit, to translate inputs that need a compiler (code for sm_100 with double precision on sm_103, Mercury without machine code).");
    Rescoreboard: Row::new("rescoreboard", "", Output)
        .own()
        .help("For sm_100 and later: reallocate scoreboards in kernels without calls, as nvlink does, if the result is certain. This is the default.");
    NoRescoreboard: Row::new("no-rescoreboard", "", Output)
        .own()
        .help("For sm_100 and later: keep the compiler's scoreboards in all kernels.");
    SelfCheck: Row::new("self-check", "", Output)
        .own()
        .help("For sm_100 and later: read the output back, write it again and fail if sections, relocations or symbols differ.");
    FnlzrTrace: Row::new("fnlzr-trace", "", Reports)
        .own()
        .help("For sm_100 and later: print what the finalizer does with each input and with the output.");
    PtxCache: Row::new("ptx-cache", "", Lto)
        .takes(Kind::Text, "DIR")
        .own()
        .help("Keep what ptxas makes of PTX in DIR, and use it again for the same text, options and ptxas. The environment variable WARPLD_PTX_CACHE names DIR too. By default, nothing is kept.");
    PtxCacheSize: Row::new("ptx-cache-size", "", Lto)
        .takes(Kind::Text, "SIZE")
        .own()
        .help("Delete what was not used for the longest time when the cache exceeds SIZE: bytes, or a number followed by K, M or G. The default is 1G.");
    CompilerTimeout: Row::new("compiler-timeout", "", Lto)
        .takes(Kind::Number, "SECONDS")
        .own()
        .help("Give up when a compiler takes longer than SECONDS for one input; 0 sets no limit. The default is 600.");
    Threads: Row::new("threads", "", General)
        .takes(Kind::Number, "N")
        .own()
        .help("Use N threads; 0, the default, is one per processor.");
    NoFork: Row::new("no-fork", "", General)
        .own()
        .help("Free all memory before the process exits. By default, a child process that shares the memory of a large link outlives it, so that the caller does not have to wait until the memory is freed.");
    Verify: Row::new("verify", "", General)
        .own()
        .help("Validate the output before it is written.");
}

impl Opt {
    /// The row of this option.
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::Audience;
    use super::*;

    #[test]
    fn rows_are_where_their_names_say() {
        for (index, (opt, _)) in TABLE.iter().enumerate() {
            assert_eq!(*opt as usize, index);
        }
    }

    #[test]
    fn spellings_are_unique() {
        for pick in [|row: &Row| row.long, |row: &Row| row.short] {
            let mut names: Vec<_> = TABLE.iter().map(|(_, row)| pick(row)).collect();
            names.retain(|name| !name.is_empty());
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }

    #[test]
    fn every_row_is_explained_and_spelled() {
        for (opt, row) in TABLE {
            assert!(row.help.ends_with('.'), "{opt:?}");
            assert!(!row.name().is_empty(), "{opt:?}");
            assert_eq!(row.kind == Kind::Flag, row.metavar.is_empty(), "{opt:?}");
        }
    }

    #[test]
    fn the_note_shows_documented_options_only() {
        for (opt, row) in TABLE {
            assert!(row.note == Note::Absent || row.audience == Audience::Documented, "{opt:?}");
        }
    }
}
