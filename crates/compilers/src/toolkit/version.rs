//! The release of a toolkit, and of a program in it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The version of a toolkit's linker: by its own word, else by what the toolkit is said to be.
/// The latter may name the release only.
pub fn version(toolkit: &Path) -> Option<String> {
    let file = |name: &str| fs::read_to_string(toolkit.join(name)).ok();
    answer(&toolkit.join("bin/nvlink"))
        .and_then(|text| of_answer(&text))
        .or_else(|| of_json(&file("version.json")?))
        .or_else(|| of_header(&file("include/cuda.h")?))
}

/// What a program answers to `--version`.
pub(super) fn answer(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()
}

/// Whether this is warpld's answer: its first line says so.
pub(super) fn is_warpld(answer: &str) -> bool {
    answer.starts_with("warpld ")
}

/// `13.4.92` of `Cuda compilation tools, release 13.4, V13.4.92`.
pub(super) fn of_answer(text: &str) -> Option<String> {
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

pub(super) fn is_version(text: &str) -> bool {
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
