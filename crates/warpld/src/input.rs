//! What `load` and `select` hand to the link: device images in link order and
//! what the host code says it uses.

use cubin::{Cubin, ReadError};
use std::borrow::Cow;
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
    /// It came from libcudadevrt.a (its absence of host info does not count).
    pub system_library: bool,
}

impl LinkInput<'_> {
    /// An image that nobody has looked at.
    pub fn new(name: String, image: Cow<'_, [u8]>) -> LinkInput<'_> {
        LinkInput { name: name.into(), image, parsed: None, system_library: false }
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
}

/// Everything a link reads.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'a> {
    /// Images in link order.
    pub images: Vec<LinkInput<'a>>,
    /// Active host references, see [`HostReferences`].
    pub host_references: Option<HostReferences>,
}
