//! Dead-code elimination: which functions the output contains.
//!
//! Roots are the requested kernels. Calls are followed. A function whose address is taken anywhere
//! stays, but what only it calls does not, unless that is undefined. Data is never removed.

use crate::callgraph::CallGraph;
use crate::collections::Set;
use crate::config::{Config, HostInfo};
use crate::ids::{FunctionId, IdVec, SymbolId};
use crate::inputs::HostReferences;
use crate::object::Objects;
use crate::resolve::Resolution;
use crate::unified::Unified;
use cubin::Binding;

/// Why kernels may be missing from the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// All kernels are roots.
    None,
    /// Kernels that no host code refers to are dead.
    HostReferences,
    /// `--kernels-used` or `--variables-used` selected the kernels.
    ByName,
}

/// What is true of each function.
type PerFunction = IdVec<FunctionId, bool>;

/// The live functions.
#[derive(Debug)]
pub struct Reach {
    live: PerFunction,
    unrequested: PerFunction,
    late: PerFunction,
    /// Stubs of unified functions that count as kernels; empty if none does.
    stub_roots: PerFunction,
    /// Constants requested by name.
    constants: Requested,
    /// What determined the kernels.
    pub pruning: Pruning,
}

impl Reach {
    /// Whether the function is live.
    pub fn is_live(&self, function: FunctionId) -> bool {
        self.live[function]
    }

    /// Whether the function is an unrequested kernel. It may still be in the output (debug links
    /// and `--preserve-relocs` remove nothing), but counts for nothing.
    pub fn is_unrequested(&self, function: FunctionId) -> bool {
        self.unrequested[function]
    }

    /// Whether the function is a kernel that `--kernels-used` left out and that no input refers to
    /// before its definition, whether or not it stays for another reason. Its sections come after
    /// those of others.
    /// [`kernels-used`, `kernels-used-late-shared`]
    pub fn is_late(&self, function: FunctionId) -> bool {
        self.late[function]
    }

    /// Whether the function is the stub of a unified function and counts as a kernel: unless
    /// exactly one kernel was requested.
    pub fn is_stub_root(&self, function: FunctionId) -> bool {
        self.stub_roots.get(function) == Some(&true)
    }

    /// Whether the constant was requested by name. Host code names static ones separately.
    pub fn asks_for(&self, constant: &[u8], is_static: bool) -> bool {
        self.constants.matches(constant, is_static)
    }

    /// Whether the symbol is data or a live function.
    pub fn keeps(&self, graph: &CallGraph<'_>, symbol: SymbolId) -> bool {
        graph.function(symbol).is_none_or(|f| self.is_live(f))
    }
}

/// Determines which functions are live.
/// [`dead-functions`, `indirect-call`, `prototypes`, `address-taken-unreached`,
/// `address-taken-in-code`, `debug`, `device-launch`, `host-references`,
/// `host-references-empty`]
pub fn reach(
    objects: &Objects<'_>,
    graph: &CallGraph<'_>,
    resolution: &Resolution<'_>,
    unified: &Unified,
    host: Option<&HostReferences>,
    config: &Config,
) -> Reach {
    let count = graph.len();
    let (pruning, wanted) = root_filter(host, config);
    // A debug link keeps everything and ignores host references, unless its debug information is
    // suppressed.
    let by_name = pruning == Pruning::ByName && !config.is_debug_link();
    let is_unrequested = |function| {
        graph.is_entry(function) && {
            let symbol = resolution.get(graph.symbol(function));
            !wanted.matches(symbol.name, symbol.binding == Binding::LOCAL)
        }
    };
    let mut unrequested: PerFunction = match wanted {
        Requested::All => IdVec::filled(false, count),
        _ => graph.functions.ids().map(is_unrequested).collect(),
    };
    let is_late = |f: FunctionId| unrequested[f] && resolution.is_defined_first(graph.symbol(f));
    let late: PerFunction = match by_name {
        true => graph.functions.ids().map(is_late).collect(),
        false => IdVec::filled(false, count),
    };
    let kernels = || graph.functions.ids().filter(|&f| graph.is_entry(f));
    if config.relocatable || config.is_debug_link() {
        let (live, unrequested) = (IdVec::filled(true, count), IdVec::filled(false, count));
        let stub_roots = match config.relocatable {
            true => IdVec::new(),
            false => stub_roots(graph, unified, kernels().count()),
        };
        let (constants, pruning) = (Requested::Named(Patterns::default()), Pruning::None);
        return Reach { live, unrequested, late, stub_roots, constants, pruning };
    }
    let constants = wanted_constants(host, config);
    // Of functions, then of prototypes, as the graph has them.
    let mut live = vec![false; count + graph.prototypes.len()];
    let mut work = Vec::new();
    for function in kernels().filter(|&f| !unrequested[f]) {
        live[function.index()] = true;
        work.push(function.as_u32());
    }
    // An unrequested kernel whose address is taken is a root like others, unless exactly one kernel
    // was requested (quirk: nvlink then takes a shortcut for that one).
    let stub_roots = stub_roots(graph, unified, work.len());
    if work.len() != 1 {
        let roots = stub_roots.enumerated().filter(|(_, is_root)| **is_root);
        work.extend(roots.map(|(f, _)| f.as_u32()));
        for (f, taken) in graph.address_taken.enumerated() {
            if taken.is_some() && std::mem::replace(&mut unrequested[f], false) {
                live[f.index()] = true;
                work.push(f.as_u32());
            }
        }
    }
    if config.preserve_relocs || config.debug {
        let live = IdVec::filled(true, count);
        return Reach { live, unrequested, late, stub_roots, constants, pruning };
    }
    while let Some(node) = work.pop() {
        for &next in graph.successors().of(node) {
            if !std::mem::replace(&mut live[next as usize], true) {
                work.push(next);
            }
        }
    }
    live.truncate(count);
    let mut live = PerFunction::from(live);
    for stub in unified.stub_ids().filter_map(|id| graph.function(id)) {
        live[stub] = true;
    }
    for (live, prototype) in live.iter_mut().zip(&graph.address_taken) {
        *live |= prototype.is_some();
    }
    keep_undefined_callees(graph, &mut live);
    keep_nested(objects, graph, resolution, &mut live);
    Reach { live, unrequested, late, stub_roots, constants, pruning }
}

/// Which functions are stubs that count as kernels. [`unified-roots`, `unified-reach`]
fn stub_roots(graph: &CallGraph<'_>, unified: &Unified, kernels: usize) -> PerFunction {
    let mut out = IdVec::new();
    if kernels != 1 {
        for stub in unified.stub_ids().filter_map(|id| graph.function(id)) {
            out.resize(graph.len(), false);
            out[stub] = true;
        }
    }
    out
}

fn keep_undefined_callees(graph: &CallGraph<'_>, live: &mut PerFunction) {
    for &(caller, callee) in &graph.calls {
        if live[caller] && !graph.is_defined(callee) {
            live[callee] = true;
        }
    }
}

/// Functions inside the code of a kernel (`ptxas -ewp` puts functions into the kernels that call
/// them) are live with it. No call leads there, and their stack is the kernel's.
fn keep_nested(
    objects: &Objects<'_>,
    graph: &CallGraph<'_>,
    resolution: &Resolution<'_>,
    live: &mut PerFunction,
) {
    for (object_id, object) in objects.enumerated().filter(|(_, object)| object.shares_code) {
        for named in object.functions {
            let Some(id) = resolution.id(object_id, named.symbol) else { continue };
            let kernel = resolution.kernel_around(objects, id).and_then(|id| graph.function(id));
            if let (Some(nested), Some(kernel)) = (graph.function(id), kernel) {
                live[nested] |= live[kernel];
            }
        }
    }
}

fn root_filter(host: Option<&HostReferences>, config: &Config) -> (Pruning, Requested) {
    if config.names_used() {
        return (Pruning::ByName, Requested::Named(substrings(config.kernels_used.as_deref())));
    }
    match host {
        Some(host) if config.host_info == HostInfo::Use => {
            let external = host.kernels_external.iter().cloned().collect();
            let internal = host.kernels_internal.iter().cloned().collect();
            let pruning = if host.by_name { Pruning::ByName } else { Pruning::HostReferences };
            (pruning, Requested::Host { external, internal })
        }
        _ => (Pruning::None, Requested::All),
    }
}

/// The constants that host code or `--variables-used` names.
fn wanted_constants(host: Option<&HostReferences>, config: &Config) -> Requested {
    match (root_filter(host, config).0, host) {
        (Pruning::HostReferences | Pruning::ByName, Some(host)) if !config.names_used() => {
            Requested::Host {
                external: host.constants_external.iter().cloned().collect(),
                internal: host.constants_internal.iter().cloned().collect(),
            }
        }
        (Pruning::ByName, _) => Requested::Named(substrings(config.variables_used.as_deref())),
        _ => Requested::Named(Patterns::default()),
    }
}

/// Names that contain one of the words.
fn substrings(words: Option<&[String]>) -> Patterns {
    let words = words.unwrap_or_default().iter();
    words.map(|word| [b"*", word.as_bytes(), b"*"].concat()).collect()
}

#[derive(Debug)]
enum Requested {
    All,
    Named(Patterns),
    Host { external: Patterns, internal: Patterns },
}

impl Requested {
    fn matches(&self, name: &[u8], local: bool) -> bool {
        match self {
            Requested::All => true,
            Requested::Named(patterns) => patterns.matches(name),
            Requested::Host { internal, .. } if local => internal.matches(name),
            Requested::Host { external, .. } => external.matches(name),
        }
    }
}

/// Names with `*` wildcards. Exact names and `prefix*`, which is what nvcc
/// writes, are looked up by hash; the rest is matched one by one.
#[derive(Debug, Default)]
struct Patterns {
    exact: Set<Vec<u8>>,
    prefixes: Set<Vec<u8>>,
    prefix_lengths: Vec<usize>,
    general: Vec<Vec<u8>>,
}

impl FromIterator<Vec<u8>> for Patterns {
    fn from_iter<I: IntoIterator<Item = Vec<u8>>>(patterns: I) -> Self {
        let mut out = Self::default();
        for pattern in patterns {
            match pattern.iter().position(|&b| b == b'*') {
                None => {
                    out.exact.insert(pattern);
                }
                Some(star) if star + 1 == pattern.len() => {
                    out.prefix_lengths.push(star);
                    out.prefixes.insert(pattern[..star].to_vec());
                }
                Some(_) => out.general.push(pattern),
            }
        }
        out.prefix_lengths.sort_unstable();
        out.prefix_lengths.dedup();
        out
    }
}

impl Patterns {
    fn matches(&self, name: &[u8]) -> bool {
        self.exact.contains(name)
            || self
                .prefix_lengths
                .iter()
                .take_while(|&&n| n <= name.len())
                .any(|&n| self.prefixes.contains(&name[..n]))
            || self.general.iter().any(|p| wildcard(p, name))
    }
}

/// `*` stands for any string; both ends are anchored.
fn wildcard(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p + 1, n));
            p += 1;
        } else if pattern.get(p) == Some(&name[n]) {
            p += 1;
            n += 1;
        } else if let Some((after, from)) = retry {
            p = after;
            n = from + 1;
            retry = Some((after, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&b| b == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_anchored_at_both_ends() {
        assert!(wildcard(b"_Z4used*", b"_Z4usedPi"));
        assert!(wildcard(b"a*b*c", b"a-b-b-c"));
        assert!(!wildcard(b"a*b", b"a-b-"));
        assert!(!wildcard(b"used", b"_used"));
        assert!(wildcard(b"*", b""));
    }

    #[test]
    fn patterns_cover_exact_prefix_and_general_forms() {
        let patterns: Patterns =
            [b"k".to_vec(), b"_Z1a*".to_vec(), b"x*y".to_vec()].into_iter().collect();
        for name in ["k", "_Z1aPi", "x__y"] {
            assert!(patterns.matches(name.as_bytes()), "{name}");
        }
        for name in ["kk", "Z1a", "xyz"] {
            assert!(!patterns.matches(name.as_bytes()), "{name}");
        }
    }
}
