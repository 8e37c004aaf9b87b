//! What tests share: files of the repository, damaged copies of them, the program under test.
//!
//! Everything here panics when a test cannot go on.
#![forbid(unsafe_code)]

mod archives;
mod files;
mod mutate;
mod nvjitlink;
mod program;
mod schema;

pub use archives::{archive, member_header, thin_archive};
pub use files::{example, fifo, fixture, fixture_path, fixtures, root, toolkit};
pub use mutate::{Random, mutate};
pub use nvjitlink::fake_nvjitlink;
pub use program::{Program, stderr};
pub use schema::schema_errors;
