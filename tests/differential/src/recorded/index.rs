//! The list of recorded links.
//!
//! ```text
//! weak-kernels sm_90 79ac0f3e9a7e21c4
//!   plain      identical    0 0fb2a1d8cc03e6f1
//!   bound      control-bits 0 8c11d2e5a9f00b37 ours 0 2a4f6f20b6cb9d11
//!   library    not-recorded
//! ```
//!
//! A case for a target, with a key of all that decides what its links do; then a line for each link:
//! the verdict when it was recorded, nvlink's exit status, and a key of nvlink's files and messages.
//! `ours` is the same for warpld, where its files or messages are not nvlink's. A link that is not
//! recorded takes a library of the toolkit.

use crate::program::Sm;
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::fmt;

/// The answers by case and target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index(pub BTreeMap<(String, Sm), Entry>);

/// A case for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Key of the case.
    pub key: String,
    /// Label and answers of each link; nothing if it is not recorded.
    pub links: Vec<(String, Option<Answers>)>,
}

/// What came of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// How the two linkers compared.
    pub verdict: Verdict,
    /// nvlink's answer.
    pub nvlink: Answer,
    /// warpld's, where it is another.
    pub ours: Option<Answer>,
}

/// How a linker ended, and a key of what it gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Exit status.
    pub status: i32,
    /// Key of files and messages.
    pub key: String,
}

const HEADER: &str = "\
# nvlink's answers to the named cases, written by scripts/record.sh and replayed by `cargo test`.
# tests/differential/src/recorded/index.rs explains the lines.
";
const NOT_RECORDED: &str = "not-recorded";

impl Index {
    /// Reads the list.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut index = Self::default();
        let mut current: Option<&mut Entry> = None;
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let wrong = || format!("cannot be read: {line}");
            if line.starts_with(' ') {
                let entry = current.as_mut().ok_or_else(wrong)?;
                entry.links.push(link(&words).ok_or_else(wrong)?);
            } else {
                let [name, sm, key] = words[..] else { return Err(wrong()) };
                let at = (name.to_owned(), Sm::parse(sm).ok_or_else(wrong)?);
                let entry = Entry { key: key.into(), links: Vec::new() };
                current = Some(index.0.entry(at).or_insert(entry));
            }
        }
        Ok(index)
    }
}

fn link(words: &[&str]) -> Option<(String, Option<Answers>)> {
    let (label, answers) = words.split_first()?;
    let answer = |status: &str, key: &str| {
        Some(Answer { status: status.parse().ok()?, key: key.to_owned() })
    };
    let answers = match *answers {
        [NOT_RECORDED] => None,
        [verdict, status, key, ref ours @ ..] => Some(Answers {
            verdict: Verdict::parse(verdict)?,
            nvlink: answer(status, key)?,
            ours: match *ours {
                [] => None,
                ["ours", status, key] => Some(answer(status, key)?),
                _ => return None,
            },
        }),
        _ => return None,
    };
    Some((label.to_string(), answers))
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEADER}")?;
        for ((name, sm), entry) in &self.0 {
            writeln!(f, "\n{name} {sm} {}", entry.key)?;
            let width = entry.links.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
            for (label, answers) in &entry.links {
                write!(f, "  {label:<width$} ")?;
                match answers {
                    None => writeln!(f, "{NOT_RECORDED}")?,
                    Some(answers) => writeln!(f, "{answers}")?,
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<12} {}", self.verdict.title(), self.nvlink)?;
        self.ours.as_ref().map_or(Ok(()), |ours| write!(f, " ours {ours}"))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>3} {}", self.status, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let answer = |status, key: &str| Answer { status, key: key.into() };
        let both = Answers {
            verdict: Verdict::ControlBits,
            nvlink: answer(0, "0123456789abcdef"),
            ours: Some(answer(0, "fedcba9876543210")),
        };
        let nvlink =
            Answers { verdict: Verdict::BothRefuse, nvlink: answer(255, "00"), ours: None };
        let links = vec![
            ("a".to_owned(), Some(both)),
            ("longer".to_owned(), Some(nvlink)),
            ("b".to_owned(), None),
        ];
        let entry = Entry { key: "0011223344556677".into(), links };
        let at = |sm| ("weak".to_owned(), Sm::parse(sm).expect("a target"));
        let index = Index([(at("sm_90"), entry.clone()), (at("sm_100a"), entry)].into());
        assert_eq!(Index::parse(&index.to_string()), Ok(index));
        for bad in ["weak sm_90", "  plain identical 0 00", "weak sm_90 00\n  plain same 0 00"] {
            assert!(Index::parse(bad).is_err(), "{bad}");
        }
    }
}
