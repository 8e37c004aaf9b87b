//! Parses the inputs. The sequential steps, symbol resolution and the call graph, run on each batch
//! as it is parsed: they take no extra time then, and the data is still in the cache.

use crate::callgraph::Builder;
use crate::config::Config;
use crate::diag::Diagnostic;
use crate::dialect::Dialect;
use crate::inputs::Inputs;
use crate::object::call_lists::Calls;
use crate::object::{Object, ObjectBatch, Objects, Parts};
use crate::par_ordered::pipeline;
use crate::resolve::Resolver;
use rayon::prelude::*;

/// The inputs, with their symbols and calls.
pub struct Read<'a> {
    /// In link order.
    pub objects: Objects<'a>,
    /// Who defines what.
    pub resolver: Resolver<'a>,
    /// Who calls whom.
    pub calls: Builder<'a>,
}

/// Fewer inputs are not worth a separate batch.
const LEAST: usize = 16;

/// Batches per thread in a large link: this few cost little, and the part that is not parallel,
/// parsing and resolving the last one, stays small.
const SHELVES: usize = 32;

/// Number of inputs per batch.
fn share(inputs: usize) -> usize {
    inputs.div_ceil(SHELVES * rayon::current_num_threads()).max(LEAST)
}

/// Empty batches for the inputs.
pub fn batches<'i>(inputs: &'i Inputs<'_>) -> Vec<ObjectBatch<'i>> {
    let inputs = inputs.images.len();
    let batches = inputs.div_ceil(share(inputs));
    std::iter::repeat_with(ObjectBatch::default).take(batches).collect()
}

/// Parses and checks every image, in parallel, into the batches. [`Config::reuse`] makes that faster
/// for inputs that are alike.
pub fn read<'s, 'i: 's>(
    inputs: &'i Inputs<'_>,
    dialect: Dialect,
    batches: &'s [ObjectBatch<'i>],
    config: &Config,
) -> Result<Read<'s>, Diagnostic> {
    let images = &inputs.images;
    let share = images.len().div_ceil(batches.len().max(1)).max(1);
    let half = dialect.half();
    let (mut resolver, mut calls) = (
        Resolver::new(dialect, images.len(), config.keep_first_definition),
        Builder::new(images.len()),
    );
    // Built in place first, because collecting the batches' results would copy them.
    let mut objects = Vec::new();
    images.par_iter().map(Object::unread).collect_into_vec(&mut objects);
    let mut known = Parts::new(share);
    let mut failure = None;
    pipeline(
        objects.chunks_mut(share).zip(images.chunks(share)).zip(batches),
        |((objects, inputs), batch)| batch.read(objects, inputs, half, config.reuse),
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
        None => Ok(Read { objects: objects.into(), resolver, calls }),
        Some(failure) => Err(failure),
    }
}
