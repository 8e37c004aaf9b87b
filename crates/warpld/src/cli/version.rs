//! The text of `--version`.

use libwarpld::Release;

/// Names warpld first, then the nvlink it stands in for: build tools look only for `V` and three
/// numbers (XLA refuses a linker without).
pub fn text(release: &Release) -> String {
    let (own, version) = (env!("CARGO_PKG_VERSION"), release.note_version);
    format!("warpld {own}: the open CUDA device linker\nStands in for nvlink of {version}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XLA's probe: the regular expression `\bV(\d+)\.(\d+)\.(\d+)\b`.
    fn xla_version(text: &str) -> Option<(u32, u32, u32)> {
        text.split(|c: char| !(c.is_alphanumeric() || c == '.')).find_map(|word| {
            let mut numbers = word.strip_prefix('V')?.split('.').map(|n| n.parse().ok());
            let version = (numbers.next()??, numbers.next()??, numbers.next()??);
            numbers.next().is_none().then_some(version)
        })
    }

    #[test]
    fn xla_accepts_the_version() {
        assert_eq!(xla_version(&text(&Release::CUDA_13_0)), Some((13, 0, 88)));
        assert_eq!(xla_version("warpld 0.1.0"), None);
    }

    #[test]
    fn the_first_line_says_who_this_is() {
        assert!(text(Release::NEWEST).starts_with("warpld "));
    }
}
