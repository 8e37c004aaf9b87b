//! Releases of the toolkit.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

/// A release such as 13.4.92.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    pub major: u16,
    pub minor: u16,
    pub patch: u16,
}

impl Release {
    /// The release that the recorded cases and the fixed set were made with first.
    pub const BASE: Self = Self { major: 13, minor: 0, patch: 88 };
    const LOWEST: Self = Self { major: 0, minor: 0, patch: 0 };
    const HIGHEST: Self = Self { major: u16::MAX, minor: u16::MAX, patch: u16::MAX };

    /// Asks the nvlink of a toolkit.
    pub fn of_toolkit(toolkit: &Path) -> Result<Self, String> {
        let nvlink = toolkit.join("bin/nvlink");
        let wrong = |what: &dyn fmt::Display| format!("{} --version: {what}", nvlink.display());
        let output = Command::new(&nvlink).arg("--version").output().map_err(|e| wrong(&e))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // "Cuda compilation tools, release 13.4, V13.4.92"
        let version = text.lines().find_map(|line| line.rsplit_once(", V")).map(|(_, v)| v.trim());
        let range: Releases = version.ok_or_else(|| wrong(&"no version"))?.parse()?;
        Ok(range.first)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A range of releases: `13.4.92`, `13.4` (with all its patches), `13.1..13.3` (13.3 included),
/// `13.3..` or `..13.2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Releases {
    pub first: Release,
    pub last: Release,
}

impl Releases {
    /// Every release.
    pub const ALL: Self = Self { first: Release::LOWEST, last: Release::HIGHEST };

    /// Whether `release` is one of them.
    pub fn contains(self, release: Release) -> bool {
        (self.first..=self.last).contains(&release)
    }
}

impl FromStr for Releases {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no release like 13.4 or 13.4.92 and no range of these");
        let one = |part: &str, end: Release| {
            let mut numbers = part.split('.').map(|n| n.parse::<u16>().map_err(|_| wrong()));
            let mut next = || numbers.next().ok_or_else(wrong)?;
            let (major, minor) = (next()?, next()?);
            let patch = numbers.next().unwrap_or(Ok(end.patch))?;
            match numbers.next() {
                None => Ok(Release { major, minor, patch }),
                Some(_) => Err(wrong()),
            }
        };
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        if first.is_empty() && last.is_empty() {
            return Err(wrong());
        }
        let bound = |part: &str, end| if part.is_empty() { Ok(end) } else { one(part, end) };
        Ok(Self { first: bound(first, Release::LOWEST)?, last: bound(last, Release::HIGHEST)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(minor: u16, patch: u16) -> Release {
        Release { major: 13, minor, patch }
    }

    #[test]
    fn a_range_holds_the_patches_of_its_ends() {
        let contains = |range: &str, minor, patch| {
            range.parse::<Releases>().map(|range| range.contains(release(minor, patch)))
        };
        for (range, inside, outside) in [
            ("13.4.92", [(4, 92), (4, 92)], [(4, 91), (4, 93)]),
            ("13.4", [(4, 0), (4, 92)], [(3, 73), (5, 0)]),
            ("13.1..13.3", [(1, 0), (3, 73)], [(0, 88), (4, 0)]),
            ("13.2.78..", [(2, 78), (5, 37)], [(2, 51), (0, 88)]),
            ("..13.2", [(0, 48), (2, 86)], [(3, 33), (4, 92)]),
        ] {
            for (minor, patch) in inside {
                assert_eq!(contains(range, minor, patch), Ok(true), "{range} 13.{minor}.{patch}");
            }
            for (minor, patch) in outside {
                assert_eq!(contains(range, minor, patch), Ok(false), "{range} 13.{minor}.{patch}");
            }
        }
        for wrong in ["", "..", "13", "13.x", "13.4.92.1"] {
            assert!(wrong.parse::<Releases>().is_err(), "{wrong}");
        }
    }
}
