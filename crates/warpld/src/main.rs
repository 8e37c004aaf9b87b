//! The `warpld` command.
#![forbid(unsafe_code)]
fn main() {}
