//! What `load` and `select` hand to the link: device images in link order and
//! what the host code says it uses.

pub mod best_image;
pub mod check;
mod compiled;
pub mod fit;
pub(crate) mod host_use;
pub mod lto;
mod lto_options;
pub mod memory;
pub(crate) mod messages;
pub mod need;
pub mod options;
mod other_targets;
mod recognise;
mod scan;
pub mod select;
mod source_images;
mod unpack;

pub use memory::{Block, Store};
pub use scan::{Body, Ignored, Loaded, Reason, Source, Step, scan};

use crate::diag::Diagnostic;
use crate::dialect::Release;
use cubin::{Cubin, ReadError};
use fatbin::Content;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// One relocatable device image chosen for the target.
#[derive(Clone, Debug)]
pub struct LinkInput<'a> {
    /// Name in messages: `a.o`, `libx.a:member.o`.
    pub name: Arc<str>,
    /// The cubin.
    pub image: Cow<'a, [u8]>,
    /// The cubin as it was read when the image was chosen, if the image is borrowed.
    pub parsed: Option<Arc<Cubin<'a>>>,
    /// The number of the toolkit that compiled it; 0 if it is not known.
    pub toolkit: u32,
    /// It came from libcudadevrt.a (its absence of host info does not count).
    pub system_library: bool,
}

impl LinkInput<'_> {
    /// An image that nobody has looked at.
    pub fn new(name: String, image: Cow<'_, [u8]>) -> LinkInput<'_> {
        LinkInput { name: name.into(), image, parsed: None, toolkit: 0, system_library: false }
    }

    /// The image, read and checked.
    pub fn cubin(&self) -> Result<Arc<Cubin<'_>>, ReadError> {
        match &self.parsed {
            Some(cubin) => Ok(cubin.clone()),
            None => Ok(Arc::new(Cubin::parse(&self.image)?)),
        }
    }
}

/// Names of the kernels and variables that host code refers to, pooled over
/// all inputs. `None` in [`Inputs::host_references`] means: not every input
/// says, so nothing may be pruned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostReferences {
    /// `.nvHRKE`: patterns for kernels with external linkage.
    pub kernels_external: Vec<Vec<u8>>,
    /// `.nvHRKI`: patterns for static kernels.
    pub kernels_internal: Vec<Vec<u8>>,
    /// `.nvHRDE`, `.nvHRDI`: device variables.
    pub variables: Vec<Vec<u8>>,
    /// `.nvHRCE`: constants with external linkage.
    pub constants_external: Vec<Vec<u8>>,
    /// `.nvHRCI`: static constants.
    pub constants_internal: Vec<Vec<u8>>,
    /// They count as names given by `--kernels-used` and `--variables-used`, as in nvlink where
    /// LTO-IR turns out to be no whole program (`lto-missing-function`).
    pub by_name: bool,
}

/// Everything a link reads.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'a> {
    /// Images in link order.
    pub images: Vec<LinkInput<'a>>,
    /// Active host references, see [`HostReferences`].
    pub host_references: Option<HostReferences>,
    /// The release that the images ask for, where the settings name none.
    pub release: Option<&'static Release>,
}

/// A file given to the link, or the reason why it cannot be read.
#[derive(Clone, Debug)]
pub struct InputFile<'f> {
    /// Its name in messages.
    pub name: Arc<str>,
    /// Its bytes.
    pub data: Result<&'f [u8], String>,
    /// Files of a thin archive, in the order of its members.
    pub members: Vec<InputFile<'f>>,
    /// It was found by `-l`.
    pub library: bool,
    /// What it is.
    pub content: Content,
}

impl<'f> InputFile<'f> {
    /// A file in memory.
    pub fn new(name: impl Into<Arc<str>>, data: &'f [u8]) -> Self {
        let content = Content::of(data);
        Self { name: name.into(), data: Ok(data), members: Vec::new(), library: false, content }
    }

    /// The suffix of its name.
    fn suffix(&self) -> &str {
        // Taking a path apart is slow; most names are plain.
        let length = self.name.bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
        if let Some((stem, suffix)) = self.name.split_at_checked(self.name.len() - length)
            && let [.., last, b'.'] = stem.as_bytes()
            && last.is_ascii_alphanumeric()
            && !suffix.is_empty()
        {
            return suffix;
        }
        let suffix = Path::new(&*self.name).extension();
        suffix.and_then(|suffix| suffix.to_str()).unwrap_or_default()
    }
}

/// What the search for inputs found, in link order.
#[derive(Clone, Debug)]
pub enum Found<'f> {
    /// A file.
    File(InputFile<'f>),
    /// Something to say about a file that was passed over.
    Message(Box<Diagnostic>),
}
