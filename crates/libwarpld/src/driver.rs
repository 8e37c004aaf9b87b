//! The steps that [`link`](crate::link()) takes, for front ends that come between them.
//!
//! | step | call | comes to |
//! |---|---|---|
//! | look into files | [`scan`] | [`Loaded`] |
//! | choose images for the target | [`Loaded::select`] | [`Selected`] |
//! | link them | [`link_images`] | [`Written`], and bytes in a [`Destination`] |
//! | explain undefined symbols | [`Loaded::explain_missing`] | notes |
//! | check the output | [`verify`] | nothing, or a [`Fault`] |
//!
//! All steps add to one list of [`Diagnostics`], and run on the rayon pool that they are called
//! on. The command `warpld` is such a front end: it finds files and maps them, writes the output
//! while it is made, prints messages as nvlink does and ends without freeing memory. Below the
//! steps stands what such programs share with the linker: names, suggestions, texts.
//!
//! What is here follows the needs of the command; [`link`](crate::link()) is what stays.

pub use crate::demangle::{demangle, is_meant, readable};
pub use crate::diag::Diagnostics;
pub use crate::diag::codes::guide_page;
pub use crate::dialect::target::warns_of_preserved_relocations;
pub use crate::explain::{LineTable, closest};
pub use crate::inputs::check::{Limits, check as check_image};
pub use crate::inputs::lto::Optimized;
pub use crate::inputs::options::{LtoOptions, SelectOptions, Traced};
pub use crate::inputs::select::{Registration, Selected, SystemLibrary};
pub use crate::inputs::{
    Block, Body, Found, HostReferences, Ignored, InputFile, Inputs, LinkInput, Loaded, Reason,
    Source, Step, Store, scan,
};
pub use crate::json::{joined, json_option, json_string};
pub use crate::link::{Memory, Statistics, Written, link_images};
pub use crate::stopwatch::{Lap, Stopwatch};
pub use crate::threads::{count as thread_count, run as run_on_threads};
pub use crate::verify::{Fault, verify};
pub use crate::write::{BUFFER_SIZE, Blocks, Destination};

pub use cubin::words::shown;

use crate::dialect::target::has_mercury;
use crate::mercury::{self, Trace};
use cubin::{Arch, Cubin};

/// Why an image must go through a compiler to run on the target; nothing if it need not, or if
/// it is no image for a related target at all.
pub fn needs_compiler(image: &[u8], target: Arch) -> Option<String> {
    if !has_mercury(target) {
        return None;
    }
    let reason = mercury::needs_compiler(image, target, &mut Trace::default())?;
    Some(reason.to_string())
}

/// Whether nvlink gives the code of an input another schedule for the target, although it runs there as it is.
pub fn is_scheduled_anew(input: &LinkInput<'_>, target: Arch) -> bool {
    let is_anew = |cubin: &Cubin<'_>| mercury::is_scheduled_anew(cubin, target);
    has_mercury(target)
        && match &input.parsed {
            Some(cubin) => is_anew(cubin),
            None => Cubin::parse(&input.image).is_ok_and(|cubin| is_anew(&cubin)),
        }
}
