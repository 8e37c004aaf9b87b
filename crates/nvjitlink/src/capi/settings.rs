//! Settings by name: the options of the command without their dashes.

use super::{Refused, Status};
use libwarpld::{Arch, Config, ConfigBuilder, Identity, Release};
use std::sync::Arc;
use warpld_compilers::toolkit::{Hints, Search};
use warpld_compilers::{CompileSettings, Host, ToolkitCompiler};

/// The settings of a session.
#[derive(Default)]
pub struct Settings {
    arch: Option<Arch>,
    release: Option<&'static Release>,
    identity: Option<Identity>,
    threads: usize,
    /// The toolkit that compiles PTX, if one may.
    toolkit: Option<Hints>,
    kernels_used: Vec<String>,
    variables_used: Vec<String>,
    flags: Vec<(Flag, bool)>,
}

type Flag = fn(ConfigBuilder, bool) -> ConfigBuilder;

/// Settings that are on or off.
const FLAGS: &[(&str, Flag)] = &[
    ("allow-newer-inputs", ConfigBuilder::allow_newer_inputs),
    ("allow-undefined-globals", ConfigBuilder::allow_undefined_globals),
    ("debug", ConfigBuilder::debug),
    ("disable-smem-reservation", ConfigBuilder::disable_smem_reservation),
    ("enable-extended-smem", ConfigBuilder::extended_smem),
    ("extra-warnings", ConfigBuilder::extra_warnings),
    ("force-rela", ConfigBuilder::force_rela),
    ("ignore-host-info", ConfigBuilder::ignore_host_info),
    ("keep-system-libraries", ConfigBuilder::keep_system_libraries),
    ("lazy-archives", ConfigBuilder::lazy_archives),
    ("machine-code-only", ConfigBuilder::machine_code_only),
    ("preserve-relocs", ConfigBuilder::preserve_relocs),
    ("relocatable", ConfigBuilder::relocatable),
    ("report", ConfigBuilder::report),
    ("reserve-null-pointer", ConfigBuilder::reserve_null_pointer),
    ("suppress-debug-info", ConfigBuilder::suppress_debug_info),
    ("suppress-stack-size-warning", ConfigBuilder::suppress_stack_size_warning),
];

impl Settings {
    /// Changes a setting. One that is on or off is on if there is no value.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), Refused> {
        let refused =
            || (Status::InvalidValue, format!("{name} cannot be '{}'", value.unwrap_or_default()));
        let text = || value.ok_or_else(refused);
        match name {
            "arch" => self.arch = Some(target(text()?).ok_or_else(refused)?),
            "cuda-release" => self.release = Some(Release::named(text()?).ok_or_else(refused)?),
            "identity" => self.identity = Some(identity(text()?).ok_or_else(refused)?),
            "cuda-path" => self.toolkit = Some(toolkit(text()?)),
            "threads" => self.threads = text()?.parse().map_err(|_| refused())?,
            "kernels-used" => self.kernels_used.push(text()?.to_owned()),
            "variables-used" => self.variables_used.push(text()?.to_owned()),
            _ => {
                let flag = FLAGS.iter().find(|(flag, _)| *flag == name);
                let (_, set) = flag.ok_or_else(|| {
                    (Status::UnknownSetting, format!("no setting is named '{name}'"))
                })?;
                self.flags.push((*set, on(value).ok_or_else(refused)?));
            }
        }
        Ok(())
    }

    /// What compiles PTX, if a toolkit may.
    pub fn compiler(&self) -> Option<ToolkitCompiler> {
        let search = Arc::new(Search::new(self.toolkit.clone()?));
        let settings = CompileSettings { threads: self.threads, ..CompileSettings::default() };
        Some(ToolkitCompiler::new(settings, Host::default(), search))
    }

    /// What a link is asked to do.
    pub fn config(&self) -> Result<Config, Refused> {
        let arch = self.arch.ok_or_else(|| {
            (Status::NoTarget, "the setting 'arch' must name a target, such as sm_90".to_owned())
        })?;
        let mut builder = Config::builder(arch).report(true).threads(self.threads);
        if let Some(release) = self.release {
            builder = builder.release(release);
        }
        if let Some(identity) = &self.identity {
            builder = builder.identity(identity.clone());
        }
        if !self.kernels_used.is_empty() {
            builder = builder.kernels_used(&self.kernels_used);
        }
        if !self.variables_used.is_empty() {
            builder = builder.variables_used(&self.variables_used);
        }
        for (set, on) in &self.flags {
            builder = set(builder, *on);
        }
        Ok(builder.build())
    }
}

fn target(name: &str) -> Option<Arch> {
    let arch = name.parse().ok()?;
    Release::first_with(arch).map(|_| arch)
}

fn toolkit(path: &str) -> Hints {
    Hints { cuda_path: (path != "auto").then(|| path.into()), ..Hints::default() }
}

fn identity(name: &str) -> Option<Identity> {
    match name {
        "warpld" => Some(Identity::warpld()),
        "nvlink" => Some(Identity::nvlink()),
        "nvjitlink" => Some(Identity::nvjitlink()),
        _ => None,
    }
}

fn on(value: Option<&str>) -> Option<bool> {
    match value {
        None | Some("" | "1" | "on" | "true") => Some(true),
        Some("0" | "off" | "false") => Some(false),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_line_in_the_header() {
        let header = include_str!("../../include/warpld.h");
        let others = [
            "arch",
            "cuda-path",
            "cuda-release",
            "identity",
            "threads",
            "kernels-used",
            "variables-used",
        ];
        for name in FLAGS.iter().map(|(name, _)| *name).chain(others) {
            assert!(header.contains(&format!(" *   {name} ")), "{name}");
        }
    }

    #[test]
    fn what_is_refused() {
        let mut settings = Settings::default();
        let mut refused = |name, value| settings.set(name, value).err().map(|(status, _)| status);
        for (name, value) in [
            ("arch", None),
            ("arch", Some("sm_XX")),
            ("arch", Some("sm_33")),
            ("cuda-release", Some("11.8")),
            ("identity", Some("gcc")),
            ("threads", Some("-1")),
            ("debug", Some("maybe")),
        ] {
            assert_eq!(refused(name, value), Some(Status::InvalidValue), "{name}");
        }
        assert_eq!(refused("-arch", Some("sm_90")), Some(Status::UnknownSetting));
        assert_eq!(refused("cuda-release", Some("13.4")), None);
        assert_eq!(settings.config().err().map(|(status, _)| status), Some(Status::NoTarget));
    }

    #[test]
    fn the_last_value_of_a_flag_holds() {
        let mut settings = Settings::default();
        settings.set("arch", Some("sm_90")).unwrap();
        settings.set("relocatable", None).unwrap();
        settings.set("relocatable", Some("off")).unwrap();
        assert!(format!("{:?}", settings.config().unwrap()).contains("relocatable: false"));
    }
}
