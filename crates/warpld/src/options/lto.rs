//! Link-time optimization: what the command line says about it.

use super::parse::{CommandLine, to_path};
use super::table::Opt;
use bstr::ByteSlice;
use libwarpld::driver::LtoOptions;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use warpld_compilers::LtoSettings;

/// `-dlto`.
#[derive(Clone, Debug, Default)]
pub struct LtoRequest {
    /// `-nvvmpath`.
    pub nvvm: PathBuf,
    /// What decides about the kind of output.
    pub options: LtoOptions,
    /// What a compiler of LTO-IR is told.
    pub compiler: LtoSettings,
}

impl LtoRequest {
    /// Nothing if LTO was not asked for.
    pub(super) fn new(line: &CommandLine) -> Option<Self> {
        if !line.has(Opt::LinkTimeOpt) && !line.has(Opt::Dlto) {
            return None;
        }
        let split = line.number(Opt::SplitCompileExtended);
        Some(Self {
            nvvm: line.path(Opt::NvvmPath).unwrap_or_default(),
            options: LtoOptions {
                partial: line.has(Opt::RelocatableLink) || line.has(Opt::ForcePartialLto),
                whole: line.has(Opt::ForceWholeLto),
                registers_given: line.value(Opt::MaxRregCount).is_some(),
                ptx_only: line.has(Opt::EmitPtx),
                warnings_fail: line.has(Opt::WarningAsError) && !line.has(Opt::DisableInfos),
            },
            compiler: LtoSettings {
                split_extended: split.is_some_and(|threads| threads != 1),
                words: words(line),
                inputs: line.inputs.iter().map(|input| to_path(input)).collect(),
                libraries: [(Opt::LibraryPath, "-L"), (Opt::Library, "-l")]
                    .into_iter()
                    .flat_map(|(opt, name)| {
                        line.list(opt).iter().map(move |item| glued(name, item))
                    })
                    .collect(),
                kernels_used: line.list(Opt::KernelsUsed).to_vec(),
                variables_used: line.list(Opt::VariablesUsed).to_vec(),
                xnvvm: line.list(Opt::Xnvvm).to_vec(),
            },
        })
    }
}

/// `-l` and a value in one word.
fn glued(name: &str, value: &[u8]) -> OsString {
    let mut word = OsString::from(name);
    word.push(value.to_os_str_lossy());
    word
}

fn words(line: &CommandLine) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-m64".into(), "-dlto".into()];
    for (opt, name) in [
        (Opt::Arch, "-arch="),
        (Opt::NvvmPath, "-nvvmpath="),
        (Opt::OfastCompile, "-Ofc="),
        (Opt::CpuArch, "-cpu-arch="),
    ] {
        words.extend(line.bytes(opt).map(|value| glued(name, value)));
    }
    for (opt, name) in
        [(Opt::MaxRregCount, "-maxrregcount="), (Opt::SplitCompile, "-split-compile=")]
    {
        words.extend(line.number(opt).map(|value| OsString::from(format!("{name}{value}"))));
    }
    for (opt, name) in [
        (Opt::Xnvvm, "-Xnvvm="),
        (Opt::KernelsUsed, "-kernels-used="),
        (Opt::VariablesUsed, "-variables-used="),
    ] {
        words.extend(line.list(opt).iter().map(|item| glued(name, &quoted(item))));
    }
    for (opt, name) in [
        (Opt::Debug, "-g"),
        (Opt::SuppressDebugInfo, "-suppress-debug-info"),
        (Opt::UseHostInfo, "-use-host-info"),
        (Opt::IgnoreHostInfo, "-ignore-host-info"),
        (Opt::ForceWholeLto, "-force-whole-lto"),
    ] {
        words.extend(line.has(opt).then(|| OsStr::new(name).to_owned()));
    }
    words
}

/// An item of a list, whose commas are its own.
fn quoted(item: &[u8]) -> Vec<u8> {
    match item.contains(&b',') {
        true => [b"\"", item, b"\""].concat(),
        false => item.to_vec(),
    }
}
