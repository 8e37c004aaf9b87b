//! NVIDIA's libnvJitLink, loaded when something must be compiled.
//!
//! | module | what |
//! |---|---|
//! | `find` | the first file that is NVIDIA's library, never this one |
//! | `functions` | loading and calling: all that is unsafe |
//! | `handle` | a link by it |

mod find;
mod functions;
mod handle;
#[cfg(all(test, unix))]
mod tests;

pub use find::{FindError, find};
pub use functions::{Library, OpenError};
pub use handle::{Handle, InputType, Refusal};
