//! What a link is asked to do. The option table fills it in; library users
//! build it themselves.

mod mercury;

pub use mercury::{BinaryKind, Fastpath, MercuryConfig};

use crate::dialect::Release;
use cubin::Arch;

/// How the output names its producer in `.note.nv.tkinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Tool name.
    pub tool: String,
    /// Version line.
    pub version: String,
    /// Build line.
    pub build: String,
}

/// Which side of the host's kernel references to believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HostInfo {
    /// Prune kernels that no host code names, if every input says what it uses.
    #[default]
    Use,
    /// Keep all kernels.
    Ignore,
}

/// Settings of one link.
#[derive(Clone, Debug)]
pub struct Config {
    /// Target.
    pub arch: Arch,
    /// The release of the toolkit whose nvlink the link stands for.
    pub release: &'static Release,
    /// `-r`: write a relocatable file.
    pub relocatable: bool,
    /// `-g`: keep everything and say so in the note.
    pub debug: bool,
    /// `--suppress-debug-info`.
    pub suppress_debug_info: bool,
    /// `--preserve-relocs`.
    pub preserve_relocs: bool,
    /// `--force-rela`.
    pub force_rela: bool,
    /// `--kernels-used`; `None` when not given.
    pub kernels_used: Option<Vec<String>>,
    /// `--variables-used`; `None` when not given.
    pub variables_used: Option<Vec<String>>,
    /// `--use-host-info` / `--ignore-host-info`.
    pub host_info: HostInfo,
    /// `--reserve-null-pointer`.
    pub reserve_null_pointer: bool,
    /// `--disable-smem-reservation true`.
    pub disable_smem_reservation: bool,
    /// `--enable-extended-smem true`.
    pub extended_smem: bool,
    /// `--allow-undefined-globals`.
    pub allow_undefined_globals: bool,
    /// `--extra-warnings`.
    pub extra_warnings: bool,
    /// `--suppress-stack-size-warning`.
    pub suppress_stack_size_warning: bool,
    /// `--uidx-file`, its bytes.
    pub uidx: Option<Vec<u8>>,
    /// `--nv-host`, its bytes.
    pub nv_host: Option<Vec<u8>>,
    /// Collect what `LinkReport` holds.
    pub report: bool,
    /// The process ends with the link: what it took is left to the system, which
    /// frees it faster than piece by piece.
    pub last: bool,
    /// From sm_100 on: what to write and how to check it.
    pub mercury: MercuryConfig,
    /// Who wrote the output.
    pub identity: Identity,
    /// The object name recorded in the note (empty unless `-g`).
    pub note_object_name: String,
    /// The command line recorded in the note.
    pub note_command_line: String,
}

impl Config {
    /// Whether debuggers are told where shared memory is.
    pub fn is_debug_link(&self) -> bool {
        self.debug && !self.suppress_debug_info
    }

    /// A plain link for `arch`, with nothing else asked for.
    pub fn new(arch: Arch) -> Self {
        Self {
            arch,
            release: Release::NEWEST,
            relocatable: false,
            debug: false,
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
            report: false,
            last: false,
            mercury: MercuryConfig::default(),
            identity: Identity::warpld(),
            note_object_name: String::new(),
            note_command_line: format!("-arch {arch} "),
        }
    }
}

impl Identity {
    /// This program.
    pub fn warpld() -> Self {
        Self {
            tool: "warpld".into(),
            version: concat!("warpld ", env!("CARGO_PKG_VERSION")).into(),
            build: concat!("Build warpld_", env!("CARGO_PKG_VERSION")).into(),
        }
    }
    /// The strings that nvlink of a release writes, for comparing outputs with `cmp`.
    pub fn nvlink(release: &Release) -> Self {
        Self {
            tool: "nvlink".into(),
            version: release.note_version.into(),
            build: release.note_build.into(),
        }
    }
}
