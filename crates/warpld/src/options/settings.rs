//! What a command line asks for, checked and typed.

use super::compile::{compile_settings, threads};
use super::lto::LtoRequest;
use super::note::NoteText;
use super::parse::{CommandLine, lossy, to_path};
use super::replay::Replay;
use super::sink::{Place, Sink};
use super::table::Opt;
use crate::shim::Shim;
use bstr::ByteVec;
use cubin::Arch;
use libwarpld::Code;
use libwarpld::{Config, ConfigBuilder, Diagnostic, Identity, Release};
use std::path::{Path, PathBuf};
use thiserror::Error;
use warpld_compilers::CompileSettings;
use warpld_compilers::toolkit::Hints;

/// Options that cannot be combined. The messages and the order of the checks are nvlink's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// Inputs with `-ghls`.
    #[error("Input files are not allowed with -ghls option; use --help for more information")]
    InputsWithHostScript,
    /// No `-arch`.
    #[error("Unknown arch name '(null)'")]
    NoArch,
    /// No `-o`.
    #[error("Must specify output file with -o option")]
    NoOutput,
    /// Nothing to link.
    #[error("No input files specified; use option --help for more information")]
    NoInputs,
    /// `-arch=lto_NN`.
    #[error(
        "Link target of '{0}' is virtual target that is not JIT-able; use 'sm_' target instead"
    )]
    LtoTarget(String),
    /// Two options that conflict, or an option without another that it requires.
    #[error("Conflicting options '{0}' and '{1}'")]
    Conflict(&'static str, &'static str),
    /// `-lto` without `-nvvmpath`.
    #[error("-nvvmpath should be specified with -lto")]
    NoNvvmPath,
    /// `--cuda-release` with something else.
    #[error("Unknown CUDA release '{0}'")]
    UnknownRelease(String),
    /// `--ptx-cache-size` with something else than a size.
    #[error("Value '{0}' is not defined for option 'ptx-cache-size'")]
    CacheSize(String),
    /// A bad level.
    #[error("Invalid argument for option '--Ofast-compile'")]
    FastCompileLevel,
}

impl SettingsError {
    /// The stable code of the message.
    pub fn code(&self) -> Code {
        match self {
            Self::NoArch => Code::NoArch,
            Self::NoOutput => Code::NoOutputName,
            Self::NoInputs => Code::NoInputs,
            Self::LtoTarget(_) => Code::VirtualTarget,
            Self::InputsWithHostScript | Self::Conflict(..) | Self::NoNvvmPath => {
                Code::ConflictingOptions
            }
            Self::CacheSize(_) | Self::FastCompileLevel | Self::UnknownRelease(_) => {
                Code::BadOptionValue
            }
        }
    }

    /// What the user can do about it, if the message does not say so.
    fn advice(&self) -> Option<String> {
        match self {
            Self::NoArch => Some("name the target, for example -arch=sm_90".into()),
            Self::NoNvvmPath => {
                Some("nvcc -dlto passes it: the nvvm folder of the CUDA toolkit".into())
            }
            Self::UnknownRelease(_) => {
                let known = Release::ALL.iter().map(|release| release.version);
                Some(format!("there are: {}", known.collect::<Vec<_>>().join(", ")))
            }
            Self::CacheSize(_) => Some("it takes bytes, or a number with K, M or G: 512M".into()),
            _ => None,
        }
    }
}

impl From<SettingsError> for Diagnostic {
    fn from(error: SettingsError) -> Self {
        let diagnostic = Diagnostic::fatal(error.code(), &error);
        match error.advice() {
            Some(advice) => diagnostic.note(advice),
            None => diagnostic,
        }
    }
}

/// What to link for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `sm_NN`.
    Real(Arch),
    /// `compute_NN`: inputs are read and registered, nothing is linked.
    Virtual(Arch),
}

impl Target {
    /// The architecture of either kind.
    pub fn arch(self) -> Arch {
        match self {
            Self::Real(arch) | Self::Virtual(arch) => arch,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Real(arch) => arch.fmt(f),
            Self::Virtual(arch) => f.write_str(&arch.to_string().replacen("sm_", "compute_", 1)),
        }
    }
}

/// A host linker script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostScript {
    /// `lcs-abs`: begin with the host linker's own script.
    pub absolute: bool,
    /// `-o`, else standard output.
    pub output: Option<PathBuf>,
    /// `--host-ccbin`.
    pub compiler: String,
}

/// How the call graph dump names functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallgraphNames {
    /// As in C++ source.
    Demangled,
    /// As in the object.
    Mangled,
}

/// What a link writes in addition to the cubin.
#[derive(Clone, Debug, Default)]
pub struct SideOutputs {
    /// `--register-link-binaries`.
    pub register: Option<PathBuf>,
    /// `-dot`.
    pub dot: Option<PathBuf>,
    /// `--time`.
    pub time: Option<PathBuf>,
    /// `--dump-callgraph`.
    pub callgraph: Option<CallgraphNames>,
    /// `-v`.
    pub verbose: bool,
    /// `--map`.
    pub map: Option<Sink>,
    /// `--report`.
    pub report: Option<Sink>,
    /// `--dependency-file`.
    pub dependencies: Option<Sink>,
    /// `--why-live`.
    pub why_live: Vec<String>,
    /// `--why-dead`.
    pub why_dead: Vec<String>,
    /// `--why-file`: where the answers go.
    pub why: Sink,
    /// `--trace`.
    pub trace: Option<Sink>,
    /// `--print-resources`.
    pub print_resources: Option<Sink>,
    /// `--stats`.
    pub stats: Option<Sink>,
    /// `--reproduce`.
    pub reproduce: Option<Sink>,
    /// `--print-cuda-release`.
    pub print_release: bool,
}

impl SideOutputs {
    /// The files that are written.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let named = [&self.register, &self.dot, &self.time];
        let reports = [&self.map, &self.report, &self.trace, &self.print_resources, &self.stats];
        let sinks = reports.into_iter().chain([&self.dependencies, &self.reproduce]);
        let sinks = sinks.flatten().chain([&self.why]);
        named.into_iter().flatten().map(PathBuf::as_path).chain(sinks.filter_map(Sink::file))
    }

    /// Whether the link has to collect a report.
    fn need_report(&self) -> bool {
        self.verbose
            || self.print_resources.is_some()
            || self.callgraph.is_some()
            || self.dot.is_some()
            || self.map.is_some()
            || self.report.is_some()
            || !self.why_live.is_empty()
            || !self.why_dead.is_empty()
    }
}

/// What decides which release of CUDA a link stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReleaseOrigin {
    /// `--cuda-release`.
    Option(&'static Release),
    /// The shim that the linker was called through.
    Shim(&'static Release, PathBuf),
    /// The inputs, or the target.
    Inputs,
}

impl ReleaseOrigin {
    /// By the option if there is one, then by the shim.
    pub fn new(line: &CommandLine, shim: Option<&Shim>) -> Result<Self, SettingsError> {
        if let Some(name) = line.text(Opt::CudaRelease) {
            let release = Release::named(&name).ok_or(SettingsError::UnknownRelease(name))?;
            return Ok(Self::Option(release));
        }
        let shim = shim.and_then(|shim| Some(Self::Shim(shim.release()?, shim.root.clone())));
        Ok(shim.unwrap_or(Self::Inputs))
    }

    /// The release, unless the inputs decide.
    pub fn release(&self) -> Option<&'static Release> {
        match self {
            Self::Option(release) | Self::Shim(release, _) => Some(release),
            Self::Inputs => None,
        }
    }
}

/// A requested link.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// What decides about the release.
    pub release: ReleaseOrigin,
    /// `-arch`.
    pub target: Target,
    /// Positional inputs.
    pub inputs: Vec<PathBuf>,
    /// Options files that were read.
    pub option_files: Vec<PathBuf>,
    /// `-l`.
    pub libraries: Vec<PathBuf>,
    /// `-L`.
    pub library_paths: Vec<PathBuf>,
    /// `--cpu-arch`.
    pub cpu_arch: Option<String>,
    /// `--suppress-arch-warning`.
    pub suppress_arch_warning: bool,
    /// `-o`; optional for a virtual target.
    pub output: Option<PathBuf>,
    /// `-lto` or `-dlto`.
    pub lto: Option<LtoRequest>,
    /// Where a compiler is, if the link turns out to need one.
    pub toolkit: Hints,
    /// `--nv-host`: must be readable.
    pub nv_host: Option<PathBuf>,
    /// `--uidx-file`.
    pub uidx: Option<PathBuf>,
    /// `--use-host-info` was given.
    pub use_host_info: bool,
    /// `--threads`; 0 is one per processor.
    pub threads: usize,
    /// `--no-fork`.
    pub no_fork: bool,
    /// `--verify`.
    pub verify: bool,
    /// `--finalizer`: a linker of NVIDIA's for code that needs a compiler.
    pub finalizer: Option<PathBuf>,
    /// `--fnlzr-trace`.
    pub mercury_trace: bool,
    /// `-g`.
    pub debug: bool,
    /// `-r`.
    pub relocatable: bool,
    /// `--preserve-relocs`.
    pub preserve_relocs: bool,
    /// `--kernels-used` or `--variables-used` was given.
    pub names_used: bool,
    /// Settings of the link itself, except for files that are not read yet.
    pub config: ConfigBuilder,
    /// What else is written.
    pub side: SideOutputs,
    /// The command line, where it is repeated elsewhere or hashed.
    pub replay: Option<Box<Replay>>,
    /// `--print-input-hash`: where it goes. Nothing is linked.
    pub input_hash: Option<Place>,
    /// How code is compiled, if some has to be.
    pub compile: CompileSettings,
}

/// What a command line asks for.
#[derive(Clone, Debug)]
pub enum Request {
    /// `--help`.
    Help,
    /// `--version`, of a release if one was chosen.
    Version(Option<&'static Release>),
    /// `--gen-host-linker-script`.
    HostScript(HostScript),
    /// A link.
    Link(Box<LinkSettings>),
}

impl Request {
    /// Checks a command line that is not under a shim and converts it to settings.
    pub fn new(line: &mut CommandLine) -> Result<Self, SettingsError> {
        Self::under(line, None)
    }

    /// Checks a command line and converts it to settings.
    pub fn under(line: &mut CommandLine, shim: Option<&Shim>) -> Result<Self, SettingsError> {
        if line.has(Opt::Help) {
            return Ok(Self::Help);
        }
        if line.has(Opt::Version) {
            return Ok(Self::Version(ReleaseOrigin::new(line, shim)?.release()));
        }
        if let Some(kind) = line.bytes(Opt::GenHostLinkerScript) {
            if !line.inputs.is_empty() {
                return Err(SettingsError::InputsWithHostScript);
            }
            return Ok(Self::HostScript(HostScript {
                absolute: kind == b"lcs-abs",
                output: line.path(Opt::Output),
                compiler: line.text(Opt::HostCcbin).unwrap_or_else(|| "gcc".into()),
            }));
        }
        LinkSettings::new(line, shim).map(|settings| Self::Link(Box::new(settings)))
    }
}

/// Parses an `-arch` value; whether it can be linked is checked later.
fn target(name: &str) -> Result<Target, SettingsError> {
    let lto = || SettingsError::LtoTarget(name.to_owned());
    let (prefix, rest) = name.split_once('_').ok_or(SettingsError::NoArch)?;
    let arch: Arch = format!("sm_{rest}").parse().map_err(|_| SettingsError::NoArch)?;
    match prefix {
        "sm" => Ok(Target::Real(arch)),
        "compute" => Ok(Target::Virtual(arch)),
        _ => Err(lto()),
    }
}

fn check_conflicts(line: &CommandLine) -> Result<(), SettingsError> {
    let lto = line.has(Opt::LinkTimeOpt) || line.has(Opt::Dlto);
    let conflict = |a, b| Err(SettingsError::Conflict(a, b));
    if line.has(Opt::SuppressDebugInfo) && !line.has(Opt::Debug) {
        return conflict("-suppress-debug-info", "no -g");
    }
    if line.has(Opt::DumpCallgraph) && line.has(Opt::DumpCallgraphNoDemangle) {
        return conflict("-dump-callgraph", "-dump-callgraph-no-demangle");
    }
    if line.has(Opt::UseHostInfo) && line.has(Opt::IgnoreHostInfo) {
        return conflict("-use-host-info", "-ignore-host-info");
    }
    if lto && line.value(Opt::NvvmPath).is_none() {
        return Err(SettingsError::NoNvvmPath);
    }
    if line.has(Opt::ForcePartialLto) && !lto {
        return conflict("-force-partial-lto", "no -dlto");
    }
    if line.has(Opt::ForceWholeLto) && !lto {
        return conflict("-force-whole-lto", "no -dlto");
    }
    if line.has(Opt::ForcePartialLto) && line.has(Opt::ForceWholeLto) {
        return conflict("-force-partial-lto", "-force-whole-lto");
    }
    if line.has(Opt::EmitPtx) && !lto {
        return conflict("-emit-ptx", "no -dlto");
    }
    match line.bytes(Opt::OfastCompile) {
        Some(_) if !lto => conflict("--Ofast-compile", "no -dlto"),
        Some(b"0" | b"min" | b"mid" | b"max") | None => Ok(()),
        Some(_) => Err(SettingsError::FastCompileLevel),
    }
}

impl CommandLine {
    /// What it says about where a toolkit is.
    pub fn hints(&self, shim: Option<&Shim>) -> Hints {
        Hints {
            cuda_path: self.path(Opt::CudaPath),
            shim: shim.cloned(),
            nvvm_path: self.path(Opt::NvvmPath),
        }
    }
}

impl LinkSettings {
    fn new(line: &mut CommandLine, shim: Option<&Shim>) -> Result<Self, SettingsError> {
        let name = line.text(Opt::Arch).ok_or(SettingsError::NoArch)?;
        if name.starts_with("sm_") && line.value(Opt::Output).is_none() {
            return Err(SettingsError::NoOutput);
        }
        if line.inputs.is_empty() {
            return Err(SettingsError::NoInputs);
        }
        let target = target(&name)?;
        check_conflicts(line)?;
        let lto = LtoRequest::new(line);
        let side = side_outputs(line);
        let config = config(line, target.arch()).report(side.need_report());
        let config = config.report_detail(side.report.is_some());
        let mut config = config.statistics(side.stats.is_some());
        let release = ReleaseOrigin::new(line, shim)?;
        if let Some(release) = release.release() {
            config = config.release(release);
        }
        let is_replayed = side.reproduce.is_some() || line.has(Opt::PrintInputHash);
        let replay = is_replayed.then(|| Box::new(Replay::new(line, release.release())));
        let inputs = std::mem::take(&mut line.inputs).into_iter();
        Ok(Self {
            release,
            target,
            inputs: inputs.map(|name| name.into_path_buf_lossy()).collect(),
            option_files: line.option_files.iter().map(|name| to_path(name)).collect(),
            libraries: paths(line, Opt::Library),
            library_paths: paths(line, Opt::LibraryPath),
            cpu_arch: line.text(Opt::CpuArch).filter(|cpu| cpu != "unknown"),
            suppress_arch_warning: line.has(Opt::SuppressArchWarning),
            output: line.path(Opt::Output),
            lto,
            toolkit: line.hints(shim),
            nv_host: line.path(Opt::NvHost),
            uidx: line.path(Opt::UidxFile),
            use_host_info: line.has(Opt::UseHostInfo),
            threads: threads(line),
            no_fork: line.has(Opt::NoFork),
            verify: line.has(Opt::Verify),
            finalizer: line.path(Opt::Finalizer),
            mercury_trace: line.has(Opt::FnlzrTrace),
            debug: line.has(Opt::Debug),
            relocatable: line.has(Opt::RelocatableLink),
            preserve_relocs: line.has(Opt::PreserveRelocs),
            names_used: [Opt::KernelsUsed, Opt::VariablesUsed]
                .into_iter()
                .any(|opt| patterns(line, opt).is_some()),
            config,
            side,
            replay,
            input_hash: Sink::asked(line, Opt::PrintInputHash).map(|sink| match sink.place {
                Place::StandardError => Place::StandardOutput,
                place => place,
            }),
            compile: compile_settings(line).map_err(SettingsError::CacheSize)?,
        })
    }
}

fn config(line: &CommandLine, arch: Arch) -> ConfigBuilder {
    let note = NoteText::new(line);
    let mut identity = match line.bytes(Opt::Identity) {
        Some(b"nvlink") => Identity::nvlink(),
        Some(b"nvjitlink") => Identity::nvjitlink(),
        _ => Identity::warpld(),
    };
    if let Some(tool) = line.text(Opt::ToolName) {
        identity.tool = tool.into();
    }
    let mut config = Config::builder(arch)
        .relocatable(line.has(Opt::RelocatableLink))
        .debug(line.has(Opt::Debug))
        .tools_patch(line.has(Opt::LinkAsToolsPatch))
        .suppress_debug_info(line.has(Opt::SuppressDebugInfo))
        .preserve_relocs(line.has(Opt::PreserveRelocs))
        .force_rela(line.has(Opt::ForceRela))
        .ignore_host_info(line.has(Opt::IgnoreHostInfo))
        .reserve_null_pointer(line.has(Opt::ReserveNullPointer))
        .disable_smem_reservation(line.has(Opt::DisableSmemReservation))
        .extended_smem(line.has(Opt::EnableExtendedSmem))
        .allow_undefined_globals(line.has(Opt::AllowUndefinedGlobals))
        .keep_system_libraries(line.has(Opt::KeepSystemLibraries))
        .lazy_archives(line.has(Opt::LazyArchives))
        .allow_newer_inputs(line.has(Opt::AllowNewerInputs))
        .extra_warnings(line.has(Opt::ExtraWarnings))
        .suppress_stack_size_warning(line.has(Opt::SuppressStackSizeWarning))
        .identity(identity)
        .note(note.object_name, note.command_line);
    if line.bytes(Opt::Identity) == Some(b"nvjitlink") {
        config = config.note(NoteText::NVJITLINK.0, NoteText::NVJITLINK.1);
    }
    if let Some(kernels) = patterns(line, Opt::KernelsUsed) {
        config = config.kernels_used(kernels);
    }
    if let Some(variables) = patterns(line, Opt::VariablesUsed) {
        config = config.variables_used(variables);
    }
    mercury(line, config)
}

fn mercury(line: &CommandLine, config: ConfigBuilder) -> ConfigBuilder {
    let asked = std::env::var("CAN_FINALIZE_DEBUG").is_ok_and(|v| !matches!(&v[..], "" | "0"));
    let trace = line.has(Opt::FnlzrTrace);
    config
        .machine_code_only(line.bytes(Opt::BinaryKind) == Some(b"sass"))
        .fastpath(line.bytes(Opt::Fastpath) != Some(b"off"))
        .self_check(line.has(Opt::SelfCheck))
        .rescoreboard(!line.has(Opt::NoRescoreboard))
        .mercury_trace(trace, trace || asked)
}

/// An empty list is the same as none.
fn patterns(line: &CommandLine, opt: Opt) -> Option<Vec<String>> {
    Some(texts(line, opt)).filter(|list| !list.is_empty())
}

fn texts(line: &CommandLine, opt: Opt) -> Vec<String> {
    line.list(opt).iter().map(|item| lossy(item)).collect()
}

fn paths(line: &CommandLine, opt: Opt) -> Vec<PathBuf> {
    line.list(opt).iter().map(|item| to_path(item)).collect()
}

fn side_outputs(line: &CommandLine) -> SideOutputs {
    let callgraph = if line.has(Opt::DumpCallgraph) {
        Some(CallgraphNames::Demangled)
    } else {
        line.has(Opt::DumpCallgraphNoDemangle).then_some(CallgraphNames::Mangled)
    };
    SideOutputs {
        register: line.path(Opt::RegisterLinkBinaries),
        dot: line.path(Opt::Dot),
        time: line.path(Opt::Time),
        callgraph,
        verbose: line.has(Opt::Verbose),
        map: Sink::asked(line, Opt::Map),
        report: Sink::asked(line, Opt::Report),
        dependencies: Sink::asked(line, Opt::DependencyFile),
        why_live: texts(line, Opt::WhyLive),
        why_dead: texts(line, Opt::WhyDead),
        why: Sink::of(line, Opt::WhyFile),
        trace: Sink::asked(line, Opt::Trace),
        print_resources: Sink::asked(line, Opt::PrintResources),
        stats: Sink::asked(line, Opt::Stats),
        reproduce: Sink::asked(line, Opt::Reproduce),
        print_release: line.has(Opt::PrintCudaRelease),
    }
}
