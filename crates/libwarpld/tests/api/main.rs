//! The library's face: what a link from memory makes of its inputs.

mod at_once;
mod compile;
mod files;
mod link;
