//! A command line for nvlink: that of warpld without warpld's own options.

use super::parse::{find, to_bytes, to_path};
use super::row::{Audience, Kind};
use super::table::Opt;
use super::words;
use bstr::ByteVec;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// As in the parser, whose answer to deeper nesting is an error.
const DEEPEST_NESTING: usize = 15;

/// Reads a file that the command line names.
type Read<'r> = &'r dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// Splits a file into words.
type Split = fn(&[u8]) -> Result<Vec<Vec<u8>>, words::WordError>;

/// What nvlink is to be called with, and what it would not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    words: Vec<Vec<u8>>,
    own: Vec<(Opt, Vec<u8>)>,
    /// Whether a file was replaced by its words.
    expanded: bool,
}

impl Forwarded {
    /// Divides `args` (without the program's name), also where the parser rejects them. Words are
    /// kept as they are. Files of options stay where they are, unless there is something in them
    /// that nvlink does not know; `@FILE` it does not know at all.
    pub fn new(args: impl IntoIterator<Item = OsString>, read: Read<'_>) -> Self {
        let mut all = Self::default();
        all.divide(args.into_iter().map(to_bytes).collect(), read, 0);
        all
    }

    /// The command line for nvlink.
    pub fn words(&self) -> Vec<OsString> {
        self.words.iter().cloned().map(ByteVec::into_os_string_lossy).collect()
    }

    /// Whether one of warpld's own options was given.
    pub fn has(&self, opt: Opt) -> bool {
        self.own.iter().any(|(own, _)| *own == opt)
    }

    /// Warpld's own options that were given, with their values.
    pub fn own(&self) -> impl Iterator<Item = (Opt, &[u8])> {
        self.own.iter().map(|(opt, value)| (*opt, value.as_slice()))
    }

    /// The file that one of warpld's own options names.
    pub fn path(&self, opt: Opt) -> Option<PathBuf> {
        let (_, value) = self.own.iter().rev().find(|(own, _)| *own == opt)?;
        Some(to_path(value))
    }

    fn divide(&mut self, words: Vec<Vec<u8>>, read: Read<'_>, nesting: usize) {
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_slice() {
                [b'-', _, ..] => self.option(word, &mut words, read, nesting),
                [b'@', name @ ..] if !name.is_empty() => {
                    match nested(name, words::response_file_words, read, nesting) {
                        Some(inner) => {
                            self.divide(inner, read, nesting + 1);
                            self.expanded = true;
                        }
                        None => self.words.push(word),
                    }
                }
                _ => self.words.push(word),
            }
        }
    }

    fn option(
        &mut self,
        word: Vec<u8>,
        rest: &mut impl Iterator<Item = Vec<u8>>,
        read: Read<'_>,
        nesting: usize,
    ) {
        let (spelling, value) = match word.iter().position(|&b| b == b'=') {
            Some(at) => (&word[..at], Some(word[at + 1..].to_vec())),
            None => (&*word, None),
        };
        let Some((opt, row)) = find(spelling) else {
            // With its value in it (`-lfoo`), or unknown: its value is then a word like others.
            return self.words.push(word);
        };
        let is_separate = value.is_none() && row.takes_next();
        let value = value.or_else(|| if is_separate { rest.next() } else { None });
        if row.audience == Audience::Own {
            return self.own.push((opt, value.unwrap_or_default()));
        }
        if let (Kind::OptionsFiles, Some(files)) = (row.kind, &value)
            && let Some(inner) = Self::of_options_files(files, read, nesting)
        {
            self.words.extend(inner.words);
            self.own.extend(inner.own);
            self.expanded = true;
            return;
        }
        self.words.push(word);
        self.words.extend(value.filter(|_| is_separate));
    }

    /// What is in files of options, if they cannot be left as they are.
    fn of_options_files(files: &[u8], read: Read<'_>, nesting: usize) -> Option<Self> {
        let mut all = Self::default();
        for file in words::list_items(files).ok()? {
            let inner = nested(&file, words::options_file_words, read, nesting)?;
            all.divide(inner, read, nesting + 1);
        }
        (all.expanded || !all.own.is_empty()).then_some(all)
    }
}

/// The words of a file, if it can be read.
fn nested(name: &[u8], split: Split, read: Read<'_>, nesting: usize) -> Option<Vec<Vec<u8>>> {
    if nesting == DEEPEST_NESTING {
        return None;
    }
    split(&read(&to_path(name)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(args: &[&str]) -> Forwarded {
        let read = |path: &Path| match path.to_str() {
            Some("plain") => Ok(b"-v c.o".to_vec()),
            Some("own") => Ok(b"d.o --map d.map -w".to_vec()),
            Some("outer") => Ok(b"-optf own e.o".to_vec()),
            Some("itself") => Ok(b"@itself".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        Forwarded::new(args.iter().map(OsString::from), &read)
    }

    fn words(args: &[&str]) -> Vec<String> {
        let words = forwarded(args).words().into_iter();
        words.map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn own_options_are_left_out() {
        let kept = ["-arch=sm_90", "a.o", "-o", "out", "-lfoo", "--new", "5", "-L", "--dir", "-"];
        let mut all = vec!["--fallback=nvlink", "--identity", "nvlink", "--verify"];
        all.extend(kept);
        all.extend(["--cuda-path", "x", "--cuda-path=y", "--no-fork"]);
        assert_eq!(words(&all), kept);
        let forwarded = forwarded(&all);
        assert!(forwarded.has(Opt::Fallback) && !forwarded.has(Opt::NoFallback));
        assert_eq!(forwarded.path(Opt::CudaPath), Some("y".into()));
    }

    #[test]
    fn files_stay_unless_nvlink_cannot_read_them() {
        assert_eq!(words(&["a.o", "-optf", "plain", "b.o"]), ["a.o", "-optf", "plain", "b.o"]);
        assert_eq!(words(&["-optf=own", "b.o"]), ["d.o", "-w", "b.o"]);
        assert_eq!(words(&["--options-file", "plain,own"]), ["-v", "c.o", "d.o", "-w"]);
        assert_eq!(words(&["-optf", "outer"]), ["d.o", "-w", "e.o"]);
        assert_eq!(words(&["@plain", "@none"]), ["-v", "c.o", "@none"]);
        assert_eq!(words(&["-optf", "none"]), ["-optf", "none"]);
        assert_eq!(words(&["@itself"]), ["@itself"]);
        assert_eq!(words(&["-o"]), ["-o"]);
    }

    #[test]
    fn values_are_no_options() {
        assert_eq!(words(&["-o", "--verify", "--verify"]), ["-o", "--verify"]);
        assert!(!forwarded(&["-o", "--no-fallback"]).has(Opt::NoFallback));
        assert!(forwarded(&["--unknown", "--no-fallback"]).has(Opt::NoFallback));
    }
}
