//! Parses the command line according to the option table.

use super::row::{Audience, Kind, Row};
use super::table::{Opt, TABLE, TARGET_PREFIXES, TARGETS, value_since};
use super::words::{self, WordError};
use bstr::ByteVec;
use libwarpld::{Code, Release};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Maximum nesting depth of options files, as in nvlink.
const DEEPEST_NESTING: usize = 15;

/// A command line that cannot be parsed. The messages are nvlink's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// Not in the table.
    #[error("Unknown option '{0}'")]
    UnknownOption(String),
    /// The command line ended before the value.
    #[error("argument expected after '{0}'")]
    ValueMissing(String),
    /// A flag with a value.
    #[error("no argument expected after '{0}'")]
    ValueNotExpected(String),
    /// Not one of the allowed values.
    #[error("Value '{value}' is not defined for option '{option}'")]
    UndefinedValue {
        /// What was given.
        value: String,
        /// Long name of the option.
        option: &'static str,
    },
    /// Not a boolean.
    #[error("'{0}': expected true or false")]
    NotABool(String),
    /// A malformed value or file.
    #[error(transparent)]
    Word(#[from] WordError),
    /// Cannot be read.
    #[error("Could not open options file '{name}'")]
    OptionsFile {
        /// The file.
        name: String,
        /// What the system said.
        reason: String,
    },
    /// Options files that include each other.
    #[error("Too many options file opened '{0}'")]
    TooManyOptionsFiles(String),
}

impl ParseError {
    /// The stable code of the message.
    pub fn code(&self) -> Code {
        match self {
            Self::UnknownOption(_) => Code::UnknownOption,
            Self::ValueMissing(_) | Self::ValueNotExpected(_) => Code::OptionArgument,
            Self::UndefinedValue { .. } | Self::NotABool(_) | Self::Word(_) => Code::BadOptionValue,
            Self::OptionsFile { .. } | Self::TooManyOptionsFiles(_) => Code::OptionsFile,
        }
    }
}

impl ParseError {
    /// Whether another nvlink may know what was rejected: an option, or a value of one of
    /// nvlink's options, such as a target.
    pub fn is_missing_feature(&self) -> bool {
        match self {
            Self::UnknownOption(_) => true,
            Self::UndefinedValue { option, .. } => {
                let is_own = |row: &Row| row.name() == *option && row.audience == Audience::Own;
                !TABLE.iter().any(|(_, row)| is_own(row))
            }
            Self::ValueMissing(_)
            | Self::ValueNotExpected(_)
            | Self::NotABool(_)
            | Self::Word(_)
            | Self::OptionsFile { .. }
            | Self::TooManyOptionsFiles(_) => false,
        }
    }

    /// The release that would not reject it, if there is one.
    pub(super) fn since(&self) -> Option<&'static Release> {
        let since = match self {
            Self::UnknownOption(name) => find(format!("-{name}").as_bytes())?.1.since,
            Self::UndefinedValue { value, option } => {
                let (_, row) = TABLE.iter().find(|(_, row)| row.name() == *option)?;
                value_since(row, value.as_bytes())
            }
            _ => return None,
        };
        (since.toolkit > Release::OLDEST.toolkit).then_some(since)
    }
}

/// The value of an option that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A flag.
    Flag,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Number(i32),
    /// A word or file name.
    Text(Vec<u8>),
    /// All items of a list.
    List(Vec<Vec<u8>>),
}

/// A parsed command line, without defaults.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    values: Vec<Option<Value>>,
    /// All arguments that are not options, in order.
    pub inputs: Vec<Vec<u8>>,
    /// Options files and response files that were read, in order.
    pub option_files: Vec<Vec<u8>>,
    /// Options given twice with different values; the last one applies.
    pub redefined: Vec<Opt>,
    /// What older releases reject, in order, with the first release that does not.
    newer: Vec<(&'static Release, ParseError)>,
}

/// Why a command line was rejected, and the options parsed before that.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The reason.
    pub error: ParseError,
    /// The options before the error; they determine how to print it.
    pub line: CommandLine,
}

impl CommandLine {
    /// Parses `args` (without the program's name); `read` reads options files.
    pub fn parse(
        args: impl IntoIterator<Item = OsString>,
        read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<Self, Box<Rejected>> {
        let args: Vec<_> = args.into_iter().map(to_bytes).collect();
        let wants_json = args.iter().any(|arg| arg == b"--error-format=json");
        let mut parser = Parser {
            line: Self { values: vec![None; TABLE.len()], ..Self::default() },
            read,
            nesting: 0,
        };
        match parser.words(args) {
            Ok(()) => Ok(parser.line),
            Err(error) => {
                // Programs that read messages do not know which word is wrong, and may give it last.
                if wants_json {
                    parser.set(Opt::ErrorFormat, Value::Text(b"json".to_vec()));
                }
                Err(Box::new(Rejected { error, line: parser.line }))
            }
        }
    }

    /// What a release would have rejected first.
    pub fn rejected_by(&self, release: &Release) -> Option<&ParseError> {
        let newer = self.newer.iter().find(|(since, _)| since.toolkit > release.toolkit);
        newer.map(|(_, error)| error)
    }
    /// The value of `opt`, if it was given.
    pub fn value(&self, opt: Opt) -> Option<&Value> {
        self.values.get(opt as usize)?.as_ref()
    }
    /// Whether `opt` was given (a boolean: given as true).
    pub fn has(&self, opt: Opt) -> bool {
        !matches!(self.value(opt), None | Some(Value::Bool(false)))
    }
    /// The boolean value of `opt`.
    pub fn boolean(&self, opt: Opt) -> Option<bool> {
        match self.value(opt)? {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
    /// The numeric value of `opt`.
    pub fn number(&self, opt: Opt) -> Option<i32> {
        match self.value(opt)? {
            Value::Number(value) => Some(*value),
            _ => None,
        }
    }
    /// The bytes given to `opt`.
    pub fn bytes(&self, opt: Opt) -> Option<&[u8]> {
        match self.value(opt)? {
            Value::Text(value) => Some(value),
            _ => None,
        }
    }
    /// The text given to `opt`.
    pub fn text(&self, opt: Opt) -> Option<String> {
        self.bytes(opt).map(lossy)
    }
    /// The file name given to `opt`.
    pub fn path(&self, opt: Opt) -> Option<PathBuf> {
        self.bytes(opt).map(to_path)
    }
    /// The items given to `opt`; empty if it was not given.
    pub fn list(&self, opt: Opt) -> &[Vec<u8>] {
        match self.value(opt) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }
}

/// Bytes as text for messages.
pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Bytes as a file name.
pub(super) fn to_path(bytes: &[u8]) -> PathBuf {
    bytes.to_vec().into_path_buf_lossy()
}

pub(super) fn to_bytes(arg: OsString) -> Vec<u8> {
    Vec::from_os_string(arg).unwrap_or_else(|arg| arg.to_string_lossy().into_owned().into())
}

struct Parser<'r> {
    line: CommandLine,
    read: &'r dyn Fn(&Path) -> io::Result<Vec<u8>>,
    nesting: usize,
}

impl Parser<'_> {
    fn words(&mut self, words: Vec<Vec<u8>>) -> Result<(), ParseError> {
        // Most are inputs.
        self.line.inputs.reserve(words.len());
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_slice() {
                [b'-', _, ..] => self.option(&word, &mut words)?,
                [b'@', name @ ..] if !name.is_empty() => self.response_file(name, &word)?,
                _ => self.line.inputs.push(word),
            }
        }
        Ok(())
    }

    fn option(
        &mut self,
        word: &[u8],
        rest: &mut impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), ParseError> {
        let (spelling, value) = match word.iter().position(|&b| b == b'=') {
            Some(at) => (&word[..at], Some(word[at + 1..].to_vec())),
            None => (word, None),
        };
        let (opt, row, value) = match find(spelling) {
            Some((opt, row)) => (opt, row, value),
            None => {
                let (opt, row, glued) = find_glued(word)
                    .ok_or_else(|| ParseError::UnknownOption(lossy(&spelling[1..])))?;
                (opt, row, Some(glued))
            }
        };
        self.note_since(row.since, || ParseError::UnknownOption(lossy(&spelling[1..])));
        if row.kind == Kind::Flag {
            return match value {
                None => {
                    self.set(opt, Value::Flag);
                    Ok(())
                }
                Some(_) => Err(ParseError::ValueNotExpected(lossy(spelling))),
            };
        }
        if row.kind == Kind::OptionalFile {
            self.set(opt, value.map_or(Value::Flag, Value::Text));
            return Ok(());
        }
        let value = value
            .or_else(|| rest.next())
            .ok_or_else(|| ParseError::ValueMissing(lossy(spelling)))?;
        self.value(opt, row, value)
    }

    fn value(&mut self, opt: Opt, row: &Row, value: Vec<u8>) -> Result<(), ParseError> {
        let value = match row.kind {
            Kind::OptionsFiles => {
                self.set(opt, Value::Flag);
                return words::list_items(&value)?.iter().try_for_each(|f| self.options_file(f));
            }
            Kind::List => return self.extend(opt, words::list_items(&value)?),
            Kind::Repeated => return self.extend(opt, vec![value]),
            Kind::Flag => Value::Flag,
            Kind::Text | Kind::OptionalFile => Value::Text(value),
            Kind::Number => Value::Number(words::number(&value)?),
            Kind::NumberChoice(allowed) => {
                let number = words::number(&value).ok().filter(|n| allowed.contains(n));
                Value::Number(number.ok_or_else(|| undefined(row, &value))?)
            }
            Kind::Bool => match value.as_slice() {
                b"true" => Value::Bool(true),
                b"false" => Value::Bool(false),
                _ => return Err(ParseError::NotABool(lossy(&value))),
            },
            Kind::Choice(_) | Kind::Target if !is_allowed(row, &value) => {
                return Err(undefined(row, &value));
            }
            Kind::Choice(_) | Kind::Target => {
                self.note_since(value_since(row, &value), || undefined(row, &value));
                Value::Text(value)
            }
        };
        self.set(opt, value);
        Ok(())
    }

    /// Keeps what releases before `since` say.
    fn note_since(&mut self, since: &'static Release, error: impl FnOnce() -> ParseError) {
        if since.toolkit > Release::OLDEST.toolkit {
            self.line.newer.push((since, error()));
        }
    }

    fn set(&mut self, opt: Opt, value: Value) {
        let slot = &mut self.line.values[opt as usize];
        if slot.as_ref().is_some_and(|old| *old != value) {
            self.line.redefined.push(opt);
        }
        *slot = Some(value);
    }

    fn extend(&mut self, opt: Opt, items: Vec<Vec<u8>>) -> Result<(), ParseError> {
        match &mut self.line.values[opt as usize] {
            Some(Value::List(list)) => list.extend(items),
            slot => *slot = Some(Value::List(items)),
        }
        Ok(())
    }

    fn options_file(&mut self, name: &[u8]) -> Result<(), ParseError> {
        if self.nesting == DEEPEST_NESTING {
            return Err(ParseError::TooManyOptionsFiles(lossy(name)));
        }
        let text = (self.read)(&to_path(name)).map_err(|error| ParseError::OptionsFile {
            name: lossy(name),
            reason: error.to_string(),
        })?;
        self.line.option_files.push(name.to_vec());
        self.nested(words::options_file_words(&text)?)
    }

    /// `@file`, as in compilers. If the file cannot be read, the word is an ordinary input (and
    /// fails as in nvlink).
    fn response_file(&mut self, name: &[u8], word: &[u8]) -> Result<(), ParseError> {
        if self.nesting == DEEPEST_NESTING {
            return Err(ParseError::TooManyOptionsFiles(lossy(name)));
        }
        match (self.read)(&to_path(name)) {
            Ok(text) => {
                self.line.option_files.push(name.to_vec());
                self.nested(words::response_file_words(&text)?)
            }
            Err(_) => {
                self.line.inputs.push(word.to_vec());
                Ok(())
            }
        }
    }

    fn nested(&mut self, words: Vec<Vec<u8>>) -> Result<(), ParseError> {
        self.nesting += 1;
        let result = self.words(words);
        self.nesting -= 1;
        result
    }
}

fn undefined(row: &Row, value: &[u8]) -> ParseError {
    ParseError::UndefinedValue { value: lossy(value), option: row.name() }
}

fn is_allowed(row: &Row, value: &[u8]) -> bool {
    match row.kind {
        Kind::Choice(allowed) => allowed.iter().any(|allowed| allowed.as_bytes() == value),
        _ => is_target(value),
    }
}

fn is_target(value: &[u8]) -> bool {
    TARGET_PREFIXES.iter().any(|prefix| {
        value
            .strip_prefix(prefix.as_bytes())
            .is_some_and(|name| TARGETS.iter().any(|target| target.as_bytes() == name))
    })
}

pub(super) fn find(spelling: &[u8]) -> Option<(Opt, &'static Row)> {
    let (name, long) = match spelling {
        [b'-', b'-', name @ ..] => (name, true),
        [b'-', name @ ..] => (name, false),
        _ => return None,
    };
    let entry = TABLE.iter().find(|(_, row)| {
        let own = if long { row.long } else { row.short };
        !own.is_empty() && own.as_bytes() == name
    })?;
    Some((entry.0, &entry.1))
}

/// `-lfoo`, `-Ldir`, `-m64`.
fn find_glued(word: &[u8]) -> Option<(Opt, &'static Row, Vec<u8>)> {
    let body = word.strip_prefix(b"-")?;
    TABLE.iter().filter(|(_, row)| row.glued).find_map(|(opt, row)| {
        let value = body.strip_prefix(row.short.as_bytes())?;
        Some((*opt, row, value.to_vec()))
    })
}
