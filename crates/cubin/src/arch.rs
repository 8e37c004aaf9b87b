//! Target architectures: `sm_90`, `sm_90a`, `sm_100f` …

use std::fmt;
use std::str::FromStr;

/// The letter after the number of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Variant {
    /// `sm_90`: no letter.
    #[default]
    Plain,
    /// `sm_100f`: family-specific.
    Family,
    /// `sm_90a`: architecture-specific.
    Accelerated,
}

/// A real architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// The number, 90 in `sm_90a`.
    pub number: u16,
    pub variant: Variant,
}

impl Arch {
    /// Whether objects for this target contain Mercury code as well as SASS.
    pub fn is_mercury(self) -> bool {
        self.number >= 100
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.variant {
            Variant::Plain => "",
            Variant::Family => "f",
            Variant::Accelerated => "a",
        };
        write!(f, "sm_{}{letter}", self.number)
    }
}

/// A name that is not that of a real architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture '{0}'; names look like sm_90 or sm_100a")]
pub struct UnknownArch(pub String);

impl FromStr for Arch {
    type Err = UnknownArch;
    fn from_str(s: &str) -> Result<Self, UnknownArch> {
        let unknown = || UnknownArch(s.to_owned());
        let body = s.strip_prefix("sm_").ok_or_else(unknown)?;
        let (digits, variant) = match body.as_bytes().last() {
            Some(b'a') => (&body[..body.len() - 1], Variant::Accelerated),
            Some(b'f') => (&body[..body.len() - 1], Variant::Family),
            _ => (body, Variant::Plain),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(unknown());
        }
        Ok(Self { number: digits.parse().map_err(|_| unknown())?, variant })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_almost_right_are_answered_with_the_form() {
        for name in ["sm90", "90", "SM_90", "sm_", "sm_90x", "compute_90", ""] {
            let error = name.parse::<Arch>().unwrap_err().to_string();
            assert!(error.contains(&format!("'{name}'")) && error.contains("sm_90 or"), "{error}");
        }
        assert_eq!("sm_100a".parse::<Arch>().unwrap().to_string(), "sm_100a");
    }
}
