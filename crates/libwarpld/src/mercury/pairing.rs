//! Pairs the relocations of the Mercury half with those of the machine-code half, for the input
//! sections of an output section.

use super::{damaged, system_calls};
use crate::collections::Map;
use crate::diag::Diagnostic;
use crate::ids::InputSection;
use crate::linked::Linked;
use crate::relocate::Source;
use cubin::Reloc;
use cubin::Relocs;
use cubin::half::{are_counterparts, pair_relocs};

/// The relocations of one input section, paired.
#[derive(Debug)]
enum Pairs<'a> {
    /// Relocations pair by index, as in most sections.
    Same(Relocs<'a>, Relocs<'a>),
    /// The Mercury half's relocation and its counterpart.
    Listed(Vec<(Reloc, Option<Reloc>)>),
}

impl Pairs<'_> {
    fn get(&self, index: usize) -> Option<(Reloc, Option<Reloc>)> {
        match self {
            Self::Same(mercury, machine) => Some((mercury.get(index)?, machine.get(index))),
            Self::Listed(list) => list.get(index).copied(),
        }
    }
}

/// Pairs the relocations of an input's relocation section.
fn pair<'a>(linked: Linked<'a, '_>, from: InputSection) -> Result<Pairs<'a>, Diagnostic> {
    let object = &linked.cx.objects[from.object];
    let bad = |what: &dyn std::fmt::Display| damaged(linked, from.object, &what.to_string());
    let (Some(halves), Some(section)) = (&object.halves, object.cubin.section(from.section)) else {
        return Ok(Pairs::Listed(Vec::new()));
    };
    let mercury = object.cubin.reloc_table(&section).map_err(|e| bad(&e))?;
    let counterpart = halves.counterpart(from.section);
    let machine = counterpart.map(|counterpart| halves.sass.reloc_table(&counterpart)).transpose();
    let machine = machine.map_err(|e| bad(&e))?;
    if let Some(machine) = machine
        && mercury.len() == machine.len()
        && mercury.iter().zip(machine.iter()).all(|(a, b)| are_counterparts(&a, &b))
    {
        return Ok(Pairs::Same(mercury, machine));
    }
    let machine = machine.map_or(Vec::new(), |machine| {
        machine.iter().filter(|reloc| !system_calls::is_call(halves, reloc)).collect()
    });
    let (list, left) = pair_relocs(mercury.iter().collect(), machine);
    match left {
        Some(left) => Err(bad(&format_args!(
            "the relocations of its two halves differ (section {}, offset {:#x})",
            from.section, left.offset
        ))),
        None => Ok(Pairs::Listed(list)),
    }
}

/// Pairs of the input sections that make up one output section.
#[derive(Default)]
pub struct PairCache<'a> {
    /// The section looked up last; the next lookup is usually for the same one.
    last: Option<((u32, u32), Pairs<'a>)>,
    others: Map<(u32, u32), Pairs<'a>>,
}

/// The relocation of the Mercury half and its counterpart.
pub fn pair_at<'a>(
    linked: Linked<'a, '_>,
    cache: &mut PairCache<'a>,
    source: Source,
) -> Result<Option<(Reloc, Option<Reloc>)>, Diagnostic> {
    let key = (source.from.object.as_u32(), source.from.section);
    if cache.last.as_ref().is_none_or(|last| last.0 != key) {
        let pairs = match cache.others.remove(&key) {
            Some(pairs) => pairs,
            None => pair(linked, source.from)?,
        };
        if let Some((key, pairs)) = cache.last.replace((key, pairs)) {
            cache.others.insert(key, pairs);
        }
    }
    let pairs = cache.last.as_ref().map(|last| &last.1);
    Ok(pairs.and_then(|pairs| pairs.get(source.index as usize)))
}
