//! A readable view of device ELF files, as text or JSON.

mod attributes;
mod capsule;
mod code;
mod functions;
mod hex;
mod json;
mod lines;
mod names;
mod options;
mod table;
mod text;
mod text_details;
mod wrap;

pub(crate) use functions::{Function, functions};
pub use json::{FORMAT, describe, describe_with};
pub use options::{Disassembly, Filter, Options, Part, Sort, Style};
pub use text::render;
