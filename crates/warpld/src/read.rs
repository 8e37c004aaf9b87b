//! Reading the inputs. What has to take them in order, names and calls, follows one batch
//! behind: it costs no time of its own then, and finds what was read still in the cache.

use crate::callgraph::Builder;
use crate::diag::Diagnostic;
use crate::input::{Inputs, LinkInput};
use crate::object::{Object, Side};
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

/// Fewer inputs are not worth sharing.
const LEAST: usize = 64;

/// Batches of a large link: so few of them cost little, and what does not overlap, reading
/// the first one and resolving the last one, is a small part of all.
const BATCHES: usize = 32;

/// Reads and checks every image, in parallel.
pub fn read<'a>(inputs: &'a Inputs<'_>, side: Side) -> Result<Read<'a>, Diagnostic> {
    let images = &inputs.images;
    let mut out = Read {
        objects: Vec::with_capacity(images.len()),
        resolver: Resolver::new(images.len()),
        calls: Builder::default(),
    };
    let mut parsed = Vec::new();
    let mut resolved = 0;
    for batch in images.chunks(images.len().div_ceil(BATCHES).max(LEAST)) {
        rayon::join(|| parse(batch, side, &mut parsed), || out.resolve(resolved));
        resolved = out.objects.len();
        for object in parsed.drain(..) {
            out.objects.push(object?);
        }
    }
    out.resolve(resolved);
    Ok(out)
}

fn parse<'a>(
    inputs: &'a [LinkInput<'_>],
    side: Side,
    out: &mut Vec<Result<Object<'a>, Diagnostic>>,
) {
    inputs.par_iter().map(|input| Object::parse(input, side)).collect_into_vec(out);
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
