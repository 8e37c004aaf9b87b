//! Releases of the CUDA toolkit, one row each.

/// What a release of nvlink does in its own way.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Release {
    /// `13.0.88`.
    pub version: &'static str,
    /// The version line of the note that names the linker.
    pub note_version: &'static str,
    /// The build line of the same note.
    pub note_build: &'static str,
    /// The number in `.note.nv.cuinfo`. Code of a newer toolkit is refused.
    pub toolkit: u32,
    /// The oldest toolkit whose objects are linked, from sm_90 on.
    pub oldest_toolkit: u32,
    /// The newest version of Mercury code, major and minor: 1.1 is 0x101.
    pub newest_mercury: u16,
}

impl Release {
    /// CUDA 13.0.
    pub const CUDA_13_0: Self = Self {
        version: "13.0.88",
        note_version: "Cuda compilation tools, release 13.0, V13.0.88",
        note_build: "Build cuda_13.0.r13.0/compiler.36424714_0",
        toolkit: 130,
        oldest_toolkit: 120,
        newest_mercury: 0x101,
    };

    /// All releases, oldest first.
    pub const ALL: &[Self] = &[Self::CUDA_13_0];

    /// The newest release.
    pub const NEWEST: &'static Self = &Self::CUDA_13_0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_order_and_name_themselves() {
        assert!(Release::ALL.is_sorted_by(|a, b| a.toolkit < b.toolkit));
        assert_eq!(Release::ALL.last(), Some(Release::NEWEST));
        for release in Release::ALL {
            assert!(release.note_version.ends_with(&format!("V{}", release.version)));
            let (major, minor) = (release.toolkit / 10, release.toolkit % 10);
            assert!(release.version.starts_with(&format!("{major}.{minor}.")));
            assert!(release.note_build.contains(&format!("cuda_{major}.{minor}.")));
        }
    }
}
