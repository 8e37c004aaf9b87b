//! What the command asks of `warpld-nvjitlink`, the program that loads libnvJitLink: a static
//! program cannot load libraries, and a library that crashes must not end the link.
//!
//! The request is a file of words, each closed by a NUL. The answers are files beside it.

use std::io;
use std::path::{Path, PathBuf};
use std::{ffi::OsString, fs};

/// The file of the request.
const REQUEST: &str = "request";

/// What is made of the inputs.
pub const OUTPUT: &str = "output";

/// The library's error log.
pub const ERRORS: &str = "errors";

/// The library's info log.
pub const INFOS: &str = "infos";

/// The library's release, such as `13.0`.
pub const VERSION: &str = "version";

/// The exit status if the library refused something: its logs and standard error say what.
pub const REFUSED: i32 = 3;

/// The exit status if the library could not be loaded: standard error says why.
pub const NOT_LOADED: i32 = 4;

/// What to make of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// One text.
    Ptx,
    /// Machine code.
    Cubin,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestInput {
    /// What it is, by libnvJitLink's number.
    pub kind: u8,
    /// The file with its bytes, which may be in the folder of the request.
    pub file: PathBuf,
    /// What messages call it.
    pub name: Vec<u8>,
}

/// A link by libnvJitLink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRequest {
    /// The library.
    pub library: PathBuf,
    /// Its options.
    pub options: Vec<Vec<u8>>,
    /// In link order.
    pub inputs: Vec<RequestInput>,
    /// The output.
    pub wanted: Wanted,
}

impl LinkRequest {
    /// Writes the request to a folder.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = Vec::new();
        let mut word = |bytes: &[u8]| {
            text.extend_from_slice(bytes);
            text.push(0);
        };
        word(b"library");
        word(self.library.as_os_str().as_encoded_bytes());
        for option in &self.options {
            word(b"option");
            word(option);
        }
        for input in &self.inputs {
            word(b"input");
            word(input.kind.to_string().as_bytes());
            word(input.file.as_os_str().as_encoded_bytes());
            word(&input.name);
        }
        word(match self.wanted {
            Wanted::Ptx => b"ptx",
            Wanted::Cubin => b"cubin",
        });
        fs::write(folder.join(REQUEST), text)
    }

    /// Reads the request in a folder.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = fs::read(folder.join(REQUEST))?;
        Self::parse(&text).ok_or_else(|| io::Error::other("the request is damaged"))
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let mut words = text.strip_suffix(&[0])?.split(|&byte| byte == 0);
        let (mut library, mut options, mut inputs) = (None, Vec::new(), Vec::new());
        let wanted = loop {
            match words.next()? {
                b"library" => library = Some(path(words.next()?)),
                b"option" => options.push(words.next()?.to_vec()),
                b"input" => {
                    let kind = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
                    let (file, name) = (path(words.next()?), words.next()?.to_vec());
                    inputs.push(RequestInput { kind, file, name });
                }
                b"ptx" => break Wanted::Ptx,
                b"cubin" => break Wanted::Cubin,
                _ => return None,
            }
        };
        let request = Self { library: library?, options, inputs, wanted };
        words.next().is_none().then_some(request)
    }
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    let name: OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec());
    name.into()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    OsString::from(String::from_utf8_lossy(bytes).into_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let input = |name: &str| RequestInput {
            kind: 4,
            file: "a b.fatbin".into(),
            name: name.as_bytes().to_vec(),
        };
        let request = LinkRequest {
            library: "/opt/libnvJitLink.so.13".into(),
            options: vec![b"-arch=sm_90".to_vec(), Vec::new(), b"-kernels-used=k\n".to_vec()],
            inputs: vec![input("lib.a:a.o"), input("")],
            wanted: Wanted::Ptx,
        };
        request.write(folder.path()).unwrap();
        assert_eq!(LinkRequest::read(folder.path()).unwrap(), request);
        // Cut short anywhere, it is none.
        let file = folder.path().join(REQUEST);
        let text = fs::read(&file).unwrap();
        for length in 0..text.len() {
            assert_eq!(LinkRequest::parse(&text[..length]), None, "{length}");
        }
    }
}
