//! Tensor memory belongs to single CTAs or to pairs of them: no kernel may use both.

use super::contribution::{Any, Contribution, OwnProperties, Reader, slot};
use super::{Properties, attributes};
use crate::demangle::text;
use crate::diag::Code;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ids::FunctionId;
use cubin::Attr;

const SINGLE: usize = slot(Attr::TCGEN05_1CTA_USED);
const PAIR: usize = slot(Attr::TCGEN05_2CTA_USED);

/// Refuses kernels that use both, themselves or in what they call. Quirk: the only kernel of a link
/// is refused if it uses one and any live function the other, called or not. Conflicts among
/// functions count since 13.2, once for each of the two that the kernel gets from them
/// (`tensor-memory-groups`).
pub fn check(
    reader: Reader<'_, '_>,
    own: &[OwnProperties],
    any: &Any,
    below: Option<&[Contribution]>,
    out: &Properties,
    diags: &mut Diagnostics,
) {
    if !any.has(SINGLE) || !any.has(PAIR) {
        return;
    }
    let uses = |c: &Contribution| (c.code(SINGLE).is_some(), c.code(PAIR).is_some());
    let of =
        |f: FunctionId| out.components.position(f.as_u32()).map(|at| uses(&own[at].contribution));
    let mixed = |entry: FunctionId, others: (bool, bool)| {
        let (single, pair) = of(entry).unwrap_or_default();
        single && others.1 || pair && others.0
    };
    let refused: Vec<FunctionId> = match out.entries[..] {
        [entry] => {
            let others = reader.merged.function_order.iter().filter(|&&f| f != entry);
            let found = others.filter_map(|&f| of(f)).fold((false, false), join);
            let times = match reader.cx.dialect.compares_tensor_memory_of_functions() {
                true => clashes(of(entry).unwrap_or_default(), found),
                false => mixed(entry, found).into(),
            };
            vec![entry; times]
        }
        _ => {
            let reached;
            let below = match below {
                Some(below) => below,
                None => {
                    reached = attributes::reached(reader.cx, own, &out.components);
                    &reached
                }
            };
            let below = |f: FunctionId| uses(&below[out.components.of[f.index()] as usize]);
            let is_refused = |f: FunctionId| mixed(f, below(f)) || below(f) == (true, true);
            out.entries.iter().copied().filter(|&f| is_refused(f)).collect()
        }
    };
    for entry in refused {
        let name = text(reader.cx.resolution.get(reader.cx.graph.symbol(entry)).name);
        let message = format!(
            "Function '{name}' uses single CTA(.cta_group::1) and CTA pair \
             granularity(.cta_group::2) and that is not allowed."
        );
        diags.push(Diagnostic::error(Code::MixedCtaGroups, message).in_kernel(name));
    }
}

/// How many of the two a kernel gets from functions although one of them all uses the other.
fn clashes(own: (bool, bool), others: (bool, bool)) -> usize {
    let single = !own.0 && others.0 && (own.1 || others.1);
    let pair = !own.1 && others.1 && (own.0 || others.0);
    usize::from(single) + usize::from(pair)
}

fn join(a: (bool, bool), b: (bool, bool)) -> (bool, bool) {
    (a.0 || b.0, a.1 || b.1)
}
