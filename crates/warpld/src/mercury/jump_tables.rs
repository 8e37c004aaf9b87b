//! Jump tables on the machine-code side: words that name places of code, which
//! Mercury relocates and the compiler has filled in for machine code.

use super::Both;
use super::copies::Kept;
use super::edited::target;
use super::pairing::{PairCache, pair_at};
use super::rebuilt::Map;
use crate::diag::Diagnostic;
use crate::finalize::Parts;
use crate::merge::SectionId;
use crate::object::ObjectId;
use std::collections::HashSet;

/// Bank of jump tables.
pub const BANK: u8 = 2;

/// Bytes of a word.
const WORD: usize = 4;

/// Writes the words of a bank that name places, in the order of its relocations, so that of
/// two for one word the later one counts. The words of the kept copy's own table are the
/// compiler's and follow the code where it moved; those of other copies are
/// translated if the kept copy jumps there as well, and are 0 otherwise. Quirk: where two
/// sections have one name, which renaming spoils (see `names`), all words of an
/// executable are 0.
pub fn fill(both: &Both<'_, '_>, id: SectionId, bytes: &mut [u8]) -> Result<(), Diagnostic> {
    let parts = both.parts;
    let Some(relocs) = parts.merged.section(id).rela() else { return Ok(()) };
    let relocs = parts.relocated.of(relocs);
    let spoilt =
        !parts.cx.config.relocatable && both.spoilt_names.contains(&parts.merged.section(id).name);
    let mut pairs = PairCache::default();
    let mut known: Map<(u32, u32), Option<Kept<'_, '_>>> = Map::default();
    for (kept, source) in relocs.kept.iter().zip(relocs.kept_from) {
        let Some((mercury, _)) = pair_at(parts, &mut pairs, *source)? else { continue };
        let (object, symbol) = (source.from.object, mercury.symbol.0);
        let function = known
            .entry((object.0, symbol))
            .or_insert_with(|| Kept::of_symbol(parts, &both.edited, object, symbol));
        let Some(function) = function else { continue };
        let word = match function.from.object == object {
            _ if spoilt => None,
            true => own_word(both, object, source.from.section, mercury.offset, function),
            false => {
                let target = mercury.addend.unwrap_or(0) as u64;
                function.jump_target(both, target).map(|at| at as u32)
            }
        };
        let start = usize::try_from(kept.offset).unwrap_or(usize::MAX);
        if let Some(place) = bytes.get_mut(start..start.saturating_add(WORD)) {
            place.copy_from_slice(&word.unwrap_or(0).to_le_bytes());
        }
    }
    Ok(())
}

/// A word of an input's own table.
fn own_word(
    both: &Both<'_, '_>,
    object: ObjectId,
    relocs: u32,
    offset: u64,
    function: &Kept<'_, '_>,
) -> Option<u32> {
    let input = both.parts.cx.objects.get(object.0 as usize)?;
    let table = input.cubin.section(relocs)?.info;
    let table = input.halves.as_ref()?.twin(table)?.data;
    let start = usize::try_from(offset).ok()?;
    let mut word: [u8; WORD] = table.get(start..start.checked_add(WORD)?)?.try_into().ok()?;
    if let Some(moves) = function.moves {
        target(&mut word, moves);
    }
    Some(u32::from_le_bytes(word))
}

/// Names that two sections with jump tables have, as places in the table of names.
pub fn spoilt_names(parts: Parts<'_, '_>, machine: &[SectionId]) -> HashSet<u32> {
    let mut seen = HashSet::new();
    let banks = machine.iter().map(|&id| parts.merged.section(id));
    let names = banks.filter(|section| section.bank() == Some(BANK)).map(|section| section.name);
    names.filter(|&name| !seen.insert(name)).collect()
}
