//! Which toolkit a folder is, and its release.

use super::record::Shim;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, str};

/// The toolkit behind a folder: the folder itself, unless it is a shim.
pub fn real(folder: PathBuf) -> PathBuf {
    if let Some(shim) = Shim::at(&folder) {
        return shim.toolkit;
    }
    // Earlier shims had no record, but all their links lead to the toolkit.
    let by_link = fs::canonicalize(folder.join("bin/nvcc")).ok();
    let by_link = by_link.as_deref().and_then(|nvcc| Some(nvcc.parent()?.parent()?.to_owned()));
    match by_link {
        Some(toolkit) if is_warpld(&folder) => toolkit,
        _ => folder,
    }
}

fn is_warpld(toolkit: &Path) -> bool {
    said_by_nvlink(toolkit).is_some_and(|text| text.starts_with("warpld "))
}

/// The version of a toolkit's linker: by its own word, else by what the toolkit is said to be.
/// The latter may name the release only.
pub fn version(toolkit: &Path) -> Option<String> {
    let file = |name: &str| fs::read_to_string(toolkit.join(name)).ok();
    said_by_nvlink(toolkit)
        .and_then(|text| of_answer(&text))
        .or_else(|| of_json(&file("version.json")?))
        .or_else(|| of_header(&file("include/cuda.h")?))
}

fn said_by_nvlink(toolkit: &Path) -> Option<String> {
    let output = Command::new(toolkit.join("bin/nvlink")).arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()
}

/// `13.4.92` of `Cuda compilation tools, release 13.4, V13.4.92`.
fn of_answer(text: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    let version = words.find_map(|word| word.strip_prefix('V').filter(|v| is_version(v)))?;
    Some(version.to_owned())
}

/// The version of the compilers in the list of a toolkit's parts, else that of the whole.
fn of_json(text: &str) -> Option<String> {
    let parts: serde_json::Value = serde_json::from_str(text).ok()?;
    let version = |part: &str| parts.get(part)?.get("version")?.as_str();
    let whole = || Some(version("cuda")?.splitn(3, '.').take(2).collect::<Vec<_>>().join("."));
    version("cuda_nvcc").map(str::to_owned).or_else(whole).filter(|v| is_version(v))
}

/// `13.4` of `#define CUDA_VERSION 13040`.
fn of_header(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let named = words.next() == Some("#define") && words.next() == Some("CUDA_VERSION");
        words.next().filter(|_| named)
    });
    let number: u32 = value?.parse().ok()?;
    Some(format!("{}.{}", number / 1000, number % 1000 / 10))
}

fn is_version(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() >= 2 && text.split('.').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use libwarpld::Release;

    #[test]
    fn every_release_tells_its_version() {
        for release in Release::ALL {
            let text = format!(
                "nvlink: NVIDIA (R) Cuda linker\nCopyright\nBuilt on Tue\n{}\n{}\n",
                release.note_version, release.note_build
            );
            assert_eq!(of_answer(&text).as_deref(), Some(release.version));
        }
        assert_eq!(of_answer("Version 13"), None);
    }

    #[test]
    fn files_tell_it_too() {
        let parts = r#"{"cuda": {"version": "13.4.1"}, "cuda_nvcc": {"version": "13.4.92"}}"#;
        assert_eq!(of_json(parts).as_deref(), Some("13.4.92"));
        assert_eq!(of_json(r#"{"cuda": {"version": "13.4.1"}}"#).as_deref(), Some("13.4"));
        assert_eq!(of_json("{}"), None);
        assert_eq!(of_json("no list"), None);
        let header = "#define OTHER 1\n#define CUDA_VERSION 13040\n";
        assert_eq!(of_header(header).as_deref(), Some("13.4"));
        assert_eq!(of_header("#define CUDA_VERSION x"), None);
        assert_eq!(of_header("int x;"), None);
    }
}
