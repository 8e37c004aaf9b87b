//! A link by NVIDIA's library.

use super::functions::{Content, Library, RawHandle};
use std::ffi::{CString, c_int};

/// What an input is, by the library's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum InputType {
    Cubin = 1,
    Ptx = 2,
    LtoIr = 3,
    Fatbin = 4,
    Object = 5,
    Library = 6,
    Index = 7,
    Any = 10,
}

impl InputType {
    /// The type with this number.
    pub fn from_number(number: c_int) -> Option<Self> {
        use InputType::*;
        [Cubin, Ptx, LtoIr, Fatbin, Object, Library, Index, Any]
            .into_iter()
            .find(|kind| *kind as c_int == number)
    }
}

/// A call that the library refused, with its result. The logs of the link may say more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("libnvJitLink reports result {0}")]
pub struct Refusal(pub c_int);

/// A link. It is ended when dropped.
#[derive(Debug)]
pub struct Handle {
    library: Library,
    raw: RawHandle,
    /// The library keeps pointers to them.
    names: Vec<CString>,
}

impl Handle {
    /// Begins a link. Where the library refuses the options the link exists all the same, for the
    /// sake of its log.
    pub fn new(library: &Library, options: &[CString]) -> (Self, Result<(), Refusal>) {
        let (raw, result) = library.create(options);
        (Self { library: library.clone(), raw, names: Vec::new() }, outcome(result))
    }

    /// The library that carries it out.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Adds an input from memory, which is copied, as is its name.
    pub fn add_data(
        &mut self,
        kind: InputType,
        data: &[u8],
        name: Option<CString>,
    ) -> Result<(), Refusal> {
        // PTX is read up to a NUL, whatever its size. An ANY input may be PTX.
        let may_be_text = matches!(kind, InputType::Ptx | InputType::Any);
        let lacks_nul = may_be_text && !data.is_empty() && !data.contains(&0);
        let closed = lacks_nul.then(|| [data, &[0]].concat());
        let data = closed.as_deref().unwrap_or(data);
        let result = self.library.add_data(&mut self.raw, kind as c_int, data, name.as_deref());
        self.names.extend(name);
        outcome(result)
    }

    /// Adds a file.
    pub fn add_file(&mut self, kind: InputType, path: CString) -> Result<(), Refusal> {
        let result = self.library.add_file(&mut self.raw, kind as c_int, &path);
        self.names.push(path);
        outcome(result)
    }

    /// Links.
    pub fn complete(&mut self) -> Result<(), Refusal> {
        outcome(self.library.complete(&mut self.raw))
    }

    /// The machine code.
    pub fn cubin(&self) -> Result<Vec<u8>, Refusal> {
        self.get(Content::Cubin)
    }

    /// The text of a link with `-lto -ptx`, without its closing NUL.
    pub fn ptx(&self) -> Result<Vec<u8>, Refusal> {
        self.get(Content::Ptx).map(without_nul)
    }

    /// The LTO-IR of a link with `-lto`; before CUDA 13.2 there is none.
    pub fn lto_ir(&self) -> Result<Vec<u8>, Refusal> {
        self.get(Content::LtoIr)
    }

    /// Its errors so far, line by line.
    pub fn error_log(&self) -> Vec<u8> {
        self.get(Content::ErrorLog).map(without_nul).unwrap_or_default()
    }

    /// Its warnings and remarks so far.
    pub fn info_log(&self) -> Vec<u8> {
        self.get(Content::InfoLog).map(without_nul).unwrap_or_default()
    }

    /// Whether the library gives the LTO-IR of a link: from 13.2 on.
    pub(crate) fn has_lto_ir(&self) -> bool {
        self.library.has_lto_ir()
    }

    fn get(&self, content: Content) -> Result<Vec<u8>, Refusal> {
        self.library.get(&self.raw, content).map_err(Refusal)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.library.destroy(&mut self.raw);
    }
}

fn outcome(result: c_int) -> Result<(), Refusal> {
    if result == 0 { Ok(()) } else { Err(Refusal(result)) }
}

/// Sizes of texts count the closing NUL.
fn without_nul(mut text: Vec<u8>) -> Vec<u8> {
    let length = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    text.truncate(length);
    text
}
