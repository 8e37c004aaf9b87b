//! What callers add to a link: types, and whether bytes are of the type they are said to be.

pub(crate) use crate::real::InputType as Kind;
use crate::result::{Code, Refusal};
use fatbin::Content;
use std::ffi::{CStr, CString, c_int};
use std::sync::Arc;

/// The name of a type in messages.
fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Cubin => "CUBIN",
        Kind::Ptx => "PTX",
        Kind::LtoIr => "LTOIR",
        Kind::Fatbin => "FATBIN",
        Kind::Object => "OBJECT",
        Kind::Library => "LIBRARY",
        Kind::Index => "INDEX",
        Kind::Any => "ANY",
    }
}

/// A name that a caller gave to an input. Callers may free theirs, so it is a copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Name(Option<CString>);

impl Name {
    pub(crate) fn new(name: Option<&CStr>) -> Self {
        Self(name.map(CStr::to_owned))
    }

    pub(crate) fn to_c_string(&self) -> Option<CString> {
        self.0.clone()
    }

    /// As it stands in messages.
    pub(crate) fn text(&self) -> String {
        match &self.0 {
            Some(name) => name.to_string_lossy().into_owned(),
            None => "(null)".to_owned(),
        }
    }
}

/// An input whose type has been checked.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) kind: Kind,
    pub(crate) data: Arc<[u8]>,
    pub(crate) name: Name,
}

/// The shortest header of an ELF file.
const ELF_HEADER: usize = 52;

/// What bytes are. A file that is too short for its header is nothing.
fn content(data: &[u8]) -> Content {
    match Content::of(data) {
        Content::DeviceElf | Content::HostElf if data.len() < ELF_HEADER => Content::Unknown,
        content => content,
    }
}

/// The type of an input by its number and its bytes, never [`Kind::Any`].
pub(crate) fn classify(number: c_int, data: &[u8], name: &Name) -> Result<Kind, Refusal> {
    if data.is_empty() {
        return Err(Refusal::silent(Code::InvalidInput));
    }
    let Some(kind) = Kind::from_number(number) else {
        let line = format!("unsupported input type: {}", name.text());
        return Err(Refusal::new(Code::IncorrectInputType, line));
    };
    let content = content(data);
    let fits = match kind {
        Kind::Any => {
            return by_content(content).ok_or_else(|| {
                let line = format!("unrecognized input type: {}", name.text());
                Refusal::new(Code::UnrecognizedInput, line)
            });
        }
        // A cubin given as an object adds nothing.
        Kind::Object => {
            matches!(content, Content::HostElf | Content::HostCoff | Content::DeviceElf)
        }
        // What an index looks like only the library knows that reads them.
        Kind::Index => content == Content::Unknown,
        kind => by_content(content) == Some(kind),
    };
    match fits {
        true => Ok(kind),
        false => Err(mismatch(kind, name)),
    }
}

/// Says that bytes are not of the type they are said to be.
pub(crate) fn mismatch(kind: Kind, name: &Name) -> Refusal {
    let line = format!(
        "ERROR 1: bad input: does not match type NVJITLINK_INPUT_{}{}",
        type_name(kind),
        name.text()
    );
    Refusal::new(Code::IncorrectInputType, line)
}

fn by_content(content: Content) -> Option<Kind> {
    Some(match content {
        Content::DeviceElf => Kind::Cubin,
        Content::HostElf | Content::HostCoff => Kind::Object,
        Content::Archive => Kind::Library,
        Content::Fatbin => Kind::Fatbin,
        Content::Ptx => Kind::Ptx,
        Content::LtoIr => Kind::LtoIr,
        Content::Empty | Content::Bitcode | Content::Unknown => return None,
    })
}
