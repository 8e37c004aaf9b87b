//! Reading the inputs. What has to take them in order, names and calls, follows one batch
//! behind: it costs no time of its own then, and finds what was read still in the cache.

use crate::callgraph::Builder;
use crate::diag::Diagnostic;
use crate::input::Inputs;
use crate::object::{self, Object, Shelf, Side};
use crate::resolve::Resolver;

/// The inputs, with what is known of their names and calls.
pub struct Read<'a> {
    /// In link order.
    pub objects: Vec<Object<'a>>,
    /// Who defines what.
    pub resolver: Resolver<'a>,
    /// Who calls whom.
    pub calls: Builder<'a>,
}

/// Fewer inputs are not worth sharing.
const LEAST: usize = 64;

/// Batches of a large link: so few of them cost little, and what does not overlap, reading
/// the first one and resolving the last one, is a small part of all.
const BATCHES: usize = 32;

/// Inputs of a batch.
fn batch_size(inputs: usize) -> usize {
    inputs.div_ceil(BATCHES).max(LEAST)
}

/// Parts of a batch: enough of them to keep all threads busy.
fn parts() -> usize {
    2 * rayon::current_num_threads()
}

/// Empty shelves for what will be read of the inputs.
pub fn shelves<'i>(inputs: &'i Inputs<'_>) -> Vec<Shelf<'i>> {
    let inputs = inputs.images.len();
    let shelves = inputs.div_ceil(batch_size(inputs)) * parts();
    std::iter::repeat_with(Shelf::default).take(shelves).collect()
}

/// Reads and checks every image, in parallel, onto the shelves for them.
pub fn read<'s, 'i: 's>(
    inputs: &'i Inputs<'_>,
    side: Side,
    shelves: &'s [Shelf<'i>],
) -> Result<Read<'s>, Diagnostic> {
    let images = &inputs.images;
    let mut out = Read {
        objects: Vec::with_capacity(images.len()),
        resolver: Resolver::new(images.len()),
        calls: Builder::default(),
    };
    let mut parsed = Vec::new();
    let mut resolved = 0;
    let batches = images.chunks(batch_size(images.len())).zip(shelves.chunks(parts()));
    for (batch, shelves) in batches {
        let (outcome, ()) = rayon::join(
            || object::parse(batch, side, shelves, &mut parsed),
            || out.resolve(resolved),
        );
        outcome?;
        resolved = out.objects.len();
        out.objects.append(&mut parsed);
    }
    out.resolve(resolved);
    Ok(out)
}

impl Read<'_> {
    /// Resolves the inputs from `first` on.
    fn resolve(&mut self, first: usize) {
        self.resolver.add(&self.objects, first);
        if !self.resolver.has_conflicts() {
            self.calls.add(&self.objects, first, self.resolver.resolution());
        }
    }
}
