//! Which relocation of the machine-code side goes with which of the Mercury
//! side. Both lists of an input are in the same order and name symbols by the
//! same numbers; some Mercury relocations have no counterpart (jump tables, the
//! size of reserved shared memory).

use super::damaged;
use crate::diag::Diagnostic;
use crate::finalize::Parts;
use crate::merge::InputSection;
use crate::relocate::{Source, kind};
use cubin::Reloc;
use hashbrown::HashMap;

/// The relocations of one input section, side by side.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Of the Mercury side, and the counterpart.
    pub list: Vec<(Reloc, Option<Reloc>)>,
}

/// Pairs the relocations of an input's relocation section.
fn pair(parts: Parts<'_, '_>, from: InputSection) -> Result<Pairs, Diagnostic> {
    let index = from.object.0 as usize;
    let object = &parts.cx.objects[index];
    let bad = |what: &dyn std::fmt::Display| damaged(parts, index, &what.to_string());
    let (Some(halves), Some(section)) = (&object.halves, object.cubin.section(from.section)) else {
        return Ok(Pairs::default());
    };
    let mercury = object.cubin.relocs(&section).map_err(|e| bad(&e))?;
    let machine = match halves.twin(from.section) {
        Some(twin) => halves.sass.relocs(&twin).map_err(|e| bad(&e))?,
        None => Vec::new(),
    };
    let (list, left) = pair_relocs(mercury, machine);
    match left {
        Some(left) => Err(bad(&format_args!(
            "the relocations of its two halves differ (section {}, offset {:#x})",
            from.section, left.offset
        ))),
        None => Ok(Pairs { list }),
    }
}

/// Pairs two lists of relocations of one section; also the first of the machine
/// side that goes with none of the other.
pub fn pair_relocs(
    mercury: Vec<Reloc>,
    machine: Vec<Reloc>,
) -> (Vec<(Reloc, Option<Reloc>)>, Option<Reloc>) {
    let mut rest: Vec<Option<Reloc>> = machine.into_iter().map(Some).collect();
    let mut first = 0;
    let list = mercury.into_iter().map(|reloc| {
        let open = rest.get_mut(first..).unwrap_or_default();
        let twin = open.iter_mut().find(|r| r.is_some_and(|r| goes_with(&reloc, &r)));
        let twin = twin.and_then(Option::take);
        first += rest.iter().skip(first).take_while(|r| r.is_none()).count();
        (reloc, twin)
    });
    let list: Vec<_> = list.collect();
    (list, rest.into_iter().flatten().next())
}

fn goes_with(mercury: &Reloc, machine: &Reloc) -> bool {
    let clears = mercury.kind == kind::MERCURY_UNUSED_CLEAR64;
    mercury.symbol == machine.symbol && clears == (machine.kind == kind::UNUSED_CLEAR64)
}

/// Pairs of the input sections that make up one output section.
#[derive(Default)]
pub struct PairCache {
    known: HashMap<(u32, u32), Pairs, foldhash::fast::FixedState>,
}

/// The relocation of the Mercury side and its counterpart.
pub fn pair_at(
    parts: Parts<'_, '_>,
    cache: &mut PairCache,
    source: Source,
) -> Result<Option<(Reloc, Option<Reloc>)>, Diagnostic> {
    let key = (source.from.object.0, source.from.section);
    if !cache.known.contains_key(&key) {
        cache.known.insert(key, pair(parts, source.from)?);
    }
    let pairs = cache.known.get(&key);
    Ok(pairs.and_then(|p| p.list.get(source.index as usize)).copied())
}
