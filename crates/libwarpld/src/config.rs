//! What a link is asked to do.

mod mercury;

pub(crate) use mercury::{BinaryKind, Fastpath, MercuryConfig};

use crate::dialect::Release;
use cubin::Arch;
use std::borrow::Cow;

/// How the output names its producer in `.note.nv.tkinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Tool name.
    pub tool: Cow<'static, str>,
    /// Version line; that of the release's nvlink if there is none.
    pub version: Option<Cow<'static, str>>,
    /// Build line; that of the release's nvlink if there is none.
    pub build: Option<Cow<'static, str>>,
}

/// Which side of the host's kernel references to believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum HostInfo {
    /// Prune kernels that no host code names, if every input says what it uses.
    #[default]
    Use,
    /// Keep all kernels.
    Ignore,
}

/// Settings of one link. [`Config::builder`] makes one.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) arch: Arch,
    pub(crate) release: Option<&'static Release>,
    pub(crate) relocatable: bool,
    pub(crate) debug: bool,
    pub(crate) tools_patch: bool,
    pub(crate) suppress_debug_info: bool,
    pub(crate) preserve_relocs: bool,
    pub(crate) force_rela: bool,
    pub(crate) kernels_used: Option<Vec<String>>,
    pub(crate) variables_used: Option<Vec<String>>,
    pub(crate) host_info: HostInfo,
    pub(crate) reserve_null_pointer: bool,
    pub(crate) disable_smem_reservation: bool,
    pub(crate) extended_smem: bool,
    pub(crate) allow_undefined_globals: bool,
    pub(crate) extra_warnings: bool,
    pub(crate) suppress_stack_size_warning: bool,
    pub(crate) uidx: Option<Vec<u8>>,
    pub(crate) nv_host: Option<Vec<u8>>,
    pub(crate) keep_system_libraries: bool,
    pub(crate) lazy_archives: bool,
    pub(crate) allow_newer_inputs: bool,
    pub(crate) keep_first_definition: bool,
    pub(crate) report: bool,
    pub(crate) report_detail: bool,
    pub(crate) statistics: bool,
    pub(crate) explain: bool,
    pub(crate) threads: usize,
    pub(crate) reuse: bool,
    pub(crate) mercury: MercuryConfig,
    pub(crate) identity: Identity,
    pub(crate) note_object_name: String,
    /// The target alone if there is none.
    pub(crate) note_command_line: Option<String>,
}

impl Config {
    /// Starts with a plain link for `arch`.
    pub fn builder(arch: Arch) -> ConfigBuilder {
        ConfigBuilder(Self {
            arch,
            release: None,
            relocatable: false,
            debug: false,
            tools_patch: false,
            suppress_debug_info: false,
            preserve_relocs: false,
            force_rela: false,
            kernels_used: None,
            variables_used: None,
            host_info: HostInfo::Use,
            reserve_null_pointer: false,
            disable_smem_reservation: false,
            extended_smem: false,
            allow_undefined_globals: false,
            extra_warnings: false,
            suppress_stack_size_warning: false,
            uidx: None,
            nv_host: None,
            keep_system_libraries: false,
            lazy_archives: false,
            allow_newer_inputs: false,
            keep_first_definition: false,
            report: false,
            report_detail: false,
            statistics: false,
            explain: true,
            threads: 0,
            reuse: true,
            mercury: MercuryConfig::default(),
            identity: Identity::warpld(),
            note_object_name: String::new(),
            note_command_line: None,
        })
    }

    /// The target.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// The release that the link stands for: that of the inputs where the settings name none.
    pub(crate) fn release(&self, of_inputs: Option<&'static Release>) -> &'static Release {
        self.release.or(of_inputs).unwrap_or(Release::OLDEST)
    }

    /// Whether `--kernels-used` or `--variables-used` was given.
    pub(crate) fn names_used(&self) -> bool {
        self.kernels_used.is_some() || self.variables_used.is_some()
    }

    /// The command line in the tool note.
    pub(crate) fn note_command_line(&self) -> Cow<'_, str> {
        match &self.note_command_line {
            Some(line) => Cow::Borrowed(line),
            None => Cow::Owned(format!("-arch {} ", self.arch)),
        }
    }

    /// Whether debuggers are told where shared memory is.
    pub(crate) fn is_debug_link(&self) -> bool {
        self.debug && !self.suppress_debug_info
    }
}

/// Makes a [`Config`]. Every method but [`build`](Self::build) changes one setting; the option of
/// the command that does the same stands beside it.
#[derive(Clone, Debug)]
#[must_use]
pub struct ConfigBuilder(Config);

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $($(#[$doc])* pub fn $name(mut self, on: bool) -> Self {
            self.0.$name = on;
            self
        })*
    };
}

/// The settings so far.
impl AsRef<Config> for ConfigBuilder {
    fn as_ref(&self) -> &Config {
        &self.0
    }
}

/// What is linked and what comes out.
impl ConfigBuilder {
    flags! {
        /// Joins the inputs into one relocatable object (`-r`).
        relocatable,
        /// Links for debugging: keeps unreachable code (`-g`).
        debug,
        /// Beside [`debug`](Self::debug): leaves out what debuggers alone read
        /// (`--suppress-debug-info`).
        suppress_debug_info,
        /// Keeps the relocations that the link resolved (`--preserve-relocs`).
        preserve_relocs,
        /// Writes relocations with addends on targets that do without (`--force-rela`).
        force_rela,
        /// Keeps the first bytes of shared memory free (`--reserve-null-pointer`).
        reserve_null_pointer,
        /// Does without the shared memory that sm_90 and later reserve
        /// (`--disable-smem-reservation`).
        disable_smem_reservation,
        /// Links inputs of releases that are not known yet by the rules of the newest one
        /// (`--allow-newer-inputs`).
        allow_newer_inputs,
        /// Links the first of several definitions of a name, with a warning about each other one,
        /// as libnvJitLink does. Without it they are errors.
        keep_first_definition,
        /// Allows as much static shared memory as the hardware has (`--enable-extended-smem`).
        extended_smem,
        /// Leaves undefined variables in global memory to the loader
        /// (`--allow-undefined-globals`).
        allow_undefined_globals,
        /// Links libcudadevrt.a even if nothing needs it (`--keep-system-libraries`).
        keep_system_libraries,
        /// Takes from archives only the members that something needs, as host linkers do
        /// (`--lazy-archives`).
        lazy_archives,
        /// Also warns about functions whose address is taken but which nothing calls indirectly
        /// (`--extra-warnings`).
        extra_warnings,
        /// Does not warn about kernels whose stack size is unknown
        /// (`--suppress-stack-size-warning`).
        suppress_stack_size_warning,
        /// Collects a [report](crate::Output::report).
        report,
        /// Adds to the [report](crate::Output::report) what a page about the link shows besides: copies of
        /// one name, maps of memory, the time of each phase.
        report_detail,
        /// Counts sections and symbols, and times the phases of the link (`--stats`).
        statistics,
        /// Adds notes to messages, and says once what holds for several kernels. On by default;
        /// without it there are nvlink's lines alone.
        explain,
    }

    /// Keeps only the kernels whose mangled name contains one of these patterns, in which `*`
    /// stands for any text (`--kernels-used`).
    pub fn kernels_used(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.0.kernels_used = Some(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// The same for variables. Without [`kernels_used`](Self::kernels_used) it drops all kernels
    /// (`--variables-used`).
    pub fn variables_used(mut self, patterns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.0.variables_used = Some(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// Keeps all kernels, whatever the host code names (`--ignore-host-info`). By default those
    /// that no host code names are dropped, if all inputs say which they name.
    pub fn ignore_host_info(mut self, on: bool) -> Self {
        self.0.host_info = if on { HostInfo::Ignore } else { HostInfo::Use };
        self
    }

    /// The bytes of an index of unified functions and variables (`--uidx-file`).
    pub fn uidx(mut self, index: impl Into<Vec<u8>>) -> Self {
        self.0.uidx = Some(index.into());
        self
    }

    /// The bytes of the output's section `.nv.host` (`--nv-host`).
    pub fn nv_host(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.nv_host = Some(bytes.into());
        self
    }

    /// Links code that CUDA's tools load into programs: keeps unreachable code, and refuses
    /// functions that were not compiled for that (`--link-as-tools-patch`).
    pub fn tools_patch(mut self, on: bool) -> Self {
        self.0.tools_patch = on;
        self.0.debug |= on;
        self
    }

    /// The release of the toolkit whose nvlink the link stands for (`--cuda-release`). By default
    /// it is the newest one that an input comes from, and never older than
    /// [`Release::OLDEST`]. Inputs of newer releases are refused.
    pub fn release(mut self, release: &'static Release) -> Self {
        self.0.release = Some(release);
        self
    }

    /// How many threads a link starts that is not called on a thread of a rayon pool; 0 is one
    /// per processor, or none beside the first for a small link (`--threads`).
    pub fn threads(mut self, count: usize) -> Self {
        self.0.threads = count;
        self
    }

    /// Whether inputs share the analysis of what they have in common. On, and off only in tests:
    /// the result is the same.
    #[doc(hidden)]
    pub fn reuse(mut self, on: bool) -> Self {
        self.0.reuse = on;
        self
    }

    /// The settings.
    pub fn build(self) -> Config {
        self.0
    }
}

/// What is written from sm_100 on, where files have Mercury code beside machine code.
impl ConfigBuilder {
    /// Writes machine code alone (`--binary-kind=sass`).
    pub fn machine_code_only(mut self, on: bool) -> Self {
        let kind = if on { BinaryKind::Sass } else { BinaryKind::CapsuleMercury };
        self.0.mercury.binary_kind = kind;
        self
    }

    /// Links code for another target of its family as it is where it declares itself fit
    /// (`--fastpath`). On by default.
    pub fn fastpath(mut self, on: bool) -> Self {
        self.0.mercury.fastpath = if on { Fastpath::Auto } else { Fastpath::Off };
        self
    }

    /// Reallocates scoreboards in kernels without calls, as nvlink does, where the result is certain
    /// (`--rescoreboard`). On by default.
    pub fn rescoreboard(mut self, on: bool) -> Self {
        self.0.mercury.keep_scoreboards = !on;
        self
    }

    /// Reads the output, writes it again and fails if something differs (`--self-check`).
    pub fn self_check(mut self, on: bool) -> Self {
        self.0.mercury.self_check = on;
        self
    }

    /// Tells what is done with inputs and output (`--fnlzr-trace`), and how it is decided what
    /// fits the target.
    pub fn mercury_trace(mut self, steps: bool, compatibility: bool) -> Self {
        self.0.mercury.trace = steps;
        self.0.mercury.trace_compatibility = compatibility;
        self
    }
}

/// Who the output says has made it.
impl ConfigBuilder {
    /// The names of the producer (`--identity`, `--tool-name`).
    pub fn identity(mut self, identity: Identity) -> Self {
        self.0.identity = identity;
        self
    }

    /// The name of the output and the command line in the note.
    pub fn note(mut self, object_name: impl Into<String>, command_line: impl Into<String>) -> Self {
        self.0.note_object_name = object_name.into();
        self.0.note_command_line = Some(command_line.into());
        self
    }
}

impl Identity {
    /// This linker.
    pub fn warpld() -> Self {
        Self {
            tool: "warpld".into(),
            version: Some(concat!("warpld ", env!("CARGO_PKG_VERSION")).into()),
            build: Some(concat!("Build warpld_", env!("CARGO_PKG_VERSION")).into()),
        }
    }

    /// The strings that nvlink of the release writes, for comparing outputs with `cmp`.
    pub fn nvlink() -> Self {
        Self { tool: "nvlink".into(), version: None, build: None }
    }

    /// The strings that libnvJitLink of the release writes.
    pub fn nvjitlink() -> Self {
        let build = "Build system must define TOOLS_VERSION_EXTENDED";
        Self { tool: "nvJIT API".into(), version: None, build: Some(build.into()) }
    }
}
