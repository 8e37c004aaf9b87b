//! The text of `--version`.

use libwarpld::Release;

/// Names warpld first, then the nvlink it stands in for: build tools look only for `V` and three
/// numbers (XLA refuses a linker without). Where a release was chosen its two lines are nvlink's.
pub fn text(release: Option<&Release>) -> String {
    let own = format!("warpld {}: the open CUDA device linker\n", env!("CARGO_PKG_VERSION"));
    match release {
        Some(release) => format!("{own}{}\n{}\n", release.note_version, release.note_build),
        None => {
            let (oldest, newest) = (Release::ALL.first(), Release::NEWEST);
            let oldest = oldest.map_or("", |release| release.version);
            format!(
                "{own}Stands in for nvlink of CUDA {oldest} to {}\n{}\n",
                newest.version, newest.note_version
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XLA's probe: the regular expression `\bV(\d+)\.(\d+)\.(\d+)\b`.
    fn xla_version(text: &str) -> Option<String> {
        text.split(|c: char| !(c.is_alphanumeric() || c == '.')).find_map(|word| {
            let version = word.strip_prefix('V')?;
            let numbers: Option<Vec<u32>> = version.split('.').map(|n| n.parse().ok()).collect();
            (numbers?.len() == 3).then(|| version.to_owned())
        })
    }

    #[test]
    fn xla_accepts_the_version() {
        for release in Release::ALL {
            assert_eq!(xla_version(&text(Some(release))).as_deref(), Some(release.version));
        }
        assert_eq!(xla_version(&text(None)).as_deref(), Some(Release::NEWEST.version));
        assert_eq!(xla_version("warpld 0.1.0"), None);
    }

    #[test]
    fn the_first_line_says_who_this_is() {
        assert!(text(Some(Release::NEWEST)).starts_with("warpld "));
        assert!(text(None).starts_with("warpld "));
    }

    #[test]
    fn a_release_has_the_lines_of_its_nvlink() {
        let text = text(Some(&Release::CUDA_13_4));
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(lines, [Release::CUDA_13_4.note_version, Release::CUDA_13_4.note_build]);
    }
}
