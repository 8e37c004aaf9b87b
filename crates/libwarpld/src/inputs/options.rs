//! What is asked of a selection of images, and what it tells about each input.

use crate::config::{Config, HostInfo};
use crate::dialect::Release;
use cubin::Arch;
use std::sync::Arc;

/// How to select.
#[derive(Clone, Copy, Debug)]
pub struct SelectOptions {
    /// The target.
    pub arch: Arch,
    /// The release of the toolkit that the link stands for; that of the newest input if there is
    /// none.
    pub release: Option<&'static Release>,
    /// `--allow-newer-inputs`.
    pub allow_newer: bool,
    /// `--suppress-arch-warning`.
    pub suppress_arch_warning: bool,
    /// `--keep-system-libraries`: libcudadevrt.a is linked unasked.
    pub keep_system_libraries: bool,
    /// `--lazy-archives`: archive members are linked only if something needs
    /// them. nvlink links all.
    pub lazy_archives: bool,
    /// Whether to collect what to register.
    pub register: bool,
    /// Whether to trace what happened to all inputs.
    pub trace: bool,
    /// `-dlto`: take LTO-IR where an input has it.
    pub lto: Option<LtoOptions>,
    /// What host code uses does not count for LTO-IR: `-ignore-host-info`, but not `-g`.
    pub ignore_host_info: bool,
    /// An input that cannot contribute because of its type or its targets is an error. nvlink skips
    /// most of them.
    pub strict: bool,
}

impl SelectOptions {
    /// The selection for a link, as nvlink does it.
    pub fn of(config: &Config) -> Self {
        Self {
            arch: config.arch,
            release: config.release,
            allow_newer: config.allow_newer_inputs,
            suppress_arch_warning: false,
            keep_system_libraries: config.keep_system_libraries,
            lazy_archives: config.lazy_archives,
            register: false,
            trace: false,
            lto: None,
            ignore_host_info: config.host_info == HostInfo::Ignore,
            strict: false,
        }
    }
}

/// What a link with `-dlto` is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LtoOptions {
    /// Keep the code linkable: `-r`, `--force-partial-lto`.
    pub partial: bool,
    /// Treat it as the whole program even if functions are missing: `--force-whole-lto`.
    pub whole: bool,
    /// `-maxrregcount` was given: what the inputs say about it does not count.
    pub registers_given: bool,
    /// Stop at the text: `-emit-ptx`.
    pub ptx_only: bool,
    /// Warnings count as errors, which end the link before anything is compiled.
    pub warnings_fail: bool,
}

/// What happened to an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Its name.
    pub name: Arc<str>,
    /// How many images of it are linked.
    pub images: usize,
    /// Whether some of them were compiled from PTX.
    pub compiled: bool,
    /// Whether its LTO-IR was compiled with that of others.
    pub optimized: bool,
    /// Why none is, if there is no message about it.
    pub ignored: Option<String>,
}
