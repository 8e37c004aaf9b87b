//! The option table.
//!
//! Rows stand in the order in which nvlink's tool note lists the options; it
//! was found by giving all of them in one link and reading the note back.
//! Rows that no note shows follow.

use super::row::Group::{Basic, General, Lto, Messages, Output, Reports, Search};
use super::row::{Kind, Note, Row};

/// Numbers and letters of every target, in the order of the numbers.
pub const TARGETS: [&str; 23] = [
    "75", "80", "86", "87", "88", "89", "90", "90a", "100", "100a", "100f", "103", "103a", "103f",
    "110", "110a", "110f", "120", "120a", "120f", "121", "121a", "121f",
];

/// Prefixes a target may carry.
pub const TARGET_PREFIXES: [&str; 3] = ["sm_", "compute_", "lto_"];

const CPUS: &[&str] = &["AARCH64", "ARMv7", "PPC64LE", "X86", "X86_64", "unknown"];

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
        .help("Do not warn about inputs that hold no code for the target.");
    Output: Row::new("output-file", "o", Basic)
        .takes(Kind::Text, "FILE")
        .note(Note::VerboseFile)
        .help("Write the linked cubin to FILE. It appears only when the link has succeeded, in one step; a failed link leaves an older FILE alone.");
    Debug: Row::new("debug", "g", Output)
        .note(Note::Always)
        .help("Link for debugging: keep unreachable code and record file names in the tool note.");
    Arch: Row::both("arch", Basic)
        .takes(Kind::Target, "TARGET")
        .note(Note::Always)
        .help("Link for TARGET, such as sm_90a. Of each input the image that suits it best is taken. compute_NN reads and registers the inputs and links nothing.");
    Machine: Row::new("machine", "m", Output)
        .takes(Kind::NumberChoice(&[64]), "BITS")
        .glued()
        .note(Note::Always)
        .help("Width of addresses; only 64 exists.");
    Library: Row::new("library", "l", Search)
        .takes(Kind::List, "NAME,...")
        .glued()
        .note(Note::Always)
        .help("Link libNAME.a from the search path. Libraries follow all other inputs. One that is not found, or exists as libNAME.so, is passed over in silence: host libraries are given here too.");
    LibraryPath: Row::new("library-path", "L", Search)
        .takes(Kind::List, "DIR,...")
        .glued()
        .note(Note::Always)
        .help("Search DIR for libraries. The directories of the environment variable LIBRARY_PATH follow.");
    RegisterLinkBinaries: Row::new("register-link-binaries", "", Reports)
        .takes(Kind::Text, "FILE")
        .note(Note::VerboseFile)
        .help("Write the names of the registration functions of all linked objects to FILE, a C header for nvcc's link stub.");
    Verbose: Row::new("verbose", "v", Reports)
        .note(Note::Always)
        .help("Report memory use of the link and registers, barriers, stack and memory of each kernel.");
    PreserveRelocs: Row::both("preserve-relocs", Output)
        .note(Note::Always)
        .help("Keep the relocations that the link resolved.");
    DisableWarnings: Row::new("disable-warnings", "w", Messages)
        .note(Note::Always)
        .help("Print no warnings.");
    WarningAsError: Row::new("warning-as-error", "Werror", Messages)
        .note(Note::Always)
        .help("Treat warnings as errors.");
    DisableInfos: Row::both("disable-infos", Messages)
        .note(Note::Always)
        .help("Print no info messages. As with nvlink, warnings do not become errors then.");
    KeepSystemLibraries: Row::both("keep-system-libraries", Search)
        .note(Note::Always)
        .help("Link libcudadevrt.a even if nothing needs it.");
    KernelsUsed: Row::both("kernels-used", Output)
        .takes(Kind::List, "PATTERN,...")
        .note(Note::Always)
        .help("Keep only the kernels whose mangled name contains PATTERN; '*' in it stands for any text.");
    VariablesUsed: Row::both("variables-used", Output)
        .takes(Kind::List, "PATTERN,...")
        .note(Note::Always)
        .help("The same for variables. Given alone it drops all kernels.");
    CpuArch: Row::both("cpu-arch", Search)
        .takes(Kind::Choice(CPUS), "CPU")
        .note(Note::Always)
        .help("Archives found through -l must hold objects for CPU; 'unknown' is the machine at hand.");
    OptionsFile: Row::new("options-file", "optf", Basic)
        .takes(Kind::OptionsFiles, "FILE,...")
        .note(Note::VerboseName)
        .help("Read further options and inputs from FILE, as if they stood here. Blanks separate words, double quotes group them, a backslash takes the next character as it is.");
    ReportArch: Row::both("report-arch", Messages)
        .note(Note::Always)
        .help("Name the target at the end of every message.");
    Time: Row::both("time", Reports)
        .takes(Kind::Text, "FILE")
        .note(Note::VerboseFile)
        .help("Append times as comma-separated values to FILE, '-' for standard output. A plain link has no phases to time.");
    ExtraWarnings: Row::new("extra-warnings", "extrawarn", Messages)
        .note(Note::Always)
        .help("Also warn about functions whose address is taken but which nothing calls indirectly.");
    LinkTimeOpt: Row::new("link-time-opt", "lto", Lto)
        .note(Note::Always)
        .help("Optimise at link time.");
    Dlto: Row::both("dlto", Lto)
        .note(Note::Always)
        .help("The same as -lto.");
    NvvmPath: Row::both("nvvmpath", Lto)
        .takes(Kind::Text, "DIR")
        .note(Note::Always)
        .help("Where libnvvm is: DIR/lib64/libnvvm.so.");
    SplitCompile: Row::both("split-compile", Lto)
        .takes(Kind::Number, "N")
        .note(Note::Always)
        .help("Threads for optimising.");
    SplitCompileExtended: Row::both("split-compile-extended", Lto)
        .takes(Kind::Number, "N")
        .note(Note::Always)
        .help("Threads for optimising and assembling.");
    OfastCompile: Row::new("Ofast-compile", "Ofc", Lto)
        .takes(Kind::Text, "0|min|mid|max")
        .note(Note::Always)
        .help("Trade speed of the code for speed of compilation.");
    SuppressDebugInfo: Row::both("suppress-debug-info", Output)
        .note(Note::Always)
        .help("Leave debug information of recompiled code out; needs -g.");
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
        .help("Most registers that recompiled code may use.");
    DumpCallgraph: Row::both("dump-callgraph", Reports)
        .note(Note::Always)
        .help("Print the call graph with demangled names to standard error.");
    DumpCallgraphNoDemangle: Row::both("dump-callgraph-no-demangle", Reports)
        .note(Note::Always)
        .help("Print the call graph with names as they are in the object.");
    UseHostInfo: Row::both("use-host-info", Output)
        .note(Note::Always)
        .help("Drop the kernels that no host code names, if all inputs say which they name. This is the default.");
    IgnoreHostInfo: Row::both("ignore-host-info", Output)
        .note(Note::Always)
        .help("Keep all kernels, whatever the host code names.");
    RelocatableLink: Row::new("relocatable-link", "r", Output)
        .note(Note::Always)
        .help("Join the inputs into one relocatable object.");
    DeviceStackProtector: Row::both("device-stack-protector", Lto)
        .takes(Kind::Bool, "true|false")
        .note(Note::Always)
        .help("Guard the stacks of recompiled code.");
    EmitPtx: Row::both("emit-ptx", Lto)
        .help("Write the optimised PTX in place of a cubin.");
    GenHostLinkerScript: Row::new("gen-host-linker-script", "ghls", General)
        .takes(Kind::Choice(&["lcs-abs", "lcs-aug"]), "KIND")
        .help("Write a script for the host linker: 'lcs-aug' adds to its built-in one, 'lcs-abs' stands in for it. Nothing is linked.");
    UidxFile: Row::new("uidx-file", "uidx", Output)
        .takes(Kind::Text, "FILE")
        .note(Note::Always)
        .help("An index of unified functions and variables.");
    Help: Row::new("help", "h", General)
        .help("Print this text.");
    Version: Row::new("version", "V", General)
        .help("Print which linker this is, and which nvlink it stands in for.");

    HostCcbin: Row::both("host-ccbin", General)
        .takes(Kind::Text, "COMPILER")
        .hidden()
        .help("The host compiler to ask for the linker script of -ghls=lcs-abs; nvcc passes it always.");
    Shared: Row::both("shared", Output)
        .hidden()
        .help("The host link makes a shared library; changes nothing.");
    ForceRela: Row::both("force-rela", Output)
        .hidden()
        .help("Write relocations with addends on targets that do without.");
    ReserveNullPointer: Row::both("reserve-null-pointer", Output)
        .hidden()
        .help("Keep the first bytes of shared memory free.");
    DisableSmemReservation: Row::both("disable-smem-reservation", Output)
        .takes(Kind::Bool, "true|false")
        .hidden()
        .help("Do without the shared memory that sm_90 and later reserve.");
    EnableExtendedSmem: Row::both("enable-extended-smem", Output)
        .takes(Kind::Bool, "true|false")
        .hidden()
        .help("Allow as much static shared memory as the hardware has.");
    AllowUndefinedGlobals: Row::both("allow-undefined-globals", Output)
        .hidden()
        .help("Leave undefined variables in global memory to the loader.");
    VerboseTkinfo: Row::both("verbose-tkinfo", Output)
        .takes(Kind::Bool, "true|false")
        .hidden()
        .help("Record file names in the tool note, or do not; -g does by default.");
    ToolName: Row::both("tool-name", Messages)
        .takes(Kind::Text, "NAME")
        .hidden()
        .help("Call the linker NAME in messages and in the tool note.");
    Dot: Row::new("", "dot", Reports)
        .takes(Kind::Text, "FILE")
        .hidden()
        .help("Write the call graph to FILE for Graphviz.");
    ForcePartialLto: Row::both("force-partial-lto", Lto)
        .hidden()
        .help("Link optimised code as one more object.");
    ForceWholeLto: Row::both("force-whole-lto", Lto)
        .hidden()
        .help("Take optimised code for the whole program.");
    Uumn: Row::both("uumn", Output)
        .hidden()
        .help("Accepted; changes nothing.");
    SyscallConstOffset: Row::both("syscall-const-offset", Output)
        .takes(Kind::Number, "N")
        .hidden()
        .help("Accepted; changes nothing.");
    NvHost: Row::both("nv-host", Output)
        .takes(Kind::Text, "FILE")
        .hidden()
        .help("Put the bytes of FILE into the section .nv.host of the output.");

    Identity: Row::new("identity", "", Output)
        .takes(Kind::Choice(&["warpld", "nvlink", "nvjitlink"]), "WHO")
        .own()
        .help("Who the tool note names as the linker. With 'nvlink' outputs can be compared with nvlink's byte for byte, with 'nvjitlink' with those of libnvJitLink. The default is 'warpld'.");
    CudaRelease: Row::new("cuda-release", "", Output)
        .takes(Kind::Text, "13.N")
        .own()
        .help("Link as nvlink of this release of CUDA does; 13.N.P names one of its updates. By default it is the release of the toolkit that a shim was made from, otherwise the newest one that an input comes from.");
    AllowNewerInputs: Row::new("allow-newer-inputs", "", Output)
        .own()
        .help("Link objects of a CUDA release newer than all known ones by the rules of the newest, with a warning.");
    PrintCudaRelease: Row::new("print-cuda-release", "", Reports)
        .own()
        .help("Print the release of CUDA that the link stands for, and what decided it.");
    Map: Row::new("map", "", Reports)
        .takes(Kind::Text, "FILE")
        .own()
        .help("Write to FILE what each input contributed to each section and what was dropped; as JSON if FILE ends in .json.");
    WhyLive: Row::new("why-live", "", Reports)
        .takes(Kind::Repeated, "SYMBOL")
        .own()
        .help("Print what keeps SYMBOL in the output, link by link.");
    WhyDead: Row::new("why-dead", "", Reports)
        .takes(Kind::Repeated, "SYMBOL")
        .own()
        .help("Print why SYMBOL is not in the output.");
    Trace: Row::new("trace", "", Reports)
        .own()
        .help("Print each input as it is opened and what is done with it.");
    PrintResources: Row::new("print-resources", "", Reports)
        .own()
        .help("Print what each kernel needs and which of its callees is responsible.");
    ErrorFormat: Row::new("error-format", "", Messages)
        .takes(Kind::Choice(&["text", "json"]), "FORMAT")
        .own()
        .help("Print messages for people or, one JSON object per line, for programs.");
    ErrorLimit: Row::new("error-limit", "", Messages)
        .takes(Kind::Number, "N")
        .own()
        .help("Print at most N messages of a kind and the number of others (20 by default); 0 prints all.");
    Color: Row::new("color", "", Messages)
        .takes(Kind::Choice(&["auto", "always", "never"]), "WHEN")
        .own()
        .help("Colour messages; by default only on a terminal.");
    LazyArchives: Row::new("lazy-archives", "", Search)
        .own()
        .help("Take from archives only the members that something needs.");
    BinaryKind: Row::new("binary-kind", "", Output)
        .takes(Kind::Choice(&["capmerc", "sass"]), "KIND")
        .own()
        .help("From sm_100 on: write machine code with Mercury capsules (capmerc, the default) or machine code alone (sass).");
    Fastpath: Row::new("fastpath", "", Output)
        .takes(Kind::Choice(&["auto", "off"]), "WHEN")
        .own()
        .help("From sm_100 on: link code for another target of its family as it is where it declares itself fit (auto, the default), or never (off).");
    Finalizer: Row::new("finalizer", "", Output)
        .takes(Kind::Text, "PATH")
        .own()
        .help("From sm_100 on: an nvlink that translates inputs which need a compiler (code for sm_100 with double precision on sm_103, Mercury without machine code).");
    Rescoreboard: Row::new("rescoreboard", "", Output)
        .own()
        .help("From sm_100 on: allocate scoreboards anew in kernels without calls, as nvlink does, where the result is certain.");
    SelfCheck: Row::new("self-check", "", Output)
        .own()
        .help("From sm_100 on: read the output, write it again and fail if sections, relocations or symbols differ.");
    FnlzrTrace: Row::new("fnlzr-trace", "", Reports)
        .own()
        .help("From sm_100 on: print what the finalizer does with each input and with the output.");
    Threads: Row::new("threads", "", General)
        .takes(Kind::Number, "N")
        .own()
        .help("Use N threads; 0 is one per processor, the default.");
    NoFork: Row::new("no-fork", "", General)
        .own()
        .help("Give all memory back before the process ends. A large link leaves that to a child that ends after it, as others need not wait for it.");
    Verify: Row::new("verify", "", General)
        .own()
        .help("Check the output once more before it is written.");
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
