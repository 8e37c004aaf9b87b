//! Objects in shared memory and the kernels that use them.

use super::Usage;
use super::sort::{Ties, alternating_merge_sort};
use crate::callgraph::callers::Callers;
use crate::collections::{Map, Set};
use crate::context::Analysis;
use crate::ids::{FunctionId, ObjectId, SectionId, SymbolId, SymbolRefId};
use crate::object::{MergeClass, is_dynamic_array};
use crate::resolve::Role;

/// An object in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct SharedObject {
    /// Its symbol; that of its kernel, if it has no name.
    pub symbol: SymbolId,
    /// Whether it has no name, and symbol 0 stands for it.
    pub nameless: bool,
    /// Its size.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
    /// Not a dynamic array. A copy that a later definition replaced keeps its storage; the symbol
    /// is at the last copy's offset.
    pub placed: bool,
    /// The offset that the compiler of a whole program (`ptxas -ewp`) gave it, which it keeps.
    pub fixed: Option<u64>,
}

/// The objects of the link, in the order of the inputs.
#[derive(Debug, Default)]
pub struct SharedObjects {
    /// Those of one kernel.
    pub private: Map<FunctionId, Vec<SharedObject>>,
    /// Those of device functions, including arrays without a separate offset.
    pub common: Vec<SharedObject>,
    /// Arrays whose size is set at launch, or that were declared so.
    pub dynamic: Vec<SymbolId>,
}

impl SharedObjects {
    /// Finds the objects of all inputs.
    pub fn collect(cx: Analysis<'_, '_>) -> Self {
        let mut out = Self::default();
        let mut seen: Set<SymbolId> = Set::default();
        let inputs = cx.objects.enumerated().filter(|(_, o)| o.has_shared_or_images);
        for (object, input) in inputs {
            for symbol in input.cubin.symbols() {
                if !symbol.is_shared() {
                    continue;
                }
                let Some(id) = cx.resolution.id(object, symbol.index.0) else { continue };
                if symbol.is_undefined() || is_dynamic_array(&symbol) {
                    if (is_dynamic(cx, id) || is_orphan(cx, id)) && seen.insert(id) {
                        out.dynamic.push(id);
                        // Takes part in the sort, though it has no separate offset.
                        let align = symbol.value;
                        let array = SharedObject {
                            symbol: id,
                            nameless: false,
                            size: 0,
                            align,
                            placed: false,
                            fixed: None,
                        };
                        out.common.push(array);
                    }
                    continue;
                }
                let at = SymbolRefId { object, symbol: symbol.index.0 };
                let role = cx.resolution.role(id, at, true);
                if role == Role::Discarded {
                    continue;
                }
                let align = input.shared_alignment(&symbol);
                let fixed = input.whole_program.then_some(symbol.value);
                let new = SharedObject {
                    symbol: id,
                    nameless: false,
                    size: symbol.size,
                    align,
                    placed: true,
                    fixed,
                };
                match input.classes.get(symbol.shndx as usize) {
                    Some(&MergeClass::KernelShared(owner)) if !is_orphan(cx, id) => {
                        let owner =
                            cx.resolution.id(object, owner).and_then(|f| cx.graph.function(f));
                        if let Some(owner) = owner {
                            out.private.entry(owner).or_default().push(new);
                        }
                    }
                    // One that was declared before takes part in the sort a second time.
                    Some(MergeClass::CommonShared) => out.common.push(new),
                    _ => {}
                }
            }
        }
        out
    }
}

/// The order in which functions and their relocations were added to the output. The part that
/// `merge` has built so far knows it.
pub trait CodeOrder {
    /// The section of a function's code.
    fn text(&self, function: FunctionId) -> Option<SectionId>;

    /// The first input section whose relocations are among those of a function's code.
    fn first_relocs(&self, function: FunctionId) -> Option<(ObjectId, u32)>;
}

/// Kernels in the order in which they are found to need shared memory beyond their own: for common
/// objects in placement order, those with one user first, then for dynamic arrays in the order in
/// which the code that uses them was relocated; of several that reach one function, the last one
/// first.
pub fn shared_users(cx: Analysis<'_, '_>, usage: &Usage, code: &impl CodeOrder) -> Vec<FunctionId> {
    let SharedObjects { mut common, dynamic, .. } = SharedObjects::collect(cx);
    let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
    let mut last_first = |function: FunctionId| {
        let mut entries = callers.entries_reaching(&[function]);
        // Stubs of unified functions have one section.
        entries.sort_by_key(|f| std::cmp::Reverse((code.text(*f), *f)));
        entries
    };
    let mut out = Vec::new();
    if !cx.config.relocatable {
        alternating_merge_sort(&mut common, Ties::B, |o| std::cmp::Reverse(o.size));
        let mut of_object = |object: &SharedObject| -> Vec<FunctionId> {
            let mut functions = usage.functions(object.symbol).to_vec();
            functions.sort_by_key(|f| code.text(*f));
            let mut seen = Set::<_>::default();
            let users = functions.into_iter().flat_map(&mut last_first);
            users.filter(|f| seen.insert(*f)).collect()
        };
        let users = common.iter().filter(|o| o.placed).map(&mut of_object);
        // Objects with one user are assigned to it before groups are formed.
        let (given, grouped): (Vec<_>, Vec<_>) = users.partition(|users| users.len() == 1);
        out.extend(given.into_iter().chain(grouped));
    }
    let dynamic = dynamic.iter().filter(|id| is_dynamic(cx, **id));
    let mut functions: Vec<FunctionId> =
        dynamic.flat_map(|&symbol| usage.functions(symbol)).copied().collect();
    // By the inputs' relocations; a discarded copy may have created their output section earlier
    // (`relocatable-dynamic-replaced`).
    functions.sort_by_key(|&f| code.first_relocs(f));
    for function in functions {
        let entry = cx.resolution.get(cx.graph.symbol(function)).entry;
        match entry {
            true => out.push(vec![function]),
            false if cx.config.relocatable => {}
            false => out.push(last_first(function)),
        }
    }
    out.into_iter().flatten().collect()
}

/// Whether kernels will share objects. Unlike everything else, this is known, and needed, before
/// sections are created.
pub fn has_groups(cx: Analysis<'_, '_>, usage: &Usage) -> bool {
    let mut callers = Callers::new(cx.graph, cx.resolution, cx.reach);
    usage.mentioned.iter().any(|&id| {
        let placed = !is_dynamic(cx, id) && !is_orphan(cx, id);
        let at = cx.resolution.get(id).definition.filter(|_| placed);
        let common = at.is_some_and(|at| {
            let section = cx.input_symbol(at).map_or(0, |s| s.shndx);
            let classes = &cx.objects[at.object].classes;
            classes.get(section as usize) == Some(&MergeClass::CommonShared)
        });
        common && callers.entries_reaching(usage.functions(id)).len() != 1
    })
}

/// Whether the symbol was declared as an array of unknown size before another input defined it with
/// a size. Quirk: nvlink then never gives it an offset. [`shared-declared-first`]
pub fn is_orphan(cx: Analysis<'_, '_>, id: SymbolId) -> bool {
    cx.resolution.get(id).definition.is_some() && is_declared_array(cx, id) && !is_dynamic(cx, id)
}

/// Whether the first input that refers to the symbol declares an array of unknown size.
pub fn is_declared_array(cx: Analysis<'_, '_>, id: SymbolId) -> bool {
    cx.input_symbol(cx.resolution.get(id).first).is_some_and(|s| is_dynamic_array(&s))
}

/// What a dynamic array is aligned to: its first declaration counts. In a file that was linked
/// before, that is where it started. [`shared-dynamic-aligned`, `relink-debug-arrays`]
pub fn array_alignment(cx: Analysis<'_, '_>, id: SymbolId) -> u64 {
    cx.dialect.array_alignment(first_value(cx, id))
}

/// The value of an array without a place, in a relocatable file.
pub fn unplaced_value(cx: Analysis<'_, '_>, id: SymbolId) -> u64 {
    cx.dialect.value_of_unplaced_array(first_value(cx, id))
}

/// The value of the first declaration.
pub fn first_value(cx: Analysis<'_, '_>, id: SymbolId) -> u64 {
    let at = cx.resolution.get(id).first;
    cx.input_symbol(at).map_or(0, |symbol| cx.objects[at.object].shared_alignment(&symbol))
}

/// Whether the symbol is an array whose size is set at launch. (An undefined array with a size is a
/// reference to a static one elsewhere.)
pub fn is_dynamic(cx: Analysis<'_, '_>, id: SymbolId) -> bool {
    let symbol = cx.resolution.get(id);
    let input = cx.input_symbol(symbol.definition.unwrap_or(symbol.first));
    input.is_some_and(|s| is_dynamic_array(&s))
}
