//! The line of `--print-cuda-release`: the release that a link stands for, and what decided it.

use crate::options::{LinkSettings, ReleaseOrigin};
use libwarpld::Release;
use libwarpld::driver::{Selected, shown};

/// The line.
pub fn text(settings: &LinkSettings, selected: &Selected<'_>) -> String {
    let release = settings.release.release().or(selected.inputs.release);
    let release = release.unwrap_or(Release::OLDEST);
    format!("CUDA {}: {}\n", release.version, shown(&reason(release, settings, selected)))
}

fn reason(release: &Release, settings: &LinkSettings, selected: &Selected<'_>) -> String {
    match &settings.release {
        ReleaseOrigin::Option(_) => return "--cuda-release says so".into(),
        ReleaseOrigin::Shim(_, root) => {
            return format!("the shim '{}' was made from it", root.display());
        }
        ReleaseOrigin::Inputs => {}
    }
    let arch = settings.target.arch();
    match selected.newest_input() {
        Some((name, toolkit)) if toolkit > release.toolkit => {
            let name_of = name_of(toolkit);
            format!("the newest that is known; '{name}' was compiled by CUDA {name_of}")
        }
        Some((name, toolkit)) if toolkit == release.toolkit => {
            format!("the newest input, '{name}', was compiled by CUDA {}", name_of(toolkit))
        }
        _ if Release::first_with(arch) == Some(release) && release != Release::OLDEST => {
            format!("the first that links for {}", settings.target)
        }
        Some((name, toolkit)) => format!(
            "the oldest that can be written; the newest input, '{name}', was compiled by CUDA {}",
            name_of(toolkit)
        ),
        None => "no input says which toolkit compiled it".into(),
    }
}

/// `13.4` of 134.
fn name_of(toolkit: u32) -> String {
    format!("{}.{}", toolkit / 10, toolkit % 10)
}
