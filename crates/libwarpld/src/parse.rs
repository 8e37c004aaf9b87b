//! Reading the inputs. What has to take them in order, names and calls, follows as they come:
//! it costs no time of its own then, and finds what was read still in the cache.

use crate::callgraph::Builder;
use crate::diag::Diagnostic;
use crate::dialect::Half;
use crate::inputs::Inputs;
use crate::object::call_lists::Calls;
use crate::object::{Object, ObjectBatch, Parts};
use crate::par_ordered::pipeline;
use crate::resolve::Resolver;
use rayon::prelude::*;

/// The inputs, with what is known of their names and calls.
pub struct Read<'a> {
    /// In link order.
    pub objects: Vec<Object<'a>>,
    /// Who defines what.
    pub resolver: Resolver<'a>,
    /// Who calls whom.
    pub calls: Builder<'a>,
}

/// Fewer inputs are not worth a shelf of their own.
const LEAST: usize = 16;

/// Shelves of a large link for each thread: so few of them cost little, and what no other
/// thread helps with, reading and resolving the last one, is a small part of all.
const SHELVES: usize = 32;

/// Inputs of a shelf.
fn share(inputs: usize) -> usize {
    inputs.div_ceil(SHELVES * rayon::current_num_threads()).max(LEAST)
}

/// Empty shelves for what will be read of the inputs.
pub fn shelves<'i>(inputs: &'i Inputs<'_>) -> Vec<ObjectBatch<'i>> {
    let inputs = inputs.images.len();
    let shelves = inputs.div_ceil(share(inputs));
    std::iter::repeat_with(ObjectBatch::default).take(shelves).collect()
}

/// Reads and checks every image, in parallel, onto the shelves for them.
pub fn read<'s, 'i: 's>(
    inputs: &'i Inputs<'_>,
    half: Half,
    shelves: &'s [ObjectBatch<'i>],
) -> Result<Read<'s>, Diagnostic> {
    let images = &inputs.images;
    let share = images.len().div_ceil(shelves.len().max(1)).max(1);
    let (mut resolver, mut calls) = (Resolver::new(images.len()), Builder::new(images.len()));
    // Made in place first, as putting together what shelves yield would copy them.
    let mut objects = Vec::new();
    images.par_iter().map(Object::unread).collect_into_vec(&mut objects);
    let mut known = Parts::new(share);
    let mut failure = None;
    pipeline(
        objects.chunks_mut(share).zip(images.chunks(share)).zip(shelves),
        |((objects, inputs), shelf)| shelf.read(objects, inputs, half),
        |read: Result<(&[Object<'s>], Calls<'s>), Diagnostic>| match (read, &failure) {
            (Ok((part, said)), None) => {
                let first = known.add(part);
                resolver.add(&known, first, &said);
                if !resolver.has_conflicts() {
                    calls.add(part, first, &said, resolver.resolution());
                }
            }
            (Err(first), None) => failure = Some(first),
            (_, Some(_)) => {}
        },
    );
    match failure {
        None => Ok(Read { objects, resolver, calls }),
        Some(failure) => Err(failure),
    }
}
