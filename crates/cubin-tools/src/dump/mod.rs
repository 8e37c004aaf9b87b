//! A readable view of device ELF files, as text or JSON.

mod attributes;
mod capsule;
mod functions;
mod json;
mod names;
mod table;
mod text;

pub(crate) use functions::{Function, functions};
pub use json::{FORMAT, describe};
pub use text::{Part, Style, render};
