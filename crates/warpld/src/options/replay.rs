//! A command line that does the same elsewhere (`--reproduce`), and what of it decides the output
//! (`--print-input-hash`).

use super::note::NoteText;
use super::parse::{CommandLine, Value};
use super::row::{Group, Kind, Row};
use super::table::{Opt, TABLE};
use bstr::{BStr, ByteSlice};
use libwarpld::Release;
use std::path::Path;

/// The options of a link, without its inputs.
#[derive(Clone, Debug)]
pub struct Replay {
    options: Vec<(Opt, Value)>,
    note: NoteText,
    release: Option<&'static Release>,
}

/// Options whose files are found in other places when the link is repeated, or that are about the
/// machine of the link.
const PLACES: &[Opt] = &[
    Opt::Output,
    Opt::Library,
    Opt::LibraryPath,
    Opt::OptionsFile,
    Opt::UidxFile,
    Opt::NvHost,
    Opt::CudaPath,
    Opt::PtxCache,
    Opt::PtxCacheSize,
    Opt::CompilerTimeout,
    Opt::NoteCommandLine,
    Opt::CudaRelease,
];

impl Replay {
    /// The options of a line, and the release if that is decided.
    pub(super) fn new(line: &CommandLine, release: Option<&'static Release>) -> Self {
        let given = TABLE.iter().filter_map(|(opt, _)| Some((*opt, line.value(*opt)?.clone())));
        Self { options: given.collect(), note: NoteText::new(line), release }
    }

    /// Words that have the same meaning wherever the link is repeated: all options but reports and
    /// those that name files.
    pub fn words(&self) -> Vec<Vec<u8>> {
        let mut words = self.words_of(|row| row.group != Group::Reports);
        if let Some(release) = self.release {
            words.push(format!("--cuda-release={}", release.version).into_bytes());
        }
        words.push(format!("--note-command-line={}", self.note.command_line).into_bytes());
        words
    }

    /// Words that decide the bytes of the output.
    pub fn deciding_words(&self) -> Vec<Vec<u8>> {
        let mut words = self.words_of(|row| {
            let decides = [Group::Basic, Group::Search, Group::Output, Group::Lto];
            decides.contains(&row.group) || row.long == Opt::ToolName.row().long
        });
        words.push(self.release.map_or("", |release| release.version).into());
        words.push(self.note.object_name.clone().into_bytes());
        words.push(self.note.command_line.clone().into_bytes());
        words
    }

    fn words_of(&self, is_kept: impl Fn(&Row) -> bool) -> Vec<Vec<u8>> {
        let kept = |opt: &Opt| !PLACES.contains(opt) && is_kept(opt.row());
        let kept = self.options.iter().filter(|(opt, _)| kept(opt));
        kept.flat_map(|(opt, value)| spelled(opt.row(), value)).collect()
    }
}

/// The words that set an option to a value.
fn spelled(row: &Row, value: &Value) -> Vec<Vec<u8>> {
    let name = match row.long {
        "" => format!("-{}", row.short),
        long => format!("--{long}"),
    };
    let with = |value: &[u8]| [name.as_bytes(), b"=", value].concat();
    match value {
        Value::Flag => vec![name.clone().into_bytes()],
        Value::Bool(value) => vec![with(value.to_string().as_bytes())],
        Value::Number(value) => vec![with(value.to_string().as_bytes())],
        Value::Text(value) => vec![with(value)],
        Value::List(items) if row.kind == Kind::Repeated => {
            items.iter().map(|item| with(item)).collect()
        }
        Value::List(items) => vec![with(&list(items))],
    }
}

/// Items as the value of one option. No item has quotes: they were removed when it was read.
fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let quoted = items.iter().map(|item| match item.contains(&b',') {
        true => [b"\"", &**item, b"\""].concat(),
        false => item.clone(),
    });
    quoted.collect::<Vec<_>>().join(&b","[..])
}

/// A response file of these words, one on each line.
pub fn response_file(words: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=./,:+@%".contains(byte);
        match !word.is_empty() && word.iter().all(is_plain) {
            true => text.extend_from_slice(word),
            false => {
                text.push(b'"');
                for &byte in word {
                    if matches!(byte, b'"' | b'\\') {
                        text.push(b'\\');
                    }
                    text.push(byte);
                }
                text.push(b'"');
            }
        }
        text.push(b'\n');
    }
    text
}

/// The option `opt` with a file as its value.
pub(crate) fn with_path(opt: Opt, path: &Path) -> Vec<u8> {
    let value: &BStr = path.as_os_str().as_encoded_bytes().as_bstr();
    spelled(opt.row(), &Value::Text(value.to_vec())).concat()
}

#[cfg(test)]
mod tests {
    use super::super::words::response_file_words;
    use super::*;

    fn replay(words: &[&str]) -> Replay {
        let line = CommandLine::parse(words.iter().map(Into::into), &|_| Ok(Vec::new())).unwrap();
        Replay::new(&line, None)
    }

    fn texts(words: Vec<Vec<u8>>) -> Vec<String> {
        words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn words_are_those_that_were_given() {
        let given = [
            "-arch=sm_90",
            "-r",
            "-o",
            "x/out",
            "-Ldir",
            "-lfoo",
            "--map=m",
            "--threads",
            "3",
            "-kernels-used=a,\"b,c\"",
            "-v",
            "--trace",
        ];
        let expected = [
            "--arch=sm_90",
            "--kernels-used=a,\"b,c\"",
            "--relocatable-link",
            "--threads=3",
            "--note-command-line=-arch sm_90 -l foo -L dir -v  -kernels-used a,b,c -r  ",
        ];
        assert_eq!(texts(replay(&given).words()), expected);
    }

    #[test]
    fn words_survive_a_response_file() {
        let words = ["plain", "", "a b", "q\"uote", "back\\slash", "new\nline", "'single'", "ä"];
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        assert_eq!(response_file_words(&response_file(&words)).unwrap(), words);
    }

    /// Names of files do not decide anything, what the note records does.
    #[test]
    fn what_decides() {
        let words = |line: &[&str]| replay(line).deciding_words();
        let plain = words(&["-arch=sm_90", "a.o", "-o", "o"]);
        assert_eq!(plain, words(&["-arch=sm_90", "b.o", "-o", "p", "--threads=4", "--trace=x"]));
        for other in [
            &["-arch=sm_80", "a.o", "-o", "o"][..],
            &["-arch=sm_90", "a.o", "-o", "o", "-Ldir"],
            &["-arch=sm_90", "a.o", "-o", "o", "--lazy-archives"],
            &["-arch=sm_90", "a.o", "-o", "o", "--identity=nvlink"],
            &["-arch=sm_90", "a.o", "-o", "o", "-g"],
        ] {
            assert_ne!(plain, words(other), "{other:?}");
        }
    }
}
