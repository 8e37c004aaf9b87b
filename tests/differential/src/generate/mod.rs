//! Random programs: a seed decides which features a program likes, plans its
//! symbols over its modules, writes the PTX and chooses the links.

mod body;
mod conflict;
mod emit;
mod instr;
mod links;
mod plan;
mod source;
mod vars;

pub use source::sources;

use crate::program::{Case, Module, Sm};
use crate::rng::Rng;
use std::collections::BTreeMap;

/// How much a program likes each feature. Most features are absent from most
/// programs, so that those present meet often, and each pair meets soon.
pub struct Mix {
    levels: BTreeMap<&'static str, usize>,
    counts: BTreeMap<&'static str, usize>,
}

impl Mix {
    fn new() -> Self {
        Self { levels: BTreeMap::new(), counts: BTreeMap::new() }
    }

    /// Weight 0..=8 of `feature`, drawn at its first mention.
    pub fn weight(&mut self, rng: &mut Rng, feature: &'static str) -> usize {
        *self.levels.entry(feature).or_insert_with(|| *rng.pick(&[0, 0, 0, 1, 1, 2, 4, 8]))
    }

    /// True in about `percent` of draws at full liking, less often at lower.
    pub fn likes(&mut self, rng: &mut Rng, feature: &'static str, percent: usize) -> bool {
        let weight = self.weight(rng, feature);
        rng.below(800) < percent * weight
    }

    /// Notes that `feature` occurs in the program.
    pub fn note(&mut self, feature: &'static str) {
        *self.counts.entry(feature).or_default() += 1;
    }
}

/// Stream of the generator that plans the program itself.
const PROGRAM: u64 = 1;
/// Stream that chooses links, so that their number does not change programs.
const LINKS: u64 = 2;

/// The program of `seed` for `sm`, with about `links` links.
pub fn program(seed: u64, sm: Sm, links: usize) -> Case {
    let mut rng = Rng::new(seed, PROGRAM);
    let mut mix = Mix::new();
    let mut plan = plan::Plan::new(&mut rng, &mut mix, sm);
    let conflict = conflict::inject(&mut rng, &mut plan);
    let mut modules: Vec<Module> =
        (0..plan.modules.len()).map(|m| emit::module(&mut rng, &mut mix, &plan, m)).collect();
    let mut rng = Rng::new(seed, LINKS);
    links::pack(&mut rng, &mut mix, &plan, &mut modules);
    let links = links::choose(&mut rng, &mut mix, &plan, &modules, links);
    Case {
        name: format!("s{seed}-{sm}"),
        sm,
        modules,
        files: Vec::new(),
        contents: Vec::new(),
        links,
        features: mix.counts,
        conflict,
    }
}
