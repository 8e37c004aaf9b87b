//! The call graph of the whole link, over functions and prototypes.
//!
//! An indirect call may reach every address-taken function with the same
//! prototype; a node per prototype stands between them, so the graph has as
//! many edges as the inputs have entries.

pub mod callers;
pub mod reach;
pub mod scc;

use crate::ids::{FunctionId, IdVec, ObjectId, OptId, PrototypeId, SymbolId, SymbolRefId};
use crate::name_hash::ShortHash;
use crate::object::Object;
use crate::object::call_lists::{CallLists, Calls, Prototype};
use crate::resolve::{Resolution, Role, estimate};
use cubin::callgraph::List;
use hashbrown::HashTable;

/// The call graph.
#[derive(Debug)]
pub struct CallGraph<'a> {
    /// Symbol of each function.
    pub functions: IdVec<FunctionId, SymbolId>,
    of_symbol: IdVec<SymbolId, OptId<FunctionId>>,
    /// By function: whether it is a kernel, and whether it is defined. Passes over all functions
    /// then need not look at their symbols.
    entry: IdVec<FunctionId, bool>,
    defined: IdVec<FunctionId, bool>,
    /// Prototype strings in the order in which the string table holds them.
    pub prototypes: IdVec<PrototypeId, &'a [u8]>,
    /// Direct calls in input order.
    pub calls: Vec<(FunctionId, FunctionId)>,
    /// Indirect calls in input order.
    pub indirect: Vec<(FunctionId, PrototypeId)>,
    /// Functions whose address a function takes, in input order.
    pub takes_address: Vec<(FunctionId, FunctionId)>,
    /// Prototype under which a function's address is taken.
    pub address_taken: IdVec<FunctionId, OptId<PrototypeId>>,
    /// Prototype of a function by `.nv.prototype`.
    pub prototype_of: IdVec<FunctionId, OptId<PrototypeId>>,
    /// Successors of functions, then of prototypes.
    successors: Adjacency,
}

/// Compressed adjacency lists.
#[derive(Debug, Default)]
pub struct Adjacency {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    /// From edges in any order; the order of one node's targets is kept.
    pub fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        // Lengths are counted at index + 2; the prefix sums at index + 1 then give the next free
        // slot, and end up as the end of each list.
        let mut starts = vec![0u32; nodes + 2];
        edges.clone().for_each(|(from, _)| starts[from as usize + 2] += 1);
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut targets = vec![0; starts[nodes + 1] as usize];
        edges.for_each(|(from, to)| {
            let next = &mut starts[from as usize + 1];
            targets[*next as usize] = to;
            *next += 1;
        });
        starts.truncate(nodes + 1);
        Self { starts, targets }
    }

    /// Targets of one node.
    #[inline]
    pub fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The same edges reversed.
    pub fn reversed(&self) -> Self {
        let edges =
            (0..self.len() as u32).flat_map(|from| self.of(from).iter().map(move |&to| (to, from)));
        Self::new(self.len(), edges)
    }
}

impl<'a> CallGraph<'a> {
    /// The function of a symbol.
    #[inline]
    pub fn function(&self, symbol: SymbolId) -> Option<FunctionId> {
        self.of_symbol[symbol].get()
    }

    /// The symbol of a function.
    #[inline]
    pub fn symbol(&self, function: FunctionId) -> SymbolId {
        self.functions[function]
    }

    /// Whether the function is a kernel.
    #[inline]
    pub fn is_entry(&self, function: FunctionId) -> bool {
        self.entry[function]
    }

    /// Whether the function is defined.
    #[inline]
    pub fn is_defined(&self, function: FunctionId) -> bool {
        self.defined[function]
    }

    /// Edges between nodes: functions are nodes 0…, prototypes follow.
    pub fn successors(&self) -> &Adjacency {
        &self.successors
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Numbers the functions among the new symbols.
    fn add_functions(&mut self, resolution: &Resolution<'a>) {
        for (id, symbol) in resolution.symbols.enumerated_from(self.of_symbol.next_id()) {
            let function = symbol.function.then(|| self.functions.push(id));
            self.of_symbol.push(function.into());
        }
        self.address_taken.resize(self.functions.len(), OptId::NONE);
        self.prototype_of.resize(self.functions.len(), OptId::NONE);
    }

    /// The edges between nodes.
    fn connected(&self, resolution: &Resolution<'a>) -> Adjacency {
        let base = self.functions.len() as u32;
        let direct = self.calls.iter().map(|&(from, to)| (from.as_u32(), to.as_u32()));
        let indirect =
            self.indirect.iter().map(|&(from, proto)| (from.as_u32(), base + proto.as_u32()));
        let taken = self.address_taken.iter().zip(&self.functions).zip(0..);
        let taken = taken.filter_map(|((prototype, &symbol), function)| {
            let prototype = prototype.get().filter(|_| !resolution.get(symbol).entry)?;
            Some((base + prototype.as_u32(), function))
        });
        let nodes = self.functions.len() + self.prototypes.len();
        Adjacency::new(nodes, direct.chain(indirect).chain(taken))
    }
}

/// Collects the call graphs of inputs in order. Edges come only from definitions that were ever
/// selected, which is known as soon as their input is resolved.
pub struct Builder<'a> {
    graph: CallGraph<'a>,
    interned: HashTable<(ShortHash, PrototypeId)>,
    /// Total number of inputs.
    inputs: usize,
}

/// An input with its call lists.
#[derive(Clone, Copy)]
struct Input<'o, 'a> {
    id: ObjectId,
    object: &'o Object<'a>,
    lists: &'o CallLists<'a>,
    prototypes: &'o [(u32, Prototype)],
}

impl<'a> Builder<'a> {
    /// For `inputs` inputs.
    pub fn new(inputs: usize) -> Self {
        let graph = CallGraph {
            functions: IdVec::new(),
            of_symbol: IdVec::new(),
            entry: IdVec::new(),
            defined: IdVec::new(),
            prototypes: IdVec::new(),
            calls: Vec::new(),
            indirect: Vec::new(),
            takes_address: Vec::new(),
            address_taken: IdVec::new(),
            prototype_of: IdVec::new(),
            successors: Adjacency::default(),
        };
        Self { graph, interned: HashTable::new(), inputs }
    }

    /// Adds inputs starting at this index; all of them are resolved.
    pub fn add(
        &mut self,
        part: &[Object<'a>],
        first: ObjectId,
        calls: &Calls<'a>,
        resolution: &Resolution<'a>,
    ) {
        if first.index() == 0 {
            self.reserve(part.len(), calls, resolution);
        }
        self.graph.add_functions(resolution);
        let inputs = crate::ids::onward(first).zip(part).zip(calls.iter());
        for ((id, object), (lists, prototypes)) in inputs {
            self.add_object(Input { id, object, lists, prototypes }, resolution);
        }
    }

    /// Reserves memory for all inputs, of which these are the first.
    fn reserve(&mut self, first: usize, calls: &Calls<'a>, resolution: &Resolution<'a>) {
        let functions = resolution.symbols.capacity();
        self.graph.of_symbol.reserve(functions);
        self.graph.functions.reserve(functions);
        self.graph.address_taken.reserve(functions);
        self.graph.prototype_of.reserve(functions);
        let direct = calls.iter().map(|(lists, _)| lists.of(List::Calls).count()).sum();
        self.graph.calls.reserve(estimate(direct, first, self.inputs));
    }

    /// The graph of all inputs.
    pub fn finish(mut self, resolution: &Resolution<'a>) -> CallGraph<'a> {
        let graph = &self.graph;
        let kind = |&symbol: &SymbolId| {
            let symbol = resolution.get(symbol);
            (symbol.entry, symbol.definition.is_some())
        };
        let (kinds, successors) = rayon::join(
            || graph.functions.iter().map(kind).unzip::<_, _, Vec<_>, Vec<_>>(),
            || graph.connected(resolution),
        );
        self.graph.entry = kinds.0.into();
        self.graph.defined = kinds.1.into();
        self.graph.successors = successors;
        self.graph
    }

    fn add_object(&mut self, input: Input<'_, 'a>, resolution: &Resolution<'a>) {
        let Self { graph, interned, .. } = self;
        let Input { id, object, lists, prototypes } = input;
        // Many functions have one prototype.
        let mut last: Option<(Prototype, PrototypeId)> = None;
        let mut intern = |strings: &mut IdVec<PrototypeId, &'a [u8]>, prototype: Prototype| {
            if let Some((known, id)) = last
                && known.is_at(&prototype)
            {
                return id;
            }
            let (hash, name) = (prototype.hash, object.prototype_name(prototype));
            let same =
                |&(other, id): &(ShortHash, PrototypeId)| other == hash && strings[id] == name;
            let entry = interned.entry(hash.spread(), same, |(hash, _)| hash.spread());
            let entry = entry.or_insert_with(|| (hash, strings.next_id()));
            let id = entry.get().1;
            if id == strings.next_id() {
                strings.push(name);
            }
            last = Some((prototype, id));
            id
        };
        let of_symbol = &graph.of_symbol;
        let ids = resolution.ids_of(id).unwrap_or_default();
        let function_of = |symbol: SymbolId| of_symbol.get(symbol)?.get();
        let function =
            |symbol: u32| ids.get(symbol as usize).and_then(|name| function_of(name.get()?));
        let caller = |symbol: u32| {
            let name = ids.get(symbol as usize)?.get()?;
            let function = function_of(name)?;
            let at = SymbolRefId { object: id, symbol };
            resolution.ever_selected(name, at).then_some(function)
        };
        // Discarded copies contribute no prototype.
        for (symbol, name) in lists.of(List::AddressTaken) {
            if taken_by_discarded_code(input, resolution, symbol) {
                continue;
            }
            let Ok(prototype) = object.prototype(name) else { continue };
            let proto = intern(&mut graph.prototypes, prototype);
            if let Some(f) = function(symbol) {
                let known = &mut graph.address_taken[f];
                *known = known.get().unwrap_or(proto).into();
            }
        }
        for (symbol, name) in lists.of(List::IndirectCalls) {
            if let (Some(f), Ok(prototype)) = (caller(symbol), object.prototype(name)) {
                let proto = intern(&mut graph.prototypes, prototype);
                graph.indirect.push((f, proto));
            }
        }
        for &(symbol, prototype) in prototypes {
            let proto = intern(&mut graph.prototypes, prototype);
            if let Some(f) = function(symbol) {
                // Those of built-in functions may differ; the last one counts.
                graph.prototype_of[f] = proto.into();
            }
        }
        for (list, edges) in
            [(List::Calls, &mut graph.calls), (List::TakesAddress, &mut graph.takes_address)]
        {
            // The entries of a caller are consecutive.
            let mut last = (u32::MAX, None);
            lists.of(list).for_each(|(from, to)| {
                if last.0 != from {
                    last = (from, caller(from));
                }
                if let (Some(from), Some(to)) = (last.1, function(to)) {
                    edges.push((from, to));
                }
            });
        }
    }
}

/// Whether the input's copy of the function was discarded, and so was every function of the input
/// that takes its address: then the address is not taken, not even by a data table. One surviving
/// taker is enough to keep it. [`address-taken-by-loser`, `address-taken-by-weak-after-strong`]
fn taken_by_discarded_code(
    Input { id, object, lists, .. }: Input<'_, '_>,
    resolution: &Resolution<'_>,
    symbol: u32,
) -> bool {
    let discarded = |symbol: u32| {
        let at = SymbolRefId { object: id, symbol };
        let defined = object.cubin.symbol(symbol).is_some_and(|s| !s.is_undefined());
        resolution
            .id(id, symbol)
            .is_some_and(|name| resolution.role(name, at, defined) == Role::Discarded)
    };
    if !discarded(symbol) {
        return false;
    }
    let takers = lists.of(List::TakesAddress);
    let mut takers = takers.filter(|(_, taken)| *taken == symbol);
    takers.all(|(taker, _)| discarded(taker))
}
