//! Which functions refer to shared memory and image references.
//!
//! Whose shared object it is, and which kernels need handles, follows from the
//! relocations of text sections; they are scanned once, in parallel.

use crate::callgraph::CallGraph;
use crate::callgraph::reach::Reach;
use crate::ids::{FunctionId, ObjectId, SymbolId, SymbolRefId};
use crate::object::{Object, SectionClass, is_image, is_shared};
use crate::resolve::{Resolution, Role};
use hashbrown::{HashMap, HashSet};
use rayon::prelude::*;

/// Which functions mention which shared symbols and image references.
#[derive(Debug, Default)]
pub struct Usage {
    /// Live functions, by symbol.
    pub by_symbol: HashMap<SymbolId, Vec<FunctionId>, foldhash::fast::FixedState>,
    /// Symbols that any text relocation of any input mentions, removed code
    /// included, definitions that lost against others not.
    pub mentioned: HashSet<SymbolId, foldhash::fast::FixedState>,
}

/// Scans the text relocations of all inputs for shared and image symbols.
pub fn collect(
    objects: &[Object<'_>],
    resolution: &Resolution<'_>,
    graph: &CallGraph<'_>,
    reach: &Reach,
) -> Usage {
    let scan = Scan { objects, resolution, graph, reach };
    let per_object: Vec<Vec<(SymbolId, Option<FunctionId>)>> =
        (0..objects.len()).into_par_iter().map(|i| scan.object(ObjectId(i as u32))).collect();
    let mut out = Usage { by_symbol: HashMap::default(), mentioned: HashSet::default() };
    for (symbol, function) in per_object.into_iter().flatten() {
        out.mentioned.insert(symbol);
        if let Some(function) = function {
            out.by_symbol.entry(symbol).or_default().push(function);
        }
    }
    for functions in out.by_symbol.values_mut() {
        functions.sort_unstable();
        functions.dedup();
    }
    out
}

struct Scan<'a, 'o> {
    objects: &'o [Object<'a>],
    resolution: &'o Resolution<'a>,
    graph: &'o CallGraph<'a>,
    reach: &'o Reach,
}

impl Scan<'_, '_> {
    fn object(&self, object: ObjectId) -> Vec<(SymbolId, Option<FunctionId>)> {
        let input = &self.objects[object.0 as usize];
        let mut found = Vec::new();
        if !input.has_shared_or_images {
            return found;
        }
        let shared: Vec<bool> =
            input.cubin.symbols().map(|s| is_shared(&s) || is_image(&s)).collect();
        for (section, class) in input.of_class(|c| matches!(c, SectionClass::Reloc(_))) {
            let SectionClass::Reloc(target) = class else { continue };
            let SectionClass::Text(owner) = input.classes[target as usize] else { continue };
            let at = SymbolRefId { object, symbol: owner };
            let id = self.resolution.id(object, owner);
            if id.is_some_and(|id| self.resolution.role(id, at, true) != Role::Selected) {
                continue;
            }
            let function = id.and_then(|id| {
                let selected = self.resolution.get(id).definition
                    == Some(SymbolRefId { object, symbol: owner });
                self.graph.function(id).filter(|&f| selected && self.reach.is_live(f))
            });
            let relocs = input.cubin.reloc_table(&section);
            for reloc in relocs.into_iter().flat_map(|relocs| relocs.iter()) {
                if shared.get(reloc.symbol.0 as usize) == Some(&true)
                    && let Some(id) = self.resolution.id(object, reloc.symbol.0)
                    && found.last() != Some(&(id, function))
                {
                    found.push((id, function));
                }
            }
        }
        found
    }
}
