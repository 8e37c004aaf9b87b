//! PTX compiled by the `ptxas` of a toolkit, where NVIDIA's library is not there to do it.

use std::ffi::CString;
use std::sync::Arc;
use warpld_compilers::toolkit::{Hints, Search};
use warpld_compilers::{CompileSettings, Host, ToolkitCompiler};

/// The compiler of a link with these options. It is looked for when it is needed.
pub(crate) fn compiler(options: &[CString]) -> ToolkitCompiler {
    let search = Arc::new(Search::new(Hints::default()));
    ToolkitCompiler::new(settings(options), Host::default(), search)
}

/// What libnvJitLink tells its own compiler. Values that are no numbers are passed over, as by Create.
fn settings(options: &[CString]) -> CompileSettings {
    let mut settings = CompileSettings { threads: 1, ..CompileSettings::default() };
    for option in options {
        let text = option.to_string_lossy();
        let (name, value) = text.split_once('=').unwrap_or((&text, ""));
        match name {
            "-maxrregcount" => settings.max_registers = value.parse().ok(),
            "-split-compile" => settings.split_compile = value.parse().ok(),
            "-Ofc" if value != "0" => settings.fast_compile = Some(value.into()),
            "-Xptxas" => settings.xptxas.push(value.into()),
            "-O0" | "-lineinfo" => settings.xptxas.push(name.into()),
            "-g" => settings.debug = true,
            _ => {}
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_compiler() {
        let texts =
            ["-arch=sm_90", "-maxrregcount=40", "-Xptxas=-O1", "-lineinfo", "-g", "-ftz=true"];
        let settings = settings(&texts.map(|text| CString::new(text).unwrap()));
        assert_eq!(settings.max_registers, Some(40));
        assert_eq!(settings.xptxas, [b"-O1".to_vec(), b"-lineinfo".to_vec()]);
        assert!(settings.debug && settings.fast_compile.is_none());
    }
}
