//! The CUDA toolkit of the user, and the compilers in it.
//!
//! A link of machine code needs none of this and looks for none of it. A link that must compile
//! asks [`Search`], which goes through the places in their order:
//!
//! | place | |
//! |---|---|
//! | `--cuda-path`, else `WARPLD_CUDA_PATH` | no other place counts then |
//! | the toolkit that a shim was made from | |
//! | the folder above `-nvvmpath` | nvcc passes it with `-dlto` |
//! | the first `ptxas` in `PATH` | nvcc puts its own folder first |
//! | `CUDA_HOME`, `CUDA_PATH` | |
//! | the usual places | `/usr/local/cuda`, conda, Python wheels, … |

mod folder;
mod lto;
mod nvjitlink;
mod places;
mod record;
mod search;
#[cfg(all(test, unix))]
mod tests;
mod tool;
mod version;

pub use folder::{Libnvvm, Toolkit, behind};
pub use lto::{FrontEnd, LtoTools};
pub use nvjitlink::NvJitLinkFiles;
pub use places::{Environment, Hints, Origin, Place};
pub use record::Shim;
pub use search::Search;
pub use tool::{Library, Tool};
pub use version::version;
