//! Which relocations nvlink examines while it merges, and what it looks up for them.

use crate::context::Analysis;
use crate::ids::{ObjectId, SymbolRefId};
use crate::object::Section;
use crate::resolve::Role;
use crate::resolve::discarded::{discarded_data, is_weak_sensitive_debug};
use cubin::names;
use cubin::{Reloc, SymbolType};

/// What relocations of one input section are for.
struct RelocPlace {
    object: ObjectId,
    discarded: Vec<std::ops::Range<u64>>,
    constant: bool,
    weak_sensitive: bool,
}

/// Results of scanning a relocation section.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// A relocation that counts.
    pub any: bool,
    /// One with addend 0, the first of those not counted: nvlink then looks up the REL
    /// section's name, which leaves it in the string tables.
    pub zero_addend: bool,
}

/// Scans the relocations for a section of this name, or for code if there is none. The caller may
/// know that no function of the input was discarded.
pub(super) fn scan_relocs<'a>(
    cx: Analysis<'a, '_>,
    object: ObjectId,
    section: &Section<'a>,
    target: Option<&[u8]>,
    none_discarded: bool,
) -> Found {
    let input = &cx.objects[object];
    let Ok(relocs) = input.relocs(section) else {
        return Found { any: false, zero_addend: false };
    };
    let all_count = || Found { any: !relocs.is_empty(), zero_addend: relocs.has_zero_addend(1) };
    let Some(name) = target else { return all_count() };
    let weak_sensitive = is_weak_sensitive_debug(name);
    if weak_sensitive && none_discarded {
        return all_count();
    }
    let discarded = input
        .relocated(section.index)
        .map(|target| discarded_data(cx.resolution, object, input, name, target));
    let discarded = discarded.unwrap_or_default();
    let place =
        RelocPlace { object, discarded, constant: names::is_user_constants(name), weak_sensitive };
    let counts = |r: &Reloc| counts(cx, &place, r.offset, r.symbol.0);
    let first = relocs.iter().position(|r| counts(&r));
    // Clearing the frame of a discarded copy creates the section and counts for nothing else.
    let clears = || place.weak_sensitive && relocs.iter().any(|r| r.kind.clears_unused());
    let zero_addend = first.is_some_and(|first| {
        let rest = || relocs.iter().skip(first + 1).filter(|r| r.addend == Some(0));
        relocs.has_zero_addend(first + 1) && rest().any(|r| counts(&r))
    });
    Found { any: first.is_some() || clears(), zero_addend }
}

/// Whether nvlink examines a relocation at all: not if it is in debug data about a discarded
/// definition, in a constant that refers to dead code or to a discarded copy of the same input, or
/// inside a discarded variable.
/// [`weak-lines`, `weak-equal-lines`, `frames-of-loser-after-relink`, `weak-table-loser`]
fn counts(cx: Analysis<'_, '_>, place: &RelocPlace, offset: u64, symbol: u32) -> bool {
    if place.discarded.iter().any(|range| range.contains(&offset)) {
        return false;
    }
    if !place.constant && !place.weak_sensitive {
        return true;
    }
    let object = place.object;
    let cubin = &cx.objects[object].cubin;
    let (Some(id), Some(input)) = (cx.resolution.id(object, symbol), cubin.unnamed_symbol(symbol))
    else {
        return true;
    };
    let at = SymbolRefId { object, symbol };
    let defined = !input.is_undefined() && !input.is_common();
    // A copy that was replaced later was still selected when this was read.
    let is_discarded = || cx.resolution.role(id, at, defined) == Role::Discarded;
    if place.constant {
        return cx.keeps(id) && !is_discarded();
    }
    input.kind() != SymbolType::FUNC || !is_discarded()
}
